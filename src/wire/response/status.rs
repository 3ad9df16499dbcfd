//! Status codes, of ingress responses and of query errors (wire.md 6.3).

use std::fmt;

/// The status byte of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Status {
    /// Committed.
    Ok,
    /// Durable.
    DurableAck,
    /// A value cannot go to the existing column, or a bind does not fit.
    SchemaMismatch,
    /// Malformed message, limit exceeded, or an error in SQL.
    ParseError,
    /// The server failed, or could not tell why.
    InternalError,
    /// No permission, or a read-only server.
    SecurityError,
    /// The rows could not be written.
    WriteError,
    /// The query was cancelled.
    Cancelled,
    /// A limit of the server ended the query.
    LimitExceeded,
    /// The node takes no writes at the moment.
    NotWritable,
    /// The server lacks symbols that the message builds on.
    DictionaryGap,
    /// The query's own time-out ended it.
    QueryTimeout,
    /// A number that this client does not know.
    Other(u8),
}

/// Code, status and name of all that are known.
const KNOWN: [(u8, Status, &str); 12] = [
    (0x00, Status::Ok, "OK"),
    (0x02, Status::DurableAck, "DURABLE_ACK"),
    (0x03, Status::SchemaMismatch, "SCHEMA_MISMATCH"),
    (0x05, Status::ParseError, "PARSE_ERROR"),
    (0x06, Status::InternalError, "INTERNAL_ERROR"),
    (0x08, Status::SecurityError, "SECURITY_ERROR"),
    (0x09, Status::WriteError, "WRITE_ERROR"),
    (0x0a, Status::Cancelled, "CANCELLED"),
    (0x0b, Status::LimitExceeded, "LIMIT_EXCEEDED"),
    (0x0c, Status::NotWritable, "NOT_WRITABLE"),
    (0x0d, Status::DictionaryGap, "DICTIONARY_GAP"),
    (0x0e, Status::QueryTimeout, "QUERY_TIMEOUT"),
];

impl Status {
    /// The status of a code; every code has one.
    pub(crate) fn from_code(code: u8) -> Status {
        let known = KNOWN.iter().find(|(known, ..)| *known == code);
        known.map_or(Status::Other(code), |(_, status, _)| *status)
    }

    /// The code on the wire.
    pub(crate) fn code(self) -> u8 {
        match (self, self.known()) {
            (Status::Other(code), _) => code,
            (_, Some((code, _))) => code,
            (_, None) => u8::MAX,
        }
    }

    /// The name of the specification, `UNKNOWN` for a number without one.
    pub(crate) fn name(self) -> &'static str {
        self.known().map_or("UNKNOWN", |(_, name)| name)
    }

    fn known(self) -> Option<(u8, &'static str)> {
        KNOWN.iter().find(|(_, status, _)| *status == self).map(|(code, _, name)| (*code, *name))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:#04x})", self.name(), self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_comes_back_and_the_known_ones_have_names() {
        let mut named = 0;
        for code in 0..=u8::MAX {
            let status = Status::from_code(code);
            assert_eq!(status.code(), code);
            named += usize::from(status.name() != "UNKNOWN");
        }
        assert_eq!(named, KNOWN.len());
        assert_eq!(Status::from_code(0x0d).to_string(), "DICTIONARY_GAP (0x0d)");
        assert_eq!(Status::from_code(0x7f).to_string(), "UNKNOWN (0x7f)");
    }
}
