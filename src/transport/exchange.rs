//! The HTTP upgrade over a stream: one request, one answer, within a time and interruptible.

use super::halt::Halt;
use super::poll::{self, Interest};
use super::stream::Stream;
use super::upgrade::{self, Asked, Body, Head, HeadReader};
use super::wake::Wake;
use super::{ConnectFailure, FailureClass, Upgrade};
use crate::error::Phase;
use crate::time::{Clock, Deadline};

/// Bytes read at once.
const READ_BYTES: usize = 16 * 1024;

/// A stream, and what bounds every wait on it.
pub(super) struct Exchange<'a> {
    pub(super) clock: &'a dyn Clock,
    pub(super) stream: &'a mut Stream,
    pub(super) wake: &'a Wake,
    pub(super) deadline: Deadline,
}

/// The outcome of an exchange: what the server said with its 101, and the bytes behind it.
pub(super) type Answer = Result<(Upgrade, Vec<u8>), ConnectFailure>;

impl Exchange<'_> {
    /// Sends the request and judges the answer.
    pub(super) fn run(mut self, request: &[u8], asked: &Asked<'_>) -> Result<Answer, Halt> {
        self.send(request)?;
        let (head, behind) = self.head()?;
        if head.status == 101 {
            return Ok(upgrade::accept(asked, &head).map(|upgrade| (upgrade, behind)));
        }
        let text = self.body(&head, &behind)?;
        Ok(Err(upgrade::refuse(asked, &head, &text)))
    }

    fn send(&mut self, mut rest: &[u8]) -> Result<(), Halt> {
        loop {
            let count = self.stream.write(rest).map_err(Halt::failed)?;
            rest = rest.get(count..).unwrap_or_default();
            if rest.is_empty() && self.stream.flush().map_err(Halt::failed)? {
                return Ok(());
            }
            self.wait(Interest::Write)?;
        }
    }

    fn head(&mut self) -> Result<(Head, Vec<u8>), Halt> {
        let mut reader = HeadReader::new();
        let mut buffer = [0; READ_BYTES];
        loop {
            let bytes = self.read(&mut buffer)?;
            if bytes.is_empty() {
                return Err(Halt::failed("the server ended the connection in place of an answer"));
            }
            reader.push(bytes);
            if let Some(head) = reader.parse().map_err(Halt::Failed)? {
                return Ok((head, reader.into_rest()));
            }
        }
    }

    /// The text of a refusal, or as much of it as comes in time: the refusal stands without it.
    fn body(&mut self, head: &Head, behind: &[u8]) -> Result<String, Halt> {
        let mut body = Body::new(head);
        body.push(behind);
        let mut buffer = [0; READ_BYTES];
        while !body.is_complete() {
            match self.read(&mut buffer) {
                Ok([]) | Err(Halt::TimedOut | Halt::Failed(_)) => break,
                Ok(bytes) => body.push(bytes),
                Err(Halt::Interrupted) => return Err(Halt::Interrupted),
            }
        }
        Ok(body.text())
    }

    /// What comes next; nothing at the end of the stream.
    fn read<'b>(&mut self, buffer: &'b mut [u8]) -> Result<&'b [u8], Halt> {
        loop {
            // Bytes that keep coming do not extend the time.
            if self.deadline.passed(self.clock.now()) {
                return Err(Halt::TimedOut);
            }
            if let Some(count) = self.stream.read(buffer).map_err(Halt::failed)? {
                return Ok(buffer.get(..count).unwrap_or_default());
            }
            self.wait(Interest::Read)?;
        }
    }

    fn wait(&self, interest: Interest) -> Result<(), Halt> {
        Halt::unless_ready(poll::wait(self.clock, self.stream.socket(), interest, self.wake, self.deadline))
    }
}

/// What a step that failed means for the attempt; `limit` is the setting that bounds it.
#[cold]
pub(super) fn failure(phase: Phase, halt: Halt, limit: &str) -> ConnectFailure {
    let (class, reason) = match halt {
        Halt::Interrupted => (FailureClass::Interrupted, "interrupted".to_owned()),
        Halt::TimedOut => (FailureClass::Transport, format!("no answer within {limit}")),
        Halt::Failed(reason) => (FailureClass::Transport, reason),
    };
    ConnectFailure { phase, class, reason, zone: None }
}
