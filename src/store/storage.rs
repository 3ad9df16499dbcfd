//! A store in a slot on disk: put together from what was found there, and the sender's handle on it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, bounded};

use super::appender::{Appender, Start};
use super::bounds::Bounds;
use super::cursor::Cursor;
use super::dictionary::Texts;
use super::disk::{Access, Disk, DiskFile};
use super::files::{Files, Hold, Parts};
use super::fsn::Fsn;
use super::keeper::Keeper;
use super::ledger::Ledger;
use super::names;
use super::record::Record;
use super::ring::{Ring, Sealed};
use super::segment::Open;
use super::segment_file::SegmentFile;
use super::symbol_file::{End, SymbolFile};
use super::symbols::{SymbolLog, SymbolMirror, symbols};
use super::tending::{Close, Tending};
use super::watermark::Watermark;
use super::{Config, segment_bytes};
use crate::config::Durability;
use crate::error::{Error, ErrorKind, Result};
use crate::time::{Clock, Deadline};

/// A slot as it was found, or made.
#[derive(Debug)]
pub(super) struct Found {
    /// The chain, oldest first. The last one is gone on with; there is one at least.
    pub(super) segments: Vec<FoundSegment>,
    /// The number of the next frame.
    pub(super) next: Fsn,
    pub(super) acked: Option<Fsn>,
    /// The newest record of the manifest.
    pub(super) bounds: Record,
    /// That of the watermark.
    pub(super) watermark: Option<Record>,
    /// The dictionary, which is that of the file.
    pub(super) texts: Texts,
    /// Where the file of the dictionary ends.
    pub(super) symbols_end: u64,
    /// That of the next segment (FMT-06).
    pub(super) generation: u64,
    /// Frames that are never sent, first and last (REC-18).
    pub(super) dropped: Option<(Fsn, Fsn)>,
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
    pub(crate) symbols: (SymbolLog, SymbolMirror),
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
}

/// Symbols that were written for frames which are not stored yet.
#[derive(Debug)]
#[must_use]
pub(crate) struct Written(Option<End>);

/// Opens what was found. Nobody looks after it before [`Storage::begin`].
pub(super) fn assemble(found: Found, config: &SlotConfig, site: &Site, hold: Hold) -> Result<Opened> {
    let segment_bytes = segment_bytes(config.sizes)?;
    let dir = &config.dir;
    let disk = &site.disk;
    let open =
        |name: &str| -> Result<Arc<dyn DiskFile>> { Ok(disk.open(&dir.join(name), Access::Write)?.into()) };
    let watermark = open(names::WATERMARK)?;
    let entries = u32::try_from(found.texts.len()).unwrap_or(u32::MAX);
    let parts = Parts {
        disk: Arc::clone(disk),
        dir: dir.clone(),
        durability: config.durability,
        bounds: Bounds::new(open(names::MANIFEST)?, found.bounds),
        symbols: SymbolFile::new(open(names::DICTIONARY)?, found.symbols_end, entries),
        watermark: Arc::clone(&watermark),
        generation: found.generation,
        hold: Some(hold),
    };
    let files = Arc::new(Files::new(parts, site.keeper.bell()));
    let segments_max = config.sizes.total_bytes / config.sizes.segment_bytes;
    let ledger = Arc::new(Ledger::new(config.sizes.segment_bytes, segments_max));
    let ring = Arc::new(Ring::default());
    let (start, used) = chain(&found, disk, &ring, &ledger)?;
    let published = (found.next > Fsn::FIRST).then(|| found.next.back());
    let acked = match found.dropped {
        // Nothing stands between what is acknowledged and what is never sent.
        Some((first, last)) if found.acked.map_or(Fsn::FIRST, Fsn::next) >= first => Some(last),
        _ => found.acked,
    };
    ledger.resume(published, acked, used);
    if config.durability != Durability::Memory {
        make_durable(&files, &ring)?;
        published.into_iter().for_each(|fsn| ledger.set_durable(fsn));
    }
    let (shared, interval) = (|| (Arc::clone(&ledger), Arc::clone(&ring)), config.sync_interval);
    let (books, segments) = shared();
    let clock = Arc::clone(&site.clock);
    let tending =
        Arc::new(Tending::new(Arc::clone(&files), books, segments, clock, (segment_bytes, interval)));
    // What was found may not last yet.
    files.rotated();
    let (books, segments) = shared();
    let appender = Appender::in_slot(books, segments, segment_bytes, Arc::clone(&files), start);
    let (books, segments) = shared();
    let watermark = Watermark::new(watermark, found.watermark);
    let cursor = Cursor::in_slot(books, segments, Arc::clone(&files), watermark, found.dropped);
    let symbols = dictionary(&found.texts)?;
    let clock = Arc::clone(&site.clock);
    let storage = Storage { files, ledger: Arc::clone(&ledger), ring, tending, clock, interval };
    Ok(Opened { appender, cursor, ledger, symbols, storage })
}

/// Puts the chain together: where to go on, and the bytes of all segments.
fn chain(found: &Found, disk: &Arc<dyn Disk>, ring: &Ring, ledger: &Ledger) -> Result<(Start, u64)> {
    let Some((active, sealed)) = found.segments.split_last() else {
        return Err(Error::new(ErrorKind::Bug, "a slot without a segment"));
    };
    let mut used = 0;
    for FoundSegment { path, base, end } in sealed {
        let len = disk.metadata(path)?.map_or(0, |metadata| metadata.len);
        used += len;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let file = Arc::new(SegmentFile::found(disk, path, *end));
        ring.adopt(Sealed { base: *base, len, file, writer: None });
    }
    let blank = SegmentFile::resume(disk, &active.path, active.end)?;
    let open = Open::resume(blank, active.base);
    used += open.len() as u64;
    let open = ring.rotate(None, std::iter::once(open), ledger);
    let open = open.ok_or_else(|| Error::new(ErrorKind::Bug, "a segment was lost"))?;
    Ok((Start { next: found.next, open }, used))
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
        if to <= from {
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
    pub(crate) fn close(&self, limit: Duration) -> Result<()> {
        let (done, closed) = bounded(1);
        let until = Deadline::after(self.clock.now(), limit);
        self.tending.order(Close { until, done });
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

/// For the step that is under way, and the steps of a drained close.
const CLOSE_GRACE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
