//! The store: frames between `flush` and the server's acknowledgement.
//!
//! ```text
//!  producer: Appender --- Ring (chain of segments, free blocks) --- I/O thread: Cursor
//!                \______ Ledger (published, acked, room, waits) ______/
//!            SymbolLog --- chunks of dictionary entries --- SymbolMirror
//! ```
//!
//! A frame is opaque here: length, number, nothing else. Segments look in memory as they do in a
//! file (store-and-forward.md 2.3, 2.4). Freed blocks are used again (PUB-20).

mod appender;
mod bounds;
mod create;
mod cursor;
pub(crate) mod dictionary;
pub(crate) mod disk;
mod epochs;
mod files;
mod fsn;
mod keeper;
pub(crate) mod layout;
mod ledger;
pub(crate) mod lock;
pub(crate) mod marker;
pub(crate) mod names;
mod open;
pub(crate) mod record;
pub(crate) mod recovery;
mod region;
mod ring;
mod segment;
mod segment_file;
mod slot_file;
mod storage;
mod symbol_file;
mod symbols;
mod tending;
#[cfg(test)]
mod tests;
mod watermark;

pub(crate) use appender::{Appender, Refused};
pub(crate) use cursor::Cursor;
pub(crate) use epochs::Epochs;
pub use fsn::Fsn;
pub(crate) use keeper::Keeper;
pub(crate) use ledger::{Ledger, Outcome};
pub(crate) use open::open;
pub(crate) use storage::{Opened, Site, SlotConfig, Storage};
pub(crate) use symbols::{SymbolLog, symbols};

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};

/// Sizes of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Config {
    /// Bytes of a segment: 33 to 2^32 - 1 (FMT-05).
    pub(crate) segment_bytes: u64,
    /// Bytes of all segments together; at least two have to fit (PUB-13).
    pub(crate) total_bytes: u64,
}

/// A store in memory, which does not survive the process.
///
/// # Errors
/// `Config` for sizes that do not work.
pub(crate) fn memory(config: Config) -> Result<(Appender, Cursor, Arc<Ledger>)> {
    let segment_bytes = segment_bytes(config)?;
    let segments_max = config.total_bytes / config.segment_bytes;
    let ledger = Arc::new(Ledger::new(config.segment_bytes, segments_max));
    let ring = Arc::new(ring::Ring::default());
    let appender = Appender::new(Arc::clone(&ledger), Arc::clone(&ring), segment_bytes);
    let cursor = Cursor::new(Arc::clone(&ledger), ring);
    Ok((appender, cursor, ledger))
}

fn segment_bytes(config: Config) -> Result<usize> {
    let bytes = u32::try_from(config.segment_bytes).ok().and_then(|bytes| usize::try_from(bytes).ok());
    let Some(bytes) = bytes.filter(|&bytes| bytes > layout::OVERHEAD_BYTES) else {
        return Err(Error::new(ErrorKind::Config, "invalid segment size")
            .with("sf_max_segment_bytes", config.segment_bytes)
            .because("a segment has 33 to 4294967295 bytes"));
    };
    if config.total_bytes / config.segment_bytes < 2 {
        return Err(Error::new(ErrorKind::Config, "the store is too small")
            .with("sf_max_total_bytes", config.total_bytes)
            .with("sf_max_segment_bytes", config.segment_bytes)
            .because("at least two segments have to fit"));
    }
    Ok(bytes)
}
