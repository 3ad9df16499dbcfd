//! What the pooled facade reads: its own keys and those of both sides.

use super::ingest::{ConnectStart, IngestConfig};
use super::keys::Key;
use super::query::QueryConfig;
use super::values::Values;
use super::words::ConnectMode;
use crate::error::Result;
use std::time::Duration;

/// The keys of the facade.
#[derive(Debug, Clone)]
pub(crate) struct PoolConfig {
    pub(crate) ingest: IngestConfig,
    pub(crate) query: QueryConfig,
    pub(crate) senders: PoolRange,
    pub(crate) queries: PoolRange,
    /// Zero: a borrow does not wait.
    pub(crate) acquire_timeout: Duration,
    /// `None`: idle objects are kept.
    pub(crate) idle_timeout: Option<Duration>,
    /// `None`: objects do not age.
    pub(crate) max_lifetime: Option<Duration>,
    /// At least 100 ms.
    pub(crate) housekeeper_interval: Duration,
    pub(crate) lazy_connect: bool,
}

/// How many objects a pool holds: `min <= max`, and `max` is 1 to 65,536.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PoolRange {
    pub(crate) min: usize,
    pub(crate) max: usize,
}

impl PoolConfig {
    pub(super) fn new(values: &Values) -> Result<PoolConfig> {
        let mut config = PoolConfig {
            ingest: IngestConfig::new(values)?,
            query: QueryConfig::new(values)?,
            senders: range(values, Key::SenderPoolMin, Key::SenderPoolMax)?,
            queries: range(values, Key::QueryPoolMin, Key::QueryPoolMax)?,
            acquire_timeout: values.millis(Key::AcquireTimeoutMs),
            idle_timeout: values.millis_unless_zero(Key::IdleTimeoutMs),
            max_lifetime: values.millis_unless_zero(Key::MaxLifetimeMs),
            housekeeper_interval: values.millis(Key::HousekeeperIntervalMs),
            lazy_connect: values.flag(Key::LazyConnect),
        };
        if config.lazy_connect {
            config.make_lazy(values)?;
        }
        Ok(config)
    }

    /// POOL-03: nothing that `build` does may need the server.
    fn make_lazy(&mut self, values: &Values) -> Result<()> {
        let asked: ConnectMode = values.word(Key::InitialConnectRetry);
        if values.is_set(Key::InitialConnectRetry) && asked != ConnectMode::Async {
            let why =
                "a lazy pool connects in the background: leave initial_connect_retry out, or set it to async";
            return Err(values.conflict(Key::LazyConnect, Key::InitialConnectRetry, why));
        }
        if values.is_set(Key::QueryPoolMin) && self.queries.min > 0 {
            let why =
                "a lazy pool opens no query client at the start: leave query_pool_min out, or set it to 0";
            return Err(values.conflict(Key::LazyConnect, Key::QueryPoolMin, why));
        }
        self.ingest.connect = ConnectStart { mode: ConnectMode::Async, promoted_by: None };
        self.queries.min = 0;
        Ok(())
    }
}

fn range(values: &Values, min: Key, max: Key) -> Result<PoolRange> {
    let range = PoolRange { min: values.size(min), max: values.size(max) };
    if range.min > range.max {
        return Err(values.conflict(min, max, "the minimum is above the maximum"));
    }
    Ok(range)
}
