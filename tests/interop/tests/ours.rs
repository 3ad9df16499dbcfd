//! The crate's own client writes to the stand-in and reads from it, and `questdb-rs` beside it.

use qwp_interop::official::Official;
use qwp_interop::ours::Ours;
use qwp_interop::samples::{Sample, every_type, trades};
use qwp_interop::support::http::Endpoint;
use qwp_interop::support::value::{Decimal, Type, Value};
use qwp_interop::support::{Script, Server};
use qwp_interop::{Answer, Client};

/// The server's clock for rows "at now".
const NOW: i64 = 1_800_000_000_000_000;

fn server() -> Server {
    Server::with(|c| c.clock_micros = Some(NOW))
}

/// All there is in a table, by whichever client.
fn all(client: &mut impl Client, table: &str) -> Answer {
    client.query(&format!("select * from {table}"), &[]).unwrap()
}

/// Writes the rows by either client, to a table each, and checks that nothing tells the tables apart:
/// neither at the server, nor read by either client.
fn check(server: &Server, samples: &[Sample], rows_a_frame: usize) {
    let (mut ours, mut official) = (Ours::connect(&server.addr(), ""), Official::connect(&server.addr(), ""));
    for part in samples.chunks(rows_a_frame) {
        ours.write("ours", part).unwrap();
        official.write("official", part).unwrap();
    }
    let stored = server.rows("ours");
    assert_eq!(stored.len(), samples.len());
    assert_eq!(stored, server.rows("official"));
    for table in ["ours", "official"] {
        let read = all(&mut ours, table);
        assert_eq!(read, all(&mut official, table));
        let Answer::Rows(names, rows) = read else { panic!("rows") };
        // Read in the order of time, stored in that of arrival.
        let mut stored = stored.clone();
        stored.sort_by_key(|row| match row.get("timestamp") {
            Value::TimestampNanos(n) => *n,
            other => panic!("{other:?}"),
        });
        assert_eq!(names, *stored[0].names);
        assert_eq!(rows, stored.into_iter().map(|row| row.values).collect::<Vec<_>>());
    }
    assert_eq!(server.refusals(), []);
    assert!(server.connections().iter().all(|c| c.faults.is_empty() && c.early_bytes == 0));
}

#[test]
fn every_type_is_equal_by_either_client() {
    check(&server(), &every_type(), 100);
}

#[test]
fn many_rows_in_many_frames_and_batches_are_equal_by_either_client() {
    let server = server();
    server.configure(|c| c.send_bytes = 4_096);
    check(&server, &trades(5_000), 700);
}

/// Each client finds the other's columns, types and symbols there.
#[test]
fn both_clients_write_to_one_table() {
    let server = server();
    let (mut ours, mut official) = (Ours::connect(&server.addr(), ""), Official::connect(&server.addr(), ""));
    for (turn, part) in every_type().chunks(1).chain(trades(40).chunks(7)).enumerate() {
        match turn % 2 {
            0 => ours.write("both", part).unwrap(),
            _ => official.write("both", part).unwrap(),
        }
    }
    assert_eq!(server.rows("both").len(), every_type().len() + 40);
    assert_eq!(all(&mut ours, "both"), all(&mut official, "both"));
    assert_eq!(server.refusals(), []);
}

#[test]
fn binds_of_every_type_are_equal_by_either_client() {
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
        (Type::Varchar, Value::varchar("na\u{ef}ve")),
        (Type::Char, Value::Char(65)),
        (wide(8, 2), Value::decimal("12345", 2)),
        (wide(16, 4), Value::decimal("-1", 4)),
        (wide(32, 10), Value::decimal("1", 10)),
        (Type::Varchar, Value::Null),
    ];
    let items: Vec<String> = (1..=binds.len()).map(|i| format!("${i} b{i}")).collect();
    let sql = format!("select {}", items.join(", "));
    let answer = Ours::connect(&server.addr(), "").query(&sql, &binds).unwrap();
    assert_eq!(answer, Official::connect(&server.addr(), "").query(&sql, &binds).unwrap());
    let Answer::Rows(_, rows) = answer else { panic!("rows") };
    assert_eq!(rows, [binds.map(|(_, value)| value)]);
}

#[test]
fn statements_and_errors_are_equal_by_either_client() {
    // On a server each, so that what one does is not there for the other.
    let (first, second) = (server(), server());
    let (mut ours, mut official) = (Ours::connect(&first.addr(), ""), Official::connect(&second.addr(), ""));
    for (sql, wanted) in [
        ("create table t (a long, ts timestamp) timestamp(ts)", Some(Answer::Done(9, 0))),
        ("insert into t values (1, 0), (2, 1)", Some(Answer::Done(2, 2))),
        ("select count() c from t", None),
        ("select * from t where a = 7", Some(Answer::Rows(vec!["a".into(), "ts".into()], vec![]))),
        ("truncate table t", Some(Answer::Done(3, -1))),
        ("drop table t", Some(Answer::Done(7, 0))),
    ] {
        let answer = ours.query(sql, &[]).unwrap();
        assert_eq!(answer, official.query(sql, &[]).unwrap(), "{sql}");
        assert!(wanted.is_none_or(|wanted| wanted == answer), "{sql}");
    }
    let sql = "select nocol from long_sequence(1)";
    let errors = [ours.query(sql, &[]).unwrap_err(), official.query(sql, &[]).unwrap_err()];
    assert!(errors.iter().all(|error| error.contains("Invalid column: nocol")), "{errors:?}");
}

#[test]
fn unacknowledged_rows_are_replayed_with_their_symbols() {
    let server = server();
    server.script_at(Endpoint::Write, Script::new("up, read 1, ok 0, read 1, rst"));
    let mut ours = Ours::connect(&server.addr(), "");
    let rows = trades(20);
    ours.write("ours", &rows[..10]).unwrap();
    ours.write("ours", &rows[10..]).unwrap();
    assert_eq!(server.connections().iter().filter(|c| c.endpoint == Some(Endpoint::Write)).count(), 2);
    let mut official = Official::connect(&server.addr(), "");
    official.write("official", &rows).unwrap();
    assert_eq!(server.rows("ours"), server.rows("official"));
    assert_eq!(all(&mut official, "ours"), all(&mut ours, "official"));
}
