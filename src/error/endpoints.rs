//! What happened at one endpoint of a round.

use super::ErrorKind;
use std::fmt;

/// How far an attempt at one endpoint came (CONN-08).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Looking up the name.
    Resolve,
    /// Opening the TCP connection.
    Connect,
    /// The TLS handshake.
    Tls,
    /// The HTTP upgrade, credentials included.
    Upgrade,
    /// The server does not confirm durable acknowledgements.
    DurableAck,
    /// Waiting for the first message of a query connection.
    ServerInfo,
    /// The node's role does not fit.
    Role,
    /// An established connection broke.
    Stream,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Resolve => "resolve",
            Phase::Connect => "connect",
            Phase::Tls => "tls",
            Phase::Upgrade => "upgrade",
            Phase::DurableAck => "durable ack",
            Phase::ServerInfo => "server info",
            Phase::Role => "role",
            Phase::Stream => "stream",
        })
    }
}

/// What happened at one endpoint of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndpointFailure {
    /// `host:port` as the connect string has it.
    pub endpoint: String,
    /// How far the attempt came.
    pub phase: Phase,
    /// The kind that this failure alone would have.
    pub kind: ErrorKind,
    /// The reason, for people.
    pub reason: String,
}

impl fmt::Display for EndpointFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.endpoint, self.phase, self.reason)
    }
}
