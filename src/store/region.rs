//! Memory that one thread fills while others read what it has finished.
//!
//! The only file with `unsafe` code. The protocol is small:
//!
//! - A region is a block of `len` bytes, zero at first, and a *published* length, 0 at first.
//! - Invariant R1: bytes below the published length never change while a [`Reader`] exists.
//! - Invariant R2: bytes from the published length on are touched by the one [`Writer`] only.
//! - Invariant R3: the published length never exceeds `len`, only the writer moves it, and only
//!   forward; [`Writer::recycle`] alone sets it back, with the proof that no reader exists.
//!
//! The block is on the heap, or a file that is mapped. A mapping adds what this process cannot enforce
//! alone, so that it is asked for where the mapping is made:
//!
//! - Assumption M1: nobody else changes or cuts the file while it is mapped. The lock of the slot is
//!   held, and every client takes it (LOCK-01). A file that is cut all the same, or a disk that
//!   fails, ends the process by SIGBUS, as for every mapping.
//! - Assumption M2: the blocks that are written to are really allocated (PUB-09), so that a full disk
//!   is an error of the allocation, not a SIGBUS of a store.
#![expect(unsafe_code, reason = "memory shared up to a moving end cannot be written with safe slices")]

use memmap2::{MmapOptions, MmapRaw};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fmt;
use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where a block begins: what the system's allocator gives without being asked. For more, zeroed
/// memory is memory that was written to, every page of it.
const ALIGN: usize = 16;

/// The writing end: exactly one exists for each region.
pub(crate) struct Writer(Arc<Block>);

/// A reading end.
#[derive(Clone)]
pub(crate) struct Reader(Arc<Block>);

struct Block {
    /// Start of `len` bytes that `backing` keeps valid, initialised and in place until the block is
    /// dropped.
    start: NonNull<u8>,
    len: usize,
    backing: Backing,
    published: AtomicUsize,
}

enum Backing {
    /// Allocated with this layout.
    Heap(Layout),
    /// Unmapped when it is dropped. It gives out nothing but raw pointers.
    Map { _map: MmapRaw },
}

impl Writer {
    /// A region of `len` zero bytes on the heap. Large ones cost no memory before they are touched.
    /// `None` if the memory cannot be had, or `len` is 0.
    pub(crate) fn heap(len: usize) -> Option<Writer> {
        let layout = Layout::from_size_align(len, ALIGN).ok().filter(|layout| layout.size() > 0)?;
        // SAFETY: the size of `layout` is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let (len, backing) = (layout.size(), Backing::Heap(layout));
        Some(Writer(Arc::new(Block { start, len, backing, published: AtomicUsize::new(0) })))
    }

    /// The first `len` bytes of a file, of which `published` are finished. M1 and M2 have to hold. What is
    /// written shows in the file at once and survives the process, not the machine: that takes an
    /// `fdatasync` of the file (DUR-03), nothing else.
    ///
    /// # Errors
    /// The file is shorter than `len`, or cannot be mapped.
    pub(crate) fn map(file: &File, len: usize, published: usize) -> io::Result<Writer> {
        check_len(file, len, published)?;
        Block::map(MmapOptions::new().len(len).map_raw(file)?, published).map(Writer)
    }

    /// Has the system make all pages of a mapping present and writable now, so that later stores do not
    /// wait for that. Does nothing where it is not known how.
    pub(crate) fn populate(&self) {
        #[cfg(target_os = "linux")]
        if let Backing::Map { _map: map } = &self.0.backing {
            // Only speed depends on it; kernels before 5.14 refuse.
            let _ = map.advise(memmap2::Advice::PopulateWrite);
        }
    }

    /// A reading end of this region.
    pub(crate) fn reader(&self) -> Reader {
        Reader(Arc::clone(&self.0))
    }

    /// Bytes of the region.
    pub(crate) fn len(&self) -> usize {
        self.0.len
    }

    /// Bytes that readers may see.
    #[inline]
    pub(crate) fn published(&self) -> usize {
        // Only this writer stores it.
        self.0.published.load(Ordering::Relaxed)
    }

    /// The bytes that no reader sees yet, from the published length to the end.
    #[inline]
    pub(crate) fn spare(&mut self) -> &mut [u8] {
        let (start, len) = self.0.from(self.published());
        // SAFETY: `from` gives allocated, initialised bytes inside the block. By R2 no reader
        // touches them, and `&mut self` is the only way to them.
        unsafe { std::slice::from_raw_parts_mut(start, len) }
    }

    /// The whole region, as the writer sees it.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        let (start, len) = self.0.from(0);
        // SAFETY: `from` gives allocated, initialised bytes inside the block. They change only
        // through `spare` and `recycle`, which need `&mut self`.
        unsafe { std::slice::from_raw_parts(start, len) }
    }

    /// Shows the first `bytes` of [`Writer::spare`] to the readers.
    #[inline]
    pub(crate) fn publish(&mut self, bytes: usize) {
        let published = self.published();
        // R3, on which the readers' slices rest.
        assert!(bytes <= self.len() - published, "published beyond the region");
        self.0.published.store(published + bytes, Ordering::Release);
    }

    /// Makes the region writable from its start again, its old bytes still in it. Only possible
    /// once no reader exists; until then it is given back as it was.
    pub(crate) fn recycle(mut self) -> Result<Writer, Writer> {
        match Arc::get_mut(&mut self.0) {
            Some(block) => {
                *block.published.get_mut() = 0;
                Ok(self)
            }
            None => Err(self),
        }
    }
}

impl Reader {
    /// Bytes of the region.
    pub(crate) fn len(&self) -> usize {
        self.0.len
    }

    /// The first `published` bytes of a file that nobody writes to any more. M1 has to hold.
    ///
    /// # Errors
    /// The file is shorter than that, or cannot be mapped.
    pub(crate) fn map(file: &File, published: usize) -> io::Result<Reader> {
        check_len(file, published, published)?;
        Block::map(MmapOptions::new().len(published).map_raw_read_only(file)?, published).map(Reader)
    }

    /// What the writer has published so far.
    #[inline]
    pub(crate) fn published(&self) -> &[u8] {
        let published = self.0.published.load(Ordering::Acquire);
        let (start, _) = self.0.from(0);
        // SAFETY: R3 keeps `published` inside the block, R1 says that these bytes do not change
        // while `self` exists, and the load above synchronises with the store after they were written.
        unsafe { std::slice::from_raw_parts(start, published) }
    }
}

/// A store or load behind the end of a mapped file ends the process.
fn check_len(file: &File, len: usize, published: usize) -> io::Result<()> {
    if len == 0 || published > len || file.metadata()?.len() < len as u64 {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "file shorter than what is to be mapped"));
    }
    Ok(())
}

impl Block {
    fn map(map: MmapRaw, published: usize) -> io::Result<Arc<Block>> {
        let start = NonNull::new(map.as_mut_ptr()).ok_or(io::ErrorKind::OutOfMemory)?;
        let (len, backing) = (map.len(), Backing::Map { _map: map });
        Ok(Arc::new(Block { start, len, backing, published: AtomicUsize::new(published) }))
    }

    /// Start and length of the bytes from `offset` to the end of the block.
    #[inline]
    fn from(&self, offset: usize) -> (*mut u8, usize) {
        let rest = self.len.checked_sub(offset).expect("R3: offsets stay inside the block");
        // SAFETY: `offset` is at most the length of the allocation or mapping that `start` begins.
        (unsafe { self.start.as_ptr().add(offset) }, rest)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Backing::Heap(layout) = self.backing {
            // SAFETY: `start` was allocated with `layout`, and nothing else frees it.
            unsafe { dealloc(self.start.as_ptr(), layout) }
        }
    }
}

// SAFETY: the block owns its memory or mapping; R1 and R2 say who touches which byte, from any thread.
unsafe impl Send for Block {}
// SAFETY: as above; shared access is to bytes that do not change (R1) and to an atomic.
unsafe impl Sync for Block {}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("Writer", f)
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("Reader", f)
    }
}

impl Block {
    fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("len", &self.len)
            .field("published", &self.published.load(Ordering::Relaxed))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::cast_possible_truncation, reason = "test data is small")]

    use super::*;

    #[test]
    fn pub_04_readers_see_what_is_published_and_nothing_else() {
        let mut writer = Writer::heap(16).unwrap();
        let reader = writer.reader();
        assert_eq!(reader.published(), b"");
        assert_eq!(writer.spare(), [0; 16]);
        writer.spare()[..3].copy_from_slice(b"abc");
        assert_eq!(reader.published(), b"");
        writer.publish(2);
        let first = reader.published();
        writer.spare()[0] = b'C';
        writer.spare()[1] = b'd';
        writer.publish(2);
        assert_eq!(first, b"ab");
        assert_eq!(reader.clone().published(), b"abCd");
        assert_eq!(&writer.bytes()[..5], b"abCd\0");
        assert_eq!((writer.spare().len(), writer.published(), writer.len()), (12, 4, 16));
    }

    #[test]
    fn pub_20_a_region_is_reused_only_once_nobody_reads_it() {
        let mut writer = Writer::heap(4).unwrap();
        writer.spare().copy_from_slice(b"abcd");
        writer.publish(4);
        let reader = writer.reader();
        let writer = writer.recycle().unwrap_err();
        assert_eq!(reader.published(), b"abcd");
        drop(reader);
        let mut writer = writer.recycle().unwrap();
        assert_eq!(writer.spare(), b"abcd");
        assert_eq!(writer.reader().published(), b"");
    }

    #[test]
    #[should_panic(expected = "published beyond the region")]
    fn more_than_the_region_cannot_be_published() {
        let mut writer = Writer::heap(4).unwrap();
        writer.publish(3);
        writer.publish(2);
    }

    #[test]
    #[cfg_attr(miri, ignore = "maps a file")]
    fn flush_02_what_is_stored_in_a_mapping_is_in_the_file_at_once() {
        let file = tempfile();
        file.set_len(8192).unwrap();
        let mut writer = Writer::map(&file, 8192, 24).unwrap();
        writer.populate();
        let reader = writer.reader();
        assert_eq!((writer.len(), writer.published(), reader.published()), (8192, 24, &[0; 24][..]));
        writer.spare()[..3].copy_from_slice(b"abc");
        let mut bytes = [9; 8];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 22).unwrap();
        assert_eq!(&bytes, b"\0\0abc\0\0\0");
        writer.publish(3);
        assert_eq!(reader.published()[20..], *b"\0\0\0\0abc");
        drop(writer);
        assert_eq!(Reader::map(&file, 27).unwrap().published(), reader.published());
    }

    #[test]
    #[cfg_attr(miri, ignore = "maps a file")]
    fn pub_09_what_a_file_does_not_have_is_never_mapped() {
        let file = tempfile();
        file.set_len(100).unwrap();
        for (len, published) in [(101, 0), (0, 0), (50, 51)] {
            assert!(Writer::map(&file, len, published).is_err(), "{len} {published}");
        }
        assert!(Reader::map(&file, 101).is_err());
        assert!(Reader::map(&file, 100).is_ok());
    }

    /// A file without a name.
    fn tempfile() -> File {
        use rustix::fs::{MemfdFlags, memfd_create};
        memfd_create("region", MemfdFlags::CLOEXEC).unwrap().into()
    }

    #[test]
    fn no_memory_is_no_region() {
        assert!(Writer::heap(0).is_none());
        assert!(Writer::heap(usize::MAX).is_none());
    }

    #[test]
    fn a_reader_on_another_thread_sees_whole_records_in_order() {
        const LEN: usize = if cfg!(miri) { 64 } else { 1 << 16 };
        let mut writer = Writer::heap(LEN).unwrap();
        let reader = writer.reader();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for byte in 0..LEN {
                    writer.spare()[0] = (byte % 251) as u8;
                    writer.publish(1);
                }
            });
            let mut seen = 0;
            while seen < LEN {
                let bytes = reader.published();
                for (index, &byte) in bytes.iter().enumerate().skip(seen) {
                    assert_eq!(usize::from(byte), index % 251);
                }
                seen = bytes.len();
                std::hint::spin_loop();
            }
        });
    }
}
