//! Which segment takes the next frame (REC-08). Pure.

use std::cmp::Reverse;

use super::chain::{Chain, Layout};
use super::decide::Decider;
use super::event::{Event, EventKind};
use super::scan::{Residue, Segment};
use crate::store::fsn::Fsn;
use crate::store::names;

/// Where the next frame goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Active {
    /// Into a segment that exists.
    Existing(usize),
    /// Into a new segment, which is created and then covered by the manifest.
    New {
        /// Number of its first frame.
        base: Fsn,
    },
}

impl Active {
    /// Number of its first frame.
    pub(super) fn base(&self, decider: &Decider<'_>) -> Fsn {
        match self {
            Active::New { base } => *base,
            Active::Existing(file) => {
                let member = decider.chain.members.iter().find(|member| member.file == *file);
                let header = decider.found.segment(*file).map(|segment| segment.header.base);
                let end = decider.chain.end();
                member.map(|member| member.base).or(end).or(header).unwrap_or(Fsn::FIRST)
            }
        }
    }
}

/// Chooses it, once it is settled which frames are kept.
pub(super) fn choose(decider: &Decider<'_>) -> Active {
    let chain = &decider.chain;
    let last = chain.members.last().filter(|last| last.frames > 0);
    let bound = match chain.layout {
        Layout::Bounded(_, active) => Some(active),
        Layout::Legacy | Layout::Unbounded | Layout::Stale(..) => None,
    };
    let Some(last) = last else { return without_frames(decider, bound) };
    if decider.broken {
        return Active::Existing(last.file);
    }
    match bound {
        Some(active) if active == last.end() => match frameless_at(decider, active) {
            Some(file) => Active::Existing(file),
            None => Active::New { base: last.end() },
        },
        Some(active) if last.base < active => Active::New { base: last.end() },
        _ => Active::Existing(last.file),
    }
}

fn without_frames(decider: &Decider<'_>, bound: Option<Fsn>) -> Active {
    // Where a chain was cut off in front of everything, that is where new frames begin.
    if let Some(start) = decider.headless_base() {
        return Active::New { base: start };
    }
    if let Some(active) = bound {
        return frameless_at(decider, active).map_or(Active::New { base: active }, Active::Existing);
    }
    let segments = decider.chain.frameless.iter().filter_map(|&file| {
        let segment = decider.found.segment(file)?;
        let initial = decider.found.name(file) == names::INITIAL;
        Some((Reverse(segment.header.base), torn(segment), !initial, file))
    });
    segments.min().map_or(Active::New { base: Fsn::FIRST }, |(_, _, _, file)| Active::Existing(file))
}

/// A segment without frames for them to begin at `base`, rather a clean one.
fn frameless_at(decider: &Decider<'_>, base: Fsn) -> Option<usize> {
    let here = decider.chain.frameless.iter().filter_map(|&file| {
        let segment = decider.found.segment(file)?;
        (segment.header.base == base).then_some((torn(segment), file))
    });
    here.min().map(|(_, file)| file)
}

fn torn(segment: &Segment) -> bool {
    segment.residue != Residue::Clean
}

/// REC-10 for a segment that closes the chain and whose first frame is damaged: it is renamed, which
/// needs no room for a copy.
pub(super) fn set_headless_aside(decider: &mut Decider<'_>) {
    let Chain { members, behind, .. } = &decider.chain;
    let Some(last) = members.last().copied().filter(|last| last.frames == 0 && behind.is_empty()) else {
        return;
    };
    decider.chain.members.pop();
    decider.headless = Some(last.base);
    let Some(segment) = decider.found.segment(last.file) else { return };
    let name = decider.found.name(last.file).to_owned();
    let base = last.base.as_i64();
    let event = Event::new(EventKind::DamageInQueue).from(base, Some(base.saturating_add(1)));
    decider.set_aside(&name, event.frames(segment.residue.frame_count()).file(&name));
}
