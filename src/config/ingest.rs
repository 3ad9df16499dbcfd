//! What a sender reads.

use super::common::{CommonConfig, refused};
use super::keys::Key;
use super::values::Values;
use super::words::{ConnectMode, Durability, RejectionPolicy};
use crate::error::Result;
use std::path::PathBuf;
use std::time::Duration;

/// Slot names are directory names that suffixes are put on (FMT-03).
const MAX_SENDER_ID_BYTES: usize = 200;
/// Bounds of the store unless `sf_max_total_bytes` is set.
const DEFAULT_DISK_BYTES: u64 = 10 << 30;
const DEFAULT_MEMORY_BYTES: u64 = 128 << 20;

/// The keys of a sender.
#[derive(Debug, Clone)]
pub(crate) struct IngestConfig {
    pub(crate) common: CommonConfig,
    pub(crate) auto_flush: AutoFlush,
    /// Only an explicit flush publishes, as one commit (FLUSH-12).
    pub(crate) transaction: bool,
    pub(crate) init_buf_size: usize,
    /// At least `init_buf_size`.
    pub(crate) max_buf_size: usize,
    /// 16 to 127 bytes.
    pub(crate) max_name_len: usize,
    pub(crate) allow_timestamp_column: bool,
    pub(crate) store: StoreConfig,
    pub(crate) connect: ConnectStart,
    pub(crate) reconnect: ReconnectConfig,
    /// Zero: `close` does not wait.
    pub(crate) close_flush_timeout: Duration,
    pub(crate) request_durable_ack: bool,
    /// `None`: no keepalive.
    #[allow(dead_code, reason = "for durable acknowledgements")]
    pub(crate) durable_ack_keepalive_interval: Option<Duration>,
    pub(crate) rejections: RejectionConfig,
    #[allow(dead_code, reason = "for error handlers")]
    pub(crate) error_inbox_capacity: usize,
    #[allow(dead_code, reason = "for connection listeners")]
    pub(crate) connection_listener_inbox_capacity: usize,
}

/// When pending rows are flushed by themselves; all `None` for `auto_flush=off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AutoFlush {
    pub(crate) rows: Option<u64>,
    pub(crate) interval: Option<Duration>,
    pub(crate) bytes: Option<u64>,
}

/// Where published frames are kept.
#[derive(Debug, Clone)]
pub(crate) struct StoreConfig {
    /// `None`: in memory.
    pub(crate) dir: Option<PathBuf>,
    /// Letters, digits, `_` and `-`, 1 to 200 bytes.
    pub(crate) sender_id: String,
    /// 33 to 2^32 - 1 (FMT-05).
    pub(crate) segment_bytes: u64,
    /// At least two segments (PUB-13).
    pub(crate) total_bytes: u64,
    /// Other than `Memory` only with a directory.
    pub(crate) durability: Durability,
    pub(crate) sync_interval: Duration,
    /// Zero: no wait.
    pub(crate) append_deadline: Duration,
    #[allow(dead_code, reason = "for drainers of orphans")]
    pub(crate) drain_orphans: bool,
    /// 0: none.
    #[allow(dead_code, reason = "for drainers of orphans")]
    pub(crate) max_background_drainers: u64,
}

/// How the first connection is made, and why so (INIT-02).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConnectStart {
    pub(crate) mode: ConnectMode,
    /// The key that made it `Sync` without being asked to.
    pub(crate) promoted_by: Option<&'static str>,
}

/// The pauses between rounds (BACK-01).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReconnectConfig {
    /// At least 1 ms.
    pub(crate) initial_backoff: Duration,
    /// At least `initial_backoff`.
    pub(crate) max_backoff: Duration,
    /// Bounds the `sync` initial connect only (INIT-05). Zero: one round.
    pub(crate) max_duration: Duration,
}

/// What follows rejections (ERRP).
#[derive(Debug, Clone, Copy)]
pub(crate) struct RejectionConfig {
    /// At least 1.
    pub(crate) max_frame_rejections: u64,
    /// Zero: the count alone decides.
    pub(crate) escalation_window: Duration,
    /// Whether the user set the window: if not, more time is given where no strike was a NACK (ERRP-04).
    pub(crate) escalation_window_set: bool,
    /// `on_server_error`: for every category whose own policy is `Auto` (ERRP-06).
    pub(crate) server: RejectionPolicy,
    pub(crate) schema: RejectionPolicy,
    pub(crate) parse: RejectionPolicy,
    pub(crate) internal: RejectionPolicy,
    pub(crate) security: RejectionPolicy,
    pub(crate) write: RejectionPolicy,
}

impl IngestConfig {
    pub(super) fn new(values: &Values) -> Result<IngestConfig> {
        let common = CommonConfig::new(values)?;
        if values.count(Key::MaxBufSize) < values.count(Key::InitBufSize) {
            let why = "the bound of the buffer is below the size at which it starts";
            return Err(values.conflict(Key::MaxBufSize, Key::InitBufSize, why));
        }
        Ok(IngestConfig {
            common,
            auto_flush: AutoFlush::new(values),
            transaction: values.flag(Key::Transaction),
            init_buf_size: values.size(Key::InitBufSize),
            max_buf_size: values.size(Key::MaxBufSize),
            max_name_len: values.size(Key::MaxNameLen),
            allow_timestamp_column: values.flag(Key::AllowTimestampColumn),
            store: StoreConfig::new(values)?,
            connect: ConnectStart::new(values),
            reconnect: ReconnectConfig::new(values),
            close_flush_timeout: values.millis(Key::CloseFlushTimeoutMillis),
            request_durable_ack: values.flag(Key::RequestDurableAck),
            durable_ack_keepalive_interval: values.millis_unless_zero(Key::DurableAckKeepaliveIntervalMillis),
            rejections: RejectionConfig::new(values),
            error_inbox_capacity: values.size(Key::ErrorInboxCapacity),
            connection_listener_inbox_capacity: values.size(Key::ConnectionListenerInboxCapacity),
        })
    }

    /// What was decided for the user, and an operator should hear of (INIT-02, CONF-15).
    pub(super) fn decisions(&self, values: &Values) -> Vec<String> {
        let mut decisions = Vec::new();
        if let Some(key) = self.connect.promoted_by {
            decisions.push(format!(
                "{key} is set, so the initial connect retries (sync); initial_connect_retry=off keeps it to one round"
            ));
        }
        let asked = values.millis(Key::ReconnectMaxBackoffMillis).max(Duration::from_millis(1));
        if asked < self.reconnect.max_backoff {
            decisions.push(format!(
                "reconnect_max_backoff_millis {} is below reconnect_initial_backoff_millis and raised to {}",
                values.text_of(Key::ReconnectMaxBackoffMillis),
                self.reconnect.max_backoff.as_millis()
            ));
        }
        decisions
    }
}

impl AutoFlush {
    fn new(values: &Values) -> AutoFlush {
        if !values.flag(Key::AutoFlush) {
            return AutoFlush { rows: None, interval: None, bytes: None };
        }
        AutoFlush {
            rows: values.number(Key::AutoFlushRows),
            interval: values.millis_unless_zero(Key::AutoFlushInterval),
            bytes: values.number(Key::AutoFlushBytes),
        }
    }
}

impl StoreConfig {
    fn new(values: &Values) -> Result<StoreConfig> {
        let dir = values.text(Key::SfDir).map(PathBuf::from);
        let durability: Durability = values.word(Key::SfDurability);
        if durability != Durability::Memory && dir.is_none() {
            let why = "without a directory nothing is stored: set sf_dir, or leave sf_durability out";
            return Err(values.conflict(Key::SfDurability, Key::SfDir, why));
        }
        if values.is_set(Key::SfSyncIntervalMillis) && durability != Durability::Periodic {
            let why = "only sf_durability=periodic syncs by time";
            return Err(values.conflict(Key::SfSyncIntervalMillis, Key::SfDurability, why));
        }
        let in_memory = dir.is_none();
        Ok(StoreConfig {
            dir,
            sender_id: sender_id(values)?,
            segment_bytes: values.count(Key::SfMaxSegmentBytes),
            total_bytes: total_bytes(values, in_memory)?,
            durability,
            sync_interval: values.millis(Key::SfSyncIntervalMillis),
            append_deadline: values.millis(Key::SfAppendDeadlineMillis),
            drain_orphans: values.flag(Key::DrainOrphans),
            max_background_drainers: values.count(Key::MaxBackgroundDrainers),
        })
    }
}

fn sender_id(values: &Values) -> Result<String> {
    let id = values.text(Key::SenderId).unwrap_or_default();
    let is_slot_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if id.len() > MAX_SENDER_ID_BYTES || !id.bytes().all(is_slot_name) {
        return Err(refused(values, Key::SenderId, "wanted 1 to 200 letters, digits, `_` and `-`"));
    }
    Ok(id.to_owned())
}

fn total_bytes(values: &Values, in_memory: bool) -> Result<u64> {
    let default = if in_memory { DEFAULT_MEMORY_BYTES } else { DEFAULT_DISK_BYTES };
    let total = values.number(Key::SfMaxTotalBytes).unwrap_or(default);
    if total / 2 < values.count(Key::SfMaxSegmentBytes) {
        let why = if values.is_set(Key::SfMaxTotalBytes) {
            "at least two segments have to fit"
        } else if in_memory {
            "at least two segments have to fit; unset means 128m without sf_dir"
        } else {
            "at least two segments have to fit; unset means 10g with sf_dir"
        };
        return Err(values.conflict(Key::SfMaxTotalBytes, Key::SfMaxSegmentBytes, why));
    }
    Ok(total)
}

impl ConnectStart {
    /// An explicit mode wins, else any explicit `reconnect_*` key means `sync`, else `off` (INIT-02).
    pub(super) fn new(values: &Values) -> ConnectStart {
        let keys = [
            Key::ReconnectInitialBackoffMillis,
            Key::ReconnectMaxBackoffMillis,
            Key::ReconnectMaxDurationMillis,
        ];
        let promoted_by = keys.into_iter().find_map(|key| values.written(key));
        match promoted_by {
            Some(_) if !values.is_set(Key::InitialConnectRetry) => {
                ConnectStart { mode: ConnectMode::Sync, promoted_by }
            }
            _ => ConnectStart { mode: values.word(Key::InitialConnectRetry), promoted_by: None },
        }
    }
}

impl ReconnectConfig {
    /// A maximum below the initial pause is raised to it, since peers accept it (CONF-15).
    fn new(values: &Values) -> ReconnectConfig {
        let initial_backoff = values.millis(Key::ReconnectInitialBackoffMillis).max(Duration::from_millis(1));
        ReconnectConfig {
            initial_backoff,
            max_backoff: values.millis(Key::ReconnectMaxBackoffMillis).max(initial_backoff),
            max_duration: values.millis(Key::ReconnectMaxDurationMillis),
        }
    }
}

impl RejectionConfig {
    fn new(values: &Values) -> RejectionConfig {
        RejectionConfig {
            max_frame_rejections: values.count(Key::MaxFrameRejections),
            escalation_window: values.millis(Key::PoisonMinEscalationWindowMillis),
            escalation_window_set: values.is_set(Key::PoisonMinEscalationWindowMillis),
            server: values.word(Key::OnServerError),
            schema: values.word(Key::OnSchemaError),
            parse: values.word(Key::OnParseError),
            internal: values.word(Key::OnInternalError),
            security: values.word(Key::OnSecurityError),
            write: values.word(Key::OnWriteError),
        }
    }
}
