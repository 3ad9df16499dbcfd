//! What the producer and the I/O thread of a sender share.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::delivery::UNKNOWN_CAP_BYTES;
use super::renewals::Renewals;
use super::snapshot::{LinkStatus, Tally};
use crate::error::Error;
use crate::store::Ledger;
use crate::time::Clock;
use crate::transport::Wake;

/// Shared by a sender and its I/O thread.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Wakes the I/O thread: `notify` after publishing, `fire` to interrupt whatever it does.
    pub(crate) wake: Wake,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) link: LinkStatus,
    pub(crate) tally: Tally,
    pub(crate) renewals: Renewals,
    /// The first terminal error (ERRP-05).
    terminal: OnceLock<Error>,
    /// Largest message of the server in use or last in use, 0 if it did not say.
    cap: AtomicU64,
    ever_connected: AtomicBool,
    stop: AtomicBool,
}

impl Shared {
    /// For a sender that has not connected yet.
    ///
    /// # Errors
    /// The system gives no descriptor for the wake-up.
    pub(crate) fn new(ledger: Arc<Ledger>, clock: &dyn Clock) -> io::Result<Shared> {
        Ok(Shared {
            wake: Wake::new()?,
            ledger,
            link: LinkStatus::new(clock),
            tally: Tally::default(),
            renewals: Renewals::default(),
            terminal: OnceLock::new(),
            cap: AtomicU64::new(0),
            ever_connected: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        })
    }

    /// The error that stopped the sender, if one did. The first one wins.
    #[inline]
    pub(crate) fn terminal(&self) -> Option<&Error> {
        self.terminal.get()
    }

    /// Stops the sender for good: latches the error, then ends all waits.
    pub(crate) fn fail(&self, error: Error) {
        // A second error changes nothing.
        let _ = self.terminal.set(error);
        if let Some(first) = self.terminal() {
            self.link.failed(first.clone());
        }
        self.ledger.end();
    }

    /// Largest message that the server takes: that of the connection in use, else of the last one
    /// (FLUSH-11); `None` if it did not say.
    #[inline]
    pub(crate) fn cap(&self) -> Option<u64> {
        Some(self.cap.load(Ordering::Relaxed)).filter(|&cap| cap > 0)
    }

    /// Bytes that a frame of several rows should not exceed: 90 % of the server's cap, or 1.9 MiB
    /// while that is unknown (FLUSH-03). A single row may take all of [`Shared::cap`].
    #[inline]
    pub(crate) fn frame_limit(&self) -> u64 {
        match self.cap.load(Ordering::Relaxed) {
            0 => UNKNOWN_CAP_BYTES as u64,
            cap => cap - cap.div_ceil(10),
        }
    }

    /// Whether there ever was a connection (INIT-03).
    pub(crate) fn was_ever_connected(&self) -> bool {
        self.ever_connected.load(Ordering::Relaxed)
    }

    /// A connection is up.
    pub(super) fn connected(&self, endpoint: &str, cap: Option<u64>, clock: &dyn Clock) {
        self.cap.store(cap.unwrap_or(0), Ordering::Relaxed);
        self.ever_connected.store(true, Ordering::Relaxed);
        self.tally.connects.add(1);
        self.link.connected(endpoint, clock);
    }

    /// Asks the I/O thread to end, wherever it is.
    pub(super) fn ask_to_stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.wake.fire();
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::store::{self, Fsn, Outcome};
    use crate::time::{Deadline, SystemClock};

    fn shared() -> Shared {
        let config = store::Config { segment_bytes: 1000, total_bytes: 2000 };
        let (_, _, ledger) = store::memory(config).unwrap();
        Shared::new(ledger, &SystemClock).unwrap()
    }

    #[test]
    fn errp_05_the_first_terminal_error_wins_and_ends_all_waits() {
        let shared = shared();
        assert!(shared.terminal().is_none());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| shared.ledger.wait_acked(Fsn::FIRST, Deadline::NEVER, &SystemClock));
            shared.fail(Error::new(ErrorKind::Rejected, "first"));
            assert_eq!(waiting.join().unwrap(), Outcome::Ended);
        });
        shared.fail(Error::new(ErrorKind::Bug, "second"));
        assert_eq!(shared.terminal().unwrap().kind(), ErrorKind::Rejected);
        let health = shared.link.health(SystemClock.now());
        assert_eq!(health.last_failure.unwrap().to_string(), "first");
    }

    #[test]
    fn flush_03_11_the_frame_limit_follows_the_server_in_use() {
        let shared = shared();
        assert_eq!((shared.cap(), shared.frame_limit()), (None, 1_992_294));
        for (cap, limit) in [(Some(1000), 900), (Some(2_097_138), 1_887_424), (Some(1), 0), (None, 1_992_294)]
        {
            shared.connected("a:9000", cap, &SystemClock);
            assert_eq!((shared.cap(), shared.frame_limit()), (cap, limit));
        }
        assert!(shared.was_ever_connected());
    }
}
