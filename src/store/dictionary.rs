//! The dictionary file of a slot (store-and-forward.md 2.8), both directions. Pure.

use super::layout::crc;
use crate::wire::reader::{Reader, WireResult};
use crate::wire::varint;
use std::ops::Range;

/// What an empty dictionary file holds.
pub(crate) const HEADER: [u8; 8] = *b"SYD1\x01\0\0\0";

/// FMT-20.
const TEXT_BYTES_MAX: usize = 1 << 20;
const TEXTS_MAX: usize = 2_000_000;
const TOTAL_BYTES_MAX: usize = 256 << 20;
const CRC_BYTES: usize = 4;

/// Texts by their ids from 0, in the form in which deltas and chunks carry them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Texts {
    /// `varint length, UTF-8` of each.
    bytes: Vec<u8>,
    /// Where each ends in `bytes`.
    ends: Vec<usize>,
}

impl Texts {
    /// Number of texts: the next id.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Gives a text the next id. `false` if it is beyond what a dictionary may hold (FMT-20).
    pub(crate) fn push(&mut self, text: &str) -> bool {
        let total = self.bytes.len().saturating_add(text.len());
        if text.len() > TEXT_BYTES_MAX || self.len() >= TEXTS_MAX || total > TOTAL_BYTES_MAX {
            return false;
        }
        let (length, length_bytes) = varint::encode(text.len() as u64);
        self.bytes.extend(length.iter().take(length_bytes));
        self.bytes.extend(text.as_bytes());
        self.ends.push(self.bytes.len());
        true
    }

    /// The text of an id.
    pub(crate) fn get(&self, id: usize) -> Option<&str> {
        let start = self.start(id)?;
        Reader::new(self.bytes.get(start..*self.ends.get(id)?)?).str("text").ok()
    }

    /// All texts in the order of their ids.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).filter_map(|id| self.get(id))
    }

    /// The entries of a range of ids, as they travel.
    pub(crate) fn wire(&self, ids: Range<usize>) -> &[u8] {
        let (start, end) = (self.start(ids.start), self.start(ids.end));
        start.zip(end).and_then(|(start, end)| self.bytes.get(start..end)).unwrap_or_default()
    }

    /// Where the entry of `id` begins; that behind the last ends the bytes.
    fn start(&self, id: usize) -> Option<usize> {
        match id.checked_sub(1) {
            None => Some(0),
            Some(before) => self.ends.get(before).copied(),
        }
    }
}

/// Appends a chunk of `count` entries, at least one, as [`Texts::wire`] gives them.
pub(crate) fn put_chunk(count: u64, entries: &[u8], out: &mut Vec<u8>) {
    debug_assert!(count > 0 && !entries.is_empty(), "a chunk holds an entry at least");
    let start = out.len();
    for number in [count, entries.len() as u64] {
        let (bytes, len) = varint::encode(number);
        out.extend(bytes.iter().take(len));
    }
    out.extend(entries);
    let crc = crc(out.get(start..).unwrap_or_default());
    out.extend(crc.to_le_bytes());
}

/// A whole file of these texts.
pub(crate) fn file(texts: &Texts) -> Vec<u8> {
    let mut out = HEADER.to_vec();
    if !texts.is_empty() {
        put_chunk(texts.len() as u64, texts.wire(0..texts.len()), &mut out);
    }
    out
}

/// What a dictionary file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    /// The entries up to the first fault.
    pub(crate) texts: Texts,
    /// Bytes of the header and of the whole chunks in front of the first fault. 0 if the file is not
    /// one that we read (FMT-21).
    pub(crate) end: u64,
    /// Number of bytes behind `end`, up to the last that is not zero.
    pub(crate) residue_bytes: u64,
    /// Number of zeros at the end of the file.
    pub(crate) zero_bytes: u64,
}

/// Reads a file; what is behind the first fault is dropped (FMT-19). A text that appears twice is kept
/// twice: ids are what frames go by.
pub(crate) fn read(file: &[u8]) -> Contents {
    let mut contents = Contents::default();
    let mut end = 0;
    let mut reader = Reader::new(file);
    // Versions are in the header: no other is ever misread (FMT-21).
    if reader.bytes("header", HEADER.len()).is_ok_and(|header| header == HEADER) {
        end = reader.offset();
        while read_chunk(&mut reader, &mut contents.texts).is_some() {
            end = reader.offset();
        }
    }
    let rest = file.get(end..).unwrap_or_default();
    let residue = rest.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    contents.end = end as u64;
    contents.residue_bytes = residue as u64;
    contents.zero_bytes = (rest.len() - residue) as u64;
    contents
}

fn read_chunk(reader: &mut Reader<'_>, texts: &mut Texts) -> Option<()> {
    let all = reader.peek_rest();
    let start = reader.offset();
    let count = reader.varint("entry count").ok().filter(|&count| count > 0)?;
    let bytes = reader.varint("entry bytes").ok().filter(|&bytes| bytes > 0)?;
    let entries = reader.bytes_u64("entries", bytes).ok()?;
    let covered = all.get(..reader.offset() - start)?;
    let checksum = reader.array::<CRC_BYTES>("checksum").ok()?;
    if crc(covered) != u32::from_le_bytes(checksum) {
        return None;
    }
    let before = (texts.bytes.len(), texts.ends.len());
    let whole = read_entries(entries, count, texts).is_ok_and(|whole| whole);
    if !whole {
        texts.bytes.truncate(before.0);
        texts.ends.truncate(before.1);
        return None;
    }
    Some(())
}

/// `false` if the entries do not fill their bytes exactly, or are too many.
fn read_entries(entries: &[u8], count: u64, texts: &mut Texts) -> WireResult<bool> {
    let mut reader = Reader::new(entries);
    for _ in 0..count {
        if !texts.push(reader.str("entry")?) {
            return Ok(false);
        }
    }
    Ok(reader.remaining() == 0)
}

/// Body of a fuzz target: any bytes are read, and what is read is written back alike.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz_dictionary(data: &[u8]) {
    let mut with_header = HEADER.to_vec();
    with_header.extend(data);
    for bytes in [data, &with_header] {
        let contents = read(bytes);
        assert_eq!(contents.end + contents.residue_bytes + contents.zero_bytes, bytes.len() as u64);
        assert_eq!(contents.texts.iter().count(), contents.texts.len());
        let again = read(&file(&contents.texts));
        assert_eq!((again.texts, again.residue_bytes), (contents.texts, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(all: &[&str]) -> Texts {
        let mut texts = Texts::default();
        for text in all {
            assert!(texts.push(text));
        }
        texts
    }

    /// The dictionary of slots/rust-7.2.1-one-segment (2.11).
    const EXAMPLE: &[u8] = b"SYD1\x01\0\0\0\x04\x13\x04S000\x04S001\x03buy\x04sell\xd8\x59\x78\x06\
        \x01\x05\x04S002\xc3\x6e\x2d\x4e";

    #[test]
    fn the_example_is_read_and_written() {
        let contents = read(EXAMPLE);
        let wanted = texts(&["S000", "S001", "buy", "sell", "S002"]);
        assert_eq!(contents.texts, wanted);
        assert_eq!((contents.end, contents.residue_bytes, contents.zero_bytes), (44, 0, 0));
        let mut written = HEADER.to_vec();
        put_chunk(4, wanted.wire(0..4), &mut written);
        put_chunk(1, wanted.wire(4..5), &mut written);
        assert_eq!(written, EXAMPLE);
    }

    #[test]
    fn fmt_19_reading_ends_at_the_first_fault() {
        for cut in 0..EXAMPLE.len() {
            let (texts, end) = match cut {
                0..8 => (0, 0),
                8..33 => (0, 8),
                _ => (4, 33),
            };
            let contents = read(&EXAMPLE[..cut]);
            assert_eq!((contents.texts.len(), contents.end), (texts, end), "cut at {cut}");
        }
        for at in 8..EXAMPLE.len() {
            let mut bytes = EXAMPLE.to_vec();
            bytes[at] ^= 0x20;
            let contents = read(&bytes);
            let whole = if at < 33 { (0, 8) } else { (4, 33) };
            assert_eq!((contents.texts.len(), contents.end), whole, "byte {at}");
            assert!(contents.residue_bytes > 0);
        }
        let mut tail = EXAMPLE.to_vec();
        tail.extend([0; 4000]);
        let contents = read(&tail);
        assert_eq!((contents.texts.len(), contents.residue_bytes, contents.zero_bytes), (5, 0, 4000));
    }

    #[test]
    fn fmt_19_a_chunk_that_its_entries_do_not_fill_is_no_chunk() {
        for (count, entries) in
            [(1, &b"\x01a\x01b"[..]), (3, b"\x01a\x01b"), (1, b"\x02\xff\xff"), (1, b"\x02a")]
        {
            let mut bytes = HEADER.to_vec();
            put_chunk(count, entries, &mut bytes);
            assert_eq!(read(&bytes).texts, Texts::default(), "{count} in {entries:?}");
        }
    }

    #[test]
    fn fmt_20_a_text_may_be_empty_or_a_mebibyte_and_no_longer() {
        let longest = "x".repeat(TEXT_BYTES_MAX);
        let mut all = texts(&["", &longest]);
        assert!(!all.push(&format!("{longest}y")));
        assert_eq!(all.len(), 2);
        assert_eq!(read(&file(&all)).texts, all);
    }

    #[test]
    fn fmt_21_other_versions_are_not_read() {
        for (at, byte) in [(0, b'X'), (4, 2), (4, 3), (5, 1), (7, 1)] {
            let mut bytes = EXAMPLE.to_vec();
            bytes[at] = byte;
            assert_eq!((read(&bytes).end, read(&bytes).texts.len()), (0, 0), "byte {at}");
        }
    }

    proptest! {
        #[test]
        fn texts_are_read_back(all: Vec<String>) {
            let mut texts = Texts::default();
            for text in &all {
                prop_assert!(texts.push(text));
            }
            let contents = read(&file(&texts));
            prop_assert_eq!(&contents.texts, &texts);
            prop_assert!(contents.texts.iter().eq(all.iter().map(String::as_str)));
            fuzz_dictionary(&file(&texts));
        }

        #[test]
        fn any_bytes_are_read(data: Vec<u8>) {
            fuzz_dictionary(&data);
        }
    }
}
