//! Connections that break, through a proxy: nothing is lost, nothing comes twice, no symbol gets lost.

use crate::proxy::{Cut, Proxy};
use crate::world::{World, deliver, number, quoted, wait_for, wait_rows};
use qwp::{LinkState, QueryClient, Sender, TimestampNanos};
use std::ops::Range;

const START: i64 = 1_700_000_000_000_000_000;
const KEYS: &str = "auto_flush=off;reconnect_initial_backoff_millis=10;reconnect_max_backoff_millis=100;";

fn sender(proxy: &Proxy, keys: &str) -> Sender {
    Sender::from_conf(&format!("ws::addr={};{KEYS}{keys}", proxy.addr())).unwrap()
}

/// Rows whose symbols tell their number.
fn write(sender: &mut Sender, table: &str, rows: Range<i64>) {
    for i in rows {
        sender
            .table(table)
            .symbol("mod", format!("m{}", i % 7))
            .symbol("own", format!("row {i}"))
            .column_i64("i", i)
            .at(TimestampNanos::new(START + i))
            .unwrap();
    }
}

/// All rows up to `rows`, each once, each with the text that it was written with.
fn check(client: &mut QueryClient, table: &str, rows: i64) {
    wait_rows(client, table, rows as u64);
    let name = quoted(table);
    for condition in ["own is null", "mod is null", "own != concat('row ', i)", "mod != concat('m', i % 7)"] {
        assert_eq!(
            number(client, &format!("select count() from {name} where {condition}")),
            0,
            "{condition}"
        );
    }
    assert_eq!(number(client, &format!("select count_distinct(i) from {name}")), rows);
    assert_eq!(number(client, &format!("select sum(i) from {name}")), rows * (rows - 1) / 2);
}

// R17
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn reco_03_symbols_are_never_null_after_reconnects_between_acknowledged_frames() {
    let world = World::new();
    let mut client = world.client("");
    let table = world.table("symbols");
    let proxy = Proxy::new(world.addr(), []);
    let mut sender = sender(&proxy, "");
    for flush in 0..6 {
        write(&mut sender, &table, flush * 10..flush * 10 + 10);
        deliver(&mut sender);
        if flush >= 2 {
            proxy.cut();
            wait_for("the loss to be noticed", || {
                (sender.health().state != LinkState::Connected || proxy.connections() > flush as usize - 1)
                    .then_some(())
            });
        }
    }
    sender.close().unwrap();
    assert!(proxy.connections() >= 4);
    check(&mut client, &table, 60);
}

// R17: with frames that were sent and not acknowledged, the answer lost or the frame.
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn reco_03_symbols_are_never_null_after_reconnects_with_frames_unacknowledged() {
    let world = World::new();
    let mut client = world.client("");
    for (name, cuts) in [
        ("frame", vec![Cut::BeforeMessage(3), Cut::BeforeMessage(2), Cut::BeforeMessage(1)]),
        ("first", vec![Cut::BeforeMessage(0), Cut::BeforeMessage(0)]),
        // Rows whose acknowledgement was lost come twice.
        ("answer", vec![Cut::BeforeAnswer(2), Cut::BeforeAnswer(1)]),
        ("catchup", vec![Cut::BeforeMessage(5), Cut::BeforeMessage(0), Cut::BeforeMessage(1)]),
    ] {
        let table = world.table(name);
        let times = cuts.len();
        let proxy = Proxy::new(world.addr(), cuts);
        let mut sender = sender(&proxy, "");
        for flush in 0..10 {
            write(&mut sender, &table, flush * 10..flush * 10 + 10);
            sender.flush().unwrap();
        }
        deliver(&mut sender);
        assert_eq!(proxy.connections(), times + 1, "{name}");
        wait_for("all rows", || {
            (number(&mut client, &format!("select count_distinct(i) from {}", quoted(&table))) == 100)
                .then_some(())
        });
        let name = quoted(&table);
        for condition in
            ["own is null", "mod is null", "own != concat('row ', i)", "mod != concat('m', i % 7)"]
        {
            assert_eq!(number(&mut client, &format!("select count() from {name} where {condition}")), 0);
        }
    }
}

// R17: a batch that is cut into several frames.
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn reco_03_a_split_group_is_replayed_as_a_whole() {
    const ROWS: i64 = 60_000;
    let filler = "x".repeat(100);
    let world = World::new();
    let mut client = world.client("");
    let table = world.table("split");
    let proxy = Proxy::new(world.addr(), [Cut::BeforeMessage(1), Cut::BeforeCommit, Cut::BeforeMessage(2)]);
    let mut sender = sender(&proxy, "");
    for i in 0..ROWS {
        sender
            .table(&table)
            .symbol("mod", format!("m{}", i % 7))
            .symbol("own", format!("row {i}"))
            .column_i64("i", i)
            .column_str("filler", &filler)
            .at(TimestampNanos::new(START + i))
            .unwrap();
    }
    deliver(&mut sender);
    let counters = sender.counters();
    assert!(counters.frames_published > 2 && counters.frames_replayed > 0, "{counters:?}");
    assert_eq!(proxy.connections(), 4);
    // Cut before its commit each time: no row was stored twice.
    check(&mut client, &table, ROWS);
}

// E34
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn lim_03_two_and_a_half_million_rows_are_stored_once_though_the_line_was_cut() {
    const ROWS: i64 = 2_500_000;
    let world = World::new();
    let mut client = world.client("");
    let table = world.table("many");
    let proxy = Proxy::new(world.addr(), [Cut::BeforeCommit]);
    let mut sender = sender(&proxy, "max_buf_size=1g;sf_max_total_bytes=1g;");
    for i in 0..ROWS {
        sender.table(&table).column_i64("i", i).at(TimestampNanos::new(START + i)).unwrap();
    }
    deliver(&mut sender);
    assert_eq!(proxy.connections(), 2);
    wait_rows(&mut client, &table, ROWS as u64);
    let sum = number(&mut client, &format!("select sum(i) from {}", quoted(&table)));
    assert_eq!(sum, ROWS * (ROWS - 1) / 2);
}

// R14
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn reco_01_rows_written_while_the_server_is_away_arrive_when_it_is_back() {
    let world = World::new();
    let mut client = world.client("");
    let table = world.table("away");
    let proxy = Proxy::new(world.addr(), []);
    let mut sender = sender(&proxy, "");
    write(&mut sender, &table, 0..10);
    deliver(&mut sender);
    proxy.down();
    for batch in 1..10 {
        write(&mut sender, &table, batch * 10..batch * 10 + 10);
        sender.flush().unwrap();
    }
    wait_for("rounds that fail", || (sender.health().failed_rounds >= 3).then_some(()));
    let health = sender.health();
    assert_eq!(health.state, LinkState::Reconnecting);
    assert!(health.last_failure.is_some() && health.outage.is_some());
    proxy.up();
    deliver(&mut sender);
    check(&mut client, &table, 100);
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_10_a_query_after_a_lost_connection_runs_on_a_new_one() {
    let world = World::new();
    let proxy = Proxy::new(world.addr(), []);
    let conf = format!("ws::addr={};", proxy.addr());
    let mut client = QueryClient::from_conf(&conf).unwrap();
    assert_eq!(number(&mut client, "select 1::long"), 1);
    proxy.cut();
    assert_eq!(number(&mut client, "select 2::long"), 2);
    assert_eq!(proxy.connections(), 2);
    // In the middle of a result, before anything was delivered twice: told, or restarted if asked.
    let sql = "select x from long_sequence(20000000)";
    let mut cursor = client.query(sql).run().unwrap();
    assert!(cursor.next_batch().unwrap().is_some());
    proxy.cut();
    let error = loop {
        match cursor.next_batch() {
            Ok(batch) => assert!(batch.is_some(), "it cannot be whole"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), qwp::ErrorKind::FailoverWouldDuplicate, "{error}");
    drop(cursor);
    let proxy_ref = &proxy;
    let (mut rows, mut cut) = (0_usize, false);
    let reset = std::sync::atomic::AtomicBool::new(false);
    let mut cursor = client
        .query(sql)
        .on_failover_reset(|_| reset.store(true, std::sync::atomic::Ordering::SeqCst))
        .run()
        .unwrap();
    while let Some(batch) = cursor.next_batch().unwrap() {
        if reset.swap(false, std::sync::atomic::Ordering::SeqCst) {
            rows = 0;
        }
        rows += batch.row_count();
        if !cut {
            proxy_ref.cut();
            cut = true;
        }
    }
    assert_eq!((rows, cursor.restarts()), (20_000_000, 1));
}
