//! Which messages of a connection wait for an answer, and what an answer means for the frames that
//! they carried (wire.md 6.2). Pure.

use std::collections::VecDeque;

use crate::store::Fsn;

/// What a message carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cargo {
    /// A frame of the store. A deferred one is settled only by the frame that commits it (ACK-05).
    Frame { fsn: Fsn, deferred: bool },
    /// Dictionary entries.
    Symbols,
}

/// A message that was sent whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) cargo: Cargo,
    pub(super) bytes: usize,
}

/// The messages of one connection without an answer, oldest first.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// Wire sequence of the first of `messages`: one more than the highest one acknowledged.
    base: i64,
    messages: VecDeque<Sent>,
    /// Frames and bytes that were taken since the last commit.
    held: (u64, u64),
}

/// What an OK settled.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Covered {
    /// The last frame that is committed now.
    pub(super) committed: Option<Fsn>,
    /// The last frame that was taken, committed or not.
    pub(super) taken: Option<Fsn>,
    /// Frames that were committed.
    pub(super) frames: u64,
    /// Their bytes.
    pub(super) bytes: u64,
}

/// A sequence number that the server cannot mean (ACK-01).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OutOfRange {
    pub(super) sequence: i64,
    /// The messages that may be answered: from the first to before the second.
    pub(super) expected: (i64, i64),
}

impl InFlight {
    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// A message was handed over whole.
    pub(super) fn sent(&mut self, sent: Sent) {
        self.messages.push_back(sent);
    }

    /// Everything up to `sequence` was taken. A repeated or lower number changes nothing.
    pub(super) fn ok(&mut self, sequence: i64) -> Result<Option<Covered>, OutOfRange> {
        if sequence < self.base {
            return Ok(None);
        }
        let newest = self.index(sequence)?;
        let mut covered = Covered::default();
        for sent in self.messages.drain(..=newest) {
            if let Cargo::Frame { fsn, deferred } = sent.cargo {
                self.held.0 += 1;
                self.held.1 += sent.bytes as u64;
                covered.taken = Some(fsn);
                if !deferred {
                    covered.committed = Some(fsn);
                    let (frames, bytes) = std::mem::take(&mut self.held);
                    covered.frames += frames;
                    covered.bytes += bytes;
                }
            }
        }
        self.base = sequence + 1;
        Ok(Some(covered))
    }

    /// The message that was refused.
    pub(super) fn refused(&self, sequence: i64) -> Result<Sent, OutOfRange> {
        self.index(sequence).and_then(|index| self.messages.get(index).copied().ok_or(self.beyond(sequence)))
    }

    /// The first frame without an answer.
    pub(super) fn first_frame(&self) -> Option<Fsn> {
        self.messages.iter().find_map(|sent| match sent.cargo {
            Cargo::Frame { fsn, .. } => Some(fsn),
            Cargo::Symbols => None,
        })
    }

    fn index(&self, sequence: i64) -> Result<usize, OutOfRange> {
        let index = sequence.checked_sub(self.base).and_then(|index| usize::try_from(index).ok());
        index.filter(|&index| index < self.messages.len()).ok_or(self.beyond(sequence))
    }

    fn beyond(&self, sequence: i64) -> OutOfRange {
        let count = i64::try_from(self.messages.len()).unwrap_or(i64::MAX);
        OutOfRange { sequence, expected: (self.base, self.base.saturating_add(count)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(fsn: i64, deferred: bool) -> Sent {
        Sent { cargo: Cargo::Frame { fsn: Fsn::new(fsn).unwrap(), deferred }, bytes: 10 }
    }

    const SYMBOLS: Sent = Sent { cargo: Cargo::Symbols, bytes: 7 };

    fn in_flight(messages: &[Sent]) -> InFlight {
        let mut in_flight = InFlight::default();
        messages.iter().for_each(|sent| in_flight.sent(*sent));
        in_flight
    }

    #[test]
    fn ack_01_an_ok_covers_all_up_to_it_and_a_lower_one_nothing() {
        let mut messages = in_flight(&[SYMBOLS, frame(5, false), frame(6, false), frame(7, false)]);
        let covered = messages.ok(2).unwrap().unwrap();
        assert_eq!((covered.committed, covered.taken), (Fsn::new(6), Fsn::new(6)));
        assert_eq!((covered.frames, covered.bytes), (2, 20));
        for lower in [2, 1, 0, -1, i64::MIN] {
            assert_eq!(messages.ok(lower), Ok(None));
        }
        assert_eq!(messages.ok(3).unwrap().unwrap().committed, Fsn::new(7));
        assert!(messages.is_empty());
    }

    #[test]
    fn ack_01_h11_what_was_never_sent_is_out_of_range_and_covers_nothing() {
        let mut messages = in_flight(&[frame(0, false), frame(1, false), frame(2, false)]);
        messages.ok(0).unwrap();
        for sequence in [3, 99, i64::MAX] {
            let fault = OutOfRange { sequence, expected: (1, 3) };
            assert_eq!(messages.ok(sequence), Err(fault));
            assert_eq!(messages.refused(sequence), Err(fault));
        }
        for sequence in [0, -1, i64::MIN] {
            assert!(messages.refused(sequence).is_err(), "an error at or below an OK: {sequence}");
        }
        assert_eq!(messages.len(), 2);
        assert_eq!(messages.refused(1), Ok(frame(1, false)));
        assert_eq!(messages.len(), 2);
    }

    #[test]
    fn ack_05_an_ok_inside_a_group_commits_nothing_of_it() {
        let mut messages = in_flight(&[frame(0, false), frame(1, true), frame(2, true), frame(3, false)]);
        let covered = messages.ok(2).unwrap().unwrap();
        assert_eq!((covered.committed, covered.taken), (Fsn::new(0), Fsn::new(2)));
        assert_eq!((covered.frames, covered.bytes), (1, 10));
        let covered = messages.ok(3).unwrap().unwrap();
        assert_eq!((covered.committed, covered.frames, covered.bytes), (Fsn::new(3), 3, 30));
    }

    #[test]
    fn rep_01_an_ok_for_symbols_moves_nothing() {
        let mut messages = in_flight(&[SYMBOLS, SYMBOLS, frame(9, false)]);
        assert_eq!(messages.first_frame(), Fsn::new(9));
        assert_eq!(messages.ok(1), Ok(Some(Covered::default())));
        assert!(messages.refused(1).is_err());
        assert_eq!(messages.len(), 1);
    }
}
