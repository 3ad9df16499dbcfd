//! A client that sends exactly what it is told, for conversations that were recorded.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value as Json;

const PATIENCE: Duration = Duration::from_secs(10);
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// An upgraded connection.
pub struct Client {
    stream: TcpStream,
    unread: Vec<u8>,
}

/// Something that the server said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    Binary(Vec<u8>),
    Pong(Vec<u8>),
    Close(u16, String),
    Eof,
}

/// Headers of an upgrade; `None` leaves one of the usual out.
pub type Headers<'a> = [(&'a str, Option<&'a str>)];

impl Client {
    /// Connects, and says nothing.
    pub fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        Client { stream, unread: Vec::new() }
    }

    /// Sends an upgrade; the answer's head and whatever came with it are still unread.
    pub fn request(address: SocketAddr, path: &str, change: &Headers<'_>) -> Client {
        let mut client = Client::connect(address);
        let host = address.to_string();
        let usual = [
            ("Host", host.as_str()),
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", KEY),
            ("X-QWP-Max-Version", "1"),
        ];
        let mut head = format!("GET {path} HTTP/1.1\r\n");
        for (name, value) in usual {
            if !change.iter().any(|(n, _)| n.eq_ignore_ascii_case(name)) {
                head += &format!("{name}: {value}\r\n");
            }
        }
        for (name, value) in change {
            if let Some(value) = value {
                head += &format!("{name}: {value}\r\n");
            }
        }
        client.send(format!("{head}\r\n").as_bytes());
        client
    }

    /// An upgrade that has to succeed.
    pub fn upgrade(address: SocketAddr, path: &str, change: &Headers<'_>) -> Client {
        let mut client = Client::request(address, path, change);
        let head = client.head();
        assert!(head.starts_with("HTTP/1.1 101 "), "no upgrade: {head}");
        client
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server reads");
    }

    /// The head of an answer.
    pub fn head(&mut self) -> String {
        loop {
            if let Some(at) = self.unread.windows(4).position(|w| w == b"\r\n\r\n") {
                let head = self.unread.drain(..at + 4).collect();
                return String::from_utf8(head).expect("a head is text");
            }
            assert!(self.fill(), "the connection ended in the head: {:?}", self.unread);
        }
    }

    /// All that follows a head, up to this many bytes.
    pub fn body(&mut self, length: usize) -> String {
        String::from_utf8(self.bytes(length)).expect("a body is text")
    }

    /// So many bytes as they come.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        while self.unread.len() < length {
            assert!(self.fill(), "the connection ended after {:?}", self.unread);
        }
        self.unread.drain(..length).collect()
    }

    /// Whether the server ends the connection without another byte, by a reset or in order.
    pub fn ended(&mut self) -> bool {
        let reset = |e: &std::io::Error| e.kind() == std::io::ErrorKind::ConnectionReset;
        let read = self.stream.read(&mut [0]);
        self.unread.is_empty() && read.as_ref().map_or_else(reset, |count| *count == 0)
    }

    /// What was read and not taken.
    pub fn unread(&self) -> &[u8] {
        &self.unread
    }

    fn fill(&mut self) -> bool {
        let mut part = vec![0; 1 << 16];
        let count = self.stream.read(&mut part).expect("the server answers in time");
        self.unread.extend_from_slice(&part[..count]);
        count > 0
    }

    /// The next frame from the server, which has to be a proper one.
    pub fn receive(&mut self) -> Said {
        loop {
            if let Some(said) = self.buffered() {
                return said;
            }
            if !self.fill() {
                assert!(self.unread.is_empty(), "the connection ended in a frame");
                return Said::Eof;
            }
        }
    }

    fn buffered(&mut self) -> Option<Said> {
        let [first, second] = *self.unread.first_chunk::<2>()?;
        assert!(second & 0x80 == 0, "masked by the server");
        let (length, start) = match second {
            126 => (u64::from(u16::from_be_bytes(*self.unread.get(2..)?.first_chunk()?)), 4),
            127 => (u64::from_be_bytes(*self.unread.get(2..)?.first_chunk()?), 10),
            short => (u64::from(short), 2),
        };
        let end = start + usize::try_from(length).expect("fits");
        let payload = self.unread.get(start..end)?.to_vec();
        self.unread.drain(..end);
        Some(match first {
            0x82 => Said::Binary(payload),
            0x8a => Said::Pong(payload),
            0x88 => {
                let code = payload.first_chunk().map_or(1005, |c| u16::from_be_bytes(*c));
                let reason = payload.get(2..).unwrap_or_default().to_vec();
                Said::Close(code, String::from_utf8(reason).expect("a reason is text"))
            }
            other => panic!("frame of kind {other:#x}"),
        })
    }
}

/// A frame as a recording describes it, or a binary message in hex.
pub fn recorded_frame(sent: &Json) -> Vec<u8> {
    if let Some(hex) = sent.as_str() {
        return frame(0x82, &unhex(hex));
    }
    let text = |key: &str| sent.get(key).and_then(Json::as_str);
    if let Some(payload) = text("ping") {
        return frame(0x89, &unhex(payload));
    }
    if let Some(payload) = text("pong") {
        return frame(0x8a, &unhex(payload));
    }
    if let Some(payload) = text("text") {
        return frame(0x81, payload.as_bytes());
    }
    if let Some(count) = sent.get("message_bytes").and_then(Json::as_u64) {
        return frame(0x82, &vec![0; usize::try_from(count).expect("fits")]);
    }
    if let Some(close) = sent.get("close") {
        let payload = match close.as_u64() {
            Some(code) => u16::try_from(code).expect("a code").to_be_bytes().to_vec(),
            None => unhex(close.as_str().expect("hex")),
        };
        return frame(0x88, &payload);
    }
    let payload = unhex(text("payload").expect("a payload"));
    let opcode = u8::try_from(sent["opcode"].as_u64().expect("an opcode")).expect("four bits");
    let flag = |key: &str, usual: bool| sent.get(key).and_then(Json::as_bool).unwrap_or(usual);
    let first = opcode | u8::from(flag("fin", true)) << 7 | u8::from(flag("rsv1", false)) << 6;
    let bits = sent.get("length_bits").and_then(Json::as_u64).unwrap_or(0);
    shaped(first, &payload, bits, flag("masked", true))
}

/// A masked frame, its length in the shortest form.
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    shaped(first, payload, 0, true)
}

fn shaped(first: u8, payload: &[u8], length_bits: u64, masked: bool) -> Vec<u8> {
    let mask_bit = u8::from(masked) << 7;
    let mut out = vec![first];
    match (length_bits, payload.len()) {
        (0, short @ 0..=125) => out.push(mask_bit | u8::try_from(short).expect("short")),
        (0 | 16, medium @ 0..=65_535) => {
            out.push(mask_bit | 126);
            out.extend(u16::try_from(medium).expect("16 bits").to_be_bytes());
        }
        (_, long) => {
            out.push(mask_bit | 127);
            out.extend(u64::try_from(long).expect("64 bits").to_be_bytes());
        }
    }
    if !masked {
        out.extend(payload);
        return out;
    }
    out.extend(MASK);
    out.extend(payload.iter().zip(MASK.iter().cycle()).map(|(b, m)| b ^ m));
    out
}

/// What a recording says was received.
pub fn recorded_answer(received: &Json) -> Said {
    if let Some(hex) = received.as_str() {
        return Said::Binary(unhex(hex));
    }
    if let Some(payload) = received.get("pong").and_then(Json::as_str) {
        return Said::Pong(unhex(payload));
    }
    if let Some(code) = received.get("close").and_then(Json::as_u64) {
        let reason = received.get("reason").and_then(Json::as_str).unwrap_or_default();
        return Said::Close(u16::try_from(code).expect("a code"), reason.to_owned());
    }
    assert!(received.get("eof").is_some(), "unknown answer {received}");
    Said::Eof
}

pub fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.bytes().map(|b| u8::from_str_radix(&char::from(b).to_string(), 16).expect("hex")).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
