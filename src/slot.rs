//! What is in a slot of a store on disk, for the people who operate it.
//!
//! Everything here reads only. It takes no lock, but for an instant a shared one to see whether
//! somebody owns the slot: the slot of a running sender may be looked at, and its last frame may then
//! be a half-written one.
//!
//! ```no_run
//! for listed in qwp::slot::list("/var/lib/app/qdb")? {
//!     let report = listed.report?;
//!     println!("{}: {} of {} frames unsent", listed.path.display(), report.unsent_frames, report.frames);
//! }
//! # Ok::<(), qwp::Error>(())
//! ```

mod dump;
mod show;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::{Error, ErrorKind, Result};
use crate::store::disk::{Disk, FileKind, SystemDisk};
use crate::store::lock;
use crate::store::names;
use crate::store::recovery::{self, Decision, Found, Opened, Verdict};

pub use crate::store::recovery::{Event, EventKind};
pub use dump::dump;

/// A slot below a group root.
#[derive(Debug)]
#[non_exhaustive]
pub struct Listed {
    /// Its folder.
    pub path: PathBuf,
    /// What is in it, or why that cannot be told.
    pub report: Result<SlotReport>,
}

/// What is in a slot, as a sender would find it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SlotReport {
    /// Its folder.
    pub path: PathBuf,
    /// Number of segment files, those without frames included.
    pub segments: usize,
    /// Bytes of all segment files.
    pub bytes: u64,
    /// Frames that a sender would keep; all of them if it would set the slot aside.
    pub frames: u64,
    /// Those of them that no server acknowledged.
    pub unsent_frames: u64,
    /// Bytes of these.
    pub unsent_bytes: u64,
    /// Number of the first frame that is kept, if one is.
    pub first: Option<i64>,
    /// Number of the next frame.
    pub next: i64,
    /// Number of the acknowledged frame.
    pub acked: Option<i64>,
    /// Number of symbols.
    pub symbols: usize,
    /// When the oldest segment with frames was made.
    pub oldest: Option<SystemTime>,
    /// When the newest segment with frames was made.
    pub newest: Option<SystemTime>,
    /// Who owns it, such as `pid=4242`.
    pub holder: Option<String>,
    /// Why nobody adopts it: the text of its marker.
    pub failed: Option<String>,
    /// Why none of it can be sent.
    pub unreplayable: Option<String>,
    /// What a sender that opens it would report, in order.
    pub events: Vec<Event>,
}

impl SlotReport {
    /// Whether anything is damaged or missing, or a sender would not send all of it.
    pub fn is_damaged(&self) -> bool {
        self.unreplayable.is_some() || self.events.iter().any(|event| !event.information)
    }

    /// Which part of the kept frames is acknowledged, from 0 to 1; 1 if none is kept.
    pub fn acked_share(&self) -> f64 {
        if self.frames == 0 {
            return 1.0;
        }
        let acked = self.frames.saturating_sub(self.unsent_frames);
        // Counts of frames are far below 2^52.
        acked as f64 / self.frames as f64
    }
}

/// Looks into a slot.
///
/// # Errors
///
/// `Store` if the folder is no slot, anything in it cannot be read, or a newer client wrote it.
pub fn inspect(dir: impl AsRef<Path>) -> Result<SlotReport> {
    inspect_on(&SystemDisk, dir.as_ref())
}

/// Looks into every slot below a group root (`sf_dir`), in the order of the names. Folders that hold
/// nothing of a slot are left out; those that were set aside are there.
///
/// # Errors
///
/// `Store` if the root cannot be read. What is wrong with a single slot stands in its place.
pub fn list(group_root: impl AsRef<Path>) -> Result<Vec<Listed>> {
    list_on(&SystemDisk, group_root.as_ref())
}

fn list_on(disk: &dyn Disk, root: &Path) -> Result<Vec<Listed>> {
    let mut listed = Vec::new();
    for entry in disk.list(root)?.into_iter().filter(|entry| entry.kind == FileKind::Directory) {
        let path = root.join(&entry.name);
        if entry.name != names::SLOT_LOCKS && is_slot(disk, &path)? {
            listed.push(Listed { report: inspect_on(disk, &path), path });
        }
    }
    Ok(listed)
}

/// Whether a folder holds anything that only a slot holds.
fn is_slot(disk: &dyn Disk, folder: &Path) -> Result<bool> {
    let ours = |name: &str| names::is_segment(name) || [names::LOCK, names::MANIFEST].contains(&name);
    Ok(disk.list(folder)?.iter().any(|entry| entry.kind == FileKind::File && ours(&entry.name)))
}

fn inspect_on(disk: &dyn Disk, dir: &Path) -> Result<SlotReport> {
    let (found, decision) = look_into(disk, dir)?;
    let (counts, opened, unreplayable) = match decision.verdict {
        Verdict::Open(opened) => (Counts::of(&opened), Some(opened), None),
        Verdict::SetAside(reason) => (Counts::of_all(&found), None, Some(reason)),
    };
    let with_frames = found.segments().filter(|(_, segment)| !segment.frames.is_empty());
    let created: Vec<_> = with_frames.map(|(_, segment)| segment.header.created_us).collect();
    let time = |micros: &u64| SystemTime::UNIX_EPOCH.checked_add(Duration::from_micros(*micros));
    let opened = opened.as_deref();
    let first = opened.filter(|_| counts.frames > 0).map(|opened| opened.start.as_i64());
    Ok(SlotReport {
        path: dir.to_owned(),
        segments: found.segments().count(),
        bytes: found.segments().map(|(_, segment)| segment.bytes).sum(),
        frames: counts.frames,
        unsent_frames: counts.unsent_frames,
        unsent_bytes: counts.unsent_bytes,
        first,
        next: opened.map_or(0, |opened| opened.next.as_i64()),
        acked: counts.acked,
        symbols: opened.and_then(|opened| opened.epochs.last()).map_or(0, |epoch| epoch.texts.len()),
        oldest: created.iter().min().and_then(time),
        newest: created.iter().max().and_then(time),
        holder: lock::look(disk, dir)?,
        failed: found.failed.clone(),
        unreplayable,
        events: decision.events.into_iter().map(|event| event.within(dir)).collect(),
    })
}

/// What is in a slot, and what a sender would make of it.
fn look_into(disk: &dyn Disk, dir: &Path) -> Result<(Found, Decision)> {
    let is_directory = |kind| kind == FileKind::Directory;
    if !disk.metadata(dir)?.is_some_and(|metadata| is_directory(metadata.kind)) || !is_slot(disk, dir)? {
        return Err(Error::new(ErrorKind::Store, "not a slot")
            .with("path", dir.display())
            .because("a slot is a folder with segments, a manifest or a lock file"));
    }
    // The paths of pieces are those beside the slot, so the name has to be there.
    let found = recovery::read(disk, dir)?;
    let decision = recovery::decide(&found).map_err(|unsupported| unsupported.into_error(dir))?;
    Ok((found, decision))
}

/// Frames, and those of them that are not acknowledged.
#[derive(Default)]
struct Counts {
    acked: Option<i64>,
    frames: u64,
    unsent_frames: u64,
    unsent_bytes: u64,
}

impl Counts {
    /// Of a slot that a sender would use.
    fn of(opened: &Opened) -> Counts {
        let mut counts = Counts { acked: opened.acked.map(|acked| acked.as_i64()), ..Counts::default() };
        for kept in &opened.segments {
            counts.add(kept.base.as_i64(), &kept.offsets, kept.end);
        }
        counts
    }

    /// Of a slot that it would set aside.
    fn of_all(found: &Found) -> Counts {
        let mut counts = Counts { acked: found.acked().filter(|&acked| acked >= 0), ..Counts::default() };
        for (_, segment) in found.segments() {
            let offsets: Vec<_> = segment.frames.iter().map(|frame| frame.offset).collect();
            counts.add(segment.header.base.as_i64(), &offsets, segment.end);
        }
        counts
    }

    fn add(&mut self, base: i64, offsets: &[u64], end: u64) {
        let frames = offsets.len() as u64;
        let first_unsent = self.acked.map_or(0, |acked| acked.saturating_add(1));
        let acked = u64::try_from(first_unsent.saturating_sub(base)).unwrap_or(0).min(frames);
        self.frames += frames;
        self.unsent_frames += frames - acked;
        let from = usize::try_from(acked).ok().and_then(|acked| offsets.get(acked));
        self.unsent_bytes += from.map_or(0, |from| end.saturating_sub(*from));
    }
}
