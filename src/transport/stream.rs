//! A TCP connection, plain or encrypted. Nothing here blocks.

use super::tls::TlsStream;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

/// Bytes to and from the server.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream>),
}

impl Stream {
    /// Reads what has come: `None` if nothing has, 0 at the end of the stream. Fewer bytes than fit
    /// mean that the socket is empty.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Stream::Plain(socket) => unless_blocked(|| socket.read(buffer)),
            Stream::Tls(stream) => stream.read(buffer),
        }
    }

    /// Takes bytes to send; fewer than given mean that the socket takes no more now.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => Ok(unless_blocked(|| socket.write(bytes))?.unwrap_or(0)),
            Stream::Tls(stream) => stream.write(bytes),
        }
    }

    /// Writes what was taken and not yet sent; returns whether nothing is left.
    pub(super) fn flush(&mut self) -> io::Result<bool> {
        match self {
            Stream::Plain(_) => Ok(true),
            Stream::Tls(stream) => stream.flush(),
        }
    }

    /// Whether the next read tells of the end or of an error, even if the socket stays silent.
    pub(super) fn has_ended(&self) -> bool {
        match self {
            Stream::Plain(_) => false,
            Stream::Tls(stream) => stream.has_ended(),
        }
    }

    /// Whether something was taken and not yet sent.
    pub(super) fn has_unsent(&self) -> bool {
        match self {
            Stream::Plain(_) => false,
            Stream::Tls(stream) => stream.has_unsent(),
        }
    }

    /// For waiting.
    pub(super) fn socket(&self) -> &TcpStream {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(stream) => stream.socket(),
        }
    }
}

/// Repeats a call that was interrupted; `None` if it would block.
fn unless_blocked(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<Option<usize>> {
    loop {
        match call() {
            Ok(count) => return Ok(Some(count)),
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}
