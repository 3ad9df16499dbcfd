//! The type codes of columns (wire.md 4.4).

use std::fmt;

/// The type of a column, as it travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum ColumnType {
    /// True or false; no NULL.
    Boolean = 0x01,
    /// 8-bit integer; no NULL.
    Byte = 0x02,
    /// 16-bit integer; no NULL.
    Short = 0x03,
    /// 32-bit integer.
    Int = 0x04,
    /// 64-bit integer.
    Long = 0x05,
    /// 32-bit float.
    Float = 0x06,
    /// 64-bit float.
    Double = 0x07,
    /// Text out of a dictionary.
    Symbol = 0x09,
    /// Microseconds since 1970.
    Timestamp = 0x0a,
    /// Milliseconds since 1970.
    Date = 0x0b,
    /// 128-bit identifier.
    Uuid = 0x0c,
    /// 256-bit unsigned integer.
    Long256 = 0x0d,
    /// Geohash of 1 to 60 bits.
    Geohash = 0x0e,
    /// Text.
    Varchar = 0x0f,
    /// Nanoseconds since 1970.
    TimestampNanos = 0x10,
    /// Array of doubles with 1 to 32 dimensions.
    DoubleArray = 0x11,
    /// Array of longs; servers send none and accept none.
    LongArray = 0x12,
    /// Decimal of up to 18 digits.
    Decimal64 = 0x13,
    /// Decimal of up to 38 digits.
    Decimal128 = 0x14,
    /// Decimal of up to 76 digits.
    Decimal256 = 0x15,
    /// One UTF-16 unit; no NULL.
    Char = 0x16,
    /// Bytes.
    Binary = 0x17,
    /// IPv4 address.
    Ipv4 = 0x18,
}

impl ColumnType {
    /// Every type, in the order of the codes.
    pub(crate) const ALL: [ColumnType; 23] = [
        ColumnType::Boolean,
        ColumnType::Byte,
        ColumnType::Short,
        ColumnType::Int,
        ColumnType::Long,
        ColumnType::Float,
        ColumnType::Double,
        ColumnType::Symbol,
        ColumnType::Timestamp,
        ColumnType::Date,
        ColumnType::Uuid,
        ColumnType::Long256,
        ColumnType::Geohash,
        ColumnType::Varchar,
        ColumnType::TimestampNanos,
        ColumnType::DoubleArray,
        ColumnType::LongArray,
        ColumnType::Decimal64,
        ColumnType::Decimal128,
        ColumnType::Decimal256,
        ColumnType::Char,
        ColumnType::Binary,
        ColumnType::Ipv4,
    ];

    /// The code on the wire.
    #[inline]
    pub(crate) const fn code(self) -> u8 {
        self as u8
    }

    /// The type of a code, if it is one.
    pub(crate) fn from_code(code: u8) -> Option<ColumnType> {
        ColumnType::ALL.into_iter().find(|t| t.code() == code)
    }
}

impl fmt::Display for ColumnType {
    /// The name that QuestDB's SQL uses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ColumnType::Boolean => "BOOLEAN",
            ColumnType::Byte => "BYTE",
            ColumnType::Short => "SHORT",
            ColumnType::Int => "INT",
            ColumnType::Long => "LONG",
            ColumnType::Float => "FLOAT",
            ColumnType::Double => "DOUBLE",
            ColumnType::Symbol => "SYMBOL",
            ColumnType::Timestamp => "TIMESTAMP",
            ColumnType::Date => "DATE",
            ColumnType::Uuid => "UUID",
            ColumnType::Long256 => "LONG256",
            ColumnType::Geohash => "GEOHASH",
            ColumnType::Varchar => "VARCHAR",
            ColumnType::TimestampNanos => "TIMESTAMP_NS",
            ColumnType::DoubleArray => "DOUBLE[]",
            ColumnType::LongArray => "LONG[]",
            ColumnType::Decimal64 => "DECIMAL64",
            ColumnType::Decimal128 => "DECIMAL128",
            ColumnType::Decimal256 => "DECIMAL256",
            ColumnType::Char => "CHAR",
            ColumnType::Binary => "BINARY",
            ColumnType::Ipv4 => "IPv4",
        })
    }
}
