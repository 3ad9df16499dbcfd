//! The I/O thread's half: any unacknowledged frame by its number, and trim.

use std::collections::VecDeque;
use std::sync::Arc;

use super::fsn::Fsn;
use super::ledger::Ledger;
use super::ring::Ring;
use super::segment::Indexed;

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
}

impl Cursor {
    pub(super) fn new(ledger: Arc<Ledger>, ring: Arc<Ring>) -> Cursor {
        Cursor { ledger, ring, segments: VecDeque::new(), at: 0 }
    }

    /// Any published frame that is not acknowledged.
    #[inline]
    pub(crate) fn frame(&mut self, fsn: Fsn) -> Option<&[u8]> {
        if Some(fsn) > self.ledger.published() {
            return None;
        }
        let holds = self.segments.get_mut(self.at).is_some_and(|segment| segment.reaches(fsn));
        if !holds {
            self.find(fsn)?;
        }
        self.segments.get(self.at)?.payload(fsn)
    }

    /// Points `at` to the segment that holds `fsn`.
    #[cold]
    fn find(&mut self, fsn: Fsn) -> Option<()> {
        let behind = self.segments.partition_point(|segment| segment.base() <= fsn);
        if let Some(at) = behind.checked_sub(1)
            && self.segments.get_mut(at).is_some_and(|segment| segment.reaches(fsn))
        {
            self.at = at;
            return Some(());
        }
        let (base, reader) = self.ring.holding(fsn)?;
        self.segments.insert(behind, Indexed::new(base, reader));
        self.at = behind;
        self.segments.get_mut(behind)?.reaches(fsn).then_some(())
    }

    /// Gives up the segments that are wholly acknowledged and no longer written to (PUB-20).
    pub(crate) fn trim(&mut self) {
        let Some(acked) = self.ledger.acked() else { return };
        let first = acked.next();
        if self.segments.len() == 1 {
            // Only with its successor in hand is it known that a segment is sealed.
            self.frame(first);
        }
        let mut given_up = false;
        while self.segments.get(1).is_some_and(|second| second.base() <= first) {
            self.segments.pop_front();
            self.at = self.at.saturating_sub(1);
            given_up = true;
        }
        if given_up {
            self.ring.trim(acked, &self.ledger);
            self.ledger.freed();
        }
    }
}
