//! A cell as text. Pure.

use std::net::Ipv4Addr;

use crate::value::{Date, Decimal, Geohash, Long256, TimestampMicros, TimestampNanos, Uuid};
use crate::wire::ingress::decode::{Cell, Column, Values, values::Array};
use crate::wire::types::ColumnType;

/// The value as people write it; texts in quotes.
pub(super) fn cell<'t>(
    column: &Column<'_>,
    cell: Cell<'_>,
    symbol: impl Fn(usize) -> Option<&'t str>,
) -> String {
    match cell {
        Cell::Boolean(value) => value.to_string(),
        Cell::Integer(value) => integer(column.column_type, value),
        Cell::Unsigned(value) => unsigned(column, value, symbol),
        Cell::Float(value) => format!("{value:?}"),
        Cell::Double(value) => format!("{value:?}"),
        Cell::Uuid(value) => Uuid::from(value).to_string(),
        Cell::Limbs(limbs) => match column.values {
            Values::Decimals { scale, .. } => Decimal::from_parts(limbs, scale)
                .map_or_else(|error| error.to_string(), |decimal| decimal.to_string()),
            _ => Long256::from_limbs(limbs).to_string(),
        },
        Cell::Text(text) => format!("{text:?}"),
        Cell::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        Cell::Array(value) => array(column.column_type, value),
    }
}

fn integer(column_type: ColumnType, value: i64) -> String {
    match column_type {
        ColumnType::Timestamp => TimestampMicros::new(value).to_string(),
        ColumnType::TimestampNanos => TimestampNanos::new(value).to_string(),
        ColumnType::Date => Date::new(value).to_string(),
        _ => value.to_string(),
    }
}

fn unsigned<'t>(column: &Column<'_>, value: u64, symbol: impl Fn(usize) -> Option<&'t str>) -> String {
    let small = u32::try_from(value).unwrap_or(u32::MAX);
    match (column.column_type, &column.values) {
        (ColumnType::Symbol, _) => match usize::try_from(value).ok().and_then(symbol) {
            Some(text) => format!("{text:?}"),
            None => format!("unknown symbol {value}"),
        },
        (ColumnType::Char, _) => {
            let unit = u16::try_from(value).unwrap_or(u16::MAX);
            format!("{:?}", String::from_utf16_lossy(&[unit]))
        }
        (ColumnType::Ipv4, _) => Ipv4Addr::from_bits(small).to_string(),
        (_, Values::Geohashes { precision, .. }) => {
            Geohash::new(value, *precision).map_or_else(|error| error.to_string(), |hash| hash.to_string())
        }
        _ => value.to_string(),
    }
}

/// Elements row by row, behind the lengths of the dimensions unless there is one only.
fn array(column_type: ColumnType, value: Array<'_>) -> String {
    let elements = value.elements.iter().map(|bytes| match column_type {
        ColumnType::LongArray => i64::from_le_bytes(*bytes).to_string(),
        _ => format!("{:?}", f64::from_le_bytes(*bytes)),
    });
    let elements = elements.collect::<Vec<_>>().join(", ");
    let lengths = value.lengths.iter().map(|bytes| u32::from_le_bytes(*bytes).to_string());
    match value.lengths.len() {
        1 => format!("[{elements}]"),
        _ => format!("{}[{elements}]", lengths.collect::<Vec<_>>().join("x")),
    }
}
