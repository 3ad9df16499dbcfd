//! A cell of any type, how it is shown, and how it becomes a Rust value.

use super::array::ArrayView;
use crate::value::{Date, Decimal, Geohash, Long256, Timestamp, TimestampMicros, TimestampNanos, Uuid};
use std::fmt;
use std::net::Ipv4Addr;

/// A cell of any type.
///
/// `Display` is what the web console shows: `null`, times in ISO 8601, doubles with as few digits as
/// tell them apart, `Infinity`, geohashes and UUIDs in their usual form. Bytes are shown as hex digits.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Value<'a> {
    /// No value.
    Null,
    /// BOOLEAN.
    Boolean(bool),
    /// BYTE.
    Byte(i8),
    /// SHORT.
    Short(i16),
    /// INT.
    Int(i32),
    /// LONG.
    Long(i64),
    /// FLOAT. Infinities are values.
    Float(f32),
    /// DOUBLE. Infinities are values.
    Double(f64),
    /// SYMBOL.
    Symbol(&'a str),
    /// TIMESTAMP and TIMESTAMP_NS.
    Timestamp(Timestamp),
    /// DATE.
    Date(Date),
    /// UUID.
    Uuid(Uuid),
    /// LONG256.
    Long256(Long256),
    /// GEOHASH.
    Geohash(Geohash),
    /// VARCHAR and STRING.
    Varchar(&'a str),
    /// DOUBLE\[\].
    DoubleArray(ArrayView<'a, f64>),
    /// LONG\[\].
    LongArray(ArrayView<'a, i64>),
    /// DECIMAL of any width.
    Decimal(Decimal),
    /// CHAR: one UTF-16 unit, which may be half of a pair.
    Char(u16),
    /// BINARY.
    Binary(&'a [u8]),
    /// IPv4.
    Ipv4(Ipv4Addr),
}

impl Value<'_> {
    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Boolean(value) => write!(f, "{value}"),
            Value::Byte(value) => write!(f, "{value}"),
            Value::Short(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Long(value) => write!(f, "{value}"),
            Value::Float(value) if value.is_finite() => write!(f, "{value:?}"),
            Value::Float(value) => show_double(f, (*value).into()),
            Value::Double(value) => show_double(f, *value),
            Value::Symbol(text) | Value::Varchar(text) => f.write_str(text),
            Value::Timestamp(time) => write!(f, "{time}"),
            Value::Date(date) => write!(f, "{date}"),
            Value::Uuid(uuid) => write!(f, "{uuid}"),
            Value::Long256(value) => write!(f, "{value}"),
            Value::Geohash(hash) => write!(f, "{hash}"),
            Value::Decimal(value) => write!(f, "{value}"),
            Value::Char(unit) => show_char(f, *unit),
            Value::Binary(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Value::Ipv4(address) => write!(f, "{address}"),
            Value::DoubleArray(array) => {
                let shape: Vec<usize> = array.shape().collect();
                show_array(f, &shape, &mut array.iter(), &mut |f, element| show_double(f, element))
            }
            Value::LongArray(array) => {
                let shape: Vec<usize> = array.shape().collect();
                show_array(f, &shape, &mut array.iter(), &mut |f, element| match element {
                    i64::MIN => f.write_str("null"),
                    element => write!(f, "{element}"),
                })
            }
        }
    }
}

fn show_double(f: &mut fmt::Formatter<'_>, value: f64) -> fmt::Result {
    if value.is_nan() {
        f.write_str("null")
    } else if value.is_infinite() {
        f.write_str(if value > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        write!(f, "{value:?}")
    }
}

/// Nothing for 0, which is what CHAR has in place of NULL.
fn show_char(f: &mut fmt::Formatter<'_>, unit: u16) -> fmt::Result {
    match char::from_u32(unit.into()) {
        Some('\0') => Ok(()),
        Some(c) => write!(f, "{c}"),
        None => f.write_str("\u{fffd}"),
    }
}

/// `[[1.0,2.0],[3.0,4.0]]`; an array without elements is `[]` whatever its shape.
fn show_array<T>(
    f: &mut fmt::Formatter<'_>,
    shape: &[usize],
    elements: &mut dyn ExactSizeIterator<Item = T>,
    show: &mut dyn FnMut(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    f.write_str("[")?;
    if let [length, rest @ ..] = shape
        && elements.len() > 0
    {
        for index in 0..*length {
            if index > 0 {
                f.write_str(",")?;
            }
            if !rest.is_empty() {
                show_array(f, rest, elements, show)?;
            } else if let Some(element) = elements.next() {
                show(f, element)?;
            }
        }
    }
    f.write_str("]")
}

/// What a cell can be read as, see [`Row::get`](crate::RowView::get). Nothing is converted: an INT is an
/// `i32` and no `i64`. Text of VARCHAR and of SYMBOL is text alike.
pub trait FromValue<'a>: Sized {
    /// The type in words, for errors.
    const WANTED: &'static str;

    /// The value, or `None` if the cell is of another type, or NULL and `Self` has no NULL.
    fn from_value(value: Value<'a>) -> Option<Self>;
}

impl<'a, T: FromValue<'a>> FromValue<'a> for Option<T> {
    const WANTED: &'static str = T::WANTED;

    fn from_value(value: Value<'a>) -> Option<Option<T>> {
        match value {
            Value::Null => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}

impl<'a> FromValue<'a> for Value<'a> {
    const WANTED: &'static str = "any type";

    fn from_value(value: Value<'a>) -> Option<Value<'a>> {
        Some(value)
    }
}

impl FromValue<'_> for char {
    const WANTED: &'static str = "CHAR that is a whole character";

    fn from_value(value: Value<'_>) -> Option<char> {
        match value {
            Value::Char(unit) => char::from_u32(unit.into()),
            _ => None,
        }
    }
}

macro_rules! from_value {
    ($($type:ty, $wanted:literal, $pattern:pat => $value:expr;)+) => {$(
        impl<'a> FromValue<'a> for $type {
            const WANTED: &'static str = $wanted;

            fn from_value(value: Value<'a>) -> Option<$type> {
                match value {
                    $pattern => Some($value),
                    _ => None,
                }
            }
        }
    )+};
}

from_value! {
    bool, "BOOLEAN", Value::Boolean(v) => v;
    i8, "BYTE", Value::Byte(v) => v;
    i16, "SHORT", Value::Short(v) => v;
    i32, "INT", Value::Int(v) => v;
    i64, "LONG", Value::Long(v) => v;
    f32, "FLOAT", Value::Float(v) => v;
    f64, "DOUBLE", Value::Double(v) => v;
    u16, "CHAR", Value::Char(v) => v;
    &'a str, "VARCHAR or SYMBOL", Value::Varchar(v) | Value::Symbol(v) => v;
    String, "VARCHAR or SYMBOL", Value::Varchar(v) | Value::Symbol(v) => v.to_owned();
    &'a [u8], "BINARY", Value::Binary(v) => v;
    Vec<u8>, "BINARY", Value::Binary(v) => v.to_vec();
    Timestamp, "TIMESTAMP or TIMESTAMP_NS", Value::Timestamp(v) => v;
    TimestampMicros, "TIMESTAMP", Value::Timestamp(Timestamp::Micros(v)) => TimestampMicros::new(v);
    TimestampNanos, "TIMESTAMP_NS", Value::Timestamp(Timestamp::Nanos(v)) => TimestampNanos::new(v);
    Date, "DATE", Value::Date(v) => v;
    Uuid, "UUID", Value::Uuid(v) => v;
    Long256, "LONG256", Value::Long256(v) => v;
    Geohash, "GEOHASH", Value::Geohash(v) => v;
    Decimal, "DECIMAL", Value::Decimal(v) => v;
    Ipv4Addr, "IPv4", Value::Ipv4(v) => v;
    ArrayView<'a, f64>, "DOUBLE[]", Value::DoubleArray(v) => v;
    ArrayView<'a, i64>, "LONG[]", Value::LongArray(v) => v;
}
