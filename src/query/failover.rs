//! How often and how long a broken query is tried again: a budget and what to do next, nothing else.
//!
//! ```text
//!  running --lost--> outage --next--> Round --found nobody--> outage (next: Pause, then Round)
//!     ^                 |               |
//!     |                 +-> GiveUp      +--connected--> running
//!     +------------------------------------------------------+
//! ```
//!
//! Both bounds belong to one execution: a restart that worked renews neither (QFO-03).

use crate::config::FailoverConfig;
use crate::health::Backoff;
use std::time::{Duration, Instant};

/// What to do about a broken query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Walk the endpoints once.
    Round,
    /// Pause, then ask again.
    Pause(Duration),
    /// A bound is reached.
    GiveUp,
}

/// The budget of one execution.
#[derive(Debug)]
pub(super) struct Failover {
    max_attempts: u64,
    max_duration: Option<Duration>,
    backoff: Backoff,
    /// The original one included.
    attempts: u64,
    /// Time spent in outages that are over.
    spent: Duration,
    /// When the outage began that lasts.
    outage: Option<Instant>,
    /// A round of this outage found nobody, and no pause was made since.
    exhausted: bool,
    /// Connections that were given up for bytes that do not decode.
    garbled: u32,
}

impl Failover {
    /// The original attempt is under way.
    pub(super) fn new(settings: &FailoverConfig) -> Failover {
        Failover {
            max_attempts: settings.max_attempts,
            max_duration: settings.max_duration,
            backoff: Backoff::query(settings.backoff_initial, settings.backoff_max),
            attempts: 1,
            spent: Duration::ZERO,
            outage: None,
            exhausted: false,
            garbled: 0,
        }
    }

    /// The connection is lost; `garbled`: for bytes that do not decode. Returns whether it may be
    /// tried again: the second connection that brings such bytes ends it (QFO-10).
    pub(super) fn lost(&mut self, garbled: bool, now: Instant) -> bool {
        self.outage = Some(now);
        self.exhausted = false;
        self.backoff.reset();
        self.garbled += u32::from(garbled);
        !(garbled && self.garbled > 1)
    }

    /// What to do now. A round that is begun counts as an attempt, connected or not.
    pub(super) fn next(&mut self, now: Instant, rng: &mut fastrand::Rng) -> Next {
        if self.attempts >= self.max_attempts {
            return Next::GiveUp;
        }
        let left = self.max_duration.map(|max| max.saturating_sub(self.time(now)));
        if left == Some(Duration::ZERO) {
            return Next::GiveUp;
        }
        if self.exhausted {
            self.exhausted = false;
            let pause = self.backoff.next(rng);
            // No attempt could start behind that pause.
            return if left.is_some_and(|left| pause >= left) { Next::GiveUp } else { Next::Pause(pause) };
        }
        self.attempts += 1;
        Next::Round
    }

    /// The round found nobody.
    pub(super) fn found_nobody(&mut self) {
        self.exhausted = true;
    }

    /// The round found somebody: the outage is over.
    pub(super) fn connected(&mut self, now: Instant) {
        self.spent = self.time(now);
        self.outage = None;
    }

    /// Attempts so far, the original one included.
    pub(super) fn attempts(&self) -> u64 {
        self.attempts
    }

    /// Time spent in outages.
    pub(super) fn time(&self, now: Instant) -> Duration {
        self.spent + self.outage.map_or(Duration::ZERO, |began| now.saturating_duration_since(began))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::SimClock;
    use crate::time::Clock;

    fn settings(max_attempts: u64, max_ms: u64) -> FailoverConfig {
        FailoverConfig {
            enabled: true,
            max_attempts,
            max_duration: (max_ms > 0).then(|| Duration::from_millis(max_ms)),
            backoff_initial: Duration::from_millis(50),
            backoff_max: Duration::from_secs(1),
        }
    }

    /// Rounds that find nobody, taking so long each, until the budget is used up.
    fn exhaust(failover: &mut Failover, clock: &SimClock, round: Duration) -> (u32, Duration) {
        let mut rng = fastrand::Rng::with_seed(7);
        let began = clock.elapsed();
        let mut rounds = 0;
        loop {
            match failover.next(clock.now(), &mut rng) {
                Next::Round => {
                    rounds += 1;
                    clock.advance(round);
                    failover.found_nobody();
                }
                Next::Pause(pause) => clock.advance(pause),
                Next::GiveUp => return (rounds, clock.elapsed() - began),
            }
        }
    }

    #[test]
    fn qfo_03_attempts_count_the_original_and_every_round() {
        for (max, rounds) in [(1, 0), (2, 1), (8, 7)] {
            let clock = SimClock::new();
            let mut failover = Failover::new(&settings(max, 0));
            assert!(failover.lost(false, clock.now()));
            assert_eq!(exhaust(&mut failover, &clock, Duration::ZERO).0, rounds);
            assert_eq!(failover.attempts(), max);
        }
    }

    #[test]
    fn qfo_03_no_attempt_starts_past_the_duration() {
        let clock = SimClock::new();
        let mut failover = Failover::new(&settings(u64::MAX, 30_000));
        failover.lost(false, clock.now());
        let (rounds, time) = exhaust(&mut failover, &clock, Duration::from_millis(1));
        assert!(rounds > 30, "{rounds}");
        assert!(time > Duration::from_secs(28) && time <= Duration::from_secs(30), "{time:?}");
        // A round that is under way is not cut.
        let mut failover = Failover::new(&settings(u64::MAX, 30_000));
        failover.lost(false, clock.now());
        assert_eq!(exhaust(&mut failover, &clock, Duration::from_secs(20)).0, 2);
    }

    #[test]
    fn qfo_03_a_restart_that_worked_renews_neither_bound_and_progress_costs_nothing() {
        let clock = SimClock::new();
        let mut rng = fastrand::Rng::with_seed(1);
        let mut failover = Failover::new(&settings(4, 1_000));
        for _ in 0..2 {
            failover.lost(false, clock.now());
            assert_eq!(failover.next(clock.now(), &mut rng), Next::Round);
            clock.advance(Duration::from_millis(400));
            failover.connected(clock.now());
            clock.advance(Duration::from_secs(3600));
        }
        assert_eq!(failover.time(clock.now()), Duration::from_millis(800));
        failover.lost(false, clock.now());
        assert_eq!(failover.next(clock.now(), &mut rng), Next::Round, "200 ms are left");
        clock.advance(Duration::from_millis(200));
        failover.connected(clock.now());
        failover.lost(false, clock.now());
        assert_eq!(failover.next(clock.now(), &mut rng), Next::GiveUp);
    }

    #[test]
    fn back_04_a_pause_is_made_only_behind_a_round_that_found_nobody() {
        let clock = SimClock::new();
        let mut rng = fastrand::Rng::with_seed(2);
        let mut failover = Failover::new(&settings(100, 0));
        failover.lost(false, clock.now());
        for base in [50, 100, 200, 400, 800, 1000, 1000] {
            assert_eq!(failover.next(clock.now(), &mut rng), Next::Round);
            failover.found_nobody();
            let Next::Pause(pause) = failover.next(clock.now(), &mut rng) else { panic!("a pause") };
            assert!(pause < Duration::from_millis(base), "{pause:?} of {base}");
        }
        failover.connected(clock.now());
        failover.lost(false, clock.now());
        assert_eq!(failover.next(clock.now(), &mut rng), Next::Round, "no pause before the first round");
    }

    #[test]
    fn qfo_10_bytes_that_do_not_decode_restart_once() {
        let clock = SimClock::new();
        let mut failover = Failover::new(&settings(8, 0));
        assert!(failover.lost(false, clock.now()));
        assert!(failover.lost(true, clock.now()));
        assert!(failover.lost(false, clock.now()));
        assert!(!failover.lost(true, clock.now()));
    }
}
