//! The registry of keys (CONF-03): one row a key. Parser, checks, documentation and hints read it.

use super::words::{Compression, ConnectMode, Durability, RejectionPolicy, Target, TlsCa, TlsVerify};

/// Which part of the client reads a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Common,
    Ingest,
    Query,
    Pool,
}

/// How the text of a key is read, and what it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A list of endpoints; the only key that may come more than once.
    Endpoints,
    /// Text that is not empty.
    Text,
    /// Text that is not empty and never shown.
    Secret,
    /// Text whose surrounding spaces do not count; blank means unset.
    Trimmed,
    /// `on`, `off`, `true`, `false`.
    Flag,
    /// One of these.
    Word(&'static [&'static str]),
    /// Whole milliseconds from a minimum on.
    Millis { min: i64 },
    /// Whole milliseconds of which 0 and below have a meaning.
    SignedMillis,
    /// Whole milliseconds from 1 on, or `off`.
    MillisOrOff,
    /// A plain number.
    Count { min: i64, max: i64 },
    /// A plain number, or `off`; 0 is off too.
    CountOrOff,
    /// Bytes, with a suffix or without.
    Bytes { min: i64, max: i64 },
    /// Bytes, or `off`; 0 is off too.
    BytesOrOff,
}

/// Whether this version does what the key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Support {
    Full,
    /// Any value but the default is refused, never ignored.
    DefaultOnly,
}

/// One row of the registry.
#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) side: Side,
    pub(crate) kind: Kind,
    /// As it would stand in a connect string; empty if the key is unset by default.
    pub(crate) default: &'static str,
    pub(crate) support: Support,
    /// What it does, for the documentation.
    pub(crate) about: &'static str,
}

impl Spec {
    pub(crate) fn is_secret(&self) -> bool {
        self.kind == Kind::Secret
    }
}

macro_rules! registry {
    ($($key:ident $name:literal [$($alias:literal),*] $side:ident, $kind:expr, $default:expr, $support:ident, $about:literal;)*) => {
        /// A key of the connect string.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Key {
            $($key,)*
        }

        impl Key {
            /// Every key, in the order of the documentation.
            pub(crate) const ALL: &'static [Key] = &[$(Key::$key,)*];

            /// Its row in the registry.
            pub(crate) fn spec(self) -> &'static Spec {
                match self {
                    $(Key::$key => const {
                        &Spec {
                            name: $name,
                            aliases: &[$($alias),*],
                            side: Side::$side,
                            kind: $kind,
                            default: $default,
                            support: Support::$support,
                            about: $about,
                        }
                    },)*
                }
            }
        }
    };
}

const MAX: i64 = i64::MAX;
const POSITIVE_MILLIS: Kind = Kind::Millis { min: 1 };
const MILLIS: Kind = Kind::Millis { min: 0 };
const POLICY: Kind = Kind::Word(RejectionPolicy::WORDS);
/// How many objects a pool may hold.
const POOL_MAX: i64 = 65_536;
/// Segment offsets are 32 bits wide, and a segment has a header, a record header and a byte (FMT-05).
const SEGMENT_BYTES: Kind = Kind::Bytes { min: 33, max: 4_294_967_295 };

registry! {
    Addr "addr" [] Common, Kind::Endpoints, "", Full, "`host`, `host:port` or `[v6]:port`, also a comma list; port 9000 unless given; required";
    Username "username" ["user"] Common, Kind::Text, "", Full, "user for HTTP Basic, without `:`; needs `password`";
    Password "password" ["pass"] Common, Kind::Secret, "", Full, "password for HTTP Basic; needs `username`";
    Token "token" [] Common, Kind::Secret, "", Full, "bearer token, printable ASCII; excludes `username` and `password`";
    TlsVerify "tls_verify" [] Common, Kind::Word(TlsVerify::WORDS), "on", Full, "`on`, or `unsafe_off` with the cargo feature `insecure-tls`; `wss` only";
    TlsRoots "tls_roots" [] Common, Kind::Text, "", Full, "PEM file with the roots to trust; implies `tls_ca=pem_file`; `wss` only";
    TlsCa "tls_ca" [] Common, Kind::Word(TlsCa::WORDS), "webpki_roots", Full, "`webpki_roots`, `pem_file`, and with the cargo feature `os-roots` `os_roots` and `webpki_and_os_roots`; `wss` only";
    TlsRootsPassword "tls_roots_password" [] Common, Kind::Secret, "", Full, "always refused: roots are PEM files here, without a password";
    AuthTimeoutMs "auth_timeout_ms" [] Common, POSITIVE_MILLIS, "15000", Full, "bound of TLS handshake and upgrade together";
    ConnectTimeout "connect_timeout" [] Common, POSITIVE_MILLIS, "15000", Full, "milliseconds for name look-up and TCP connect together";
    ClientId "client_id" [] Common, Kind::Text, concat!("rust-", env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")), Full, "what the client calls itself to the server; printable ASCII";

    AutoFlush "auto_flush" [] Ingest, Kind::Flag, "on", Full, "`off` wins over the other `auto_flush_*` keys";
    AutoFlushRows "auto_flush_rows" [] Ingest, Kind::CountOrOff, "1000", Full, "flush at that many pending rows; `off` or 0: never";
    AutoFlushInterval "auto_flush_interval" [] Ingest, Kind::MillisOrOff, "100", Full, "flush when the first pending row is that many milliseconds old and a row completes; or `off`";
    AutoFlushBytes "auto_flush_bytes" [] Ingest, Kind::BytesOrOff, "off", Full, "flush at that many pending bytes; `off` or 0: never";
    Transaction "transaction" [] Ingest, Kind::Flag, "off", Full, "`on`: only an explicit `flush` publishes, all pending rows as one commit";
    InitBufSize "init_buf_size" [] Ingest, Kind::Bytes { min: 1, max: MAX }, "64k", Full, "size at which the row buffer starts";
    MaxBufSize "max_buf_size" [] Ingest, Kind::Bytes { min: 1, max: MAX }, "100m", Full, "bound of the row buffer; not below `init_buf_size`";
    MaxNameLen "max_name_len" [] Ingest, Kind::Count { min: 16, max: 127 }, "127", Full, "bytes that a table or column name may have, 16 to 127";
    AllowTimestampColumn "allow_timestamp_column" [] Ingest, Kind::Flag, "off", Full, "`on` permits a column named `timestamp`, for tables whose designated timestamp has another name";
    SfDir "sf_dir" [] Ingest, Kind::Text, "", Full, "directory of the store-and-forward slots; unset: frames are kept in memory";
    SenderId "sender_id" [] Ingest, Kind::Text, "default", Full, "name of the slot in `sf_dir`, of letters, digits, `_` and `-`; without `sf_dir` it names nothing";
    SfMaxSegmentBytes "sf_max_segment_bytes" ["sf_max_bytes"] Ingest, SEGMENT_BYTES, "4m", Full, "size of a segment of the store, 33 to 4294967295";
    SfMaxTotalBytes "sf_max_total_bytes" [] Ingest, Kind::Bytes { min: 1, max: MAX }, "", Full, "bound of the store, at least two segments; unset: 10g with `sf_dir`, 128m without";
    SfDurability "sf_durability" [] Ingest, Kind::Word(Durability::WORDS), "memory", Full, "when frames reach stable storage: `memory`, `periodic`, `append`; the last two need `sf_dir`";
    SfSyncIntervalMillis "sf_sync_interval_millis" [] Ingest, POSITIVE_MILLIS, "5000", Full, "time between two syncs; needs `sf_durability=periodic`";
    SfAppendDeadlineMillis "sf_append_deadline_millis" [] Ingest, MILLIS, "30000", Full, "how long a flush waits for room in the store; 0: not at all";
    DrainOrphans "drain_orphans" [] Ingest, Kind::Flag, "off", DefaultOnly, "`on`: deliver what senders of other slots left behind";
    MaxBackgroundDrainers "max_background_drainers" [] Ingest, Kind::Count { min: 0, max: MAX }, "4", DefaultOnly, "orphaned slots that are drained at a time; 0: none";
    InitialConnectRetry "initial_connect_retry" [] Ingest, Kind::Word(ConnectMode::WORDS), "off", Full, "`off` (one round), `on` or `sync` (rounds on the caller's thread), `async` (in the background); any `reconnect_*` key turns an unset one into `sync`";
    ReconnectInitialBackoffMillis "reconnect_initial_backoff_millis" [] Ingest, MILLIS, "100", Full, "first pause between rounds; 0 counts as 1";
    ReconnectMaxBackoffMillis "reconnect_max_backoff_millis" [] Ingest, MILLIS, "5000", Full, "longest pause between rounds; raised to the first one if below it";
    ReconnectMaxDurationMillis "reconnect_max_duration_millis" [] Ingest, MILLIS, "300000", Full, "bound of a `sync` initial connect, and of nothing else; 0: one round";
    CloseFlushTimeoutMillis "close_flush_timeout_millis" [] Ingest, Kind::SignedMillis, "60000", Full, "how long `close` waits for acknowledgements; 0 and below: not at all";
    RequestDurableAck "request_durable_ack" [] Ingest, Kind::Flag, "off", DefaultOnly, "`on`: rows count as delivered only once the server says that they are replicated";
    DurableAckKeepaliveIntervalMillis "durable_ack_keepalive_interval_millis" [] Ingest, Kind::SignedMillis, "200", DefaultOnly, "pause between pings that ask for durable acknowledgements; 0 and below: none";
    MaxFrameRejections "max_frame_rejections" [] Ingest, Kind::Count { min: 1, max: MAX }, "4", DefaultOnly, "rejections in a row after which a frame ends the sender";
    PoisonMinEscalationWindowMillis "poison_min_escalation_window_millis" [] Ingest, MILLIS, "5000", DefaultOnly, "time over which these rejections have to be spread; 0: their count alone decides";
    OnServerError "on_server_error" [] Ingest, POLICY, "auto", DefaultOnly, "what follows a rejection: `auto`, `terminal`, `retriable`, `retriable_other`";
    OnSchemaError "on_schema_error" [] Ingest, POLICY, "auto", DefaultOnly, "the same for rows that do not fit their table";
    OnParseError "on_parse_error" [] Ingest, POLICY, "auto", DefaultOnly, "the same for frames that the server cannot read";
    OnInternalError "on_internal_error" [] Ingest, POLICY, "auto", DefaultOnly, "the same for failures inside the server";
    OnSecurityError "on_security_error" [] Ingest, POLICY, "auto", DefaultOnly, "the same for missing permissions";
    OnWriteError "on_write_error" [] Ingest, POLICY, "auto", DefaultOnly, "the same for rows that cannot be written";
    ErrorInboxCapacity "error_inbox_capacity" [] Ingest, Kind::Count { min: 16, max: MAX }, "256", DefaultOnly, "error events that wait for a slow handler, at least 16";
    ConnectionListenerInboxCapacity "connection_listener_inbox_capacity" [] Ingest, Kind::Count { min: 1, max: MAX }, "256", DefaultOnly, "connection events that wait for a slow listener";

    Target "target" [] Query, Kind::Word(Target::WORDS), "any", Full, "role of the server to query: `any`, `primary`, `replica`";
    Zone "zone" [] Query, Kind::Trimmed, "", Full, "zone whose servers are preferred; blank: none";
    Failover "failover" [] Query, Kind::Flag, "on", Full, "`off`: a query whose connection fails is not restarted";
    FailoverMaxAttempts "failover_max_attempts" [] Query, Kind::Count { min: 1, max: MAX }, "8", Full, "how often one query is tried, the first time included";
    FailoverMaxDurationMs "failover_max_duration_ms" [] Query, MILLIS, "30000", Full, "how long new attempts are started; 0: no bound";
    FailoverBackoffInitialMs "failover_backoff_initial_ms" [] Query, MILLIS, "50", Full, "first pause between rounds; 0: none";
    FailoverBackoffMaxMs "failover_backoff_max_ms" [] Query, MILLIS, "1000", Full, "longest pause between rounds; not below the first one";
    ServerInfoTimeoutMs "server_info_timeout_ms" [] Query, POSITIVE_MILLIS, "5000", Full, "wait for the first message of a connection";
    Compression "compression" [] Query, Kind::Word(Compression::WORDS), "raw", Full, "`raw`, `auto`, and in a later version `zstd`";
    CompressionLevel "compression_level" [] Query, Kind::Count { min: 1, max: 22 }, "1", Full, "level that the server is asked for, 1 to 22";
    InitialCredit "initial_credit" [] Query, Kind::Bytes { min: 0, max: MAX }, "8m", Full, "bytes of results that the server may send ahead; 0: without bound, but then it hears no cancel";
    MaxBatchRows "max_batch_rows" [] Query, Kind::Count { min: 1, max: 1_048_576 }, "", Full, "most rows of a result batch, 1 to 1048576; unset: the server decides";
    QueryCloseTimeoutMs "query_close_timeout_ms" [] Query, MILLIS, "5000", Full, "how long the rest of a cancelled result is awaited";
    BufferPoolSize "buffer_pool_size" [] Query, Kind::Count { min: 1, max: MAX }, "4", Full, "checked, without effect: batches are pulled";
    QueryTimeoutMs "query_timeout_ms" [] Query, POSITIVE_MILLIS, "", Full, "time-out that the server applies to each query, if it announces that it can";

    SenderPoolMin "sender_pool_min" [] Pool, Kind::Count { min: 0, max: POOL_MAX }, "1", Full, "senders that are kept open";
    SenderPoolMax "sender_pool_max" [] Pool, Kind::Count { min: 1, max: POOL_MAX }, "4", Full, "most senders, 1 to 65536";
    QueryPoolMin "query_pool_min" [] Pool, Kind::Count { min: 0, max: POOL_MAX }, "1", Full, "query clients that are kept open";
    QueryPoolMax "query_pool_max" [] Pool, Kind::Count { min: 1, max: POOL_MAX }, "4", Full, "most query clients, 1 to 65536";
    AcquireTimeoutMs "acquire_timeout_ms" [] Pool, MILLIS, "5000", Full, "how long a borrow waits; 0: not at all";
    IdleTimeoutMs "idle_timeout_ms" [] Pool, MILLIS, "60000", Full, "idle time after which what exceeds the minimum is closed; 0: never";
    MaxLifetimeMs "max_lifetime_ms" [] Pool, MILLIS, "1800000", Full, "age at which a pooled object is replaced; 0: never";
    HousekeeperIntervalMs "housekeeper_interval_ms" [] Pool, Kind::Millis { min: 100 }, "5000", Full, "pause between two looks at the pool, at least 100";
    LazyConnect "lazy_connect" [] Pool, Kind::Flag, "off", Full, "`on`: the pool can be built while the server is down";
}

impl Key {
    /// The key of that name or alias, and the name as the registry has it.
    pub(crate) fn find(name: &str) -> Option<(Key, &'static str)> {
        Key::ALL.iter().find_map(|key| {
            let spec = key.spec();
            let mut names = std::iter::once(&spec.name).chain(spec.aliases);
            names.find(|known| **known == name).map(|known| (*key, *known))
        })
    }
}
