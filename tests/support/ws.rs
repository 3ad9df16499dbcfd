//! The server's side of a WebSocket, as strict as wire.md 1.7.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// Bytes of one socket read.
const READ_BYTES: usize = 128 << 10;

/// What came from the client.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Vec<u8>),
    Fault(Fault),
}

/// What a client may not send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Unmasked, a reserved bit or opcode, a control frame over 125 bytes.
    Malformed,
    Fragment,
    Text,
    TooBig,
}

impl Fault {
    /// The close code and reason with which ingress ends; `None` is a bare TCP end.
    pub fn close(self) -> Option<(u16, &'static str)> {
        match self {
            Fault::Malformed => None,
            Fault::Fragment => Some((1002, "fragmented WebSocket frames are not supported")),
            Fault::Text => Some((1003, "text frames are not supported, QWP requires binary frames")),
            Fault::TooBig => Some((1009, "frame payload exceeds maximum size")),
        }
    }
}

/// A socket with the bytes that were read and not taken yet.
pub struct Wire {
    stream: TcpStream,
    unread: Vec<u8>,
    /// Whether `unread` waits for another byte from the client.
    left: bool,
    /// The server's receive buffer: a frame has to fit into it with its header.
    receive_bytes: usize,
}

impl Wire {
    pub fn new(stream: TcpStream) -> Wire {
        // Answers are small and wanted at once; a socket that refuses this is no worse for a test.
        drop(stream.set_nodelay(true));
        Wire { stream, unread: Vec::new(), left: false, receive_bytes: usize::MAX }
    }

    pub fn limit(&mut self, receive_bytes: usize) {
        self.receive_bytes = receive_bytes;
    }

    /// Reads once; false at the end of the stream.
    pub fn fill(&mut self) -> io::Result<bool> {
        let mut part = vec![0; READ_BYTES];
        let count = self.stream.read(&mut part)?;
        self.unread.extend_from_slice(&part[..count]);
        Ok(count > 0)
    }

    /// Reads up to and with the empty line that ends a request head; `None` at the end of the stream.
    pub fn head(&mut self) -> io::Result<Option<String>> {
        const END: &[u8] = b"\r\n\r\n";
        loop {
            if let Some(at) = self.unread.windows(END.len()).position(|w| w == END) {
                let head: Vec<u8> = self.unread.drain(..at + END.len()).collect();
                return Ok(Some(String::from_utf8_lossy(&head).into_owned()));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Leaves frames that came with the last one unread until the client sends more (wire.md 8.6).
    pub fn leave_unread(&mut self) {
        self.left = !self.unread.is_empty();
    }

    /// Loses what came behind a request head, as the server does; how much that was.
    pub fn lose_unread(&mut self) -> usize {
        std::mem::take(&mut self.unread).len()
    }

    /// The next whole frame among the bytes that were read.
    pub fn buffered(&mut self) -> Option<Frame> {
        let (frame, used) = parse(&self.unread, self.receive_bytes)?;
        self.unread.drain(..used);
        Some(frame)
    }

    /// The next frame; `None` at the end of the stream.
    pub fn receive(&mut self) -> io::Result<Option<Frame>> {
        loop {
            if !std::mem::take(&mut self.left)
                && let Some(frame) = self.buffered()
            {
                return Ok(Some(frame));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Ends TCP in order: what was sent arrives, and what the client still sends is thrown away.
    pub fn end(&mut self) {
        if self.stream.shutdown(Shutdown::Write).is_err() {
            return;
        }
        // A socket closed with unread bytes resets the connection, and the last answer could be lost.
        if self.stream.set_read_timeout(Some(Duration::from_secs(2))).is_err() {
            return;
        }
        let mut waste = vec![0; READ_BYTES];
        while self.stream.read(&mut waste).is_ok_and(|count| count > 0) {}
    }

    /// Ends TCP with a reset.
    pub fn reset(&self) {
        let lingers = rustix::net::sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO));
        lingers.expect("an open socket takes the option");
    }
}

/// A frame from the server: whole, unmasked, its length in the shortest form.
pub fn frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0x80 | opcode];
    match payload.len() {
        short @ 0..=125 => out.push(u8::try_from(short).expect("at most 125")),
        medium @ 126..=65_535 => {
            out.push(126);
            out.extend(u16::try_from(medium).expect("at most 65,535").to_be_bytes());
        }
        long => {
            out.push(127);
            out.extend(u64::try_from(long).expect("64 bits").to_be_bytes());
        }
    }
    out.extend(payload);
    out
}

/// A binary message in frames of at most `bytes` bytes of payload.
pub fn fragments(payload: &[u8], bytes: usize) -> Vec<u8> {
    let parts: Vec<&[u8]> = payload.chunks(bytes).collect();
    let mut out = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        let opcode = if i == 0 { 0x02 } else { 0x00 };
        let mut frame = frame(opcode, part);
        if i + 1 < parts.len() {
            frame[0] &= 0x7f;
        }
        out.extend(frame);
    }
    out
}

/// The first frame of `bytes` and its length, once it is all there (or known to be bad).
fn parse(bytes: &[u8], receive_bytes: usize) -> Option<(Frame, usize)> {
    let [first, second] = bytes.first_chunk::<2>().copied()?;
    let opcode = first & 0x0f;
    let control = opcode >= 0x08;
    let fault = |fault| Some((Frame::Fault(fault), bytes.len()));
    if second & 0x80 == 0 || first & 0x70 != 0 || !matches!(opcode, 0..=2 | 8..=10) {
        return fault(Fault::Malformed);
    }
    if control && (second & 0x7f > 125 || first & 0x80 == 0) {
        return fault(Fault::Malformed);
    }
    if opcode == 0 || first & 0x80 == 0 {
        return fault(Fault::Fragment);
    }
    if opcode == 1 {
        return fault(Fault::Text);
    }
    let (length, mask_at) = match second & 0x7f {
        126 => (u64::from(u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?)), 4),
        127 => (u64::from_be_bytes(*bytes.get(2..)?.first_chunk()?), 10),
        short => (u64::from(short), 2),
    };
    let start = mask_at + 4;
    let end = usize::try_from(length).ok().and_then(|l| l.checked_add(start));
    let Some(end) = end.filter(|end| *end <= receive_bytes) else {
        return fault(Fault::TooBig);
    };
    let mask: [u8; 4] = *bytes.get(mask_at..)?.first_chunk()?;
    let masked = bytes.get(start..end)?;
    let payload: Vec<u8> = masked.iter().zip(mask.iter().cycle()).map(|(b, m)| b ^ m).collect();
    let frame = match opcode {
        0x02 => Frame::Binary(payload),
        0x08 => Frame::Close(payload),
        0x09 => Frame::Ping(payload),
        _ => Frame::Pong(payload),
    };
    Some((frame, end))
}

/// The code with which ingress answers a CLOSE.
pub fn echo_code(payload: &[u8]) -> u16 {
    let code = payload.first_chunk().map_or(1000, |c| u16::from_be_bytes(*c));
    match code {
        1004 | 2000..=2999 => 1002,
        1005 | 1006 => 1000,
        1000..=4999 => code,
        _ => 1000,
    }
}
