//! Opens a slot: locks, recovery, and what follows from it (store-and-forward.md 4.1).

use std::path::Path;
use std::time::UNIX_EPOCH;

use super::create::{Recipe, create};
use super::epochs::Epoch;
use super::lock;
use super::record::Record;
use super::recovery::{self, Event, Verdict};
use super::segment_bytes;
use super::storage::{Found, FoundSegment, Opened, Site, SlotConfig, assemble};
use crate::config::Durability;
use crate::error::{Error, ErrorKind, Result};

/// Opens the slot at `config.dir`, or makes it. Every event was logged; they are returned for whoever
/// wants to count them.
///
/// Blocks while another process opens the same slot, at most 2 s, and while the disk works.
///
/// # Errors
/// `StoreLocked` if somebody owns the slot. `Store` if the disk failed, or a newer client wrote the slot;
/// then nothing has changed. `Config` for sizes that do not work.
pub(crate) fn open(config: &SlotConfig, site: &Site) -> Result<(Opened, Vec<Event>)> {
    let segment_bytes = segment_bytes(config.sizes)?;
    let (disk, dir) = (&*site.disk, &*config.dir);
    if disk.create_dir(dir)? && config.durability != Durability::Memory {
        disk.sync_dir(dir.parent().unwrap_or(dir))?;
    }
    let wall = site.clock.wall();
    let mut held = lock::acquire(disk, &*site.clock, dir)?;
    let mut recovered = recovery::recover(disk, dir, wall)?;
    if let Verdict::SetAside(reason) = &recovered.verdict {
        recovery::set_aside(disk, dir, wall, reason)?;
        log_events(&recovered.events);
        let events = std::mem::take(&mut recovered.events);
        // The lock went with the folder.
        disk.create_dir(dir)?;
        held.slot = lock::SlotLock::acquire(disk, dir)?;
        recovered = recovery::recover(disk, dir, wall)?;
        recovered.events.splice(0..0, events);
    } else {
        log_events(&recovered.events);
    }
    let Verdict::Open(slot) = recovered.verdict else {
        return Err(Error::new(ErrorKind::Bug, "a new slot cannot be opened").with("path", dir.display()));
    };
    let found = if slot.segments.is_empty() {
        let created = wall.duration_since(UNIX_EPOCH).unwrap_or_default();
        create(
            &site.disk,
            dir,
            Recipe {
                segment_bytes,
                durability: config.durability,
                created_us: u64::try_from(created.as_micros()).unwrap_or(u64::MAX),
                generation: generation(slot.generation, dir)?,
            },
        )?
    } else {
        go_on(dir, *slot, recovered.pending)?
    };
    let opened = assemble(found, config, site, held.slot)?;
    opened.storage.begin(&site.keeper)?;
    drop(held.logical);
    Ok((opened, recovered.events))
}

/// OBS-07.
fn log_events(events: &[Event]) {
    for event in events {
        match event.information {
            true => log::info!("store: {event}"),
            false => log::warn!("store: {event}"),
        }
    }
}

/// FMT-06.
fn generation(next: Option<u64>, dir: &Path) -> Result<u64> {
    next.ok_or_else(|| {
        Error::new(ErrorKind::Store, "no name is left for a segment")
            .with("path", dir.display())
            .because("remove the files that end in .corrupt")
    })
}

/// What recovery found, as it is gone on with.
fn go_on(dir: &Path, slot: recovery::Opened, pending: Vec<recovery::Action>) -> Result<Found> {
    let generation = generation(slot.generation, dir)?;
    let segments = slot.segments.iter().map(|kept| FoundSegment {
        path: dir.join(&kept.file),
        base: kept.base,
        end: usize::try_from(kept.end).unwrap_or(usize::MAX),
    });
    let mut epochs = slot.epochs;
    let last = epochs.pop().ok_or_else(|| Error::new(ErrorKind::Bug, "a slot without a dictionary"))?;
    let older = epochs.into_iter().map(|epoch| Epoch { first: epoch.first, texts: epoch.texts }).collect();
    Ok(Found {
        segments: segments.collect(),
        goes_on: slot.new_segment.is_none(),
        next: slot.next,
        acked: slot.acked,
        bounds: slot.manifest.unwrap_or(Record { generation: 1, first: 0, second: 0 }),
        watermark: slot.watermark,
        texts: last.texts,
        older: (older, last.first),
        dense: slot.dense,
        generation,
        pending,
    })
}
