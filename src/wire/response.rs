//! What a server answers to ingress messages (wire.md 6).

mod status;

pub(crate) use status::Status;

use super::reader::{Reader, WireError, WireFault, WireResult};
use std::borrow::Cow;

/// An answer, borrowed from the message that brought it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Response<'a> {
    /// Every message up to `sequence` is committed.
    Ok {
        /// The server's number of the message.
        sequence: i64,
        /// The tables that were committed, with their sequencer transactions.
        tables: TableMarks<'a>,
    },
    /// Tables are durable up to these sequencer transactions.
    DurableAck {
        /// The tables that advanced.
        tables: TableMarks<'a>,
    },
    /// A message was refused; the server ignores all that follow it.
    Error {
        /// Why, as the server classes it; never [`Status::Ok`] or [`Status::DurableAck`].
        status: Status,
        /// The server's number of the message.
        sequence: i64,
        /// The server's text, ill-formed parts replaced. Not fit to be shown as it is.
        message: Cow<'a, str>,
    },
}

impl<'a> Response<'a> {
    /// Reads a message. Allocates for a text that is not UTF-8 only.
    pub(crate) fn decode(message: &'a [u8]) -> WireResult<Response<'a>> {
        let mut reader = Reader::new(message);
        let response = match Status::from_code(reader.u8("status")?) {
            Status::Ok => {
                let sequence = reader.i64("sequence")?;
                Response::Ok { sequence, tables: TableMarks::read(&mut reader)? }
            }
            Status::DurableAck => Response::DurableAck { tables: TableMarks::read(&mut reader)? },
            status => {
                let sequence = reader.i64("sequence")?;
                let count = reader.u16("message length")?;
                let text = reader.bytes("message", count.into())?;
                Response::Error { status, sequence, message: String::from_utf8_lossy(text) }
            }
        };
        reader.end("response")?;
        Ok(response)
    }
}

/// Tables with a sequencer transaction each; every entry was checked when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableMarks<'a> {
    count: u16,
    entries: &'a [u8],
}

impl<'a> TableMarks<'a> {
    fn read(reader: &mut Reader<'a>) -> WireResult<TableMarks<'a>> {
        let count = reader.u16("table count")?;
        let all = reader.peek_rest();
        for _ in 0..count {
            TableMarks::entry(reader)?;
        }
        let entries = all.get(..all.len() - reader.remaining()).unwrap_or_default();
        Ok(TableMarks { count, entries })
    }

    fn entry(reader: &mut Reader<'a>) -> WireResult<(&'a str, i64)> {
        let at = reader.offset();
        let name = reader.str16("table name")?;
        if name.is_empty() {
            return Err(WireError { at, what: WireFault::Value(0), field: "table name" });
        }
        Ok((name, reader.i64("sequencer transaction")?))
    }

    /// Number of tables.
    #[allow(dead_code, reason = "durable acknowledgements are counted by it")]
    pub(crate) fn len(&self) -> usize {
        self.count.into()
    }

    /// Name and sequencer transaction of each table.
    #[allow(dead_code, reason = "durable acknowledgements are read by it")]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'a str, i64)> + use<'a> {
        let mut reader = Reader::new(self.entries);
        // `read` saw every entry, so this ends where the entries do
        std::iter::from_fn(move || TableMarks::entry(&mut reader).ok())
    }
}

/// Body of a fuzz target: what is read as a response is written back alike.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz_response(data: &[u8]) {
    let Ok(response) = Response::decode(data) else { return };
    let again = response.encode();
    match &response {
        Response::Error { message: Cow::Owned(_), .. } => {}
        _ => assert_eq!(again, data),
    }
}

#[cfg(any(test, fuzzing))]
impl Response<'_> {
    /// The message as a server sends it.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Response::Ok { sequence, tables } => {
                out.push(Status::Ok.code());
                out.extend(sequence.to_le_bytes());
                out.extend(tables.count.to_le_bytes());
                out.extend(tables.entries);
            }
            Response::DurableAck { tables } => {
                out.push(Status::DurableAck.code());
                out.extend(tables.count.to_le_bytes());
                out.extend(tables.entries);
            }
            Response::Error { status, sequence, message } => {
                let text = &message.as_bytes()[..message.len().min(usize::from(u16::MAX))];
                out.push(status.code());
                out.extend(sequence.to_le_bytes());
                out.extend(u16::try_from(text.len()).expect("cut to that").to_le_bytes());
                out.extend(text);
            }
        }
        out
    }
}

#[cfg(test)]
pub(crate) mod tests;
