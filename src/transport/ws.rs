//! WebSocket frames, without a socket: bytes in, messages out, and the other way round (wire.md 1.7).
//!
//! [`Decoder`] takes bytes in any pieces and yields messages and control frames, [`Encoder`] masks
//! messages into a buffer that a socket empties. Header layout is tungstenite's `FrameHeader`; the
//! assembly is our own, because the checks of CONN-13 and the bounds of CONN-10 are stricter, and
//! because neither direction may copy or allocate a message more often than needed.
//!
//! This folder uses nothing else of the crate, so that `benches/ws.rs` can measure it.

mod decode;
mod encode;
mod mask;
#[cfg(test)]
mod tests;

pub(crate) use decode::Decoder;
pub(crate) use encode::Encoder;

use std::fmt;

/// Longest payload of a control frame.
pub(crate) const MAX_CONTROL_BYTES: usize = 125;

/// Bytes read from or written to a socket at once, and the most that a buffer grows ahead of what
/// has arrived.
pub(crate) const BLOCK_BYTES: usize = 64 * 1024;

/// The payload of a control frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Control {
    bytes: [u8; MAX_CONTROL_BYTES],
    /// `length <= MAX_CONTROL_BYTES`, always.
    length: usize,
}

impl Control {
    pub(crate) const EMPTY: Control = Control { bytes: [0; MAX_CONTROL_BYTES], length: 0 };

    /// The first [`MAX_CONTROL_BYTES`] of `payload`.
    pub(crate) fn new(payload: &[u8]) -> Control {
        let mut control = Control::EMPTY;
        control.push(payload);
        control
    }

    /// Appends what still fits.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for (room, byte) in self.bytes.iter_mut().skip(self.length).zip(bytes) {
            *room = *byte;
            self.length += 1;
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// What came from the peer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// A whole binary message.
    Message(Vec<u8>),
    Ping(Control),
    Pong,
    Close {
        code: Option<u16>,
        reason: String,
    },
}

/// How the peer broke the protocol or a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Violation {
    Masked,
    ReservedBit,
    Opcode(u8),
    Text,
    NoStart,
    NewStart,
    FragmentedControl,
    LongControl,
    LengthForm,
    TooLarge { limit: usize },
    CloseLength,
    CloseCode(u16),
    CloseReason,
}

impl Violation {
    /// The close code that says so.
    pub(crate) fn close_code(self) -> u16 {
        match self {
            Violation::TooLarge { .. } => 1009,
            Violation::Text => 1003,
            _ => 1002,
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Masked => f.write_str("the server sent a masked frame"),
            Violation::ReservedBit => f.write_str("the server sent a frame with a reserved bit"),
            Violation::Opcode(code) => write!(f, "the server sent a frame of unknown opcode {code}"),
            Violation::Text => f.write_str("the server sent a text message"),
            Violation::NoStart => f.write_str("the server continued a message that it had not begun"),
            Violation::NewStart => f.write_str("the server began a message inside a message"),
            Violation::FragmentedControl => f.write_str("the server sent a control frame in fragments"),
            Violation::LongControl => f.write_str("the server sent a control frame over 125 bytes"),
            Violation::LengthForm => f.write_str("the server sent a length that is not in its shortest form"),
            Violation::TooLarge { limit } => {
                write!(f, "the server sent a message of more than {limit} bytes")
            }
            Violation::CloseLength => f.write_str("the server sent a close of one byte"),
            Violation::CloseCode(code) => write!(f, "the server sent the forbidden close code {code}"),
            Violation::CloseReason => f.write_str("the server sent a close reason that is not UTF-8"),
        }
    }
}

/// Whether a close code may travel (CONN-13).
pub(crate) fn code_may_travel(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

/// Body of a fuzz target: whatever the bytes are and however they are cut, the decoder stays within
/// its bounds and says the same as for one piece (CONN-10, CONN-12, SEC-04).
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz_ws(data: &[u8]) {
    const LIMIT: usize = 4096;
    let Some((&cut, bytes)) = data.split_first() else { return };
    let whole = decode::drive(bytes, BLOCK_BYTES, LIMIT);
    let pieces = decode::drive(bytes, usize::from(cut).max(1), LIMIT);
    assert_eq!(whole, pieces);
    for received in whole.0 {
        if let Received::Message(message) = received {
            assert!(message.len() <= LIMIT);
        }
    }
}
