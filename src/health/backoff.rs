//! The pause after a round that found nobody (BACK).

use std::time::Duration;

/// How long to pause, growing with each pause until [`Backoff::reset`].
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    jitter: Jitter,
    initial: Duration,
    /// Never below `initial`.
    max: Duration,
    /// `initial <= base <= max`.
    base: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Jitter {
    /// Uniform in `[base, 2 * base)`: the lower bound keeps many producers from storming.
    Equal,
    /// Uniform in `[0, base)`: somebody waits for the answer.
    Full,
}

impl Backoff {
    /// For senders (BACK-01). An `initial` of 0 counts as 1 ms, a `max` below it is raised to it.
    pub(crate) fn ingest(initial: Duration, max: Duration) -> Backoff {
        Backoff::new(Jitter::Equal, initial.max(Duration::from_millis(1)), max)
    }

    /// For queries (BACK-04). With an `initial` of 0 there is no pause.
    pub(crate) fn query(initial: Duration, max: Duration) -> Backoff {
        Backoff::new(Jitter::Full, initial, max)
    }

    fn new(jitter: Jitter, initial: Duration, max: Duration) -> Backoff {
        Backoff { jitter, initial, max: max.max(initial), base: initial }
    }

    /// The pause to make now; the next one will be twice as long, up to the maximum.
    pub(crate) fn next(&mut self, rng: &mut fastrand::Rng) -> Duration {
        let pause = self.spread(self.base, rng);
        self.base = self.base.saturating_mul(2).min(self.max);
        pause
    }

    /// The pause after a round in which every host refused for its role: as long as a first one,
    /// and it makes the next one no longer (BACK-02).
    pub(crate) fn role_reject(&mut self, rng: &mut fastrand::Rng) -> Duration {
        self.reset();
        self.spread(self.initial, rng)
    }

    /// Starts over (BACK-03).
    pub(crate) fn reset(&mut self) {
        self.base = self.initial;
    }

    fn spread(&self, base: Duration, rng: &mut fastrand::Rng) -> Duration {
        match self.jitter {
            Jitter::Equal => base.saturating_add(below(base, rng)),
            Jitter::Full => below(base, rng),
        }
    }
}

/// Uniform in `[0, bound)`; zero for a bound of zero. Centuries are cut to 584 years.
fn below(bound: Duration, rng: &mut fastrand::Rng) -> Duration {
    match u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX) {
        0 => Duration::ZERO,
        nanos => Duration::from_nanos(rng.u64(..nanos)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// Draws many times from the same state: the least and the greatest pause.
    fn range(backoff: &Backoff, rng: &mut fastrand::Rng) -> (Duration, Duration) {
        let draws: Vec<_> = (0..2_000).map(|_| backoff.clone().next(rng)).collect();
        (*draws.iter().min().expect("2000 draws"), *draws.iter().max().expect("2000 draws"))
    }

    /// The pauses fill `[low, high)`: none outside, and both ends come within 2 %.
    fn assert_fills(found: (Duration, Duration), low: Duration, high: Duration) {
        let near = (high - low) / 50;
        assert!(found.0 >= low && found.0 <= low + near, "{found:?} for {low:?}..{high:?}");
        assert!(found.1 < high && found.1 >= high - near, "{found:?} for {low:?}..{high:?}");
    }

    #[test]
    fn back_01_ingest_doubles_from_100_ms_to_5_s_with_equal_jitter() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut backoff = Backoff::ingest(ms(100), ms(5_000));
        for base in [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000] {
            assert_fills(range(&backoff, &mut rng), ms(base), ms(2 * base));
            backoff.next(&mut rng);
        }
    }

    #[test]
    fn back_04_query_doubles_from_50_ms_to_1_s_with_full_jitter() {
        let mut rng = fastrand::Rng::with_seed(2);
        let mut backoff = Backoff::query(ms(50), ms(1_000));
        for base in [50, 100, 200, 400, 800, 1_000, 1_000] {
            assert_fills(range(&backoff, &mut rng), ms(0), ms(base));
            backoff.next(&mut rng);
        }
    }

    #[test]
    fn back_02_a_role_reject_pauses_like_the_first_time_and_starts_over() {
        let mut rng = fastrand::Rng::with_seed(3);
        let mut backoff = Backoff::ingest(ms(100), ms(5_000));
        for _ in 0..4 {
            backoff.next(&mut rng);
        }
        let pauses: Vec<_> = (0..2_000).map(|_| backoff.role_reject(&mut rng)).collect();
        let ends = (*pauses.iter().min().expect("2000"), *pauses.iter().max().expect("2000"));
        assert_fills(ends, ms(100), ms(200));
        assert_fills(range(&backoff, &mut rng), ms(100), ms(200));
    }

    #[test]
    fn back_03_a_reset_starts_over() {
        let mut rng = fastrand::Rng::with_seed(4);
        let mut backoff = Backoff::ingest(ms(100), ms(5_000));
        for _ in 0..9 {
            backoff.next(&mut rng);
        }
        backoff.reset();
        assert_fills(range(&backoff, &mut rng), ms(100), ms(200));
    }

    /// CONF-15, CONF-16, and the ranges in the table of keys.
    #[test]
    fn odd_settings_neither_spin_nor_wrap() {
        let mut rng = fastrand::Rng::with_seed(5);
        assert_fills(range(&Backoff::ingest(ms(0), ms(0)), &mut rng), ms(1), ms(2));
        assert_fills(range(&Backoff::ingest(ms(300), ms(10)), &mut rng), ms(300), ms(600));
        let mut none = Backoff::query(ms(0), ms(1_000));
        assert!((0..20).all(|_| none.next(&mut rng).is_zero()));
        let huge = Duration::from_millis(i64::MAX as u64);
        let mut backoff = Backoff::ingest(huge, huge);
        for _ in 0..100 {
            assert!(backoff.next(&mut rng) >= huge);
        }
        let mut backoff = Backoff::ingest(Duration::MAX, Duration::MAX);
        assert_eq!(backoff.next(&mut rng), Duration::MAX);
    }

    #[test]
    fn the_same_seed_gives_the_same_pauses_and_another_seed_others() {
        let pauses = |seed| {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut backoff = Backoff::ingest(ms(100), ms(5_000));
            (0..10).map(|_| backoff.next(&mut rng)).collect::<Vec<_>>()
        };
        assert_eq!(pauses(6), pauses(6));
        assert_ne!(pauses(6), pauses(7));
    }
}
