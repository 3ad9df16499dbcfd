//! Why a connection is of no use any more.

use crate::error::{EndpointFailure, Error, ErrorKind, Phase, printable};
use crate::transport::LinkError;
use crate::wire::reader::WireError;

/// Why a connection is of no use any more.
#[derive(Debug, Clone)]
pub(super) enum Lost {
    /// The stream ended, broke, or was no WebSocket stream.
    Link(LinkError),
    /// The server said goodbye.
    Closed { code: Option<u16>, reason: String },
    /// A message that does not decode.
    Garbled(WireError),
    /// A message that decodes, but cannot come now.
    Unexpected(&'static str),
    /// The server shuts down: it cancelled the query, and the end of the stream followed (QFO-01).
    Shutdown,
}

impl Lost {
    /// Whether the server sent bytes that do not decode (QFO-10).
    pub(super) fn is_garbled(&self) -> bool {
        matches!(self, Lost::Garbled(_))
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Lost::Link(LinkError::Protocol(_)) | Lost::Garbled(_) | Lost::Unexpected(_) => {
                ErrorKind::ProtocolViolation
            }
            Lost::Link(LinkError::Ended | LinkError::Io(_)) | Lost::Closed { .. } | Lost::Shutdown => {
                ErrorKind::Transport
            }
        }
    }

    /// For people.
    pub(super) fn reason(&self) -> String {
        match self {
            Lost::Link(LinkError::Ended) => "the server ended the connection".into(),
            Lost::Link(LinkError::Io(e)) => e.to_string(),
            Lost::Link(LinkError::Protocol(how)) => how.clone(),
            Lost::Closed { code, reason } => {
                let code = code.map_or("without a code".into(), |code| format!("with code {code}"));
                let reason = printable(reason);
                let colon = if reason.is_empty() { "" } else { ": " };
                format!("the server closed the connection {code}{colon}{reason}")
            }
            Lost::Garbled(error) => error.to_string(),
            Lost::Unexpected(what) => (*what).into(),
            Lost::Shutdown => "the server shuts down".into(),
        }
    }

    /// The entry of that endpoint in the list of failures.
    pub(super) fn at(&self, endpoint: &str) -> EndpointFailure {
        EndpointFailure {
            endpoint: endpoint.to_owned(),
            phase: Phase::Stream,
            kind: self.kind(),
            reason: self.reason(),
        }
    }

    /// As an error of the query.
    #[cold]
    pub(super) fn error(&self, endpoint: &str) -> Error {
        let error = Error::new(self.kind(), "the query lost its connection").with("endpoint", endpoint);
        let error = match self {
            Lost::Link(LinkError::Io(e)) => error.caused_by(e.clone()),
            Lost::Garbled(wire) => error.caused_by(wire.clone()),
            _ => error.because(self.reason()),
        };
        error.at_endpoints(vec![self.at(endpoint)])
    }
}

impl From<LinkError> for Lost {
    fn from(error: LinkError) -> Lost {
        Lost::Link(error)
    }
}

impl From<WireError> for Lost {
    fn from(error: WireError) -> Lost {
        Lost::Garbled(error)
    }
}
