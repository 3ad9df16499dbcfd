//! The producer's half: finds room, lends it, publishes groups of frames at once.

use std::sync::Arc;

use super::fsn::Fsn;
use super::layout::{ENVELOPE_BYTES, HEADER_BYTES, OVERHEAD_BYTES};
use super::ledger::Ledger;
use super::region::Writer;
use super::ring::Ring;
use super::segment::Open;

/// Appends frames. One exists for each store.
#[derive(Debug)]
pub(crate) struct Appender {
    ledger: Arc<Ledger>,
    ring: Arc<Ring>,
    segment_bytes: usize,
    /// The number of the next frame to be published.
    next: Fsn,
    /// The last segment of the chain, if it may still take frames. It holds at least one.
    open: Option<Open>,
    /// Segments of the group under way, behind `open`. Empty between groups.
    drafts: Vec<Open>,
    /// Blocks without readers, for the next segments.
    spares: Vec<Writer>,
}

/// Why a group of frames cannot be appended now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The store is full. Wait for room with [`Ledger::wait_room`] and this epoch, then try again.
    Full { epoch: i64 },
    /// A frame may be larger than any segment takes ([`Appender::max_frame`]).
    FrameTooLarge { bytes: usize, bytes_max: usize },
    /// The group needs more segments than the store may ever hold (PUB-13).
    NeverFits { segments: u64, segments_max: u64 },
    /// The machine has no memory for another segment.
    NoMemory { bytes: usize },
}

impl Appender {
    pub(super) fn new(ledger: Arc<Ledger>, ring: Arc<Ring>, segment_bytes: usize) -> Appender {
        Appender {
            ledger,
            ring,
            segment_bytes,
            next: Fsn::FIRST,
            open: None,
            drafts: Vec::new(),
            spares: Vec::new(),
        }
    }

    /// The largest payload (FMT-14).
    #[inline]
    pub(crate) fn max_frame(&self) -> usize {
        self.segment_bytes - OVERHEAD_BYTES
    }

    /// Makes room for a group of frames, `bounds` being the most bytes that each may take. Once it
    /// has succeeded [`Appender::begin`] with these bounds will, until something else is appended.
    pub(crate) fn reserve(&mut self, bounds: &[usize]) -> Result<(), Refused> {
        let epoch = self.ledger.room_epoch();
        let bytes_max = self.max_frame();
        if let Some(&bytes) = bounds.iter().find(|&&bytes| bytes > bytes_max) {
            return Err(Refused::FrameTooLarge { bytes, bytes_max });
        }
        let mut needed = self.segments_for(self.open.as_ref().map_or(0, Open::room), bounds);
        if needed as u64 > self.ledger.segments_left() {
            let from_scratch = self.segments_for(0, bounds);
            let (segments, segments_max) = (from_scratch as u64, self.ledger.segments_max());
            if segments > segments_max {
                return Err(Refused::NeverFits { segments, segments_max });
            }
            if self.ledger.unacked() > 0 {
                return Err(Refused::Full { epoch });
            }
            self.ring.clear(self.open.take(), &self.ledger);
            needed = from_scratch;
        }
        while self.spares.len() < needed {
            let block = self.ring.reuse().or_else(|| Writer::heap(self.segment_bytes));
            self.spares.push(block.ok_or(Refused::NoMemory { bytes: self.segment_bytes })?);
        }
        Ok(())
    }

    /// Begins a group, making room for it first: see [`Appender::reserve`].
    pub(crate) fn begin(&mut self, bounds: &[usize]) -> Result<Group<'_>, Refused> {
        self.reserve(bounds)?;
        Ok(Group { appender: self, frames: 0, lent: 0 })
    }

    /// How many new segments frames of at most these sizes need, in order, the current one having
    /// `room` bytes left. Smaller frames never need more: each begins no later in the chain.
    fn segments_for(&self, mut room: usize, bounds: &[usize]) -> usize {
        let mut segments = 0;
        for bytes in bounds {
            let record = bytes.saturating_add(ENVELOPE_BYTES);
            if record > room {
                segments += 1;
                room = self.segment_bytes - HEADER_BYTES;
            }
            room = room.saturating_sub(record);
        }
        segments
    }

    fn current(&mut self) -> Option<&mut Open> {
        self.drafts.last_mut().or(self.open.as_mut())
    }
}

/// Frames that become visible together, or not at all: dropping it takes them back (PUB-06).
#[derive(Debug)]
pub(crate) struct Group<'a> {
    appender: &'a mut Appender,
    /// Frames sealed so far.
    frames: u64,
    /// Bytes lent for the frame under way.
    lent: usize,
}

impl Group<'_> {
    /// The space for the next frame, `bytes_max` long, inside the store. What it holds is left over
    /// from earlier frames. `None` beyond what was reserved.
    #[inline]
    pub(crate) fn frame(&mut self, bytes_max: usize) -> Option<&mut [u8]> {
        let record = bytes_max.checked_add(ENVELOPE_BYTES)?;
        if self.appender.current().is_none_or(|open| open.room() < record) {
            let base = self.appender.next.plus(self.frames);
            let open = Open::begin(self.appender.spares.pop()?, base);
            if open.room() < record {
                self.appender.spares.push(open.into_writer());
                return None;
            }
            self.appender.drafts.push(open);
        }
        self.lent = bytes_max;
        self.appender.current().map(|open| open.payload(bytes_max))
    }

    /// Ends the frame that was written to the front of [`Group::frame`]'s space.
    #[inline]
    pub(crate) fn seal(&mut self, payload_bytes: usize) {
        assert!((1..=self.lent).contains(&payload_bytes), "FMT-13: a frame has 1 byte to what was lent");
        self.lent = 0;
        let bytes = u32::try_from(payload_bytes).expect("FMT-05: segments are smaller than 4 GiB");
        if let Some(open) = self.appender.current() {
            open.seal(bytes);
            self.frames += 1;
        }
    }

    /// Publishes the sealed frames at once and returns the number of the last one.
    pub(crate) fn publish(self) -> Fsn {
        assert!(self.frames > 0, "a group has at least one frame");
        let frames = self.frames;
        let appender = &mut *self.appender;
        // Bytes first, the FSN last: readers go by the FSN, so the group appears at once.
        for segment in appender.open.iter_mut().chain(&mut appender.drafts) {
            segment.publish();
        }
        if !appender.drafts.is_empty() {
            appender.open =
                appender.ring.rotate(appender.open.take(), appender.drafts.drain(..), &appender.ledger);
        }
        appender.next = appender.next.plus(frames);
        let last = appender.next.back();
        appender.ledger.publish(last);
        last
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        // Nothing is left to take back once it was published.
        if let Some(open) = &mut self.appender.open {
            open.take_back();
        }
        let drafts = self.appender.drafts.drain(..).map(Open::into_writer);
        self.appender.spares.extend(drafts);
    }
}
