//! A bounded piece of the body of a refusal, by its framing and never to the end of the stream:
//! servers leave the connection open behind it (wire.md 1.5).

use super::head::Head;
use crate::error::printable;

/// Most text that is kept: more than an error shows.
const MAX_TEXT_BYTES: usize = 4 * 1024;
/// Most bytes that are read for it, framing included.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Collects the text of a body.
#[derive(Debug)]
pub(crate) struct Body {
    framing: Framing,
    text: Vec<u8>,
    /// Bytes that are looked at before it counts as complete.
    left: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// That many more bytes.
    Length(u64),
    /// Inside the line with a chunk's size; `in_digits` until anything but a digit comes.
    Size {
        size: u64,
        in_digits: bool,
    },
    Chunk(u64),
    /// Behind a chunk, up to the end of its line.
    ChunkEnd,
    Complete,
}

impl Body {
    pub(crate) fn new(head: &Head) -> Body {
        Body { framing: framing(head), text: Vec::new(), left: MAX_BODY_BYTES }
    }

    /// Whether nothing more is needed.
    pub(crate) fn is_complete(&self) -> bool {
        self.framing == Framing::Complete || self.left == 0 || self.text.len() >= MAX_TEXT_BYTES
    }

    /// Takes bytes in any pieces; what is not needed is ignored.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.is_complete() {
                return;
            }
            self.left -= 1;
            self.framing = self.step(byte);
        }
    }

    /// What came, as it may be shown: on one line.
    pub(crate) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.text);
        printable(&text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    fn step(&mut self, byte: u8) -> Framing {
        match self.framing {
            Framing::Length(left) => {
                self.text.push(byte);
                if left <= 1 { Framing::Complete } else { Framing::Length(left - 1) }
            }
            Framing::Size { size, in_digits } => size_line(size, in_digits, byte),
            Framing::Chunk(left) => {
                self.text.push(byte);
                if left <= 1 { Framing::ChunkEnd } else { Framing::Chunk(left - 1) }
            }
            Framing::ChunkEnd => match byte {
                b'\r' => Framing::ChunkEnd,
                b'\n' => Framing::Size { size: 0, in_digits: true },
                _ => Framing::Complete,
            },
            Framing::Complete => Framing::Complete,
        }
    }
}

/// One byte of a chunk's first line. A size that is none, or too large, ends the body.
fn size_line(size: u64, in_digits: bool, byte: u8) -> Framing {
    let digit = char::from(byte).to_digit(16).filter(|_| in_digits);
    match (digit, byte) {
        (Some(digit), _) => match size.checked_mul(16) {
            Some(size) => Framing::Size { size: size | u64::from(digit), in_digits },
            None => Framing::Complete,
        },
        (None, b'\n') if size == 0 => Framing::Complete,
        (None, b'\n') => Framing::Chunk(size),
        (None, b'\r' | b';' | b' ' | b'\t') => Framing::Size { size, in_digits: false },
        (None, _) if in_digits => Framing::Complete,
        (None, _) => Framing::Size { size, in_digits },
    }
}

/// Without framing a body ends with the stream, which is not waited for.
fn framing(head: &Head) -> Framing {
    let compressed = head.all("Content-Encoding").any(|value| !value.eq_ignore_ascii_case("identity"));
    if compressed || matches!(head.status, 100..=199 | 204 | 304) {
        return Framing::Complete;
    }
    if let Some(encoding) = head.all("Transfer-Encoding").last() {
        let last = encoding.rsplit(',').next().unwrap_or_default().trim();
        return if last.eq_ignore_ascii_case("chunked") {
            Framing::Size { size: 0, in_digits: true }
        } else {
            Framing::Complete
        };
    }
    match head.only("Content-Length").and_then(|value| value.parse().ok()) {
        None | Some(0) => Framing::Complete,
        Some(length) => Framing::Length(length),
    }
}
