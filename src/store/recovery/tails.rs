//! What is done about bytes behind the end of data (REC-09, REC-10, REC-22). Pure.

use super::active::Active;
use super::decide::Decider;
use super::event::{Event, EventKind};
use super::plan::Action;
use super::scan::{Residue, Segment};

/// Where the first `frames` frames of a segment end.
pub(super) fn end_of(segment: &Segment, frames: u64) -> u64 {
    let index = usize::try_from(frames).ok();
    index.and_then(|index| segment.frames.get(index)).map_or(segment.end, |next| next.offset)
}

impl Decider<'_> {
    /// Zeroes what must not follow the frames that are kept, and says so.
    pub(super) fn repair_tails(&mut self, active: &Active) {
        let members = self.chain.members.clone();
        for (index, member) in members.iter().enumerate() {
            let Some(segment) = self.found.segment(member.file) else { continue };
            let closes = index + 1 == members.len();
            let name = self.found.name(member.file).to_owned();
            if self.hole == Some(member.file) {
                // What follows is in a piece; the whole file is kept beside it (REC-11, step 3).
                let to = self.corrupt(&name);
                self.first.push(Action::Copy { from: name.clone(), to });
            } else {
                let numbers = (member.base.plus(segment.frame_count()).as_i64(), closes);
                self.report_residue(
                    &name,
                    segment,
                    numbers,
                    closes && *active == Active::Existing(member.file),
                );
            }
            self.zero(name, segment, member.frames);
        }
        if let Active::Existing(file) = *active
            && members.last().is_none_or(|last| last.file != file)
            && let Some(segment) = self.found.segment(file)
        {
            let name = self.found.name(file).to_owned();
            self.report_residue(&name, segment, (active.base(self).as_i64(), true), true);
            self.zero(name, segment, 0);
        }
    }

    fn zero(&mut self, file: String, segment: &Segment, frames: u64) {
        let from = end_of(segment, frames);
        let to = segment.residue.end().unwrap_or(segment.end);
        if to > from {
            self.first.push(Action::Zero { file, from, to });
        }
    }

    /// `next` is the number behind the last frame, and whether anything may follow it.
    fn report_residue(&mut self, name: &str, segment: &Segment, next: (i64, bool), is_active: bool) {
        let (next, closes) = next;
        let bytes = segment.residue.end().unwrap_or(segment.end).saturating_sub(segment.end);
        let event = match &segment.residue {
            Residue::Clean => return,
            Residue::Torn { one_frame, .. } if closes => {
                let information = *one_frame && is_active;
                Event { information, ..Event::new(EventKind::TailDiscarded) }.from(next, None)
            }
            Residue::Torn { .. } => Event::new(EventKind::ResidueCleared),
            Residue::Interior { .. } => {
                let to = self.corrupt(name);
                self.first.push(Action::Copy { from: name.to_owned(), to: to.clone() });
                let event = Event::new(EventKind::DamageInQueue).frames(segment.residue.frame_count());
                let end = closes.then_some(next.saturating_add(1));
                event.from(next, end).kept(to)
            }
        };
        self.events.push(event.bytes(bytes).file(name));
    }
}
