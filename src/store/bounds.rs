//! The manifest of a slot: its bounds, written by the producer when it rotates and by the keeper when
//! it trims.

use parking_lot::Mutex;

use super::disk::DiskResult;
use super::fsn::Fsn;
use super::record::{Kind, Record};
use super::segment_file::write_again;
use super::slot_file::SlotFile;

/// The bounds and their file. The lock is never held across a sync, so that the producer does not wait
/// for one.
#[derive(Debug)]
pub(super) struct Bounds {
    file: SlotFile,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    head: i64,
    active: i64,
    /// That of the newest record.
    generation: i64,
    /// The newest record that is on stable storage, as far as is known.
    synced: i64,
    /// A sync failed (DUR-05).
    suspect: bool,
}

impl Bounds {
    /// Goes on behind a record that was found, which may not be on stable storage.
    pub(super) fn new(file: SlotFile, newest: Record) -> Bounds {
        let Record { generation, first: head, second: active } = newest;
        let state = State { head, active, generation, synced: generation - 1, suspect: false };
        Bounds { file, state: Mutex::new(state) }
    }

    /// The segment that begins with `active` may get frames: no sync (PUB-07).
    pub(super) fn cover(&self, active: Fsn) -> DiskResult<()> {
        self.write(|state| state.active = active.as_i64())
    }

    /// Segments below `head` are no longer needed.
    pub(super) fn raise_head(&self, head: Fsn) -> DiskResult<()> {
        self.write(|state| state.head = state.head.max(head.as_i64()).min(state.active))
    }

    /// Nothing in the slot is needed any more (CLOSE-03).
    pub(super) fn close(&self) -> DiskResult<()> {
        self.write(|state| state.head = state.active)
    }

    fn write(&self, change: impl FnOnce(&mut State)) -> DiskResult<()> {
        let mut state = self.state.lock();
        let mut next = *state;
        change(&mut next);
        if (next.head, next.active) == (state.head, state.active) {
            return Ok(());
        }
        // The last durable record is never the one that is being overwritten (PUB-07).
        next.generation += if state.generation > state.synced { 2 } else { 1 };
        let record = Record { generation: next.generation, first: next.head, second: next.active };
        self.file.get()?.write_at(&record.encode(Kind::Manifest), record.offset())?;
        *state = next;
        Ok(())
    }

    /// Makes the newest record last.
    pub(super) fn sync(&self) -> DiskResult<()> {
        let State { generation, synced, suspect, .. } = *self.state.lock();
        if generation == synced {
            return Ok(());
        }
        let file = self.file.get()?;
        if suspect {
            write_again(&*file, 0, u64::MAX)?;
        }
        let result = file.sync();
        let mut state = self.state.lock();
        state.suspect = result.is_err();
        result?;
        state.synced = state.synced.max(generation);
        Ok(())
    }
}
