//! Values of placeholders: a type, and a column of one row (wire.md 8.3).

use crate::value::DecimalWidth;
use crate::wire::sink::{Scalar, Sink};
use crate::wire::types::ColumnType;
use std::borrow::Cow;

/// A value of one of the types that can be bound, `None` for its NULL.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Bind<'a> {
    /// NULL reads as false.
    Boolean(Option<bool>),
    /// NULL reads as 0.
    Byte(Option<i8>),
    /// NULL reads as 0.
    Short(Option<i16>),
    /// 32-bit integer.
    Int(Option<i32>),
    /// 64-bit integer.
    Long(Option<i64>),
    /// 32-bit float.
    Float(Option<f32>),
    /// 64-bit float.
    Double(Option<f64>),
    /// One UTF-16 unit; NULL reads as 0.
    Char(Option<u16>),
    /// Text; also for symbols.
    Varchar(Option<Cow<'a, str>>),
    /// Milliseconds.
    Date(Option<i64>),
    /// Microseconds.
    Timestamp(Option<i64>),
    /// Nanoseconds.
    TimestampNanos(Option<i64>),
    /// As a number: its highest byte is the first of the text form.
    Uuid(Option<u128>),
    /// The least significant limb first.
    Long256(Option<[u64; 4]>),
    /// The hash right-aligned, no bit above the precision.
    Geohash {
        /// The bits.
        bits: Option<u64>,
        /// 1 to 60.
        precision: u8,
    },
    /// An exact number; the scale is within the limits of the width.
    Decimal {
        /// Two's complement, the least significant limb first; limbs beyond the width repeat the sign.
        unscaled: Option<[u64; 4]>,
        /// Digits behind the point.
        scale: u8,
        /// How wide it travels.
        width: DecimalWidth,
    },
}

const HAS_VALUE: [u8; 1] = [0];
/// Flag and bitmap of a column of one row that is NULL.
const IS_NULL: [u8; 2] = [1, 1];

impl Bind<'_> {
    /// The type on the wire.
    pub(crate) fn column_type(&self) -> ColumnType {
        match self {
            Bind::Boolean(_) => ColumnType::Boolean,
            Bind::Byte(_) => ColumnType::Byte,
            Bind::Short(_) => ColumnType::Short,
            Bind::Int(_) => ColumnType::Int,
            Bind::Long(_) => ColumnType::Long,
            Bind::Float(_) => ColumnType::Float,
            Bind::Double(_) => ColumnType::Double,
            Bind::Char(_) => ColumnType::Char,
            Bind::Varchar(_) => ColumnType::Varchar,
            Bind::Date(_) => ColumnType::Date,
            Bind::Timestamp(_) => ColumnType::Timestamp,
            Bind::TimestampNanos(_) => ColumnType::TimestampNanos,
            Bind::Uuid(_) => ColumnType::Uuid,
            Bind::Long256(_) => ColumnType::Long256,
            Bind::Geohash { .. } => ColumnType::Geohash,
            Bind::Decimal { width, .. } => match width {
                DecimalWidth::W64 => ColumnType::Decimal64,
                DecimalWidth::W128 => ColumnType::Decimal128,
                DecimalWidth::W256 => ColumnType::Decimal256,
            },
        }
    }

    pub(super) fn put(&self, sink: &mut Sink<'_>) {
        sink.u8(self.column_type().code());
        match self {
            Bind::Boolean(value) => put_value(value.map(u8::from), sink),
            Bind::Byte(value) => put_value(*value, sink),
            Bind::Short(value) => put_value(*value, sink),
            Bind::Int(value) => put_value(*value, sink),
            Bind::Float(value) => put_value(*value, sink),
            Bind::Double(value) => put_value(*value, sink),
            Bind::Char(value) => put_value(*value, sink),
            Bind::Long(value) | Bind::Date(value) | Bind::Timestamp(value) | Bind::TimestampNanos(value) => {
                put_value(*value, sink)
            }
            Bind::Uuid(value) => put_value(*value, sink),
            Bind::Long256(value) => put_value(*value, sink),
            Bind::Varchar(value) => put_text(value.as_deref(), sink),
            Bind::Geohash { bits, precision } => {
                put_null_flag(bits.is_none(), sink);
                sink.varint((*precision).into());
                put_limbs(bits.as_slice(), usize::from(precision.div_ceil(8)), sink);
            }
            Bind::Decimal { unscaled, scale, width } => {
                put_null_flag(unscaled.is_none(), sink);
                sink.u8(*scale);
                put_limbs(unscaled.as_ref().map_or(&[], |limbs| &limbs[..]), decimal_bytes(*width), sink);
            }
        }
    }

    pub(super) fn max_len(&self) -> usize {
        /// Type, null section, parameter, and the widest value, a LONG256.
        const FIXED_BYTES: usize = 1 + 2 + 1 + 32;
        match self {
            Bind::Varchar(Some(text)) => FIXED_BYTES + text.len(),
            _ => FIXED_BYTES,
        }
    }
}

fn put_null_flag(is_null: bool, sink: &mut Sink<'_>) {
    sink.put(if is_null { &IS_NULL } else { &HAS_VALUE });
}

fn put_value<T: Scalar>(value: Option<T>, sink: &mut Sink<'_>) {
    put_null_flag(value.is_none(), sink);
    sink.scalars(value.as_slice());
}

/// A NULL text has no offsets, unlike a column without a value.
fn put_text(text: Option<&str>, sink: &mut Sink<'_>) {
    put_null_flag(text.is_none(), sink);
    match text.map(|text| (text, u32::try_from(text.len()))) {
        None => {}
        Some((text, Ok(bytes))) => {
            sink.scalars(&[0, bytes]);
            sink.put(text.as_bytes());
        }
        Some((_, Err(_))) => sink.fail(),
    }
}

/// The low `bytes` of the limbs, nothing if there are none.
fn put_limbs(limbs: &[u64], bytes: usize, sink: &mut Sink<'_>) {
    let all = limbs.iter().flat_map(|limb| limb.to_le_bytes());
    for byte in all.take(bytes) {
        sink.u8(byte);
    }
}

pub(super) fn decimal_bytes(width: DecimalWidth) -> usize {
    match width {
        DecimalWidth::W64 => 8,
        DecimalWidth::W128 => 16,
        DecimalWidth::W256 => 32,
    }
}
