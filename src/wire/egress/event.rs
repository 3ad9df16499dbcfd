//! What a message of the server is (wire.md 8.2, 8.4, 8.5).

use crate::wire::frame::{Flags, Header};
use crate::wire::reader::{Reader, WireFault, WireResult};

/// The flags that every batch has: timestamps and dates carry an encoding byte, and the body starts
/// with a dictionary delta.
const BATCH_FLAGS: Flags = Flags::GORILLA.with(Flags::DELTA_SYMBOLS);

/// SERVER_INFO carries a zone.
const CAPABILITY_ZONE: u32 = 0x01;
/// The trailer of a request is understood.
pub(crate) const CAPABILITY_QUERY_FLAGS: u32 = 0x02;
/// The time-out flag of a request is understood.
pub(crate) const CAPABILITY_QUERY_TIMEOUT: u32 = 0x08;
/// Every bit that has a meaning here. A newer one may append fields to SERVER_INFO.
const KNOWN_CAPABILITIES: u32 = 0x0f;

/// A message of the server; of a batch only the part that is never compressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// The first message of a connection.
    ServerInfo(ServerInfo),
    /// Rows.
    Batch(BatchHead),
    /// The result is complete.
    End { request_id: i64, final_seq: u64, total_rows: u64 },
    /// The request failed or was cancelled.
    Failed { request_id: i64, status: u8, message: String },
    /// A statement without rows is done; `None`: the server does not know how many rows.
    Done { request_id: i64, op_type: u8, rows_affected: Option<u64> },
    /// The server forgot what the mask says.
    CacheReset { dictionary: bool },
}

/// Who the server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerInfo {
    pub(crate) role: u8,
    pub(crate) epoch: u64,
    pub(crate) capabilities: u32,
    pub(crate) wall_ns: i64,
    pub(crate) cluster_id: String,
    pub(crate) node_id: String,
    pub(crate) zone_id: Option<String>,
}

/// The front of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchHead {
    pub(crate) request_id: i64,
    pub(crate) seq: u64,
    pub(crate) compressed: bool,
    /// Where the body starts in the message.
    pub(crate) body: usize,
}

/// Reads a message; a batch up to its body.
pub(crate) fn read(message: &[u8]) -> WireResult<Event> {
    let mut reader = Reader::new(message);
    let header = Header::read(&mut reader)?;
    let start = reader.clone();
    let kind = reader.u8("message kind")?;
    let tables = u16::from(kind == 0x11);
    if header.table_count != tables {
        return Err(start.fault("table count", WireFault::Value(header.table_count.into())));
    }
    if kind != 0x11 && header.flags != Flags::NONE {
        return Err(start.fault("flags", WireFault::Value(header.flags.byte().into())));
    }
    let event = match kind {
        0x11 => return read_batch_head(&mut reader, header.flags),
        0x12 => Event::End {
            request_id: reader.i64("request id")?,
            final_seq: reader.varint("final sequence")?,
            total_rows: reader.varint("total rows")?,
        },
        0x13 => Event::Failed {
            request_id: reader.i64("request id")?,
            status: reader.u8("status")?,
            message: read_lossy(&mut reader)?,
        },
        0x16 => Event::Done {
            request_id: reader.i64("request id")?,
            op_type: reader.u8("operation type")?,
            rows_affected: Some(reader.varint("rows affected")?).filter(|&rows| rows != u64::MAX),
        },
        0x17 => Event::CacheReset { dictionary: reader.u8("reset mask")? & 1 != 0 },
        0x18 => return read_server_info(&mut reader),
        0x10 | 0x14 | 0x15 => {
            return Err(start.fault("message kind", WireFault::Inconsistent("only clients send this kind")));
        }
        other => return Err(start.fault("message kind", WireFault::Value(other.into()))),
    };
    reader.end("message")?;
    Ok(event)
}

fn read_batch_head(reader: &mut Reader<'_>, flags: Flags) -> WireResult<Event> {
    if !flags.has(BATCH_FLAGS) || flags.has_beside(BATCH_FLAGS.with(Flags::ZSTD)) {
        return Err(reader.fault("flags", WireFault::Value(flags.byte().into())));
    }
    let request_id = reader.i64("request id")?;
    let seq = reader.varint("batch sequence")?;
    Ok(Event::Batch(BatchHead { request_id, seq, compressed: flags.has(Flags::ZSTD), body: reader.offset() }))
}

fn read_server_info(reader: &mut Reader<'_>) -> WireResult<Event> {
    let role = reader.u8("role")?;
    let epoch = reader.u64("epoch")?;
    let capabilities = reader.u32("capabilities")?;
    let wall_ns = reader.i64("server clock")?;
    let cluster_id = reader.str16("cluster id")?.to_owned();
    let node_id = reader.str16("node id")?.to_owned();
    let zone_id = match capabilities & CAPABILITY_ZONE {
        0 => None,
        _ => Some(reader.str16("zone id")?.to_owned()),
    };
    if capabilities & !KNOWN_CAPABILITIES == 0 {
        reader.end("server info")?;
    }
    Ok(Event::ServerInfo(ServerInfo { role, epoch, capabilities, wall_ns, cluster_id, node_id, zone_id }))
}

/// The text of a QUERY_ERROR: it can hold encoded lone surrogates.
fn read_lossy(reader: &mut Reader<'_>) -> WireResult<String> {
    let count = reader.u16("error text")?;
    let bytes = reader.bytes("error text", count.into())?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// Body of the fuzz target: any bytes give an event or an error.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz_event(bytes: &[u8]) {
    let _ = read(bytes);
}

#[cfg(test)]
mod tests;
