//! An established connection over a socket.
//!
//! Reading costs one call to the system for what one wait announced: a read that brings less than
//! there was room for has emptied the socket, so [`Link::recv`] does not ask again before the next
//! wait.

#[cfg(test)]
mod tests;

use super::poll::{self, Interest, Polled};
use super::stream::Stream;
use super::wake::Wake;
use super::ws::{Decoder, Encoder, Received};
use super::{Incoming, Link, LinkError, Upgrade, Waited};
use crate::time::{Clock, Deadline};
use std::io;
use std::sync::Arc;

/// Most reads of one [`Link::recv`], so that a peer that never stops cannot keep the caller from its
/// deadlines.
const MAX_READS: usize = 64;

/// WebSocket frames over TCP or TLS.
#[derive(Debug)]
pub(crate) struct SocketLink {
    clock: Arc<dyn Clock>,
    stream: Stream,
    upgrade: Upgrade,
    encoder: Encoder,
    decoder: Decoder,
    /// The last [`Link::recv`] did not see the end of what has come: a wait is over at once.
    unread: bool,
    /// The last read emptied the socket: the next one would be in vain.
    drained: bool,
}

impl SocketLink {
    /// A connection whose server said `upgrade`, sends messages of at most `limit` bytes, and has
    /// sent the bytes of `behind` already.
    pub(super) fn new(
        clock: Arc<dyn Clock>,
        stream: Stream,
        upgrade: Upgrade,
        limit: usize,
        behind: &[u8],
    ) -> SocketLink {
        let (encoder, decoder) = (Encoder::new(), Decoder::new(limit, behind));
        SocketLink { clock, stream, upgrade, encoder, decoder, unread: true, drained: false }
    }

    /// The next message, if it has come. `None` with `unread` set means that there may be more.
    fn receive(&mut self) -> Result<Option<Incoming>, LinkError> {
        self.unread = true;
        for _ in 0..MAX_READS {
            if let Some(incoming) = self.decode()? {
                return Ok(Some(incoming));
            }
            if self.decoder.is_closed() {
                return Err(LinkError::Ended);
            }
            if std::mem::take(&mut self.drained) {
                self.unread = false;
                return Ok(None);
            }
            let space = self.decoder.space();
            let asked = space.len();
            match self.stream.read(space)? {
                None => {
                    self.unread = false;
                    return Ok(None);
                }
                Some(0) => return Err(LinkError::Ended),
                Some(count) => {
                    self.decoder.arrived(count);
                    self.drained = count < asked && !self.stream.has_ended();
                }
            }
        }
        Ok(None)
    }

    /// The next message out of the bytes that were read. PINGs are answered on the way.
    fn decode(&mut self) -> Result<Option<Incoming>, LinkError> {
        loop {
            match self.decoder.next() {
                Ok(Some(Received::Message(message))) => return Ok(Some(Incoming::Message(message))),
                Ok(Some(Received::Ping(payload))) => self.encoder.pong(payload),
                Ok(Some(Received::Pong)) => return Ok(Some(Incoming::Pong)),
                Ok(Some(Received::Close { code, reason })) => {
                    self.encoder.close(code);
                    return Ok(Some(Incoming::Close { code, reason }));
                }
                Ok(None) => return Ok(None),
                Err(violation) => {
                    self.encoder.close(Some(violation.close_code()));
                    return Err(LinkError::Protocol(violation.to_string()));
                }
            }
        }
    }
}

impl Link for SocketLink {
    fn upgrade(&self) -> &Upgrade {
        &self.upgrade
    }

    fn send(&mut self, message: &[u8], taken: &mut usize) -> Result<bool, LinkError> {
        if self.encoder.is_closed() {
            return Err(LinkError::Ended);
        }
        while !self.encoder.message(message, taken)? {
            if !self.write()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn ping(&mut self) -> Result<(), LinkError> {
        self.encoder.ping();
        Ok(())
    }

    fn close(&mut self, code: u16) -> Result<(), LinkError> {
        self.encoder.close(Some(code));
        Ok(())
    }

    fn flush(&mut self) -> Result<bool, LinkError> {
        Ok(self.write()? && self.stream.flush()? && self.encoder.is_empty())
    }

    fn recv(&mut self) -> Result<Option<Incoming>, LinkError> {
        let received = self.receive();
        if self.encoder.can_write() {
            // Answers to control frames. An error shows up at the next call; what was received before
            // it counts.
            let _ = self.flush();
        }
        received
    }

    fn recycle(&mut self, buffer: Vec<u8>) {
        self.decoder.recycle(buffer);
    }

    fn wait(&mut self, writable: bool, wake: &Wake, deadline: Deadline) -> Result<Waited, LinkError> {
        let limit = if self.unread { Deadline::at(self.clock.now()) } else { deadline };
        loop {
            let interest = if writable || self.stream.has_unsent() || self.encoder.can_write() {
                Interest::Both
            } else {
                Interest::Read
            };
            match poll::wait(&*self.clock, self.stream.socket(), interest, wake, limit)? {
                Polled::Woken => return Ok(Waited::Woken),
                Polled::TimedOut if self.unread && !deadline.passed(self.clock.now()) => {
                    return Ok(Waited::Ready);
                }
                Polled::TimedOut => return Ok(Waited::TimedOut),
                Polled::Ready { readable, writable: room } => {
                    if readable || (writable && room) {
                        return Ok(Waited::Ready);
                    }
                }
            }
            self.flush()?;
        }
    }
}

impl SocketLink {
    /// Writes what is masked; returns whether the socket took all of it.
    fn write(&mut self) -> Result<bool, LinkError> {
        loop {
            let pending = self.encoder.pending()?;
            let asked = pending.len();
            if asked == 0 {
                return Ok(true);
            }
            let count = self.stream.write(pending)?;
            self.encoder.written(count);
            if count < asked {
                return Ok(false);
            }
        }
    }
}

impl From<io::Error> for LinkError {
    #[cold]
    fn from(error: io::Error) -> LinkError {
        LinkError::Io(Arc::new(error))
    }
}

impl From<getrandom::Error> for LinkError {
    #[cold]
    fn from(error: getrandom::Error) -> LinkError {
        LinkError::Io(Arc::new(io::Error::other(format!("no random bytes for a mask: {error}"))))
    }
}
