//! What is published, what is acknowledged, how much room is left, and waiting for each of them.
//!
//! Shared by the producer, the I/O thread and observers. Nobody takes a lock unless somebody waits.

use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering, fence};

use super::fsn::Fsn;
use crate::time::{Clock, Deadline};

/// The books of one store.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// Highest published FSN, -1 for none. Stored by the producer after the frames' bytes, so that
    /// whoever reads it may read them; and before anyone can send them, so that acked <= published.
    published: AtomicI64,
    /// Highest acknowledged FSN, -1 for none.
    acked: Gate,
    /// Counts the times that room may have come free.
    room: Gate,
    /// Set for good once nothing is worth waiting for.
    ended: AtomicBool,
    /// Highest FSN on stable storage, -1 for none. Moved by whoever synced it.
    durable: AtomicI64,
    /// Bytes of all segments that there are: they count against the budget as a whole (PUB-12).
    used: AtomicU64,
    segment_bytes: u64,
    segments_max: u64,
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// What was waited for is there.
    Reached,
    /// The deadline passed.
    TimedOut,
    /// The store was closed or failed: the caller knows why.
    Ended,
}

impl Ledger {
    pub(super) fn new(segment_bytes: u64, segments_max: u64) -> Ledger {
        Ledger {
            published: AtomicI64::new(-1),
            acked: Gate::new(-1),
            room: Gate::new(0),
            ended: AtomicBool::new(false),
            durable: AtomicI64::new(-1),
            used: AtomicU64::new(0),
            segment_bytes,
            segments_max,
        }
    }

    /// Starts with what an earlier process left: both numbers, and the bytes of its segments.
    pub(super) fn resume(&self, published: Option<Fsn>, acked: Option<Fsn>, used: u64) {
        let number = |fsn: Option<Fsn>| fsn.map_or(-1, Fsn::as_i64);
        self.published.store(number(published), Ordering::Release);
        self.acked.raise(number(acked));
        self.used.store(used, Ordering::Release);
    }

    /// Highest published frame.
    #[inline]
    pub(crate) fn published(&self) -> Option<Fsn> {
        Fsn::new(self.published.load(Ordering::Acquire))
    }

    /// Highest frame up to which the server has acknowledged everything.
    #[inline]
    pub(crate) fn acked(&self) -> Option<Fsn> {
        Fsn::new(self.acked.get())
    }

    /// Highest frame on stable storage, as far as anybody asked for that (DUR-01, DUR-06).
    pub(crate) fn durable(&self) -> Option<Fsn> {
        Fsn::new(self.durable.load(Ordering::Acquire))
    }

    pub(super) fn set_durable(&self, fsn: Fsn) {
        self.durable.fetch_max(fsn.as_i64(), Ordering::Release);
    }

    /// Frames published and not acknowledged.
    pub(crate) fn unacked(&self) -> u64 {
        // In this order: a frame acknowledged in between counts as unacknowledged, never as -1.
        let acked = self.acked.get();
        let published = self.published.load(Ordering::Acquire);
        u64::try_from(published.saturating_sub(acked)).unwrap_or(0)
    }

    /// Bytes of all segments that there are (PUB-12).
    pub(crate) fn bytes_used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that the store may use, in whole segments.
    pub(crate) fn bytes_max(&self) -> u64 {
        self.segments_max.saturating_mul(self.segment_bytes)
    }

    /// Everything up to `fsn` is acknowledged. Never goes back.
    pub(crate) fn ack(&self, fsn: Fsn) {
        debug_assert!(Some(fsn) <= self.published(), "acknowledged before it was published");
        if fsn.as_i64() > self.acked.get() {
            self.acked.raise(fsn.as_i64());
            if self.published() == Some(fsn) {
                // The segment being written to may be given up now, which makes room as well.
                self.freed();
            }
        }
    }

    /// Ends all waits, and all later ones, at once: the store was closed or has failed (PUB-14).
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.acked.wake();
        self.room.wake();
    }

    /// Waits until everything up to `fsn` is acknowledged. Acknowledged frames count even after the end.
    pub(crate) fn wait_acked(&self, fsn: Fsn, deadline: Deadline, clock: &dyn Clock) -> Outcome {
        self.acked.wait(fsn.as_i64(), deadline, clock, &self.ended)
    }

    /// A number to hand to [`Ledger::wait_room`]: take it before looking for room.
    pub(crate) fn room_epoch(&self) -> i64 {
        self.room.get()
    }

    /// Waits until room may have come free since `epoch` was taken.
    pub(crate) fn wait_room(&self, epoch: i64, deadline: Deadline, clock: &dyn Clock) -> Outcome {
        self.room.wait(epoch.saturating_add(1), deadline, clock, &self.ended)
    }

    /// Room may have come free.
    pub(super) fn freed(&self) {
        self.room.raise(self.room.get().saturating_add(1));
    }

    pub(super) fn publish(&self, fsn: Fsn) {
        self.published.store(fsn.as_i64(), Ordering::Release);
    }

    /// How many more segments there may be.
    pub(super) fn segments_left(&self) -> u64 {
        let left = self.bytes_max().saturating_sub(self.used.load(Ordering::Acquire));
        left / self.segment_bytes.max(1)
    }

    pub(super) fn segments_max(&self) -> u64 {
        self.segments_max
    }

    /// There is another segment of so many bytes.
    pub(super) fn grow(&self, bytes: usize) {
        self.used.fetch_add(bytes as u64, Ordering::AcqRel);
    }

    /// A segment of so many bytes is gone.
    pub(super) fn shrink(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes as u64, Ordering::AcqRel);
        debug_assert!(before >= bytes as u64, "more bytes given up than there were");
    }
}

/// A number that rises, and threads that wait for it to reach something.
#[derive(Debug)]
struct Gate {
    value: AtomicI64,
    /// The least value that a waiting thread wants, `i64::MAX` without one.
    awaited: AtomicI64,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Gate {
    fn new(value: i64) -> Gate {
        Gate {
            value: AtomicI64::new(value),
            awaited: AtomicI64::new(i64::MAX),
            lock: Mutex::new(()),
            changed: Condvar::new(),
        }
    }

    #[inline]
    fn get(&self) -> i64 {
        self.value.load(Ordering::Acquire)
    }

    /// Raises the value; a waiting thread is woken only if it is what that thread waits for.
    #[inline]
    fn raise(&self, to: i64) {
        self.value.fetch_max(to, Ordering::Release);
        // With the fence in `wait`: this thread sees the wish, or the waiter sees the value.
        fence(Ordering::SeqCst);
        if self.awaited.load(Ordering::Relaxed) <= to {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        let guard = self.lock.lock();
        self.awaited.store(i64::MAX, Ordering::Relaxed);
        drop(guard);
        self.changed.notify_all();
    }

    fn wait(&self, at_least: i64, deadline: Deadline, clock: &dyn Clock, ended: &AtomicBool) -> Outcome {
        if self.get() >= at_least {
            return Outcome::Reached;
        }
        let mut guard = self.lock.lock();
        loop {
            // Under the lock, so that a wish is never cleared before its thread sleeps.
            self.awaited.fetch_min(at_least, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if self.get() >= at_least {
                return Outcome::Reached;
            }
            if ended.load(Ordering::SeqCst) {
                return Outcome::Ended;
            }
            match deadline.remaining(clock.now()) {
                None => self.changed.wait(&mut guard),
                Some(left) if left.is_zero() => return Outcome::TimedOut,
                Some(left) => {
                    self.changed.wait_for(&mut guard, left);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SystemClock;
    use std::thread::scope;
    use std::time::Duration;

    fn ledger(published: u64) -> Ledger {
        let ledger = Ledger::new(100, 4);
        ledger.publish(Fsn::FIRST.plus(published - 1));
        ledger
    }

    fn soon() -> Deadline {
        Deadline::after(SystemClock.now(), Duration::from_millis(5))
    }

    #[test]
    fn flush_06_a_wait_of_zero_looks_once() {
        let ledger = ledger(3);
        let now = Deadline::at(SystemClock.now());
        assert_eq!(ledger.wait_acked(Fsn::FIRST, now, &SystemClock), Outcome::TimedOut);
        ledger.ack(Fsn::FIRST.plus(1));
        assert_eq!(ledger.wait_acked(Fsn::FIRST, now, &SystemClock), Outcome::Reached);
        assert_eq!(ledger.wait_acked(Fsn::FIRST.plus(2), soon(), &SystemClock), Outcome::TimedOut);
        assert_eq!(ledger.unacked(), 1);
    }

    #[test]
    fn ack_01_the_acked_number_never_goes_back() {
        let ledger = ledger(5);
        ledger.ack(Fsn::FIRST.plus(3));
        ledger.ack(Fsn::FIRST.plus(1));
        assert_eq!(ledger.acked(), Fsn::new(3));
    }

    #[test]
    fn pub_14_waiters_of_both_kinds_are_woken_at_once_by_the_end() {
        let ledger = ledger(3);
        let epoch = ledger.room_epoch();
        scope(|scope| {
            let acked = scope.spawn(|| ledger.wait_acked(Fsn::FIRST.plus(2), Deadline::NEVER, &SystemClock));
            let room = scope.spawn(|| ledger.wait_room(epoch, Deadline::NEVER, &SystemClock));
            ledger.end();
            assert_eq!(acked.join().unwrap(), Outcome::Ended);
            assert_eq!(room.join().unwrap(), Outcome::Ended);
        });
        // Waiting afterwards ends as well, but what is acknowledged stays so.
        assert_eq!(ledger.wait_room(epoch, Deadline::NEVER, &SystemClock), Outcome::Ended);
        ledger.ack(Fsn::FIRST.plus(2));
        assert_eq!(ledger.wait_acked(Fsn::FIRST, Deadline::NEVER, &SystemClock), Outcome::Reached);
    }

    #[test]
    fn room_that_came_free_between_looking_and_waiting_is_not_missed() {
        let ledger = ledger(1);
        let epoch = ledger.room_epoch();
        ledger.freed();
        assert_eq!(ledger.wait_room(epoch, Deadline::NEVER, &SystemClock), Outcome::Reached);
    }

    #[test]
    fn no_wake_up_is_lost_between_two_threads() {
        const ROUNDS: u64 = if cfg!(miri) { 20 } else { 20_000 };
        let ledger = ledger(ROUNDS);
        let turn = Gate::new(-1);
        scope(|scope| {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    ledger.ack(Fsn::FIRST.plus(round));
                    let back = turn.wait(round as i64, Deadline::NEVER, &SystemClock, &ledger.ended);
                    assert_eq!(back, Outcome::Reached);
                }
            });
            for round in 0..ROUNDS {
                let there = ledger.wait_acked(Fsn::FIRST.plus(round), Deadline::NEVER, &SystemClock);
                assert_eq!(there, Outcome::Reached);
                turn.raise(round as i64);
            }
        });
    }

    #[test]
    fn two_waiters_for_different_frames_are_each_served() {
        let ledger = ledger(10);
        scope(|scope| {
            let first = scope.spawn(|| ledger.wait_acked(Fsn::FIRST, Deadline::NEVER, &SystemClock));
            let last = scope.spawn(|| ledger.wait_acked(Fsn::FIRST.plus(9), Deadline::NEVER, &SystemClock));
            ledger.ack(Fsn::FIRST);
            assert_eq!(first.join().unwrap(), Outcome::Reached);
            ledger.ack(Fsn::FIRST.plus(9));
            assert_eq!(last.join().unwrap(), Outcome::Reached);
        });
    }
}
