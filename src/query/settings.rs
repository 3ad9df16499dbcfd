//! What a query client takes from its configuration.

use crate::config::{FailoverConfig, QueryConfig};
use crate::dial::{DialSettings, setup};
use std::time::Duration;

/// Rows of a batch at most, as a server sees it (wire.md 1.2).
const SERVER_BATCH_ROWS: usize = 16_384;

/// The keys that a query client reads, checked.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) dial: DialSettings,
    pub(crate) failover: FailoverConfig,
    pub(crate) server_info_timeout: Duration,
    /// Rows of a full batch: what the server was asked for, at most what it would send by itself.
    pub(crate) full_rows: usize,
    /// Bytes that a server may send ahead; 0: any number.
    pub(crate) initial_credit: u64,
    /// Bounds the wait for the end of a query that nobody reads any more.
    pub(crate) close_timeout: Duration,
    /// `query_timeout_ms`: sent to servers that announce it (QRY-11).
    pub(crate) query_timeout: Option<Duration>,
}

impl Settings {
    pub(crate) fn new(config: &QueryConfig) -> Settings {
        Settings {
            dial: setup::egress(config),
            failover: config.failover,
            server_info_timeout: config.server_info_timeout,
            full_rows: full_rows(config.max_batch_rows),
            initial_credit: config.initial_credit.unwrap_or(0),
            close_timeout: config.close_timeout,
            query_timeout: config.query_timeout,
        }
    }
}

fn full_rows(asked: Option<u64>) -> usize {
    let asked = asked.and_then(|rows| usize::try_from(rows).ok());
    asked.unwrap_or(SERVER_BATCH_ROWS).min(SERVER_BATCH_ROWS)
}
