//! The seam to the file system.
//!
//! Everything that the store does to files goes through [`Disk`], so that a test can let any call
//! fail, and look at what a power cut would leave (`sim::SimDisk`). Errors name the path and errno.

mod system;

pub(crate) use system::SystemDisk;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::{Error, ErrorKind};

/// The result of a call to the disk.
pub(crate) type DiskResult<T> = Result<T, DiskError>;

/// A file system. Nothing here follows a symbolic link in the last part of a path (FMT-02).
pub(crate) trait Disk: fmt::Debug + Send + Sync {
    /// Creates a directory for its owner only (FMT-02), and its missing parents. `false` if it was
    /// there; a symbolic link in its place is an error.
    fn create_dir(&self, path: &Path) -> DiskResult<bool>;

    /// What is in a directory, in the order of the names. Names that are not UTF-8 belong to nobody
    /// here and are left out.
    fn list(&self, path: &Path) -> DiskResult<Vec<Entry>>;

    /// What stands at a path; `None` if nothing does.
    fn metadata(&self, path: &Path) -> DiskResult<Option<Metadata>>;

    /// Opens a file. One that is created belongs to its owner only (FMT-02).
    fn open(&self, path: &Path, access: Access) -> DiskResult<Box<dyn DiskFile>>;

    /// Gives a file or a directory another name; a file of that name is replaced.
    fn rename(&self, from: &Path, to: &Path) -> DiskResult<()>;

    /// Removes a file.
    fn unlink(&self, path: &Path) -> DiskResult<()>;

    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> DiskResult<()>;

    /// Makes names in a directory last, where the file system knows how to (DUR-03).
    fn sync_dir(&self, path: &Path) -> DiskResult<()>;

    /// Whether a process of this host is alive, and the host's name (LOCK-09).
    fn is_alive(&self, process: u32) -> bool;

    /// The name of this host, as another client of it would have written it.
    fn host(&self) -> String;
}

/// An open file. Dropping it closes it and gives its lock up.
pub(crate) trait DiskFile: fmt::Debug + Send + Sync {
    /// Its bytes.
    fn len(&self) -> DiskResult<u64>;

    /// Fills `buffer` from `offset` on, and returns how many bytes there were.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> DiskResult<usize>;

    /// Writes all of `bytes` at `offset`; beyond the end the file grows. At the end it appends.
    fn write_at(&self, bytes: &[u8], offset: u64) -> DiskResult<()>;

    /// Cuts the file, or fills it with zeros up to `len`.
    fn truncate(&self, len: u64) -> DiskResult<()>;

    /// Gives the first `len` bytes real blocks, and the file at least that length (PUB-09).
    /// [`DiskError::is_unsupported`] where the file system cannot.
    fn allocate(&self, len: u64) -> DiskResult<()>;

    /// Makes contents and length last.
    fn sync(&self) -> DiskResult<()>;

    /// Takes the lock of the file without waiting (LOCK-01); `false` if somebody has it.
    fn try_lock(&self) -> DiskResult<bool>;

    /// Whether somebody has the lock. Takes a shared one for an instant.
    fn is_locked(&self) -> DiskResult<bool>;

    /// Which file it is, whatever its name (LOCK-05).
    fn id(&self) -> DiskResult<FileId>;

    /// The file to be mapped; `None` where it has to be written by [`DiskFile::write_at`] (PUB-09).
    fn mappable(&self) -> Option<&File>;
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reading one that exists.
    Read,
    /// Reading and writing one that exists.
    Write,
    /// Reading and writing, and it is created if it is missing.
    Create,
    /// Reading and writing one that must not exist yet.
    CreateNew,
}

/// What stands under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A device, a socket, a pipe.
    Other,
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The name.
    pub(crate) name: String,
    /// What it names.
    pub(crate) kind: FileKind,
}

/// Which file on which device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileId {
    /// The device.
    pub(crate) device: u64,
    /// The file on it.
    pub(crate) inode: u64,
}

/// What is known of a file without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Metadata {
    /// What it is.
    pub(crate) kind: FileKind,
    /// Its bytes.
    pub(crate) len: u64,
    /// When it was written to last.
    pub(crate) modified: SystemTime,
    /// Which file it is.
    pub(crate) id: FileId,
}

/// A call that failed: what was tried, with which file, and what the system said.
#[derive(Debug)]
pub(crate) struct DiskError {
    /// What was tried, behind "cannot".
    pub(crate) action: &'static str,
    /// With which file.
    pub(crate) path: PathBuf,
    /// What the system said.
    pub(crate) cause: io::Error,
}

impl DiskError {
    pub(crate) fn new(action: &'static str, path: &Path, cause: io::Error) -> DiskError {
        DiskError { action, path: path.to_owned(), cause }
    }

    /// There is no such file.
    pub(crate) fn is_not_found(&self) -> bool {
        self.cause.kind() == io::ErrorKind::NotFound
    }

    /// The disk is full, or the user's share of it.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self.cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }

    /// The file system has no such call.
    pub(crate) fn is_unsupported(&self) -> bool {
        self.cause.kind() == io::ErrorKind::Unsupported
    }
}

impl From<DiskError> for Error {
    #[cold]
    fn from(error: DiskError) -> Error {
        let DiskError { action, path, cause } = error;
        let mut out = Error::new(ErrorKind::Store, format!("cannot {action}")).with("path", path.display());
        if let Some(errno) = cause.raw_os_error() {
            out = out.with("errno", errno);
        }
        // The number is a fact already.
        let text = cause.to_string();
        let text = text.split_once(" (os error").map_or(text.as_str(), |(text, _)| text).to_owned();
        out.because(text).caused_by(cause)
    }
}

/// Reads a whole file of at most `bytes_max`; a longer one is cut there.
pub(crate) fn read_whole(file: &dyn DiskFile, bytes_max: u64) -> DiskResult<Vec<u8>> {
    let mut len = usize::try_from(file.len()?.min(bytes_max)).unwrap_or(usize::MAX);
    let mut bytes = vec![0; len];
    len = file.read_at(&mut bytes, 0)?;
    bytes.truncate(len);
    Ok(bytes)
}

#[cfg(test)]
mod tests;
