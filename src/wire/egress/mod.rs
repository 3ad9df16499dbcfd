//! Result messages of the query side, `/read/v1` (wire.md 8).
//!
//! [`event::read`] tells what a message is and reads all of it but the body of a batch. The body is
//! read by [`batch::Decoder`], which knows the connection's dictionary and the schema of the request.
//! A [`batch::Batch`] owns the received bytes; its columns are records of where their values lie.

pub(crate) mod batch;
pub(crate) mod column;
pub(crate) mod dictionary;
pub(crate) mod event;
mod ids;
#[cfg(test)]
pub(crate) mod testing;

pub use batch::Schema;
pub(crate) use batch::{Batch, Decoder, Shell};
pub(crate) use column::ColumnRef;
pub(crate) use event::{BatchHead, Event, ServerInfo};
