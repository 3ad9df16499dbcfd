//! The dictionary file of a slot, as its producer extends it (PUB-03).

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::dictionary;
use super::disk::{DiskFile, DiskResult};
use super::segment_file::write_again;
use super::slot_file::SlotFile;

/// The file. Frames that use an entry are stored behind it, never before.
#[derive(Debug)]
pub(super) struct SymbolFile {
    file: SlotFile,
    end: Mutex<End>,
    /// Bytes that are on stable storage.
    durable: AtomicU64,
    /// A sync failed (DUR-05).
    suspect: AtomicBool,
}

/// Where the file ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    /// Known once the file was opened.
    bytes: Option<u64>,
    /// Entries in front of it.
    entries: u32,
}

impl SymbolFile {
    /// Goes on behind the `entries` that a file holds, and nothing else.
    pub(super) fn new(file: SlotFile, entries: u32) -> SymbolFile {
        let end = Mutex::new(End { bytes: None, entries });
        SymbolFile { file, end, durable: AtomicU64::new(0), suspect: AtomicBool::new(false) }
    }

    /// Entries in the file.
    pub(super) fn len(&self) -> u32 {
        self.end.lock().entries
    }

    /// Appends a chunk by one write. If that fails the file is as it was. Returns where the chunk begins.
    pub(super) fn append<'a>(&self, count: u32, entries: impl Iterator<Item = &'a [u8]>) -> DiskResult<End> {
        let entries: Vec<u8> = entries.flatten().copied().collect();
        let mut chunk = Vec::with_capacity(entries.len() + CHUNK_OVERHEAD_BYTES);
        dictionary::put_chunk(count.into(), &entries, &mut chunk);
        let mut end = self.end.lock();
        let (file, at) = self.open(&mut end)?;
        if let Err(error) = file.write_at(&chunk, at) {
            // A part of a chunk is no chunk; what cannot be cut off now is overwritten later.
            let _ = file.truncate(at);
            return Err(error);
        }
        let before = *end;
        end.bytes = Some(at + chunk.len() as u64);
        end.entries = end.entries.saturating_add(count);
        Ok(before)
    }

    /// Takes the last chunk back: no frame uses it (PUB-05). Where the file cannot be cut the chunk stays
    /// until the next one covers it; until then its entries are there and nobody uses them.
    pub(super) fn take_back(&self, before: End) {
        let mut end = self.end.lock();
        *end = before;
        if let Ok((file, at)) = self.open(&mut end) {
            let _ = file.truncate(at);
        }
    }

    /// The file, and where it ends.
    fn open(&self, end: &mut End) -> DiskResult<(Arc<dyn DiskFile>, u64)> {
        let file = self.file.get()?;
        let bytes = match end.bytes {
            Some(bytes) => bytes,
            None => *end.bytes.insert(file.len()?),
        };
        Ok((file, bytes))
    }

    /// Makes all entries last. Nothing to do if none came since the last time, or if there is no file:
    /// the frames of such a slot carry all that they use (REC-13).
    pub(super) fn sync(&self) -> DiskResult<()> {
        let opened = self.open(&mut self.end.lock());
        let (file, end) = match opened {
            Err(error) if error.is_not_found() => return Ok(()),
            opened => opened?,
        };
        if end <= self.durable.load(Ordering::Acquire) {
            return Ok(());
        }
        if self.suspect.load(Ordering::Acquire) {
            write_again(&*file, 0, end)?;
        }
        let result = file.sync();
        self.suspect.store(result.is_err(), Ordering::Release);
        result?;
        self.durable.fetch_max(end, Ordering::AcqRel);
        Ok(())
    }
}

/// Two varints and a checksum.
const CHUNK_OVERHEAD_BYTES: usize = 24;
