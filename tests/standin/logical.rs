//! The files of `tests/fixtures/vectors`, and their way to write values.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value as Json;

use super::client::unhex;
use crate::support::convert::uuid;
use crate::support::value::{Array, Decimal, Type, Value};

/// A file of vectors.
pub fn file(name: &str) -> Vec<Json> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/vectors").join(name);
    let text = std::fs::read_to_string(&path).expect("the vectors are there");
    serde_json::from_str(&text).expect("the vectors are JSON")
}

pub fn text<'a>(entry: &'a Json, key: &str) -> &'a str {
    entry[key].as_str().unwrap_or_else(|| panic!("{key} is no text in {entry}"))
}

pub fn list<'a>(entry: &'a Json, key: &str) -> &'a [Json] {
    entry[key].as_array().map_or(&[], Vec::as_slice)
}

/// The type of a column.
pub fn column_type(column: &Json) -> Type {
    let small = |key: &str| u8::try_from(column[key].as_u64().expect("a number")).expect("small");
    match text(column, "type") {
        "BOOLEAN" => Type::Boolean,
        "BYTE" => Type::Byte,
        "SHORT" => Type::Short,
        "INT" => Type::Int,
        "LONG" => Type::Long,
        "FLOAT" => Type::Float,
        "DOUBLE" => Type::Double,
        "SYMBOL" => Type::Symbol,
        "TIMESTAMP" => Type::Timestamp,
        "TIMESTAMP_NANOS" => Type::TimestampNanos,
        "DATE" => Type::Date,
        "UUID" => Type::Uuid,
        "LONG256" => Type::Long256,
        "GEOHASH" => Type::Geohash(small("precision_bits")),
        "VARCHAR" => Type::Varchar,
        "BINARY" => Type::Binary,
        "DOUBLE_ARRAY" => Type::DoubleArray(1),
        "LONG_ARRAY" => Type::LongArray(1),
        "DECIMAL64" => Type::Decimal(Decimal::of_width(8, small("scale"))),
        "DECIMAL128" => Type::Decimal(Decimal::of_width(16, small("scale"))),
        "DECIMAL256" => Type::Decimal(Decimal::of_width(32, small("scale"))),
        "CHAR" => Type::Char,
        "IPv4" => Type::Ipv4,
        other => panic!("no such type: {other}"),
    }
}

/// The values of a column, as they are stored.
pub fn column_values(column: &Json) -> Vec<Value> {
    let ty = column_type(column);
    list(column, "values").iter().map(|v| value(v, ty)).collect()
}

fn value(json: &Json, ty: Type) -> Value {
    if json.is_null() {
        return ty.absent();
    }
    let whole = || json.as_i64().unwrap_or_else(|| panic!("{json} is no whole number"));
    let word = || json.as_str().unwrap_or_else(|| panic!("{json} is no text"));
    match ty {
        Type::Boolean => Value::Boolean(json.as_bool().expect("a boolean")),
        Type::Byte => Value::Byte(i8::try_from(whole()).expect("a byte")),
        Type::Short => Value::Short(i16::try_from(whole()).expect("a short")),
        Type::Int => Value::Int(i32::try_from(whole()).expect("an int")),
        Type::Long => Value::Long(whole()),
        Type::Float => Value::Float(word_or_number(json).to_string().parse().expect("a float")),
        Type::Double => Value::Double(word_or_number(json)),
        Type::Symbol => Value::symbol(word()),
        Type::Timestamp => Value::Timestamp(whole()),
        Type::TimestampNanos => Value::TimestampNanos(whole()),
        Type::Date => Value::Date(whole()),
        Type::Uuid => uuid(word()).expect("a UUID"),
        Type::Long256 => Value::long256(word()),
        Type::Geohash(bits) => Value::Geohash { bits, value: json.as_u64().expect("a geohash") },
        Type::Varchar | Type::Text => Value::varchar(word()),
        Type::Binary => Value::binary(&unhex(word())),
        Type::Decimal(d) => Value::decimal(word(), d.scale),
        Type::Char => Value::Char(word().encode_utf16().next().expect("a character")),
        Type::Ipv4 => Value::Ipv4(word().parse::<std::net::Ipv4Addr>().expect("an address").into()),
        Type::DoubleArray(_) => {
            let shape: Vec<i32> = json[0].as_array().expect("lengths").iter().map(length).collect();
            let elements: Vec<f64> =
                json[1].as_array().expect("elements").iter().map(word_or_number).collect();
            Value::doubles(&shape, &elements)
        }
        Type::LongArray(_) => {
            let shape = json[0].as_array().expect("lengths").iter().map(length).collect();
            let elements = json[1].as_array().expect("elements").iter().filter_map(Json::as_i64).collect();
            Value::LongArray(Arc::new(Array { shape, elements }))
        }
    }
}

fn length(json: &Json) -> i32 {
    i32::try_from(json.as_i64().expect("a length")).expect("a length")
}

fn word_or_number(json: &Json) -> f64 {
    match json.as_str() {
        Some("Infinity") => f64::INFINITY,
        Some("-Infinity") => f64::NEG_INFINITY,
        Some("NaN") => f64::NAN,
        Some(other) => panic!("{other} is no number"),
        // Through the text, since JSON readers may round.
        None => json.to_string().parse().expect("a number"),
    }
}
