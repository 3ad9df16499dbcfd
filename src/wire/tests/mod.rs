//! Tests of several formats together.

pub(crate) mod vectors;
