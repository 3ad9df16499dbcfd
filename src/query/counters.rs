//! What a query client has done so far (OBS-06).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of a query client. Clones read the same counts, from any thread, also while a query runs.
///
/// Counts only grow, and start at 0 with the client.
#[derive(Debug, Clone, Default)]
pub struct QueryCounters(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    queries: AtomicU64,
    batches: AtomicU64,
    rows: AtomicU64,
    bytes_received: AtomicU64,
    bytes_decompressed: AtomicU64,
    restarts: AtomicU64,
    cancels: AtomicU64,
}

impl QueryCounters {
    /// Queries and statements that were started.
    pub fn queries(&self) -> u64 {
        self.0.queries.load(Ordering::Relaxed)
    }

    /// Batches that were read, those of restarts included.
    pub fn batches(&self) -> u64 {
        self.0.batches.load(Ordering::Relaxed)
    }

    /// Rows in those batches.
    pub fn rows(&self) -> u64 {
        self.0.rows.load(Ordering::Relaxed)
    }

    /// Bytes of all messages of servers, as they were received.
    pub fn bytes_received(&self) -> u64 {
        self.0.bytes_received.load(Ordering::Relaxed)
    }

    /// Bytes of all batches, after decompression.
    pub fn bytes_decompressed(&self) -> u64 {
        self.0.bytes_decompressed.load(Ordering::Relaxed)
    }

    /// Queries that were sent again to another connection.
    pub fn restarts(&self) -> u64 {
        self.0.restarts.load(Ordering::Relaxed)
    }

    /// Queries that were cancelled by a handle, a time-out, or by dropping a half-read cursor.
    pub fn cancels(&self) -> u64 {
        self.0.cancels.load(Ordering::Relaxed)
    }

    pub(super) fn query(&self) {
        self.0.queries.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn message(&self, bytes: usize) {
        self.0.bytes_received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn batch(&self, rows: usize, bytes: usize) {
        self.0.batches.fetch_add(1, Ordering::Relaxed);
        self.0.rows.fetch_add(rows as u64, Ordering::Relaxed);
        self.0.bytes_decompressed.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn restart(&self) {
        self.0.restarts.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn cancel(&self) {
        self.0.cancels.fetch_add(1, Ordering::Relaxed);
    }
}
