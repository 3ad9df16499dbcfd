//! Which of the frames are sent: behind the acknowledged one, up to the last that commits, and only
//! those whose symbols are known (REC-12, REC-16, REC-18). Pure.

use super::chain::Layout;
use super::decide::{Decider, next_of};
use super::event::{Event, EventKind};
use super::plan::Action;
use super::symbols::Symbols;
use crate::store::fsn::Fsn;

impl Decider<'_> {
    /// REC-16: cuts the chain in front of the first frame that is to be sent and cannot be; the reason
    /// if nothing is left to be sent before it.
    pub(super) fn split_unreplayable(&mut self, symbols: &Symbols) -> Option<String> {
        let (start, end) = (self.chain.members.first()?.base, self.chain.end()?);
        let first = start.max(next_of(self.acked(start, end).0));
        let to_send = first..self.commit_end(end).max(first);
        let &(fault, id) = symbols.faults.iter().find(|(fsn, _)| to_send.contains(fsn))?;
        if fault == to_send.start {
            return Some(format!("frame {fault} needs symbol {id}, which nobody has"));
        }
        self.chain.cut(fault);
        None
    }

    /// Number behind the last frame of the chain that commits.
    fn commit_end(&self, end: Fsn) -> Fsn {
        for member in self.chain.members.iter().rev() {
            let frames = self.found.segment(member.file).map_or(&[][..], |segment| &segment.frames);
            let taken = usize::try_from(member.frames).unwrap_or(usize::MAX);
            let last = frames.iter().take(taken).rposition(|frame| !frame.deferred);
            if let Some(last) = last {
                return member.base.plus(last as u64 + 1);
            }
        }
        self.chain.members.first().map_or(end, |member| member.base)
    }

    /// REC-12: the acknowledged frame, -1 for none, and what is to be said about it.
    pub(super) fn acked(&self, start: Fsn, end: Fsn) -> (i64, Option<Event>) {
        let lowest = start.as_i64() - 1;
        let last = self.last_end().unwrap_or(end).max(end).as_i64() - 1;
        let below_head = match self.chain.layout {
            Layout::Bounded(head, _) => head.as_i64() - 1,
            Layout::Legacy | Layout::Unbounded | Layout::Stale(..) => -1,
        };
        let acked = self.found.acked().unwrap_or(-1).max(below_head);
        if acked > last && acked > below_head {
            let event = Event::new(EventKind::WatermarkBeyond).from(acked, Some(acked.saturating_add(1)));
            return (lowest, Some(event));
        }
        if start < end && acked > lowest && !self.is_base_witnessed(start, end) {
            let event = Event::information(EventKind::WatermarkUnconfirmed);
            return (lowest, Some(event.from(start.as_i64(), Some(acked.saturating_add(1)))));
        }
        (lowest.max(acked.min(end.as_i64() - 1)), None)
    }

    /// Whether something beside its own header tells the number of the first frame: the manifest, another
    /// segment of the chain, or a spare, which is made at the begin or at the end of the last segment.
    /// With a wrong one frames would count as acknowledged that are not (REC-04).
    fn is_base_witnessed(&self, start: Fsn, end: Fsn) -> bool {
        let mut spares = self.chain.frameless.iter().filter_map(|&file| self.found.segment(file));
        let by_manifest = match self.chain.layout {
            Layout::Bounded(head, active) | Layout::Stale(head, active) => {
                start == head || self.chain.members.iter().any(|member| member.base == active)
            }
            Layout::Legacy | Layout::Unbounded => false,
        };
        let is_at_an_end = |base: Fsn| base == start || base == end;
        by_manifest || self.chain.members.len() > 1 || spares.any(|spare| is_at_an_end(spare.header.base))
    }

    /// REC-18: cuts off the frames that nobody will commit. They would be committed by the next frame
    /// if they stayed. Their numbers are used again; segments that hold nothing else are set aside.
    pub(super) fn drop_uncommitted(&mut self, from: Fsn, end: Fsn) {
        let first = self.commit_end(end).max(from);
        if first >= end {
            return;
        }
        let event = Event::new(EventKind::UncommittedTailDropped);
        let event = event.from(first.as_i64(), Some(end.as_i64())).frames(end.since(first));
        let kept = self.chain.members.partition_point(|member| member.base < first);
        let dropped = self.chain.members.split_off(kept);
        let mut names = Vec::new();
        for member in dropped.iter().rev() {
            let from = self.found.name(member.file).to_owned();
            let to = self.corrupt(&from);
            names.push(to.clone());
            self.first.push(Action::Rename { from, to });
        }
        match self.chain.members.last_mut() {
            Some(last) => last.frames = first.since(last.base),
            None => self.headless = Some(first),
        }
        let event = names.last().map_or(event.clone(), |name| event.kept(name));
        self.events.push(event);
    }
}
