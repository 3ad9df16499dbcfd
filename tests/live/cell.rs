//! A value of any type, as it was written and as it was read.

use qwp::{
    Array, Column, ColumnType, Date, Decimal, Geohash, Long256, Row, Timestamp, TimestampMicros,
    TimestampNanos, Uuid, Value,
};
use std::net::Ipv4Addr;

/// A value that is not NULL. Floats compare by their bits.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Bool(bool),
    Byte(i8),
    Short(i16),
    Int(i32),
    Long(i64),
    Float(u32),
    Double(u64),
    Symbol(String),
    Text(String),
    Bytes(Vec<u8>),
    Char(u16),
    Micros(i64),
    Nanos(i64),
    Date(i64),
    Uuid(Uuid),
    Long256(Long256),
    Ipv4(Ipv4Addr),
    Geohash(Geohash),
    Decimal(Decimal),
    Doubles(Vec<usize>, Vec<u64>),
}

impl Cell {
    pub fn float(value: f32) -> Cell {
        Cell::Float(value.to_bits())
    }

    pub fn double(value: f64) -> Cell {
        Cell::Double(value.to_bits())
    }

    pub fn symbol(text: &str) -> Cell {
        Cell::Symbol(text.to_owned())
    }

    pub fn text(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }

    pub fn geohash(bits: u64, precision: u8) -> Cell {
        Cell::Geohash(Geohash::new(bits, precision).unwrap())
    }

    pub fn decimal(text: &str, width: qwp::DecimalWidth) -> Cell {
        Cell::Decimal(text.parse::<Decimal>().unwrap().with_width(width).unwrap())
    }

    pub fn doubles(shape: &[usize], values: &[f64]) -> Cell {
        Cell::Doubles(shape.to_vec(), values.iter().map(|value| value.to_bits()).collect())
    }

    /// Sets it in a row.
    pub fn set(&self, row: &mut Row<'_>, name: &str) {
        match self {
            Cell::Bool(value) => row.column_bool(name, *value),
            Cell::Byte(value) => row.column_i8(name, *value),
            Cell::Short(value) => row.column_i16(name, *value),
            Cell::Int(value) => row.column_i32(name, *value),
            Cell::Long(value) => row.column_i64(name, *value),
            Cell::Float(bits) => row.column_f32(name, f32::from_bits(*bits)),
            Cell::Double(bits) => row.column_f64(name, f64::from_bits(*bits)),
            Cell::Symbol(text) => row.symbol(name, text),
            Cell::Text(text) => row.column_str(name, text),
            Cell::Bytes(bytes) => row.column_binary(name, bytes),
            Cell::Char(unit) => row.column_char(name, char::from_u32(u32::from(*unit)).unwrap()),
            Cell::Micros(value) => row.column_ts(name, TimestampMicros::new(*value)),
            Cell::Nanos(value) => row.column_ts(name, TimestampNanos::new(*value)),
            Cell::Date(value) => row.column_date(name, Date::new(*value)),
            Cell::Uuid(value) => row.column_uuid(name, *value),
            Cell::Long256(value) => row.column_long256(name, *value),
            Cell::Ipv4(value) => row.column_ipv4(name, *value),
            Cell::Geohash(value) => row.column_geohash(name, *value),
            Cell::Decimal(value) => row.column_decimal(name, *value),
            Cell::Doubles(shape, bits) => {
                let values: Vec<f64> = bits.iter().map(|bits| f64::from_bits(*bits)).collect();
                row.column_f64_array(name, Array::new(shape, &values).unwrap())
            }
        };
    }

    /// Says NULL, of the type that this value has.
    pub fn set_null(&self, row: &mut Row<'_>, name: &str) {
        match self {
            Cell::Bool(_) => row.column_bool(name, None),
            Cell::Byte(_) => row.column_i8(name, None),
            Cell::Short(_) => row.column_i16(name, None),
            Cell::Int(_) => row.column_i32(name, None),
            Cell::Long(_) => row.column_i64(name, None),
            Cell::Float(_) => row.column_f32(name, None),
            Cell::Double(_) => row.column_f64(name, None),
            Cell::Symbol(_) => row.symbol(name, None::<&str>),
            Cell::Text(_) => row.column_str(name, None::<&str>),
            Cell::Bytes(_) => row.column_binary(name, None::<&[u8]>),
            Cell::Char(_) => row.column_char(name, None),
            Cell::Micros(_) => row.column_ts(name, None::<TimestampMicros>),
            Cell::Nanos(_) => row.column_ts(name, None::<TimestampNanos>),
            Cell::Date(_) => row.column_date(name, None),
            Cell::Uuid(_) => row.column_uuid(name, None),
            Cell::Long256(_) => row.column_long256(name, None),
            Cell::Ipv4(_) => row.column_ipv4(name, None),
            Cell::Geohash(_) => row.column_geohash(name, None),
            Cell::Decimal(_) => row.column_decimal(name, None),
            Cell::Doubles(..) => row.column_f64_array(name, None::<Array<'_>>),
        };
    }

    /// What a NULL of this value's type reads back as: 0 for the types that have none (wire.md 4.3).
    pub fn null(&self) -> Option<Cell> {
        match self {
            Cell::Bool(_) => Some(Cell::Bool(false)),
            Cell::Byte(_) => Some(Cell::Byte(0)),
            Cell::Short(_) => Some(Cell::Short(0)),
            Cell::Char(_) => Some(Cell::Char(0)),
            _ => None,
        }
    }

    /// A cell that was read row by row.
    pub fn of(value: Value<'_>) -> Option<Cell> {
        Some(match value {
            Value::Null => return None,
            Value::Boolean(value) => Cell::Bool(value),
            Value::Byte(value) => Cell::Byte(value),
            Value::Short(value) => Cell::Short(value),
            Value::Int(value) => Cell::Int(value),
            Value::Long(value) => Cell::Long(value),
            Value::Float(value) => Cell::float(value),
            Value::Double(value) => Cell::double(value),
            Value::Symbol(text) => Cell::symbol(text),
            Value::Varchar(text) => Cell::text(text),
            Value::Binary(bytes) => Cell::Bytes(bytes.to_vec()),
            Value::Char(unit) => Cell::Char(unit),
            Value::Timestamp(Timestamp::Micros(value)) => Cell::Micros(value),
            Value::Timestamp(Timestamp::Nanos(value)) => Cell::Nanos(value),
            Value::Date(value) => Cell::Date(value.as_i64()),
            Value::Uuid(value) => Cell::Uuid(value),
            Value::Long256(value) => Cell::Long256(value),
            Value::Ipv4(value) => Cell::Ipv4(value),
            Value::Geohash(value) => Cell::Geohash(value),
            Value::Decimal(value) => Cell::Decimal(value),
            Value::DoubleArray(array) => {
                Cell::Doubles(array.shape().collect(), array.iter().map(f64::to_bits).collect())
            }
            other => panic!("no sender writes {other:?}"),
        })
    }

    /// All cells of a column, read by the accessor of its type.
    pub fn column(column: &Column<'_>) -> Vec<Option<Cell>> {
        /// The cells of one accessor.
        macro_rules! all {
            ($accessor:ident, $cell:expr) => {
                column.$accessor().unwrap().iter().map(|cell| cell.map($cell)).collect()
            };
        }
        match column.column_type() {
            ColumnType::Boolean => all!(as_bool, Cell::Bool),
            ColumnType::Byte => all!(as_i8, Cell::Byte),
            ColumnType::Short => all!(as_i16, Cell::Short),
            ColumnType::Int => all!(as_i32, Cell::Int),
            ColumnType::Long => all!(as_i64, Cell::Long),
            ColumnType::Float => all!(as_f32, Cell::float),
            ColumnType::Double => all!(as_f64, Cell::double),
            ColumnType::Symbol => all!(as_symbol, Cell::symbol),
            ColumnType::Varchar => all!(as_str, Cell::text),
            ColumnType::Binary => all!(as_binary, |bytes| Cell::Bytes(bytes.to_vec())),
            ColumnType::Char => all!(as_char, Cell::Char),
            ColumnType::Timestamp => all!(as_timestamp_micros, |time| Cell::Micros(time.as_i64())),
            ColumnType::TimestampNanos => all!(as_timestamp_nanos, |time| Cell::Nanos(time.as_i64())),
            ColumnType::Date => all!(as_date, |date| Cell::Date(date.as_i64())),
            ColumnType::Uuid => all!(as_uuid, Cell::Uuid),
            ColumnType::Long256 => all!(as_long256, Cell::Long256),
            ColumnType::Ipv4 => all!(as_ipv4, Cell::Ipv4),
            ColumnType::Geohash => all!(as_geohash, Cell::Geohash),
            ColumnType::Decimal64 | ColumnType::Decimal128 | ColumnType::Decimal256 => {
                all!(as_decimal, Cell::Decimal)
            }
            ColumnType::DoubleArray => {
                all!(as_f64_array, |array| Cell::of(Value::DoubleArray(array)).unwrap())
            }
            other => panic!("no sender writes {other}"),
        }
    }
}
