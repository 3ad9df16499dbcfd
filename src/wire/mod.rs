//! Bytes of the protocol to values and back: no I/O, no clock, no lock.
//!
//! Both directions of a format stand in one file. Foreign bytes go through [`reader::Reader`] only.

pub(crate) mod bits;
pub(crate) mod egress;
pub(crate) mod extend;
pub(crate) mod frame;
pub(crate) mod gorilla;
pub(crate) mod ingress;
pub(crate) mod reader;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod sink;
pub(crate) mod symbols;
pub(crate) mod types;
pub(crate) mod varint;

#[cfg(test)]
mod tests;
