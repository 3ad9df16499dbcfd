//! What is on a simulated disk, twice: as programs see it, and as a power cut would find it.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::DiskCall;
use crate::store::disk::{Access, Entry, FileKind};

const PAGE_BYTES: usize = 4096;
const ENOSPC: i32 = 28;

#[derive(Debug, Default)]
pub(super) struct State {
    files: BTreeMap<u64, Contents>,
    live: Names,
    durable: Names,
    /// Changes of names since they were last durable, in order.
    pending: Vec<Change>,
    /// Which open file has the lock.
    pub(super) locks: HashMap<u64, u64>,
    next: u64,
    pub(super) calls: u64,
    pub(super) fail_at: Option<(u64, i32)>,
    pub(super) failing: Vec<(DiskCall, i32)>,
    pub(super) free_bytes: Option<u64>,
    pub(super) alive: Vec<u32>,
    pub(super) log: Vec<(DiskCall, String)>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Contents {
    pub(super) live: Vec<u8>,
    durable: Vec<u8>,
    modified: Option<SystemTime>,
}

#[derive(Debug, Clone, Default)]
struct Names(BTreeMap<PathBuf, Node>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
    Directory,
    File(u64),
}

/// A change of names.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Directory(PathBuf),
    File(PathBuf, u64),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

impl Change {
    fn touches(&self, directory: &Path) -> bool {
        let within = |path: &Path| path.parent() == Some(directory);
        match self {
            Change::Directory(path) | Change::File(path, _) | Change::Remove(path) => within(path),
            Change::Rename(from, to) => within(from) || within(to),
        }
    }
}

impl Names {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Directory(path) => {
                self.0.insert(path.clone(), Node::Directory);
            }
            Change::File(path, file) => {
                self.0.insert(path.clone(), Node::File(*file));
            }
            Change::Remove(path) => {
                self.0.remove(path);
            }
            Change::Rename(from, to) => {
                let moved: Vec<_> = self.0.keys().filter(|path| path.starts_with(from)).cloned().collect();
                for path in moved {
                    let rest = path.strip_prefix(from).expect("it starts so");
                    let target = if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) };
                    if let Some(node) = self.0.remove(&path) {
                        self.0.insert(target, node);
                    }
                }
            }
        }
    }
}

impl Contents {
    pub(super) fn sync(&mut self) {
        self.durable.clone_from(&self.live);
    }

    /// Of each page that was not synced the one or the other.
    fn after_crash(&self, rng: &mut fastrand::Rng) -> Vec<u8> {
        let len = if rng.bool() { self.live.len() } else { self.durable.len() };
        let mut bytes = vec![0; len];
        for (index, page) in bytes.chunks_mut(PAGE_BYTES).enumerate() {
            let image = if rng.bool() { &self.live } else { &self.durable };
            let start = (index * PAGE_BYTES).min(image.len());
            let end = (start + page.len()).min(image.len());
            page[..end - start].copy_from_slice(&image[start..end]);
        }
        bytes
    }
}

impl State {
    /// Counts a call, and fails it if it is to fail.
    pub(super) fn begin(&mut self, call: DiskCall) -> io::Result<()> {
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        self.log.push((call, thread));
        let number = self.calls;
        self.calls += 1;
        let all = self.failing.iter().find(|(failing, _)| *failing == call).map(|(_, errno)| *errno);
        let this = self.fail_at.filter(|(at, _)| *at == number).map(|(_, errno)| errno);
        all.or(this).map_or(Ok(()), |errno| Err(io::Error::from_raw_os_error(errno)))
    }

    pub(super) fn kind(&self, path: &Path) -> Option<FileKind> {
        if path.parent().is_none() {
            return Some(FileKind::Directory);
        }
        self.live.0.get(path).map(|node| match node {
            Node::Directory => FileKind::Directory,
            Node::File(_) => FileKind::File,
        })
    }

    pub(super) fn inode(&self, path: &Path) -> Option<u64> {
        match self.live.0.get(path)? {
            Node::File(file) => Some(*file),
            Node::Directory => None,
        }
    }

    pub(super) fn live(&self, path: &Path) -> Option<&[u8]> {
        self.files.get(&self.inode(path)?).map(|contents| &contents.live[..])
    }

    pub(super) fn modified(&self, path: &Path) -> SystemTime {
        let contents = self.inode(path).and_then(|file| self.files.get(&file));
        contents.and_then(|contents| contents.modified).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    pub(super) fn touch(&mut self, path: &Path, time: SystemTime) {
        if let Some(contents) = self.inode(path).and_then(|file| self.files.get_mut(&file)) {
            contents.modified = Some(time);
        }
    }

    pub(super) fn file(&mut self, file: u64) -> &mut Contents {
        self.files.entry(file).or_default()
    }

    pub(super) fn list(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        if self.kind(directory) != Some(FileKind::Directory) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let within = self.live.0.iter().filter(|(path, _)| path.parent() == Some(directory));
        Ok(within
            .filter_map(|(path, _)| {
                let name = path.file_name()?.to_str()?.to_owned();
                Some(Entry { name, kind: self.kind(path)? })
            })
            .collect())
    }

    pub(super) fn open(&mut self, path: &Path, access: Access) -> io::Result<(u64, u64)> {
        let file = match (self.live.0.get(path), access) {
            (Some(Node::Directory), _) => return Err(io::ErrorKind::IsADirectory.into()),
            (Some(Node::File(_)), Access::CreateNew) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Some(Node::File(file)), _) => *file,
            (None, Access::Read | Access::Write) => return Err(io::ErrorKind::NotFound.into()),
            (None, Access::Create | Access::CreateNew) => self.create(path)?,
        };
        self.next += 1;
        Ok((file, self.next))
    }

    fn create(&mut self, path: &Path) -> io::Result<u64> {
        if path.parent().and_then(|parent| self.kind(parent)) != Some(FileKind::Directory) {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.next += 1;
        let file = self.next;
        self.files.insert(file, Contents::default());
        self.change(Change::File(path.to_owned(), file));
        Ok(file)
    }

    pub(super) fn change(&mut self, change: Change) {
        self.live.apply(&change);
        self.pending.push(change);
    }

    pub(super) fn sync_dir(&mut self, directory: &Path) {
        let pending = std::mem::take(&mut self.pending);
        for change in pending {
            if change.touches(directory) {
                self.durable.apply(&change);
            } else {
                self.pending.push(change);
            }
        }
    }

    pub(super) fn write(&mut self, file: u64, bytes: &[u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let end = start.checked_add(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        self.take_space(file, end)?;
        let contents = self.file(file);
        if contents.live.len() < end {
            contents.live.resize(end, 0);
        }
        contents.live[start..end].copy_from_slice(bytes);
        Ok(())
    }

    pub(super) fn allocate(&mut self, file: u64, len: u64) -> io::Result<()> {
        let len = usize::try_from(len).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.take_space(file, len)?;
        let contents = self.file(file);
        let len = len.max(contents.live.len());
        contents.live.resize(len, 0);
        Ok(())
    }

    pub(super) fn resize(&mut self, file: u64, len: u64) {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        self.file(file).live.resize(len, 0);
    }

    /// Space that a file takes when it becomes longer; it is never given back.
    fn take_space(&mut self, file: u64, len: usize) -> io::Result<()> {
        let more = len.saturating_sub(self.file(file).live.len()) as u64;
        if let Some(free) = &mut self.free_bytes {
            *free = free.checked_sub(more).ok_or_else(|| io::Error::from_raw_os_error(ENOSPC))?;
        }
        Ok(())
    }

    pub(super) fn sync_all(&mut self) {
        self.files.values_mut().for_each(Contents::sync);
        self.durable = self.live.clone();
        self.pending.clear();
    }

    pub(super) fn snapshot(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let paths = self.live.0.keys();
        paths.filter_map(|path| Some((path.clone(), self.live(path)?.to_vec()))).collect()
    }

    pub(super) fn kill(&self) -> State {
        State {
            files: self.files.clone(),
            live: self.live.clone(),
            durable: self.durable.clone(),
            pending: self.pending.clone(),
            next: self.next,
            free_bytes: self.free_bytes,
            ..State::default()
        }
    }

    pub(super) fn crash(&self, rng: &mut fastrand::Rng) -> State {
        let mut names = self.durable.clone();
        for change in self.pending.iter().take(rng.usize(0..=self.pending.len())) {
            names.apply(change);
        }
        let files = self.files.iter().map(|(file, contents)| {
            let bytes = contents.after_crash(rng);
            (*file, Contents { live: bytes.clone(), durable: bytes, modified: contents.modified })
        });
        let files = files.collect();
        State { files, live: names.clone(), durable: names, next: self.next, ..State::default() }
    }
}
