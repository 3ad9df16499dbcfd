//! The values of a column by type (wire.md 4.4).

use super::{bit, bits};
use crate::wire::extend::{sign_extended, zero_extended};
use crate::wire::frame::Flags;
use crate::wire::gorilla;
use crate::wire::reader::{Reader, WireError, WireFault, WireResult, limbs};
use crate::wire::types::ColumnType;

const DIMENSIONS_MAX: u8 = 32;
/// The longest dimension, also beside one of length 0 (LIM-08).
const DIMENSION_MAX: u32 = (1 << 28) - 1;
const PRECISION_MAX: u64 = 60;

/// The values of a column that are not NULL.
#[derive(Debug, Clone)]
pub(crate) enum Values<'a> {
    /// BOOLEAN.
    Booleans(&'a [u8]),
    /// Little-endian numbers of one width.
    Fixed {
        /// What they are.
        column_type: ColumnType,
        /// Bytes of each.
        width: usize,
        /// All of them.
        bytes: &'a [u8],
    },
    /// TIMESTAMP and TIMESTAMP_NANOS of a message with flag GORILLA.
    Timestamps(Vec<i64>),
    /// SYMBOL: ids of the connection's dictionary.
    Symbols(Vec<u32>),
    /// SYMBOL of a message without dictionary delta.
    LocalSymbols(Vec<&'a str>),
    /// GEOHASH.
    Geohashes {
        /// Bits of each.
        precision: u8,
        /// The hashes, in as many bytes each as the precision fills.
        bytes: &'a [u8],
    },
    /// VARCHAR and BINARY.
    Texts {
        /// Whether all are UTF-8.
        is_text: bool,
        /// One more than there are values; never falling, within `bytes`.
        offsets: &'a [[u8; 4]],
        /// The texts one behind the other.
        bytes: &'a [u8],
    },
    /// DECIMAL64, 128 and 256.
    Decimals {
        /// Digits behind the point.
        scale: u8,
        /// Bytes of each.
        width: usize,
        /// Unscaled values, two's complement.
        bytes: &'a [u8],
    },
    /// DOUBLE_ARRAY and LONG_ARRAY.
    Arrays(Vec<Array<'a>>),
}

/// One value of an array column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Array<'a> {
    /// Length of each dimension, little-endian.
    pub(crate) lengths: &'a [[u8; 4]],
    /// As many elements as the lengths' product, little-endian.
    pub(crate) elements: &'a [[u8; 8]],
}

/// One value. What it means is said by the type of its column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell<'a> {
    /// BOOLEAN.
    Boolean(bool),
    /// BYTE, SHORT, INT, LONG, DATE, TIMESTAMP, TIMESTAMP_NANOS.
    Integer(i64),
    /// CHAR, IPv4, GEOHASH, and SYMBOL as id.
    Unsigned(u64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// UUID.
    Uuid(u128),
    /// LONG256, and the unscaled value of a decimal, its sign extended.
    Limbs([u64; 4]),
    /// VARCHAR, and SYMBOL of a message without dictionary delta.
    Text(&'a str),
    /// BINARY.
    Bytes(&'a [u8]),
    /// DOUBLE_ARRAY and LONG_ARRAY.
    Array(Array<'a>),
}

impl<'a> Values<'a> {
    /// Reads `count` values.
    pub(super) fn read(
        reader: &mut Reader<'a>,
        column_type: ColumnType,
        count: usize,
        flags: Flags,
    ) -> WireResult<Values<'a>> {
        let fixed = |reader: &mut Reader<'a>, width| {
            let bytes = array_bytes(reader, count, width)?;
            Ok(Values::Fixed { column_type, width, bytes })
        };
        match column_type {
            ColumnType::Boolean => Ok(Values::Booleans(bits(reader, "boolean values", count)?)),
            ColumnType::Byte => fixed(reader, 1),
            ColumnType::Short | ColumnType::Char => fixed(reader, 2),
            ColumnType::Int | ColumnType::Float | ColumnType::Ipv4 => fixed(reader, 4),
            ColumnType::Timestamp | ColumnType::TimestampNanos if flags.has(Flags::GORILLA) => {
                let mut values = Vec::new();
                gorilla::read(reader, "timestamps", count, &mut values)?;
                Ok(Values::Timestamps(values))
            }
            ColumnType::Long
            | ColumnType::Double
            | ColumnType::Date
            | ColumnType::Timestamp
            | ColumnType::TimestampNanos => fixed(reader, 8),
            ColumnType::Uuid => fixed(reader, 16),
            ColumnType::Long256 => fixed(reader, 32),
            ColumnType::Symbol if flags.has(Flags::DELTA_SYMBOLS) => symbols(reader, count),
            ColumnType::Symbol => local_symbols(reader, count),
            ColumnType::Geohash => geohashes(reader, count),
            ColumnType::Varchar => texts(reader, count, true),
            ColumnType::Binary => texts(reader, count, false),
            ColumnType::DoubleArray | ColumnType::LongArray => arrays(reader, count),
            ColumnType::Decimal64 => decimals(reader, count, 8, 18),
            ColumnType::Decimal128 => decimals(reader, count, 16, 38),
            ColumnType::Decimal256 => decimals(reader, count, 32, 76),
        }
    }

    /// A value by its index.
    pub(super) fn get(&self, index: usize) -> Option<Cell<'a>> {
        match self {
            Values::Booleans(bits) => Some(Cell::Boolean(bit(bits, index))),
            Values::Fixed { column_type, width, bytes } => {
                nth(bytes, *width, index).map(|bytes| fixed_cell(*column_type, bytes))
            }
            Values::Timestamps(values) => values.get(index).copied().map(Cell::Integer),
            Values::Symbols(ids) => ids.get(index).map(|id| Cell::Unsigned((*id).into())),
            Values::LocalSymbols(texts) => texts.get(index).copied().map(Cell::Text),
            Values::Geohashes { precision, bytes } => {
                let bytes = nth(bytes, usize::from(precision.div_ceil(8)), index)?;
                Some(Cell::Unsigned(u64::from_le_bytes(zero_extended(bytes))))
            }
            Values::Texts { is_text, offsets, bytes } => {
                let offset = |index: usize| offsets.get(index).map(|o| u32::from_le_bytes(*o) as usize);
                let bytes = bytes.get(offset(index)?..offset(index.checked_add(1)?)?)?;
                Some(match std::str::from_utf8(bytes) {
                    Ok(text) if *is_text => Cell::Text(text),
                    _ => Cell::Bytes(bytes),
                })
            }
            Values::Decimals { width, bytes, .. } => {
                let bytes = nth(bytes, *width, index)?;
                Some(Cell::Limbs(limbs(sign_extended(bytes))))
            }
            Values::Arrays(arrays) => arrays.get(index).copied().map(Cell::Array),
        }
    }
}

fn nth(bytes: &[u8], width: usize, index: usize) -> Option<&[u8]> {
    let start = index.checked_mul(width)?;
    bytes.get(start..start.checked_add(width)?)
}

fn fixed_cell(column_type: ColumnType, bytes: &[u8]) -> Cell<'_> {
    match column_type {
        ColumnType::Float => Cell::Float(f32::from_le_bytes(zero_extended(bytes))),
        ColumnType::Double => Cell::Double(f64::from_le_bytes(zero_extended(bytes))),
        ColumnType::Uuid => Cell::Uuid(u128::from_le_bytes(zero_extended(bytes))),
        ColumnType::Long256 => Cell::Limbs(limbs(zero_extended(bytes))),
        ColumnType::Char | ColumnType::Ipv4 => Cell::Unsigned(u64::from_le_bytes(zero_extended(bytes))),
        _ => Cell::Integer(i64::from_le_bytes(sign_extended(bytes))),
    }
}

fn array_bytes<'a>(reader: &mut Reader<'a>, count: usize, width: usize) -> WireResult<&'a [u8]> {
    match count.checked_mul(width) {
        Some(bytes) => reader.bytes("values", bytes),
        None => Err(reader.fault("values", WireFault::Truncated)),
    }
}

/// Refuses a count before anything is allocated for it: each value takes a byte at least.
fn check_count(reader: &Reader<'_>, count: usize) -> WireResult<()> {
    if count > reader.remaining() { Err(reader.fault("values", WireFault::Truncated)) } else { Ok(()) }
}

fn symbols<'a>(reader: &mut Reader<'a>, count: usize) -> WireResult<Values<'a>> {
    check_count(reader, count)?;
    let mut ids = Vec::with_capacity(count);
    for _ in 0..count {
        let id = reader.varint_up_to("symbol id", u32::MAX.into())?;
        ids.push(u32::try_from(id).unwrap_or(u32::MAX));
    }
    Ok(Values::Symbols(ids))
}

fn local_symbols<'a>(reader: &mut Reader<'a>, count: usize) -> WireResult<Values<'a>> {
    let entry_count = reader.varint("dictionary size")?;
    let mut entries = Vec::new();
    for _ in 0..entry_count {
        entries.push(reader.str("dictionary entry")?);
    }
    check_count(reader, count)?;
    let mut texts = Vec::with_capacity(count);
    for _ in 0..count {
        let at = reader.offset();
        let index = reader.varint("symbol index")?;
        let text = usize::try_from(index).ok().and_then(|index| entries.get(index));
        let fault = WireError { at, what: WireFault::Value(index), field: "symbol index" };
        texts.push(*text.ok_or(fault)?);
    }
    Ok(Values::LocalSymbols(texts))
}

fn geohashes<'a>(reader: &mut Reader<'a>, count: usize) -> WireResult<Values<'a>> {
    let at = reader.offset();
    let precision = reader.varint_up_to("geohash precision", PRECISION_MAX)?;
    let precision = u8::try_from(precision).unwrap_or(0);
    if precision == 0 {
        return Err(WireError { at, what: WireFault::Value(0), field: "geohash precision" });
    }
    let bytes = array_bytes(reader, count, usize::from(precision.div_ceil(8)))?;
    Ok(Values::Geohashes { precision, bytes })
}

fn texts<'a>(reader: &mut Reader<'a>, count: usize, is_text: bool) -> WireResult<Values<'a>> {
    let at = reader.offset();
    let field = "text offsets";
    let (offsets, _) = array_bytes(reader, count.saturating_add(1), 4)?.as_chunks();
    let mut previous = 0;
    for (index, offset) in offsets.iter().map(|offset| u32::from_le_bytes(*offset)).enumerate() {
        if offset < previous || offset > i32::MAX as u32 || (index == 0 && offset != 0) {
            return Err(WireError { at, what: WireFault::Value(offset.into()), field });
        }
        previous = offset;
    }
    let at = reader.offset();
    let bytes = reader.bytes_u64("texts", previous.into())?;
    if is_text {
        let fault = WireError { at, what: WireFault::Utf8, field: "texts" };
        let text = std::str::from_utf8(bytes).map_err(|_| fault.clone())?;
        if !offsets.iter().all(|offset| text.is_char_boundary(u32::from_le_bytes(*offset) as usize)) {
            return Err(fault);
        }
    }
    Ok(Values::Texts { is_text, offsets, bytes })
}

fn decimals<'a>(
    reader: &mut Reader<'a>,
    count: usize,
    width: usize,
    scale_max: u8,
) -> WireResult<Values<'a>> {
    let at = reader.offset();
    let scale = reader.u8("decimal scale")?;
    if scale > scale_max {
        let what = WireFault::Limit { value: scale.into(), limit: scale_max.into() };
        return Err(WireError { at, what, field: "decimal scale" });
    }
    Ok(Values::Decimals { scale, width, bytes: array_bytes(reader, count, width)? })
}

fn arrays<'a>(reader: &mut Reader<'a>, count: usize) -> WireResult<Values<'a>> {
    check_count(reader, count)?;
    let mut arrays: Vec<Array<'a>> = Vec::new();
    for _ in 0..count {
        let at = reader.offset();
        let array = Array::read(reader)?;
        if arrays.first().is_some_and(|first| first.lengths.len() != array.lengths.len()) {
            let what = WireFault::Inconsistent("two numbers of dimensions in a column");
            return Err(WireError { at, what, field: "array" });
        }
        arrays.push(array);
    }
    Ok(Values::Arrays(arrays))
}

impl<'a> Array<'a> {
    fn read(reader: &mut Reader<'a>) -> WireResult<Array<'a>> {
        let at = reader.offset();
        let fault = |what| WireError { at, what, field: "array" };
        let dimension_count = reader.u8("array dimensions")?;
        if !(1..=DIMENSIONS_MAX).contains(&dimension_count) {
            return Err(fault(WireFault::Value(dimension_count.into())));
        }
        let (lengths, _) = array_bytes(reader, dimension_count.into(), 4)?.as_chunks();
        let mut element_count = Some(1_usize);
        for length in lengths.iter().map(|length| u32::from_le_bytes(*length)) {
            if length > DIMENSION_MAX {
                return Err(fault(WireFault::Value(length.into())));
            }
            element_count = element_count.and_then(|count| count.checked_mul(length as usize));
        }
        let overflow = fault(WireFault::Inconsistent("too many elements"));
        let (elements, _) = array_bytes(reader, element_count.ok_or(overflow)?, 8)?.as_chunks();
        Ok(Array { lengths, elements })
    }
}
