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
    #[expect(
        clippy::cast_possible_truncation,
        reason = "places count entries of a byte at least within 4 GiB"
    )]
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
    /// Where the last look began: the next one is often near.
    at: Place,
}

/// Where an entry begins.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Place {
    id: u32,
    chunk: usize,
    offset: usize,
}

impl SymbolMirror {
    /// Entries that published frames may use.
    pub(crate) fn len(&self) -> u32 {
        self.shared.published.load(Ordering::Acquire)
    }

    /// The entries from id `from` on as they travel: up to id `to`, or to the end of a chunk if that
    /// comes first. Empty if none of them is published.
    pub(crate) fn entries(&mut self, from: u32, to: u32) -> &[u8] {
        let to = to.min(self.len());
        if from >= to {
            return &[];
        }
        self.learn();
        self.at = self.seek(from);
        let end = match self.chunks.get(self.at.chunk + 1) {
            Some(next) if next.first <= to => self.published(self.at.chunk).len(),
            _ => self.walk(self.at, to).offset,
        };
        self.published(self.at.chunk).get(self.at.offset..end).unwrap_or_default()
    }

    /// The place of a published entry.
    fn seek(&self, id: u32) -> Place {
        let behind = self.chunks.partition_point(|chunk| chunk.first <= id);
        let chunk = behind.saturating_sub(1);
        let first = self.chunks.get(chunk).map_or(0, |chunk| chunk.first);
        let near = self.at.chunk == chunk && (first..=id).contains(&self.at.id);
        self.walk(if near { self.at } else { Place { id: first, chunk, offset: 0 } }, id)
    }

    /// Goes on to entry `id` of the same chunk, or to the chunk's end.
    fn walk(&self, mut place: Place, id: u32) -> Place {
        let bytes = self.published(place.chunk);
        while place.id < id
            && let Some(Ok((length, length_bytes))) = bytes.get(place.offset..).map(varint::decode)
            && let Ok(length) = usize::try_from(length)
        {
            place.offset += length_bytes + length;
            place.id += 1;
        }
        place
    }

    fn published(&self, chunk: usize) -> &[u8] {
        self.chunks.get(chunk).map_or(&[], |chunk| chunk.reader.published())
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
