//! `questdb-rs` writes to the stand-in and reads from it.

use std::time::Duration;

use qwp_interop::official::Official;
use qwp_interop::samples::{Sample, every_type, trades};
use qwp_interop::support::value::{Decimal, Type, Value};
use qwp_interop::support::{Script, Server};
use qwp_interop::{Answer, Client};

/// The server's clock for rows "at now".
const NOW: i64 = 1_800_000_000_000_000;

fn server() -> Server {
    Server::with(|c| c.clock_micros = Some(NOW))
}

/// Every cell as written; a column that a row leaves out is NULL in it.
fn check(server: &Server, table: &str, rows: &[Sample]) {
    let stored = server.rows(table);
    assert_eq!(stored.len(), rows.len());
    for (stored, row) in stored.iter().zip(rows) {
        for (name, value) in stored.names.iter().zip(&stored.values) {
            let cell = row.cells.iter().find(|(n, ..)| n == name);
            let wanted = match cell {
                Some((.., value)) => value.clone(),
                None if name == "timestamp" => Value::TimestampNanos(row.at.unwrap_or(NOW * 1000)),
                None => {
                    let known = every_type();
                    let ty =
                        known.iter().flat_map(|r| &r.cells).find(|(n, ..)| n == name).expect("a column").1;
                    ty.absent()
                }
            };
            assert_eq!(*value, wanted, "{name}");
        }
    }
}

#[test]
fn every_type_is_written_and_stored() {
    let server = server();
    let rows = every_type();
    Official::connect(&server.addr(), "").write("every", &rows).unwrap();
    check(&server, "every", &rows);
    assert_eq!(server.refusals(), []);
    assert!(server.connections().iter().all(|c| c.faults.is_empty() && c.early_bytes == 0));
}

#[test]
fn every_type_is_read_back() {
    let server = server();
    let mut client = Official::connect(&server.addr(), "");
    client.write("every", &every_type()).unwrap();
    let Answer::Rows(names, rows) = client.query("select * from every", &[]).unwrap() else { panic!("rows") };
    let mut stored = server.rows("every");
    stored.sort_by_key(|r| match r.get("timestamp") {
        Value::TimestampNanos(n) => *n,
        other => panic!("{other:?}"),
    });
    assert_eq!(names, *stored[0].names);
    let stored: Vec<Vec<Value>> = stored.into_iter().map(|r| r.values).collect();
    assert_eq!(rows, stored);
}

#[test]
fn many_rows_in_many_frames_and_batches_come_back_equal() {
    let server = server();
    server.configure(|c| c.send_bytes = 4_096);
    let rows = trades(5_000);
    let mut client = Official::connect(&server.addr(), "");
    for part in rows.chunks(700) {
        client.write("trades", part).unwrap();
    }
    check(&server, "trades", &rows);
    let Answer::Rows(_, read) = client.query("select n, symbol from trades", &[]).unwrap() else {
        panic!("rows")
    };
    let wanted: Vec<Vec<Value>> =
        rows.iter().map(|r| vec![r.cells[1].2.clone(), r.cells[0].2.clone()]).collect();
    assert_eq!(read, wanted);
}

#[test]
fn binds_of_every_type_come_back_equal() {
    let server = server();
    let wide = |bytes, scale| Type::Decimal(Decimal::of_width(bytes, scale));
    let binds = [
        (Type::Boolean, Value::Boolean(true)),
        (Type::Byte, Value::Byte(-1)),
        (Type::Short, Value::Short(1)),
        (Type::Int, Value::Int(1)),
        (Type::Long, Value::Long(1)),
        (Type::Float, Value::Float(1.5)),
        (Type::Double, Value::Double(1.3)),
        (Type::Timestamp, Value::Timestamp(1)),
        (Type::TimestampNanos, Value::TimestampNanos(1)),
        (Type::Date, Value::Date(1)),
        (Type::Uuid, Value::Uuid { high: 1, low: 2 }),
        (Type::Long256, Value::long256("123456789012345678901234567890")),
        (Type::Geohash(20), Value::Geohash { bits: 20, value: 5 }),
        (Type::Varchar, Value::varchar("foo")),
        (Type::Char, Value::Char(65)),
        (wide(8, 2), Value::decimal("12345", 2)),
        (wide(16, 4), Value::decimal("-1", 4)),
        (wide(32, 10), Value::decimal("1", 10)),
        (Type::Varchar, Value::Null),
    ];
    let items: Vec<String> = (1..=binds.len()).map(|i| format!("${i} b{i}")).collect();
    let sql = format!("select {}", items.join(", "));
    let answer = Official::connect(&server.addr(), "").query(&sql, &binds).unwrap();
    let Answer::Rows(_, rows) = answer else { panic!("rows") };
    assert_eq!(rows, [binds.iter().map(|(_, v)| v.clone()).collect::<Vec<_>>()]);
}

#[test]
fn statements_and_errors_are_understood() {
    let server = server();
    let mut client = Official::connect(&server.addr(), "");
    let mut run = |sql: &str| client.query(sql, &[]);
    assert_eq!(run("create table t (a long, ts timestamp) timestamp(ts)").unwrap(), Answer::Done(9, 0));
    assert_eq!(run("insert into t values (1, 0), (2, 1)").unwrap(), Answer::Done(2, 2));
    let count = vec![vec![Value::Long(2)]];
    assert_eq!(run("select count() from t").unwrap(), Answer::Rows(vec!["count".into()], count));
    let error = run("select nocol from t").unwrap_err();
    assert!(error.contains("[7] Invalid column: nocol"), "{error}");
    assert_eq!(
        run("select * from t where a = 7").unwrap(),
        Answer::Rows(vec!["a".into(), "ts".into()], vec![])
    );
    assert_eq!(run("truncate table t").unwrap(), Answer::Done(3, -1));
    assert_eq!(run("drop table t").unwrap(), Answer::Done(7, 0));
}

#[test]
fn a_refused_message_is_an_error_with_its_text() {
    let server = server();
    let mut client = Official::connect(&server.addr(), "");
    client.query("create table u (i64 uuid, ts timestamp) timestamp(ts)", &[]).unwrap();
    let error = client.write("u", &trades(1)[..0]).err();
    assert_eq!(error, None);
    let row = Sample { cells: vec![("i64", Type::Long, Value::Long(1))], at: Some(1) };
    let error = client.write("u", &[row]).unwrap_err();
    assert!(error.contains("type coercion from LONG to UUID is not supported"), "{error}");
    assert_eq!(server.rows("u"), []);
}

#[test]
fn unacknowledged_rows_are_replayed_with_their_symbols() {
    let server = server();
    server.script(Script::new("up, read 1, ok 0, read 1, rst"));
    let mut client = Official::connect(&server.addr(), "sender_pool_min=1;sender_pool_max=1;");
    let rows = trades(20);
    client.write("trades", &rows[..10]).unwrap();
    client.write("trades", &rows[10..]).unwrap();
    check(&server, "trades", &rows);
    assert!(server.wait_until(|s| s.connections.len() >= 2, Duration::from_secs(1)));
}
