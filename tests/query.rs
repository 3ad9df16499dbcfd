//! Queries through the public face, over loopback, against the stand-in server.

#![allow(unreachable_pub, reason = "a test binary exports nothing")]
#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

mod support;

use qwp::{
    Date, Decimal, DecimalWidth, ErrorKind, Geohash, Long256, OpType, QueryClient, TimestampMicros,
    TimestampNanos, Uuid,
};
use std::time::{Duration, Instant};
use support::Server;

fn conf(server: &Server, keys: &str) -> String {
    format!("ws::addr={};{keys}", server.addr())
}

fn client(server: &Server, keys: &str) -> QueryClient {
    QueryClient::from_conf(&conf(server, keys)).unwrap()
}

/// Sum and count of the LONG column `x`.
fn sum(client: &mut QueryClient, sql: &str) -> (i64, usize) {
    let mut cursor = client.query(sql).run().unwrap();
    let (mut sum, mut count) = (0, 0);
    while let Some(batch) = cursor.next_batch().unwrap() {
        sum += batch.column("x").unwrap().as_i64().unwrap().values().sum::<i64>();
        count += batch.row_count();
    }
    (sum, count)
}

#[expect(clippy::disallowed_methods, reason = "how long a call really took")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn qry_06_statements_and_rows_through_one_connection() {
    let server = Server::start();
    let mut client = client(&server, "");
    assert_eq!(client.server_info().unwrap().cluster_id, "questdb");
    let done = client.execute("create table t (x long, s symbol, v varchar)").unwrap();
    assert_eq!((done.op_type, done.rows_affected), (OpType::CREATE_TABLE, Some(0)));
    let insert = "insert into t (x, s, v) values ($1, $2, $3)";
    for (x, s, v) in [(1_i64, Some("a"), Some("na\u{ef}ve")), (2, None, Some("")), (3, Some("b"), None)] {
        let done = client.query(insert).bind(x).bind(s).bind(v).execute().unwrap();
        assert_eq!((done.op_type, done.rows_affected), (OpType::INSERT, Some(1)));
    }
    let result = client.query("select x, s, v from t where x >= $1").bind(2_i64).fetch_all().unwrap();
    let rows: Vec<(i64, Option<&str>, Option<String>)> = result
        .rows()
        .map(|row| (row.get("x").unwrap(), row.get("s").unwrap(), row.get("v").unwrap()))
        .collect();
    assert_eq!(rows, [(2, None, Some(String::new())), (3, Some("b"), None)]);
    assert_eq!(server.connections().len(), 1);
}

#[test]
fn qry_03_binds_of_every_type_come_back_equal() {
    let server = Server::start();
    let mut client = client(&server, "");
    let uuid = Uuid::from_u128(0x123e4567_e89b_12d3_a456_426614174000);
    let long256 = Long256::from_limbs([1, 2, 3, 1 << 62]);
    let hash = Geohash::new(0x5a5a5, 20).unwrap();
    let decimals = [
        Decimal::from_i64(12345, 2).unwrap().with_width(DecimalWidth::W64).unwrap(),
        "10000000000000000.0000".parse::<Decimal>().unwrap().with_width(DecimalWidth::W128).unwrap(),
        "-1.0000000000".parse::<Decimal>().unwrap(),
    ];
    let sql = "select $1 a, $2 b, $3 c, $4 d, $5 e, $6 f, $7 g, $8 h, $9 i, $10 j, $11 k, $12 l, $13 m, $14 n, \
               $15 o, $16 p, $17 q, $18 r";
    let result = client
        .query(sql)
        .bind(true)
        .bind(-1_i8)
        .bind(-2_i16)
        .bind(-3_i32)
        .bind(i64::MAX)
        .bind(1.5_f32)
        .bind(-0.0)
        .bind('\u{20ac}')
        .bind("na\u{ef}ve")
        .bind(TimestampMicros::new(1_700_000_000_000_001))
        .bind(TimestampNanos::new(-1))
        .bind(Date::new(-1))
        .bind(uuid)
        .bind(long256)
        .bind(hash)
        .bind(decimals[0])
        .bind(decimals[1])
        .bind(decimals[2])
        .fetch_all()
        .unwrap();
    let row = result.rows().next().unwrap();
    assert!(row.get::<bool>("a").unwrap());
    assert_eq!((row.get::<i8>("b"), row.get::<i16>("c")).0.unwrap(), -1);
    assert_eq!(row.get::<i16>("c").unwrap(), -2);
    assert_eq!(row.get::<i32>("d").unwrap(), -3);
    assert_eq!(row.get::<i64>("e").unwrap(), i64::MAX);
    assert_eq!(row.get::<f32>("f").unwrap().to_bits(), 1.5_f32.to_bits());
    assert_eq!(row.get::<f64>("g").unwrap().to_bits(), (-0.0_f64).to_bits());
    assert_eq!(row.get::<char>("h").unwrap(), '\u{20ac}');
    assert_eq!(row.get::<&str>("i").unwrap(), "na\u{ef}ve");
    assert_eq!(row.get::<TimestampMicros>("j").unwrap().as_i64(), 1_700_000_000_000_001);
    assert_eq!(row.get::<TimestampNanos>("k").unwrap().as_i64(), -1);
    assert_eq!(row.get::<Date>("l").unwrap().as_i64(), -1);
    assert_eq!(row.get::<Uuid>("m").unwrap(), uuid);
    assert_eq!(row.get::<Long256>("n").unwrap(), long256);
    assert_eq!(row.get::<Geohash>("o").unwrap(), hash);
    for (name, decimal) in ["p", "q", "r"].into_iter().zip(decimals) {
        let read = row.get::<Decimal>(name).unwrap();
        assert_eq!((read, read.width().unwrap()), (decimal, decimal.width().unwrap_or(DecimalWidth::W256)));
    }
    let result =
        client.query("select $1 a, $2 b").bind(None::<i64>).bind(None::<Geohash>).fetch_all().unwrap();
    assert!(result.rows().next().unwrap().values().all(|value| value.is_null()));
}

#[test]
fn qry_07_a_million_rows_stream_under_any_credit() {
    let server = Server::start();
    for credit in ["8m", "1", "64k", "0"] {
        let mut client = client(&server, &format!("initial_credit={credit};"));
        let n = if credit == "1" { 100_000 } else { 1_000_000 };
        let wanted = (n * (n + 1) / 2, usize::try_from(n).unwrap());
        assert_eq!(sum(&mut client, &format!("select x from long_sequence({n})")), wanted, "{credit}");
        assert_eq!(client.counters().rows(), u64::try_from(n).unwrap());
    }
}

#[test]
fn qry_05_a_sql_error_has_position_and_text() {
    let server = Server::start();
    let mut client = client(&server, "");
    let mut cursor = client.query("select * from nope").run().unwrap();
    let error = cursor.next_batch().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Query);
    assert_eq!(error.server_status().unwrap().position, Some(14));
    assert!(error.to_string().contains("`select * from >>>nope`"), "{error}");
    drop(cursor);
    assert_eq!(sum(&mut client, "select x from long_sequence(3)"), (6, 3));
    assert_eq!(server.connections().len(), 1);
}

// Q13: from another thread, at default credit.
#[test]
fn qry_13_a_cancel_from_another_thread_is_heard_soon_and_the_connection_stays() {
    let server = Server::start();
    let mut client = client(&server, "");
    let mut cursor = client.query("select x from long_sequence(1000000000)").run().unwrap();
    cursor.next_batch().unwrap().unwrap();
    let handle = cursor.cancel_handle();
    let other = std::thread::spawn(move || {
        let asked = now();
        handle.cancel();
        asked
    });
    let error = loop {
        match cursor.next_batch() {
            Ok(batch) => assert!(batch.is_some(), "it does not end by itself"),
            Err(error) => break error,
        }
    };
    let took = other.join().unwrap().elapsed();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(took < Duration::from_secs(5), "{took:?}");
    drop(cursor);
    assert_eq!(sum(&mut client, "select x from long_sequence(3)"), (6, 3));
    assert_eq!(server.connections().len(), 1);
}

#[test]
fn qry_07_dropping_a_half_read_cursor_leaves_a_usable_client() {
    let server = Server::start();
    let mut client = client(&server, "");
    for _ in 0..3 {
        let mut cursor = client.query("select x from long_sequence(100000000)").run().unwrap();
        assert!(cursor.next_batch().unwrap().is_some());
    }
    assert_eq!(sum(&mut client, "select x from long_sequence(3)"), (6, 3));
    assert_eq!(server.connections().len(), 1);
}

#[test]
fn qry_10_a_server_that_was_restarted_meanwhile_is_connected_to_again_silently() {
    let mut server = Server::start();
    let mut client = client(&server, "failover=off;");
    assert_eq!(sum(&mut client, "select x from long_sequence(3)"), (6, 3));
    server.restart();
    assert_eq!(sum(&mut client, "select x from long_sequence(3)"), (6, 3));
    server.cut();
    assert_eq!(sum(&mut client, "select x from long_sequence(3)"), (6, 3));
    assert_eq!((server.connections().len(), client.counters().restarts()), (3, 0));
}

#[test]
fn qfo_01_a_query_that_loses_its_server_goes_on_at_the_next() {
    for script in ["up, info, query, rst", "up, info, query, eof", "up, info, query, close 1000"] {
        let (first, second) = (Server::scripted([script]), Server::start());
        let conf = format!("ws::addr={},{};", first.addr(), second.addr());
        let mut client = QueryClient::from_conf(&conf).unwrap();
        assert_eq!(sum(&mut client, "select x from long_sequence(4)"), (10, 4), "{script}");
        assert_eq!(client.counters().restarts(), 1);
        assert_eq!(client.server_info().unwrap().endpoint, second.addr());
    }
}

#[test]
fn qry_01_a_silent_server_is_left_after_server_info_timeout_ms() {
    let (first, second) = (Server::scripted(["up, silent"]), Server::start());
    let conf = format!("ws::addr={},{};server_info_timeout_ms=300;", first.addr(), second.addr());
    let began = now();
    let mut client = QueryClient::from_conf(&conf).unwrap();
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert_eq!(sum(&mut client, "select x from long_sequence(4)"), (10, 4));
}

#[test]
fn qry_17_a_timeout_of_the_call_ends_the_wait_for_a_silent_server() {
    let server = Server::scripted(["up, info, query, batch 3, silent"]);
    let mut client = client(&server, "query_close_timeout_ms=200;");
    let began = now();
    let mut cursor = client.query("select 1").timeout(Duration::from_millis(400)).run().unwrap();
    assert_eq!(cursor.next_batch().unwrap().unwrap().row_count(), 3);
    assert_eq!(cursor.next_batch().unwrap_err().kind(), ErrorKind::Timeout);
    assert!(began.elapsed() >= Duration::from_millis(400));
    drop(cursor);
    assert_eq!(sum(&mut client, "select x from long_sequence(4)"), (10, 4));
    assert_eq!(server.connections().len(), 2);
}

#[test]
fn qry_02_a_lazy_client_is_built_without_a_server() {
    let mut server = Server::start();
    let conf = conf(&server, "");
    server.stop();
    let mut client = QueryClient::builder().conf(&conf).unwrap().lazy().build().unwrap();
    assert_eq!(client.query("select 1").run().map(|_| ()).unwrap_err().kind(), ErrorKind::Transport);
    assert_eq!(QueryClient::from_conf(&conf).unwrap_err().kind(), ErrorKind::Transport);
    server.restart();
    assert_eq!(sum(&mut client, "select x from long_sequence(4)"), (10, 4));
}

#[test]
fn max_batch_rows_reaches_the_server() {
    let server = Server::start();
    let mut client = client(&server, "max_batch_rows=10;");
    let mut cursor = client.query("select x from long_sequence(25)").run().unwrap();
    let mut sizes = Vec::new();
    while let Some(batch) = cursor.next_batch().unwrap() {
        sizes.push(batch.row_count());
    }
    assert_eq!(sizes, [10, 10, 5]);
}
