//! Files of two records, of which the newer valid one counts: manifest and watermark
//! (store-and-forward.md 2.5 to 2.7), both directions. Pure.

use super::layout::crc;
use crate::wire::reader::Reader;

/// Bytes of such a file.
pub(crate) const FILE_BYTES: usize = 8192;
/// Bytes of a record.
pub(crate) const RECORD_BYTES: usize = 64;
/// Where the second record stands.
const STRIDE: usize = 4096;
const CRC_AT: usize = 60;
const VERSION: u32 = 1;

const LEGACY_BYTES: usize = 16;
const INTERMEDIATE_BYTES: usize = 128;

/// Which file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `sf-manifest.bin`: head base and active base.
    Manifest,
    /// `.ack-watermark`: the acknowledged frame, and 0.
    Watermark,
}

/// One record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    /// Which record is newer; above 0.
    pub(crate) generation: i64,
    /// The first value.
    pub(crate) first: i64,
    /// The second value.
    pub(crate) second: i64,
}

/// The two records of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Records {
    /// The valid record that counts.
    pub(crate) newest: Option<Record>,
    /// A record is neither valid nor untouched: its write was interrupted (FMT-16).
    pub(crate) torn: bool,
}

impl Kind {
    fn magic(self) -> [u8; 4] {
        match self {
            Kind::Manifest => *b"SFM1",
            Kind::Watermark => *b"AKW1",
        }
    }

    fn in_range(self, first: i64, second: i64) -> bool {
        match self {
            Kind::Manifest => 0 <= first && first <= second,
            Kind::Watermark => first >= -1,
        }
    }
}

impl Record {
    /// The record as it stands in the file.
    pub(crate) fn encode(&self, kind: Kind) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..4].copy_from_slice(&kind.magic());
        bytes[4..8].copy_from_slice(&VERSION.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.generation.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.second.to_le_bytes());
        let crc = crc(&bytes[..CRC_AT]);
        bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Where it is written: never over the record before it (FMT-15).
    pub(crate) fn offset(&self) -> u64 {
        if self.generation & 1 == 0 { 0 } else { STRIDE as u64 }
    }

    fn decode(kind: Kind, bytes: &[u8]) -> Option<Record> {
        let mut reader = Reader::new(bytes);
        let magic = reader.array("magic").ok()?;
        let version = reader.u32("version").ok()?;
        let generation = reader.i64("generation").ok()?;
        let first = reader.i64("first value").ok()?;
        let second = reader.i64("second value").ok()?;
        let checksum = u32::from_le_bytes(*bytes.get(CRC_AT..RECORD_BYTES)?.first_chunk()?);
        let valid = magic == kind.magic()
            && version == VERSION
            && checksum == crc(bytes.get(..CRC_AT)?)
            && generation > 0
            && kind.in_range(first, second);
        valid.then_some(Record { generation, first, second })
    }
}

impl Records {
    /// Reads a file; `None` unless it has the right size.
    pub(crate) fn read(kind: Kind, file: &[u8]) -> Option<Records> {
        (file.len() == FILE_BYTES).then(|| Records::at(kind, file, STRIDE))
    }

    fn at(kind: Kind, file: &[u8], stride: usize) -> Records {
        let mut records = Records::default();
        for start in [0, stride] {
            let bytes = file.get(start..start + RECORD_BYTES).unwrap_or_default();
            match Record::decode(kind, bytes) {
                // of equal ones that behind counts (2.5)
                Some(record) if records.newest.is_none_or(|n| n.generation <= record.generation) => {
                    records.newest = Some(record);
                }
                Some(_) => {}
                None => records.torn |= bytes.iter().any(|&byte| byte != 0),
            }
        }
        records
    }

    /// The record to be written next, with these values.
    pub(crate) fn next(&self, first: i64, second: i64) -> Record {
        let generation = self.newest.map_or(0, |record| record.generation).saturating_add(1);
        Record { generation, first, second }
    }
}

/// A whole file with one record, or with none.
pub(crate) fn file(kind: Kind, record: Option<Record>) -> Vec<u8> {
    let mut bytes = vec![0; FILE_BYTES];
    if let Some(record) = record {
        let start = if record.offset() == 0 { 0 } else { STRIDE };
        if let Some(place) = bytes.get_mut(start..start + RECORD_BYTES) {
            place.copy_from_slice(&record.encode(kind));
        }
    }
    bytes
}

/// What a watermark file says, whoever wrote it (FMT-17).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Watermark {
    /// The two records; empty if the file has another shape than ours.
    pub(crate) records: Records,
    /// Whether the file has the right size. Any other is reset.
    pub(crate) current: bool,
    /// Whether it has the shape that old Java writes.
    pub(crate) legacy: bool,
    /// The acknowledged frame, -1 for none; `None` if the file says nothing.
    pub(crate) acked: Option<i64>,
}

impl Watermark {
    /// Reads a file of any size.
    pub(crate) fn read(file: &[u8]) -> Watermark {
        if let Some(records) = Records::read(Kind::Watermark, file) {
            let acked = records.newest.map(|record| record.first);
            return Watermark { records, current: true, legacy: false, acked };
        }
        match file.len() {
            LEGACY_BYTES => Watermark { legacy: true, acked: legacy(file), ..Watermark::default() },
            INTERMEDIATE_BYTES => {
                let records = Records::at(Kind::Watermark, file, RECORD_BYTES);
                Watermark { acked: records.newest.map(|record| record.first), ..Watermark::default() }
            }
            _ => Watermark::default(),
        }
    }
}

/// Magic, u32 0, i64 frame; all zero before the first acknowledgement.
fn legacy(file: &[u8]) -> Option<i64> {
    let mut reader = Reader::new(file);
    let magic: [u8; 4] = reader.array("magic").ok()?;
    let zero = reader.u32("reserved").ok()?;
    let acked = reader.i64("acknowledged frame").ok()?;
    (magic == Kind::Watermark.magic() && zero == 0 && acked >= -1).then_some(acked)
}

/// Body of a fuzz target: any bytes are read, and what is read is written back alike.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz_record(data: &[u8]) {
    let mut whole = vec![0; FILE_BYTES];
    for (to, from) in whole.chunks_mut(STRIDE).zip(data.chunks(RECORD_BYTES)) {
        to[..from.len()].copy_from_slice(from);
    }
    for kind in [Kind::Manifest, Kind::Watermark] {
        let records = Records::read(kind, &whole).expect("the right size");
        let Some(record) = records.newest else { continue };
        assert_eq!(Record::decode(kind, &record.encode(kind)), Some(record));
        let again = Records::read(kind, &file(kind, Some(record))).expect("the right size");
        assert_eq!(again, Records { newest: Some(record), torn: false });
    }
    let watermark = Watermark::read(data);
    assert!(watermark.acked.is_none_or(|acked| acked >= -1));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn with(records: &[(usize, [u8; RECORD_BYTES])]) -> Vec<u8> {
        let mut bytes = vec![0; FILE_BYTES];
        for (start, record) in records {
            bytes[*start..start + RECORD_BYTES].copy_from_slice(record);
        }
        bytes
    }

    fn record(generation: i64, first: i64, second: i64) -> Record {
        Record { generation, first, second }
    }

    #[test]
    fn the_manifest_of_a_new_slot_has_the_bytes_of_the_example() {
        let bytes = file(Kind::Manifest, Some(Records::default().next(0, 0)));
        assert_eq!(bytes.len(), FILE_BYTES);
        assert_eq!(bytes[..4096], [0; 4096]);
        assert_eq!(bytes[4096..4112], *b"SFM1\x01\0\0\0\x01\0\0\0\0\0\0\0");
        assert_eq!(bytes[4096 + 60..4096 + 64], [0x30, 0x27, 0xa8, 0xcb]); // 2.11
    }

    #[test]
    fn fmt_15_a_record_never_lands_on_the_one_before_it() {
        for generation in 1..5 {
            let (this, next) = (record(generation, 0, 0), record(generation + 1, 0, 0));
            assert_ne!(this.offset(), next.offset());
        }
        assert_eq!(record(1, 0, 0).offset(), 4096);
    }

    #[test]
    fn the_newer_valid_record_counts() {
        let encode = |r: Record| r.encode(Kind::Manifest);
        let (old, new) = (record(4, 0, 8), record(5, 8, 16));
        for (records, wanted) in [
            (vec![(0, encode(old)), (4096, encode(new))], Some(new)),
            (vec![(0, encode(new)), (4096, encode(old))], Some(new)),
            (vec![(0, encode(old))], Some(old)),
            (vec![], None),
            (vec![(0, encode(record(4, 0, 0))), (4096, encode(record(4, 0, 1)))], Some(record(4, 0, 1))),
        ] {
            let read = Records::read(Kind::Manifest, &with(&records));
            assert_eq!(read, Some(Records { newest: wanted, torn: false }));
        }
        assert_eq!(Records::read(Kind::Manifest, &[0; FILE_BYTES - 1]), None);
    }

    #[test]
    fn fmt_16_a_torn_record_is_remembered_and_an_untouched_one_is_not() {
        let old = record(4, 0, 8).encode(Kind::Manifest);
        for at in 0..RECORD_BYTES {
            let mut torn = record(5, 8, 16).encode(Kind::Manifest);
            torn[at] ^= 0x40;
            let read = Records::read(Kind::Manifest, &with(&[(0, old), (4096, torn)]));
            assert_eq!(read, Some(Records { newest: Some(record(4, 0, 8)), torn: true }), "byte {at}");
        }
    }

    #[test]
    fn values_out_of_range_are_no_record() {
        for (kind, bad) in [
            (Kind::Manifest, record(1, -1, 0)),
            (Kind::Manifest, record(1, 2, 1)),
            (Kind::Manifest, record(0, 0, 0)),
            (Kind::Manifest, record(-1, 0, 0)),
            (Kind::Watermark, record(1, -2, 0)),
        ] {
            let read = Records::read(kind, &with(&[(0, bad.encode(kind))]));
            assert_eq!(read, Some(Records { newest: None, torn: true }), "{bad:?}");
        }
    }

    #[test]
    fn fmt_17_watermarks_of_other_sizes_are_read_once() {
        let legacy = |acked: i64| {
            let mut bytes = b"AKW1\0\0\0\0".to_vec();
            bytes.extend(acked.to_le_bytes());
            bytes
        };
        let mut intermediate = vec![0; 128];
        intermediate[64..].copy_from_slice(&record(1, 9, 0).encode(Kind::Watermark));
        for (file, legacy, current, acked) in [
            (legacy(17), true, false, Some(17)),
            (legacy(-1), true, false, Some(-1)),
            (legacy(-5), true, false, None),
            (vec![0; 16], true, false, None),
            (intermediate, false, false, Some(9)),
            (vec![0; 8], false, false, None),
            (vec![], false, false, None),
            (super::file(Kind::Watermark, None), false, true, None),
            (super::file(Kind::Watermark, Some(record(3, 13, 0))), false, true, Some(13)),
        ] {
            let read = Watermark::read(&file);
            assert_eq!((read.legacy, read.current, read.acked), (legacy, current, acked), "{file:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(data in prop::collection::vec(any::<u8>(), 0..200)) {
            fuzz_record(&data);
        }

        #[test]
        fn records_are_read_back(generation in 1..i64::MAX, head in 0..i64::MAX, more in 0..1000_i64) {
            let record = record(generation, head, head.saturating_add(more));
            fuzz_record(&record.encode(Kind::Manifest));
            let read = Records::read(Kind::Manifest, &file(Kind::Manifest, Some(record)));
            prop_assert_eq!(read, Some(Records { newest: Some(record), torn: false }));
        }
    }
}
