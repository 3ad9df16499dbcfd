//! When a finished row flushes by itself (FLUSH-05).

use crate::time::Clock;
use std::time::{Duration, Instant};

/// The three triggers. None of them is set under `transaction=on` (FLUSH-12).
#[derive(Debug, Clone)]
pub(crate) struct AutoFlush {
    /// `usize::MAX` is off, here and for the bytes.
    rows: usize,
    bytes: usize,
    interval: Option<Duration>,
    /// When the first pending row was finished.
    first_row: Option<Instant>,
}

impl AutoFlush {
    pub(crate) const OFF: AutoFlush =
        AutoFlush { rows: usize::MAX, bytes: usize::MAX, interval: None, first_row: None };

    pub(crate) fn new(rows: Option<usize>, bytes: Option<usize>, interval: Option<Duration>) -> AutoFlush {
        AutoFlush {
            rows: rows.unwrap_or(usize::MAX),
            bytes: bytes.unwrap_or(usize::MAX),
            interval,
            first_row: None,
        }
    }

    /// Whether to flush now that a row was finished. The interval counts from the first row.
    #[inline]
    pub(crate) fn is_due(&mut self, rows: usize, bytes: usize, clock: &dyn Clock) -> bool {
        rows >= self.rows || bytes >= self.bytes || self.is_old(clock)
    }

    #[inline]
    fn is_old(&mut self, clock: &dyn Clock) -> bool {
        let Some(interval) = self.interval else { return false };
        let now = clock.now();
        let first = *self.first_row.get_or_insert(now);
        now.saturating_duration_since(first) >= interval
    }

    /// Everything was flushed.
    pub(crate) fn flushed(&mut self) {
        self.first_row = None;
    }
}
