//! Reads what a client asks: only for round trips, a client asks and is not asked.

use super::bind::{Bind, decimal_bytes};
use super::{CANCEL, CREDIT, QUERY_REQUEST, Query, QueryOptions, RESET_DICT, Request, TIMEOUT};
use crate::value::DecimalWidth;
use crate::wire::extend::{sign_extended, zero_extended};
use crate::wire::reader::{Reader, WireError, WireFault, WireResult, limbs};
use crate::wire::types::ColumnType;
use std::borrow::Cow;

impl Request<'_> {
    /// Reads a message; the binds go to `binds`, and the query borrows them from there.
    pub(crate) fn decode<'a>(message: &'a [u8], binds: &'a mut Vec<Bind<'a>>) -> WireResult<Request<'a>> {
        let mut reader = Reader::new(message);
        let kind = reader.u8("message kind")?;
        let request_id = reader.i64("request id")?;
        let request = match kind {
            QUERY_REQUEST => Request::Query(Query::read(&mut reader, request_id, binds)?),
            CANCEL => Request::Cancel { request_id },
            CREDIT => Request::Credit { request_id, additional_bytes: reader.varint("additional bytes")? },
            other => {
                return Err(WireError { at: 0, what: WireFault::Value(other.into()), field: "message kind" });
            }
        };
        reader.end("request")?;
        Ok(request)
    }
}

impl<'a> Query<'a> {
    fn read(reader: &mut Reader<'a>, request_id: i64, binds: &'a mut Vec<Bind<'a>>) -> WireResult<Query<'a>> {
        let sql = reader.str("SQL text")?;
        let initial_credit = reader.varint("initial credit")?;
        let bind_count = reader.varint("bind count")?;
        binds.clear();
        for _ in 0..bind_count {
            binds.push(Bind::read(reader)?); // each takes 3 bytes at least, so this ends with the message
        }
        let options = QueryOptions::read(reader)?;
        Ok(Query { request_id, sql, initial_credit, binds, options })
    }
}

impl QueryOptions {
    fn read(reader: &mut Reader<'_>) -> WireResult<QueryOptions> {
        if reader.remaining() == 0 {
            return Ok(QueryOptions::default());
        }
        let flags = reader.varint_up_to("query flags", RESET_DICT | TIMEOUT)?;
        let has_timeout = flags & TIMEOUT != 0;
        let timeout_ms = if has_timeout { Some(reader.varint("timeout")?) } else { None };
        Ok(QueryOptions { reset_dict: flags & RESET_DICT != 0, timeout_ms })
    }
}

impl<'a> Bind<'a> {
    fn read(reader: &mut Reader<'a>) -> WireResult<Bind<'a>> {
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

/// Body of a fuzz target: a request that is read is written and reads alike.
pub(crate) fn fuzz_request(data: &[u8]) {
    let mut binds = Vec::new();
    let Ok(request) = Request::decode(data, &mut binds) else { return };
    let written = request.encode();
    let mut binds = Vec::new();
    let again = Request::decode(&written, &mut binds).expect("our own request");
    // as text, because NaN is not equal to itself
    assert_eq!(format!("{again:?}"), format!("{request:?}"));
    assert_eq!(again.encode(), written);
}
