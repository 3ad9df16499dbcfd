//! Dictionary deltas, which tell the peer symbols before they are used by their ids (wire.md 4.1, 7).
//!
//! An entry is a varint length and UTF-8. Whoever keeps a dictionary keeps it in exactly this form, so
//! that a delta is one copy.

use super::frame::{self, Flags, HEADER_BYTES};
use super::reader::{Reader, WireFault, WireResult};
use super::sink::Sink;
use super::varint;

/// Appends a delta: `count` entries, the first with id `start`, as they stand in the pieces of `entries`.
pub(crate) fn put_delta<'e>(
    start: u64,
    count: u64,
    entries: impl IntoIterator<Item = &'e [u8]>,
    sink: &mut Sink<'_>,
) {
    sink.varint(start);
    sink.varint(count);
    for piece in entries {
        sink.put(piece);
    }
}

/// Bytes that [`put_delta`] writes.
pub(crate) const fn delta_len(start: u64, count: u64, entries_bytes: usize) -> usize {
    varint::len(start) + varint::len(count) + entries_bytes
}

/// Bytes of the entry of a text of `text_bytes`.
#[cfg(any(test, fuzzing))]
pub(crate) const fn entry_len(text_bytes: usize) -> usize {
    varint::len(text_bytes as u64) + text_bytes
}

/// A delta of a message; every entry was checked when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delta<'a> {
    /// Id of the first entry.
    pub(crate) start: u64,
    /// Number of entries.
    pub(crate) count: u64,
    /// The entries, one behind the other.
    pub(crate) entries: &'a [u8],
}

impl<'a> Delta<'a> {
    /// Reads a delta. Nothing is kept or allocated, so that a delta with a fault in its last entry
    /// changes no dictionary.
    pub(crate) fn read(reader: &mut Reader<'a>) -> WireResult<Delta<'a>> {
        let start = reader.varint("delta start")?;
        let count = reader.varint("delta count")?;
        if count > reader.remaining() as u64 {
            return Err(reader.fault("delta count", WireFault::Truncated)); // an entry takes a byte at least
        }
        if start.checked_add(count).is_none() {
            return Err(reader.fault("delta start", WireFault::Value(start)));
        }
        let all = reader.peek_rest();
        for _ in 0..count {
            reader.str("dictionary entry")?;
        }
        let entries = all.get(..all.len() - reader.remaining()).unwrap_or_default();
        Ok(Delta { start, count, entries })
    }

    /// The texts in the order of their ids.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let mut reader = Reader::new(self.entries);
        // `read` saw every entry, so this ends where the entries do
        std::iter::from_fn(move || reader.str("dictionary entry").ok())
    }
}

/// A part of a dictionary that goes into one catch-up message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CatchUpPart<'a> {
    delta: Delta<'a>,
}

/// An entry that fits no message of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryTooLarge {
    /// Id of the entry.
    pub(crate) id: u64,
    /// Bytes of the message that would carry it alone.
    pub(crate) message_bytes: usize,
}

/// Cuts `entries`, whose first has id `start`, into messages of at most `cap` bytes each (wire.md 7,
/// rule 4). Ends behind an entry that fits none. No entry, no message.
pub(crate) fn catch_up(
    start: u64,
    entries: &[u8],
    cap: usize,
) -> impl Iterator<Item = Result<CatchUpPart<'_>, EntryTooLarge>> {
    let mut rest = entries;
    let mut next = start;
    std::iter::from_fn(move || {
        let (count, bytes) = take_entries(rest, cap);
        let (part, behind) = rest.split_at_checked(bytes)?;
        if count == 0 {
            return None;
        }
        let delta = Delta { start: next, count, entries: part };
        let part = CatchUpPart { delta };
        if part.message_len() > cap {
            rest = &[];
            return Some(Err(EntryTooLarge { id: next, message_bytes: part.message_len() }));
        }
        rest = behind;
        next += count;
        Some(Ok(part))
    })
}

impl CatchUpPart<'_> {
    /// Bytes of the message.
    pub(crate) fn message_len(&self) -> usize {
        HEADER_BYTES + delta_len(self.delta.start, self.delta.count, self.delta.entries.len())
    }

    /// Id behind the last entry.
    pub(crate) fn end(&self) -> u64 {
        self.delta.start + self.delta.count
    }

    /// Appends the message: no block, and not deferred, so that it is acknowledged like any other.
    pub(crate) fn put_message(&self, sink: &mut Sink<'_>) {
        let open = frame::open(sink);
        put_delta(self.delta.start, self.delta.count, [self.delta.entries], sink);
        open.close(sink, Flags::DELTA_SYMBOLS, 0);
    }
}

/// How many entries go into one message, and their bytes; one at least, if there is one.
fn take_entries(entries: &[u8], cap: usize) -> (u64, usize) {
    /// Room for the two numbers of the delta, whatever they are: ids end far below 2^56.
    const NUMBERS_BYTES: usize = 16;
    let budget = cap.saturating_sub(HEADER_BYTES + NUMBERS_BYTES);
    let (mut count, mut bytes) = (0, 0_usize);
    while let Some((text_bytes, varint_bytes)) =
        entries.get(bytes..).and_then(|rest| varint::decode(rest).ok())
    {
        let text_bytes = usize::try_from(text_bytes).unwrap_or(usize::MAX);
        let end = bytes.saturating_add(varint_bytes).saturating_add(text_bytes);
        if end > entries.len() || (count > 0 && end > budget) {
            break;
        }
        (count, bytes) = (count + 1, end);
    }
    (count, bytes)
}

/// Body of a fuzz target: what is read as a delta is written back alike.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz_symbols(data: &[u8]) {
    let mut reader = Reader::new(data);
    let Ok(delta) = Delta::read(&mut reader) else { return };
    assert_eq!(delta.texts().count() as u64, delta.count);
    let canonical: usize = delta.texts().map(|text| entry_len(text.len())).sum();
    let mut room = vec![0; data.len()];
    let mut sink = Sink::new(&mut room);
    put_delta(delta.start, delta.count, [delta.entries], &mut sink);
    let len = sink.finish().expect("no longer than what was read");
    assert_eq!(len, delta_len(delta.start, delta.count, delta.entries.len()));
    assert_eq!(Delta::read(&mut Reader::new(&room[..len])), Ok(delta));
    let mut parts_count = 0;
    for part in catch_up(delta.start, delta.entries, 64) {
        match part {
            Ok(part) => parts_count += part.delta.count,
            Err(_) => return,
        }
    }
    if canonical == delta.entries.len() {
        assert_eq!(parts_count, delta.count);
    }
}

#[cfg(test)]
mod tests;
