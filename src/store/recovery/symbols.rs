//! Which text an id stands for, at every frame of the chain (REC-13 to REC-16). Pure.

use crate::store::dictionary::Texts;
use crate::store::fsn::Fsn;
use crate::wire::symbols::Delta;

/// A run of frames within which an id has one meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Epoch {
    /// Its first frame.
    pub(crate) first: Fsn,
    /// All its texts.
    pub(crate) texts: Texts,
}

/// What a walk over the frames found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Symbols {
    /// In order, one at least.
    pub(crate) epochs: Vec<Epoch>,
    /// Frames that cannot be sent, with the first id that they lack or contradict, in order.
    pub(crate) faults: Vec<(Fsn, u64)>,
    /// Whether the dictionary of the file contradicts the frames of the first epoch, and was left out
    /// for that.
    pub(crate) file_rejected: bool,
}

impl Symbols {
    /// The epoch that a frame belongs to.
    pub(crate) fn epoch(&self, fsn: Fsn) -> Option<&Epoch> {
        self.epochs.iter().rev().find(|epoch| epoch.first <= fsn).or(self.epochs.first())
    }
}

/// Walks over the dictionary sections of all frames, in order; `file` is what the dictionary file
/// holds, which belongs to the first epoch unless it contradicts that.
pub(crate) fn walk<'a>(
    file: &Texts,
    first: Fsn,
    deltas: impl Iterator<Item = (Fsn, Delta<'a>)> + Clone,
) -> Symbols {
    match attempt(file, first, deltas.clone()) {
        Some(symbols) => symbols,
        // REC-15: the frames win
        None => {
            let alone = attempt(&Texts::default(), first, deltas);
            let mut symbols = alone.unwrap_or_else(|| Walk::new(&Texts::default(), first).done);
            symbols.file_rejected = true;
            symbols
        }
    }
}

/// `None` if what stands in the file only, and no frame of the epoch has relied on, contradicts a frame.
fn attempt<'a>(file: &Texts, first: Fsn, deltas: impl Iterator<Item = (Fsn, Delta<'a>)>) -> Option<Symbols> {
    let mut walk = Walk::new(file, first);
    for (fsn, delta) in deltas {
        walk.frame(fsn, delta)?;
    }
    Some(walk.done)
}

struct Walk {
    done: Symbols,
    /// Ids below this were carried by frames of the epoch, or relied upon.
    relied: usize,
}

impl Walk {
    fn new(file: &Texts, first: Fsn) -> Walk {
        let epochs = vec![Epoch { first, texts: file.clone() }];
        Walk { done: Symbols { epochs, faults: Vec::new(), file_rejected: false }, relied: 0 }
    }

    fn frame(&mut self, fsn: Fsn, delta: Delta<'_>) -> Option<()> {
        let texts = &mut self.done.epochs.last_mut()?.texts;
        let start = usize::try_from(delta.start).ok().filter(|&start| start <= texts.len());
        let Some(start) = start else {
            self.done.faults.push((fsn, texts.len() as u64));
            return Some(());
        };
        let known = texts.len() - start;
        let contradicted =
            delta.texts().take(known).enumerate().find(|(at, text)| texts.get(start + at) != Some(text));
        if let Some((at, _)) = contradicted {
            return self.contradiction(fsn, start + at, delta);
        }
        for text in delta.texts().skip(known) {
            if !texts.push(text) {
                self.done.faults.push((fsn, texts.len() as u64));
                return Some(());
            }
        }
        let end = start.saturating_add(usize::try_from(delta.count).unwrap_or(usize::MAX));
        self.relied = self.relied.max(end.min(texts.len()));
        Some(())
    }

    fn contradiction(&mut self, fsn: Fsn, id: usize, delta: Delta<'_>) -> Option<()> {
        if id >= self.relied && self.done.epochs.len() == 1 {
            return None;
        }
        if delta.start != 0 {
            self.done.faults.push((fsn, id as u64));
            return Some(());
        }
        // Another process numbered its symbols from 0 again: not damage (REC-13).
        self.done.epochs.push(Epoch { first: fsn, texts: Texts::default() });
        self.relied = 0;
        self.frame(fsn, delta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(all: &[&str]) -> Texts {
        let mut texts = Texts::default();
        for text in all {
            texts.push(text);
        }
        texts
    }

    fn fsn(number: u64) -> Fsn {
        Fsn::FIRST.plus(number)
    }

    /// Walks over frames with these starts and texts.
    fn walked(file: &[&str], frames: &[(u64, &[&str])]) -> Symbols {
        let wires: Vec<_> = frames.iter().map(|(start, all)| (*start, texts(all), all.len())).collect();
        let deltas = wires.iter().zip(0..).map(|((start, all, count), number)| {
            let delta = Delta { start: *start, count: *count as u64, entries: all.wire(0..*count) };
            (fsn(number), delta)
        });
        walk(&texts(file), Fsn::FIRST, deltas)
    }

    fn shown(symbols: &Symbols) -> Vec<(i64, Vec<&str>)> {
        symbols.epochs.iter().map(|epoch| (epoch.first.as_i64(), epoch.texts.iter().collect())).collect()
    }

    #[test]
    fn rec_13_frames_extend_the_file_and_rebuild_it() {
        let frames: &[(u64, &[&str])] = &[(0, &["a", "b"]), (2, &["c"]), (3, &[]), (1, &["b", "c", "d"])];
        for file in [&[][..], &["a"], &["a", "b", "c", "d"]] {
            let symbols = walked(file, frames);
            assert_eq!(shown(&symbols), [(0, vec!["a", "b", "c", "d"])], "{file:?}");
            assert!(!symbols.file_rejected && symbols.faults.is_empty());
        }
    }

    #[test]
    fn rec_13_a_dense_frame_that_redefines_ids_begins_an_epoch() {
        let frames: &[(u64, &[&str])] =
            &[(0, &["a"]), (1, &["b"]), (0, &["x"]), (0, &["x", "y"]), (2, &["z"])];
        for file in [&[][..], &["a", "b"]] {
            let symbols = walked(file, frames);
            assert_eq!(shown(&symbols), [(0, vec!["a", "b"]), (2, vec!["x", "y", "z"])], "{file:?}");
            assert!(symbols.faults.is_empty());
            assert_eq!(symbols.epoch(fsn(1)).unwrap().first, fsn(0));
            assert_eq!(symbols.epoch(fsn(4)).unwrap().first, fsn(2));
        }
    }

    #[test]
    fn rec_13_an_epoch_that_relied_on_the_file_only_is_one_too() {
        let symbols = walked(&["a", "b"], &[(2, &[]), (0, &["x"])]);
        assert_eq!(shown(&symbols), [(0, vec!["a", "b"]), (1, vec!["x"])]);
        assert!(!symbols.file_rejected);
    }

    #[test]
    fn rec_15_where_file_and_frames_disagree_the_frames_win() {
        let symbols = walked(&["z", "b"], &[(0, &["a", "b"]), (2, &["c"])]);
        assert_eq!(shown(&symbols), [(0, vec!["a", "b", "c"])]);
        assert!(symbols.file_rejected && symbols.faults.is_empty());
    }

    #[test]
    fn rec_16_what_nobody_defines_is_a_fault_at_its_frame() {
        let symbols = walked(&["a"], &[(1, &["b"]), (42, &[]), (2, &["c"])]);
        assert_eq!(symbols.faults, [(fsn(1), 2)]);
        assert_eq!(shown(&symbols), [(0, vec!["a", "b", "c"])]);
    }

    #[test]
    fn rec_13_a_contradiction_in_a_delta_is_a_fault() {
        let symbols = walked(&[], &[(0, &["a", "b"]), (1, &["x"])]);
        assert_eq!(symbols.faults, [(fsn(1), 1)]);
    }
}
