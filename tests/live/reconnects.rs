//! Connections that break, through a proxy: nothing is lost, nothing comes twice, no symbol gets lost.

use crate::proxy::{Cut, Proxy};
use crate::world::{World, deliver, number, quoted, wait_for, wait_rows};
use qwp::{ErrorKind, LinkState, QueryClient, Sender, TimestampNanos};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// No row of a table has another text than it was written with, or none.
fn check_texts(client: &mut QueryClient, table: &str) {
    let table = quoted(table);
    for wrong in ["own is null", "mod is null", "own != concat('row ', i)", "mod != concat('m', i % 7)"] {
        let sql = format!("select count() from {table} where {wrong}");
        assert_eq!(number(client, &sql), 0, "{wrong}");
    }
}

/// All rows up to `rows`, each once.
fn check(client: &mut QueryClient, table: &str, rows: i64) {
    wait_rows(client, table, rows as u64);
    check_texts(client, table);
    let table = quoted(table);
    assert_eq!(number(client, &format!("select count_distinct(i) from {table}")), rows);
    assert_eq!(number(client, &format!("select sum(i) from {table}")), rows * (rows - 1) / 2);
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
            wait_for("the next connection", || (proxy.connections() == flush as usize).then_some(()));
        }
    }
    sender.close().unwrap();
    assert_eq!(proxy.connections(), 5);
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
        let proxy = Proxy::new(world.addr(), cuts.clone());
        let mut sender = sender(&proxy, "");
        for flush in 0..10 {
            write(&mut sender, &table, flush * 10..flush * 10 + 10);
            sender.flush().unwrap();
            if flush == 0 && cuts[0] != Cut::BeforeMessage(0) {
                // What is acknowledged is not sent again: a new connection has to be told its symbols.
                deliver(&mut sender);
            }
        }
        deliver(&mut sender);
        assert_eq!(proxy.connections(), times + 1, "{name}");
        let distinct = format!("select count_distinct(i) from {}", quoted(&table));
        wait_for("all rows", || (number(&mut client, &distinct) == 100).then_some(()));
        check_texts(&mut client, &table);
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
    let proxy = Proxy::new(world.addr(), [Cut::BeforeMessage(2), Cut::BeforeCommit, Cut::BeforeMessage(2)]);
    let mut sender = sender(&proxy, "");
    // These are acknowledged: a new connection has to be told their symbols.
    write(&mut sender, &table, 0..7);
    deliver(&mut sender);
    for i in 7..ROWS {
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
    let mut client = QueryClient::from_conf(&format!("ws::addr={};", proxy.addr())).unwrap();
    assert_eq!(number(&mut client, "select 1::long"), 1);
    proxy.cut();
    assert_eq!(number(&mut client, "select 2::long"), 2);
    assert_eq!(proxy.connections(), 2);
}

// QFO-02
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qfo_02_a_result_cut_in_the_middle_starts_again_for_those_who_can_discard_it() {
    let world = World::new();
    let proxy = Proxy::new(world.addr(), []);
    let mut client = QueryClient::from_conf(&format!("ws::addr={};", proxy.addr())).unwrap();
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
    assert_eq!(error.kind(), ErrorKind::FailoverWouldDuplicate, "{error}");
    drop(cursor);
    let (mut rows, mut cut) = (0_usize, false);
    let reset = AtomicBool::new(false);
    let mut cursor =
        client.query(sql).on_failover_reset(|_| reset.store(true, Ordering::SeqCst)).run().unwrap();
    while let Some(batch) = cursor.next_batch().unwrap() {
        if reset.swap(false, Ordering::SeqCst) {
            rows = 0;
        }
        rows += batch.row_count();
        if !cut {
            proxy.cut();
            cut = true;
        }
    }
    assert_eq!((rows, cursor.restarts()), (20_000_000, 1));
}
