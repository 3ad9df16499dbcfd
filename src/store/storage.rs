//! A store in a slot on disk: put together from what was found there, and the sender's handle on it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, bounded};

use super::appender::{Appender, Start};
use super::bounds::Bounds;
use super::cursor::Cursor;
use super::dictionary::Texts;
use super::disk::Disk;
use super::epochs::{Epoch, Epochs};
use super::files::{Files, Hold, Parts};
use super::fsn::Fsn;
use super::keeper::Keeper;
use super::ledger::Ledger;
use super::names;
use super::record::Record;
use super::ring::{Ring, Sealed};
use super::segment::Open;
use super::segment_file::SegmentFile;
use super::slot_file::SlotFile;
use super::symbol_file::{End, SymbolFile};
use super::symbols::{SymbolLog, SymbolMirror, symbols};
use super::tending::{Close, Order, Pending, Place, Tending};
use super::watermark::Watermark;
use super::{Config, segment_bytes};
use crate::config::Durability;
use crate::error::{Error, ErrorKind, Result};
use crate::time::{Clock, Deadline};

/// A slot as it was found, or made.
#[derive(Debug)]
pub(super) struct Found {
    /// The chain, oldest first.
    pub(super) segments: Vec<FoundSegment>,
    /// Whether the last one takes further frames; else a new one does.
    pub(super) goes_on: bool,
    /// The number of the next frame.
    pub(super) next: Fsn,
    pub(super) acked: Option<Fsn>,
    /// The newest record of the manifest.
    pub(super) bounds: Record,
    /// That of the watermark.
    pub(super) watermark: Option<Record>,
    /// The dictionary; that of the file, unless new frames have to be dense.
    pub(super) texts: Texts,
    /// Earlier runs of frames with other dictionaries, and the first frame of the last run (REC-13).
    pub(super) older: (Vec<Epoch>, Fsn),
    /// Whether new frames carry all texts that they use, and the file is left alone (REC-13).
    pub(super) dense: bool,
    /// What is to be done to the files before anything is added or trimmed.
    pub(super) pending: Pending,
    /// That of the next segment (FMT-06).
    pub(super) generation: u64,
}

/// A segment of the chain.
#[derive(Debug)]
pub(super) struct FoundSegment {
    pub(super) path: PathBuf,
    pub(super) base: Fsn,
    /// Where its complete frames end.
    pub(super) end: usize,
}

/// Where and how a store is kept on disk.
#[derive(Debug, Clone)]
pub(crate) struct SlotConfig {
    /// The slot.
    pub(crate) dir: PathBuf,
    pub(crate) sizes: Config,
    pub(crate) durability: Durability,
    /// Of passes, with `periodic`.
    pub(crate) sync_interval: Duration,
}

/// What a store on disk works with.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) keeper: Keeper,
}

/// The ends of a store in a slot.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) appender: Appender,
    pub(crate) cursor: Cursor,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) symbols: (SymbolLog, Epochs),
    pub(crate) storage: Storage,
}

/// The sender's handle on its slot. Dropped without [`Storage::close`] the lock goes with the last
/// thread that still works with the files (LOCK-11).
#[derive(Debug)]
pub(crate) struct Storage {
    files: Arc<Files>,
    ledger: Arc<Ledger>,
    ring: Arc<Ring>,
    tending: Arc<Tending>,
    clock: Arc<dyn Clock>,
    interval: Duration,
    dense: bool,
    closed: bool,
    /// Frames that were found and not acknowledged (REP-08).
    recovered: u64,
}

/// Symbols that were written for frames which are not stored yet.
#[derive(Debug)]
#[must_use]
pub(crate) struct Written(Option<End>);

/// Opens what was found. Nobody looks after it before [`Storage::begin`].
pub(super) fn assemble(found: Found, config: &SlotConfig, site: &Site, hold: Hold) -> Result<Opened> {
    let segment_bytes = segment_bytes(config.sizes)?;
    let disk = &site.disk;
    let file = |name: &str| SlotFile::new(disk, &config.dir, name);
    let watermark = Arc::new(file(names::WATERMARK));
    let entries = u32::try_from(found.texts.len()).unwrap_or(u32::MAX);
    let parts = Parts {
        disk: Arc::clone(disk),
        dir: config.dir.clone(),
        durability: config.durability,
        bounds: Bounds::new(file(names::MANIFEST), found.bounds),
        symbols: SymbolFile::new(file(names::DICTIONARY), entries),
        watermark: Arc::clone(&watermark),
        generation: found.generation,
        hold: Some(hold),
    };
    let files = Arc::new(Files::new(parts, site.keeper.bell()));
    files.signs.unrepaired.store(!found.pending.is_empty(), Ordering::Release);
    let segments_max = config.sizes.total_bytes / config.sizes.segment_bytes;
    let ledger = Arc::new(Ledger::new(config.sizes.segment_bytes, segments_max));
    let ring = Arc::new(Ring::default());
    let (open, used) = chain(&found, disk, &ring, &ledger)?;
    let published = (found.next > Fsn::FIRST).then(|| found.next.back());
    ledger.resume(published, found.acked, used);
    if config.durability != Durability::Memory && found.pending.is_empty() {
        make_durable(&files, &ring)?;
        published.into_iter().for_each(|fsn| ledger.set_durable(fsn));
    }
    let recovered = ledger.unacked();
    let place = Place {
        files: Arc::clone(&files),
        ledger: Arc::clone(&ledger),
        ring: Arc::clone(&ring),
        clock: Arc::clone(&site.clock),
    };
    let tending = Arc::new(Tending::new(place, segment_bytes, config.sync_interval, found.pending));
    // What was found may not last yet.
    files.rotated();
    if open.is_none() {
        files.want_spares(1);
    }
    let start = Start { next: found.next, open };
    let appender =
        Appender::in_slot(Arc::clone(&ledger), Arc::clone(&ring), segment_bytes, Arc::clone(&files), start);
    let watermark = Watermark::new(watermark, found.watermark);
    let cursor = Cursor::in_slot(Arc::clone(&ledger), Arc::clone(&ring), Arc::clone(&files), watermark);
    let (log, mirror) = dictionary(&found.texts)?;
    let (older, first) = found.older;
    let symbols = (log, Epochs::new(older, first, mirror));
    let (clock, interval) = (Arc::clone(&site.clock), config.sync_interval);
    let dense = found.dense;
    let books = Arc::clone(&ledger);
    let storage =
        Storage { files, ledger: books, ring, tending, clock, interval, dense, recovered, closed: false };
    Ok(Opened { appender, cursor, ledger, symbols, storage })
}

/// Puts the chain together: where to go on, and the bytes of all segments. It takes no new block but for
/// holes in the segment that takes further frames (PUB-10).
fn chain(found: &Found, disk: &Arc<dyn Disk>, ring: &Ring, ledger: &Ledger) -> Result<(Option<Open>, u64)> {
    let sealed = found.segments.len() - usize::from(found.goes_on && !found.segments.is_empty());
    let mut used = 0;
    for FoundSegment { path, base, end } in found.segments.iter().take(sealed) {
        let len = disk.metadata(path)?.map_or(0, |metadata| metadata.len);
        used += len;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let file = Arc::new(SegmentFile::found(disk, path, *end));
        ring.adopt(Sealed { base: *base, len, file, writer: None });
    }
    let Some(active) = found.segments.get(sealed) else { return Ok((None, used)) };
    let blank = SegmentFile::resume(disk, &active.path, active.end)?;
    let open = Open::resume(blank, active.base);
    used += open.len() as u64;
    Ok((ring.rotate(None, std::iter::once(open), ledger), used))
}

/// DUR-07: what was found lasts before anything is added.
fn make_durable(files: &Files, ring: &Ring) -> Result<()> {
    files.symbols.sync()?;
    files.disk.sync_dir(&files.dir)?;
    sync_segments(files, ring)
}

fn sync_segments(files: &Files, ring: &Ring) -> Result<()> {
    let (old, new): (Vec<_>, Vec<_>) =
        ring.unsynced().into_iter().partition(|file| file.has_durable_header());
    // As in a pass of the keeper.
    new.iter().try_for_each(|file| file.sync())?;
    files.bounds.sync()?;
    old.iter().try_for_each(|file| file.sync())?;
    old.iter().chain(&new).for_each(|file| file.release());
    Ok(())
}

/// Both ends of a dictionary with these texts.
fn dictionary(texts: &Texts) -> Result<(SymbolLog, SymbolMirror)> {
    let (mut log, mirror) = symbols();
    for text in texts.iter() {
        let no_memory = || Error::new(ErrorKind::Store, "no memory for a symbol").with("bytes", text.len());
        log.push(text).ok_or_else(no_memory)?;
    }
    log.publish(log.len());
    Ok((log, mirror))
}

impl Storage {
    /// Has the keeper look after the slot.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(super) fn begin(&self, keeper: &Keeper) -> Result<()> {
        let no_thread = |e| Error::new(ErrorKind::Store, "cannot start the keeper thread").caused_by(e);
        keeper.tend(Arc::clone(&self.tending)).map_err(no_thread)
    }

    /// The slot.
    pub(crate) fn dir(&self) -> &Path {
        &self.files.dir
    }

    /// Whether frames have to carry all texts that they use (REC-13).
    pub(crate) fn is_dense(&self) -> bool {
        self.dense
    }

    /// Frames that an earlier process left, not acknowledged (REP-08).
    pub(crate) fn recovered(&self) -> u64 {
        self.recovered
    }

    /// Why there is no room, if the disk is to blame (PUB-15).
    pub(crate) fn trouble(&self) -> Option<Error> {
        self.files.trouble()
    }

    /// Writes the entries below id `to`, as far as the file lacks them, in front of the frames that use
    /// them (PUB-03). Does not sync.
    ///
    /// # Errors
    /// The disk failed; the file is as it was.
    pub(crate) fn write_symbols(&self, log: &SymbolLog, to: u32) -> Result<Written> {
        let from = self.files.symbols.len();
        if self.dense || to <= from {
            return Ok(Written(None));
        }
        let before = self.files.symbols.append(to - from, log.wire(from, to))?;
        Ok(Written(Some(before)))
    }

    /// The frames are not stored after all (PUB-05).
    pub(crate) fn take_back(&self, written: Written) {
        if let Written(Some(before)) = written {
            self.files.symbols.take_back(before);
        }
    }

    /// Frames were published: makes them last in `append`, on the caller's thread (DUR-06).
    ///
    /// # Errors
    /// The disk failed. The frames are published and may be sent.
    pub(crate) fn flushed(&self) -> Result<()> {
        if self.files.durability != Durability::Append {
            return Ok(());
        }
        let published = self.ledger.published();
        if self.ledger.durable() >= published {
            return Ok(());
        }
        self.files.symbols.sync()?;
        sync_segments(&self.files, &self.ring)?;
        published.into_iter().for_each(|fsn| self.ledger.set_durable(fsn));
        Ok(())
    }

    /// Whether frames may be added as far as syncing goes (DUR-05).
    ///
    /// # Errors
    /// In `periodic`, passes have been failing for longer than their interval.
    pub(crate) fn check(&self) -> Result<()> {
        self.files.check_passes(self.interval, &*self.clock)
    }

    /// Has the keeper close the slot: remove its files if everything is acknowledged, else leave them.
    /// The producer and the I/O thread have let go of it. Waits at most `limit`; what takes longer is
    /// left behind with the lock (CLOSE-05).
    ///
    /// # Errors
    /// What went wrong first with the files.
    pub(crate) fn close(mut self, limit: Duration) -> Result<()> {
        let (done, closed) = bounded(1);
        let limit = match self.files.durability {
            Durability::Memory => limit,
            Durability::Periodic | Durability::Append => limit.saturating_add(LAST_PASS),
        };
        let until = Deadline::after(self.clock.now(), limit);
        self.closed = true;
        self.tending.order(Order::Close(Close { until, done }));
        match closed.recv_timeout(limit.saturating_add(CLOSE_GRACE)) {
            Ok(result) => result,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                Err(Error::new(ErrorKind::Store, "the slot was not closed in time")
                    .with("path", self.files.dir.display())
                    .because("the disk hangs; the lock is kept until it answers"))
            }
        }
    }
}

impl Drop for Storage {
    /// The keeper lets go of the slot as it is.
    fn drop(&mut self) {
        if !self.closed {
            self.tending.order(Order::Forget);
        }
    }
}

/// How much longer than a time-out the last pass may take (CLOSE-04).
const LAST_PASS: Duration = Duration::from_secs(5);
/// For the step that is under way, and the steps of a drained close.
const CLOSE_GRACE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
