//! Reads a slot (steps 2 to 4 of store-and-forward.md 4.1). Changes nothing.

use std::path::Path;

use super::found::{File, Found, Manifest, Unfinished};
use super::scan::{Scan, scan};
use crate::error::{Error, ErrorKind, Result};
use crate::store::disk::{Access, Disk, DiskResult, Entry, FileKind, read_whole};
use crate::store::marker::{self, FailedKind};
use crate::store::record::{FILE_BYTES, Watermark};
use crate::store::{dictionary, names};

/// FMT-05: offsets are kept in 32 bits.
const SEGMENT_BYTES_MAX: u64 = u32::MAX as u64;
/// Somewhat above what FMT-20 permits.
const DICTIONARY_BYTES_MAX: u64 = 300 << 20;

/// Reads everything that recovery looks at, with plain reads, each file once (REC-20).
///
/// # Errors
/// `Store` if anything cannot be read, or a symbolic link stands where a file of the slot should.
pub(crate) fn read(disk: &dyn Disk, slot: &Path) -> Result<Found> {
    let entries = disk.list(slot)?;
    refuse_links(slot, &entries)?;
    let is_file = |entry: &&Entry| entry.kind == FileKind::File;
    let mut files = Vec::new();
    for entry in entries.iter().filter(is_file).filter(|entry| names::is_segment(&entry.name)) {
        let scan = read_segment(disk, &slot.join(&entry.name))?;
        files.push(File { name: entry.name.clone(), scan });
    }
    let there = |name: &str| entries.iter().filter(is_file).any(|entry| entry.name == name);
    let contents = |name: &str, bytes_max: u64| -> Result<Option<Vec<u8>>> {
        if !there(name) {
            return Ok(None);
        }
        let file = disk.open(&slot.join(name), Access::Read)?;
        Ok(Some(read_whole(&*file, bytes_max)?))
    };
    // One byte more than there may be shows that the size is wrong.
    let records_max = FILE_BYTES as u64 + 1;
    let manifest = contents(names::MANIFEST, records_max)?;
    let watermark = contents(names::WATERMARK, records_max)?;
    let dictionary = contents(names::DICTIONARY, DICTIONARY_BYTES_MAX)?;
    let name = slot.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let siblings = siblings(disk, slot)?;
    Ok(Found {
        pieces: pieces(disk, slot, &name, &siblings)?,
        slot: name,
        files,
        manifest: manifest.map_or(Manifest::Absent, |bytes| Manifest::read(&bytes)),
        watermark: watermark.map(|bytes| Watermark::read(&bytes)),
        dictionary: dictionary.map(|bytes| dictionary::read(&bytes)),
        failed: marker::read(disk, slot)?,
        names: entries.into_iter().map(|entry| entry.name).collect(),
        siblings,
    })
}

/// FMT-02: a link in the place of a file of the slot may lead anywhere.
fn refuse_links(slot: &Path, entries: &[Entry]) -> Result<()> {
    const OURS: [&str; 6] =
        [names::LOCK, names::LOCK_PID, names::MANIFEST, names::WATERMARK, names::DICTIONARY, names::FAILED];
    let ours = |name: &str| OURS.contains(&name) || names::is_segment(name);
    match entries.iter().find(|entry| entry.kind == FileKind::Link && ours(&entry.name)) {
        None => Ok(()),
        Some(entry) => Err(Error::new(ErrorKind::Store, "symbolic link in a slot")
            .with("path", slot.join(&entry.name).display())
            .because("files of a slot are no links; remove it or move the file here")),
    }
}

fn read_segment(disk: &dyn Disk, path: &Path) -> DiskResult<Scan> {
    let file = disk.open(path, Access::Read)?;
    let bytes = file.len()?;
    if bytes > SEGMENT_BYTES_MAX {
        return Ok(Scan::NotASegment { why: "larger than any segment", bytes, frames: 0 });
    }
    Ok(scan(&read_whole(&*file, SEGMENT_BYTES_MAX)?))
}

fn siblings(disk: &dyn Disk, slot: &Path) -> DiskResult<Vec<String>> {
    let root = slot.parent().filter(|root| !root.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(disk.list(root)?.into_iter().map(|entry| entry.name).collect())
}

/// Pieces that a recovery of this slot began to make (REC-11).
fn pieces(disk: &dyn Disk, slot: &Path, name: &str, siblings: &[String]) -> DiskResult<Vec<Unfinished>> {
    let prefix = format!("{name}-recovered-");
    let mut pieces = Vec::new();
    for sibling in siblings.iter().filter(|sibling| sibling.starts_with(&prefix)) {
        let text = marker::read(disk, &slot.with_file_name(sibling))?.unwrap_or_default();
        if let Some(complete) = FailedKind::under_construction(&text) {
            pieces.push(Unfinished { name: sibling.clone(), complete });
        }
    }
    Ok(pieces)
}
