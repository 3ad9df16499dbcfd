//! What is to be sent: frames straight from the store, catch-up messages from the dictionary.

use std::sync::Arc;

use crate::ingest::delivery::{Backlog, Queued, Unreadable};
use crate::ingest::shared::Shared;
use crate::store::{Cursor, Epochs, Fsn};
use crate::transport::{Link, LinkError};
use crate::wire::frame::peek;
use crate::wire::sink::Sink;
use crate::wire::symbols::{EntryTooLarge, catch_up};

/// The reading ends of frames and dictionary.
#[derive(Debug)]
pub(super) struct Outbox {
    cursor: Cursor,
    symbols: Epochs,
    shared: Arc<Shared>,
}

/// A message that is being handed over.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// A frame, which stays in the store.
    Frame { fsn: Fsn, taken: usize },
    /// A catch-up message with the entries below id `end`.
    Symbols { message: Vec<u8>, end: u64, taken: usize },
}

impl Outbox {
    pub(super) fn new(cursor: Cursor, symbols: Epochs, shared: Arc<Shared>) -> Outbox {
        Outbox { cursor, symbols, shared }
    }

    /// Everything up to `fsn` is acknowledged: gives it up.
    pub(super) fn acked(&mut self, fsn: Fsn) {
        self.shared.renewals.forget(fsn);
        self.cursor.acked(fsn);
    }

    /// A catch-up message of at most `message_max` bytes, for frame `fsn`, with entries from id `from` on,
    /// none of `to` and above. If not even one fits: its id, and the bytes of the message that it needs.
    pub(super) fn symbols(
        &mut self,
        fsn: Fsn,
        from: u64,
        to: u64,
        message_max: usize,
    ) -> Result<Outgoing, (u64, usize)> {
        let id = |id: u64| u32::try_from(id).unwrap_or(u32::MAX);
        let entries = self.symbols.entries(fsn, id(from), id(to));
        match catch_up(from, entries, message_max).next() {
            Some(Ok(part)) => {
                let mut message = vec![0; part.message_len()];
                part.put_message(&mut Sink::new(&mut message));
                Ok(Outgoing::Symbols { message, end: part.end(), taken: 0 })
            }
            Some(Err(EntryTooLarge { id, message_bytes })) => Err((id, message_bytes)),
            // Delivery asks only for entries that exist.
            None => Err((from, 0)),
        }
    }
}

impl Backlog for Outbox {
    fn frame(&mut self, fsn: Fsn) -> Option<Result<Queued, Unreadable>> {
        match self.cursor.frame(fsn) {
            Ok(frame) => frame.map(|frame| {
                let facts = peek(frame).map_err(Unreadable::Damaged)?;
                Ok(Queued { facts, bytes: frame.len() })
            }),
            Err(error) => Some(Err(Unreadable::NotNow(error))),
        }
    }

    fn symbols(&self, fsn: Fsn) -> u64 {
        self.symbols.len(fsn)
    }

    fn renumbers(&self, fsn: Fsn) -> bool {
        self.symbols.begins_with(fsn)
    }

    fn must_renew(&self, first: Fsn, next: Fsn) -> bool {
        self.shared.renewals.between(first, next)
    }
}

impl Outgoing {
    pub(super) fn frame(fsn: Fsn) -> Outgoing {
        Outgoing::Frame { fsn, taken: 0 }
    }

    /// Hands over as much as the link takes now; returns whether that is all.
    pub(super) fn send(&mut self, link: &mut dyn Link, outbox: &mut Outbox) -> Result<bool, LinkError> {
        match self {
            Outgoing::Frame { fsn, taken } => match outbox.cursor.frame(*fsn) {
                Ok(Some(frame)) => link.send(frame, taken),
                // Frames leave the store only once they are acknowledged.
                Ok(None) => Ok(false),
                // It was read when it was begun. The rest of it is sent on the next connection, whole.
                Err(error) => Err(LinkError::Io(Arc::new(std::io::Error::other(error)))),
            },
            Outgoing::Symbols { message, taken, .. } => link.send(message, taken),
        }
    }
}
