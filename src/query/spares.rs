//! Buffers of batches that are gone, for those to come.

use crate::wire::egress::{Batch, Shell};
use parking_lot::Mutex;

/// Batches kept at most. Consumers drop one before they ask for the next.
const KEPT: usize = 2;

/// Buffers of batches that are gone. The consumer drops its batch on any thread.
#[derive(Debug, Default)]
pub(super) struct Spares(Mutex<Vec<(Vec<u8>, Shell)>>);

impl Spares {
    pub(super) fn keep(&self, batch: Batch) {
        let spare = batch.recycle();
        let mut kept = self.0.lock();
        if kept.len() < KEPT {
            kept.push(spare);
        }
    }

    /// The buffer of a message, if there is one, and what a batch is made of.
    pub(super) fn take(&self) -> (Option<Vec<u8>>, Shell) {
        match self.0.lock().pop() {
            Some((buffer, shell)) => (Some(buffer), shell),
            None => (None, Shell::default()),
        }
    }
}
