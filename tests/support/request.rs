//! What a reading client sends, and the small messages it gets (wire.md 8.1 to 8.5).

use super::Config;
use super::column;
use super::ingress::put_text;
use super::input::{Input, Refusal, malformed};
use super::value::{Decimal, Type, Value};

const BINDS_MAX: u64 = 2048;

/// Kinds of messages.
pub const QUERY_REQUEST: u8 = 0x10;
pub const RESULT_BATCH: u8 = 0x11;
pub const RESULT_END: u8 = 0x12;
pub const QUERY_ERROR: u8 = 0x13;
pub const CANCEL: u8 = 0x14;
pub const CREDIT: u8 = 0x15;
pub const EXEC_DONE: u8 = 0x16;

/// A QUERY_REQUEST.
#[derive(Clone, Debug)]
pub struct Query {
    pub id: i64,
    pub sql: String,
    /// Bytes; 0 is without limit.
    pub credit: i64,
    pub binds: Vec<(Type, Value)>,
    pub reset_dictionary: bool,
}

impl Query {
    /// Reads a request behind its kind byte; the id of an error is 0 if too little came to know it.
    pub fn parse(body: &[u8]) -> Result<Query, (i64, Refusal)> {
        let mut input = Input::new(body);
        let id = input.array(|| "QUERY_REQUEST: header truncated".into()).map_err(|why| (0, why))?;
        let id = i64::from_le_bytes(id);
        Query::fields(id, &mut input).map_err(|why| (id, why))
    }

    fn fields(id: i64, input: &mut Input<'_>) -> Result<Query, Refusal> {
        let length = input.varint()?;
        let fits = usize::try_from(length).ok().filter(|n| *n <= input.len());
        let fits = fits.ok_or_else(|| malformed(format!("QUERY_REQUEST: sql_len out of range: {length}")))?;
        let sql = String::from_utf8_lossy(input.take(fits, String::new)?).into_owned();
        let credit = i64::try_from(input.varint()?)
            .map_err(|_| malformed("QUERY_REQUEST: initial_credit out of range"))?;
        let count = input.varint()?;
        if count > BINDS_MAX {
            return Err(malformed(format!("QUERY_REQUEST: bind_count out of range: {count}")));
        }
        let binds = (0..count).map(|index| bind(index, input)).collect::<Result<_, _>>()?;
        // The rest is a trailer; what this server does not know of it, it skips.
        let flags = if input.is_empty() { 0 } else { input.varint()? };
        Ok(Query { id, sql, credit, binds, reset_dictionary: flags & 1 == 1 })
    }
}

fn bind(index: u64, input: &mut Input<'_>) -> Result<(Type, Value), Refusal> {
    let code = input.u8(|| "bind: truncated type".into())?;
    let ty = match Type::from_code(code) {
        Some(Type::DoubleArray(_) | Type::LongArray(_)) => {
            let text = format!("bind {index}: ARRAY bind parameters not yet supported in Phase 1 egress");
            return Err(malformed(text));
        }
        Some(Type::Binary | Type::Ipv4) | None => {
            return Err(malformed(format!("bind {index}: unsupported wire type 0x{code:02x}")));
        }
        Some(Type::Symbol) => Type::Varchar,
        Some(ty) => ty,
    };
    let flag = input.u8(|| "bind: truncated null flag".into())?;
    let null = flag != 0 && input.u8(|| "bind: truncated null bitmap".into())? & 1 == 1;
    let ty = parameter(index, ty, input)?;
    if null {
        return Ok((ty, ty.absent()));
    }
    let truncated = || format!("bind: truncated {}", ty.name());
    if ty == Type::Varchar {
        let offsets: [u8; 8] = input.array(truncated)?;
        let end = u32::from_le_bytes(*offsets[4..].first_chunk().expect("eight bytes"));
        let bytes = input.take(usize::try_from(end).expect("32 bits"), truncated)?;
        return Ok((ty, Value::Varchar(bytes.into())));
    }
    let bytes = input.take(column::width(ty), truncated)?;
    Ok((ty, column::one(ty, bytes).or_null()))
}

fn parameter(index: u64, ty: Type, input: &mut Input<'_>) -> Result<Type, Refusal> {
    match ty {
        Type::Geohash(_) => {
            let bits = input.varint()?;
            let text = format!("bind {index}: GEOHASH precision_bits out of range (1..60): {bits}");
            let bits =
                u8::try_from(bits).ok().filter(|b| (1..=60).contains(b)).ok_or_else(|| malformed(text))?;
            Ok(Type::Geohash(bits))
        }
        Type::Decimal(d) => {
            let scale = input.u8(|| "bind: truncated DECIMAL".into())?;
            if scale > 76 {
                return Err(malformed(format!("bind {index}: DECIMAL scale out of range (0..76): {scale}")));
            }
            Ok(Type::Decimal(Decimal::of_width(d.bytes, scale)))
        }
        _ => Ok(ty),
    }
}

/// A message behind the 12-byte header.
pub fn message(flags: u8, tables: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = b"QWP1\x01".to_vec();
    out.push(flags);
    out.extend(tables.to_le_bytes());
    out.extend(u32::try_from(payload.len()).expect("messages are short").to_le_bytes());
    out.extend(payload);
    out
}

/// A message for a request.
pub fn reply(flags: u8, kind: u8, id: i64, rest: &[u8]) -> Vec<u8> {
    let mut payload = vec![kind];
    payload.extend(id.to_le_bytes());
    payload.extend(rest);
    message(flags, u16::from(kind == RESULT_BATCH), &payload)
}

pub fn result_end(id: i64, last_batch: u64, rows: u64) -> Vec<u8> {
    let mut rest = Vec::new();
    put_varint(&mut rest, last_batch);
    put_varint(&mut rest, rows);
    reply(0, RESULT_END, id, &rest)
}

pub fn query_error(id: i64, why: &Refusal) -> Vec<u8> {
    let mut rest = vec![why.status];
    put_text(&mut rest, &why.text);
    reply(0, QUERY_ERROR, id, &rest)
}

/// `rows` is -1 where the server does not know.
pub fn exec_done(id: i64, kind: u8, rows: i64) -> Vec<u8> {
    let mut rest = vec![kind];
    put_varint(&mut rest, rows.cast_unsigned());
    reply(0, EXEC_DONE, id, &rest)
}

pub fn cache_reset(mask: u8) -> Vec<u8> {
    message(0, 0, &[0x17, mask])
}

pub fn server_info(config: &Config) -> Vec<u8> {
    let role = match config.read_role.to_ascii_uppercase().as_str() {
        "STANDALONE" => 0,
        "PRIMARY" => 1,
        "REPLICA" => 2,
        "PRIMARY_CATCHUP" => 3,
        other => other.parse().unwrap_or(0xff),
    };
    let zone = config.capabilities & 1 == 1 || config.zone.is_some();
    let mut payload = vec![0x18, role];
    payload.extend(config.epoch.to_le_bytes());
    payload.extend((config.capabilities | u32::from(zone)).to_le_bytes());
    payload.extend(config.now_micros().saturating_mul(1000).to_le_bytes());
    put_text(&mut payload, &config.cluster_id);
    put_text(&mut payload, &config.node_id);
    if zone {
        put_text(&mut payload, config.zone.as_deref().unwrap_or_default());
    }
    message(0, 0, &payload)
}

pub fn put_varint(out: &mut Vec<u8>, mut n: u64) {
    loop {
        let low = u8::try_from(n & 0x7f).expect("seven bits");
        n >>= 7;
        out.push(if n == 0 { low } else { low | 0x80 });
        if n == 0 {
            return;
        }
    }
}
