//! What a query client reads.

use super::common::{CommonConfig, refused};
use super::keys::Key;
use super::values::Values;
use super::words::{Compression, Target};
use crate::error::Result;
use std::time::Duration;

/// The keys of a query client.
#[derive(Debug, Clone)]
pub(crate) struct QueryConfig {
    pub(crate) common: CommonConfig,
    pub(crate) target: Target,
    /// Trimmed, not empty.
    pub(crate) zone: Option<String>,
    pub(crate) failover: FailoverConfig,
    pub(crate) server_info_timeout: Duration,
    /// `Raw` or `Auto`: this version refuses `Zstd`.
    #[allow(dead_code, reason = "both mean raw in a build that cannot decompress")]
    pub(crate) compression: Compression,
    /// 1 to 22.
    #[allow(dead_code, reason = "no meaning in a build that cannot decompress")]
    pub(crate) compression_level: u64,
    /// Bytes that the server may send ahead; `None`: without bound.
    pub(crate) initial_credit: Option<u64>,
    /// 1 to 1,048,576; `None`: the server decides.
    pub(crate) max_batch_rows: Option<u64>,
    pub(crate) close_timeout: Duration,
    /// `None`: the server's own.
    pub(crate) query_timeout: Option<Duration>,
}

/// What happens to a query whose connection fails (QFO).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FailoverConfig {
    pub(crate) enabled: bool,
    /// The first attempt included; at least 1.
    pub(crate) max_attempts: u64,
    /// `None`: no bound.
    pub(crate) max_duration: Option<Duration>,
    /// Zero: no pause.
    pub(crate) backoff_initial: Duration,
    /// At least `backoff_initial`.
    pub(crate) backoff_max: Duration,
}

impl QueryConfig {
    pub(super) fn new(values: &Values) -> Result<QueryConfig> {
        let common = CommonConfig::new(values)?;
        let compression: Compression = values.word(Key::Compression);
        if compression == Compression::Zstd {
            let why = "it needs the cargo feature `zstd`, which this version does not have; use raw or auto";
            return Err(refused(values, Key::Compression, why));
        }
        Ok(QueryConfig {
            common,
            target: values.word(Key::Target),
            zone: values.text(Key::Zone).map(str::to_owned),
            failover: FailoverConfig::new(values)?,
            server_info_timeout: values.millis(Key::ServerInfoTimeoutMs),
            compression,
            compression_level: values.count(Key::CompressionLevel),
            initial_credit: values.number(Key::InitialCredit).filter(|bytes| *bytes > 0),
            max_batch_rows: values.number(Key::MaxBatchRows),
            close_timeout: values.millis(Key::QueryCloseTimeoutMs),
            query_timeout: values.millis_unless_zero(Key::QueryTimeoutMs),
        })
    }
}

impl FailoverConfig {
    fn new(values: &Values) -> Result<FailoverConfig> {
        let backoff_initial = values.millis(Key::FailoverBackoffInitialMs);
        let backoff_max = values.millis(Key::FailoverBackoffMaxMs);
        if backoff_max < backoff_initial {
            let why = "the longest pause is below the first one";
            return Err(values.conflict(Key::FailoverBackoffMaxMs, Key::FailoverBackoffInitialMs, why));
        }
        Ok(FailoverConfig {
            enabled: values.flag(Key::Failover),
            max_attempts: values.count(Key::FailoverMaxAttempts),
            max_duration: values.millis_unless_zero(Key::FailoverMaxDurationMs),
            backoff_initial,
            backoff_max,
        })
    }
}
