//! What becomes of the dictionary file (REC-13 to REC-15). Pure.

use super::decide::Decider;
use super::event::{Event, EventKind};
use super::plan::Action;
use super::symbols::{Epoch, Symbols};
use crate::store::dictionary::Contents;
use crate::store::fsn::Fsn;
use crate::store::names;

impl Decider<'_> {
    /// Plans the file, and returns the epochs of the frames in front of `end`, and whether new frames
    /// have to be dense.
    pub(super) fn dictionary(
        &mut self,
        symbols: Symbols,
        end: Fsn,
        plan: &mut Vec<Action>,
    ) -> (Vec<Epoch>, bool) {
        let mut epochs = symbols.epochs;
        let kept = epochs.partition_point(|epoch| epoch.first < end).max(1);
        epochs.truncate(kept);
        let [only] = &epochs[..] else { return (epochs, true) };
        let nothing = Contents::default();
        let file = self.found.dictionary.as_ref();
        let contents = file.unwrap_or(&nothing);
        let count = only.texts.len();
        let detail = format!("{count} symbols");
        let unusable = contents.end == 0 && contents.residue_bytes > 0;
        if unusable || symbols.file_rejected {
            let to = self.corrupt(names::DICTIONARY);
            plan.push(Action::Rename { from: names::DICTIONARY.to_owned(), to });
        }
        if symbols.file_rejected {
            self.events.push(Event::new(EventKind::DictionaryReplaced).detail(detail));
            plan.push(Action::Dictionary(only.texts.clone()));
        } else if contents.end == 0 || contents.texts.len() < count {
            if contents.texts.len() < count {
                self.events.push(Event::information(EventKind::DictionaryRebuilt).detail(detail));
            }
            plan.push(Action::Dictionary(only.texts.clone()));
        } else if contents.residue_bytes + contents.zero_bytes > 0 {
            plan.push(Action::CutDictionary(contents.end));
        }
        (epochs, false)
    }
}
