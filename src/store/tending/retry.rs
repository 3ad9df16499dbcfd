//! Pauses between attempts at something that failed.

use std::time::{Duration, Instant};

use crate::time::Deadline;

/// When to try again: after 1 s, doubling up to 30 s (PUB-11, PUB-19).
#[derive(Debug)]
pub(super) struct Retry {
    /// When the next attempt may begin; `None` after a success.
    at: Option<Instant>,
    pause: Duration,
    first: Duration,
    longest: Duration,
}

impl Default for Retry {
    fn default() -> Retry {
        Retry { at: None, pause: FIRST, first: FIRST, longest: LONGEST }
    }
}

impl Retry {
    /// After `pause` each time (DUR-05).
    pub(super) fn up_to(pause: Duration) -> Retry {
        Retry { at: None, pause, first: pause, longest: pause }
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.at.is_none_or(|at| at <= now)
    }

    /// Whether the last attempt failed.
    pub(super) fn has_failed(&self) -> bool {
        self.at.is_some()
    }

    pub(super) fn failed(&mut self, now: Instant) {
        self.at = now.checked_add(self.pause);
        self.pause = self.pause.saturating_mul(2).min(self.longest);
    }

    pub(super) fn reset(&mut self) {
        self.at = None;
        self.pause = self.first;
    }

    /// When the next attempt is due after a failure; never without one.
    pub(super) fn deadline(&self) -> Deadline {
        self.at.map_or(Deadline::NEVER, Deadline::at)
    }
}

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Clock, SystemClock};

    #[test]
    fn pub_19_pauses_double_from_one_second_to_thirty() {
        let now = SystemClock.now();
        let mut retry = Retry::default();
        assert!(retry.is_due(now));
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            retry.failed(now);
            let due = now + Duration::from_secs(seconds);
            assert_eq!(retry.deadline(), Deadline::at(due));
            assert!(!retry.is_due(due - Duration::from_millis(1)) && retry.is_due(due));
        }
        retry.reset();
        assert_eq!((retry.is_due(now), retry.deadline()), (true, Deadline::NEVER));
        retry.failed(now);
        assert_eq!(retry.deadline(), Deadline::at(now + FIRST));
    }
}
