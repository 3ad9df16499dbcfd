//! What the manifest says against what is there (REC-03 to REC-08, REC-23). Pure.

use super::active::Active;
use super::chain::Layout;
use super::decide::{Decider, next_of};
use super::event::{Event, EventKind};
use super::found::Manifest;
use super::plan::Action;
use crate::store::fsn::Fsn;
use crate::store::names;
use crate::store::record::{Record, Records};

impl Decider<'_> {
    /// Tells what is missing, and what the manifest has wrong.
    pub(super) fn report_bounds(&mut self, start: Fsn, end: Fsn) {
        let below = self.found.acked().map(next_of);
        match self.chain.layout {
            Layout::Bounded(head, bound) => {
                self.report_missing_front(head.max(below.unwrap_or(head)), start);
                let straddles = start < head && self.chain.members.first().is_some_and(|m| m.end() > head);
                if straddles {
                    let event = Event::new(EventKind::HeadStraddled);
                    self.events.push(event.from(start.as_i64(), Some(head.as_i64())));
                }
                if !self.broken {
                    self.report_end(end, bound);
                }
            }
            Layout::Stale(..) => self.report_missing_front(below.unwrap_or(start), start),
            Layout::Unbounded => {
                self.events.push(Event::new(EventKind::ManifestRebuilt).file(names::MANIFEST));
                self.report_missing_front(below.unwrap_or(start), start);
            }
            Layout::Legacy => {
                self.events.push(Event::information(EventKind::LegacyUpgraded));
                self.report_missing_front(below.unwrap_or(start), start);
            }
        }
    }

    /// Tells that the bounds are those of an earlier life (REC-23).
    pub(super) fn report_stale(&mut self, active: &Active) {
        let start = self.chain.members.first().map(|member| member.base);
        if let Layout::Stale(head, bound) = self.chain.layout
            && (Some(head), bound) != (start, active.base(self))
        {
            let detail = format!("head {head}, active {bound}");
            self.events.push(Event::new(EventKind::ManifestStale).detail(detail));
        }
    }

    fn report_missing_front(&mut self, first: Fsn, start: Fsn) {
        if first < start {
            let event = Event::new(EventKind::FramesMissing).frames(start.since(first));
            self.events.push(event.from(first.as_i64(), Some(start.as_i64())));
        }
    }

    fn report_end(&mut self, end: Fsn, bound: Fsn) {
        let there = self.found.segments().any(|(_, segment)| segment.header.base == bound);
        let behind = self.chain.members.last().is_some_and(|last| last.base > bound);
        if end < bound || !there && end == bound {
            self.events.push(Event::new(EventKind::FramesMissing).from(end.as_i64(), None));
        } else if behind && !self.records().torn {
            let event = Event::new(EventKind::ManifestBehind);
            self.events.push(event.from(bound.as_i64(), Some(end.as_i64())));
        }
    }

    fn records(&self) -> Records {
        match self.found.manifest {
            Manifest::Valid { records, .. } => records,
            Manifest::Absent | Manifest::Invalid => Records::default(),
        }
    }

    /// Plans the manifest, and flags for the segments that have none; returns the newest record.
    pub(super) fn manifest(&mut self, start: Fsn, active: &Active, plan: &mut Vec<Action>) -> Option<Record> {
        let last = match active {
            Active::Existing(_) => active.base(self),
            // The segment is covered once it exists.
            Active::New { base } => self.chain.members.last().map_or(*base, |member| member.base),
        };
        let records = self.records();
        let wanted = (start.as_i64(), last.as_i64());
        let mut newest = records.newest;
        if newest.map(|record| (record.first, record.second)) != Some(wanted) {
            if self.found.manifest == Manifest::Invalid {
                let to = self.corrupt(names::MANIFEST);
                plan.push(Action::Rename { from: names::MANIFEST.to_owned(), to });
            }
            let record = records.next(wanted.0, wanted.1);
            plan.push(Action::Manifest { record, fresh: records.newest.is_none() });
            newest = Some(record);
        }
        let existing = match active {
            Active::Existing(file) => Some(*file),
            Active::New { .. } => None,
        };
        let mut kept: Vec<_> = self.chain.members.iter().map(|member| member.file).chain(existing).collect();
        kept.dedup();
        for file in kept {
            if self.found.segment(file).is_some_and(|segment| !segment.header.flagged) {
                plan.push(Action::Flag(self.found.name(file).to_owned()));
            }
        }
        newest
    }
}
