//! Frames to messages, strictly.
//!
//! ```text
//! Header --data frame--> Data --last byte, FIN--> Header   (message out)
//!   |                      '----last byte, no FIN-> Header   (more fragments)
//!   |--control frame--> Control --last byte--> Header        (PING, PONG out)
//!   |                      '----last byte of CLOSE--> Closed (CLOSE out)
//!   '--any violation--> Failed
//! ```

use super::{BLOCK_BYTES, Control, MAX_CONTROL_BYTES, Received, Violation, code_may_travel};
use std::io::Cursor;
use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{self, Data, OpCode};

/// From here on a payload is read into its message and not by way of the input buffer.
const DIRECT_BYTES: usize = 16 * 1024;

/// Takes bytes in any pieces, yields messages and control frames.
///
/// Read into [`Decoder::space`], say how much with [`Decoder::arrived`], then call
/// [`Decoder::next`] until it yields nothing.
#[derive(Debug)]
pub(crate) struct Decoder {
    /// Most bytes of a message, its fragments added up.
    limit: usize,
    /// Bytes that came and are not looked at yet: `start <= end <= input.len()`.
    input: Box<[u8]>,
    start: usize,
    end: usize,
    state: State,
    /// The message that is being put together. Its length may exceed `filled`: then it holds old
    /// bytes that are overwritten, so that nothing has to be zeroed twice.
    message: Vec<u8>,
    /// `filled <= limit` and `filled <= message.len()`, always.
    filled: usize,
    /// A data frame without FIN was the last one.
    fragmented: bool,
    /// The payload of the control frame that is being read.
    control: Control,
    /// The buffer for the message after this one.
    spare: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Header,
    /// `left` more bytes of a data frame.
    Data {
        left: usize,
        last: bool,
    },
    /// `left` more bytes of a control frame.
    Control {
        kind: Kind,
        left: usize,
    },
    /// The peer has closed: whatever follows is not looked at.
    Closed,
    Failed(Violation),
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Ping,
    Pong,
    Close,
}

impl Decoder {
    /// A message may have `limit` bytes; `behind` are bytes that came already.
    pub(crate) fn new(limit: usize, behind: &[u8]) -> Decoder {
        let mut input = behind.to_vec();
        input.resize(behind.len().max(BLOCK_BYTES), 0);
        Decoder {
            limit,
            input: input.into_boxed_slice(),
            start: 0,
            end: behind.len(),
            state: State::Header,
            message: Vec::new(),
            filled: 0,
            fragmented: false,
            control: Control::EMPTY,
            spare: Vec::new(),
        }
    }

    /// The next message or control frame out of what has arrived.
    pub(crate) fn next(&mut self) -> Result<Option<Received>, Violation> {
        loop {
            match self.state {
                State::Header => match self.header() {
                    Ok(Some(state)) => self.state = state,
                    Ok(None) => return Ok(None),
                    Err(violation) => return Err(self.fail(violation)),
                },
                State::Data { left: 0, last } => {
                    self.state = State::Header;
                    self.fragmented = !last;
                    if last {
                        return Ok(Some(Received::Message(self.take_message())));
                    }
                }
                State::Data { left, last } => {
                    let count = self.move_to_message(left);
                    if count == 0 {
                        return Ok(None);
                    }
                    self.state = State::Data { left: left - count, last };
                }
                State::Control { kind, left: 0 } => return self.finish_control(kind).map(Some),
                State::Control { kind, left } => {
                    let count = self.move_to_control(left);
                    if count == 0 {
                        return Ok(None);
                    }
                    self.state = State::Control { kind, left: left - count };
                }
                State::Closed => return Ok(None),
                State::Failed(violation) => return Err(violation),
            }
        }
    }

    /// Whether the peer has sent its CLOSE.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// Where the next bytes go: never empty after [`Decoder::next`] has yielded nothing. The rest of
    /// a large payload goes straight to its message, at most [`BLOCK_BYTES`] of it ahead of what
    /// has arrived, or as much as a buffer in use before has room for.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        if let Some(count) = self.direct() {
            let end = self.filled + count.min(BLOCK_BYTES.max(self.message.len() - self.filled));
            if self.message.len() < end {
                self.message.resize(end, 0);
            }
            return self.message.get_mut(self.filled..end).unwrap_or_default();
        }
        self.input.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        self.input.get_mut(self.end..).unwrap_or_default()
    }

    /// `count` bytes were read into [`Decoder::space`].
    pub(crate) fn arrived(&mut self, count: usize) {
        match self.state {
            State::Data { left, last } if self.direct().is_some() => {
                let count = count.min(left).min(self.message.len() - self.filled);
                self.filled += count;
                self.state = State::Data { left: left - count, last };
            }
            _ => self.end = self.end.saturating_add(count).min(self.input.len()),
        }
    }

    /// Takes a buffer for a later message: the largest two are kept.
    pub(crate) fn recycle(&mut self, mut buffer: Vec<u8>) {
        if self.filled == 0 && buffer.capacity() > self.message.capacity() {
            std::mem::swap(&mut self.message, &mut buffer);
        }
        if buffer.capacity() > self.spare.capacity() {
            self.spare = buffer;
        }
    }

    /// How much of a payload goes straight to its message, if it does.
    fn direct(&self) -> Option<usize> {
        match self.state {
            State::Data { left, .. } if self.start == self.end && left >= DIRECT_BYTES => Some(left),
            _ => None,
        }
    }

    /// The next header, checked; `None` if it is not complete.
    fn header(&mut self) -> Result<Option<State>, Violation> {
        let bytes = self.input.get(self.start..self.end).unwrap_or_default();
        let mut cursor = Cursor::new(bytes);
        let (header, length) = match FrameHeader::parse(&mut cursor) {
            Ok(Some(parsed)) => parsed,
            Ok(None) => return Ok(None),
            // The one thing that it refuses.
            Err(_) => return Err(Violation::Opcode(bytes.first().map_or(0, |byte| byte & 0x0f))),
        };
        let header_bytes = cursor.position();
        let shortest = header.len(length) as u64 == header_bytes && length >> 63 == 0;
        if header.rsv1 || header.rsv2 || header.rsv3 {
            return Err(Violation::ReservedBit);
        }
        if header.mask.is_some() {
            return Err(Violation::Masked);
        }
        if !shortest {
            return Err(Violation::LengthForm);
        }
        let state = match header.opcode {
            OpCode::Data(data) => self.data_frame(data, header.is_final, length)?,
            OpCode::Control(control) => control_frame(control, header.is_final, length)?,
        };
        // A header has at most 14 bytes.
        self.start += usize::try_from(header_bytes).unwrap_or_default();
        Ok(Some(state))
    }

    fn data_frame(&self, data: Data, last: bool, length: u64) -> Result<State, Violation> {
        match (data, self.fragmented) {
            (Data::Binary, false) | (Data::Continue, true) => {}
            (Data::Binary | Data::Text, true) => return Err(Violation::NewStart),
            (Data::Continue, false) => return Err(Violation::NoStart),
            (Data::Text, false) => return Err(Violation::Text),
            (Data::Reserved(code), _) => return Err(Violation::Opcode(code)),
        }
        let room = self.limit - self.filled;
        match usize::try_from(length) {
            Ok(left) if left <= room => Ok(State::Data { left, last }),
            _ => Err(Violation::TooLarge { limit: self.limit }),
        }
    }

    /// Moves up to `left` bytes of input to the message; returns how many.
    fn move_to_message(&mut self, left: usize) -> usize {
        let end = self.end.min(self.start.saturating_add(left));
        let bytes = self.input.get(self.start..end).unwrap_or_default();
        let filled = self.filled + bytes.len();
        match self.message.get_mut(self.filled..filled) {
            Some(room) => room.copy_from_slice(bytes),
            None => {
                self.message.truncate(self.filled);
                self.message.extend_from_slice(bytes);
            }
        }
        let count = bytes.len();
        self.filled = filled;
        self.start += count;
        count
    }

    /// Moves up to `left` bytes of input to the payload of a control frame; returns how many.
    fn move_to_control(&mut self, left: usize) -> usize {
        let end = self.end.min(self.start.saturating_add(left));
        let bytes = self.input.get(self.start..end).unwrap_or_default();
        self.control.push(bytes);
        self.start += bytes.len();
        bytes.len()
    }

    fn finish_control(&mut self, kind: Kind) -> Result<Received, Violation> {
        let received = match kind {
            Kind::Ping => Received::Ping(self.control),
            Kind::Pong => Received::Pong,
            Kind::Close => close(self.control.bytes()).map_err(|violation| self.fail(violation))?,
        };
        self.control = Control::EMPTY;
        self.state = if matches!(kind, Kind::Close) { State::Closed } else { State::Header };
        Ok(received)
    }

    fn take_message(&mut self) -> Vec<u8> {
        let mut message = std::mem::replace(&mut self.message, std::mem::take(&mut self.spare));
        message.truncate(self.filled);
        self.filled = 0;
        message
    }

    #[cold]
    fn fail(&mut self, violation: Violation) -> Violation {
        self.state = State::Failed(violation);
        violation
    }
}

fn control_frame(control: coding::Control, last: bool, length: u64) -> Result<State, Violation> {
    let kind = match control {
        coding::Control::Ping => Kind::Ping,
        coding::Control::Pong => Kind::Pong,
        coding::Control::Close => Kind::Close,
        coding::Control::Reserved(code) => return Err(Violation::Opcode(code)),
    };
    if !last {
        return Err(Violation::FragmentedControl);
    }
    match usize::try_from(length) {
        Ok(left) if left <= MAX_CONTROL_BYTES => Ok(State::Control { kind, left }),
        _ => Err(Violation::LongControl),
    }
}

fn close(payload: &[u8]) -> Result<Received, Violation> {
    match payload {
        [] => Ok(Received::Close { code: None, reason: String::new() }),
        [_] => Err(Violation::CloseLength),
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            if !code_may_travel(code) {
                return Err(Violation::CloseCode(code));
            }
            let reason = std::str::from_utf8(reason).map_err(|_| Violation::CloseReason)?;
            Ok(Received::Close { code: Some(code), reason: reason.to_owned() })
        }
    }
}

/// Feeds `bytes` in pieces of `piece` bytes and collects what comes out, up to the violation that
/// ends it. For tests and the fuzz target.
#[cfg(any(test, fuzzing))]
pub(super) fn drive(bytes: &[u8], piece: usize, limit: usize) -> (Vec<Received>, Option<Violation>) {
    let mut decoder = Decoder::new(limit, &[]);
    let mut received = Vec::new();
    let mut rest = bytes;
    while !decoder.is_closed() {
        loop {
            match decoder.next() {
                Ok(Some(one)) => received.push(one),
                Ok(None) => break,
                Err(violation) => return (received, Some(violation)),
            }
        }
        let space = decoder.space();
        let count = piece.min(rest.len()).min(space.len());
        let (Some(head), Some(room)) = (rest.get(..count), space.get_mut(..count)) else { break };
        if head.is_empty() {
            break;
        }
        room.copy_from_slice(head);
        decoder.arrived(count);
        rest = rest.get(count..).unwrap_or_default();
        assert!(decoder.message.len() <= decoder.filled + BLOCK_BYTES, "grew ahead of what arrived");
    }
    (received, None)
}
