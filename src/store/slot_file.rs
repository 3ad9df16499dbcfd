//! A file of a slot that is opened when it is first needed: a recovery on a full disk may have left it
//! to be written first.

use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::{Access, Disk, DiskFile, DiskResult};

#[derive(Debug)]
pub(super) struct SlotFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    handle: Mutex<Option<Arc<dyn DiskFile>>>,
}

impl SlotFile {
    pub(super) fn new(disk: &Arc<dyn Disk>, dir: &Path, name: &str) -> SlotFile {
        SlotFile { disk: Arc::clone(disk), path: dir.join(name), handle: Mutex::default() }
    }

    /// The open file. The lock is not held while it is used.
    pub(super) fn get(&self) -> DiskResult<Arc<dyn DiskFile>> {
        let mut handle = self.handle.lock();
        if let Some(handle) = &*handle {
            return Ok(Arc::clone(handle));
        }
        let opened: Arc<dyn DiskFile> = self.disk.open(&self.path, Access::Write)?.into();
        *handle = Some(Arc::clone(&opened));
        Ok(opened)
    }
}
