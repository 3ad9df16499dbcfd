//! The I/O thread's half: any unacknowledged frame by its number, acknowledgements, and trim.

use std::collections::VecDeque;
use std::sync::Arc;

use super::files::Files;
use super::fsn::Fsn;
use super::ledger::Ledger;
use super::ring::Ring;
use super::segment::Indexed;
use super::watermark::Watermark;
use crate::error::Result;

/// Reads published frames. One exists for each store.
#[derive(Debug)]
pub(crate) struct Cursor {
    ledger: Arc<Ledger>,
    ring: Arc<Ring>,
    /// The segments from the first unacknowledged frame to the furthest one looked at. As many as
    /// the store holds at most.
    segments: VecDeque<Indexed>,
    /// Where in `segments` the last frame was found: a guess for the next one.
    at: usize,
    /// Where acknowledgements are recorded; nowhere in memory.
    slot: Option<Acks>,
}

#[derive(Debug)]
struct Acks {
    files: Arc<Files>,
    watermark: Watermark,
}

impl Cursor {
    pub(super) fn new(ledger: Arc<Ledger>, ring: Arc<Ring>) -> Cursor {
        Cursor { ledger, ring, segments: VecDeque::new(), at: 0, slot: None }
    }

    /// Reads a slot.
    pub(super) fn in_slot(
        ledger: Arc<Ledger>,
        ring: Arc<Ring>,
        files: Arc<Files>,
        watermark: Watermark,
    ) -> Cursor {
        let slot = Some(Acks { files, watermark });
        Cursor { slot, ..Cursor::new(ledger, ring) }
    }

    /// Any published frame that is not acknowledged.
    ///
    /// # Errors
    /// Its segment cannot be opened or mapped now.
    #[inline]
    pub(crate) fn frame(&mut self, fsn: Fsn) -> Result<Option<&[u8]>> {
        if Some(fsn) > self.ledger.published() {
            return Ok(None);
        }
        let holds = self.segments.get_mut(self.at).is_some_and(|segment| segment.reaches(fsn));
        if !holds && !self.find(fsn)? {
            return Ok(None);
        }
        Ok(self.segments.get(self.at).and_then(|segment| segment.payload(fsn)))
    }

    /// Points `at` to the segment that holds `fsn`, if one does.
    #[cold]
    fn find(&mut self, fsn: Fsn) -> Result<bool> {
        let behind = self.segments.partition_point(|segment| segment.base() <= fsn);
        if let Some(at) = behind.checked_sub(1)
            && self.segments.get_mut(at).is_some_and(|segment| segment.reaches(fsn))
        {
            self.at = at;
            return Ok(true);
        }
        let Some((base, reader)) = self.ring.holding(fsn)? else { return Ok(false) };
        self.segments.insert(behind, Indexed::new(base, reader));
        self.at = behind;
        Ok(self.segments.get_mut(behind).is_some_and(|segment| segment.reaches(fsn)))
    }

    /// Everything up to `fsn` is acknowledged: says so on disk, then to whoever waits, and gives up what
    /// is no longer needed (PUB-16).
    pub(crate) fn acked(&mut self, fsn: Fsn) {
        if let Some(slot) = &mut self.slot
            && !slot.files.is_unrepaired()
        {
            slot.watermark.record(fsn);
        }
        self.ledger.ack(fsn);
        self.trim();
        if let Some(slot) = &self.slot
            && self.ledger.published() == Some(fsn)
            && self.segments.back().is_some_and(Indexed::is_mostly_full)
        {
            slot.files.idle();
        }
    }

    /// Gives up the segments that are wholly acknowledged and no longer written to (PUB-20).
    fn trim(&mut self) {
        let Some(acked) = self.ledger.acked() else { return };
        let first = acked.next();
        if self.segments.len() == 1 {
            // Only with its successor in hand is it known that a segment is sealed. What cannot be read
            // now is looked at again when it is to be sent.
            let _ = self.frame(first);
        }
        let mut given_up = false;
        while self.segments.get(1).is_some_and(|second| second.base() <= first) {
            self.segments.pop_front();
            self.at = self.at.saturating_sub(1);
            given_up = true;
        }
        if !given_up {
            return;
        }
        if self.ring.trim(acked, &self.ledger)
            && let Some(slot) = &self.slot
        {
            return slot.files.ring();
        }
        self.ledger.freed();
    }
}
