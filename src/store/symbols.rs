//! The symbol dictionary of a store: one copy of the texts, written by the producer, read by the
//! I/O thread for catch-up frames (store-and-forward.md 12.16).
//!
//! The texts stand in chunks as they travel: `varint length, UTF-8 bytes`, ids dense from 0. Limits
//! on texts and entries (LIM-04) are the interner's.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::region::{Reader, Writer};
use crate::wire::varint;

/// Both ends of an empty dictionary.
pub(crate) fn symbols() -> (SymbolLog, SymbolMirror) {
    let shared = Arc::new(Shared::default());
    let log = SymbolLog {
        shared: Arc::clone(&shared),
        chunks: Vec::new(),
        places: Vec::new(),
        shared_chunks: 0,
        published: 0,
    };
    let mirror = SymbolMirror { shared, chunks: Vec::new(), at: Place::default() };
    (log, mirror)
}

#[derive(Debug, Default)]
struct Shared {
    /// Entries that published frames may use. Stored after their bytes.
    published: AtomicU32,
    /// Chunks that hold any of them, in order. Locked once a chunk.
    chunks: Mutex<Vec<Chunk>>,
}

#[derive(Debug, Clone)]
struct Chunk {
    /// Id of its first entry.
    first: u32,
    reader: Reader,
}

/// The producer's end.
#[derive(Debug)]
pub(crate) struct SymbolLog {
    shared: Arc<Shared>,
    chunks: Vec<Draft>,
    /// Where each entry begins: the number of its chunk above [`OFFSET_BITS`], the offset below.
    places: Vec<u32>,
    /// How many of `chunks` the other end may know.
    shared_chunks: usize,
    /// Entries that cannot be taken back any more.
    published: u32,
}

#[derive(Debug)]
struct Draft {
    writer: Writer,
    /// Id of its first entry, if it has one.
    first: u32,
    filled: usize,
}

impl SymbolLog {
    /// Entries, provisional ones included: the id of the next one.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.places.len() as u32
    }

    /// Appends a text and returns its id. It is provisional until [`SymbolLog::publish`]. `None` if
    /// there is no room: no memory, or far beyond LIM-04.
    pub(crate) fn push(&mut self, text: &str) -> Option<u32> {
        let (length, length_bytes) = varint::encode(text.len() as u64);
        let bytes = length_bytes.checked_add(text.len()).filter(|&bytes| bytes <= ENTRY_BYTES_MAX)?;
        let id = self.len();
        let chunk = self.chunk_with_room(bytes, id)?;
        let draft = self.chunks.get_mut(chunk)?;
        let place = (chunk << OFFSET_BITS) | draft.filled;
        self.places.push(u32::try_from(place).ok()?);
        let (head, tail) = draft.spare(bytes).split_at_mut(length_bytes);
        head.copy_from_slice(&length[..length_bytes]);
        tail.copy_from_slice(text.as_bytes());
        draft.filled += bytes;
        Some(id)
    }

    fn chunk_with_room(&mut self, bytes: usize, id: u32) -> Option<usize> {
        if let Some(last) = self.chunks.last_mut() {
            if last.filled == 0 {
                last.first = id;
            }
            if last.writer.len() - last.filled >= bytes {
                return Some(self.chunks.len() - 1);
            }
            if last.filled == 0 {
                self.chunks.pop();
            }
        }
        let chunk = self.chunks.len();
        if chunk >= CHUNKS_MAX {
            return None;
        }
        let usual = CHUNK_BYTES_MIN << chunk.min(CHUNK_DOUBLINGS);
        self.chunks.push(Draft { writer: Writer::heap(usual.max(bytes))?, first: id, filled: 0 });
        Some(chunk)
    }

    /// Takes back all entries from id `len` on. Published ones stay.
    pub(crate) fn truncate(&mut self, len: u32) {
        debug_assert!(len >= self.published, "a published symbol cannot be taken back");
        let len = len.max(self.published) as usize;
        if let Some(&place) = self.places.get(len) {
            let (chunk, offset) = split(place);
            self.chunks.truncate(chunk + 1);
            if let Some(draft) = self.chunks.get_mut(chunk) {
                draft.filled = offset;
            }
            self.places.truncate(len);
        }
    }

    /// The UTF-8 bytes of an entry.
    #[inline]
    pub(crate) fn text(&self, id: u32) -> Option<&[u8]> {
        let (chunk, offset) = split(*self.places.get(id as usize)?);
        let bytes = self.chunks.get(chunk)?.writer.bytes().get(offset..)?;
        let (length, length_bytes) = varint::decode(bytes).ok()?;
        bytes.get(length_bytes..)?.get(..usize::try_from(length).ok()?)
    }

    /// The entries `from..to` as they travel, in few pieces.
    pub(crate) fn wire(&self, from: u32, to: u32) -> impl Iterator<Item = &[u8]> {
        let start = self.place(from);
        let end = self.place(to);
        let last = end.0.min(self.chunks.len().saturating_sub(1));
        self.chunks.iter().enumerate().take(last + 1).skip(start.0).map(move |(index, draft)| {
            let from = if index == start.0 { start.1 } else { 0 };
            let to = if index == end.0 { end.1 } else { draft.filled };
            draft.writer.bytes().get(from..to).unwrap_or_default()
        })
    }

    /// Where the entry begins, or the end of everything.
    fn place(&self, id: u32) -> (usize, usize) {
        self.places.get(id as usize).map_or((self.chunks.len(), 0), |&place| split(place))
    }

    /// Lets the other end see the entries below `len`, for good. Call it before the frames that use
    /// them are published.
    pub(crate) fn publish(&mut self, len: u32) {
        debug_assert!(len <= self.len(), "these entries do not exist");
        if len <= self.published {
            return;
        }
        let (end_chunk, end_offset) = self.place(len);
        let first_changed = self.shared_chunks.saturating_sub(1);
        for (index, draft) in self.chunks.iter_mut().enumerate().skip(first_changed) {
            let end = if index < end_chunk { draft.filled } else { end_offset };
            if index > end_chunk || end == 0 {
                break;
            }
            draft.writer.publish(end - draft.writer.published());
            if index >= self.shared_chunks {
                self.shared_chunks = index + 1;
                let chunk = Chunk { first: draft.first, reader: draft.writer.reader() };
                self.shared.chunks.lock().push(chunk);
            }
        }
        self.published = len;
        self.shared.published.store(len, Ordering::Release);
    }
}

impl Draft {
    /// The next `bytes` bytes.
    fn spare(&mut self, bytes: usize) -> &mut [u8] {
        let start = self.filled - self.writer.published();
        &mut self.writer.spare()[start..start + bytes]
    }
}

/// The I/O thread's end.
#[derive(Debug)]
pub(crate) struct SymbolMirror {
    shared: Arc<Shared>,
    /// Those of the shared chunks that were needed so far.
    chunks: Vec<Chunk>,
    /// Where the last extent ended: catch-up goes on from there.
    at: Place,
}

/// Where an entry begins.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Place {
    id: u32,
    chunk: usize,
    offset: usize,
}

/// Consecutive entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Id of the first entry.
    pub(crate) from: u32,
    /// Id behind the last entry.
    pub(crate) to: u32,
    /// What they take on the wire.
    pub(crate) bytes: usize,
    start: Place,
}

impl SymbolMirror {
    /// Entries that published frames may use.
    pub(crate) fn len(&self) -> u32 {
        self.shared.published.load(Ordering::Acquire)
    }

    /// As many of the entries `from..to` as take at most `bytes_max` on the wire. Empty if not even
    /// the first one fits, or none of them is published.
    pub(crate) fn extent(&mut self, from: u32, to: u32, bytes_max: usize) -> Extent {
        let to = to.min(self.len());
        self.learn();
        let start = self.seek(from, to);
        let mut end = start;
        let mut bytes = 0;
        while start.id == from && end.id < to {
            let Some(next) = self.behind(end) else { break };
            let entry = next.offset - if next.chunk == end.chunk { end.offset } else { 0 };
            if bytes + entry > bytes_max {
                break;
            }
            bytes += entry;
            end = next;
        }
        self.at = end;
        Extent { from, to: end.id.max(from), bytes, start }
    }

    /// The bytes of an extent, in few pieces.
    pub(crate) fn pieces(&self, extent: &Extent) -> impl Iterator<Item = &[u8]> {
        let mut left = extent.bytes;
        let mut offset = extent.start.offset;
        self.chunks.iter().skip(extent.start.chunk).map_while(move |chunk| {
            let rest = chunk.reader.published().get(offset..).unwrap_or_default();
            let piece = rest.get(..left).unwrap_or(rest);
            offset = 0;
            left -= piece.len();
            (!piece.is_empty() || left > 0).then_some(piece)
        })
    }

    /// The place of entry `id`, or of `to` if that comes first.
    fn seek(&self, id: u32, to: u32) -> Place {
        let behind = self.chunks.partition_point(|chunk| chunk.first <= id);
        let chunk = behind.saturating_sub(1);
        let first = self.chunks.get(chunk).map_or(0, |chunk| chunk.first);
        let near = first.max(self.at.id) <= id && self.at.id >= first;
        let mut at = if near { self.at } else { Place { id: first, chunk, offset: 0 } };
        while at.id < id.min(to) {
            let Some(next) = self.behind(at) else { break };
            at = next;
        }
        at
    }

    /// Where the entry behind that at `place` begins, in the chunk in which that one ends.
    fn behind(&self, mut place: Place) -> Option<Place> {
        let next_chunk = place.chunk + 1;
        if self.chunks.get(next_chunk).is_some_and(|chunk| chunk.first <= place.id) {
            place = Place { id: place.id, chunk: next_chunk, offset: 0 };
        }
        let bytes = self.chunks.get(place.chunk)?.reader.published();
        let (length, length_bytes) = varint::decode(bytes.get(place.offset..)?).ok()?;
        let end = place.offset.checked_add(length_bytes)?.checked_add(usize::try_from(length).ok()?)?;
        (end <= bytes.len()).then_some(Place { id: place.id + 1, chunk: place.chunk, offset: end })
    }

    /// Takes over the chunks that came since.
    fn learn(&mut self) {
        let chunks = self.shared.chunks.lock();
        self.chunks.extend(chunks.iter().skip(self.chunks.len()).cloned());
    }
}

fn split(place: u32) -> (usize, usize) {
    let place = place as usize;
    (place >> OFFSET_BITS, place & (CHUNK_BYTES_MAX - 1))
}

/// Bits of a place that hold the offset.
const OFFSET_BITS: u32 = 21;
/// An upper bound of what fits a chunk.
const CHUNK_BYTES_MAX: usize = 1 << OFFSET_BITS;
/// What the other bits of a place can count.
const CHUNKS_MAX: usize = 1 << (32 - OFFSET_BITS);
/// The first chunk. Each later one is twice as large, up to 1 MiB.
const CHUNK_BYTES_MIN: usize = 4096;
const CHUNK_DOUBLINGS: usize = 8;
/// A text of 1 MiB (LIM-04) and its length.
const ENTRY_BYTES_MAX: usize = (1 << 20) + varint::MAX_BYTES;

#[cfg(test)]
mod tests;
