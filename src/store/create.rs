//! A slot without frames (REC-19).

use std::path::Path;
use std::sync::Arc;

use super::dictionary;
use super::disk::{Access, Disk, DiskFile, DiskResult};
use super::fsn::Fsn;
use super::layout::{FLAGGED, FLAGS_AT, HEADER_BYTES, Header};
use super::names;
use super::record::{self, Kind, Record};
use super::segment_file::SegmentFile;
use super::storage::{Found, FoundSegment};
use crate::config::Durability;

/// What a new slot is made with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recipe {
    pub(super) segment_bytes: usize,
    pub(super) durability: Durability,
    pub(super) created_us: u64,
    /// That of its first segment (FMT-06).
    pub(super) generation: u64,
}

/// Makes the files of an empty slot, in an order of which every prefix recovers to one. Nothing is
/// synced in `memory`: nothing is lost with an empty slot.
///
/// # Errors
/// The disk failed, or is full. What is left is an empty slot.
pub(super) fn create(disk: &Arc<dyn Disk>, dir: &Path, recipe: Recipe) -> DiskResult<Found> {
    let lasting = recipe.durability != Durability::Memory;
    let settle = |file: &dyn DiskFile| {
        if lasting {
            file.sync()?;
            disk.sync_dir(dir)?;
        }
        Ok(())
    };
    let make = |name: &str, bytes: &[u8]| {
        let file = disk.open(&dir.join(name), Access::Create)?;
        file.truncate(0)?;
        file.write_at(bytes, 0)?;
        settle(&*file)
    };
    make(names::WATERMARK, &record::file(Kind::Watermark, None))?;
    make(names::DICTIONARY, &dictionary::HEADER)?;
    let path = dir.join(names::segment(recipe.generation));
    let header = Header { flagged: false, base: Fsn::FIRST, created_us: recipe.created_us };
    drop(SegmentFile::create(disk, &path, recipe.segment_bytes, &header)?);
    let segment = disk.open(&path, Access::Write)?;
    settle(&*segment)?;
    let bounds = Record { generation: 1, first: 0, second: 0 };
    make(names::MANIFEST, &record::file(Kind::Manifest, Some(bounds)))?;
    // Only now is there a manifest that it may require (FMT-08).
    segment.write_at(&[FLAGGED], FLAGS_AT)?;
    settle(&*segment)?;
    Ok(Found {
        segments: vec![FoundSegment { path, base: Fsn::FIRST, end: HEADER_BYTES }],
        goes_on: true,
        next: Fsn::FIRST,
        acked: None,
        bounds,
        watermark: None,
        texts: dictionary::Texts::default(),
        generation: recipe.generation.saturating_add(1),
        older: (Vec::new(), Fsn::FIRST),
        pending: Vec::new(),
        dense: false,
    })
}
