//! The chain of segments, shared by the producer, the I/O thread and the keeper, and the blocks that
//! wait for their next use. Its lock is taken once a segment, never for a frame.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

use super::fsn::Fsn;
use super::ledger::Ledger;
use super::region::{Reader, Writer};
use super::segment::{Blank, Open};
use super::segment_file::SegmentFile;
use crate::error::Result;

#[derive(Debug, Default)]
pub(super) struct Ring(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// In the order of the bases, each base equal to the previous one plus its frames. At most the
    /// last one is open; only that one may be empty, and only in a file.
    chain: VecDeque<Entry>,
    /// Blocks of trimmed segments (PUB-20). At most as many as there ever were segments at once.
    free: Vec<Writer>,
}

#[derive(Debug)]
struct Entry {
    base: Fsn,
    /// Bytes of the segment.
    len: usize,
    /// Its memory, unless it is a sealed file that is mapped again when somebody reads it.
    reader: Option<Reader>,
    /// The block of a sealed segment; that of the open one is the producer's.
    sealed: Option<Writer>,
    file: Option<Arc<SegmentFile>>,
}

/// A sealed segment file that was found, or is no longer needed.
#[derive(Debug)]
pub(super) struct Sealed {
    pub(super) base: Fsn,
    pub(super) len: usize,
    pub(super) file: Arc<SegmentFile>,
    /// Its mapping, if it has one.
    pub(super) writer: Option<Writer>,
}

impl Ring {
    /// Takes over a segment that was found, behind those taken over before.
    pub(super) fn adopt(&self, sealed: Sealed) {
        let Sealed { base, len, file, writer } = sealed;
        let entry = Entry { base, len, reader: None, sealed: writer, file: Some(file) };
        self.0.lock().chain.push_back(entry);
    }

    /// Seals the open segment and appends `fresh` ones, of which the last becomes the open one.
    /// Their frames are published to readers by now, their FSNs not yet.
    pub(super) fn rotate(
        &self,
        open: Option<Open>,
        fresh: impl Iterator<Item = Open>,
        ledger: &Ledger,
    ) -> Option<Open> {
        let mut inner = self.0.lock();
        let mut last = open;
        for segment in fresh {
            inner.seal(last.take());
            let entry = Entry::open(&segment);
            if entry.file.is_none() {
                ledger.grow(entry.len);
            }
            inner.chain.push_back(entry);
            last = Some(segment);
        }
        last
    }

    /// The segment that holds a published frame.
    ///
    /// # Errors
    /// Its file cannot be mapped.
    pub(super) fn holding(&self, fsn: Fsn) -> Result<Option<(Fsn, Reader)>> {
        let (base, file) = {
            let inner = self.0.lock();
            let behind = inner.chain.partition_point(|entry| entry.base <= fsn);
            let Some(entry) = behind.checked_sub(1).and_then(|at| inner.chain.get(at)) else {
                return Ok(None);
            };
            match (&entry.reader, &entry.file) {
                (Some(reader), _) => return Ok(Some((entry.base, reader.clone()))),
                (None, file) => (entry.base, file.clone()),
            }
        };
        let reader = file.map(|file| file.reader()).transpose()?;
        Ok(reader.map(|reader| (base, reader)))
    }

    /// Gives up the sealed segments that hold nothing behind `acked`. Files are given up by
    /// [`Ring::take_acked`]; returns whether there are any.
    pub(super) fn trim(&self, acked: Fsn, ledger: &Ledger) -> bool {
        let mut inner = self.0.lock();
        let count = inner.acked_segments(acked);
        if inner.chain.front().is_some_and(|entry| entry.file.is_some()) {
            return count > 0;
        }
        (0..count).for_each(|_| inner.give_up_first(ledger));
        false
    }

    /// Takes the files of sealed segments that hold nothing behind `acked` out of the chain.
    pub(super) fn take_acked(&self, acked: Fsn) -> Vec<Sealed> {
        let mut inner = self.0.lock();
        let count = inner.acked_segments(acked);
        inner.chain.drain(..count).filter_map(Entry::into_sealed).collect()
    }

    /// The base of the oldest segment.
    pub(super) fn head(&self) -> Option<Fsn> {
        self.0.lock().chain.front().map(|entry| entry.base)
    }

    /// The files that are not wholly on stable storage, oldest first.
    pub(super) fn unsynced(&self) -> Vec<Arc<SegmentFile>> {
        let inner = self.0.lock();
        // A segment may last although one in front of it does not: its header was synced later.
        let files = inner.chain.iter().filter_map(|entry| entry.file.as_ref());
        files.filter(|file| !file.is_durable()).cloned().collect()
    }

    /// Gives back the mappings of sealed files but the `warm` newest, which are mapped again when
    /// somebody reads them. They are unmapped when the last reader is gone.
    pub(super) fn cool(&self, warm: usize) {
        let mut cooled = Vec::new();
        let mut inner = self.0.lock();
        for entry in inner.chain.iter_mut().rev().skip(1 + warm) {
            let (reader, writer) = (entry.reader.take(), entry.sealed.take());
            if reader.is_none() && writer.is_none() {
                break;
            }
            cooled.push((reader, writer));
        }
        drop(inner);
        drop(cooled);
    }

    /// Gives up everything in memory: all of it is acknowledged.
    pub(super) fn clear(&self, open: Option<Open>, ledger: &Ledger) {
        let mut inner = self.0.lock();
        inner.seal(open);
        while !inner.chain.is_empty() {
            inner.give_up_first(ledger);
        }
    }

    /// Takes everything out of the chain, oldest first: the store is closed.
    pub(super) fn dissolve(&self) -> Vec<Sealed> {
        let chain = std::mem::take(&mut self.0.lock().chain);
        chain.into_iter().filter_map(Entry::into_sealed).collect()
    }

    /// A block that nobody reads any more.
    pub(super) fn reuse(&self) -> Option<Writer> {
        let free = &mut self.0.lock().free;
        for index in (0..free.len()).rev() {
            match free.swap_remove(index).recycle() {
                Ok(writer) => return Some(writer),
                Err(writer) => free.push(writer),
            }
        }
        None
    }
}

impl Inner {
    fn seal(&mut self, open: Option<Open>) {
        if let (Some(open), Some(entry)) = (open, self.chain.back_mut()) {
            debug_assert_eq!(open.base(), entry.base, "the open segment is the last of the chain");
            let Blank { writer, .. } = open.into_blank();
            if let Some(file) = &entry.file {
                file.sealed(writer.published());
            }
            entry.sealed = Some(writer);
        }
    }

    /// How many segments, from the first on, are sealed and wholly acknowledged.
    fn acked_segments(&self, acked: Fsn) -> usize {
        self.chain.iter().skip(1).take_while(|next| next.base <= acked.next()).count()
    }

    fn give_up_first(&mut self, ledger: &Ledger) {
        if let Some(entry) = self.chain.pop_front() {
            ledger.shrink(entry.len);
            self.free.extend(entry.sealed);
        }
    }
}

impl Entry {
    fn open(open: &Open) -> Entry {
        let (base, len, file) = (open.base(), open.len(), open.file().cloned());
        Entry { base, len, reader: Some(open.reader()), sealed: None, file }
    }

    fn into_sealed(self) -> Option<Sealed> {
        let Entry { base, len, sealed: writer, file, .. } = self;
        file.map(|file| Sealed { base, len, file, writer })
    }
}
