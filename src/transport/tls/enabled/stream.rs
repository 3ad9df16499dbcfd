//! An encrypted stream over a non-blocking socket.

use rustls::ClientConnection;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

/// Bytes taken from the socket at once: several records, so that a call to the system brings more
/// than one.
const RAW_BYTES: usize = 64 * 1024;

/// Bytes on their way: `socket -> raw -> rustls -> caller` and `caller -> rustls -> socket`.
#[derive(Debug)]
pub(in crate::transport) struct TlsStream {
    socket: TcpStream,
    tls: ClientConnection,
    raw: Box<[u8]>,
    /// What rustls has not taken yet: `start <= end <= raw.len()`.
    start: usize,
    end: usize,
    /// The stream is over, whatever the socket says.
    ended: bool,
    /// An error that came behind bytes that were good.
    failed: Option<io::Error>,
}

impl TlsStream {
    pub(super) fn new(socket: TcpStream, tls: ClientConnection) -> TlsStream {
        let raw = vec![0; RAW_BYTES].into_boxed_slice();
        TlsStream { socket, tls, raw, start: 0, end: 0, ended: false, failed: None }
    }

    pub(super) fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// One step of a handshake: takes what has come. Returns whether anything had.
    pub(super) fn advance(&mut self) -> io::Result<bool> {
        match self.fill()? {
            None => return Ok(false),
            Some(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Some(_) => {}
        }
        while self.start < self.end && self.tls.is_handshaking() {
            self.decrypt()?;
        }
        Ok(true)
    }

    /// Reads as much as has come and fits: `None` if nothing has, 0 at the end of the stream. Fewer
    /// bytes than fit mean that the socket is empty.
    pub(in crate::transport) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let mut filled = 0;
        let mut drained = false;
        loop {
            match self.tls.reader().read(buffer.get_mut(filled..).unwrap_or_default()) {
                Ok(0) => self.ended = true,
                // Once more: the end may be behind it.
                Ok(count) if filled + count < buffer.len() => {
                    filled += count;
                    continue;
                }
                Ok(count) => filled += count,
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                // The peer left without saying so. A WebSocket says so itself.
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => self.ended = true,
                Err(e) => return Err(e),
            }
            if self.ended || filled == buffer.len() {
                return Ok(Some(filled));
            }
            if self.failed.is_some() {
                let error = self.failed.take_if(|_| filled == 0);
                return error.map_or(Ok(Some(filled)), Err);
            }
            if self.start == self.end {
                match if drained { Ok(None) } else { self.fill() } {
                    Ok(None) => return Ok(Some(filled).filter(|&filled| filled > 0)),
                    Ok(Some(count)) => drained = count < self.raw.len(),
                    Err(error) => {
                        self.failed = Some(error);
                        continue;
                    }
                }
            }
            // What was decrypted before the error is read first.
            self.failed = self.decrypt().err();
        }
    }

    /// Takes bytes to send, as many as there is room for; fewer than given mean that the socket
    /// takes no more now.
    pub(in crate::transport) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.flush()? {
            return Ok(0);
        }
        let count = self.tls.writer().write(bytes)?;
        self.flush()?;
        Ok(count)
    }

    /// Writes what is encrypted; returns whether nothing is left.
    pub(in crate::transport) fn flush(&mut self) -> io::Result<bool> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut &self.socket) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }

    /// Whether the next read tells of the end or of an error, even if the socket stays silent.
    pub(in crate::transport) fn has_ended(&self) -> bool {
        self.ended || self.failed.is_some()
    }

    pub(in crate::transport) fn has_unsent(&self) -> bool {
        self.tls.wants_write()
    }

    pub(in crate::transport) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Reads from the socket once; `None` if nothing has come.
    fn fill(&mut self) -> io::Result<Option<usize>> {
        loop {
            match (&self.socket).read(&mut self.raw) {
                Ok(count) => {
                    self.start = 0;
                    self.end = count;
                    return Ok(Some(count));
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Lets rustls take some of `raw`; without any it is the end of the stream.
    fn decrypt(&mut self) -> io::Result<()> {
        let mut raw = self.raw.get(self.start..self.end).unwrap_or_default();
        let count = self.tls.read_tls(&mut raw)?;
        self.start += count;
        if count == 0 {
            // Behind a close_notify nothing counts.
            self.start = self.end;
        }
        let processed = self.tls.process_new_packets();
        if let Err(e) = processed {
            // The peer is told why, if the socket takes it.
            let _ = self.flush();
            return Err(io::Error::new(ErrorKind::InvalidData, e));
        }
        Ok(())
    }
}

impl Drop for TlsStream {
    /// Says that this side is done, if the socket takes it now.
    fn drop(&mut self) {
        if !self.tls.is_handshaking() {
            self.tls.send_close_notify();
            let _ = self.flush();
        }
    }
}
