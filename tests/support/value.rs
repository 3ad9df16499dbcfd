//! What a cell holds, and the column types of wire.md 4.4.

use std::sync::Arc;

use super::wide::Wide;

/// The type of a column, with what belongs to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    Boolean,
    Byte,
    Short,
    Int,
    Long,
    Float,
    Double,
    Symbol,
    Timestamp,
    Date,
    Uuid,
    Long256,
    Geohash(u8),
    Varchar,
    TimestampNanos,
    /// With the number of dimensions; 0 while nothing but NULL was seen.
    DoubleArray(u8),
    LongArray(u8),
    Decimal(Decimal),
    Char,
    Binary,
    Ipv4,
    /// Older text type of SQL: no wire code of its own.
    Text,
}

/// Width on the wire in bytes, digits and places of a decimal column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decimal {
    pub bytes: u8,
    pub precision: u8,
    pub scale: u8,
}

impl Decimal {
    /// The column that SQL's `DECIMAL(precision, scale)` makes.
    pub fn of(precision: u8, scale: u8) -> Decimal {
        let bytes = match precision {
            0..=18 => 8,
            19..=38 => 16,
            _ => 32,
        };
        Decimal { bytes, precision, scale }
    }

    /// The column that a wire type makes: all the digits of its width.
    pub fn of_width(bytes: u8, scale: u8) -> Decimal {
        let precision = match bytes {
            8 => 18,
            16 => 38,
            _ => 76,
        };
        Decimal { bytes, precision, scale }
    }
}

impl Type {
    /// The code on the wire.
    pub fn code(self) -> u8 {
        match self {
            Type::Boolean => 0x01,
            Type::Byte => 0x02,
            Type::Short => 0x03,
            Type::Int => 0x04,
            Type::Long => 0x05,
            Type::Float => 0x06,
            Type::Double => 0x07,
            Type::Symbol => 0x09,
            Type::Timestamp => 0x0a,
            Type::Date => 0x0b,
            Type::Uuid => 0x0c,
            Type::Long256 => 0x0d,
            Type::Geohash(_) => 0x0e,
            Type::Varchar | Type::Text => 0x0f,
            Type::TimestampNanos => 0x10,
            Type::DoubleArray(_) => 0x11,
            Type::LongArray(_) => 0x12,
            Type::Decimal(d) => match d.bytes {
                8 => 0x13,
                16 => 0x14,
                _ => 0x15,
            },
            Type::Char => 0x16,
            Type::Binary => 0x17,
            Type::Ipv4 => 0x18,
        }
    }

    /// The type of a code, its parameters still empty.
    pub fn from_code(code: u8) -> Option<Type> {
        Some(match code {
            0x01 => Type::Boolean,
            0x02 => Type::Byte,
            0x03 => Type::Short,
            0x04 => Type::Int,
            0x05 => Type::Long,
            0x06 => Type::Float,
            0x07 => Type::Double,
            0x09 => Type::Symbol,
            0x0a => Type::Timestamp,
            0x0b => Type::Date,
            0x0c => Type::Uuid,
            0x0d => Type::Long256,
            0x0e => Type::Geohash(0),
            0x0f => Type::Varchar,
            0x10 => Type::TimestampNanos,
            0x11 => Type::DoubleArray(0),
            0x12 => Type::LongArray(0),
            0x13 => Type::Decimal(Decimal::of_width(8, 0)),
            0x14 => Type::Decimal(Decimal::of_width(16, 0)),
            0x15 => Type::Decimal(Decimal::of_width(32, 0)),
            0x16 => Type::Char,
            0x17 => Type::Binary,
            0x18 => Type::Ipv4,
            _ => return None,
        })
    }

    /// The name that SQL and the server's messages use.
    pub fn name(self) -> String {
        match self {
            Type::Boolean => "BOOLEAN".into(),
            Type::Byte => "BYTE".into(),
            Type::Short => "SHORT".into(),
            Type::Int => "INT".into(),
            Type::Long => "LONG".into(),
            Type::Float => "FLOAT".into(),
            Type::Double => "DOUBLE".into(),
            Type::Symbol => "SYMBOL".into(),
            Type::Timestamp => "TIMESTAMP".into(),
            Type::Date => "DATE".into(),
            Type::Uuid => "UUID".into(),
            Type::Long256 => "LONG256".into(),
            Type::Geohash(bits) if bits % 5 == 0 => format!("GEOHASH({}c)", bits / 5),
            Type::Geohash(bits) => format!("GEOHASH({bits}b)"),
            Type::Varchar => "VARCHAR".into(),
            Type::TimestampNanos => "TIMESTAMP_NS".into(),
            Type::DoubleArray(dims) => format!("DOUBLE{}", "[]".repeat(usize::from(dims))),
            Type::LongArray(dims) => format!("LONG{}", "[]".repeat(usize::from(dims))),
            Type::Decimal(d) => format!("DECIMAL({},{})", d.precision, d.scale),
            Type::Char => "CHAR".into(),
            Type::Binary => "BINARY".into(),
            Type::Ipv4 => "IPv4".into(),
            Type::Text => "STRING".into(),
        }
    }

    /// What a cell of this type holds when nothing was written: false and 0 where there is no NULL.
    pub fn absent(self) -> Value {
        match self {
            Type::Boolean => Value::Boolean(false),
            Type::Byte => Value::Byte(0),
            Type::Short => Value::Short(0),
            Type::Char => Value::Char(0),
            _ => Value::Null,
        }
    }
}

/// One cell.
#[derive(Clone, Debug)]
pub enum Value {
    Null,
    Boolean(bool),
    Byte(i8),
    Short(i16),
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
    Symbol(Arc<str>),
    Timestamp(i64),
    Date(i64),
    Uuid {
        high: u64,
        low: u64,
    },
    Long256(Box<Wide>),
    Geohash {
        bits: u8,
        value: u64,
    },
    /// Bytes: the server stores what is not UTF-8, too.
    Varchar(Arc<[u8]>),
    TimestampNanos(i64),
    DoubleArray(Arc<Array<f64>>),
    LongArray(Arc<Array<i64>>),
    Decimal(Box<(Wide, u8)>),
    Char(u16),
    Binary(Arc<[u8]>),
    Ipv4(u32),
}

/// Lengths by dimension, and the elements in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Array<T> {
    pub shape: Vec<i32>,
    pub elements: Vec<T>,
}

impl Value {
    pub fn symbol(text: &str) -> Value {
        Value::Symbol(text.into())
    }

    pub fn varchar(text: &str) -> Value {
        Value::Varchar(text.as_bytes().into())
    }

    pub fn binary(bytes: &[u8]) -> Value {
        Value::Binary(bytes.into())
    }

    /// A decimal by its unscaled digits.
    pub fn decimal(unscaled: &str, scale: u8) -> Value {
        Value::Decimal(Box::new((Wide::parse(unscaled).expect("a whole number"), scale)))
    }

    /// A LONG256 by its decimal digits.
    pub fn long256(digits: &str) -> Value {
        Value::Long256(Box::new(Wide::parse(digits).expect("a whole number")))
    }

    pub fn doubles(shape: &[i32], elements: &[f64]) -> Value {
        Value::DoubleArray(Arc::new(Array { shape: shape.to_vec(), elements: elements.to_vec() }))
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The value, or NULL if its bits are the type's sentinel (wire.md 4.3).
    pub fn or_null(self) -> Value {
        let null = match &self {
            Value::Int(n) => *n == i32::MIN,
            Value::Long(n) | Value::Timestamp(n) | Value::TimestampNanos(n) | Value::Date(n) => {
                *n == i64::MIN
            }
            Value::Float(n) => n.is_nan(),
            Value::Double(n) => n.is_nan(),
            Value::Ipv4(n) => *n == 0,
            Value::Uuid { high, low } => *high == 1 << 63 && *low == 1 << 63,
            Value::Long256(n) => n.0 == [1 << 63; 4],
            _ => false,
        };
        if null { Value::Null } else { self }
    }
}

/// Floating point numbers by their bits: NaN equals itself, and 0.0 is not -0.0.
impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        use Value::*;
        match (self, other) {
            (Null, Null) => true,
            (Boolean(a), Boolean(b)) => a == b,
            (Byte(a), Byte(b)) => a == b,
            (Short(a), Short(b)) => a == b,
            (Int(a), Int(b)) => a == b,
            (Float(a), Float(b)) => a.to_bits() == b.to_bits(),
            (Double(a), Double(b)) => a.to_bits() == b.to_bits(),
            (Symbol(a), Symbol(b)) => a == b,
            (Long(a), Long(b))
            | (Timestamp(a), Timestamp(b))
            | (TimestampNanos(a), TimestampNanos(b))
            | (Date(a), Date(b)) => a == b,
            (Uuid { high, low }, Uuid { high: h, low: l }) => high == h && low == l,
            (Long256(a), Long256(b)) => a == b,
            (Geohash { bits, value }, Geohash { bits: b, value: v }) => bits == b && value == v,
            (Varchar(a), Varchar(b)) | (Binary(a), Binary(b)) => a == b,
            (DoubleArray(a), DoubleArray(b)) => {
                let bits = |x: &Array<f64>| x.elements.iter().map(|e| e.to_bits()).collect::<Vec<_>>();
                a.shape == b.shape && bits(a) == bits(b)
            }
            (LongArray(a), LongArray(b)) => a == b,
            (Decimal(a), Decimal(b)) => a == b,
            (Char(a), Char(b)) => a == b,
            (Ipv4(a), Ipv4(b)) => a == b,
            _ => false,
        }
    }
}
