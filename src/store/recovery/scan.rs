//! What one segment file holds: frames up to the end of data, and what stands behind it. Pure.

use std::ops::Range;

use crate::store::layout::{self, ENVELOPE_BYTES, HEADER_BYTES, Header, HeaderFault};
use crate::wire::frame::{self, Flags};
use crate::wire::reader::Reader;
use crate::wire::symbols::Delta;

/// What a file whose name ends like that of a segment is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scan {
    /// A segment.
    Segment(Segment),
    /// Nothing that we know (REC-02).
    NotASegment {
        /// Why not.
        why: &'static str,
        /// Its bytes.
        bytes: u64,
        /// Whole frames that were found in it.
        frames: u64,
    },
    /// Probably that of a newer writer (REC-01).
    Unsupported {
        /// The field that says so.
        field: &'static str,
        /// What it holds.
        value: u16,
    },
}

/// A segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    /// What its header says.
    pub(crate) header: Header,
    /// Bytes of the file (FMT-04).
    pub(crate) bytes: u64,
    /// The frames from the first on without a hole.
    pub(crate) frames: Vec<Frame>,
    /// Where the data end (FMT-11).
    pub(crate) end: u64,
    /// What follows.
    pub(crate) residue: Residue,
    /// The dictionary entries that all frames carry, one behind the other.
    entries: Vec<u8>,
}

/// A frame of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Where its envelope begins.
    pub(crate) offset: u64,
    /// Bytes of envelope and payload.
    pub(crate) bytes: u64,
    /// Whether its rows wait for a later frame that commits. A payload that we cannot read does not
    /// (REC-18).
    pub(crate) deferred: bool,
    /// Its dictionary entries, if it has that section.
    delta: Option<Entries>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entries {
    start: u64,
    count: u64,
    /// Where they stand in [`Segment::entries`].
    place: Range<usize>,
}

/// What follows the end of data (REC-09).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Residue {
    /// Zeros.
    Clean,
    /// Bytes up to `end`, and no whole frame among them.
    Torn {
        /// Where the last byte that is not zero ends.
        end: u64,
        /// Whether it may be one frame that was not finished.
        one_frame: bool,
    },
    /// Bytes up to `end`, among them whole frames.
    Interior {
        /// Where the last byte that is not zero ends.
        end: u64,
        /// The frames, each run without a hole.
        runs: Vec<Vec<Frame>>,
    },
}

impl Frame {
    /// Where the next frame begins.
    pub(crate) fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }
}

impl Residue {
    /// The whole frames behind the end of data.
    pub(crate) fn frame_count(&self) -> u64 {
        match self {
            Residue::Clean | Residue::Torn { .. } => 0,
            Residue::Interior { runs, .. } => runs.iter().map(|run| run.len() as u64).sum(),
        }
    }

    /// Where the last byte that is not zero ends, if there is one.
    pub(crate) fn end(&self) -> Option<u64> {
        match self {
            Residue::Clean => None,
            Residue::Torn { end, .. } | Residue::Interior { end, .. } => Some(*end),
        }
    }
}

impl Segment {
    /// The dictionary section of one of its frames.
    pub(crate) fn delta<'a>(&'a self, frame: &Frame) -> Option<Delta<'a>> {
        let entries = frame.delta.as_ref()?;
        let bytes = self.entries.get(entries.place.clone())?;
        Some(Delta { start: entries.start, count: entries.count, entries: bytes })
    }

    /// Number of frames in front of the end of data.
    pub(crate) fn frame_count(&self) -> u64 {
        self.frames.len() as u64
    }
}

/// Scans a file.
pub(crate) fn scan(file: &[u8]) -> Scan {
    let bytes = file.len() as u64;
    match Header::decode(file) {
        Ok(header) => Scan::Segment(segment(header, file)),
        Err(HeaderFault::Unsupported { field, value }) => Scan::Unsupported { field, value },
        Err(HeaderFault::NotASegment(why)) => {
            let found = residue(file, HEADER_BYTES, &mut Vec::new());
            Scan::NotASegment { why, bytes, frames: found.frame_count() }
        }
    }
}

fn segment(header: Header, file: &[u8]) -> Segment {
    let mut entries = Vec::new();
    let (frames, end) = run(file, HEADER_BYTES, &mut entries);
    let residue = residue(file, end, &mut entries);
    Segment { header, bytes: file.len() as u64, frames, end: end as u64, residue, entries }
}

/// The frames from `start` on without a hole, and where they end.
fn run(file: &[u8], start: usize, entries: &mut Vec<u8>) -> (Vec<Frame>, usize) {
    let (mut frames, mut at) = (Vec::new(), start);
    while let Some((payload, end)) = layout::checked_frame(file, at) {
        let (deferred, delta) = facts(payload, entries);
        frames.push(Frame { offset: at as u64, bytes: (end - at) as u64, deferred, delta });
        at = end;
    }
    (frames, at)
}

/// The defer flag and the dictionary section of a payload; neither if it is not one of ours (REC-13).
fn facts(payload: &[u8], all: &mut Vec<u8>) -> (bool, Option<Entries>) {
    let mut reader = Reader::new(payload);
    let Ok(header) = frame::Header::read(&mut reader) else { return (false, None) };
    let deferred = header.flags.has(Flags::DEFER_COMMIT);
    if !header.flags.has(Flags::DELTA_SYMBOLS) {
        return (deferred, None);
    }
    let delta = Delta::read(&mut reader).ok().map(|delta| {
        let from = all.len();
        all.extend(delta.entries);
        Entries { start: delta.start, count: delta.count, place: from..all.len() }
    });
    (deferred, delta)
}

/// Classifies what follows `end`. The chain of lengths is followed first, so that a frame inside the
/// payload of a damaged one is not taken for one of the queue; frames are searched for second.
fn residue(file: &[u8], end: usize, entries: &mut Vec<u8>) -> Residue {
    let rest = file.get(end..).unwrap_or_default();
    let Some(last) = rest.iter().rposition(|&byte| byte != 0) else { return Residue::Clean };
    let used = end + last + 1;
    let mut runs = Vec::new();
    let mut at = end;
    while let Some(start) = next_frame(file, at, used) {
        let (frames, behind) = run(file, start, entries);
        runs.push(frames);
        at = behind;
    }
    let end_of_one = layout::frame_end(file, end).unwrap_or(end + ENVELOPE_BYTES);
    match runs.is_empty() {
        true => Residue::Torn { end: used as u64, one_frame: used <= end_of_one },
        false => Residue::Interior { end: used as u64, runs },
    }
}

/// Where the next whole frame behind a damaged one at `at` begins; it ends before `used`.
fn next_frame(file: &[u8], at: usize, used: usize) -> Option<usize> {
    let by_length = layout::frame(file, at).map(|(_, end)| end);
    if let Some(next) = by_length.filter(|&next| layout::checked_frame(file, next).is_some()) {
        return Some(next);
    }
    let mut from = at.checked_add(ENVELOPE_BYTES)?;
    while let Some(found) = file.get(from..used).and_then(find_magic) {
        let start = from + found - ENVELOPE_BYTES;
        // The lengths of envelope and message agree, which is cheaper to see than the checksum.
        let plausible = layout::frame(file, start)
            .is_some_and(|(payload, _)| frame::Header::read(&mut Reader::new(payload)).is_ok());
        if plausible && layout::checked_frame(file, start).is_some() {
            return Some(start);
        }
        from = from + found + 1;
    }
    None
}

fn find_magic(bytes: &[u8]) -> Option<usize> {
    bytes.windows(frame::MAGIC.len()).position(|window| window == frame::MAGIC)
}

/// Body of a fuzz target: any bytes are scanned, every byte is accounted for, frames do not overlap.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz_segment(data: &[u8]) {
    let header = layout::header(crate::store::Fsn::FIRST.plus(7));
    let with_header = [&header[..], data].concat();
    for bytes in [data, &with_header] {
        let Scan::Segment(segment) = scan(bytes) else { continue };
        let mut at = HEADER_BYTES as u64;
        for frame in &segment.frames {
            assert_eq!(frame.offset, at);
            at = frame.end();
            let _ = segment.delta(frame).map(|delta| delta.texts().count());
        }
        assert_eq!(segment.end, at);
        if let Residue::Interior { end, runs } = &segment.residue {
            for frame in runs.iter().flatten() {
                assert!(frame.offset >= at && frame.end() <= bytes.len() as u64);
                at = frame.end();
            }
            assert!(*end <= bytes.len() as u64);
        }
        let behind = usize::try_from(segment.residue.end().unwrap_or(segment.end)).expect("within the file");
        assert!(bytes[behind..].iter().all(|&byte| byte == 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Fsn;
    use proptest::prelude::*;

    /// Messages with one delta entry each, as frames behind a header.
    fn file(payloads: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = layout::header(Fsn::FIRST).to_vec();
        for payload in payloads {
            bytes.extend(super::super::testing::sealed_envelope(payload));
            bytes.extend(payload);
        }
        bytes
    }

    fn message(text: &str) -> Vec<u8> {
        let body = [&[0, 1, u8::try_from(text.len()).unwrap()][..], text.as_bytes()].concat();
        let length = u32::try_from(body.len()).unwrap().to_le_bytes();
        [b"QWP1\x01\x08\0\0", &length[..], &body].concat()
    }

    fn segment_of(bytes: &[u8]) -> Segment {
        let Scan::Segment(segment) = scan(bytes) else { panic!("no segment") };
        segment
    }

    #[test]
    fn fmt_12_all_that_follows_the_data_is_looked_at() {
        let mut bytes = file(&[message("a"), message("b")]);
        let end = bytes.len() as u64;
        bytes.extend([0; 100]);
        let segment = segment_of(&bytes);
        assert_eq!((segment.frame_count(), segment.end, &segment.residue), (2, end, &Residue::Clean));
        *bytes.last_mut().unwrap() = 1;
        let torn = Residue::Torn { end: bytes.len() as u64, one_frame: false };
        assert_eq!(segment_of(&bytes).residue, torn);
    }

    #[test]
    fn rec_09_whole_frames_behind_a_damaged_one_are_found() {
        let payloads = ["a", "bb", "ccc", "dddd"].map(message);
        let good = file(&payloads);
        let second = HEADER_BYTES + ENVELOPE_BYTES + payloads[0].len();
        for (what, at, bytes) in [
            ("payload", second + ENVELOPE_BYTES + 12, &[0xff; 1][..]),
            ("length", second + 4, &[0xff; 4]),
            ("length that leads astray", second + 4, &[3, 0, 0, 0]),
            ("envelope", second, &[0; 8]),
        ] {
            let mut damaged = good.clone();
            damaged[at..at + bytes.len()].copy_from_slice(bytes);
            let segment = segment_of(&damaged);
            assert_eq!(segment.frame_count(), 1, "{what}");
            assert_eq!(segment.residue.frame_count(), 2, "{what}");
        }
    }

    #[test]
    fn rec_09_a_frame_inside_a_damaged_frame_is_not_one_of_the_queue() {
        let inner = file(&[message("inner")])[HEADER_BYTES..].to_vec();
        let outer = [&message("x")[..], &inner].concat();
        let good = file(&[outer, message("next")]);
        let mut damaged = good.clone();
        damaged[HEADER_BYTES] ^= 1;
        let Residue::Interior { runs, .. } = segment_of(&damaged).residue else { panic!("a frame is left") };
        assert_eq!(runs.len(), 1);
        assert_eq!(runs[0][0].end(), good.len() as u64);
    }

    #[test]
    fn fmt_13_an_empty_frame_is_the_end_and_no_frame() {
        let mut bytes = file(&[message("a")]);
        let end = bytes.len() as u64;
        bytes.extend(0x4867_4bc7_u32.to_le_bytes());
        bytes.extend([0; 60]);
        let segment = segment_of(&bytes);
        assert_eq!((segment.frame_count(), segment.end), (1, end));
        assert_eq!(segment.residue, Residue::Torn { end: end + 4, one_frame: true });
    }

    #[test]
    fn payloads_that_are_not_ours_commit_and_carry_no_symbol() {
        let segment = segment_of(&file(&[b"one".to_vec(), message("a")]));
        let [one, two] = &segment.frames[..] else { panic!("two frames") };
        assert_eq!((one.deferred, segment.delta(one)), (false, None));
        assert_eq!(segment.delta(two).unwrap().texts().collect::<Vec<_>>(), ["a"]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_scanned(data: Vec<u8>) {
            fuzz_segment(&data);
        }

        #[test]
        fn damaged_files_are_scanned(
            texts in prop::collection::vec("[a-z]{0,9}", 1..6),
            at in any::<prop::sample::Index>(),
            byte: u8,
        ) {
            let payloads: Vec<_> = texts.iter().map(|text| message(text)).collect();
            let mut bytes = file(&payloads);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            fuzz_segment(&bytes[HEADER_BYTES..]);
            fuzz_segment(&bytes);
        }
    }
}
