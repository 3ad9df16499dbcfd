//! The chain of segments, shared by the producer and the I/O thread, and the blocks that wait for
//! their next use. Its lock is taken once a segment, never for a frame.

use parking_lot::Mutex;
use std::collections::VecDeque;

use super::fsn::Fsn;
use super::ledger::Ledger;
use super::region::{Reader, Writer};
use super::segment::Open;

#[derive(Debug, Default)]
pub(super) struct Ring(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// In the order of the bases, each base equal to the previous one plus its frames. At most the
    /// last one is open, and none is empty.
    chain: VecDeque<Entry>,
    /// Blocks of trimmed segments (PUB-20). At most as many as there ever were segments at once.
    free: Vec<Writer>,
}

#[derive(Debug)]
struct Entry {
    base: Fsn,
    reader: Reader,
    /// The block of a sealed segment; that of the open one is the producer's.
    sealed: Option<Writer>,
}

impl Ring {
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
            inner.chain.push_back(Entry { base: segment.base(), reader: segment.reader(), sealed: None });
            last = Some(segment);
        }
        ledger.count_segments(inner.chain.len());
        last
    }

    /// The segment that holds a published frame.
    pub(super) fn holding(&self, fsn: Fsn) -> Option<(Fsn, Reader)> {
        let inner = self.0.lock();
        let behind = inner.chain.partition_point(|entry| entry.base <= fsn);
        let entry = inner.chain.get(behind.checked_sub(1)?)?;
        Some((entry.base, entry.reader.clone()))
    }

    /// Gives up the sealed segments that hold nothing behind `acked`.
    pub(super) fn trim(&self, acked: Fsn, ledger: &Ledger) {
        let mut inner = self.0.lock();
        while inner.chain.get(1).is_some_and(|next| next.base <= acked.next()) {
            inner.give_up_first();
        }
        ledger.count_segments(inner.chain.len());
    }

    /// Gives up everything: all of it is acknowledged.
    pub(super) fn clear(&self, open: Option<Open>, ledger: &Ledger) {
        let mut inner = self.0.lock();
        inner.seal(open);
        while !inner.chain.is_empty() {
            inner.give_up_first();
        }
        ledger.count_segments(0);
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
            entry.sealed = Some(open.into_writer());
        }
    }

    fn give_up_first(&mut self) {
        if let Some(entry) = self.chain.pop_front() {
            self.free.extend(entry.sealed);
        }
    }
}
