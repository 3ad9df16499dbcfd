//! Decodes the values of one ingress column (wire.md 4.3, 4.4, 4.6, 4.7).

use std::sync::Arc;

use super::input::{Bits, Input, Refusal, malformed, refusal, text};
use super::value::{Array, Decimal, Type, Value};
use super::wide::Wide;

/// What a column's values depend on besides their own bytes.
pub struct Context<'a> {
    pub rows: usize,
    pub gorilla: bool,
    /// The connection's dictionary; `None` when each column brings its own.
    pub symbols: Option<&'a [Option<Arc<str>>]>,
    pub name: &'a str,
}

/// Values by row, the type with its parameters, and what comes to light only when they are stored.
pub struct Decoded {
    pub ty: Type,
    pub values: Vec<Value>,
    pub late: Option<Refusal>,
}

/// Reads a column of `ty`, NULL section and all.
pub fn decode(input: &mut Input<'_>, ty: Type, context: &Context<'_>) -> Result<Decoded, Refusal> {
    let nulls = Nulls::read(input, ty, context.rows)?;
    let mut late = None;
    let (ty, packed) = match ty {
        Type::Boolean => (ty, booleans(input, nulls.present)?),
        Type::Symbol => (ty, symbols(input, nulls.present, context)?),
        Type::Timestamp | Type::TimestampNanos if context.gorilla => {
            (ty, temporal(input, ty, nulls.present)?)
        }
        Type::Geohash(_) => geohashes(input, &nulls)?,
        Type::Varchar | Type::Binary => {
            let (values, bad) = blobs(input, ty, nulls.present)?;
            late = bad;
            (ty, values)
        }
        Type::DoubleArray(_) | Type::LongArray(_) => arrays(input, ty, nulls.present, context.name)?,
        Type::Decimal(d) => decimals(input, d, nulls.present)?,
        _ => (ty, fixed(input, ty, nulls.present)?),
    };
    Ok(Decoded { values: nulls.spread(packed, ty), ty, late })
}

/// Which rows are NULL, if the column says so by a bitmap.
struct Nulls {
    rows: usize,
    present: usize,
    bitmap: Option<Vec<bool>>,
}

impl Nulls {
    fn read(input: &mut Input<'_>, ty: Type, rows: usize) -> Result<Nulls, Refusal> {
        let flag = input.u8(|| format!("{} column data truncated: expected null flag", word(ty)))?;
        if flag == 0 {
            return Ok(Nulls { rows, present: rows, bitmap: None });
        }
        let bytes = input
            .take(rows.div_ceil(8), || format!("{} column data truncated: expected null bitmap", word(ty)))?;
        let bitmap: Vec<bool> = (0..rows).map(|row| bytes[row / 8] >> (row % 8) & 1 == 1).collect();
        let present = bitmap.iter().filter(|null| !**null).count();
        Ok(Nulls { rows, present, bitmap: Some(bitmap) })
    }

    fn spread(self, packed: Vec<Value>, ty: Type) -> Vec<Value> {
        let Some(bitmap) = self.bitmap else { return packed };
        let mut values = packed.into_iter();
        let mut out = Vec::with_capacity(self.rows);
        for null in bitmap {
            let value = if null { None } else { values.next() };
            out.push(value.unwrap_or(ty.absent()));
        }
        out
    }
}

fn word(ty: Type) -> &'static str {
    match ty {
        Type::Timestamp | Type::TimestampNanos => "timestamp",
        Type::Varchar | Type::Binary | Type::Text => "string",
        Type::Symbol => "symbol",
        Type::Boolean => "boolean",
        Type::Geohash(_) => "geohash",
        Type::DoubleArray(_) | Type::LongArray(_) => "array",
        Type::Decimal(_) => "decimal",
        _ => "fixed width",
    }
}

fn values_missing(ty: Type, count: usize) -> impl FnOnce() -> String {
    move || format!("{} column data truncated: expected {count} values", word(ty))
}

fn booleans(input: &mut Input<'_>, count: usize) -> Result<Vec<Value>, Refusal> {
    let bytes = input.take(count.div_ceil(8), values_missing(Type::Boolean, count))?;
    Ok((0..count).map(|i| Value::Boolean(bytes[i / 8] >> (i % 8) & 1 == 1)).collect())
}

fn fixed(input: &mut Input<'_>, ty: Type, count: usize) -> Result<Vec<Value>, Refusal> {
    let width = width(ty);
    let bytes = input.take(count * width, values_missing(ty, count))?;
    Ok(bytes.chunks_exact(width).map(|b| one(ty, b)).collect())
}

/// Bytes of one value of a type of fixed width.
pub fn width(ty: Type) -> usize {
    match ty {
        Type::Boolean | Type::Byte => 1,
        Type::Short | Type::Char => 2,
        Type::Int | Type::Float | Type::Ipv4 => 4,
        Type::Uuid => 16,
        Type::Long256 => 32,
        Type::Decimal(d) => usize::from(d.bytes),
        Type::Geohash(bits) => usize::from(bits.div_ceil(8)),
        _ => 8,
    }
}

/// The value of so many bytes.
pub fn one(ty: Type, bytes: &[u8]) -> Value {
    match ty {
        Type::Boolean => Value::Boolean(bytes[0] & 1 == 1),
        Type::Decimal(d) => Value::Decimal(Box::new((Wide::from_le(bytes), d.scale))),
        Type::Geohash(bits) => Value::Geohash { bits, value: little(bytes) },
        Type::Byte => Value::Byte(i8::from_le_bytes(sized(bytes))),
        Type::Short => Value::Short(i16::from_le_bytes(sized(bytes))),
        Type::Int => Value::Int(i32::from_le_bytes(sized(bytes))),
        Type::Float => Value::Float(f32::from_le_bytes(sized(bytes))),
        Type::Double => Value::Double(f64::from_le_bytes(sized(bytes))),
        Type::Char => Value::Char(u16::from_le_bytes(sized(bytes))),
        Type::Ipv4 => Value::Ipv4(u32::from_le_bytes(sized(bytes))),
        Type::Uuid => Value::Uuid {
            low: u64::from_le_bytes(sized(&bytes[..8])),
            high: u64::from_le_bytes(sized(&bytes[8..])),
        },
        Type::Long256 => Value::Long256(Box::new(Wide::from_le(bytes))),
        _ => instant(ty, i64::from_le_bytes(sized(bytes))),
    }
}

fn instant(ty: Type, n: i64) -> Value {
    match ty {
        Type::Timestamp => Value::Timestamp(n),
        Type::TimestampNanos => Value::TimestampNanos(n),
        Type::Date => Value::Date(n),
        _ => Value::Long(n),
    }
}

fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte))
}

fn sized<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("cut to this width")
}

fn symbols(input: &mut Input<'_>, count: usize, context: &Context<'_>) -> Result<Vec<Value>, Refusal> {
    let own;
    let dictionary = match context.symbols {
        Some(shared) => shared,
        None => {
            own = local_dictionary(input)?;
            &own
        }
    };
    let mut out = Vec::with_capacity(count);
    for _ in 0..count {
        let id = input.varint()?;
        let entry = usize::try_from(id).ok().and_then(|i| dictionary.get(i));
        let entry = entry.ok_or_else(|| malformed(format!("symbol index out of range: {id}")))?;
        out.push(entry.as_ref().map_or(Value::Null, |s| Value::Symbol(s.clone())));
    }
    Ok(out)
}

fn local_dictionary(input: &mut Input<'_>) -> Result<Vec<Option<Arc<str>>>, Refusal> {
    let size = input.varint()?;
    if size > 1_000_000 {
        return Err(malformed(format!("symbol dictionary size exceeds limit: {size}")));
    }
    let mut out = Vec::new();
    for _ in 0..size {
        let length = length(input)?;
        let bytes = input.take(length, || "truncated symbol dictionary entry".into())?;
        out.push(Some(text(bytes)?.into()));
    }
    Ok(out)
}

/// A varint used as a length; one beyond the address space is longer than anything left to read.
pub fn length(input: &mut Input<'_>) -> Result<usize, Refusal> {
    Ok(usize::try_from(input.varint()?).unwrap_or(usize::MAX))
}

fn temporal(input: &mut Input<'_>, ty: Type, count: usize) -> Result<Vec<Value>, Refusal> {
    let encoding = input.u8(|| "timestamp column data truncated: expected encoding flag".into())?;
    let plain = match encoding {
        0 => count,
        1 => count.min(2),
        other => return Err(malformed(format!("unknown timestamp encoding: {other}"))),
    };
    let bytes = input.take(plain * 8, values_missing(ty, plain))?;
    let mut out: Vec<i64> = bytes.chunks_exact(8).map(|b| i64::from_le_bytes(sized(b))).collect();
    if out.len() < count {
        let everything = input.take(input.len(), String::new)?;
        let mut bits = Bits::new(everything);
        let mut delta = out[1].wrapping_sub(out[0]);
        let mut last = out[1];
        while out.len() < count {
            delta = delta.wrapping_add(delta_of_delta(&mut bits)?);
            last = last.wrapping_add(delta);
            out.push(last);
        }
        *input = Input::new(&everything[bits.bytes_used()..]);
    }
    Ok(out.into_iter().map(|n| instant(ty, n)).collect())
}

fn delta_of_delta(bits: &mut Bits<'_>) -> Result<i64, Refusal> {
    for width in [None, Some(7), Some(9), Some(12)] {
        if !bits.bit()? {
            return width.map_or(Ok(0), |w| bits.signed(w));
        }
    }
    bits.signed(32)
}

fn geohashes(input: &mut Input<'_>, nulls: &Nulls) -> Result<(Type, Vec<Value>), Refusal> {
    let precision = input.varint()?;
    let bits = u8::try_from(precision).ok().filter(|p| (1..=60).contains(p));
    let bits = bits.ok_or_else(|| malformed(format!("invalid GeoHash precision: {precision}")))?;
    let ty = Type::Geohash(bits);
    let width = width(ty);
    let bytes = input.take(nulls.present * width, values_missing(ty, nulls.present))?;
    let values = bytes.chunks_exact(width).map(|b| {
        // All ones is NULL only where no bitmap could say so.
        if nulls.bitmap.is_none() && b.iter().all(|byte| *byte == 0xff) {
            return Value::Null;
        }
        Value::Geohash { bits, value: little(b) & ((1 << bits) - 1) }
    });
    Ok((ty, values.collect()))
}

fn blobs(input: &mut Input<'_>, ty: Type, count: usize) -> Result<(Vec<Value>, Option<Refusal>), Refusal> {
    let bytes =
        input.take((count + 1) * 4, || "string column data truncated: expected offset array".into())?;
    let offsets: Vec<i32> = bytes.chunks_exact(4).map(|b| i32::from_le_bytes(sized(b))).collect();
    let bad = |what: String| malformed(format!("invalid QWP string offset array: {what}"));
    if offsets[0] != 0 {
        return Err(bad(format!("offset[0]={}, expected 0", offsets[0])));
    }
    let size = offsets[count];
    let length = usize::try_from(size).map_err(|_| bad(format!("offset[{count}]={size} is negative")))?;
    let data = input.take(length, || "string column data truncated: expected string data".into())?;
    let mut out = Vec::with_capacity(count);
    for i in 0..count {
        let (start, end) = (offsets[i], offsets[i + 1]);
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        let Some(value) = range.and_then(|(s, e)| data.get(s..e)) else {
            let what = match end > size {
                true => format!("offset[{}]={end} exceeds string data size {size}", i + 1),
                false => format!("offset[{}]={end} is less than offset[{i}]={start}", i + 1),
            };
            return Ok((out, Some(bad(what))));
        };
        out.push(if ty == Type::Binary { Value::binary(value) } else { Value::Varchar(value.into()) });
    }
    Ok((out, None))
}

fn arrays(input: &mut Input<'_>, ty: Type, count: usize, name: &str) -> Result<(Type, Vec<Value>), Refusal> {
    let mut out = Vec::with_capacity(count);
    let mut expected = 0;
    for _ in 0..count {
        let shape = shape(input)?;
        let dims = u8::try_from(shape.len()).expect("at most 32");
        if expected != 0 && dims != expected {
            let what = format!("[column={name}, expectedDims={expected}, actualDims={dims}]");
            let text = format!("array dimensionality mismatch in QWP batch {what}");
            return Err(refusal(super::input::SCHEMA_MISMATCH, text));
        }
        expected = dims;
        let elements = shape.iter().try_fold(1usize, |n, l| n.checked_mul(usize::try_from(*l).ok()?));
        let size = elements.and_then(|n| n.checked_mul(8)).unwrap_or(usize::MAX);
        let bytes = input.take(size, || "array column data truncated: expected elements".into())?;
        let raw = bytes.chunks_exact(8).map(sized::<8>);
        out.push(match ty {
            Type::DoubleArray(_) => {
                Value::DoubleArray(Arc::new(Array { shape, elements: raw.map(f64::from_le_bytes).collect() }))
            }
            _ => Value::LongArray(Arc::new(Array { shape, elements: raw.map(i64::from_le_bytes).collect() })),
        });
    }
    let ty = match ty {
        Type::DoubleArray(_) => Type::DoubleArray(expected),
        _ => Type::LongArray(expected),
    };
    Ok((ty, out))
}

fn shape(input: &mut Input<'_>) -> Result<Vec<i32>, Refusal> {
    let dims = input.u8(|| "array column data truncated: expected dimensions".into())?;
    if !(1..=32).contains(&dims) {
        return Err(malformed(format!("invalid array dimensions: {dims} (must be 1-32)")));
    }
    let mut out = Vec::new();
    for _ in 0..dims {
        let length =
            i32::from_le_bytes(input.array(|| "array column data truncated: expected shape".into())?);
        if length < 0 {
            return Err(malformed(format!("invalid array dimension size: {length}")));
        }
        out.push(length);
    }
    Ok(out)
}

fn decimals(input: &mut Input<'_>, d: Decimal, count: usize) -> Result<(Type, Vec<Value>), Refusal> {
    let scale = input.u8(|| "decimal column data truncated: expected scale".into())?;
    let ty = Type::Decimal(Decimal::of_width(d.bytes, scale));
    let width = width(ty);
    let bytes = input.take(count * width, values_missing(ty, count))?;
    Ok((ty, bytes.chunks_exact(width).map(|b| one(ty, b)).collect()))
}
