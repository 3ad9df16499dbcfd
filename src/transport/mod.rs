//! One connection to one endpoint: name look-up, TCP, TLS, the HTTP upgrade, WebSocket frames.
//!
//! The seam is the pair of traits [`Connector`] and [`Link`]: the real ones stand in this folder,
//! the simulated ones in `sim`. Every wait has a deadline and can be interrupted by a [`Wake`].

use crate::config::Endpoint;
use crate::error::Phase;
use crate::time::Deadline;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

mod connector;
mod exchange;
mod halt;
mod link;
mod poll;
mod resolve;
mod stream;
mod tcp;
#[cfg(test)]
mod testing;
pub(crate) mod tls;
mod upgrade;
pub(crate) mod wake;
mod ws;

pub(crate) use connector::SocketConnector;
#[cfg(fuzzing)]
pub(crate) use upgrade::fuzz_upgrade;
pub(crate) use wake::Wake;
#[cfg(fuzzing)]
pub(crate) use ws::fuzz_ws;

/// Which side of the server a connection talks to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// `/write/v4`
    Ingress,
    /// `/read/v1`
    Egress,
}

/// What an attempt asks for.
#[derive(Clone)]
pub(crate) struct Attempt<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) direction: Direction,
    /// The value of the `Authorization` header. Never shown.
    pub(crate) authorization: Option<&'a str>,
    pub(crate) client_id: &'a str,
    pub(crate) durable_ack: bool,
    /// The value of `X-QWP-Accept-Encoding`.
    pub(crate) accept_encoding: Option<&'a str>,
    /// The value of `X-QWP-Max-Batch-Rows`.
    pub(crate) max_batch_rows: Option<u32>,
    /// Bounds name look-up and TCP connect together (CONN-01).
    pub(crate) connect_timeout: Duration,
    /// Bounds TLS and upgrade together (CONN-01).
    pub(crate) auth_timeout: Duration,
    /// Ends every wait of the attempt early when it fires.
    pub(crate) wake: &'a Wake,
}

/// What the server said with the 101.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Upgrade {
    /// Largest ingress message, if the server announced a usable one.
    pub(crate) max_batch_bytes: Option<u64>,
    /// Whether durable acknowledgements are confirmed.
    pub(crate) durable_ack: bool,
    /// Whether batches may come compressed.
    pub(crate) zstd: bool,
    /// `X-QuestDB-Role`, as sent.
    pub(crate) role: Option<String>,
    /// `X-QuestDB-Zone`, as sent.
    pub(crate) zone: Option<String>,
}

/// Why an attempt failed, as far as the caller acts on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FailureClass {
    /// DNS, TCP, TLS, time-outs, HTTP answers that say nothing about credentials, role or version.
    Transport,
    /// 401 or 403. `retryable_challenge`: a 401 without a Bearer error or with `invalid_token` (AUTH-04).
    Auth { status: u16, retryable_challenge: bool },
    /// 421 with a role, as sent.
    Role { role: String },
    /// A version outside of what this client speaks.
    Version,
    /// Durable acknowledgements were asked for and not confirmed.
    DurableAck,
    /// The attempt was interrupted by its [`Wake`].
    Interrupted,
}

/// Why an attempt failed.
#[derive(Debug, Clone)]
pub(crate) struct ConnectFailure {
    pub(crate) phase: Phase,
    pub(crate) class: FailureClass,
    /// The reason, for people.
    pub(crate) reason: String,
    /// The zone that the refusing server named.
    pub(crate) zone: Option<String>,
}

/// Opens connections.
pub(crate) trait Connector: Debug + Send + Sync {
    /// One attempt at one endpoint, from name look-up to a checked 101.
    fn connect(&self, attempt: &Attempt<'_>) -> Result<Box<dyn Link>, ConnectFailure>;
}

/// What came from the peer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// A whole binary message. Give the buffer back with [`Link::recycle`].
    Message(Vec<u8>),
    /// The answer to a PING.
    Pong,
    /// The peer closes; the link has queued the answer. What follows is the end of the stream.
    Close { code: Option<u16>, reason: String },
}

/// Why a connection is no longer usable.
#[derive(Debug, Clone)]
pub(crate) enum LinkError {
    /// The stream ended without a CLOSE.
    Ended,
    /// The socket or TLS failed.
    Io(Arc<std::io::Error>),
    /// The peer broke the WebSocket protocol or a bound; the text says how (CONN-10, CONN-13).
    Protocol(String),
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// Something can be received, or what was blocked can be sent: call [`Link::recv`] and [`Link::send`].
    Ready,
    /// The [`Wake`] fired. It is drained.
    Woken,
    /// The deadline passed.
    TimedOut,
}

/// An established connection. Nothing but [`Link::wait`] blocks.
pub(crate) trait Link: Debug + Send {
    /// What the server said with the 101.
    fn upgrade(&self) -> &Upgrade;

    /// Sends one binary message, as much of it as the socket takes now. `taken` counts the bytes
    /// taken so far: 0 starts the message. Returns whether it is complete; until then call again
    /// with the same message and `taken`, after a [`Link::wait`] with `writable`. A complete message
    /// may still lie in the link's own buffer: [`Link::flush`].
    fn send(&mut self, message: &[u8], taken: &mut usize) -> Result<bool, LinkError>;

    /// Queues a PING; it leaves between two messages.
    fn ping(&mut self) -> Result<(), LinkError>;

    /// Queues a CLOSE with that code; it leaves between two messages.
    fn close(&mut self, code: u16) -> Result<(), LinkError>;

    /// Writes what is queued, as far as the socket takes it now. Returns whether nothing is left.
    fn flush(&mut self) -> Result<bool, LinkError>;

    /// The next complete message, if one has come. PINGs are answered by the link itself.
    fn recv(&mut self) -> Result<Option<Incoming>, LinkError>;

    /// Takes a message's buffer back for the next one.
    fn recycle(&mut self, buffer: Vec<u8>);

    /// Blocks until there is something to receive, until there is room to send if `writable` is
    /// asked for, until `wake` fires or until `deadline`. The only place where a link waits. A deadline
    /// that has passed already is told even if there is something to receive. Receive first: after a
    /// [`Link::recv`] that was not the last one, a wait is over at once.
    fn wait(&mut self, writable: bool, wake: &Wake, deadline: Deadline) -> Result<Waited, LinkError>;
}
