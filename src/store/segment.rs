//! One segment, as its producer fills it and as the I/O thread reads it.

use super::fsn::Fsn;
use super::layout::{self, ENVELOPE_BYTES, HEADER_BYTES};
use super::region::{Reader, Writer};

/// The segment that is being filled.
#[derive(Debug)]
pub(super) struct Open {
    writer: Writer,
    base: Fsn,
    /// Bytes in use, those of frames that are not published yet included.
    /// `writer.published() <= filled <= writer.len()`.
    filled: usize,
}

impl Open {
    /// Begins a segment in a region without readers.
    pub(super) fn begin(mut writer: Writer, base: Fsn) -> Open {
        writer.spare()[..HEADER_BYTES].copy_from_slice(&layout::header(base));
        Open { writer, base, filled: HEADER_BYTES }
    }

    pub(super) fn base(&self) -> Fsn {
        self.base
    }

    pub(super) fn reader(&self) -> Reader {
        self.writer.reader()
    }

    /// Bytes left for envelopes and payloads.
    #[inline]
    pub(super) fn room(&self) -> usize {
        self.writer.len() - self.filled
    }

    /// The space of the next payload. `bytes` and an envelope have to fit [`Open::room`].
    #[inline]
    pub(super) fn payload(&mut self, bytes: usize) -> &mut [u8] {
        let start = self.filled - self.writer.published() + ENVELOPE_BYTES;
        &mut self.writer.spare()[start..start + bytes]
    }

    /// Ends the frame that was written to [`Open::payload`].
    #[inline]
    pub(super) fn seal(&mut self, payload_bytes: u32) {
        let start = self.filled - self.writer.published();
        let envelope = layout::envelope(payload_bytes);
        self.writer.spare()[start..start + ENVELOPE_BYTES].copy_from_slice(&envelope);
        self.filled += ENVELOPE_BYTES + payload_bytes as usize;
    }

    /// Forgets the frames that are not published.
    pub(super) fn take_back(&mut self) {
        self.filled = self.writer.published();
    }

    /// Lets readers see the sealed frames.
    #[inline]
    pub(super) fn publish(&mut self) {
        self.writer.publish(self.filled - self.writer.published());
    }

    pub(super) fn into_writer(self) -> Writer {
        self.writer
    }
}

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
