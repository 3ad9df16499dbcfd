//! The texts of SYMBOL columns: one dictionary a connection, built by the server (wire.md 8.4).
//!
//! Texts lie in pages of [`PAGE`] entries. A batch holds a snapshot, which costs one reference count;
//! a page that a snapshot holds is copied when the dictionary changes it, so that what was handed out
//! keeps its texts (QRY-08).

use crate::wire::reader::{Reader, WireError, WireFault, WireResult};
use std::sync::Arc;

/// Entries at most (LIM-19).
pub(crate) const MAX_ENTRIES: usize = 8_388_608;
/// Bytes of text at most (LIM-19).
pub(crate) const MAX_TEXT_BYTES: usize = 256 << 20;

/// Entries of a page: a power of two, small, since a page that is in use is copied to be changed.
const PAGE: usize = 256;

/// A text each, so that a look-up takes three loads and no check of where characters begin; entries
/// behind the end are empty or stale.
#[derive(Debug, Clone)]
struct Page([Box<str>; PAGE]);

impl Default for Page {
    fn default() -> Page {
        Page(std::array::from_fn(|_| Box::default()))
    }
}

/// Texts by id, at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Symbols {
    pages: Arc<Vec<Arc<Page>>>,
    /// `len <= PAGE * pages.len()`.
    len: usize,
}

impl Symbols {
    /// The text of an id.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&str> {
        let id = id as usize;
        if id >= self.len {
            return None;
        }
        self.pages.get(id / PAGE).map(|page| &*page.0[id % PAGE])
    }
}

/// The dictionary of a connection.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    symbols: Symbols,
    text_bytes: usize,
}

/// A delta whose bytes were checked, not yet taken over.
#[derive(Debug)]
pub(crate) struct Delta<'a> {
    start: usize,
    count: usize,
    /// At the first entry.
    entries: Reader<'a>,
}

impl Dictionary {
    /// What is known now; stays as it is.
    pub(crate) fn snapshot(&self) -> Symbols {
        self.symbols.clone()
    }

    /// How many ids there are.
    pub(crate) fn len(&self) -> usize {
        self.symbols.len
    }

    /// Forgets everything (CACHE_RESET).
    pub(crate) fn clear(&mut self) {
        *self = Dictionary::default();
    }

    /// Reads a delta to its end and checks all of it. `first`: the delta belongs to batch 0, which
    /// may go back behind ids that the server forgot.
    pub(crate) fn read_delta<'a>(&self, reader: &mut Reader<'a>, first: bool) -> WireResult<Delta<'a>> {
        let at = reader.clone();
        let start = reader.varint("delta start")?;
        let start = match usize::try_from(start) {
            Ok(start) if start == self.len() || (first && start < self.len()) => start,
            _ => return Err(at.fault("delta start", WireFault::Value(start))),
        };
        let at = reader.clone();
        let count = reader.varint_up_to("delta count", (MAX_ENTRIES - start.min(MAX_ENTRIES)) as u64)?;
        // Each entry takes at least the byte of its length.
        let count = match usize::try_from(count) {
            Ok(count) if count <= reader.remaining() => count,
            _ => return Err(at.fault("delta count", WireFault::Truncated)),
        };
        let entries = reader.clone();
        let mut text_bytes = self.text_bytes_below(start);
        for _ in 0..count {
            let at = reader.offset();
            text_bytes = text_bytes.saturating_add(reader.str("dictionary text")?.len());
            if text_bytes > MAX_TEXT_BYTES {
                let what = WireFault::Limit { value: text_bytes as u64, limit: MAX_TEXT_BYTES as u64 };
                return Err(WireError { at, what, field: "dictionary text" });
            }
        }
        Ok(Delta { start, count, entries })
    }

    /// Takes a delta over: cuts to its start, then appends.
    pub(crate) fn apply(&mut self, delta: Delta<'_>) -> WireResult<()> {
        let Delta { start, count, mut entries } = delta;
        if start < self.len() {
            self.cut(start);
        }
        if count == 0 {
            return Ok(());
        }
        let pages = Arc::make_mut(&mut self.symbols.pages);
        for _ in 0..count {
            let text = entries.str("dictionary text")?;
            let place = self.symbols.len % PAGE;
            if place == 0 {
                pages.push(Arc::default());
            }
            if let Some(page) = pages.last_mut() {
                Arc::make_mut(page).0[place] = text.into();
            }
            self.symbols.len += 1;
            self.text_bytes += text.len();
        }
        Ok(())
    }

    fn cut(&mut self, len: usize) {
        self.text_bytes = self.text_bytes_below(len);
        Arc::make_mut(&mut self.symbols.pages).truncate(len.div_ceil(PAGE));
        self.symbols.len = len;
    }

    /// Bytes of the texts of all ids below `len`.
    fn text_bytes_below(&self, len: usize) -> usize {
        if len == self.len() {
            return self.text_bytes;
        }
        let texts = self.symbols.pages.iter().flat_map(|page| &page.0);
        texts.take(len).map(|text| text.len()).sum()
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "test data is small")]
mod tests {
    use super::*;
    use crate::wire::egress::testing::delta;
    use proptest::prelude::*;

    fn take(dictionary: &mut Dictionary, bytes: &[u8], first: bool) -> WireResult<()> {
        let mut reader = Reader::new(bytes);
        let delta = dictionary.read_delta(&mut reader, first)?;
        dictionary.apply(delta)
    }

    fn texts(symbols: &Symbols) -> Vec<String> {
        (0..symbols.len as u32).map(|id| symbols.get(id).expect("below len").to_owned()).collect()
    }

    #[test]
    fn qry_08_a_cut_leaves_what_was_handed_out() {
        let mut dictionary = Dictionary::default();
        take(&mut dictionary, &delta(0, &["a", "b", "c", "d"]), true).unwrap();
        let held = dictionary.snapshot();
        take(&mut dictionary, &delta(2, &["x", "y", "z"]), true).unwrap();
        assert_eq!(texts(&held), ["a", "b", "c", "d"]);
        assert_eq!(texts(&dictionary.snapshot()), ["a", "b", "x", "y", "z"]);
        dictionary.clear();
        assert_eq!(texts(&held), ["a", "b", "c", "d"]);
        assert_eq!(dictionary.len(), 0);
    }

    #[test]
    fn qry_15_a_delta_starts_at_the_size_and_only_in_batch_0_below_it() {
        let mut dictionary = Dictionary::default();
        take(&mut dictionary, &delta(0, &["a", "b", "c", "d"]), true).unwrap();
        for (start, first, fits) in [(4, false, true), (5, true, false), (3, false, false), (3, true, true)] {
            let result = take(&mut dictionary, &delta(start, &[]), first);
            assert_eq!(result.is_ok(), fits, "start {start}, batch 0: {first}");
        }
    }

    // QRY-15: "a half-read delta leaves the dictionary as it was".
    #[test]
    fn qry_15_a_half_read_delta_changes_nothing() {
        let mut dictionary = Dictionary::default();
        take(&mut dictionary, &delta(0, &["a", "b"]), true).unwrap();
        let good = delta(1, &["x", "\u{20ac}"]);
        for cut in 0..good.len() {
            assert!(take(&mut dictionary, &good[..cut], true).is_err(), "cut at {cut}");
            assert_eq!(texts(&dictionary.snapshot()), ["a", "b"]);
        }
        let mut bad = good.clone();
        *bad.last_mut().unwrap() = 0x41;
        let error = take(&mut dictionary, &bad, true).unwrap_err();
        assert_eq!(error.what, WireFault::Utf8);
        assert_eq!(texts(&dictionary.snapshot()), ["a", "b"]);
    }

    #[test]
    fn qry_15_a_count_beyond_the_bytes_left_is_refused_before_anything_is_allocated() {
        let dictionary = Dictionary::default();
        let bytes = [0x00, 0x80, 0x80, 0x80, 0x04, 0x01, b'a'];
        let error = dictionary.read_delta(&mut Reader::new(&bytes), true).unwrap_err();
        assert_eq!((error.field, error.what), ("delta count", WireFault::Truncated));
    }

    #[test]
    fn lim_19_8388608_entries_fit_and_one_more_does_not() {
        let mut dictionary = Dictionary::default();
        let mut bytes = vec![0x00, 0x80, 0x80, 0x80, 0x04];
        bytes.resize(bytes.len() + MAX_ENTRIES, 0);
        take(&mut dictionary, &bytes, true).unwrap();
        assert_eq!(dictionary.len(), MAX_ENTRIES);
        let error = take(&mut dictionary, &delta(MAX_ENTRIES as u64, &["x"]), false).unwrap_err();
        assert_eq!(error.what, WireFault::Limit { value: 1, limit: 0 });
    }

    #[test]
    fn lim_19_256_mib_of_text_fit_and_one_byte_more_does_not() {
        let mut dictionary = Dictionary { text_bytes: MAX_TEXT_BYTES - 1, ..Dictionary::default() };
        assert!(dictionary.read_delta(&mut Reader::new(&delta(0, &["ab"])), false).is_err());
        take(&mut dictionary, &delta(0, &["a"]), false).unwrap();
        assert_eq!(dictionary.text_bytes, MAX_TEXT_BYTES);
    }

    proptest! {
        /// A model of plain vectors, with snapshots held across every change.
        #[test]
        fn qry_08_any_row_of_cuts_and_appends_is_what_a_vector_would_be(
            steps in prop::collection::vec((0_usize..600, 0_usize..600), 1..12)
        ) {
            let mut dictionary = Dictionary::default();
            let mut model: Vec<String> = Vec::new();
            let mut held = Vec::new();
            for (step, (cut, add)) in steps.into_iter().enumerate() {
                let start = cut.min(model.len());
                model.truncate(start);
                let new: Vec<String> = (0..add).map(|i| format!("{step}-{i}")).collect();
                let new: Vec<&str> = new.iter().map(String::as_str).collect();
                take(&mut dictionary, &delta(start as u64, &new), true).unwrap();
                model.extend(new.iter().map(|&text| text.to_owned()));
                held.push((dictionary.snapshot(), model.clone()));
                prop_assert_eq!(dictionary.text_bytes, model.iter().map(String::len).sum::<usize>());
            }
            for (snapshot, model) in held {
                prop_assert_eq!(texts(&snapshot), model);
                prop_assert_eq!(snapshot.get(snapshot.len as u32), None);
            }
        }
    }
}
