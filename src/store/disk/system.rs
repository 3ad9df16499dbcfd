//! The machine's own file system.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{FallocateFlags, Mode, OFlags};

use super::{Access, Disk, DiskError, DiskFile, DiskResult, Entry, FileId, FileKind, Metadata};

/// FMT-02: nobody but the owner.
const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// The machine's own file system.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SystemDisk;

#[derive(Debug)]
struct SystemFile {
    file: File,
    path: PathBuf,
}

fn failed<'p>(action: &'static str, path: &'p Path) -> impl Fn(io::Error) -> DiskError + 'p {
    move |cause| DiskError::new(action, path, cause)
}

impl Disk for SystemDisk {
    fn create_dir(&self, path: &Path) -> DiskResult<bool> {
        let failed = failed("create directory", path);
        match self.metadata(path)?.map(|metadata| metadata.kind) {
            Some(FileKind::Directory) => return Ok(false),
            Some(_) => return Err(failed(io::ErrorKind::NotADirectory.into())),
            None => {}
        }
        DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path).map_err(failed)?;
        Ok(true)
    }

    fn list(&self, path: &Path) -> DiskResult<Vec<Entry>> {
        let failed = failed("list directory", path);
        let mut entries = Vec::new();
        for entry in fs::read_dir(path).map_err(&failed)? {
            let entry = entry.map_err(&failed)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            entries.push(Entry { name, kind: kind(entry.file_type().map_err(&failed)?) });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn metadata(&self, path: &Path) -> DiskResult<Option<Metadata>> {
        match fs::symlink_metadata(path) {
            Ok(metadata) => Ok(Some(Metadata {
                kind: kind(metadata.file_type()),
                len: metadata.len(),
                modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                id: id(&metadata),
            })),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(DiskError::new("look at", path, cause)),
        }
    }

    fn open(&self, path: &Path, access: Access) -> DiskResult<Box<dyn DiskFile>> {
        // A pipe of that name must not make us wait for its other end.
        let common = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let flags = match access {
            Access::Read => OFlags::RDONLY,
            Access::Write => OFlags::RDWR,
            Access::Create => OFlags::RDWR | OFlags::CREATE,
            Access::CreateNew => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
        };
        let opened = rustix::io::retry_on_intr(|| {
            rustix::fs::open(path, common | flags, Mode::from_raw_mode(FILE_MODE))
        });
        let file = opened.map(File::from).map_err(|errno| failed("open", path)(errno.into()))?;
        Ok(Box::new(SystemFile { file, path: path.to_owned() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> DiskResult<()> {
        fs::rename(from, to).map_err(failed("rename", from))
    }

    fn unlink(&self, path: &Path) -> DiskResult<()> {
        fs::remove_file(path).map_err(failed("unlink", path))
    }

    fn remove_dir(&self, path: &Path) -> DiskResult<()> {
        fs::remove_dir(path).map_err(failed("remove directory", path))
    }

    fn sync_dir(&self, path: &Path) -> DiskResult<()> {
        let failed = failed("sync directory", path);
        match File::open(path).map_err(&failed)?.sync_all() {
            // DUR-03: not every file system can, and then there is nothing to wait for.
            Err(cause)
                if [io::ErrorKind::InvalidInput, io::ErrorKind::Unsupported].contains(&cause.kind()) =>
            {
                Ok(())
            }
            result => result.map_err(failed),
        }
    }

    fn is_alive(&self, process: u32) -> bool {
        let Some(process) = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw) else {
            return false;
        };
        // Not being permitted to signal it means that it is there.
        rustix::process::test_kill_process(process) != Err(rustix::io::Errno::SRCH)
    }

    fn host(&self) -> String {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }
}

impl SystemFile {
    fn failed(&self, action: &'static str) -> impl Fn(io::Error) -> DiskError + '_ {
        failed(action, &self.path)
    }
}

impl DiskFile for SystemFile {
    fn len(&self) -> DiskResult<u64> {
        self.file.metadata().map(|metadata| metadata.len()).map_err(self.failed("look at"))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> DiskResult<usize> {
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, offset.saturating_add(done as u64)) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(DiskError::new("read", &self.path, cause)),
            }
        }
        Ok(done)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> DiskResult<()> {
        self.file.write_all_at(bytes, offset).map_err(self.failed("write"))
    }

    fn truncate(&self, len: u64) -> DiskResult<()> {
        self.file.set_len(len).map_err(self.failed("truncate"))
    }

    fn allocate(&self, len: u64) -> DiskResult<()> {
        let reserved =
            rustix::io::retry_on_intr(|| rustix::fs::fallocate(&self.file, FallocateFlags::empty(), 0, len));
        reserved.map_err(|errno| DiskError::new("allocate", &self.path, errno.into()))
    }

    fn sync(&self) -> DiskResult<()> {
        self.file.sync_data().map_err(self.failed("sync"))
    }

    fn try_lock(&self) -> DiskResult<bool> {
        self.lock(File::try_lock)
    }

    fn is_locked(&self) -> DiskResult<bool> {
        let free = self.lock(File::try_lock_shared)?;
        if free {
            self.file.unlock().map_err(self.failed("unlock"))?;
        }
        Ok(!free)
    }

    fn id(&self) -> DiskResult<FileId> {
        self.file.metadata().map(|metadata| id(&metadata)).map_err(self.failed("look at"))
    }

    fn mappable(&self) -> Option<&File> {
        Some(&self.file)
    }
}

impl SystemFile {
    /// Only "somebody has it" means that somebody has it (LOCK-04).
    fn lock(&self, lock: impl Fn(&File) -> Result<(), fs::TryLockError>) -> DiskResult<bool> {
        loop {
            match lock(&self.file) {
                Ok(()) => return Ok(true),
                Err(fs::TryLockError::WouldBlock) => return Ok(false),
                Err(fs::TryLockError::Error(cause)) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(fs::TryLockError::Error(cause)) => return Err(DiskError::new("lock", &self.path, cause)),
            }
        }
    }
}

fn kind(file_type: fs::FileType) -> FileKind {
    if file_type.is_file() {
        FileKind::File
    } else if file_type.is_dir() {
        FileKind::Directory
    } else if file_type.is_symlink() {
        FileKind::Link
    } else {
        FileKind::Other
    }
}

fn id(metadata: &fs::Metadata) -> FileId {
    FileId { device: metadata.dev(), inode: metadata.ino() }
}
