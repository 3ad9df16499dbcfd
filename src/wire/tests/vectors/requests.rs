//! Requests of query clients.

use super::values::{cell, column_type};
use super::{bytes, load, name, report};
use crate::value::DecimalWidth;
use crate::wire::ingress::decode::Cell;
use crate::wire::request::{Bind, Query, QueryOptions, Request, fuzz_request};
use crate::wire::types::ColumnType;
use serde_json::{Value, json};

pub(super) const FILES: [&str; 2] = ["egress-control.json", "captured-questdb-rs-7.2.1-egress-client.json"];

#[test]
fn vectors_of_requests_go_both_ways() {
    let (mut requests, mut binds) = (0, 0);
    for entry in load("egress-control.json") {
        let hex = bytes(&entry["hex"]);
        let logical = &entry["logical"];
        let wanted_binds = wanted_binds(logical);
        let wanted = if name(&entry).starts_with("bind-") {
            // a bind alone: the request around it is ours
            let query = query(logical, &wanted_binds);
            let mut written = query.encode();
            assert_eq!(written.split_off(written.len() - hex.len()), hex, "{}", name(&entry));
            binds += 1;
            query
        } else if hex.starts_with(b"QWP1") {
            continue; // of a server
        } else {
            let wanted = request(&entry, logical, &wanted_binds);
            assert_eq!(wanted.encode(), hex, "{}", name(&entry));
            requests += 1;
            wanted
        };
        let mut read_binds = Vec::new();
        assert_eq!(Request::decode(&wanted.encode(), &mut read_binds).as_ref(), Ok(&wanted));
    }
    assert!(requests > 0);
    report("egress-control.json", &format!("binds, {requests} requests"), binds);
}

#[test]
fn requests_of_another_client_are_read_and_written_alike() {
    let file = "captured-questdb-rs-7.2.1-egress-client.json";
    let vectors = load("egress-control.json");
    let mut count = 0;
    for entry in load(file).iter().filter(|entry| entry["hex"].is_string()) {
        let hex = bytes(&entry["hex"]);
        let mut binds = Vec::new();
        let request = Request::decode(&hex, &mut binds).unwrap_or_else(|e| panic!("{}: {e}", name(entry)));
        assert_eq!(request.encode(), hex, "{}", name(entry));
        if let Some(equal) = entry["matches"].as_str() {
            let vector = vectors.iter().find(|vector| name(vector) == equal).expect("the vector is there");
            // but for the request id, which is the client's own
            assert_eq!(hex[9..], bytes(&vector["hex"])[9..], "{}", name(entry));
        }
        count += 1;
    }
    report(file, "requests", count);
}

/// Conversations with requests that are malformed or bind what this client does not, and how many.
const REFUSED: [(&str, usize); 5] = [
    ("binds-odd", 6),
    ("malformed-requests", 7),
    ("unknown-kind", 1),
    ("header-on-request", 1),
    ("empty-message", 1),
];

#[test]
fn requests_that_a_real_server_understood_are_read_and_written_alike() {
    let file = "captured-server-9.4.4-egress.json";
    let mut count = 0;
    for entry in load(file) {
        let mut refused = 0;
        for message in entry["sent"].as_array().into_iter().flatten().filter(|item| item.is_string()) {
            let hex = bytes(message);
            let mut binds = Vec::new();
            match Request::decode(&hex, &mut binds) {
                Ok(request) => assert_eq!(request.encode(), hex, "{}", name(&entry)),
                Err(_) => refused += 1,
            }
            fuzz_request(&hex);
            count += 1;
        }
        let known = REFUSED.iter().find(|(refused, _)| *refused == name(&entry));
        assert_eq!(refused, known.map_or(0, |(_, count)| *count), "{}", name(&entry));
    }
    report(file, "requests", count);
}

fn request<'a>(entry: &Value, logical: &'a Value, binds: &'a [Bind<'a>]) -> Request<'a> {
    let request_id = logical["request_id"].as_i64().expect("a number");
    match name(entry) {
        "cancel" => Request::Cancel { request_id },
        "credit" => {
            let additional_bytes = logical["additional_bytes"].as_u64().expect("a number");
            Request::Credit { request_id, additional_bytes }
        }
        _ => query(logical, binds),
    }
}

fn query<'a>(logical: &'a Value, binds: &'a [Bind<'a>]) -> Request<'a> {
    let flags = logical["query_flags"].as_u64().unwrap_or(0);
    Request::Query(Query {
        request_id: logical["request_id"].as_i64().unwrap_or(7),
        sql: logical["sql"].as_str().unwrap_or("SELECT $1"),
        initial_credit: logical["initial_credit"].as_u64().unwrap_or(0),
        binds,
        options: QueryOptions {
            reset_dict: flags & 1 != 0,
            timeout_ms: if flags & 2 != 0 { logical["timeout_ms"].as_u64() } else { None },
        },
    })
}

fn wanted_binds(logical: &Value) -> Vec<Bind<'static>> {
    if let Some(values) = logical["values"].as_array() {
        return vec![bind(logical, &values[0])];
    }
    let binds = logical["binds"].as_array();
    binds.into_iter().flatten().map(|pair| bind(&json!({ "type": pair[0] }), &pair[1])).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "the vectors' values fit their types")]
fn bind(logical: &Value, value: &Value) -> Bind<'static> {
    let column_type = column_type(&logical["type"]);
    let value = cell(column_type, value, &|_| panic!("no symbols among binds"));
    let integer = value.map(|value| match value {
        Cell::Integer(value) => value,
        Cell::Unsigned(value) => value.cast_signed(),
        _ => 0,
    });
    let limbs = value.map(|value| if let Cell::Limbs(limbs) = value { limbs } else { [0; 4] });
    let scale = logical["scale"].as_u64().unwrap_or(0) as u8;
    let decimal = |width| Bind::Decimal { unscaled: limbs, scale, width };
    match (column_type, value) {
        (ColumnType::Boolean, value) => Bind::Boolean(value.map(|value| value == Cell::Boolean(true))),
        (ColumnType::Byte, _) => Bind::Byte(integer.map(|value| value as i8)),
        (ColumnType::Short, _) => Bind::Short(integer.map(|value| value as i16)),
        (ColumnType::Int, _) => Bind::Int(integer.map(|value| value as i32)),
        (ColumnType::Long, _) => Bind::Long(integer),
        (ColumnType::Float, Some(Cell::Float(value))) => Bind::Float(Some(value)),
        (ColumnType::Float, _) => Bind::Float(None),
        (ColumnType::Double, Some(Cell::Double(value))) => Bind::Double(Some(value)),
        (ColumnType::Double, _) => Bind::Double(None),
        (ColumnType::Char, _) => Bind::Char(integer.map(|value| value as u16)),
        (ColumnType::Varchar, Some(Cell::Text(text))) => Bind::Varchar(Some(text.to_owned().into())),
        (ColumnType::Varchar, _) => Bind::Varchar(None),
        (ColumnType::Date, _) => Bind::Date(integer),
        (ColumnType::Timestamp, _) => Bind::Timestamp(integer),
        (ColumnType::TimestampNanos, _) => Bind::TimestampNanos(integer),
        (ColumnType::Uuid, Some(Cell::Uuid(value))) => Bind::Uuid(Some(value)),
        (ColumnType::Uuid, _) => Bind::Uuid(None),
        (ColumnType::Long256, _) => Bind::Long256(limbs),
        (ColumnType::Geohash, _) => Bind::Geohash {
            bits: integer.map(i64::cast_unsigned),
            precision: logical["precision_bits"].as_u64().expect("a precision") as u8,
        },
        (ColumnType::Decimal64, _) => decimal(DecimalWidth::W64),
        (ColumnType::Decimal128, _) => decimal(DecimalWidth::W128),
        (ColumnType::Decimal256, _) => decimal(DecimalWidth::W256),
        (other, _) => panic!("{other} cannot be bound"),
    }
}
