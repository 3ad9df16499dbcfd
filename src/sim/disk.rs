//! A disk in memory that knows what a power cut would leave of it.
//!
//! Each file has a live and a durable image. A crash keeps of every page that was not synced either
//! the one or the other, as a seed decides; of the names of a directory it keeps those changes that
//! came first, up to some point (file systems order their journals).

mod state;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

use crate::store::disk::{Access, Disk, DiskError, DiskFile, DiskResult, Entry, FileId, FileKind, Metadata};
use state::{Change, State};

/// What is done to a disk, for failing it and for counting it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DiskCall {
    CreateDir,
    List,
    Metadata,
    Open,
    Rename,
    Unlink,
    SyncDir,
    Len,
    Read,
    Write,
    Truncate,
    Allocate,
    Sync,
    Lock,
}

/// The disk. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SimDisk(Arc<Mutex<State>>);

#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    path: std::path::PathBuf,
    file: u64,
    /// Locks belong to the open file, not to the process (LOCK-02).
    handle: u64,
    writable: bool,
}

impl SimDisk {
    /// An empty disk with a root.
    pub(crate) fn new() -> SimDisk {
        SimDisk::default()
    }

    /// Lets the call that comes after `calls` more ones fail with this errno; later ones work again.
    pub(crate) fn fail_after(&self, calls: u64, errno: i32) {
        let mut state = self.0.lock();
        state.fail_at = Some((state.calls + calls, errno));
    }

    /// Lets every call of this kind fail, or work again.
    pub(crate) fn fail_all(&self, call: DiskCall, errno: Option<i32>) {
        let mut state = self.0.lock();
        state.failing.retain(|(failing, _)| *failing != call);
        state.failing.extend(errno.map(|errno| (call, errno)));
    }

    /// Bytes that may still be allocated; `None` for any number.
    pub(crate) fn set_free_bytes(&self, free: Option<u64>) {
        self.0.lock().free_bytes = free;
    }

    /// The process that [`Disk::is_alive`] finds beside this one.
    pub(crate) fn set_alive(&self, process: u32) {
        self.0.lock().alive.push(process);
    }

    /// Sets when a file was written to last.
    pub(crate) fn touch(&self, path: &Path, time: SystemTime) {
        self.0.lock().touch(path, time);
    }

    /// How many calls there were.
    pub(crate) fn calls(&self) -> u64 {
        self.0.lock().calls
    }

    /// The calls since the last time that this was asked, with the names of their threads.
    pub(crate) fn take_log(&self) -> Vec<(DiskCall, String)> {
        std::mem::take(&mut self.0.lock().log)
    }

    /// Everything that is there is durable now.
    pub(crate) fn sync_all(&self) {
        self.0.lock().sync_all();
    }

    /// What a power cut at this instant may leave, as a disk of its own.
    pub(crate) fn crash(&self, rng: &mut fastrand::Rng) -> SimDisk {
        SimDisk(Arc::new(Mutex::new(self.0.lock().crash(rng))))
    }

    /// What the death of the process at this instant leaves: all of it, without the locks.
    pub(crate) fn kill(&self) -> SimDisk {
        SimDisk(Arc::new(Mutex::new(self.0.lock().kill())))
    }

    /// The live bytes of a file.
    pub(crate) fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        self.0.lock().live(path).map(<[u8]>::to_vec)
    }

    /// All files with their live bytes, in the order of their paths.
    pub(crate) fn snapshot(&self) -> Vec<(std::path::PathBuf, Vec<u8>)> {
        self.0.lock().snapshot()
    }

    /// Copies a folder of the machine into this disk, durably.
    pub(crate) fn import(&self, from: &Path, to: &Path) {
        self.create_dir(to).expect("a fresh disk");
        for entry in std::fs::read_dir(from).expect("a folder that exists") {
            let entry = entry.expect("a folder that can be read");
            let target = to.join(entry.file_name());
            if entry.path().is_dir() {
                self.import(&entry.path(), &target);
            } else {
                self.put(&target, &std::fs::read(entry.path()).expect("a file that can be read"));
            }
        }
        self.sync_all();
    }

    /// Makes a file hold these bytes; not durable.
    pub(crate) fn put(&self, path: &Path, bytes: &[u8]) {
        let file = self.open(path, Access::Create).expect("a disk that works");
        file.truncate(0).expect("a disk that works");
        file.write_at(bytes, 0).expect("a disk that works");
    }

    fn call<T>(
        &self,
        call: DiskCall,
        action: &'static str,
        path: &Path,
        act: impl FnOnce(&mut State) -> io::Result<T>,
    ) -> DiskResult<T> {
        let mut state = self.0.lock();
        let result = match state.begin(call) {
            Ok(()) => act(&mut state),
            Err(cause) => Err(cause),
        };
        result.map_err(|cause| DiskError::new(action, path, cause))
    }
}

impl Disk for SimDisk {
    fn create_dir(&self, path: &Path) -> DiskResult<bool> {
        self.call(DiskCall::CreateDir, "create directory", path, |state| match state.kind(path) {
            Some(FileKind::Directory) => Ok(false),
            Some(_) => Err(io::ErrorKind::NotADirectory.into()),
            None => {
                let missing: Vec<_> = path.ancestors().take_while(|p| state.kind(p).is_none()).collect();
                for directory in missing.into_iter().rev() {
                    state.change(Change::Directory(directory.to_owned()));
                }
                Ok(true)
            }
        })
    }

    fn list(&self, path: &Path) -> DiskResult<Vec<Entry>> {
        self.call(DiskCall::List, "list directory", path, |state| state.list(path))
    }

    fn metadata(&self, path: &Path) -> DiskResult<Option<Metadata>> {
        self.call(DiskCall::Metadata, "look at", path, |state| {
            let Some(kind) = state.kind(path) else { return Ok(None) };
            let len = state.live(path).map_or(0, |bytes| bytes.len() as u64);
            let id = FileId { device: 1, inode: state.inode(path).unwrap_or(0) };
            Ok(Some(Metadata { kind, len, modified: state.modified(path), id }))
        })
    }

    fn open(&self, path: &Path, access: Access) -> DiskResult<Box<dyn DiskFile>> {
        let (file, handle) = self.call(DiskCall::Open, "open", path, |state| state.open(path, access))?;
        let writable = access != Access::Read;
        Ok(Box::new(SimFile { disk: self.clone(), path: path.to_owned(), file, handle, writable }))
    }

    fn rename(&self, from: &Path, to: &Path) -> DiskResult<()> {
        self.call(DiskCall::Rename, "rename", from, |state| {
            state.kind(from).ok_or(io::ErrorKind::NotFound)?;
            state.change(Change::Rename(from.to_owned(), to.to_owned()));
            Ok(())
        })
    }

    fn unlink(&self, path: &Path) -> DiskResult<()> {
        self.call(DiskCall::Unlink, "unlink", path, |state| match state.kind(path) {
            Some(FileKind::Directory) => Err(io::ErrorKind::IsADirectory.into()),
            Some(_) => {
                state.change(Change::Remove(path.to_owned()));
                Ok(())
            }
            None => Err(io::ErrorKind::NotFound.into()),
        })
    }

    fn remove_dir(&self, path: &Path) -> DiskResult<()> {
        self.call(DiskCall::Unlink, "remove directory", path, |state| {
            if !state.list(path)?.is_empty() {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
            state.change(Change::Remove(path.to_owned()));
            Ok(())
        })
    }

    fn sync_dir(&self, path: &Path) -> DiskResult<()> {
        self.call(DiskCall::SyncDir, "sync directory", path, |state| {
            state.sync_dir(path);
            Ok(())
        })
    }

    fn is_alive(&self, process: u32) -> bool {
        self.0.lock().alive.contains(&process)
    }

    fn host(&self) -> String {
        "sim".to_owned()
    }
}

impl SimFile {
    fn call<T>(
        &self,
        call: DiskCall,
        action: &'static str,
        act: impl FnOnce(&mut State) -> io::Result<T>,
    ) -> DiskResult<T> {
        self.disk.call(call, action, &self.path, act)
    }

    fn change<T>(
        &self,
        call: DiskCall,
        action: &'static str,
        act: impl FnOnce(&mut State) -> io::Result<T>,
    ) -> DiskResult<T> {
        if !self.writable {
            return Err(DiskError::new(action, &self.path, io::Error::from_raw_os_error(EBADF)));
        }
        self.call(call, action, act)
    }
}

const EBADF: i32 = 9;

impl DiskFile for SimFile {
    fn len(&self) -> DiskResult<u64> {
        self.call(DiskCall::Len, "look at", |state| Ok(state.file(self.file).live.len() as u64))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> DiskResult<usize> {
        self.call(DiskCall::Read, "read", |state| {
            let bytes = &state.file(self.file).live;
            let rest = usize::try_from(offset).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
            let count = rest.len().min(buffer.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            Ok(count)
        })
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> DiskResult<()> {
        self.change(DiskCall::Write, "write", |state| state.write(self.file, bytes, offset))
    }

    fn truncate(&self, len: u64) -> DiskResult<()> {
        self.change(DiskCall::Truncate, "truncate", |state| {
            state.resize(self.file, len);
            Ok(())
        })
    }

    fn allocate(&self, len: u64) -> DiskResult<()> {
        self.change(DiskCall::Allocate, "allocate", |state| state.allocate(self.file, len))
    }

    fn sync(&self) -> DiskResult<()> {
        self.call(DiskCall::Sync, "sync", |state| {
            state.file(self.file).sync();
            Ok(())
        })
    }

    fn try_lock(&self) -> DiskResult<bool> {
        self.call(DiskCall::Lock, "lock", |state| {
            let holder = *state.locks.entry(self.file).or_insert(self.handle);
            Ok(holder == self.handle)
        })
    }

    fn is_locked(&self) -> DiskResult<bool> {
        self.call(DiskCall::Lock, "lock", |state| Ok(state.locks.contains_key(&self.file)))
    }

    fn id(&self) -> DiskResult<FileId> {
        Ok(FileId { device: 1, inode: self.file })
    }

    /// Nobody could see which stores to a mapping were synced.
    fn mappable(&self) -> Option<&std::fs::File> {
        None
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let mut state = self.disk.0.lock();
        if state.locks.get(&self.file) == Some(&self.handle) {
            state.locks.remove(&self.file);
        }
    }
}

#[cfg(test)]
mod tests;
