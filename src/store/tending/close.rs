//! The end of a slot (CLOSE-03, CLOSE-04).

use std::sync::atomic::Ordering;

use crossbeam_channel::Sender;

use super::{Tending, Work};
use crate::config::Durability;
use crate::error::{Error, Result};
use crate::store::disk::DiskResult;
use crate::store::lock::LogicalLock;
use crate::store::names;
use crate::store::ring::Sealed;
use crate::time::Deadline;

/// An order to close a slot. The producer and the I/O thread have let go of it.
#[derive(Debug)]
pub(in crate::store) struct Close {
    /// When a last pass is not worth beginning another step of.
    pub(in crate::store) until: Deadline,
    /// Told when the lock is released, with the first thing that went wrong.
    pub(in crate::store) done: Sender<Result<()>>,
}

/// What becomes of a slot that its sender lets go of.
#[derive(Debug)]
pub(in crate::store) enum Order {
    Close(Close),
    /// Somebody may still work with the files, and has the lock as long as that.
    Forget,
}

/// Left behind by others and of no use in an empty slot.
const LITTER: [&str; 3] = [names::FAILED, names::LAST_ERROR, ".slot-epoch"];

impl Tending {
    /// Has the slot closed; the answer comes through [`Close::done`].
    pub(in crate::store) fn order(&self, order: Order) {
        *self.order.lock() = Some(order);
        self.place.files.ring();
    }

    /// Closes the slot, and releases its lock last (LOCK-11).
    pub(super) fn carry_out(&self, close: Close, work: &mut Work) {
        let drained = self.place.ledger.unacked() == 0;
        let closed = match drained {
            true => self.empty(work),
            false => self.leave(work, close.until),
        };
        self.place.files.spares.lock().ready.clear();
        drop(self.place.files.hold.lock().take());
        // Whoever asked may have gone.
        let _ = close.done.send(closed.map_err(Error::from));
    }

    /// Everything is acknowledged: removes all files but the lock's. Each prefix of this recovers to
    /// "empty" or "all acknowledged"; the first failure ends it.
    fn empty(&self, work: &mut Work) -> DiskResult<()> {
        let files = &self.place.files;
        files.watermark.get()?.sync()?;
        files.bounds.close()?;
        files.bounds.sync()?;
        let names = files.disk.list(&files.dir)?;
        let mut own = Vec::new();
        let spares = std::mem::take(&mut files.spares.lock().ready);
        let chain = work.doomed.drain(..).chain(self.place.ring.dissolve()).map(|Sealed { file, .. }| file);
        for file in chain.chain(spares.into_iter().filter_map(|spare| spare.file)) {
            file.unlink()?;
            own.extend(file.path().file_name().map(std::ffi::OsStr::to_os_string));
        }
        files.disk.sync_dir(&files.dir)?;
        let is_foreign = |name: &str| names::is_segment(name) && !own.iter().any(|own| own == name);
        if names.iter().any(|entry| is_foreign(&entry.name)) {
            // Never without a manifest (FMT-08).
            return Ok(());
        }
        for name in [names::WATERMARK, names::DICTIONARY, names::MANIFEST] {
            match files.disk.unlink(&files.dir.join(name)) {
                // Another client left none.
                Err(error) if error.is_not_found() => {}
                result => result?,
            }
        }
        for litter in names.iter().filter(|entry| LITTER.contains(&entry.name.as_str())) {
            files.disk.unlink(&files.dir.join(&litter.name))?;
        }
        files.disk.sync_dir(&files.dir)?;
        // LOCK-08; somebody who is opening the slot right now keeps them.
        if let Some(lock) = LogicalLock::try_acquire(&*files.disk, &files.dir) {
            let _ = lock.remove(&*files.disk);
        }
        Ok(())
    }

    /// Frames are left: makes them last where that was asked for, and leaves them.
    fn leave(&self, work: &mut Work, until: Deadline) -> DiskResult<()> {
        let files = &self.place.files;
        let passed = match files.durability {
            Durability::Memory => Ok(()),
            Durability::Periodic | Durability::Append => self.last_pass(work, until),
        };
        for spare in std::mem::take(&mut files.spares.lock().ready) {
            // One that stays is found by the next open.
            let _ = spare.file.map(|file| file.unlink());
        }
        passed
    }

    fn last_pass(&self, work: &mut Work, until: Deadline) -> DiskResult<()> {
        self.place.files.watermark.get()?.sync()?;
        for job in self.pass_jobs() {
            if until.passed(self.place.clock.now()) {
                self.place.files.signs.dirty.store(true, Ordering::Release);
                log::warn!("store: the last pass over the files was not finished in time");
                break;
            }
            self.carry(job, work)?;
        }
        Ok(())
    }
}
