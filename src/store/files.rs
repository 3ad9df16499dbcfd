//! The files of a slot, as the producer, the I/O thread and the keeper share them.
//!
//! The producer takes spares, extends the dictionary and writes the manifest when it rotates; the I/O
//! thread says that something was acknowledged; everything slow is the keeper's (PUB-01). Whoever has
//! work for the keeper raises a flag and rings its bell.

use parking_lot::Mutex;
use std::path::PathBuf;
use std::result;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::bounds::Bounds;
use super::disk::Disk;
use super::fsn::Fsn;
use super::keeper::Bell;
use super::segment::{Blank, Open};
use super::slot_file::SlotFile;
use super::symbol_file::SymbolFile;
use crate::config::Durability;
use crate::error::{Error, Result};
use crate::time::Clock;

#[derive(Debug)]
pub(super) struct Files {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) dir: PathBuf,
    pub(super) durability: Durability,
    pub(super) bounds: Bounds,
    pub(super) symbols: SymbolFile,
    pub(super) watermark: Arc<SlotFile>,
    pub(super) spares: Mutex<Spares>,
    /// The segment being written to, while the producer is not at it.
    pub(super) parked: Mutex<Option<Open>>,
    pub(super) signs: Signs,
    bell: Bell,
    troubles: Mutex<Troubles>,
    /// The lock of the slot; whoever still shares the files when nobody closes them keeps it (LOCK-11).
    pub(super) hold: Mutex<Option<Hold>>,
}

/// What keeps others out of the slot.
pub(super) type Hold = super::lock::SlotLock;

/// Segments that are ready for the producer.
#[derive(Debug)]
pub(super) struct Spares {
    pub(super) ready: Vec<Blank>,
    /// How many of them the producer waits for, or soon will.
    pub(super) wanted: usize,
    /// How many are made without being asked for: none until the producer found too few.
    pub(super) target: usize,
    /// That of the next file (FMT-06).
    pub(super) generation: u64,
}

/// What the keeper is asked to look at.
#[derive(Debug, Default)]
pub(super) struct Signs {
    /// The bell was rung and not heard yet.
    rung: AtomicBool,
    /// There is a new segment whose header and place in the manifest have to be synced.
    pub(super) rotated: AtomicBool,
    /// Everything is acknowledged, and the segment being written to is more than half full.
    pub(super) idle: AtomicBool,
    /// Frames were published since the last pass began.
    pub(super) dirty: AtomicBool,
    /// A recovery on a full disk left steps that come before anything is added or trimmed.
    pub(super) unrepaired: AtomicBool,
    /// The last pass failed.
    pub(super) overdue: AtomicBool,
}

/// What keeps the disk from doing what it should.
#[derive(Debug, Default)]
struct Troubles {
    /// Why there is no spare, or no trim.
    room: Option<Error>,
    /// Why the last pass failed, and since when passes do.
    pass: Option<(Instant, Error)>,
}

/// Most spares that are made without being asked for.
const SPARES_MAX: usize = 8;

impl Files {
    pub(super) fn new(parts: Parts, bell: Bell) -> Files {
        let Parts { disk, dir, durability, bounds, symbols, watermark, generation, hold } = parts;
        let spares = Spares { ready: Vec::new(), wanted: 0, target: 0, generation };
        Files {
            disk,
            dir,
            durability,
            bounds,
            symbols,
            watermark,
            spares: Mutex::new(spares),
            parked: Mutex::default(),
            signs: Signs::default(),
            bell,
            troubles: Mutex::default(),
            hold: Mutex::new(hold),
        }
    }

    /// Takes up to `count` spares.
    pub(super) fn take_spares(&self, count: usize, into: &mut Vec<Blank>) {
        let mut spares = self.spares.lock();
        let taken = count.min(spares.ready.len());
        into.extend(spares.ready.drain(..taken));
        spares.wanted = spares.wanted.saturating_sub(taken);
        if taken < count {
            spares.target = SPARES_MAX;
        }
    }

    /// Whether a recovery has not come to its end yet.
    pub(super) fn is_unrepaired(&self) -> bool {
        self.signs.unrepaired.load(Ordering::Acquire)
    }

    /// Asks for as many spares.
    pub(super) fn want_spares(&self, count: usize) {
        let mut spares = self.spares.lock();
        spares.wanted = spares.wanted.max(count);
        drop(spares);
        self.ring();
    }

    /// The segment that begins with `base` may get frames (PUB-07).
    pub(super) fn cover(&self, base: Fsn) -> Result<()> {
        Ok(self.bounds.cover(base)?)
    }

    /// Begins an empty segment that takes the next frame, number `next`.
    pub(super) fn begin_empty(&self, blank: Blank, next: Fsn) -> result::Result<Open, (Blank, Error)> {
        let mut open = Open::begin(blank, next);
        match open.announce().and_then(|()| self.cover(next)) {
            Ok(()) => {
                open.publish();
                Ok(open)
            }
            Err(error) => Err((open.into_blank(), error)),
        }
    }

    /// Everything is acknowledged, and the segment being written to is more than half full: it may be
    /// given up if nothing else comes (PUB-18).
    pub(super) fn idle(&self) {
        if !self.signs.idle.swap(true, Ordering::AcqRel) {
            self.ring();
        }
    }

    /// There is a new segment.
    pub(super) fn rotated(&self) {
        self.signs.rotated.store(true, Ordering::Release);
        self.ring();
    }

    /// Frames were published.
    #[inline]
    pub(super) fn published(&self) {
        // The swap and that of the keeper, which looks at what is published behind its own, order each
        // other: either it sees these frames, or this sees that it has to ring.
        if self.durability == Durability::Periodic && !self.signs.dirty.swap(true, Ordering::AcqRel) {
            self.ring();
        }
    }

    /// Has the keeper look at this slot.
    pub(super) fn ring(&self) {
        if !self.signs.rung.swap(true, Ordering::AcqRel) {
            self.bell.ring();
        }
    }

    /// The keeper is about to look.
    pub(super) fn heard(&self) {
        // What a ringing thread did before is seen from here on, or it rings again.
        self.signs.rung.swap(false, Ordering::AcqRel);
    }

    /// Why there is no room, if the disk is to blame (PUB-15).
    pub(super) fn trouble(&self) -> Option<Error> {
        self.troubles.lock().room.clone()
    }

    pub(super) fn set_trouble(&self, trouble: Option<Error>) {
        let mut troubles = self.troubles.lock();
        if let Some(error) = trouble.as_ref().filter(|_| troubles.room.is_none()) {
            log::warn!("store: {error}; tried again");
        }
        troubles.room = trouble;
    }

    /// Remembers how a pass ended.
    pub(super) fn pass_ended(&self, failure: Option<Error>, now: Instant) {
        self.signs.overdue.store(failure.is_some(), Ordering::Release);
        let mut troubles = self.troubles.lock();
        if let Some(error) = failure.as_ref().filter(|_| troubles.pass.is_none()) {
            log::warn!("store: {error}; the pass is tried again");
        }
        let since = troubles.pass.as_ref().map_or(now, |(since, _)| *since);
        troubles.pass = failure.map(|error| (since, error));
    }

    /// Fails once passes have been failing for an interval (DUR-05).
    pub(super) fn check_passes(&self, interval: Duration, clock: &dyn Clock) -> Result<()> {
        if !self.signs.overdue.load(Ordering::Acquire) {
            return Ok(());
        }
        let now = clock.now();
        match &self.troubles.lock().pass {
            Some((since, error)) if now.saturating_duration_since(*since) > interval => Err(error.clone()),
            _ => Ok(()),
        }
    }
}

/// What [`Files`] are made of.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) dir: PathBuf,
    pub(super) durability: Durability,
    pub(super) bounds: Bounds,
    pub(super) symbols: SymbolFile,
    pub(super) watermark: Arc<SlotFile>,
    pub(super) generation: u64,
    pub(super) hold: Option<Hold>,
}
