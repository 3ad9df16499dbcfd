//! CONF-18: every key arrives where it is read and is ignored where it is not. The cases are checked
//! against the registry, so that a key without one fails.

use super::*;
use crate::config::keys::{Kind, Support};
use std::path::PathBuf;

const BASE: &str = "ws::addr=h;";

/// What all three views hold, with keys of which this version takes only the default taken as well.
struct Views {
    ingest: IngestConfig,
    query: QueryConfig,
    pool: PoolConfig,
}

impl Views {
    fn of(text: &str) -> Result<Views> {
        let config = Config::parse(text)?;
        let values = Values::read(&config, &[Side::Common, Side::Ingest, Side::Query, Side::Pool])?;
        Ok(Views {
            ingest: IngestConfig::new(&values)?,
            query: QueryConfig::new(&values)?,
            pool: PoolConfig::new(&values)?,
        })
    }
}

/// A key, settings that give it a value other than its default, and whether that value has arrived.
type Case = (Key, &'static str, fn(&Views) -> bool);

const COMMON: &[Case] = &[
    (Key::Addr, "addr=other:1", |v| {
        v.ingest.common.endpoints.iter().any(|e| e.host == "other" && e.port == 1)
    }),
    (
        Key::Username,
        "user=u;pass=p",
        |v| matches!(&v.query.common.credential, Credential::Basic { username, .. } if username == "u"),
    ),
    (
        Key::Password,
        "username=u;password=p",
        |v| matches!(&v.query.common.credential, Credential::Basic { password, .. } if password.expose() == "p"),
    ),
    (
        Key::Token,
        "token=t",
        |v| matches!(&v.ingest.common.credential, Credential::Bearer(token) if token.expose() == "t"),
    ),
    (Key::AuthTimeoutMs, "auth_timeout_ms=1", |v| v.query.common.auth_timeout == Duration::from_millis(1)),
    (Key::ConnectTimeout, "connect_timeout=2", |v| {
        v.ingest.common.connect_timeout == Duration::from_millis(2)
    }),
    (Key::ClientId, "client_id=me/1", |v| v.query.common.client_id == "me/1"),
];

const INGEST: &[Case] = &[
    (Key::AutoFlush, "auto_flush=off", |v| {
        v.ingest.auto_flush == AutoFlush { rows: None, interval: None, bytes: None }
    }),
    (Key::AutoFlushRows, "auto_flush_rows=7", |v| v.ingest.auto_flush.rows == Some(7)),
    (Key::AutoFlushInterval, "auto_flush_interval=7", |v| {
        v.ingest.auto_flush.interval == Some(Duration::from_millis(7))
    }),
    (Key::AutoFlushBytes, "auto_flush_bytes=7k", |v| v.ingest.auto_flush.bytes == Some(7168)),
    (Key::Transaction, "transaction=on", |v| v.ingest.transaction),
    (Key::InitBufSize, "init_buf_size=1k", |v| v.ingest.init_buf_size == 1024),
    (Key::MaxBufSize, "max_buf_size=1m", |v| v.ingest.max_buf_size == 1 << 20),
    (Key::MaxNameLen, "max_name_len=16", |v| v.ingest.max_name_len == 16),
    (Key::AllowTimestampColumn, "allow_timestamp_column=on", |v| v.ingest.allow_timestamp_column),
    (Key::SfDir, "sf_dir=/d", |v| v.ingest.store.dir == Some(PathBuf::from("/d"))),
    (Key::SenderId, "sender_id=me-1_A", |v| v.ingest.store.sender_id == "me-1_A"),
    (Key::SfMaxSegmentBytes, "sf_max_bytes=33", |v| v.ingest.store.segment_bytes == 33),
    (Key::SfMaxTotalBytes, "sf_max_total_bytes=1g", |v| v.ingest.store.total_bytes == 1 << 30),
    (Key::SfDurability, "sf_durability=append;sf_dir=d", |v| v.ingest.store.durability == Durability::Append),
    (Key::SfSyncIntervalMillis, "sf_sync_interval_millis=7;sf_durability=periodic;sf_dir=d", |v| {
        v.ingest.store.sync_interval == Duration::from_millis(7)
    }),
    (Key::SfAppendDeadlineMillis, "sf_append_deadline_millis=0", |v| {
        v.ingest.store.append_deadline.is_zero()
    }),
    (Key::DrainOrphans, "drain_orphans=on", |v| v.ingest.store.drain_orphans),
    (Key::MaxBackgroundDrainers, "max_background_drainers=0", |v| {
        v.ingest.store.max_background_drainers == 0
    }),
    (Key::InitialConnectRetry, "initial_connect_retry=async", |v| {
        v.ingest.connect == ConnectStart { mode: ConnectMode::Async, promoted_by: None }
    }),
    (Key::ReconnectInitialBackoffMillis, "reconnect_initial_backoff_millis=7", |v| {
        v.ingest.reconnect.initial_backoff == Duration::from_millis(7)
    }),
    (Key::ReconnectMaxBackoffMillis, "reconnect_max_backoff_millis=700", |v| {
        v.ingest.reconnect.max_backoff == Duration::from_millis(700)
    }),
    (Key::ReconnectMaxDurationMillis, "reconnect_max_duration_millis=0", |v| {
        v.ingest.reconnect.max_duration.is_zero()
    }),
    (Key::CloseFlushTimeoutMillis, "close_flush_timeout_millis=-1", |v| {
        v.ingest.close_flush_timeout.is_zero()
    }),
    (Key::RequestDurableAck, "request_durable_ack=on", |v| v.ingest.request_durable_ack),
    (Key::DurableAckKeepaliveIntervalMillis, "durable_ack_keepalive_interval_millis=-1", |v| {
        v.ingest.durable_ack_keepalive_interval.is_none()
    }),
    (Key::MaxFrameRejections, "max_frame_rejections=1", |v| v.ingest.rejections.max_frame_rejections == 1),
    (Key::PoisonMinEscalationWindowMillis, "poison_min_escalation_window_millis=0", |v| {
        v.ingest.rejections.escalation_window.is_zero() && v.ingest.rejections.escalation_window_set
    }),
    (Key::OnServerError, "on_server_error=terminal", |v| {
        v.ingest.rejections.server == RejectionPolicy::Terminal
    }),
    (Key::OnSchemaError, "on_schema_error=retriable", |v| {
        v.ingest.rejections.schema == RejectionPolicy::Retriable
    }),
    (Key::OnParseError, "on_parse_error=retriable", |v| {
        v.ingest.rejections.parse == RejectionPolicy::Retriable
    }),
    (Key::OnInternalError, "on_internal_error=terminal", |v| {
        v.ingest.rejections.internal == RejectionPolicy::Terminal
    }),
    (Key::OnSecurityError, "on_security_error=retriable_other", |v| {
        v.ingest.rejections.security == RejectionPolicy::RetriableOther
    }),
    (Key::OnWriteError, "on_write_error=terminal", |v| {
        v.ingest.rejections.write == RejectionPolicy::Terminal
    }),
    (Key::ErrorInboxCapacity, "error_inbox_capacity=16", |v| v.ingest.error_inbox_capacity == 16),
    (Key::ConnectionListenerInboxCapacity, "connection_listener_inbox_capacity=1", |v| {
        v.ingest.connection_listener_inbox_capacity == 1
    }),
];

const QUERY: &[Case] = &[
    (Key::Target, "target=replica", |v| v.query.target == Target::Replica),
    (Key::Zone, "zone= a b ", |v| v.query.zone.as_deref() == Some("a b")),
    (Key::Failover, "failover=off", |v| !v.query.failover.enabled),
    (Key::FailoverMaxAttempts, "failover_max_attempts=1", |v| v.query.failover.max_attempts == 1),
    (Key::FailoverMaxDurationMs, "failover_max_duration_ms=0", |v| v.query.failover.max_duration.is_none()),
    (Key::FailoverBackoffInitialMs, "failover_backoff_initial_ms=0", |v| {
        v.query.failover.backoff_initial.is_zero()
    }),
    (Key::FailoverBackoffMaxMs, "failover_backoff_max_ms=7000", |v| {
        v.query.failover.backoff_max == Duration::from_secs(7)
    }),
    (Key::ServerInfoTimeoutMs, "server_info_timeout_ms=1", |v| {
        v.query.server_info_timeout == Duration::from_millis(1)
    }),
    (Key::Compression, "compression=auto", |v| v.query.compression == Compression::Auto),
    (Key::CompressionLevel, "compression_level=22", |v| v.query.compression_level == 22),
    (Key::InitialCredit, "initial_credit=0", |v| v.query.initial_credit.is_none()),
    (Key::MaxBatchRows, "max_batch_rows=1048576", |v| v.query.max_batch_rows == Some(1_048_576)),
    (Key::QueryCloseTimeoutMs, "query_close_timeout_ms=0", |v| v.query.close_timeout.is_zero()),
    (Key::QueryTimeoutMs, "query_timeout_ms=1", |v| v.query.query_timeout == Some(Duration::from_millis(1))),
];

const POOL: &[Case] = &[
    (Key::SenderPoolMin, "sender_pool_min=0", |v| v.pool.senders == PoolRange { min: 0, max: 4 }),
    (Key::SenderPoolMax, "sender_pool_max=65536", |v| v.pool.senders == PoolRange { min: 1, max: 65_536 }),
    (Key::QueryPoolMin, "query_pool_min=4", |v| v.pool.queries == PoolRange { min: 4, max: 4 }),
    (Key::QueryPoolMax, "query_pool_max=1", |v| v.pool.queries == PoolRange { min: 1, max: 1 }),
    (Key::AcquireTimeoutMs, "acquire_timeout_ms=0", |v| v.pool.acquire_timeout.is_zero()),
    (Key::IdleTimeoutMs, "idle_timeout_ms=0", |v| v.pool.idle_timeout.is_none()),
    (Key::MaxLifetimeMs, "max_lifetime_ms=0", |v| v.pool.max_lifetime.is_none()),
    (Key::HousekeeperIntervalMs, "housekeeper_interval_ms=100", |v| {
        v.pool.housekeeper_interval == Duration::from_millis(100)
    }),
    (Key::LazyConnect, "lazy_connect=on", |v| {
        v.pool.lazy_connect && v.pool.ingest.connect.mode == ConnectMode::Async && v.pool.queries.min == 0
    }),
];

/// Keys whose cases stand elsewhere: those of TLS in `tls.rs`, and the one that has no effect.
const ELSEWHERE: [Key; 5] =
    [Key::TlsVerify, Key::TlsRoots, Key::TlsCa, Key::TlsRootsPassword, Key::BufferPoolSize];

fn cases() -> impl Iterator<Item = &'static Case> {
    [COMMON, INGEST, QUERY, POOL].into_iter().flatten()
}

#[test]
fn conf_18_every_key_of_the_registry_has_a_case() {
    for key in Key::ALL {
        let count =
            cases().filter(|(k, ..)| k == key).count() + ELSEWHERE.iter().filter(|k| *k == key).count();
        assert_eq!(count, 1, "{key:?}");
    }
}

#[test]
fn conf_18_a_value_other_than_the_default_arrives() {
    let defaults = Views::of(BASE).unwrap();
    for (key, settings, arrived) in cases() {
        let names = std::iter::once(&key.spec().name).chain(key.spec().aliases);
        assert!(names.into_iter().any(|name| settings.contains(name)), "{key:?}: {settings}");
        assert!(!arrived(&defaults), "{key:?}: the case takes the default for its value");
        let views = Views::of(&format!("{BASE}{settings}")).unwrap_or_else(|e| panic!("{settings}: {e}"));
        assert!(arrived(&views), "{key:?}: {settings}");
    }
}

/// CONF-04, CONF-18: the side that does not read a key takes it whatever its value.
#[test]
fn conf_04_keys_of_the_other_side_are_accepted_whatever_they_say() {
    for key in Key::ALL {
        let name = key.spec().name;
        let nonsense = format!("{BASE}{name}=no such value?");
        let blank = format!("{BASE}{name}=");
        let (by_ingest, by_query) = match key.spec().side {
            Side::Common => (true, true),
            Side::Ingest => (true, false),
            Side::Query => (false, true),
            Side::Pool => (false, false),
        };
        let takes_text =
            matches!(key.spec().kind, Kind::Text | Kind::Secret | Kind::Trimmed) && *key != Key::SenderId;
        for (view, reads) in [(View::Ingest, by_ingest), (View::Query, by_query), (View::Pool, true)] {
            if !takes_text {
                assert_eq!(build(view, &nonsense).is_err(), reads, "{view:?} {nonsense}");
            }
            // CONF-14, trial C08: only a blank zone means unset.
            assert_eq!(build(view, &blank).is_err(), reads && *key != Key::Zone, "{view:?} {blank}");
        }
    }
}

#[test]
fn conf_14_an_empty_value_is_refused_with_the_key_named() {
    for key in Key::ALL.iter().filter(|key| **key != Key::Zone) {
        let name = key.spec().name;
        let e = refused(View::Pool, &format!("{BASE}{name}="));
        assert!(e.contains(&format!("key {name}")), "{e}");
    }
    assert_eq!(query("ws::addr=h;zone=;").zone, None);
    assert_eq!(query("ws::addr=h;zone=  ;").zone, None);
}

/// CONF-07, trial C11.
#[test]
fn conf_07_an_error_names_key_and_value() {
    for key in Key::ALL {
        let spec = key.spec();
        if matches!(spec.kind, Kind::Text | Kind::Secret | Kind::Trimmed | Kind::Endpoints) {
            continue;
        }
        for value in ["-1x", "1 ", "99999999999999999999t", "\u{663}"] {
            let e = refused(View::Pool, &format!("{BASE}{}={value}", spec.name));
            assert!(e.contains(&format!("key {}, value {value}", spec.name)), "{e}");
        }
    }
}

/// The range of each key that has one: its last good values and one beyond.
#[test]
fn conf_16_ranges_end_where_the_table_says() {
    for (name, good, bad) in [
        ("auth_timeout_ms", &["1", "9223372036854775807"][..], &["0", "-1", "9223372036854775808"][..]),
        ("connect_timeout", &["1", "9223372036854775807"], &["0"]),
        ("auto_flush_rows", &["0", "off", "1"], &["-1"]),
        ("auto_flush_interval", &["1", "off"], &["0"]),
        ("auto_flush_bytes", &["0", "off", "1t"], &["-1"]),
        ("max_name_len", &["16", "127"], &["15", "128"]),
        ("sf_max_segment_bytes", &["33", "64m"], &["32", "4294967296"]),
        ("sf_append_deadline_millis", &["0", "9223372036854775807"], &["-1"]),
        ("reconnect_initial_backoff_millis", &["0"], &["-1"]),
        ("close_flush_timeout_millis", &["-9223372036854775808", "0"], &["x"]),
        ("failover_max_attempts", &["1"], &["0"]),
        ("failover_max_duration_ms", &["0"], &["-1"]),
        ("server_info_timeout_ms", &["1"], &["0"]),
        ("compression_level", &["1", "22"], &["0", "23"]),
        ("initial_credit", &["0", "9223372036854775807"], &["-1"]),
        ("max_batch_rows", &["1", "1048576"], &["0", "1048577"]),
        ("buffer_pool_size", &["1"], &["0"]),
        ("query_timeout_ms", &["1"], &["0"]),
        ("sender_pool_max", &["1", "65536"], &["0", "65537"]),
        ("query_pool_max", &["1", "65536"], &["0", "65537"]),
        ("housekeeper_interval_ms", &["100"], &["99"]),
        ("acquire_timeout_ms", &["0"], &["-1"]),
    ] {
        good.iter().for_each(|v| drop(pool(&format!("{BASE}{name}={v}"))));
        bad.iter().for_each(|v| drop(refused(View::Pool, &format!("{BASE}{name}={v}"))));
    }
    let most = "sf_max_segment_bytes=4294967295;sf_max_total_bytes=8589934590";
    assert_eq!(ingest(&format!("{BASE}{most}")).store.segment_bytes, u64::from(u32::MAX));
}

/// LIM-01: the bound on names.
#[test]
fn lim_01_names_may_be_limited_to_16_to_127_bytes() {
    assert_eq!(ingest(BASE).max_name_len, 127);
    assert_eq!(ingest("ws::addr=h;max_name_len=16").max_name_len, 16);
    assert!(refused(View::Ingest, "ws::addr=h;max_name_len=15").contains("at least 16"));
    assert!(refused(View::Ingest, "ws::addr=h;max_name_len=128").contains("at most 127"));
}

/// Values of this version that no code stands behind are refused, never ignored.
#[test]
fn conf_03_what_is_not_supported_yet_is_refused_unless_it_is_the_default() {
    for (key, settings, _) in cases().filter(|(key, ..)| key.spec().support == Support::DefaultOnly) {
        for view in [View::Ingest, View::Pool] {
            let e = refused(view, &format!("{BASE}{settings}"));
            assert!(e.contains("is not supported yet"), "{e}");
        }
        query(&format!("{BASE}{settings}"));
        if key.spec().default.is_empty() || *key == Key::SfSyncIntervalMillis {
            continue;
        }
        ingest(&format!("{BASE}{}={}", key.spec().name, key.spec().default));
    }
    let e = refused(View::Ingest, "ws::addr=h;request_durable_ack=on");
    assert_eq!(e, "request_durable_ack is not supported yet: value on: leave it out, or set it to off");
}

/// QRY-16 by the same rule: `auto` means raw in a build without the feature.
#[test]
fn qry_16_zstd_is_refused_naming_the_feature() {
    for view in [View::Query, View::Pool] {
        let e = refused(view, "ws::addr=h;compression=zstd");
        assert!(e.contains("cargo feature `zstd`"), "{e}");
    }
    ingest("ws::addr=h;compression=zstd");
}

/// Trial C05: a string with every default in it means what one without any means.
#[test]
fn conf_04_one_string_with_every_default_suits_all_sides() {
    let mut text = String::from(BASE);
    for key in Key::ALL {
        let spec = key.spec();
        let for_tls = matches!(key, Key::TlsVerify | Key::TlsCa);
        if !spec.default.is_empty() && !for_tls && *key != Key::SfSyncIntervalMillis {
            text.push_str(&format!("{}={};", spec.name, spec.default));
        }
    }
    // Written out, the backoff keys are explicit, but so is the mode.
    assert_eq!(
        format!("{:?}", ingest(&text)),
        format!("{:?}", ingest(BASE)).replace("window_set: false", "window_set: true")
    );
    assert_eq!(format!("{:?}", query(&text)), format!("{:?}", query(BASE)));
    pool(&text);
}
