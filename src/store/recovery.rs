//! Recovery of a slot (store-and-forward.md 4): what is there, what is to be done, doing it.
//!
//! ```text
//! read     a slot, through the disk          -> Found
//!   scan      one segment file                     frames, end of data, what follows
//! decide   pure                              -> Decision: verdict, events, plan
//!   chain     which segments follow one another    REC-03 to REC-05, REC-23
//!   symbols   which text an id stands for          REC-13 to REC-16
//!   active    which segment takes the next frame   REC-08
//!   behind    what stands behind a hole            REC-11
//!   outgoing  which frames are sent                REC-12, REC-16, REC-18
//!   tails, bounds, lexicon                         REC-10, REC-06, REC-15
//! repair   carries out the plan, through the disk
//! ```
//!
//! Never refuses for damage, never deletes bytes that may be data, never stays silent about a loss.

mod active;
mod behind;
mod bounds;
mod chain;
mod decide;
mod event;
mod found;
mod lexicon;
mod outgoing;
mod plan;
mod read;
mod repair;
mod scan;
mod symbols;
mod tails;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::disk::Disk;
use super::marker::{self, FailedKind};
use super::names;
use crate::error::{Error, ErrorKind, Result};

pub(crate) use decide::{Decision, Opened, Unsupported, Verdict, decide};
pub use event::{Event, EventKind};
pub(crate) use found::Found;
pub(crate) use plan::Action;
pub(crate) use read::read;
pub(crate) use repair::carry_out;

#[cfg(fuzzing)]
pub(crate) use scan::fuzz_segment;

/// A slot behind its recovery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recovered {
    /// What becomes of it.
    pub(crate) verdict: Verdict,
    /// What was found, with whole paths.
    pub(crate) events: Vec<Event>,
    /// Steps that the full disk left, to be done by [`carry_out`] before the first append or trim.
    pub(crate) pending: Vec<Action>,
}

/// Recovers a slot whose locks are held and whose directory exists.
///
/// # Errors
/// `Store` if the disk failed or the slot is of a newer format. In the second case, and if it failed
/// while reading, nothing has changed.
pub(crate) fn recover(disk: &dyn Disk, slot: &Path, now: SystemTime) -> Result<Recovered> {
    let found = read(disk, slot)?;
    let decision = decide(&found).map_err(|unsupported| unsupported.into_error(slot))?;
    let pending = carry_out(disk, slot, &decision.plan, now)?;
    let events = decision.events.into_iter().map(|event| event.within(slot)).collect();
    Ok(Recovered { verdict: decision.verdict, events, pending })
}

/// Moves a slot that cannot be replayed out of the way, and says in it why (REC-17). Its locks are
/// held; they move with it.
///
/// # Errors
/// `Store` if the disk failed, or 64 slots of that name were set aside already.
pub(crate) fn set_aside(disk: &dyn Disk, slot: &Path, now: SystemTime, reason: &str) -> Result<PathBuf> {
    let root = slot.parent().unwrap_or(Path::new("."));
    let name = slot.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let siblings = disk.list(root)?;
    let free = names::unreplayable(name, |name| siblings.iter().any(|sibling| sibling.name == name));
    let Some(free) = free else {
        return Err(Error::new(ErrorKind::Store, "cannot set the slot aside")
            .with("slot", slot.display())
            .because("64 slots of that name were set aside already; move them away"));
    };
    let aside = root.join(free);
    disk.rename(slot, &aside)?;
    marker::write(disk, &aside, now, FailedKind::Unreplayable, reason)?;
    disk.sync_dir(root)?;
    Ok(aside)
}

impl Unsupported {
    /// The refusal (REC-01).
    #[cold]
    pub(crate) fn into_error(self, slot: &Path) -> Error {
        Error::new(ErrorKind::Store, "unsupported slot format")
            .with("path", slot.join(&self.file).display())
            .with(self.field, self.value)
            .because("a newer client may have written it; nothing was changed")
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
