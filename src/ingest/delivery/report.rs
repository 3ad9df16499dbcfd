//! What users are told, in words.

use std::fmt;

use super::super::acks::OutOfRange;
use super::super::rejections::{Category, Strikes, Suspect};
use super::Cause;
use crate::error::{Error, ErrorKind};
use crate::store::Fsn;
use crate::wire::reader::WireError;
use crate::wire::response::Status;

/// Something that the sender rides out, and that its user should know.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) category: Category,
    pub(crate) error: Error,
}

/// An answer that refuses a message.
#[cold]
pub(super) fn rejected(
    endpoint: &str,
    suspect: Suspect,
    sequence: i64,
    status: Status,
    message: String,
) -> Error {
    let error = Error::new(ErrorKind::Rejected, "the server rejected rows").with("", suspect);
    let error = error.with("endpoint", endpoint).with("wire sequence", sequence).with("status", status);
    let why = if message.is_empty() { "the server gave no reason".to_owned() } else { message.clone() };
    error.because(why).answered(status.code(), message, None)
}

/// A message that was rejected too often (ERRP-04, ERRP-09).
#[cold]
pub(super) fn poisoned(strikes: &Strikes, last: &str) -> Error {
    Error::new(ErrorKind::ProtocolViolation, "no server takes these rows")
        .with("", strikes.suspect)
        .with("rejections in a row", strikes.count)
        .with("the last", last)
        .because("the sender stops, so that it does not harm every server that it reaches")
}

#[cold]
pub(super) fn violation(endpoint: &str, why: String) -> Error {
    Error::new(ErrorKind::ProtocolViolation, "the server broke the protocol")
        .with("endpoint", endpoint)
        .because(why)
}

/// A frame that the server would refuse by its size (REP-07).
#[cold]
pub(super) fn frame_too_large(endpoint: &str, fsn: Fsn, bytes: usize, cap: u64) -> Error {
    Error::new(ErrorKind::TooLarge, "the server takes no message as large as a stored frame")
        .with("endpoint", endpoint)
        .with("frame", fsn)
        .with("bytes", bytes)
        .with("limit", cap)
        .because("it was encoded for another server and cannot be split; another endpoint is tried")
}

/// A symbol that the server would refuse by its size (REP-05).
#[cold]
pub(super) fn symbol_too_large(endpoint: &str, id: u64, bytes: usize, cap: usize) -> Error {
    Error::new(ErrorKind::TooLarge, "the server takes no message as large as a symbol")
        .with("endpoint", endpoint)
        .with("symbol", id)
        .with("bytes", bytes)
        .with("limit", cap)
        .because("another endpoint is tried")
}

/// A frame that would be decoded with wrong symbols (REP-02).
#[cold]
pub(super) fn symbols_lost(fsn: Fsn, needed: u64, known: u64) -> Error {
    Error::new(ErrorKind::Store, "a stored frame builds on symbols that are gone")
        .with("frame", fsn)
        .with("symbols needed", needed)
        .with("symbols known", known)
        .because("it is not sent, since the server would store NULL for them and say nothing")
}

/// A stored frame that is none.
#[cold]
pub(super) fn damaged(fsn: Fsn, error: WireError) -> Error {
    Error::new(ErrorKind::Store, "a stored frame is damaged").with("frame", fsn).because(error.to_string())
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Nack { status, suspect, message, .. } => {
                write!(f, "the server rejected {suspect}: {status}: {message}")
            }
            Cause::Ended { why, .. } => f.write_str(why),
            Cause::Violation(why) => write!(f, "the server broke the protocol: {why}"),
            Cause::Mute => f.write_str("the server is silent"),
            Cause::Renewed => f.write_str("what comes next needs a new connection"),
            Cause::Unfit(error) | Cause::Unread(error) | Cause::Fatal(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutOfRange { sequence, expected: (from, to) } = self;
        if from == to {
            write!(f, "an answer to message {sequence}, though all {to} are answered")
        } else {
            write!(f, "an answer to message {sequence}, though {from} to {} wait for one", to - 1)
        }
    }
}
