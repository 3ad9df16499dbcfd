//! Which segments follow one another (store-and-forward.md 4.2). Pure.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::found::{Found, Manifest};
use super::scan::{Residue, Segment};
use crate::store::fsn::Fsn;

/// A segment of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member {
    /// Place of its file in [`Found::files`].
    pub(crate) file: usize,
    /// Number of its first frame.
    pub(crate) base: Fsn,
    /// How many of its frames belong to the chain.
    pub(crate) frames: u64,
}

impl Member {
    /// Number behind its last frame.
    pub(crate) fn end(&self) -> Fsn {
        self.base.plus(self.frames)
    }
}

/// How the slot was last kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// No manifest, and no file asks for one (REC-03).
    Legacy,
    /// The manifest is lost (REC-04).
    Unbounded,
    /// The manifest holds: head and active base (REC-05).
    Bounded(Fsn, Fsn),
    /// Old Java worked in the slot after the manifest was written (REC-23).
    Stale(Fsn, Fsn),
}

/// The files of a slot, sorted by what they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) layout: Layout,
    /// The longest chain without a hole.
    pub(crate) members: Vec<Member>,
    /// Segments with frames behind a hole, by their bases.
    pub(crate) behind: Vec<usize>,
    /// Segments whose frames others hold too.
    pub(crate) strays: Vec<usize>,
    /// Segments wholly below the head base.
    pub(crate) left_overs: Vec<usize>,
    /// Segments without frames, and without frames behind damage.
    pub(crate) frameless: Vec<usize>,
}

impl Chain {
    /// Sorts the files of a slot.
    pub(crate) fn build(found: &Found) -> Chain {
        let layout = layout(found);
        let (data, frameless): (Vec<_>, Vec<_>) =
            found.segments().partition(|(_, segment)| has_data(segment));
        let frameless = frameless.into_iter().map(|(file, _)| file).collect();
        let all = Chain {
            layout,
            members: Vec::new(),
            behind: Vec::new(),
            strays: Vec::new(),
            left_overs: Vec::new(),
            frameless,
        };
        let everything = all.clone().linked(&data, found);
        let head = match layout {
            Layout::Bounded(head, _) => head,
            // If all files form one chain, it is the slot's, whatever the bounds say.
            Layout::Stale(head, _) if !everything.is_one() => head,
            Layout::Legacy | Layout::Unbounded | Layout::Stale(..) => return everything,
        };
        let below = |segment: &Segment| segment.header.base < head && end(segment) <= head;
        let (left_overs, data): (Vec<_>, Vec<_>) =
            data.into_iter().partition(|(_, segment)| segment.header.flagged && below(segment));
        let left_overs = left_overs.into_iter().map(|(file, _)| file).collect();
        Chain { left_overs, ..all }.linked(&data, found)
    }

    /// Number behind the last frame of the chain; `None` without a chain.
    pub(crate) fn end(&self) -> Option<Fsn> {
        self.members.last().map(Member::end)
    }

    fn is_one(&self) -> bool {
        self.behind.is_empty() && self.strays.is_empty()
    }

    fn linked(mut self, data: &[(usize, &Segment)], found: &Found) -> Chain {
        let files: Vec<_> = data.iter().map(|(file, _)| *file).collect();
        self.link(&files, found);
        self
    }

    /// Makes the chain anew, of these files only.
    pub(super) fn link(&mut self, files: &[usize], found: &Found) {
        let mut sorted: Vec<_> =
            files.iter().filter_map(|&file| Some((file, found.segment(file)?))).collect();
        let bases: HashSet<_> = sorted.iter().map(|(_, segment)| segment.header.base).collect();
        // Of files with one base that one first which another continues.
        sorted.sort_by_key(|(file, segment)| {
            let continued = bases.contains(&end(segment));
            let name = found.name(*file).to_owned();
            (segment.header.base, !continued, Reverse(segment.frame_count()), name)
        });
        (self.members, self.behind) = (Vec::new(), Vec::new());
        for (file, segment) in sorted {
            let base = segment.header.base;
            let expected = self.end().unwrap_or(base);
            if !self.behind.is_empty() || base > expected {
                self.behind.push(file);
            } else if base < expected {
                self.strays.push(file);
            } else {
                self.members.push(Member { file, base, frames: segment.frame_count() });
            }
        }
        // A segment that is damaged in front of its first frame is no part of the chain.
        let headless = self.members.last().is_some_and(|last| last.frames == 0);
        if headless && !self.behind.is_empty() {
            self.behind.splice(0..0, self.members.pop().map(|member| member.file));
        }
    }

    /// Ends the chain in front of a frame; what follows stands behind.
    pub(super) fn cut(&mut self, at: Fsn) {
        let from = self.members.partition_point(|member| member.base < at);
        let behind: Vec<_> = self.members.drain(from..).map(|member| member.file).collect();
        self.behind.splice(0..0, behind);
        if let Some(last) = self.members.last_mut() {
            last.frames = last.frames.min(at.since(last.base));
        }
    }
}

/// Number behind the last frame in front of the end of data.
pub(crate) fn end(segment: &Segment) -> Fsn {
    segment.header.base.plus(segment.frame_count())
}

/// Whether it holds frames, be it behind damage.
fn has_data(segment: &Segment) -> bool {
    !segment.frames.is_empty() || matches!(segment.residue, Residue::Interior { .. })
}

fn layout(found: &Found) -> Layout {
    let any = |wanted: fn(&Segment) -> bool| found.segments().any(|(_, segment)| wanted(segment));
    match found.manifest {
        Manifest::Valid { head, active, .. } => match any(|s| has_data(s) && !s.header.flagged) {
            true => Layout::Stale(head, active),
            false => Layout::Bounded(head, active),
        },
        Manifest::Absent | Manifest::Invalid => match any(|s| s.header.flagged) {
            true => Layout::Unbounded,
            false => Layout::Legacy,
        },
    }
}
