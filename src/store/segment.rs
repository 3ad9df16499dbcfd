//! One segment, as its producer fills it and as the I/O thread reads it.

use std::ops::Range;
use std::sync::Arc;

use super::fsn::Fsn;
use super::layout::{self, ENVELOPE_BYTES, HEADER_BYTES};
use super::region::{Reader, Writer};
use super::segment_file::SegmentFile;
use crate::error::Result;

/// What a segment is made of: memory without readers, and the file behind it, if there is one. A file
/// has its header and nothing behind it but zeros.
#[derive(Debug)]
pub(super) struct Blank {
    pub(super) writer: Writer,
    pub(super) file: Option<Arc<SegmentFile>>,
}

impl Blank {
    /// Memory alone.
    pub(super) fn memory(writer: Writer) -> Blank {
        Blank { writer, file: None }
    }
}

/// The segment that is being filled.
#[derive(Debug)]
pub(super) struct Open {
    blank: Blank,
    base: Fsn,
    /// Bytes in use, those of frames that are not published yet included.
    /// `writer.published() <= filled <= writer.len()`.
    filled: usize,
    /// The checksum of the first frame, which is held back until the manifest covers the segment: a
    /// file above the manifest's bounds holds no frame (FMT-22, REC-06).
    first_checksum: Option<u32>,
}

impl Open {
    /// Begins a segment.
    pub(super) fn begin(mut blank: Blank, base: Fsn) -> Open {
        let spare = blank.writer.spare();
        match blank.file {
            None => spare[..HEADER_BYTES].copy_from_slice(&layout::header(base)),
            // The rest of the header was written when the file was made.
            Some(_) => spare[BASE].copy_from_slice(&base.as_i64().to_le_bytes()),
        }
        Open { blank, base, filled: HEADER_BYTES, first_checksum: None }
    }

    /// Goes on with a segment that was found; its frames are published.
    pub(super) fn resume(blank: Blank, base: Fsn) -> Open {
        let filled = blank.writer.published();
        Open { blank, base, filled, first_checksum: None }
    }

    pub(super) fn base(&self) -> Fsn {
        self.base
    }

    pub(super) fn reader(&self) -> Reader {
        self.blank.writer.reader()
    }

    pub(super) fn file(&self) -> Option<&Arc<SegmentFile>> {
        self.blank.file.as_ref()
    }

    pub(super) fn len(&self) -> usize {
        self.blank.writer.len()
    }

    /// Whether more than half of it is in use.
    pub(super) fn is_mostly_full(&self) -> bool {
        self.filled > self.len() / 2
    }

    /// Bytes left for envelopes and payloads.
    #[inline]
    pub(super) fn room(&self) -> usize {
        self.blank.writer.len() - self.filled
    }

    /// The space of the next payload. `bytes` and an envelope have to fit [`Open::room`].
    #[inline]
    pub(super) fn payload(&mut self, bytes: usize) -> &mut [u8] {
        let start = self.filled - self.blank.writer.published() + ENVELOPE_BYTES;
        &mut self.blank.writer.spare()[start..start + bytes]
    }

    /// Ends the frame that was written to [`Open::payload`]. The checksum comes last (FMT-10); memory
    /// needs none.
    #[inline]
    pub(super) fn seal(&mut self, payload_bytes: u32) {
        let start = self.filled - self.blank.writer.published();
        let end = start + ENVELOPE_BYTES + payload_bytes as usize;
        let record = &mut self.blank.writer.spare()[start..end];
        record[..ENVELOPE_BYTES].copy_from_slice(&layout::envelope(payload_bytes));
        if self.blank.file.is_some() {
            let (checksum, covered) = record.split_at_mut(CHECKSUM_BYTES);
            let crc = layout::frame_crc(covered);
            if self.filled == HEADER_BYTES {
                self.first_checksum = Some(crc);
            } else {
                checksum.copy_from_slice(&crc.to_le_bytes());
            }
        }
        self.filled += ENVELOPE_BYTES + payload_bytes as usize;
    }

    /// Forgets the frames that are not published, and `lent` bytes behind them. In a file they are
    /// wiped, so that they can never be taken for frames (PUB-06, FMT-23).
    pub(super) fn take_back(&mut self, lent: usize) {
        let published = self.blank.writer.published();
        let dirty = self.filled - published + ENVELOPE_BYTES + lent;
        if let Some(file) = &self.blank.file
            && (self.filled > published.max(HEADER_BYTES) || lent > 0)
        {
            // Of a segment that was just begun the header stays.
            let first = HEADER_BYTES.saturating_sub(published);
            let spare = self.blank.writer.spare();
            let end = dirty.min(spare.len());
            if let Some(wiped) = spare.get_mut(first..end) {
                wiped.fill(0);
            }
            file.wiped(published + first);
        }
        self.first_checksum = None;
        self.filled = published.max(HEADER_BYTES);
    }

    /// Writes the header to the file, before the manifest names the segment.
    pub(super) fn announce(&mut self) -> Result<()> {
        let Some(file) = &self.blank.file else { return Ok(()) };
        file.filled(0, &self.blank.writer.bytes()[..HEADER_BYTES])
    }

    /// Completes the frames in the file: only now can the first one be found there.
    pub(super) fn commit(&mut self) -> Result<()> {
        let Some(file) = &self.blank.file else { return Ok(()) };
        let published = self.blank.writer.published();
        if let Some(checksum) = self.first_checksum {
            let start = HEADER_BYTES - published;
            let place = &mut self.blank.writer.spare()[start..start + CHECKSUM_BYTES];
            place.copy_from_slice(&checksum.to_le_bytes());
        }
        file.filled(published, &self.blank.writer.bytes()[published..self.filled])?;
        self.first_checksum = None;
        Ok(())
    }

    /// Lets readers see the sealed frames.
    #[inline]
    pub(super) fn publish(&mut self) {
        self.blank.writer.publish(self.filled - self.blank.writer.published());
    }

    pub(super) fn into_blank(self) -> Blank {
        self.blank
    }
}

/// Where the base stands in a header.
const BASE: Range<usize> = 8..16;
/// The checksum comes first in an envelope.
const CHECKSUM_BYTES: usize = 4;

/// A segment that is being read, with the place of each frame met so far.
#[derive(Debug)]
pub(super) struct Indexed {
    base: Fsn,
    reader: Reader,
    /// Where the envelope of each frame begins, from the first frame on without holes.
    offsets: Vec<u32>,
    /// Where the envelope behind the last indexed frame begins.
    end: usize,
}

impl Indexed {
    pub(super) fn new(base: Fsn, reader: Reader) -> Indexed {
        Indexed { base, reader, offsets: Vec::new(), end: HEADER_BYTES }
    }

    pub(super) fn base(&self) -> Fsn {
        self.base
    }

    /// Whether more than half of it is in use.
    pub(super) fn is_mostly_full(&self) -> bool {
        self.reader.published().len() > self.reader.len() / 2
    }

    /// Makes sure that the place of `fsn` is known; `false` if this segment does not hold it (yet).
    #[inline]
    pub(super) fn reaches(&mut self, fsn: Fsn) -> bool {
        if fsn < self.base {
            return false;
        }
        let wanted = fsn.since(self.base);
        if wanted < self.offsets.len() as u64 {
            return true;
        }
        self.index_up_to(wanted)
    }

    fn index_up_to(&mut self, wanted: u64) -> bool {
        let bytes = self.reader.published();
        while self.offsets.len() as u64 <= wanted {
            let (Some((_, next)), Ok(offset)) = (layout::frame(bytes, self.end), u32::try_from(self.end))
            else {
                return false;
            };
            self.offsets.push(offset);
            self.end = next;
        }
        true
    }

    /// The payload of a frame whose place is known.
    #[inline]
    pub(super) fn payload(&self, fsn: Fsn) -> Option<&[u8]> {
        let index = usize::try_from(fsn.since(self.base)).ok()?;
        let offset = usize::try_from(*self.offsets.get(index)?).ok()?;
        layout::frame(self.reader.published(), offset).map(|(payload, _)| payload)
    }
}
