//! Messages to masked frames: one frame a message, never in fragments (wire.md 1.7).

use super::mask::{self, Key, Keys};
use super::{BLOCK_BYTES, Control, MAX_CONTROL_BYTES};
use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{self, Data, OpCode};

/// Longest header of a masked frame.
const MAX_HEADER_BYTES: usize = 14;

/// Masks messages into a buffer, and control frames between them.
///
/// Bytes go `message -> buffer -> socket`; the buffer holds at most [`BLOCK_BYTES`].
#[derive(Debug)]
pub(crate) struct Encoder {
    buffer: Box<[u8]>,
    /// What the socket has not taken yet: `start <= end <= buffer.len()`.
    start: usize,
    end: usize,
    keys: Keys,
    /// The key of the message whose header is in the buffer and whose payload is not complete.
    open: Option<Key>,
    /// Control frames that wait for the end of the message.
    waiting: Waiting,
}

/// Control frames that wait: one of each kind, so that a peer cannot make this grow.
#[derive(Debug, Default)]
struct Waiting {
    /// Only the latest PING needs an answer (RFC 6455 5.5.3).
    pong: Option<Control>,
    ping: bool,
    close: Option<Control>,
    /// A CLOSE is queued or gone: nothing may follow it.
    closed: bool,
}

impl Encoder {
    pub(crate) fn new() -> Encoder {
        Encoder {
            buffer: vec![0; BLOCK_BYTES].into_boxed_slice(),
            start: 0,
            end: 0,
            keys: Keys::new(),
            open: None,
            waiting: Waiting::default(),
        }
    }

    /// Masks as much of `message` behind `taken` as there is room for, and adds that to `taken`.
    /// Returns whether the message is complete. If it is not, empty the buffer and call again.
    pub(crate) fn message(&mut self, message: &[u8], taken: &mut usize) -> Result<bool, getrandom::Error> {
        let key = match self.open {
            Some(key) => key,
            None => {
                debug_assert_eq!(*taken, 0, "a message starts at its front");
                let Some(key) = self.start_message(message.len() as u64)? else { return Ok(false) };
                *self.open.insert(key)
            }
        };
        let rest = message.get(*taken..).unwrap_or_default();
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        let count = rest.len().min(room.len());
        mask::copy_masked(room, rest, mask::rotate(key, *taken));
        self.end += count;
        *taken += count;
        if count < rest.len() {
            return Ok(false);
        }
        self.open = None;
        Ok(true)
    }

    /// Queues a PING. One that has not left yet stands for both.
    pub(crate) fn ping(&mut self) {
        self.waiting.ping = true;
    }

    /// Queues the answer to a PING, in place of one that has not left yet.
    pub(crate) fn pong(&mut self, payload: Control) {
        self.waiting.pong = Some(payload);
    }

    /// Queues a CLOSE, unless there was one.
    pub(crate) fn close(&mut self, code: Option<u16>) {
        if !self.waiting.closed {
            self.waiting.closed = true;
            self.waiting.close = Some(code.map_or(Control::EMPTY, |code| Control::new(&code.to_be_bytes())));
        }
    }

    /// Whether a CLOSE is queued or gone, so that no message may begin. One that has begun goes on.
    pub(crate) fn is_closed(&self) -> bool {
        self.waiting.closed && self.open.is_none()
    }

    /// Whether something can be written before the message that is open goes on.
    pub(crate) fn can_write(&self) -> bool {
        self.start < self.end || (self.open.is_none() && !self.is_empty())
    }

    /// What to write to the socket next; control frames that can leave now are part of it. Say with
    /// [`Encoder::written`] how much the socket took.
    pub(crate) fn pending(&mut self) -> Result<&[u8], getrandom::Error> {
        if self.open.is_none() {
            self.controls()?;
        }
        Ok(self.buffer.get(self.start..self.end).unwrap_or_default())
    }

    /// The socket took `count` bytes.
    pub(crate) fn written(&mut self, count: usize) {
        self.start = self.start.saturating_add(count).min(self.end);
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
    }

    /// Whether nothing waits to be written.
    pub(crate) fn is_empty(&self) -> bool {
        let waiting = &self.waiting;
        self.start == self.end && waiting.pong.is_none() && !waiting.ping && waiting.close.is_none()
    }

    /// Puts the control frames that wait and the header of a message, if there is room.
    fn start_message(&mut self, length: u64) -> Result<Option<Key>, getrandom::Error> {
        self.controls()?;
        if self.room() < MAX_HEADER_BYTES {
            return Ok(None);
        }
        let key = self.keys.next()?;
        self.header(OpCode::Data(Data::Binary), length, key);
        Ok(Some(key))
    }

    fn controls(&mut self) -> Result<(), getrandom::Error> {
        while self.room() >= MAX_HEADER_BYTES + MAX_CONTROL_BYTES {
            let waiting = &mut self.waiting;
            let (kind, payload) = if let Some(payload) = waiting.pong.take() {
                (coding::Control::Pong, payload)
            } else if std::mem::take(&mut waiting.ping) {
                (coding::Control::Ping, Control::EMPTY)
            } else if let Some(payload) = waiting.close.take() {
                (coding::Control::Close, payload)
            } else {
                return Ok(());
            };
            let key = self.keys.next()?;
            self.header(OpCode::Control(kind), payload.length as u64, key);
            let room = self.buffer.get_mut(self.end..).unwrap_or_default();
            mask::copy_masked(room, payload.bytes(), key);
            self.end += payload.length;
        }
        Ok(())
    }

    /// Puts a header; the caller has seen that there is room.
    fn header(&mut self, opcode: OpCode, length: u64, key: Key) {
        let header = FrameHeader { opcode, mask: Some(key), ..FrameHeader::default() };
        let mut room = self.buffer.get_mut(self.end..).unwrap_or_default();
        let before = room.len();
        let result = header.format(length, &mut room);
        debug_assert!(result.is_ok(), "room was checked");
        self.end += before - room.len();
    }

    fn room(&self) -> usize {
        self.buffer.len() - self.end
    }
}
