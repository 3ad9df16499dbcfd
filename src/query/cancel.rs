//! Cancelling a query from another thread.

use crate::transport::Wake;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

const OPEN: u8 = 0;
const REQUESTED: u8 = 1;
const OVER: u8 = 2;

/// Cancels one execution of a query, from any thread.
///
/// Used before the request has left, it prevents it; used after the result has ended, or when a later
/// query runs on the same client, it does nothing (QRY-13). Clones cancel the same execution.
#[derive(Clone)]
pub struct CancelHandle(Arc<Inner>);

struct Inner {
    state: AtomicU8,
    wake: Wake,
}

impl CancelHandle {
    pub(super) fn new(wake: Wake) -> CancelHandle {
        CancelHandle(Arc::new(Inner { state: AtomicU8::new(OPEN), wake }))
    }

    /// Asks for the end of the query, and returns at once.
    ///
    /// The thread that reads the cursor tells the server, waits for its answer for at most
    /// `query_close_timeout_ms` and gets [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled). Batches
    /// that were handed out stay readable. A server hears a cancel only while its stream waits for
    /// credit: with `initial_credit=0`, or before the first batch of a long statement, the connection is
    /// closed instead, and the next query opens a new one (QRY-07).
    pub fn cancel(&self) {
        let asked = self.0.state.compare_exchange(OPEN, REQUESTED, Ordering::AcqRel, Ordering::Acquire);
        if asked.is_ok() {
            self.0.wake.fire();
        }
    }

    /// Whether the cancel was asked for before the query had ended.
    pub fn is_cancelled(&self) -> bool {
        self.0.state.load(Ordering::Acquire) == REQUESTED
    }

    /// The execution is over: from here on a cancel does nothing.
    pub(super) fn close(&self) {
        let _ = self.0.state.compare_exchange(OPEN, OVER, Ordering::AcqRel, Ordering::Acquire);
    }
}

impl fmt::Debug for CancelHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelHandle").field("cancelled", &self.is_cancelled()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qry_13_a_cancel_counts_until_the_execution_is_over_and_only_once() {
        let wake = Wake::new().expect("a wake");
        let handle = CancelHandle::new(wake.clone());
        handle.clone().cancel();
        assert!(handle.is_cancelled() && wake.drain());
        handle.cancel();
        assert!(!wake.drain(), "the second time changes nothing");
        handle.close();
        assert!(handle.is_cancelled());

        let late = CancelHandle::new(wake.clone());
        late.close();
        late.cancel();
        assert!(!late.is_cancelled() && !wake.drain());
    }
}
