use crate::error::Error;
use crate::store::Ledger;
use crate::transport::Wake;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) wake: Wake,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) terminal: OnceLock<Error>,
    pub(crate) counters: Counters,
}
#[derive(Debug)]
pub(crate) struct Counters;
impl Counters {
    pub(crate) fn published(&self, _: usize, _: usize, _: usize) {}
    pub(crate) fn stalled(&self, _: Duration) {}
}
impl Shared {
    pub(crate) fn for_tests(ledger: Arc<Ledger>) -> Shared {
        Shared { wake: Wake::new().unwrap(), ledger, terminal: OnceLock::new(), counters: Counters }
    }
    pub(crate) fn terminal(&self) -> Option<Error> {
        self.terminal.get().cloned()
    }
    #[inline]
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal.get().is_some()
    }
    pub(crate) fn message_cap(&self) -> Option<usize> {
        None
    }
    pub(crate) fn link_text(&self, _: Instant) -> String {
        String::new()
    }
    pub(crate) fn was_ever_connected(&self) -> bool {
        false
    }
}
