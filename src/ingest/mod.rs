//! Writing: from rows to acknowledged frames.

pub(crate) mod acks;
pub(crate) mod delivery;
pub(crate) mod rejections;
