//! Writing: from rows to acknowledged frames.

pub(crate) mod acks;
pub(crate) mod delivery;
pub(crate) mod io_loop;
pub(crate) mod rejections;
pub(crate) mod renewals;
pub(crate) mod shared;
pub(crate) mod snapshot;
