//! What is to be done about a slot (store-and-forward.md 4). Pure: what was found in, verdict, events
//! and a plan of steps out.

use std::collections::HashSet;

use super::active::{self, Active};
use super::behind;
use super::chain::{Chain, Layout, Member};
use super::event::{Event, EventKind};
use super::found::{Found, Manifest};
use super::plan::Action;
use super::scan::{Residue, Scan};
use super::symbols::{self, Epoch, Symbols};
use crate::store::dictionary::Texts;
use crate::store::fsn::Fsn;
use crate::store::names;
use crate::store::record::{Record, Records};

/// A slot of a format that a newer writer made: nothing may be touched (REC-01).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unsupported {
    /// The file that says so.
    pub(crate) file: String,
    /// The field.
    pub(crate) field: &'static str,
    /// What it holds.
    pub(crate) value: u16,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    /// What becomes of the slot.
    pub(crate) verdict: Verdict,
    /// What was found, in the order of the steps.
    pub(crate) events: Vec<Event>,
    /// What is done to the disk, in order.
    pub(crate) plan: Vec<Action>,
}

/// What becomes of a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is used.
    Open(Box<Opened>),
    /// It cannot be replayed (REC-17); the plan is empty.
    SetAside(String),
}

/// A slot that can be used, once the plan is carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opened {
    /// The segments with frames in the order of their bases, then the active one if it has none.
    pub(crate) segments: Vec<Kept>,
    /// Base of the segment that has to be made for the next frame; `None` if that goes into the last
    /// one of `segments`. The manifest covers a new segment only once it exists.
    pub(crate) new_segment: Option<Fsn>,
    /// Number of the first frame that is kept, or of the next one if none is.
    pub(crate) start: Fsn,
    /// The acknowledged frame (REC-12).
    pub(crate) acked: Option<Fsn>,
    /// Number of the next frame.
    pub(crate) next: Fsn,
    /// Which text an id stands for; one epoch at least (REC-13).
    pub(crate) epochs: Vec<Epoch>,
    /// Whether new frames have to be dense until the slot is drained, and the file is left alone.
    pub(crate) dense: bool,
    /// Generation of the next segment's name; `None` if there is none left.
    pub(crate) generation: Option<u64>,
    /// The newest record of the manifest; `None` if it has to be created (REC-19).
    pub(crate) manifest: Option<Record>,
    /// The newest record of the watermark.
    pub(crate) watermark: Option<Record>,
}

/// A segment that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Name of its file.
    pub(crate) file: String,
    /// Number of its first frame.
    pub(crate) base: Fsn,
    /// Where each frame begins.
    pub(crate) offsets: Vec<u64>,
    /// Where the last frame ends.
    pub(crate) end: u64,
    /// Bytes of the file.
    pub(crate) bytes: u64,
}

/// Decides about a slot.
pub(crate) fn decide(found: &Found) -> Result<Decision, Unsupported> {
    for file in &found.files {
        if let Scan::Unsupported { field, value } = file.scan {
            return Err(Unsupported { file: file.name.clone(), field, value });
        }
    }
    let mut decider = Decider::new(found);
    if found.segments().next().is_none() {
        return Ok(decider.empty());
    }
    Ok(decider.full())
}

pub(super) struct Decider<'f> {
    pub(super) found: &'f Found,
    pub(super) chain: Chain,
    pub(super) events: Vec<Event>,
    /// Steps before the bounds are written: pieces, copies, zeros.
    pub(super) first: Vec<Action>,
    /// Renames and deletions behind them.
    pub(super) last: Vec<Action>,
    /// Whether frames that are kept stand behind a hole.
    pub(super) broken: bool,
    /// The file in which the chain ends in front of the hole.
    pub(super) hole: Option<usize>,
    /// Base of a segment at the end of the chain that was set aside, as its first frame is damaged.
    pub(super) headless: Option<Fsn>,
    /// Folders with what was behind the hole.
    pub(super) pieces: Vec<String>,
    /// Names that steps of this plan give away.
    taken: HashSet<String>,
}

impl<'f> Decider<'f> {
    fn new(found: &'f Found) -> Decider<'f> {
        let chain = Chain::build(found);
        let mut events = Vec::new();
        if let Some(text) = &found.failed {
            events.push(Event::new(EventKind::MarkedFailed).file(names::FAILED).detail(text));
        }
        Decider {
            found,
            chain,
            events,
            first: Vec::new(),
            last: Vec::new(),
            broken: false,
            hole: None,
            headless: None,
            pieces: Vec::new(),
            taken: HashSet::new(),
        }
    }

    /// A name under which a file is set aside.
    pub(super) fn corrupt(&mut self, name: &str) -> String {
        let taken = |name: &str| self.taken.contains(name) || self.found.names.iter().any(|n| n == name);
        let name = names::corrupt(name, taken);
        self.taken.insert(name.clone());
        name
    }

    /// REC-21: no segment file at all.
    fn empty(&mut self) -> Decision {
        self.set_foreign_aside();
        if let Some((head, active)) = self.found.manifest.bounds()
            && head < active
            && self.found.files.is_empty()
        {
            self.events.push(match self.found.watermark {
                None => Event::information(EventKind::DrainedByOther),
                Some(_) => Event::new(EventKind::AllSegmentsMissing)
                    .from(head.max(next_of(self.found.acked().unwrap_or(-1))).as_i64(), None),
            });
        }
        let mut plan = Vec::new();
        if self.found.watermark.is_some() {
            plan.push(Action::Unlink(names::WATERMARK.to_owned()));
        }
        if self.found.dictionary.is_some() {
            plan.push(
                match self.found.names.iter().any(|name| names::is_corrupt(name)) || !self.last.is_empty() {
                    true => Action::Rename {
                        from: names::DICTIONARY.to_owned(),
                        to: self.corrupt(names::DICTIONARY),
                    },
                    false => Action::Unlink(names::DICTIONARY.to_owned()),
                },
            );
        }
        match self.found.manifest {
            Manifest::Valid { .. } => plan.push(Action::Unlink(names::MANIFEST.to_owned())),
            Manifest::Invalid => {
                let to = self.corrupt(names::MANIFEST);
                plan.push(Action::Rename { from: names::MANIFEST.to_owned(), to });
            }
            Manifest::Absent => {}
        }
        behind::keep(self, Fsn::FIRST, None);
        plan.append(&mut self.first);
        plan.append(&mut self.last);
        self.remove_temporary(&mut plan);
        behind::release(self, &mut plan);
        let opened = Opened {
            segments: Vec::new(),
            new_segment: Some(Fsn::FIRST),
            start: Fsn::FIRST,
            acked: None,
            next: Fsn::FIRST,
            epochs: vec![Epoch { first: Fsn::FIRST, texts: Texts::default() }],
            dense: false,
            generation: self.found.next_generation(),
            manifest: None,
            watermark: None,
        };
        Decision { verdict: Verdict::Open(Box::new(opened)), events: std::mem::take(&mut self.events), plan }
    }

    fn full(mut self) -> Decision {
        self.drop_acked_prefix();
        let symbols = self.walk_symbols();
        if let Some(reason) = self.split_unreplayable(&symbols) {
            let aside = Event::new(EventKind::SetAside).detail(&reason);
            return Decision { verdict: Verdict::SetAside(reason), events: vec![aside], plan: Vec::new() };
        }
        self.broken = self.is_broken();
        self.hole = self.chain.members.last().map(|last| last.file).filter(|_| self.broken);
        active::set_headless_aside(&mut self);
        let (start, end) = self.ends();
        behind::keep(&mut self, end, Some(&symbols));
        self.report_bounds(start, end);
        let (acked, event) = self.acked(start, end);
        self.events.extend(event);
        self.drop_uncommitted(start.max(next_of(acked)), end);
        let active = active::choose(&self);
        self.report_stale(&active);
        self.repair_tails(&active);
        let next = self.chain.end().unwrap_or(active.base(&self));
        let acked = acked.min(next.as_i64() - 1);
        self.set_foreign_aside();
        self.clear_rest(&active);
        let mut plan = std::mem::take(&mut self.first);
        let start = start.min(next);
        let (epochs, dense) = self.dictionary(symbols, next, &mut plan);
        let manifest = self.manifest(start, &active, &mut plan);
        let watermark = self.watermark(acked, &mut plan);
        plan.append(&mut self.last);
        self.remove_temporary(&mut plan);
        behind::release(&self, &mut plan);
        let opened = Opened {
            segments: self.kept(&active, next),
            new_segment: match active {
                Active::New { base } => Some(base),
                Active::Existing(_) => None,
            },
            start,
            acked: Fsn::new(acked),
            next,
            epochs,
            dense,
            generation: self.found.next_generation(),
            manifest,
            watermark,
        };
        Decision { verdict: Verdict::Open(Box::new(opened)), events: self.events, plan }
    }

    /// What lies in front of a hole and is acknowledged is not needed, and neither is the hole.
    fn drop_acked_prefix(&mut self) {
        let Some(acked) = self.found.acked() else { return };
        while let Some(&next) = self.chain.behind.first()
            && let Some(segment) = self.found.segment(next)
            && !segment.frames.is_empty()
            && acked >= segment.header.base.as_i64() - 1
            && self.last_end().is_some_and(|end| acked < end.as_i64())
        {
            self.chain.left_overs.extend(self.chain.members.drain(..).map(|member| member.file));
            let behind = std::mem::take(&mut self.chain.behind);
            self.chain.link(&behind, self.found);
        }
    }

    /// Number behind the last frame in the slot, holes or not.
    pub(super) fn last_end(&self) -> Option<Fsn> {
        let behind = self.chain.behind.iter().filter_map(|&file| self.found.segment(file));
        behind.map(super::chain::end).chain(self.chain.end()).max()
    }

    fn walk_symbols(&self) -> Symbols {
        let empty = Texts::default();
        let file = self.found.dictionary.as_ref().map_or(&empty, |contents| &contents.texts);
        let first = self.chain.members.first().map_or(Fsn::FIRST, |member| member.base);
        let behind = self.chain.behind.iter().filter_map(|&file| {
            let segment = self.found.segment(file)?;
            Some(Member { file, base: segment.header.base, frames: segment.frame_count() })
        });
        let members = self.chain.members.iter().copied().chain(behind);
        let deltas = members.flat_map(|member| {
            let segment = self.found.segment(member.file);
            let frames = segment.into_iter().flat_map(|segment| &segment.frames).zip(0..);
            frames.filter_map(move |(frame, at)| Some((member.base.plus(at), segment?.delta(frame)?)))
        });
        symbols::walk(file, first, deltas)
    }

    fn is_broken(&self) -> bool {
        let cut = self.chain.members.last().is_some_and(|last| {
            self.found.segment(last.file).is_some_and(|segment| last.frames < segment.frame_count())
        });
        cut || !self.chain.behind.is_empty()
    }

    /// Where new frames begin if nothing precedes the damage.
    pub(super) fn headless_base(&self) -> Option<Fsn> {
        let behind = self.chain.behind.first().and_then(|&file| self.found.segment(file));
        self.headless.or(behind.map(|segment| segment.header.base))
    }

    /// Where the chain begins and ends.
    fn ends(&self) -> (Fsn, Fsn) {
        let bound = match self.chain.layout {
            Layout::Bounded(_, active) => Some(active),
            Layout::Legacy | Layout::Unbounded | Layout::Stale(..) => None,
        };
        let without = || self.headless_base().or(bound).unwrap_or_else(|| active::choose(self).base(self));
        let start = self.chain.members.first().map_or_else(without, |member| member.base);
        (start, self.chain.end().unwrap_or(start))
    }

    fn kept(&self, active: &Active, next: Fsn) -> Vec<Kept> {
        let mut members: Vec<_> = self.chain.members.clone();
        if let Active::Existing(file) = active
            && members.last().is_none_or(|last| last.file != *file)
        {
            members.push(Member { file: *file, base: next, frames: 0 });
        }
        let kept = members.iter().filter_map(|member| {
            let segment = self.found.segment(member.file)?;
            let taken = usize::try_from(member.frames).unwrap_or(usize::MAX);
            let frames = segment.frames.iter().take(taken);
            Some(Kept {
                file: self.found.name(member.file).to_owned(),
                base: member.base,
                offsets: frames.clone().map(|frame| frame.offset).collect(),
                end: super::tails::end_of(segment, member.frames),
                bytes: segment.bytes,
            })
        });
        kept.collect()
    }

    /// REC-02, and files whose frames others hold.
    fn set_foreign_aside(&mut self) {
        for file in &self.found.files {
            if let Scan::NotASegment { why, bytes, frames } = file.scan {
                let event = Event::new(EventKind::NotASegment).file(&file.name).bytes(bytes).detail(why);
                let event = if frames > 0 { event.frames(frames) } else { event };
                self.set_aside(&file.name, event);
            }
        }
        for file in self.chain.strays.clone() {
            let segment = self.found.segment(file);
            let base = segment.map_or(0, |segment| segment.header.base.as_i64());
            let frames = segment.map_or(0, |segment| segment.frame_count());
            let name = self.found.name(file);
            let event = Event::new(EventKind::SegmentOverlaps).file(name).from(base, None).frames(frames);
            self.set_aside(name, event);
        }
    }

    /// Renames a file behind everything else, and says so.
    pub(super) fn set_aside(&mut self, name: &str, event: Event) {
        let to = self.corrupt(name);
        self.events.push(event.kept(&to));
        self.last.push(Action::Rename { from: name.to_owned(), to });
    }

    /// REC-07, and segments without frames that are not needed.
    fn clear_rest(&mut self, active: &Active) {
        let in_order = self.is_in_order();
        for file in self.chain.left_overs.clone() {
            let clean = self.found.segment(file).is_some_and(|s| s.residue == Residue::Clean);
            let name = self.found.name(file);
            if clean && in_order {
                self.last.push(Action::Unlink(name.to_owned()));
            } else {
                let base = self.found.segment(file).map_or(0, |segment| segment.header.base.as_i64());
                self.set_aside(name, Event::new(EventKind::LeftOverKept).file(name).from(base, None));
            }
        }
        for file in self.chain.frameless.clone() {
            let Some(segment) = self.found.segment(file) else { continue };
            let name = self.found.name(file).to_owned();
            if *active == Active::Existing(file) {
                continue;
            }
            match segment.residue.end() {
                None => self.last.push(Action::Unlink(name)),
                Some(end) => {
                    let bytes = end.saturating_sub(segment.end);
                    self.set_aside(&name, Event::new(EventKind::TailDiscarded).file(&name).bytes(bytes));
                }
            }
        }
    }

    /// Whether nothing but an interrupted trim explains a segment below the head base: it is deleted
    /// only then.
    fn is_in_order(&self) -> bool {
        let Layout::Bounded(head, active) = self.chain.layout else { return false };
        let starts = self.chain.members.first().is_none_or(|member| member.base == head);
        let whole = self.chain.behind.is_empty() && self.chain.strays.is_empty();
        starts && whole && self.found.segments().any(|(_, segment)| segment.header.base == active)
    }

    fn remove_temporary(&self, plan: &mut Vec<Action>) {
        let temporary = self.found.names.iter().filter(|name| names::is_temporary(name));
        plan.extend(temporary.map(|name| Action::Unlink(name.clone())));
        if plan.iter().any(|step| matches!(step, Action::Unlink(_) | Action::Rename { .. })) {
            plan.push(Action::SyncNames);
        }
    }

    fn watermark(&self, acked: i64, plan: &mut Vec<Action>) -> Option<Record> {
        let watermark = self.found.watermark.unwrap_or_default();
        let right = watermark.acked.unwrap_or(-1) == acked;
        if watermark.current && right {
            return watermark.records.newest;
        }
        let records = if watermark.current { watermark.records } else { Records::default() };
        let record = (acked >= 0 || records.newest.is_some()).then(|| records.next(acked, 0));
        plan.push(Action::Watermark { record, fresh: !watermark.current });
        record
    }
}

/// The frame behind one that is given as number or -1.
pub(super) fn next_of(acked: i64) -> Fsn {
    Fsn::new(acked.saturating_add(1)).unwrap_or(Fsn::FIRST)
}
