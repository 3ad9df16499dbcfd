//! The Python package writes to the stand-in and reads from it.
//!
//! `QWP_INTEROP_PYTHON` names the interpreter of a venv that has it: see `run`.

use std::process::Command;

use qwp_interop::support::convert::uuid;
use qwp_interop::support::value::Value;
use qwp_interop::support::{Row, Server};

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

#[test]
fn every_type_is_written_and_stored() {
    let server = Server::with(|c| c.clock_micros = Some(NOW));
    python(&server, "write");
    let rows = server.rows("every");
    assert_eq!(rows.len(), 3);
    let cells: &[(&str, Value)] = &[
        ("s", Value::symbol("AAPL")),
        ("b", Value::Boolean(true)),
        ("i64", Value::Long(1 << 40)),
        ("f64", Value::Double(0.1)),
        ("v", Value::varchar("na\u{ef}ve \u{1f600}")),
        ("us", Value::Timestamp(-1)),
        ("ns", Value::TimestampNanos(T0 + 7)),
        ("d", Value::Date(1_700_000_000_000)),
        ("u", uuid("123e4567-e89b-12d3-a456-426614174000").unwrap()),
        ("l256", Value::long256("340282366920938463463374607431768211457")),
        ("g20", Value::Geohash { bits: 20, value: 0x5a5a5 }),
        ("g8", Value::Geohash { bits: 8, value: 0xff }),
        ("dec", Value::decimal("12345", 2)),
        ("a1", Value::doubles(&[3], &[1.0, -2.5, 0.0])),
        ("a2", Value::doubles(&[2, 2], &[1.0, 2.0, 3.0, 4.0])),
        ("c", Value::Char(0xe9)),
        ("bin", Value::binary(&[0, 0xff])),
        ("ip", Value::Ipv4(0xc0a8_0101)),
        ("timestamp", Value::TimestampNanos(T0)),
    ];
    check(&rows[0], cells);
    let edges: &[(&str, Value)] = &[
        ("s", Value::symbol("")),
        ("b", Value::Boolean(false)),
        ("i64", Value::Long(i64::MIN + 1)),
        ("f64", Value::Double(f64::NEG_INFINITY)),
        ("v", Value::varchar("")),
        ("g8", Value::Geohash { bits: 8, value: 0 }),
        ("a1", Value::doubles(&[0], &[])),
        ("bin", Value::binary(&[])),
        ("dec", Value::Null),
        ("u", Value::Null),
        ("timestamp", Value::TimestampNanos(T0 + 1)),
    ];
    check(&rows[1], edges);
    check(
        &rows[2],
        &[
            ("s", Value::symbol("MSFT")),
            ("i64", Value::Null),
            ("timestamp", Value::TimestampNanos(NOW * 1000)),
        ],
    );
    assert_eq!(server.refusals(), []);
}

fn check(row: &Row, cells: &[(&str, Value)]) {
    for (name, wanted) in cells {
        assert_eq!(row.get(name), wanted, "{name}");
    }
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
