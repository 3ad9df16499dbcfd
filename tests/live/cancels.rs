//! Results that are given up: cancelled from another thread, or dropped half-read (Q05, Q13).

use crate::proxy::Proxy;
use crate::world::{World, now, number};
use qwp::{Cursor, Error, ErrorKind, QueryClient};
use std::time::Duration;

/// More than a server sends in the time that a test takes.
const ENDLESS: &str = "select x, x + 1 y, x * 2 z from long_sequence(100000000000)";

/// Long before a cancel is heard by itself.
const SOON: Duration = Duration::from_secs(20);

fn client(proxy: &Proxy, keys: &str) -> QueryClient {
    QueryClient::from_conf(&format!("ws::addr={};{keys}", proxy.addr())).unwrap()
}

/// Reads to the end, which has to be an error.
fn error(cursor: &mut Cursor<'_>) -> Error {
    loop {
        match cursor.next_batch() {
            Ok(batch) => assert!(batch.is_some(), "it does not end by itself"),
            Err(error) => return error,
        }
    }
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_13_a_cancel_from_another_thread_ends_a_stream_and_the_connection_stays() {
    let world = World::new();
    for keys in ["", "initial_credit=64k;", "initial_credit=1;"] {
        let proxy = Proxy::new(world.addr(), []);
        let mut client = client(&proxy, keys);
        let mut cursor = client.query(ENDLESS).run().unwrap();
        for _ in 0..2 {
            cursor.next_batch().unwrap().unwrap();
        }
        let handle = cursor.cancel_handle();
        let other = std::thread::spawn(move || {
            let asked = now();
            handle.cancel();
            asked
        });
        let error = error(&mut cursor);
        let took = other.join().unwrap().elapsed();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{keys}: {error}");
        assert!(took < SOON, "{keys}: {took:?}");
        assert_eq!(cursor.next_batch().unwrap_err().kind(), ErrorKind::Cancelled, "again");
        drop(cursor);
        assert_eq!(number(&mut client, "select 1::long"), 1);
        assert_eq!(proxy.connections(), 1, "{keys}");
    }
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_13_a_cancel_without_credit_closes_the_connection_and_the_next_query_opens_another() {
    let world = World::new();
    let proxy = Proxy::new(world.addr(), []);
    let mut client = client(&proxy, "initial_credit=0;query_close_timeout_ms=300;");
    let mut cursor = client.query(ENDLESS).run().unwrap();
    cursor.next_batch().unwrap().unwrap();
    cursor.cancel_handle().cancel();
    let asked = now();
    assert_eq!(error(&mut cursor).kind(), ErrorKind::Cancelled);
    assert!(asked.elapsed() < SOON);
    drop(cursor);
    assert_eq!(number(&mut client, "select 1::long"), 1);
    assert_eq!(proxy.connections(), 2);
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_13_a_cancel_before_the_first_batch_of_a_long_aggregation_returns_soon() {
    let world = World::new();
    let proxy = Proxy::new(world.addr(), []);
    let mut client = client(&proxy, "query_close_timeout_ms=300;");
    let sql = "select sum(x % 7 + x % 11) from long_sequence(100000000000)";
    let mut cursor = client.query(sql).run().unwrap();
    let handle = cursor.cancel_handle();
    let other = std::thread::spawn(move || {
        std::thread::park_timeout(Duration::from_millis(200));
        handle.cancel();
        now()
    });
    let error = error(&mut cursor);
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    assert!(other.join().unwrap().elapsed() < SOON);
    drop(cursor);
    assert_eq!(number(&mut client, "select 1::long"), 1);
    assert_eq!(proxy.connections(), 2);
}

// Q05
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_13_a_cancel_before_the_request_or_after_the_end_touches_no_other_query() {
    let world = World::new();
    let proxy = Proxy::new(world.addr(), []);
    let mut client = client(&proxy, "");
    let query = client.query(ENDLESS);
    query.cancel_handle().cancel();
    let refused = query.run().and_then(|mut cursor| cursor.next_batch().map(|_| ()));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Cancelled);
    let mut cursor = client.query("select x from long_sequence(3)").run().unwrap();
    let handle = cursor.cancel_handle();
    while cursor.next_batch().unwrap().is_some() {}
    handle.cancel();
    drop(cursor);
    for n in 0..3 {
        assert_eq!(number(&mut client, &format!("select {n}::long")), n);
        handle.cancel();
    }
    assert_eq!(proxy.connections(), 1);
}

// Q05: the cancel and the end race.
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_13_a_cancel_that_races_the_end_is_one_or_the_other() {
    let world = World::new();
    let proxy = Proxy::new(world.addr(), []);
    let mut client = client(&proxy, "");
    for round in 0..50 {
        let mut cursor = client.query("select x from long_sequence(100000)").run().unwrap();
        let handle = cursor.cancel_handle();
        let other = std::thread::spawn(move || {
            std::thread::park_timeout(Duration::from_micros(100 * round));
            handle.cancel();
        });
        let mut rows = 0;
        let ended = loop {
            match cursor.next_batch() {
                Ok(Some(batch)) => rows += batch.row_count(),
                Ok(None) => break true,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
                    break false;
                }
            }
        };
        assert!(!ended || rows == 100_000, "{rows}");
        other.join().unwrap();
        drop(cursor);
        assert_eq!(number(&mut client, &format!("select {round}::long")), round as i64);
    }
    assert_eq!(proxy.connections(), 1);
}

/// A server (9.4.4) reads ahead what did not fit a message, and hands it to the next result of the
/// connection if the stream is cancelled meanwhile: rows of another query, or an error.
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_07_no_row_of_a_cancelled_result_comes_with_the_next_one() {
    let world = World::new();
    // So wide that the size of a message ends a batch before its count of rows does.
    let columns = |sign: &str| (0..200).map(|n| format!("{sign}x c{n}")).collect::<Vec<_>>().join(", ");
    let endless = format!("select {} from long_sequence(100000000000)", columns(""));
    let next = format!("select {} from long_sequence(2)", columns("-"));
    for dropped in [false, true] {
        let mut client = world.client("");
        for sql in [next.as_str(), "select -x c0 from long_sequence(2)"] {
            let mut cursor = client.query(&endless).run().unwrap();
            assert!(cursor.next_batch().unwrap().unwrap().row_count() < 16_384);
            if !dropped {
                cursor.cancel_handle().cancel();
                assert_eq!(error(&mut cursor).kind(), ErrorKind::Cancelled);
            }
            drop(cursor);
            let result = client.query(sql).fetch_all().unwrap();
            let rows: Vec<i64> = result.rows().map(|row| row.get("c0").unwrap()).collect();
            assert_eq!(rows, [-1, -2]);
        }
    }
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_07_dropping_a_half_read_cursor_leaves_a_usable_client() {
    let world = World::new();
    let proxy = Proxy::new(world.addr(), []);
    let mut client = client(&proxy, "");
    for n in 0..3 {
        let mut cursor = client.query(ENDLESS).run().unwrap();
        assert!(cursor.next_batch().unwrap().is_some());
        drop(cursor);
        assert_eq!(number(&mut client, &format!("select {n}::long")), n);
    }
    assert_eq!(proxy.connections(), 1);
}
