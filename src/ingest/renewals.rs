//! Frames that need a connection of their own: the producer marks them, delivery obeys.
//!
//! The server counts distinct tables by connection (CONN-17). A producer that is about to name more
//! than it takes marks the first frame that does, and counts from 0 again: what a connection carries
//! between two marks then stays within the limit, wherever it began.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::store::Fsn;

/// The marks, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Renewals {
    /// Whether there are any, so that nobody takes the lock in vain.
    any: AtomicBool,
    marks: Mutex<VecDeque<Fsn>>,
}

impl Renewals {
    /// Frame `fsn` and those behind it go out on another connection than those before. Call it
    /// before the frame is published. It has to be the first one of its group.
    pub(crate) fn mark(&self, fsn: Fsn) {
        let mut marks = self.marks.lock();
        debug_assert!(marks.back().is_none_or(|&last| last <= fsn), "marks come in order");
        marks.push_back(fsn);
        self.any.store(true, Ordering::Release);
    }

    /// Whether a mark lies between the first frame of a connection and its next one.
    pub(super) fn between(&self, first: Fsn, next: Fsn) -> bool {
        self.any.load(Ordering::Acquire) && self.marks.lock().iter().any(|&mark| first < mark && mark <= next)
    }

    /// Everything up to `fsn` is acknowledged: no connection begins before it any more.
    pub(super) fn forget(&self, fsn: Fsn) {
        if self.any.load(Ordering::Acquire) {
            let mut marks = self.marks.lock();
            while marks.front().is_some_and(|&mark| mark <= fsn) {
                marks.pop_front();
            }
            self.any.store(!marks.is_empty(), Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fsn(number: u64) -> Fsn {
        Fsn::FIRST.plus(number)
    }

    #[test]
    fn conn_17_a_mark_stands_between_the_frames_before_it_and_itself() {
        let renewals = Renewals::default();
        assert!(!renewals.between(fsn(0), fsn(9)));
        renewals.mark(fsn(5));
        renewals.mark(fsn(8));
        for (first, next, between) in [
            (0, 4, false),
            (0, 5, true),
            (4, 5, true),
            (5, 5, false),
            (5, 7, false),
            (5, 8, true),
            (8, 20, false),
        ] {
            assert_eq!(renewals.between(fsn(first), fsn(next)), between, "{first} {next}");
        }
    }

    #[test]
    fn a_mark_is_kept_until_its_frame_is_acknowledged() {
        let renewals = Renewals::default();
        renewals.mark(fsn(5));
        renewals.forget(fsn(4));
        assert!(renewals.between(fsn(4), fsn(5)));
        renewals.forget(fsn(5));
        assert!(!renewals.between(fsn(4), fsn(5)));
        assert!(!renewals.any.load(Ordering::Relaxed));
    }
}
