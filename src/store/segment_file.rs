//! The file of one segment: what was put into it, what of that lasts, and how it is written.
//!
//! As a rule it is mapped. Where blocks cannot be allocated, or the disk cannot be mapped, the same
//! bytes go through positioned writes (PUB-09): the memory is then on the heap, and a full disk is an
//! error.

use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::disk::{Access, Disk, DiskError, DiskFile, DiskResult};
use super::layout::{ENVELOPE_BYTES, HEADER_BYTES, Header};
use super::region::{Reader, Writer};
use super::segment::Blank;
use crate::error::Result;

#[derive(Debug)]
pub(super) struct SegmentFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// Open while the file is written to or has to be synced.
    handle: Mutex<Option<Arc<dyn DiskFile>>>,
    way: Way,
    /// Bytes of header and complete frames in the file. Rises, but for frames that were taken back.
    filled: AtomicUsize,
    /// Where positioned writes ended, complete or not.
    touched: AtomicUsize,
    /// Bytes that are on stable storage, 0 as long as the header is not.
    durable: AtomicUsize,
    /// Nothing more comes.
    sealed: AtomicBool,
    /// A sync failed: what it was to write may never be written by a later one (DUR-05).
    suspect: AtomicBool,
}

/// How bytes get into a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Mapped,
    Written,
}

impl SegmentFile {
    /// Makes a segment of `len` bytes that holds a header and nothing else. What is left of one that
    /// could not be made is removed (PUB-11).
    pub(super) fn create(
        disk: &Arc<dyn Disk>,
        path: &Path,
        len: usize,
        header: &Header,
    ) -> DiskResult<Blank> {
        let handle: Arc<dyn DiskFile> = disk.open(path, Access::CreateNew)?.into();
        let made = allocate(&*handle, len).and_then(|way| {
            handle.write_at(&header.encode(), 0)?;
            Self::begin(disk, path, handle, way, len)
        });
        if made.is_err() {
            // What remains is a segment without frames: an open removes it (REC-07).
            let _ = disk.unlink(path);
        }
        made
    }

    /// Takes a file that holds a header and nothing else but zeros.
    fn begin(
        disk: &Arc<dyn Disk>,
        path: &Path,
        handle: Arc<dyn DiskFile>,
        way: Way,
        len: usize,
    ) -> DiskResult<Blank> {
        let (way, writer) = memory(&*handle, path, way, len, HEADER_BYTES)?;
        let file = SegmentFile::new(disk, path, Some(handle), way, HEADER_BYTES);
        Ok(Blank { writer, file: Some(Arc::new(file)) })
    }

    /// Goes on with a segment whose complete frames end at `end`. Its rest is allocated first; without
    /// room for that it is written to by position (PUB-09).
    pub(super) fn resume(disk: &Arc<dyn Disk>, path: &Path, end: usize) -> DiskResult<Blank> {
        let handle: Arc<dyn DiskFile> = disk.open(path, Access::Write)?.into();
        let len = usize::try_from(handle.len()?).unwrap_or(usize::MAX);
        let way = handle.allocate(len as u64).map_or(Way::Written, |()| Way::Mapped);
        let (way, mut writer) = memory(&*handle, path, way, len, end)?;
        writer.publish(end);
        let file = SegmentFile::new(disk, path, Some(handle), way, end);
        Ok(Blank { writer, file: Some(Arc::new(file)) })
    }

    /// A segment to which nothing is added any more.
    pub(super) fn found(disk: &Arc<dyn Disk>, path: &Path, end: usize) -> SegmentFile {
        let file = SegmentFile::new(disk, path, None, Way::Mapped, end);
        file.sealed.store(true, Ordering::Release);
        file
    }

    fn new(
        disk: &Arc<dyn Disk>,
        path: &Path,
        handle: Option<Arc<dyn DiskFile>>,
        way: Way,
        filled: usize,
    ) -> SegmentFile {
        SegmentFile {
            disk: Arc::clone(disk),
            path: path.to_owned(),
            handle: Mutex::new(handle),
            way,
            filled: AtomicUsize::new(filled),
            touched: AtomicUsize::new(filled),
            durable: AtomicUsize::new(0),
            sealed: AtomicBool::new(false),
            suspect: AtomicBool::new(false),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Frames were completed: `bytes` hold them, beginning at `from` in the file. Those of a mapping
    /// are there already. The first envelope comes last, so that a file in which not all of them fit
    /// holds none of them.
    pub(super) fn filled(&self, from: usize, bytes: &[u8]) -> Result<()> {
        if self.way == Way::Written && !bytes.is_empty() {
            let handle = self.handle()?;
            // A header that is rewritten comes before anything.
            let (header, frames) = bytes.split_at(HEADER_BYTES.saturating_sub(from).min(bytes.len()));
            let (envelope, rest) = frames.split_at(ENVELOPE_BYTES.min(frames.len()));
            let first = from + header.len();
            self.touched.store(from + bytes.len(), Ordering::Release);
            handle.write_at(header, from as u64)?;
            handle.write_at(rest, (first + envelope.len()) as u64)?;
            handle.write_at(envelope, first as u64)?;
        }
        self.filled.store(from + bytes.len(), Ordering::Release);
        Ok(())
    }

    /// Everything from `from` on was taken back and is to be zeros. Those of a mapping are there already.
    pub(super) fn wiped(&self, from: usize) {
        self.filled.fetch_min(from, Ordering::AcqRel);
        let touched = self.touched.swap(from, Ordering::AcqRel);
        if touched > from
            && let Ok(handle) = self.handle()
        {
            // What fails here is a tail that the next frames overwrite, or that a recovery drops.
            let _ = write_zeros(&*handle, from, touched);
        }
    }

    /// Nothing more comes behind `filled`.
    pub(super) fn sealed(&self, filled: usize) {
        self.filled.store(filled, Ordering::Release);
        self.sealed.store(true, Ordering::Release);
    }

    pub(super) fn is_sealed(&self) -> bool {
        self.sealed.load(Ordering::Acquire)
    }

    /// Whether all of a sealed file is on stable storage.
    pub(super) fn is_durable(&self) -> bool {
        self.is_sealed() && self.durable.load(Ordering::Acquire) >= self.filled.load(Ordering::Acquire)
    }

    /// Whether its header is on stable storage.
    pub(super) fn has_durable_header(&self) -> bool {
        self.durable.load(Ordering::Acquire) > 0
    }

    /// Makes what is in the file last. After a failure the bytes are written again first (DUR-05).
    pub(super) fn sync(&self) -> DiskResult<()> {
        let filled = self.filled.load(Ordering::Acquire);
        let handle = self.handle()?;
        if self.suspect.load(Ordering::Acquire) {
            write_again(&*handle, 0, filled as u64)?;
        }
        let synced = handle.sync();
        self.suspect.store(synced.is_err(), Ordering::Release);
        synced?;
        self.durable.fetch_max(filled, Ordering::AcqRel);
        Ok(())
    }

    /// Closes the file if nothing is written to it any more; it is opened again when it is needed.
    pub(super) fn release(&self) {
        if self.is_sealed() {
            *self.handle.lock() = None;
        }
    }

    /// Its frames, read on demand.
    ///
    /// # Errors
    /// The file cannot be opened, read or mapped.
    pub(super) fn reader(&self) -> Result<Reader> {
        let filled = self.filled.load(Ordering::Acquire);
        let handle = self.disk.open(&self.path, Access::Read)?;
        if let Some(file) = handle.mappable() {
            let mapped = Reader::map(file, filled);
            return mapped.map_err(|cause| DiskError::new("map", &self.path, cause).into());
        }
        let mut writer = copy(&*handle, &self.path, filled, filled)?;
        writer.publish(filled);
        Ok(writer.reader())
    }

    /// Makes an empty segment of it: zeros behind the header, on stable storage before it gets its new
    /// header and name, since the checksums of frames cover no number (PUB-17). Nobody uses it any more.
    pub(super) fn recycle(&self, path: &Path, header: &Header) -> DiskResult<Blank> {
        let handle = self.handle()?;
        let len = usize::try_from(handle.len()?).unwrap_or(usize::MAX);
        let filled = self.filled.load(Ordering::Acquire).min(len);
        write_zeros(&*handle, HEADER_BYTES, filled)?;
        handle.sync()?;
        handle.write_at(&header.encode(), 0)?;
        self.disk.rename(&self.path, path)?;
        let made = Self::begin(&self.disk, path, handle, self.way, len);
        if made.is_err() {
            // As above.
            let _ = self.disk.unlink(path);
        }
        made
    }

    pub(super) fn unlink(&self) -> DiskResult<()> {
        *self.handle.lock() = None;
        match self.disk.unlink(&self.path) {
            Err(error) if error.is_not_found() => Ok(()),
            result => result,
        }
    }

    fn handle(&self) -> DiskResult<Arc<dyn DiskFile>> {
        let mut handle = self.handle.lock();
        if let Some(handle) = &*handle {
            return Ok(Arc::clone(handle));
        }
        let opened: Arc<dyn DiskFile> = self.disk.open(&self.path, Access::Write)?.into();
        *handle = Some(Arc::clone(&opened));
        Ok(opened)
    }
}

/// Gives a new file its blocks, or at least its length.
fn allocate(handle: &dyn DiskFile, len: usize) -> DiskResult<Way> {
    match handle.allocate(len as u64) {
        Ok(()) => Ok(Way::Mapped),
        Err(error) if error.is_unsupported() => handle.truncate(len as u64).map(|()| Way::Written),
        Err(error) => Err(error),
    }
}

/// The memory of a file whose first `end` bytes are in use. None of them is published yet.
fn memory(handle: &dyn DiskFile, path: &Path, way: Way, len: usize, end: usize) -> DiskResult<(Way, Writer)> {
    match handle.mappable().filter(|_| way == Way::Mapped) {
        Some(file) => {
            let writer = Writer::map(file, len, 0);
            Ok((Way::Mapped, writer.map_err(|cause| DiskError::new("map", path, cause))?))
        }
        None => Ok((Way::Written, copy(handle, path, len, end)?)),
    }
}

/// The first `end` bytes of a file, in memory of `len` bytes. None of them is published yet.
fn copy(handle: &dyn DiskFile, path: &Path, len: usize, end: usize) -> DiskResult<Writer> {
    let failed = |kind: std::io::ErrorKind| DiskError::new("read", path, kind.into());
    let mut writer = Writer::heap(len).ok_or_else(|| failed(std::io::ErrorKind::OutOfMemory))?;
    let spare = writer.spare().get_mut(..end).ok_or_else(|| failed(std::io::ErrorKind::InvalidInput))?;
    if handle.read_at(spare, 0)? < end {
        return Err(failed(std::io::ErrorKind::UnexpectedEof));
    }
    Ok(writer)
}

/// Writes bytes over themselves, so that the system knows that they have to be written.
pub(super) fn write_again(handle: &dyn DiskFile, from: u64, to: u64) -> DiskResult<()> {
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut at = from;
    while at < to {
        let wanted = usize::try_from(to - at).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        let read = handle.read_at(&mut buffer[..wanted], at)?;
        if read == 0 {
            break;
        }
        handle.write_at(&buffer[..read], at)?;
        at += read as u64;
    }
    Ok(())
}

fn write_zeros(handle: &dyn DiskFile, from: usize, to: usize) -> DiskResult<()> {
    let zeros = [0; CHUNK_BYTES];
    let mut at = from;
    while at < to {
        let count = (to - at).min(CHUNK_BYTES);
        handle.write_at(&zeros[..count], at as u64)?;
        at += count;
    }
    Ok(())
}

const CHUNK_BYTES: usize = 64 * 1024;
