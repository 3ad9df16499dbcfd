//! Carries out a plan.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::plan::{Action, Piece, PieceSegment};
use crate::error::Result;
use crate::store::dictionary::{self, Texts};
use crate::store::disk::{Access, Disk, DiskFile, DiskResult};
use crate::store::layout::{FLAGGED, FLAGS_AT, HEADER_BYTES, Header};
use crate::store::marker::{self, FailedKind};
use crate::store::names;
use crate::store::record::{self, Kind, Record, Records};

const BLOCK_BYTES: usize = 64 << 10;

/// Carries out steps in order. On a full disk those that can wait are returned: they have to be done
/// before the first append or trim (PUB-10).
///
/// # Errors
/// `Store` if a step failed. What was done so far is a slot that recovers alike.
pub(crate) fn carry_out(
    disk: &dyn Disk,
    slot: &Path,
    plan: &[Action],
    now: SystemTime,
) -> Result<Vec<Action>> {
    let repair = Repair { disk, slot, now };
    for (index, action) in plan.iter().enumerate() {
        match repair.step(action) {
            Ok(()) => {}
            Err(error) if error.is_full() && action.can_wait() => {
                return Ok(plan.get(index..).unwrap_or_default().to_vec());
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Vec::new())
}

struct Repair<'a> {
    disk: &'a dyn Disk,
    slot: &'a Path,
    now: SystemTime,
}

impl Repair<'_> {
    fn step(&self, action: &Action) -> DiskResult<()> {
        match action {
            Action::RemovePiece(folder) => self.remove_piece(&self.beside(folder)),
            Action::MakePiece(piece) => self.make_piece(piece),
            Action::ReleasePiece(folder) => self.release_piece(&self.beside(folder)),
            Action::Copy { from, to } => self.copy(from, to),
            Action::Zero { file, from, to } => self.zero(file, *from, *to),
            Action::Rename { from, to } => self.disk.rename(&self.slot.join(from), &self.slot.join(to)),
            Action::Unlink(name) => self.unlink(&self.slot.join(name)),
            Action::SyncNames => self.disk.sync_dir(self.slot),
            Action::Manifest { record, fresh } => {
                self.record(names::MANIFEST, Kind::Manifest, Some(*record), *fresh)
            }
            Action::Watermark { record, fresh } => {
                self.record(names::WATERMARK, Kind::Watermark, *record, *fresh)
            }
            Action::Flag(name) => {
                let file = self.open(name)?;
                file.write_at(&[FLAGGED], FLAGS_AT)?;
                file.sync()
            }
            Action::Dictionary(texts) => self.dictionary(texts),
            Action::CutDictionary(len) => {
                let file = self.open(names::DICTIONARY)?;
                file.truncate(*len)?;
                file.sync()
            }
        }
    }

    fn beside(&self, folder: &str) -> PathBuf {
        self.slot.with_file_name(folder)
    }

    fn open(&self, name: &str) -> DiskResult<Box<dyn DiskFile>> {
        self.disk.open(&self.slot.join(name), Access::Write)
    }

    fn unlink(&self, path: &Path) -> DiskResult<()> {
        match self.disk.unlink(path) {
            Err(error) if error.is_not_found() => Ok(()),
            result => result,
        }
    }

    fn copy(&self, from: &str, to: &str) -> DiskResult<()> {
        let source = self.disk.open(&self.slot.join(from), Access::Read)?;
        let target = self.slot.join(to);
        let copied = self.disk.open(&target, Access::CreateNew).and_then(|file| {
            copy_bytes(&*source, (0, source.len()?), &*file, 0)?;
            file.sync()
        });
        if copied.is_err() {
            // Half a copy would only take the room that is missing.
            let _ = self.disk.unlink(&target);
        }
        copied?;
        self.disk.sync_dir(self.slot)
    }

    fn zero(&self, name: &str, from: u64, to: u64) -> DiskResult<()> {
        let file = self.open(name)?;
        let zeros = [0; BLOCK_BYTES];
        let mut at = from;
        while at < to {
            let count = usize::try_from(to - at).unwrap_or(BLOCK_BYTES).min(BLOCK_BYTES);
            file.write_at(zeros.get(..count).unwrap_or_default(), at)?;
            at += count as u64;
        }
        file.sync()
    }

    fn record(&self, name: &str, kind: Kind, record: Option<Record>, fresh: bool) -> DiskResult<()> {
        if !fresh {
            let file = self.open(name)?;
            if let Some(record) = record {
                file.write_at(&record.encode(kind), record.offset())?;
            }
            return file.sync();
        }
        write_file(self.disk, &self.slot.join(name), &record::file(kind, record))?;
        self.disk.sync_dir(self.slot)
    }

    fn dictionary(&self, texts: &Texts) -> DiskResult<()> {
        let temporary = self.slot.join(names::temporary(names::DICTIONARY));
        let written = write_file(self.disk, &temporary, &dictionary::file(texts));
        if written.is_err() {
            let _ = self.disk.unlink(&temporary);
        }
        written?;
        self.disk.rename(&temporary, &self.slot.join(names::DICTIONARY))?;
        self.disk.sync_dir(self.slot)
    }

    fn make_piece(&self, piece: &Piece) -> DiskResult<()> {
        let folder = self.beside(&piece.folder);
        self.disk.create_dir(&folder)?;
        let kind = FailedKind::UnderConstruction;
        marker::write(self.disk, &folder, self.now, kind, marker::WRITING)?;
        self.sync_root()?;
        for (segment, generation) in piece.segments.iter().zip(0..) {
            self.make_segment(segment, &folder.join(names::segment(generation)))?;
        }
        write_file(self.disk, &folder.join(names::DICTIONARY), &dictionary::file(&piece.texts))?;
        let acked = (piece.acked >= 0).then(|| Records::default().next(piece.acked, 0));
        write_file(self.disk, &folder.join(names::WATERMARK), &record::file(Kind::Watermark, acked))?;
        if let (Some(first), Some(last)) = (piece.segments.first(), piece.segments.last()) {
            let bounds = Records::default().next(first.base.as_i64(), last.base.as_i64());
            let file = record::file(Kind::Manifest, Some(bounds));
            write_file(self.disk, &folder.join(names::MANIFEST), &file)?;
        }
        self.disk.sync_dir(&folder)?;
        marker::write(self.disk, &folder, self.now, kind, marker::COMPLETE)
    }

    fn make_segment(&self, segment: &PieceSegment, path: &Path) -> DiskResult<()> {
        let since = self.now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let created_us = u64::try_from(since.as_micros()).unwrap_or(0);
        let header = Header { flagged: true, base: segment.base, created_us };
        let source = self.disk.open(&self.slot.join(&segment.source), Access::Read)?;
        let file = self.disk.open(path, Access::Create)?;
        match file.allocate(segment.bytes) {
            Err(error) if error.is_unsupported() => file.truncate(segment.bytes)?,
            result => result?,
        }
        file.write_at(&header.encode(), 0)?;
        copy_bytes(&*source, (segment.from, segment.to), &*file, HEADER_BYTES as u64)?;
        file.sync()
    }

    fn remove_piece(&self, folder: &Path) -> DiskResult<()> {
        // The marker last: as long as it is there, nobody takes the rest for a slot.
        for entry in self.disk.list(folder)? {
            if entry.name != names::FAILED {
                self.unlink(&folder.join(entry.name))?;
            }
        }
        self.unlink(&folder.join(names::FAILED))?;
        self.disk.remove_dir(folder)?;
        self.sync_root()
    }

    fn release_piece(&self, folder: &Path) -> DiskResult<()> {
        self.unlink(&folder.join(names::FAILED))?;
        self.disk.sync_dir(folder)
    }

    fn sync_root(&self) -> DiskResult<()> {
        self.slot.parent().map_or(Ok(()), |root| self.disk.sync_dir(root))
    }
}

/// Makes a file hold these bytes, durably.
fn write_file(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> DiskResult<()> {
    let file = disk.open(path, Access::Create)?;
    file.truncate(0)?;
    file.write_at(bytes, 0)?;
    file.sync()
}

fn copy_bytes(from: &dyn DiskFile, range: (u64, u64), to: &dyn DiskFile, at: u64) -> DiskResult<()> {
    let mut block = vec![0; BLOCK_BYTES];
    let (mut read_at, mut write_at) = (range.0, at);
    while read_at < range.1 {
        let wanted = usize::try_from(range.1 - read_at).unwrap_or(BLOCK_BYTES).min(BLOCK_BYTES);
        let count = from.read_at(block.get_mut(..wanted).unwrap_or_default(), read_at)?;
        if count == 0 {
            break;
        }
        to.write_at(block.get(..count).unwrap_or_default(), write_at)?;
        (read_at, write_at) = (read_at + count as u64, write_at + count as u64);
    }
    Ok(())
}
