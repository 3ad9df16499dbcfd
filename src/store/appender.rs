//! The producer's half: finds room, lends it, publishes groups of frames at once.

use std::result;
use std::sync::Arc;

use super::files::Files;
use super::fsn::Fsn;
use super::layout::{ENVELOPE_BYTES, HEADER_BYTES, OVERHEAD_BYTES};
use super::ledger::Ledger;
use super::region::Writer;
use super::ring::Ring;
use super::segment::{Blank, Open};
use crate::error::{Error, Result};

/// Appends frames. One exists for each store.
#[derive(Debug)]
pub(crate) struct Appender {
    ledger: Arc<Ledger>,
    ring: Arc<Ring>,
    segment_bytes: usize,
    /// The number of the next frame to be published.
    next: Fsn,
    /// The last segment of the chain, if it may still take frames. In memory it holds at least one; on
    /// disk it is parked between groups.
    open: Option<Open>,
    /// Segments of the group under way, behind `open`. Empty between groups.
    drafts: Vec<Open>,
    /// What the next segments are made of.
    spares: Vec<Blank>,
    /// The files behind the segments; none in memory.
    files: Option<Arc<Files>>,
    /// Whether the keeper was asked for a spare since the last rotation.
    asked: bool,
}

/// Why a group of frames cannot be appended now.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The store is full. Wait for room with [`Ledger::wait_room`] and this epoch, then try again.
    Full { epoch: i64 },
    /// A frame may be larger than any segment takes ([`Appender::max_frame`]).
    FrameTooLarge { bytes: usize, bytes_max: usize },
    /// The group needs more segments than the store may ever hold (PUB-13).
    NeverFits { segments: u64, segments_max: u64 },
    /// The machine has no memory for another segment.
    NoMemory { bytes: usize },
    /// The disk failed; nothing was stored. Trying again may help.
    Disk(Error),
}

/// The number that the segment to be filled next begins with, and what there is of it.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) next: Fsn,
    /// None if it has to be made first.
    pub(super) open: Option<Open>,
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
            files: None,
            asked: false,
        }
    }

    /// Goes on in a slot, in the segment that is the last of the ring's chain.
    pub(super) fn in_slot(
        ledger: Arc<Ledger>,
        ring: Arc<Ring>,
        segment_bytes: usize,
        files: Arc<Files>,
        start: Start,
    ) -> Appender {
        let Start { next, open } = start;
        let empty = Appender::new(ledger, ring, segment_bytes);
        *files.parked.lock() = open;
        Appender { next, files: Some(files), ..empty }
    }

    /// Gives up everything that is mapped: the store is closed.
    pub(crate) fn close(&mut self) {
        if let Some(files) = self.files.take() {
            files.parked.lock().take();
        }
        self.spares.clear();
    }

    /// The largest payload (FMT-14).
    #[inline]
    pub(crate) fn max_frame(&self) -> usize {
        self.segment_bytes - OVERHEAD_BYTES
    }

    /// Makes room for a group of frames, `bounds` being the most bytes that each may take. Once it
    /// has succeeded [`Appender::begin`] with these bounds will, until something else is appended.
    pub(crate) fn reserve(&mut self, bounds: &[usize]) -> result::Result<(), Refused> {
        let epoch = self.ledger.room_epoch();
        let bytes_max = self.max_frame();
        if let Some(&bytes) = bounds.iter().find(|&&bytes| bytes > bytes_max) {
            return Err(Refused::FrameTooLarge { bytes, bytes_max });
        }
        if let Some(files) = self.files.as_ref().filter(|files| files.is_unrepaired()) {
            files.ring();
            return Err(Refused::Full { epoch });
        }
        let needed = self.segments_needed(bounds);
        if needed <= self.spares.len() {
            return Ok(());
        }
        let from_scratch = self.segments_for(0, bounds) as u64;
        let segments_max = self.ledger.segments_max();
        if needed as u64 > self.ledger.segments_left() && from_scratch > segments_max {
            return Err(Refused::NeverFits { segments: from_scratch, segments_max });
        }
        match self.files.clone() {
            None => self.take_blocks(needed, bounds, epoch),
            Some(files) => self.take_files(&files, needed, bounds, epoch),
        }
    }

    /// Finds memory for the segments that a group needs.
    fn take_blocks(
        &mut self,
        mut needed: usize,
        bounds: &[usize],
        epoch: i64,
    ) -> result::Result<(), Refused> {
        if needed as u64 > self.ledger.segments_left() {
            if self.ledger.unacked() > 0 {
                return Err(Refused::Full { epoch });
            }
            self.ring.clear(self.open.take(), &self.ledger);
            needed = self.segments_needed(bounds);
        }
        while self.spares.len() < needed {
            let block = self.ring.reuse().or_else(|| Writer::heap(self.segment_bytes));
            let block = block.ok_or(Refused::NoMemory { bytes: self.segment_bytes })?;
            self.spares.push(Blank::memory(block));
        }
        Ok(())
    }

    /// Takes the files that the keeper has prepared; if they are too few it is asked for more, and the
    /// producer waits for it as for room (PUB-11).
    fn take_files(
        &mut self,
        files: &Files,
        mut needed: usize,
        bounds: &[usize],
        epoch: i64,
    ) -> result::Result<(), Refused> {
        files.take_spares(needed - self.spares.len(), &mut self.spares);
        let missing = needed.saturating_sub(self.spares.len());
        // All is acknowledged and the segment being written to is in the way: it is rotated away.
        if missing as u64 > self.ledger.segments_left()
            && self.ledger.unacked() == 0
            && self.open.as_ref().is_some_and(|open| open.base() != self.next)
            && let Some(blank) = self.spares.pop()
        {
            self.rotate_away(files, blank)?;
            needed = self.segments_needed(bounds);
        }
        match needed.saturating_sub(self.spares.len()) {
            0 => Ok(()),
            missing => {
                files.want_spares(missing);
                Err(Refused::Full { epoch })
            }
        }
    }

    /// Goes on in an empty segment.
    fn rotate_away(&mut self, files: &Files, blank: Blank) -> result::Result<(), Refused> {
        match files.begin_empty(blank, self.next) {
            Ok(open) => {
                self.open = self.ring.rotate(self.open.take(), std::iter::once(open), &self.ledger);
                self.rotated();
                Ok(())
            }
            Err((blank, cause)) => {
                self.spares.push(blank);
                Err(Refused::Disk(cause))
            }
        }
    }

    /// Leaves the segment where the keeper finds it.
    #[inline]
    fn park(&mut self) {
        if let Some(files) = &self.files {
            *files.parked.lock() = self.open.take();
        }
    }

    fn rotated(&mut self) {
        self.asked = false;
        if let Some(files) = &self.files {
            files.rotated();
        }
    }

    fn segments_needed(&self, bounds: &[usize]) -> usize {
        self.segments_for(self.open.as_ref().map_or(0, Open::room), bounds)
    }

    /// Begins a group, making room for it first: see [`Appender::reserve`].
    pub(crate) fn begin(&mut self, bounds: &[usize]) -> result::Result<Group<'_>, Refused> {
        if let Some(files) = &self.files {
            self.open = files.parked.lock().take();
        }
        if let Err(refused) = self.reserve(bounds) {
            self.park();
            return Err(refused);
        }
        Ok(Group { appender: self, frames: 0, bytes: 0, lent: 0 })
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

    /// Asks for the next spare in time, and says that there is something to sync.
    #[inline]
    fn look_ahead(&mut self, group_bytes: usize) {
        let Some(files) = &self.files else { return };
        files.published();
        // Or if the next group, being like this one, does not fit.
        let nearly_full =
            self.open.as_ref().is_none_or(|open| open.room() < group_bytes.max(open.len() / LOOK_AHEAD));
        if nearly_full && self.spares.is_empty() && !self.asked {
            self.asked = true;
            files.want_spares(1);
        }
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
    /// Bytes of them in their segments.
    bytes: usize,
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
                self.appender.spares.push(open.into_blank());
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
            self.bytes += ENVELOPE_BYTES + payload_bytes;
        }
    }

    /// Publishes the sealed frames at once and returns the number of the last one.
    ///
    /// # Errors
    /// The disk failed; nothing was stored (PUB-06).
    pub(crate) fn publish(mut self) -> result::Result<Fsn, Refused> {
        assert!(self.frames > 0, "a group has at least one frame");
        self.commit().map_err(Refused::Disk)?;
        let frames = self.frames;
        let appender = &mut *self.appender;
        // Bytes first, the FSN last: readers go by the FSN, so the group appears at once.
        for segment in appender.open.iter_mut().chain(&mut appender.drafts) {
            segment.publish();
        }
        if !appender.drafts.is_empty() {
            appender.open =
                appender.ring.rotate(appender.open.take(), appender.drafts.drain(..), &appender.ledger);
            appender.rotated();
        }
        appender.next = appender.next.plus(frames);
        let last = appender.next.back();
        appender.ledger.publish(last);
        appender.look_ahead(self.bytes);
        Ok(last)
    }

    /// Completes the frames in their files, oldest first. A new segment holds none before the manifest
    /// covers it, so that a process that dies in between leaves what FMT-22 wants (PUB-07).
    fn commit(&mut self) -> Result<()> {
        let Appender { open, drafts, files: Some(files), .. } = &mut *self.appender else { return Ok(()) };
        open.as_mut().map_or(Ok(()), Open::commit)?;
        for draft in drafts {
            draft.announce()?;
            files.cover(draft.base())?;
            draft.commit()?;
        }
        Ok(())
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        // Nothing is left to take back once it was published.
        let Appender { open, drafts, spares, files, .. } = &mut *self.appender;
        let mut lent = self.lent;
        if let (Some(files), Some(open), false) = (&files, &open, drafts.is_empty()) {
            // Of segments that are given up again none may stay the active one. On a disk that fails this
            // may fail as well: recovery then goes on behind the last frame (REC-08).
            let _ = files.cover(open.base());
        }
        for mut draft in drafts.drain(..).rev() {
            draft.take_back(std::mem::take(&mut lent));
            spares.push(draft.into_blank());
        }
        if let Some(open) = open {
            open.take_back(lent);
        }
        self.appender.park();
    }
}

/// The part of a segment, as one in so many, that is left when its successor is asked for (PUB-10).
const LOOK_AHEAD: usize = 4;
