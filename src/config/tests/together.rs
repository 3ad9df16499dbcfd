//! Keys that have to fit one another.

use super::*;

/// CONF-15.
#[test]
fn conf_15_bounds_below_starts_name_both_keys_and_values() {
    for (view, settings, parts) in [
        (
            View::Query,
            "failover_backoff_max_ms=49",
            "failover_backoff_max_ms 49, failover_backoff_initial_ms 50",
        ),
        (
            View::Query,
            "failover_backoff_initial_ms=1001",
            "failover_backoff_max_ms 1000, failover_backoff_initial_ms 1001",
        ),
        (View::Ingest, "max_buf_size=1k", "max_buf_size 1k, init_buf_size 64k"),
        (View::Ingest, "init_buf_size=101m", "max_buf_size 100m, init_buf_size 101m"),
        (View::Pool, "sender_pool_min=5", "sender_pool_min 5, sender_pool_max 4"),
        (View::Pool, "query_pool_min=2;query_pool_max=1", "query_pool_min 2, query_pool_max 1"),
    ] {
        let e = refused(view, &format!("ws::addr=h;{settings}"));
        assert!(e.contains(parts), "{e}");
    }
    query("ws::addr=h;failover_backoff_max_ms=50");
    ingest("ws::addr=h;max_buf_size=64k");
    pool("ws::addr=h;sender_pool_min=4");
}

/// CONF-15: peers accept it on ingest.
#[test]
fn conf_15_an_ingest_maximum_below_the_initial_backoff_is_raised() {
    let reconnect = ingest("ws::addr=h;reconnect_max_backoff_millis=10").reconnect;
    assert_eq!(reconnect.max_backoff, Duration::from_millis(100));
    let reconnect = ingest("ws::addr=h;reconnect_initial_backoff_millis=6000").reconnect;
    assert_eq!(reconnect.max_backoff, Duration::from_secs(6));
    let zero =
        ingest("ws::addr=h;reconnect_initial_backoff_millis=0;reconnect_max_backoff_millis=0").reconnect;
    assert_eq!(
        (zero.initial_backoff, zero.max_backoff),
        (Duration::from_millis(1), Duration::from_millis(1))
    );
}

/// CONF-15, INIT-02: what is logged when a client is built, and that nothing else is.
#[test]
fn init_02_conf_15_what_is_decided_for_the_user_is_said() {
    let decisions = |settings: &str| {
        let config = Config::parse(&format!("ws::addr=h;{settings}")).unwrap();
        let values = Values::read(&config, &[Side::Common, Side::Ingest]).unwrap();
        IngestConfig::new(&values).unwrap().decisions(&values)
    };
    for settings in [
        "",
        "initial_connect_retry=sync;reconnect_max_backoff_millis=100",
        "initial_connect_retry=off;reconnect_initial_backoff_millis=0;reconnect_max_backoff_millis=0",
    ] {
        assert!(decisions(settings).is_empty(), "{settings}");
    }
    let both = decisions("reconnect_max_backoff_millis=10");
    assert!(both[0].contains("reconnect_max_backoff_millis is set, so the initial connect retries (sync)"));
    assert!(both[1].contains("reconnect_max_backoff_millis 10 is below"), "{both:?}");
    assert!(both[1].ends_with("raised to 100"), "{both:?}");
    assert_eq!(both.len(), 2);
}

/// CONF-15, trial C01.
#[test]
fn conf_15_auto_flush_off_wins() {
    let off = ingest("ws::addr=h;auto_flush_rows=5;auto_flush=off;auto_flush_interval=5;auto_flush_bytes=5");
    assert_eq!(off.auto_flush, AutoFlush { rows: None, interval: None, bytes: None });
    let default = ingest("ws::addr=h").auto_flush;
    let interval = Some(Duration::from_millis(100));
    assert_eq!(default, AutoFlush { rows: Some(1000), interval, bytes: None });
    let each_off = ingest("ws::addr=h;auto_flush_rows=off;auto_flush_interval=off;auto_flush_bytes=0");
    assert_eq!(each_off.auto_flush, off.auto_flush);
}

/// The table of keys: both or neither, and one credential.
#[test]
fn conf_14_auth_01_credentials_are_whole_and_single() {
    for (settings, why) in [
        ("user=u", "both or neither"),
        ("password=p", "both or neither"),
        ("user=u;pass=p;token=t", "one credential is enough"),
        ("user=a:b;pass=p", "cannot carry a `:`"),
        ("username= ;password=", "empty value: key password"),
        ("token=", "empty value: key token"),
    ] {
        for view in VIEWS {
            let e = refused(view, &format!("ws::addr=h;{settings}"));
            assert!(e.contains(why), "{settings}: {e}");
        }
    }
    // The user's name is no secret, the others are.
    assert!(refused(View::Query, "ws::addr=h;user=a:b;pass=p").contains("a:b"));
}

/// Trial T05.
#[test]
fn auth_03_odd_credentials_are_exact_in_the_header_or_refused() {
    let header = |settings: &str| {
        let config = query(&format!("ws::addr=h;{settings}"));
        config.common.credential.header_value().unwrap().expose().to_owned()
    };
    let long = "x".repeat(16 << 10);
    assert_eq!(header(&format!("token={long}")), format!("Bearer {long}"));
    assert_eq!(header("token= a;;b=c "), "Bearer  a;b=c ");
    assert_eq!(header("user=u;pass=p;;=\u{1f600} x"), "Basic dTpwOz3wn5iAIHg=");
    for token in ["hunter2\u{e9}", "   ", "\u{1f600}hunter2"] {
        let e = refused(View::Query, &format!("ws::addr=h;token={token}"));
        assert!(e.contains("key token, value ***") && !e.contains("hunter2"), "{e}");
    }
    let e = Config::parse("ws::addr=h;token=hunter2\r\nX: y").unwrap_err().to_string();
    assert!(e.contains("control character") && !e.contains("hunter2"), "{e}");
    assert!(refused(View::Query, "ws::addr=h;client_id=\u{e9}").contains("client_id"));
}

#[test]
fn conf_06_an_endpoint_is_required() {
    for view in VIEWS {
        assert!(refused(view, "ws::").contains("no endpoint: key addr"));
        assert!(refused(view, "ws::token=t;").contains("no endpoint"));
        // Trial C07.
        assert!(refused(view, "ws::addr=a;addr=A:9000").contains("listed before"));
    }
    let hosts = ingest("ws::addr=a,b:1;token=t;addr=c;").common.endpoints;
    assert_eq!(hosts.iter().map(Endpoint::to_string).collect::<Vec<_>>(), ["a:9000", "b:1", "c:9000"]);
}

/// Trial C05.
#[test]
fn conf_04_each_side_checks_its_own_keys_and_the_facade_both() {
    let target = "ws::addr=h;target=leader;sender_pool_min=0;query_pool_min=0";
    assert!(refused(View::Query, target).contains("wanted one of any, primary, replica"));
    assert!(refused(View::Pool, target).contains("key target, value leader"));
    ingest(target);
    let durability = "ws::addr=h;sf_durability=flush;sender_pool_min=0;query_pool_min=0";
    assert!(refused(View::Ingest, durability).contains("wanted one of memory, periodic, append"));
    assert!(refused(View::Pool, durability).contains("key sf_durability"));
    query(durability);
}

/// Trial C04: whatever is wrong, the first mistake in the string is reported.
#[test]
fn conf_11_the_first_mistake_in_the_string_is_reported() {
    let both = ["auth_timeout_ms=0", "sf_durability=maybe"];
    for (a, b, named) in [(0, 1, "auth_timeout_ms"), (1, 0, "sf_durability")] {
        let text = format!("ws::addr=h;{};{}", both[a], both[b]);
        let first = refused(View::Ingest, &text);
        assert!(first.contains(named), "{first}");
        (0..50).for_each(|_| assert_eq!(refused(View::Ingest, &text), first));
    }
    // A bad endpoint is a mistake like any other.
    assert!(refused(View::Ingest, "ws::connect_timeout=0;addr=h:0").contains("connect_timeout"));
    assert!(refused(View::Ingest, "ws::addr=h:0;connect_timeout=0").contains("addr"));
}

#[test]
fn conf_15_keys_of_the_store_need_one_another() {
    for (settings, parts) in [
        ("sf_durability=append", "sf_durability append, sf_dir unset"),
        ("sf_durability=periodic", "sf_durability periodic, sf_dir unset"),
        ("sf_sync_interval_millis=5000", "sf_sync_interval_millis 5000, sf_durability memory"),
        (
            "sf_sync_interval_millis=1;sf_durability=append;sf_dir=d",
            "sf_sync_interval_millis 1, sf_durability append",
        ),
        ("sf_max_total_bytes=8191k", "sf_max_total_bytes 8191k, sf_max_segment_bytes 4m"),
        ("sf_max_bytes=65m", "sf_max_total_bytes unset, sf_max_bytes 65m"),
    ] {
        let e = ingest_in_full(&format!("ws::addr=h;{settings}")).unwrap_err();
        assert!(e.kind() == ErrorKind::Config && e.to_string().contains(parts), "{e}");
    }
    let total = |settings: &str| ingest_in_full(&format!("ws::addr=h;{settings}")).unwrap().store.total_bytes;
    assert_eq!(total(""), 128 << 20);
    assert_eq!(total("sf_dir=d"), 10 << 30);
    assert_eq!(total("sf_max_total_bytes=8m"), 8 << 20);
    assert_eq!(total("sf_max_bytes=64m"), 128 << 20);
}

/// FMT-03.
#[test]
fn conf_14_a_sender_id_is_a_slot_name() {
    for good in ["a", "Writer_1-x", &"a".repeat(200)] {
        assert_eq!(ingest(&format!("ws::addr=h;sender_id={good}")).store.sender_id, good);
    }
    for bad in ["a/b", "..", "a b", "\u{e9}", "", &"a".repeat(201)] {
        assert!(refused(View::Ingest, &format!("ws::addr=h;sender_id={bad}")).contains("sender_id"), "{bad}");
    }
}

/// INIT-02: how the mode is found, and that one can see it.
#[test]
fn init_02_an_explicit_mode_wins_else_reconnect_keys_mean_sync() {
    for (settings, mode, promoted_by) in [
        ("", ConnectMode::Off, None),
        ("reconnect_max_duration_millis=300000;", ConnectMode::Sync, Some("reconnect_max_duration_millis")),
        ("reconnect_initial_backoff_millis=1;", ConnectMode::Sync, Some("reconnect_initial_backoff_millis")),
        ("reconnect_max_backoff_millis=1;", ConnectMode::Sync, Some("reconnect_max_backoff_millis")),
        ("reconnect_max_backoff_millis=1;initial_connect_retry=off;", ConnectMode::Off, None),
        ("initial_connect_retry=async;reconnect_max_backoff_millis=1;", ConnectMode::Async, None),
        ("initial_connect_retry=true;", ConnectMode::Sync, None),
    ] {
        let text = format!("ws::addr=h;{settings}");
        assert_eq!(ingest(&text).connect, ConnectStart { mode, promoted_by }, "{text}");
        let config = Config::parse(&text).unwrap();
        assert_eq!(config.connect_mode().unwrap(), mode);
        let shown = format!("{config:?}");
        assert!(shown.contains(&format!("initial connect {mode}")), "{shown}");
        assert_eq!(shown.contains(" because of reconnect_"), promoted_by.is_some(), "{shown}");
    }
}

/// POOL-03.
#[test]
fn pool_03_a_lazy_pool_needs_no_server_to_be_built() {
    let lazy = pool("ws::addr=h;lazy_connect=on;reconnect_max_backoff_millis=10");
    assert_eq!(lazy.ingest.connect, ConnectStart { mode: ConnectMode::Async, promoted_by: None });
    assert_eq!(lazy.queries, PoolRange { min: 0, max: 4 });
    pool("ws::addr=h;lazy_connect=on;initial_connect_retry=async;query_pool_min=0");
    for (settings, parts) in [
        ("initial_connect_retry=off", "lazy_connect on, initial_connect_retry off"),
        ("initial_connect_retry=sync", "lazy_connect on, initial_connect_retry sync"),
        ("query_pool_min=1", "lazy_connect on, query_pool_min 1"),
    ] {
        let e = refused(View::Pool, &format!("ws::addr=h;lazy_connect=on;{settings}"));
        assert!(e.contains(parts), "{e}");
    }
}

/// CONF-16: the clock decides what a deadline beyond it means, the key takes it.
#[test]
fn conf_16_the_longest_durations_and_sizes_are_taken_as_they_are() {
    let most = i64::MAX;
    let config = ingest(&format!(
        "ws::addr=h;auth_timeout_ms={most};close_flush_timeout_millis={most};max_buf_size={most};\
         sf_max_total_bytes={most};auto_flush_rows={most};auto_flush_bytes={most}"
    ));
    let longest = Duration::from_millis(most.unsigned_abs());
    assert_eq!((config.common.auth_timeout, config.close_flush_timeout), (longest, longest));
    assert_eq!(config.store.total_bytes, most.unsigned_abs());
    assert_eq!(config.auto_flush.rows, Some(most.unsigned_abs()));
    let attempts = query(&format!("ws::addr=h;failover_max_attempts={most};initial_credit={most}"));
    assert_eq!(attempts.failover.max_attempts, most.unsigned_abs());
    assert_eq!(attempts.initial_credit, Some(most.unsigned_abs()));
}
