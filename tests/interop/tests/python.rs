//! The Python package writes to the stand-in and reads from it.
//!
//! `QWP_INTEROP_PYTHON` names the interpreter of a venv that has it: see `run`.

use std::process::Command;

use qwp_interop::ours::Ours;
use qwp_interop::samples::{Cell, Sample};
use qwp_interop::support::Server;
use qwp_interop::support::convert::uuid;
use qwp_interop::support::value::{Decimal, Type, Value};
use qwp_interop::{Answer, Client};

const NOW: i64 = 1_800_000_000_000_000;
const T0: i64 = 1_700_000_000_000_000_000;

fn python(server: &Server, part: &str) {
    let interpreter =
        std::env::var("QWP_INTEROP_PYTHON").expect("QWP_INTEROP_PYTHON is set by tests/interop/run");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/python/client.py");
    let output =
        Command::new(interpreter).args([script, &server.addr(), part]).output().expect("python runs");
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", shown(&output.stdout), shown(&output.stderr));
}

/// The rows that the script writes. A NULL stands for a column that a row leaves out.
fn samples() -> Vec<Sample> {
    let decimal = Type::Decimal(Decimal::of_width(32, 2));
    let ordinary = vec![
        ("s", Type::Symbol, Value::symbol("AAPL")),
        ("b", Type::Boolean, Value::Boolean(true)),
        ("i64", Type::Long, Value::Long(1 << 40)),
        ("f64", Type::Double, Value::Double(0.1)),
        ("v", Type::Varchar, Value::varchar("na\u{ef}ve \u{1f600}")),
        ("us", Type::Timestamp, Value::Timestamp(-1)),
        ("ns", Type::TimestampNanos, Value::TimestampNanos(T0 + 7)),
        ("d", Type::Date, Value::Date(1_700_000_000_000)),
        ("u", Type::Uuid, uuid("123e4567-e89b-12d3-a456-426614174000").unwrap()),
        ("l256", Type::Long256, Value::long256("340282366920938463463374607431768211457")),
        ("g20", Type::Geohash(20), Value::Geohash { bits: 20, value: 0x5a5a5 }),
        ("g8", Type::Geohash(8), Value::Geohash { bits: 8, value: 0xff }),
        ("dec", decimal, Value::decimal("12345", 2)),
        ("a1", Type::DoubleArray(1), Value::doubles(&[3], &[1.0, -2.5, 0.0])),
        ("a2", Type::DoubleArray(2), Value::doubles(&[2, 2], &[1.0, 2.0, 3.0, 4.0])),
        ("c", Type::Char, Value::Char(0xe9)),
        ("bin", Type::Binary, Value::binary(&[0, 0xff])),
        ("ip", Type::Ipv4, Value::Ipv4(0xc0a8_0101)),
    ];
    let edges = vec![
        ("s", Type::Symbol, Value::symbol("")),
        ("b", Type::Boolean, Value::Boolean(false)),
        ("i64", Type::Long, Value::Long(i64::MIN + 1)),
        ("f64", Type::Double, Value::Double(f64::NEG_INFINITY)),
        ("v", Type::Varchar, Value::varchar("")),
        ("g8", Type::Geohash(8), Value::Geohash { bits: 8, value: 0 }),
        ("a1", Type::DoubleArray(1), Value::doubles(&[0], &[])),
        ("bin", Type::Binary, Value::binary(&[])),
        ("dec", decimal, Value::Null),
        ("u", Type::Uuid, Value::Null),
    ];
    let few = vec![("s", Type::Symbol, Value::symbol("MSFT")), ("i64", Type::Long, Value::Null)];
    let row = |cells: Vec<Cell>, at| Sample { cells, at };
    vec![row(ordinary, Some(T0)), row(edges, Some(T0 + 1)), row(few, None)]
}

/// Every cell of the samples, and the times.
fn check(server: &Server) {
    let (rows, samples) = (server.rows("every"), samples());
    assert_eq!(rows.len(), samples.len());
    for (row, sample) in rows.iter().zip(samples) {
        for (name, _, wanted) in sample.cells {
            assert_eq!(*row.get(name), wanted, "{name}");
        }
        let at = sample.at.unwrap_or(NOW * 1000);
        assert_eq!(*row.get("timestamp"), Value::TimestampNanos(at));
    }
    assert_eq!(server.refusals(), []);
}

#[test]
fn every_type_is_written_and_stored() {
    let server = Server::with(|c| c.clock_micros = Some(NOW));
    python(&server, "write");
    check(&server);
}

/// What Python wrote reads in the crate's client as it is stored.
#[test]
fn every_type_is_read_by_the_crates_client() {
    let server = Server::with(|c| c.clock_micros = Some(NOW));
    python(&server, "write");
    let answer = Ours::connect(&server.addr(), "").query("select * from every", &[]).unwrap();
    let stored = server.rows("every");
    let names = stored[0].names.to_vec();
    assert_eq!(answer, Answer::Rows(names, stored.into_iter().map(|row| row.values).collect()));
}

/// What the crate's client wrote is stored as what Python writes, and Python reads it.
#[test]
fn every_type_of_the_crates_client_is_read_back() {
    let server = Server::with(|c| c.clock_micros = Some(NOW));
    Ours::connect(&server.addr(), "").write("every", &samples()).unwrap();
    check(&server);
    python(&server, "check");
}

#[test]
fn every_type_is_read_back() {
    let server = Server::with(|c| c.clock_micros = Some(NOW));
    python(&server, "read");
}

#[test]
fn a_data_frame_is_written_and_read_back_in_batches() {
    let server = Server::with(|c| c.send_bytes = 4_096);
    python(&server, "frame");
    let rows = server.rows("frame");
    assert_eq!(rows.len(), 5_000);
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(*row.get("n"), Value::Long(i64::try_from(i).unwrap()));
        assert_eq!(*row.get("symbol"), Value::symbol(&format!("SYM{}", i % 97)));
    }
    assert_eq!(server.refusals(), []);
}
