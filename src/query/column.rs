//! A column of a batch, as its type has it.

use super::array::{DoubleArrays, LongArrays};
use super::cells::{
    Binary, Bits, ColumnView, Decimals, Fixed, Geohashes, Source, Symbols, Texts, Times, Timestamps,
};
use super::value::Value;
use crate::error::{Error, ErrorKind, Result};
use crate::value::{Date, Long256, TimestampMicros, TimestampNanos, Uuid};
use crate::wire::egress::ColumnRef;
use crate::wire::types::ColumnType;
use std::net::Ipv4Addr;

/// A column of a batch.
///
/// `as_*` gives the values of one type: they fail for a column of any other type, and convert nothing
/// (QRY-14).
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    inner: ColumnRef<'a>,
    name: &'a str,
}

/// Accessors of columns: name, what it gives, the types it takes, and the words of its documentation.
macro_rules! accessors {
    ($($name:ident -> $source:ty, $($kind:ident)|+, $doc:literal;)+) => {
        impl<'a> Column<'a> {
            $(
                #[doc = concat!("The values of a ", $doc, " column.")]
                ///
                /// # Errors
                ///
                /// `InvalidCall` for a column of another type.
                pub fn $name(&self) -> Result<ColumnView<'a, $source>> {
                    match self.column_type() {
                        $(ColumnType::$kind)|+ => Ok(ColumnView::new(self.inner)),
                        _ => Err(self.mismatch($doc)),
                    }
                }
            )+
        }
    };
}

accessors! {
    as_bool -> Bits<'a>, Boolean, "BOOLEAN";
    as_i8 -> Fixed<'a, i8>, Byte, "BYTE";
    as_i16 -> Fixed<'a, i16>, Short, "SHORT";
    as_i32 -> Fixed<'a, i32>, Int, "INT";
    as_i64 -> Fixed<'a, i64>, Long, "LONG";
    as_f32 -> Fixed<'a, f32>, Float, "FLOAT";
    as_f64 -> Fixed<'a, f64>, Double, "DOUBLE";
    as_char -> Fixed<'a, u16>, Char, "CHAR";
    as_ipv4 -> Fixed<'a, Ipv4Addr>, Ipv4, "IPv4";
    as_uuid -> Fixed<'a, Uuid>, Uuid, "UUID";
    as_long256 -> Fixed<'a, Long256>, Long256, "LONG256";
    as_symbol -> Symbols<'a>, Symbol, "SYMBOL";
    as_str -> Texts<'a>, Varchar, "VARCHAR";
    as_binary -> Binary<'a>, Binary, "BINARY";
    as_timestamp -> Timestamps<'a>, Timestamp | TimestampNanos, "TIMESTAMP or TIMESTAMP_NS";
    as_timestamp_micros -> Times<'a, TimestampMicros>, Timestamp, "TIMESTAMP";
    as_timestamp_nanos -> Times<'a, TimestampNanos>, TimestampNanos, "TIMESTAMP_NS";
    as_date -> Times<'a, Date>, Date, "DATE";
    as_geohash -> Geohashes<'a>, Geohash, "GEOHASH";
    as_decimal -> Decimals<'a>, Decimal64 | Decimal128 | Decimal256, "DECIMAL";
    as_f64_array -> DoubleArrays<'a>, DoubleArray, "DOUBLE[]";
    as_i64_array -> LongArrays<'a>, LongArray, "LONG[]";
}

impl<'a> Column<'a> {
    pub(super) fn new(inner: ColumnRef<'a>, name: &'a str) -> Column<'a> {
        Column { inner, name }
    }

    /// Its name.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Its type.
    pub fn column_type(&self) -> ColumnType {
        self.inner.kind()
    }

    /// How many rows there are.
    pub fn row_count(&self) -> usize {
        self.inner.rows()
    }

    /// How many of them are NULL.
    pub fn null_count(&self) -> usize {
        self.inner.rows() - self.inner.count()
    }

    /// Whether that row is NULL; false behind the last row.
    pub fn is_null(&self, row: usize) -> bool {
        self.inner.is_null(row)
    }

    /// Digits after the point of a DECIMAL column, for others `None`.
    pub fn decimal_scale(&self) -> Option<u8> {
        match self.column_type() {
            ColumnType::Decimal64 | ColumnType::Decimal128 | ColumnType::Decimal256 => {
                Some(self.inner.parameter())
            }
            _ => None,
        }
    }

    /// Bits of the values of a GEOHASH column, for others `None`.
    pub fn geohash_precision(&self) -> Option<u8> {
        (self.column_type() == ColumnType::Geohash).then(|| self.inner.parameter())
    }

    /// The cell of a row, whatever its type; `None` behind the last row. For whole columns the `as_*`
    /// accessors are faster.
    pub fn value(&self, row: usize) -> Option<Value<'a>> {
        match self.inner.place(row) {
            Some(place) => self.present(place),
            None => self.is_null(row).then_some(Value::Null),
        }
    }

    /// The value at a place among those that are present.
    fn present(&self, place: usize) -> Option<Value<'a>> {
        let column = &self.inner;
        Some(match self.column_type() {
            ColumnType::Boolean => Value::Boolean(Bits::open(column).at(place)?),
            ColumnType::Byte => Value::Byte(Fixed::open(column).at(place)?),
            ColumnType::Short => Value::Short(Fixed::open(column).at(place)?),
            ColumnType::Int => Value::Int(Fixed::open(column).at(place)?),
            ColumnType::Long => Value::Long(Fixed::open(column).at(place)?),
            ColumnType::Float => Value::Float(Fixed::open(column).at(place)?),
            ColumnType::Double => Value::Double(Fixed::open(column).at(place)?),
            ColumnType::Char => Value::Char(Fixed::open(column).at(place)?),
            ColumnType::Ipv4 => Value::Ipv4(Fixed::open(column).at(place)?),
            ColumnType::Uuid => Value::Uuid(Fixed::open(column).at(place)?),
            ColumnType::Long256 => Value::Long256(Fixed::open(column).at(place)?),
            ColumnType::Symbol => Value::Symbol(Symbols::open(column).at(place)?),
            // Checked once when the batch was read, here only where the text is.
            ColumnType::Varchar => {
                Value::Varchar(std::str::from_utf8(Binary::open(column).at(place)?).unwrap_or_default())
            }
            ColumnType::Binary => Value::Binary(Binary::open(column).at(place)?),
            ColumnType::Timestamp | ColumnType::TimestampNanos => {
                Value::Timestamp(Timestamps::open(column).at(place)?)
            }
            ColumnType::Date => Value::Date(Times::open(column).at(place)?),
            ColumnType::Geohash => Value::Geohash(Geohashes::open(column).at(place)?),
            ColumnType::Decimal64 | ColumnType::Decimal128 | ColumnType::Decimal256 => {
                Value::Decimal(Decimals::open(column).at(place)?)
            }
            ColumnType::DoubleArray => Value::DoubleArray(DoubleArrays::open(column).at(place)?),
            ColumnType::LongArray => Value::LongArray(LongArrays::open(column).at(place)?),
        })
    }

    #[cold]
    pub(super) fn mismatch(&self, wanted: &'static str) -> Error {
        Error::new(ErrorKind::InvalidCall, "the column has another type")
            .with("column", self.name)
            .with("wanted", wanted)
            .with("actual", self.column_type())
    }
}
