//! Who owns a slot (store-and-forward.md 2.9, 6).
//!
//! Three locks, taken in this order: that on the slot's *name*, below the group root, held while a
//! slot is opened, renamed or adopted (LOCK-08); that on the slot's *directory*, held until the
//! store is gone (LOCK-01); and the mutex of Node.js clients, which is only looked at (LOCK-09).

mod node;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::disk::{Access, Disk, DiskError, DiskFile, DiskResult, read_whole};
use super::names;
use crate::error::{Error, ErrorKind, Result};
use crate::time::{Clock, Deadline};

pub(crate) use node::{NodeOwner, node_owner};

/// How often a lock is taken again because its file was replaced meanwhile (LOCK-05).
const TRIES_MAX: usize = 3;
/// How long the lock on a name is waited for (LOCK-08).
const LOGICAL_WAIT: Duration = Duration::from_secs(2);
const LOGICAL_PAUSE: Duration = Duration::from_millis(20);
const PID_BYTES_MAX: u64 = 64;

/// The lock on a slot's directory. Dropping it releases it: last of all (LOCK-11).
#[derive(Debug)]
pub(crate) struct SlotLock {
    _file: Box<dyn DiskFile>,
}

/// The lock on a slot's name. Dropping it releases it.
#[derive(Debug)]
pub(crate) struct LogicalLock {
    _file: Box<dyn DiskFile>,
    lock: PathBuf,
    pid: PathBuf,
}

/// What is held while a slot is being opened.
#[derive(Debug)]
pub(crate) struct Held {
    /// To be kept as long as the slot is owned.
    pub(crate) slot: SlotLock,
    /// To be given up once the slot is open; `None` where it could not be created.
    pub(crate) logical: Option<LogicalLock>,
}

/// Takes the locks of a slot, whose directory exists.
///
/// Waits at most 2 s, for another process that is opening or renaming the same slot.
///
/// # Errors
/// `StoreLocked` if somebody owns it, `Store` if that cannot be found out; nothing has changed.
pub(crate) fn acquire(disk: &dyn Disk, clock: &dyn Clock, slot: &Path) -> Result<Held> {
    let logical = LogicalLock::acquire(disk, clock, slot)?;
    let lock = SlotLock::acquire(disk, slot)?;
    match node_owner(disk, slot, clock.wall())? {
        NodeOwner::Absent => {}
        NodeOwner::Live(holder) => return Err(in_use(slot, &holder)),
        NodeOwner::Abandoned => node::remove(disk, slot)?,
    }
    Ok(Held { slot: lock, logical })
}

impl SlotLock {
    /// Takes the lock of a slot without waiting.
    pub(crate) fn acquire(disk: &dyn Disk, slot: &Path) -> Result<SlotLock> {
        let (lock, pid) = (slot.join(names::LOCK), slot.join(names::LOCK_PID));
        let Some(file) = take(disk, &lock)? else {
            return Err(in_use(slot, &holder(disk, &pid)));
        };
        write_pid(disk, &pid);
        Ok(SlotLock { _file: file })
    }
}

impl LogicalLock {
    /// Takes the lock on a slot's name. `None` if its file cannot be had: a plain open goes on
    /// without it.
    pub(crate) fn acquire(disk: &dyn Disk, clock: &dyn Clock, slot: &Path) -> Result<Option<LogicalLock>> {
        let (Some(root), Some(name)) = (slot.parent(), slot.file_name().and_then(|name| name.to_str()))
        else {
            return Ok(None);
        };
        let folder = root.join(names::SLOT_LOCKS);
        let lock = folder.join(format!("{name}.lock"));
        let pid = folder.join(format!("{name}.lock.pid"));
        if disk.create_dir(&folder).is_err() {
            return Ok(None);
        }
        let deadline = Deadline::after(clock.now(), LOGICAL_WAIT);
        loop {
            match take(disk, &lock) {
                Ok(Some(file)) => {
                    write_pid(disk, &pid);
                    return Ok(Some(LogicalLock { _file: file, lock, pid }));
                }
                Ok(None) if deadline.passed(clock.now()) => return Err(in_use(slot, &holder(disk, &pid))),
                Ok(None) => clock.sleep(LOGICAL_PAUSE),
                Err(_) => return Ok(None),
            }
        }
    }

    /// Takes it if nobody has it, without waiting.
    pub(crate) fn try_acquire(disk: &dyn Disk, slot: &Path) -> Option<LogicalLock> {
        let (lock, pid) = LogicalLock::paths(slot)?;
        let file = take(disk, &lock).ok().flatten()?;
        Some(LogicalLock { _file: file, lock, pid })
    }

    /// Its file, and that with the owner's process.
    fn paths(slot: &Path) -> Option<(PathBuf, PathBuf)> {
        let name = slot.file_name()?.to_str()?;
        let folder = slot.parent()?.join(names::SLOT_LOCKS);
        Some((folder.join(format!("{name}.lock")), folder.join(format!("{name}.lock.pid"))))
    }

    /// Removes the files of the lock while holding it, behind a drained close.
    pub(crate) fn remove(self, disk: &dyn Disk) -> DiskResult<()> {
        match disk.unlink(&self.pid) {
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
        disk.unlink(&self.lock)
    }
}

/// Who holds a slot, as far as it can be seen without taking anything for longer than an instant.
/// `None` if nobody does.
pub(crate) fn look(disk: &dyn Disk, slot: &Path) -> DiskResult<Option<String>> {
    let file = match disk.open(&slot.join(names::LOCK), Access::Read) {
        Ok(file) => file,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(file.is_locked()?.then(|| holder(disk, &slot.join(names::LOCK_PID))))
}

/// Opens and locks a file; `None` if somebody has the lock.
fn take(disk: &dyn Disk, path: &Path) -> DiskResult<Option<Box<dyn DiskFile>>> {
    for _ in 0..TRIES_MAX {
        let file = disk.open(path, Access::Create)?;
        if !file.try_lock()? {
            return Ok(None);
        }
        // Renamed or replaced while we waited: what we locked is not what others will find (LOCK-05).
        let id = file.id()?;
        if disk.metadata(path)?.is_some_and(|metadata| metadata.id == id) {
            return Ok(Some(file));
        }
    }
    let cause = std::io::Error::other("the file is replaced again and again");
    Err(DiskError::new("lock", path, cause))
}

/// For people only: failures are of no consequence (LOCK-07).
fn write_pid(disk: &dyn Disk, path: &Path) {
    let text = format!("{}\n", std::process::id());
    let write = || {
        let file = disk.open(path, Access::Create)?;
        file.truncate(0)?;
        file.write_at(text.as_bytes(), 0)
    };
    if let Err(error) = write() {
        log::debug!("{}", Error::from(error));
    }
}

/// The holder as its file tells it (2.9).
fn holder(disk: &dyn Disk, path: &Path) -> String {
    let read = || read_whole(&*disk.open(path, Access::Read)?, PID_BYTES_MAX);
    let text = read().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    match crate::error::printable(text.trim()) {
        pid if pid.is_empty() => "unknown".to_owned(),
        pid => format!("pid={pid}"),
    }
}

#[cold]
fn in_use(slot: &Path, holder: &str) -> Error {
    Error::new(ErrorKind::StoreLocked, "the slot is in use")
        .with("slot", slot.display())
        .with("", format_args!("holder={holder}"))
        .because("another sender owns it; give each sender a sender_id of its own")
}

#[cfg(test)]
mod tests;
