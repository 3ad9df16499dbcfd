//! What went wrong, where, and what the user can do.
//!
//! One type, one pointer wide. Programs look at [`Error::kind`], [`Error::in_doubt`] and the typed
//! payloads; people read the text, which is `what: where: why`.

mod endpoints;

pub use endpoints::{EndpointFailure, Phase};

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// The result of everything here that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// What a caller can tell errors apart by. A kind exists only where a caller acts differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The connect string, an environment variable or a builder setting is wrong: fix it and build again.
    Config,
    /// A call that makes no sense at this point, such as a row without a column or a column set twice.
    InvalidCall,
    /// A value or a name that QuestDB cannot take: change the value.
    InvalidValue,
    /// Something is larger than a limit allows: a row, a symbol, the pending rows, a request.
    TooLarge,
    /// The server refused the credentials, or none could be had.
    Auth,
    /// Every endpoint was refused because of its role.
    RoleMismatch,
    /// Durable acknowledgements were asked for and no endpoint offers them.
    DurableAckUnsupported,
    /// No endpoint speaks a protocol version that this client speaks.
    ProtocolVersion,
    /// The network or the server failed: name look-up, connect, TLS, upgrade, a broken connection.
    Transport,
    /// A wait ended by its own time-out; nothing was lost by that.
    Timeout,
    /// The peer sent bytes that break the protocol.
    ProtocolViolation,
    /// The server rejected rows; they stay in the store.
    Rejected,
    /// The local store is full and the server did not free it in time; the rows stay in the buffer.
    BackPressure,
    /// The symbol dictionary is full; known symbols go on working.
    DictionaryFull,
    /// The local store failed.
    Store,
    /// Another sender owns the slot.
    StoreLocked,
    /// The server answered a query with an error.
    Query,
    /// A query was cancelled.
    Cancelled,
    /// A query could only be restarted by delivering rows a second time.
    FailoverWouldDuplicate,
    /// No pooled object became free in time.
    PoolExhausted,
    /// The object was closed.
    Closed,
    /// The client itself is wrong; please report it.
    Bug,
}

/// An error: kind, facts and reason.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    what: Cow<'static, str>,
    /// Facts in order, as `(name, value)`; an empty name is shown without one. Never a secret.
    facts: Vec<(&'static str, String)>,
    why: Option<Cow<'static, str>>,
    in_doubt: bool,
    endpoints: Vec<EndpointFailure>,
    server: Option<ServerStatus>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// The status byte and the text with which a server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStatus {
    /// The status byte of the protocol, such as `0x05` for a parse error.
    pub status: u8,
    /// The server's text, at most 1 KiB, without control characters.
    pub message: String,
    /// 0-based position in the SQL text, where the server told one.
    pub position: Option<u32>,
}

impl Error {
    /// What a caller can tell errors apart by.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether rows of the call may have been stored or sent all the same, or a statement may have
    /// run: if so, doing it again can do it twice.
    pub fn in_doubt(&self) -> bool {
        self.0.in_doubt
    }

    /// What happened at each endpoint of the last round, in the order they were tried.
    pub fn endpoints(&self) -> &[EndpointFailure] {
        &self.0.endpoints
    }

    /// The server's own answer, if this error comes from one.
    pub fn server_status(&self) -> Option<&ServerStatus> {
        self.0.server.as_ref()
    }

    #[cold]
    pub(crate) fn new(kind: ErrorKind, what: impl Into<Cow<'static, str>>) -> Error {
        Error(Arc::new(Inner {
            kind,
            what: what.into(),
            facts: Vec::new(),
            why: None,
            in_doubt: false,
            endpoints: Vec::new(),
            server: None,
            source: None,
        }))
    }

    fn inner(&mut self) -> &mut Inner {
        Arc::make_mut(&mut self.0)
    }

    /// Adds a fact: where it happened. Facts are shown in the order they were added.
    #[cold]
    pub(crate) fn with(mut self, name: &'static str, value: impl fmt::Display) -> Error {
        self.inner().facts.push((name, value.to_string()));
        self
    }

    /// Says why, and what to do about it.
    #[cold]
    pub(crate) fn because(mut self, why: impl Into<Cow<'static, str>>) -> Error {
        self.inner().why = Some(why.into());
        self
    }

    /// Keeps the error of a library below, and shows its text as the reason if there is none yet.
    #[cold]
    pub(crate) fn caused_by(mut self, source: impl StdError + Send + Sync + 'static) -> Error {
        let inner = self.inner();
        if inner.why.is_none() {
            inner.why = Some(source.to_string().into());
        }
        inner.source = Some(Arc::new(source));
        self
    }

    /// Marks that the effect of the call is not known.
    #[cold]
    pub(crate) fn doubtful(mut self) -> Error {
        self.inner().in_doubt = true;
        self
    }

    #[cold]
    pub(crate) fn at_endpoints(mut self, endpoints: Vec<EndpointFailure>) -> Error {
        self.inner().endpoints = endpoints;
        self
    }

    #[cold]
    pub(crate) fn answered(mut self, status: u8, message: String, position: Option<u32>) -> Error {
        self.inner().server = Some(ServerStatus { status, message, position });
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        f.write_str(&inner.what)?;
        for (index, (name, value)) in inner.facts.iter().enumerate() {
            f.write_str(if index == 0 { ": " } else { ", " })?;
            if name.is_empty() {
                f.write_str(value)?;
            } else {
                write!(f, "{name} {value}")?;
            }
        }
        if let Some(why) = &inner.why {
            write!(f, ": {why}")?;
        }
        for failure in &inner.endpoints {
            write!(f, "; {failure}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({self})", self.0.kind)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

/// Server text as it may be shown: at most 1 KiB, cut at a character, control characters removed.
pub(crate) fn printable(text: &str) -> String {
    const MAX_BYTES: usize = 1024;
    let mut out = String::with_capacity(text.len().min(MAX_BYTES));
    for c in text.chars().filter(|c| !c.is_control()) {
        if out.len() + c.len_utf8() > MAX_BYTES {
            break;
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_pointer_wide() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }

    #[test]
    fn the_text_is_what_where_why() {
        let e = Error::new(ErrorKind::Config, "invalid value")
            .with("key", "auth_timeout_ms")
            .with("value", "x")
            .because("not a number");
        assert_eq!(e.to_string(), "invalid value: key auth_timeout_ms, value x: not a number");
        assert_eq!(format!("{e:?}"), "Config(invalid value: key auth_timeout_ms, value x: not a number)");
    }

    #[test]
    fn the_source_is_kept_and_explains() {
        let io = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let e = Error::new(ErrorKind::Transport, "cannot connect").caused_by(io);
        assert_eq!(e.to_string(), "cannot connect: connection refused");
        assert!(e.source().is_some());
    }

    #[test]
    fn errp_05_server_text_is_cut_to_1_kib_without_control_characters() {
        assert_eq!(printable("a\u{1b}[31mb\r\n\u{7f}\u{9f}c"), "a[31mbc");
        let long = printable(&"\u{e9}".repeat(2000));
        assert_eq!(long.len(), 1024);
        assert_eq!(printable(&format!("a{}", "\u{e9}".repeat(2000))).len(), 1023);
    }
}
