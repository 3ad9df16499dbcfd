//! The only file that reads a clock or sleeps.
//!
//! Pure code takes `now: Instant` and answers with its next [`Deadline`]. Threads hold an
//! `Arc<dyn Clock>`, so that a test can put a simulated one in its place.

use std::fmt::Debug;
use std::time::{Duration, Instant, SystemTime};

/// Where the time comes from.
pub(crate) trait Clock: Debug + Send + Sync {
    /// The monotonic clock: every wait and every deadline is measured with it.
    fn now(&self) -> Instant;

    /// The wall clock: for what people read, never for a wait.
    fn wall(&self) -> SystemTime;

    /// Blocks the calling thread.
    fn sleep(&self, duration: Duration);
}

/// The machine's own clocks.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct SystemClock;

#[expect(clippy::disallowed_methods, reason = "this file is the seam")]
impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

/// The wall clock for values that a user asked to stamp with "now".
#[expect(clippy::disallowed_methods, reason = "this file is the seam")]
pub(crate) fn wall_now() -> SystemTime {
    SystemTime::now()
}

/// A point in time by which something ends, or never.
///
/// A duration that the clock cannot hold is no deadline (CONF-16), so that nothing wraps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    /// No deadline.
    pub(crate) const NEVER: Deadline = Deadline(None);

    /// At `instant`.
    pub(crate) fn at(instant: Instant) -> Deadline {
        Deadline(Some(instant))
    }

    /// `after` from `now`; none if that lies beyond what the clock can hold.
    pub(crate) fn after(now: Instant, after: Duration) -> Deadline {
        Deadline(now.checked_add(after))
    }

    /// The instant, if there is one.
    #[allow(dead_code, reason = "the simulated clock goes there")]
    pub(crate) fn instant(self) -> Option<Instant> {
        self.0
    }

    /// Whether `now` is at or past it.
    pub(crate) fn passed(self, now: Instant) -> bool {
        self.0.is_some_and(|at| now >= at)
    }

    /// What is left at `now`: zero once passed, `None` without a deadline.
    pub(crate) fn remaining(self, now: Instant) -> Option<Duration> {
        self.0.map(|at| at.saturating_duration_since(now))
    }

    /// The earlier of the two.
    pub(crate) fn min(self, other: Deadline) -> Deadline {
        match (self.0, other.0) {
            (Some(a), Some(b)) => Deadline(Some(a.min(b))),
            (a, b) => Deadline(a.or(b)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conf_16_a_deadline_beyond_the_clock_is_no_deadline() {
        let now = SystemClock.now();
        assert_eq!(Deadline::after(now, Duration::MAX), Deadline::NEVER);
        assert!(!Deadline::NEVER.passed(now));
        assert_eq!(Deadline::NEVER.remaining(now), None);
    }

    #[test]
    fn the_earlier_deadline_wins_and_never_loses_to_any() {
        let now = SystemClock.now();
        let soon = Deadline::after(now, Duration::from_secs(1));
        let late = Deadline::after(now, Duration::from_secs(2));
        assert_eq!(soon.min(late), soon);
        assert_eq!(late.min(soon), soon);
        assert_eq!(Deadline::NEVER.min(late), late);
        assert_eq!(late.min(Deadline::NEVER), late);
        assert!(soon.passed(now + Duration::from_secs(1)));
        assert_eq!(late.remaining(now), Some(Duration::from_secs(2)));
        assert_eq!(soon.remaining(now + Duration::from_secs(5)), Some(Duration::ZERO));
    }
}
