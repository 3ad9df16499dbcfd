//! What a client asks on the egress side: queries with binds, cancel, credit (wire.md 8.3, 8.6, 8.7).
//!
//! These messages have no header. Limits (LIM-18) are the query client's business.

use super::sink::Sink;
use super::varint;

mod bind;
#[cfg(any(test, fuzzing))]
mod decode;

pub(crate) use bind::Bind;
#[cfg(any(test, fuzzing))]
pub(crate) use decode::fuzz_request;

const QUERY_REQUEST: u8 = 0x10;
const CANCEL: u8 = 0x14;
const CREDIT: u8 = 0x15;

const RESET_DICT: u64 = 0x01;
const TIMEOUT: u64 = 0x02;

/// A message of the client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Request<'a> {
    /// Runs a statement.
    Query(Query<'a>),
    /// Asks to end a statement.
    Cancel {
        /// Of the statement.
        request_id: i64,
    },
    /// Lets the server send more.
    Credit {
        /// Of the statement.
        request_id: i64,
        /// How much more, 1 to 2^63 - 1.
        additional_bytes: u64,
    },
}

/// QUERY_REQUEST.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Query<'a> {
    /// Unique on the connection until the statement has ended.
    pub(crate) request_id: i64,
    /// The statement.
    pub(crate) sql: &'a str,
    /// Bytes that the server may send before it needs credit; 0 = any number.
    pub(crate) initial_credit: u64,
    /// Values of `$1` and so on.
    pub(crate) binds: &'a [Bind<'a>],
    /// What only servers with the capability QUERY_FLAGS understand.
    pub(crate) options: QueryOptions,
}

/// The trailer of a query; without any it is left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct QueryOptions {
    /// The server empties the connection's dictionary first.
    pub(crate) reset_dict: bool,
    /// The server ends the query after so many milliseconds, 1 to 2^63 - 1. Needs the capability
    /// QUERY_TIMEOUT beside QUERY_FLAGS.
    pub(crate) timeout_ms: Option<u64>,
}

impl Request<'_> {
    /// Appends the message.
    pub(crate) fn put(&self, sink: &mut Sink<'_>) {
        match self {
            Request::Query(query) => query.put(sink),
            Request::Cancel { request_id } => {
                sink.u8(CANCEL);
                sink.scalars(&[*request_id]);
            }
            Request::Credit { request_id, additional_bytes } => {
                sink.u8(CREDIT);
                sink.scalars(&[*request_id]);
                sink.varint(*additional_bytes);
            }
        }
    }

    /// Upper bound of what [`Request::put`] writes.
    pub(crate) fn max_len(&self) -> usize {
        match self {
            Request::Query(query) => query.max_len(),
            Request::Cancel { .. } => 9,
            Request::Credit { .. } => 9 + varint::MAX_BYTES,
        }
    }

    /// The message in a buffer of its own.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut room = vec![0; self.max_len()];
        let mut sink = Sink::new(&mut room);
        self.put(&mut sink);
        let len = sink.finish().unwrap_or(0);
        debug_assert!(len > 0, "max_len is an upper bound");
        room.truncate(len);
        room
    }
}

impl Query<'_> {
    fn put(&self, sink: &mut Sink<'_>) {
        sink.u8(QUERY_REQUEST);
        sink.scalars(&[self.request_id]);
        sink.str(self.sql);
        sink.varint(self.initial_credit);
        sink.varint(self.binds.len() as u64);
        for bind in self.binds {
            bind.put(sink);
        }
        self.options.put(sink);
    }

    fn max_len(&self) -> usize {
        let binds: usize = self.binds.iter().map(Bind::max_len).sum();
        9 + self.sql.len() + binds + 5 * varint::MAX_BYTES
    }
}

impl QueryOptions {
    fn put(self, sink: &mut Sink<'_>) {
        let reset = if self.reset_dict { RESET_DICT } else { 0 };
        let flags = reset | if self.timeout_ms.is_some() { TIMEOUT } else { 0 };
        if flags != 0 {
            sink.varint(flags);
        }
        if let Some(timeout_ms) = self.timeout_ms {
            sink.varint(timeout_ms);
        }
    }
}

#[cfg(test)]
mod tests;
