//! Which text an id stands for, by frame: a slot that another client used twice may hold runs of
//! frames that number their symbols anew (REC-13).

use super::dictionary::Texts;
use super::fsn::Fsn;
use super::symbols::SymbolMirror;

/// The reading end of all dictionaries of a store.
#[derive(Debug)]
pub(crate) struct Epochs {
    /// Those of earlier runs of frames, oldest first; none as a rule.
    older: Vec<Epoch>,
    /// The first frame of the current run, if there are older ones.
    first: Fsn,
    current: SymbolMirror,
}

/// A run of frames within which an id has one meaning.
#[derive(Debug)]
pub(crate) struct Epoch {
    /// Its first frame.
    pub(super) first: Fsn,
    /// All its texts.
    pub(super) texts: Texts,
}

impl From<SymbolMirror> for Epochs {
    fn from(current: SymbolMirror) -> Epochs {
        Epochs { older: Vec::new(), first: Fsn::FIRST, current }
    }
}

impl Epochs {
    /// `current` begins with frame `first`.
    pub(super) fn new(older: Vec<Epoch>, first: Fsn, current: SymbolMirror) -> Epochs {
        Epochs { older, first, current }
    }

    /// Whether the ids have other meanings from this frame on.
    pub(crate) fn begins_with(&self, fsn: Fsn) -> bool {
        let firsts = self.older.iter().map(|epoch| epoch.first).chain([self.first]);
        !self.older.is_empty() && firsts.skip(1).any(|first| first == fsn)
    }

    /// Entries that frames like `fsn` may use.
    pub(crate) fn len(&self, fsn: Fsn) -> u64 {
        self.older(fsn).map_or_else(|| self.current.len().into(), |texts| texts.len() as u64)
    }

    /// The entries from id `from` on as they travel, none of id `to` and above: maybe not all, but not
    /// none if there are any.
    pub(crate) fn entries(&mut self, fsn: Fsn, from: u32, to: u32) -> &[u8] {
        if fsn >= self.first || self.older.is_empty() {
            return self.current.entries(from, to);
        }
        let Some(texts) = self.older(fsn) else { return &[] };
        let id = |id: u32| usize::try_from(id).unwrap_or(usize::MAX).min(texts.len());
        texts.wire(id(from)..id(to))
    }

    /// The dictionary of a frame, unless it is the current one.
    fn older(&self, fsn: Fsn) -> Option<&Texts> {
        let behind = self.older.partition_point(|epoch| epoch.first <= fsn);
        let epoch = self.older.get(behind.saturating_sub(1))?;
        (fsn < self.first).then_some(&epoch.texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::symbols;

    fn texts(all: &[&str]) -> Texts {
        let mut texts = Texts::default();
        assert!(all.iter().all(|text| texts.push(text)));
        texts
    }

    #[test]
    fn rec_13_each_frame_has_the_texts_of_its_run() {
        let (mut log, mirror) = symbols();
        log.push("new").unwrap();
        log.publish(1);
        let fsn = |number| Fsn::FIRST.plus(number);
        let older = vec![
            Epoch { first: fsn(5), texts: texts(&["a", "bb"]) },
            Epoch { first: fsn(8), texts: texts(&["c"]) },
        ];
        let mut epochs = Epochs::new(older, fsn(10), mirror);
        for (at, len, entries) in [
            (5, 2, &b"\x01a\x02bb"[..]),
            (7, 2, b"\x01a\x02bb"),
            (8, 1, b"\x01c"),
            (9, 1, b"\x01c"),
            (10, 1, b"\x03new"),
            (99, 1, b"\x03new"),
        ] {
            assert_eq!(epochs.len(fsn(at)), len, "{at}");
            assert_eq!(epochs.entries(fsn(at), 0, u32::MAX), entries, "{at}");
        }
        assert_eq!(epochs.entries(fsn(5), 1, 2), b"\x02bb");
        let begins: Vec<_> = (0..20).filter(|&at| epochs.begins_with(fsn(at))).collect();
        assert_eq!(begins, [8, 10]);
    }

    #[test]
    fn without_a_second_run_all_frames_have_one_dictionary() {
        let (mut log, mirror) = symbols();
        log.push("x").unwrap();
        log.publish(1);
        let mut epochs = Epochs::from(mirror);
        assert!(!epochs.begins_with(Fsn::FIRST));
        assert_eq!((epochs.len(Fsn::FIRST), epochs.entries(Fsn::FIRST, 0, 1)), (1, &b"\x01x"[..]));
    }
}
