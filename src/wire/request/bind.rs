//! Values of placeholders: a type, and a column of one row (wire.md 8.3).

use crate::value::DecimalWidth;
use crate::wire::reader::{Reader, WireError, WireFault, WireResult, limbs, sign_extended, zero_extended};
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

fn decimal_bytes(width: DecimalWidth) -> usize {
    match width {
        DecimalWidth::W64 => 8,
        DecimalWidth::W128 => 16,
        DecimalWidth::W256 => 32,
    }
}

impl<'a> Bind<'a> {
    pub(super) fn read(reader: &mut Reader<'a>) -> WireResult<Bind<'a>> {
        let at = reader.offset();
        let code = reader.u8("bind type")?;
        let unknown = WireError { at, what: WireFault::Value(code.into()), field: "bind type" };
        let column_type = ColumnType::from_code(code).ok_or(unknown.clone())?;
        let has_value = read_null_flag(reader)?;
        Ok(match column_type {
            ColumnType::Boolean => Bind::Boolean(read_boolean(reader, has_value)?),
            ColumnType::Byte => Bind::Byte(read_value(reader, has_value, i8::from_le_bytes)?),
            ColumnType::Short => Bind::Short(read_value(reader, has_value, i16::from_le_bytes)?),
            ColumnType::Int => Bind::Int(read_value(reader, has_value, i32::from_le_bytes)?),
            ColumnType::Long => Bind::Long(read_value(reader, has_value, i64::from_le_bytes)?),
            ColumnType::Float => Bind::Float(read_value(reader, has_value, f32::from_le_bytes)?),
            ColumnType::Double => Bind::Double(read_value(reader, has_value, f64::from_le_bytes)?),
            ColumnType::Char => Bind::Char(read_value(reader, has_value, u16::from_le_bytes)?),
            ColumnType::Date => Bind::Date(read_value(reader, has_value, i64::from_le_bytes)?),
            ColumnType::Timestamp => Bind::Timestamp(read_value(reader, has_value, i64::from_le_bytes)?),
            ColumnType::TimestampNanos => {
                Bind::TimestampNanos(read_value(reader, has_value, i64::from_le_bytes)?)
            }
            ColumnType::Uuid => Bind::Uuid(read_value(reader, has_value, u128::from_le_bytes)?),
            ColumnType::Long256 => Bind::Long256(read_value(reader, has_value, limbs)?),
            ColumnType::Varchar => Bind::Varchar(read_text(reader, has_value)?.map(Cow::Borrowed)),
            ColumnType::Geohash => read_geohash(reader, has_value)?,
            ColumnType::Decimal64 => read_decimal(reader, has_value, DecimalWidth::W64, 18)?,
            ColumnType::Decimal128 => read_decimal(reader, has_value, DecimalWidth::W128, 38)?,
            ColumnType::Decimal256 => read_decimal(reader, has_value, DecimalWidth::W256, 76)?,
            ColumnType::Symbol
            | ColumnType::DoubleArray
            | ColumnType::LongArray
            | ColumnType::Binary
            | ColumnType::Ipv4 => return Err(unknown),
        })
    }
}

fn read_null_flag(reader: &mut Reader<'_>) -> WireResult<bool> {
    let at = reader.offset();
    let field = "bind null flag";
    match reader.u8(field)? {
        0 => Ok(true),
        1 => match reader.u8(field)? {
            1 => Ok(false),
            other => Err(WireError { at, what: WireFault::Value(other.into()), field }),
        },
        other => Err(WireError { at, what: WireFault::Value(other.into()), field }),
    }
}

fn read_value<T, const N: usize>(
    reader: &mut Reader<'_>,
    has_value: bool,
    from_le_bytes: impl Fn([u8; N]) -> T,
) -> WireResult<Option<T>> {
    if has_value { reader.array("bind value").map(|bytes| Some(from_le_bytes(bytes))) } else { Ok(None) }
}

fn read_boolean(reader: &mut Reader<'_>, has_value: bool) -> WireResult<Option<bool>> {
    let at = reader.offset();
    match read_value(reader, has_value, u8::from_le_bytes)? {
        None => Ok(None),
        Some(0) => Ok(Some(false)),
        Some(1) => Ok(Some(true)),
        Some(other) => Err(WireError { at, what: WireFault::Value(other.into()), field: "bind value" }),
    }
}

fn read_text<'a>(reader: &mut Reader<'a>, has_value: bool) -> WireResult<Option<&'a str>> {
    if !has_value {
        return Ok(None);
    }
    let at = reader.offset();
    let field = "bind text";
    let first = reader.u32(field)?;
    if first != 0 {
        return Err(WireError { at, what: WireFault::Value(first.into()), field });
    }
    let count = reader.u32(field)?;
    let at = reader.offset();
    let bytes = reader.bytes_u64(field, count.into())?;
    let text = std::str::from_utf8(bytes).map_err(|_| WireError { at, what: WireFault::Utf8, field })?;
    Ok(Some(text))
}

fn read_geohash<'a>(reader: &mut Reader<'a>, has_value: bool) -> WireResult<Bind<'a>> {
    let at = reader.offset();
    let field = "geohash precision";
    let precision = reader.varint_up_to(field, 60)?;
    let precision = u8::try_from(precision).unwrap_or(0);
    if precision == 0 {
        return Err(WireError { at, what: WireFault::Value(0), field });
    }
    let mut bits = None;
    if has_value {
        let at = reader.offset();
        let bytes = reader.bytes(field, usize::from(precision.div_ceil(8)))?;
        let value = u64::from_le_bytes(zero_extended(bytes));
        if value >> precision != 0 {
            return Err(WireError { at, what: WireFault::Value(value), field: "geohash" });
        }
        bits = Some(value);
    }
    Ok(Bind::Geohash { bits, precision })
}

fn read_decimal<'a>(
    reader: &mut Reader<'a>,
    has_value: bool,
    width: DecimalWidth,
    scale_max: u8,
) -> WireResult<Bind<'a>> {
    let at = reader.offset();
    let scale = reader.u8("decimal scale")?;
    if scale > scale_max {
        let what = WireFault::Limit { value: scale.into(), limit: scale_max.into() };
        return Err(WireError { at, what, field: "decimal scale" });
    }
    let mut unscaled = None;
    if has_value {
        let bytes = reader.bytes("decimal", decimal_bytes(width))?;
        unscaled = Some(limbs(sign_extended(bytes)));
    }
    Ok(Bind::Decimal { unscaled, scale, width })
}
