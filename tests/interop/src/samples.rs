//! Rows that hold every type which ingest accepts.

use crate::support::convert::uuid;
use crate::support::value::{Decimal, Type, Value};

/// Name, type and value.
pub type Cell = (&'static str, Type, Value);

/// A row: its cells, and its instant in nanoseconds (`None`: the server's clock).
#[derive(Clone, Debug)]
pub struct Sample {
    pub cells: Vec<Cell>,
    pub at: Option<i64>,
}

const DECIMAL64: Type = Type::Decimal(Decimal { bytes: 8, precision: 18, scale: 2 });
const DECIMAL128: Type = Type::Decimal(Decimal { bytes: 16, precision: 38, scale: 4 });
const DECIMAL256: Type = Type::Decimal(Decimal { bytes: 32, precision: 76, scale: 10 });

/// 2023-11-14T22:13:20Z in nanoseconds.
pub const T0: i64 = 1_700_000_000_000_000_000;

/// Rows with every type, with values at the edges, and with columns left out.
pub fn every_type() -> Vec<Sample> {
    let ordinary = vec![
        ("b", Type::Boolean, Value::Boolean(true)),
        ("i8", Type::Byte, Value::Byte(-2)),
        ("i16", Type::Short, Value::Short(-300)),
        ("i32", Type::Int, Value::Int(70_000)),
        ("i64", Type::Long, Value::Long(1 << 40)),
        ("f32", Type::Float, Value::Float(0.1)),
        ("f64", Type::Double, Value::Double(0.1)),
        ("s", Type::Symbol, Value::symbol("AAPL")),
        ("us", Type::Timestamp, Value::Timestamp(-1)),
        ("ns", Type::TimestampNanos, Value::TimestampNanos(T0 + 7)),
        ("d", Type::Date, Value::Date(1_700_000_000_000)),
        ("u", Type::Uuid, uuid("123e4567-e89b-12d3-a456-426614174000").expect("a UUID")),
        ("l256", Type::Long256, Value::long256("340282366920938463463374607431768211457")),
        ("g20", Type::Geohash(20), Value::Geohash { bits: 20, value: 0x5a5a5 }),
        ("g8", Type::Geohash(8), Value::Geohash { bits: 8, value: 0xff }),
        ("v", Type::Varchar, Value::varchar("na\u{ef}ve \u{1f600}")),
        ("a1", Type::DoubleArray(1), Value::doubles(&[3], &[1.0, -2.5, 0.0])),
        ("a2", Type::DoubleArray(2), Value::doubles(&[2, 2], &[1.0, 2.0, 3.0, 4.0])),
        ("d64", DECIMAL64, Value::decimal("12345", 2)),
        ("d128", DECIMAL128, Value::decimal("-100000000000000000000", 4)),
        ("d256", DECIMAL256, Value::decimal("10000000000000000000000000000000000000000", 10)),
        ("c", Type::Char, Value::Char(0xe9)),
        ("bin", Type::Binary, Value::binary(&[0, 0xff])),
        ("ip", Type::Ipv4, Value::Ipv4(0xc0a8_0101)),
    ];
    let edges = vec![
        ("b", Type::Boolean, Value::Boolean(false)),
        ("i8", Type::Byte, Value::Byte(i8::MIN)),
        ("i16", Type::Short, Value::Short(i16::MAX)),
        ("i32", Type::Int, Value::Int(i32::MAX)),
        ("i64", Type::Long, Value::Long(i64::MIN + 1)),
        ("f32", Type::Float, Value::Float(f32::NEG_INFINITY)),
        ("f64", Type::Double, Value::Double(-0.0)),
        ("s", Type::Symbol, Value::symbol("")),
        ("us", Type::Timestamp, Value::Timestamp(i64::MAX)),
        ("ns", Type::TimestampNanos, Value::TimestampNanos(-1)),
        ("d", Type::Date, Value::Date(-1)),
        ("u", Type::Uuid, uuid("00000000-0000-0000-0000-000000000001").expect("a UUID")),
        ("l256", Type::Long256, Value::long256("1")),
        ("g20", Type::Geohash(20), Value::Geohash { bits: 20, value: 0xfffff }),
        ("g8", Type::Geohash(8), Value::Geohash { bits: 8, value: 0 }),
        ("v", Type::Varchar, Value::varchar("")),
        ("a1", Type::DoubleArray(1), Value::doubles(&[0], &[])),
        ("d64", DECIMAL64, Value::decimal("-999999999999999999", 2)),
        ("d128", DECIMAL128, Value::decimal("0", 4)),
        ("d256", DECIMAL256, Value::decimal(&"9".repeat(76), 10)),
        ("c", Type::Char, Value::Char(0xffff)),
        ("bin", Type::Binary, Value::binary(&[])),
        ("ip", Type::Ipv4, Value::Ipv4(u32::MAX)),
    ];
    let few = vec![("s", Type::Symbol, Value::symbol("MSFT")), ("i64", Type::Long, Value::Long(7))];
    let row = |cells: &[_], at| Sample { cells: Vec::from(cells), at };
    vec![
        row(&few, Some(T0)),
        row(&ordinary, Some(T0 + 1)),
        row(&edges, Some(T0 + 1_000)),
        row(&ordinary, Some(T0 + 5)),
        row(&few, None),
    ]
}

/// Many rows of trades: symbols that come up one by one, times with jitter.
pub fn trades(count: usize) -> Vec<Sample> {
    let trade = |i: usize| {
        let n = i64::try_from(i).expect("few rows");
        let symbol = format!("SYM{}", i % 97);
        Sample {
            cells: vec![
                ("symbol", Type::Symbol, Value::symbol(&symbol)),
                ("n", Type::Long, Value::Long(n)),
                ("price", Type::Double, Value::Double(f64::from(i32::try_from(i).expect("few")) / 4.0)),
            ],
            at: Some(T0 + n * 1_000 + n % 7),
        }
    };
    (0..count).map(trade).collect()
}
