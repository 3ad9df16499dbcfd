//! A slot in which nothing is left to deliver shrinks to one empty segment (PUB-18).

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::{IDLE, Place, Tending, Work};
use crate::store::fsn::Fsn;

impl Tending {
    /// Gives up the segment being written to, if all in it is acknowledged and nothing came for a while;
    /// whether it did something.
    pub(super) fn shrink(&self, work: &mut Work, now: Instant) -> bool {
        let Place { files, ledger, .. } = &self.place;
        if !files.signs.idle.load(Ordering::Acquire) {
            return false;
        }
        let published = ledger.published();
        let Some((at, since)) = work.idle else {
            work.idle = now.checked_add(IDLE).map(|at| (at, published));
            return false;
        };
        if now < at {
            return false;
        }
        if published != since || ledger.unacked() > 0 {
            // The next acknowledgement raises the sign again.
            work.idle = None;
            files.signs.idle.store(false, Ordering::Release);
            return false;
        }
        if files.spares.lock().ready.is_empty() {
            // Made first; a disk that is full is looked at again in a while.
            files.spares.lock().wanted = 1;
            work.idle = now.checked_add(IDLE).map(|at| (at, published));
            return self.lacks_spares() && work.spare.is_due(now);
        }
        work.idle = None;
        files.signs.idle.store(false, Ordering::Release);
        self.rotate_away(published.map_or(Fsn::FIRST, Fsn::next));
        self.drop_spares(work);
        true
    }

    /// Goes on in an empty segment, unless the producer is at it.
    fn rotate_away(&self, next: Fsn) {
        let Place { files, ledger, ring, .. } = &self.place;
        let mut parked = files.parked.lock();
        let full = parked.as_ref().is_some_and(|open| open.is_mostly_full() && open.base() != next);
        if !full || ledger.published().map_or(Fsn::FIRST, Fsn::next) != next {
            return;
        }
        let Some(blank) = files.spares.lock().ready.pop() else { return };
        match files.begin_empty(blank, next) {
            Ok(open) => {
                *parked = ring.rotate(parked.take(), std::iter::once(open), ledger);
                files.signs.rotated.store(true, Ordering::Release);
            }
            Err((blank, error)) => {
                files.spares.lock().ready.push(blank);
                log::warn!("store: {error}");
            }
        }
    }

    /// Nobody is in a hurry any more.
    fn drop_spares(&self, work: &mut Work) {
        let Place { files, ledger, .. } = &self.place;
        let ready = {
            let mut spares = files.spares.lock();
            (spares.wanted, spares.target) = (0, 0);
            std::mem::take(&mut spares.ready)
        };
        for spare in ready {
            let unlinked = spare.file.as_ref().map_or(Ok(()), |file| file.unlink());
            match unlinked {
                Ok(()) => {
                    work.new_names = true;
                    ledger.shrink(self.segment_bytes);
                }
                // It can still be used.
                Err(_) => files.spares.lock().ready.push(spare),
            }
        }
    }
}
