//! Time that stands still until somebody waits.

use crate::time::{Clock, SystemClock};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// A simulated clock. Clones are the same clock.
#[derive(Clone)]
pub(crate) struct SimClock(Arc<Inner>);

struct Inner {
    /// Any instant will do: only differences are looked at.
    start: Instant,
    state: Mutex<State>,
}

struct State {
    elapsed: Duration,
    /// What happens when, in the order of time and then of asking.
    events: BTreeMap<(Duration, u64), Box<dyn FnOnce() + Send>>,
    asked: u64,
}

impl SimClock {
    /// A clock at time 0.
    pub(crate) fn new() -> SimClock {
        let state = State { elapsed: Duration::ZERO, events: BTreeMap::new(), asked: 0 };
        SimClock(Arc::new(Inner { start: SystemClock.now(), state: Mutex::new(state) }))
    }

    /// How much simulated time has passed.
    pub(crate) fn elapsed(&self) -> Duration {
        self.0.state.lock().elapsed
    }

    /// Has `event` happen at `elapsed`, or at the next move if that has passed.
    pub(crate) fn at(&self, elapsed: Duration, event: impl FnOnce() + Send + 'static) {
        let mut state = self.0.state.lock();
        state.asked += 1;
        let key = (elapsed, state.asked);
        state.events.insert(key, Box::new(event));
    }

    /// When the next event happens.
    pub(crate) fn next_event(&self) -> Option<Instant> {
        let state = self.0.state.lock();
        let ((elapsed, _), _) = state.events.first_key_value()?;
        Some(self.0.start + (*elapsed).max(state.elapsed))
    }

    /// Moves on, and has happen what is due meanwhile.
    pub(crate) fn advance(&self, by: Duration) {
        self.advance_to(self.now() + by);
    }

    /// Moves on to `instant`; not at all if that has passed.
    pub(crate) fn advance_to(&self, instant: Instant) {
        let target = instant.saturating_duration_since(self.0.start);
        while let Some(event) = self.next_due(target) {
            event();
        }
    }

    /// Steps to the next event up to `target`; to `target` itself if there is none.
    fn next_due(&self, target: Duration) -> Option<Box<dyn FnOnce() + Send>> {
        let mut state = self.0.state.lock();
        match state.events.first_entry() {
            Some(first) if first.key().0 <= target => {
                let ((at, _), event) = first.remove_entry();
                state.elapsed = state.elapsed.max(at);
                Some(event)
            }
            _ => {
                state.elapsed = state.elapsed.max(target);
                None
            }
        }
    }
}

impl Clock for SimClock {
    fn now(&self) -> Instant {
        self.0.start + self.elapsed()
    }

    /// The simulation begins in September 2001.
    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000) + self.elapsed()
    }

    fn sleep(&self, duration: Duration) {
        self.advance(duration);
    }
}

impl fmt::Debug for SimClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimClock({:?})", self.elapsed())
    }
}
