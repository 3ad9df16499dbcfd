//! Where things stand in a segment (store-and-forward.md 2.2 to 2.4), both directions. Pure.

use super::fsn::Fsn;
use crate::wire::reader::Reader;

/// Bytes of the header of a segment.
pub(crate) const HEADER_BYTES: usize = 24;
/// Bytes in front of each payload: checksum and length.
pub(crate) const ENVELOPE_BYTES: usize = 8;
/// Bytes of a segment that no payload can use (FMT-14).
pub(crate) const OVERHEAD_BYTES: usize = HEADER_BYTES + ENVELOPE_BYTES;
/// Where the flags of a header stand, so that a legacy file can be flagged in place (REC-03).
pub(crate) const FLAGS_AT: u64 = 5;
/// The flags of a segment that needs a manifest (FMT-08).
pub(crate) const FLAGGED: u8 = 0x01;

const MAGIC: [u8; 4] = *b"SF01";
const VERSION: u8 = 1;

/// What the header of a segment file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// Whether a valid manifest has to stand beside it (FMT-08). Old Java never says so.
    pub(crate) flagged: bool,
    /// Number of the first frame; provisional in a file without frames (FMT-09).
    pub(crate) base: Fsn,
    /// Microseconds since 1970, for people.
    pub(crate) created_us: u64,
}

/// Why a file has no header that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderFault {
    /// Nothing that this format, whatever its version, knows (REC-02).
    NotASegment(&'static str),
    /// Probably that of a newer writer; nobody may touch it (REC-01).
    Unsupported {
        /// The field.
        field: &'static str,
        /// What it holds.
        value: u16,
    },
}

impl Header {
    /// The header as it stands in a file.
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = VERSION;
        bytes[5] = if self.flagged { FLAGGED } else { 0 };
        bytes[8..16].copy_from_slice(&self.base.as_i64().to_le_bytes());
        bytes[16..24].copy_from_slice(&self.created_us.to_le_bytes());
        bytes
    }

    /// Reads the header at the front of a file.
    pub(crate) fn decode(file: &[u8]) -> Result<Header, HeaderFault> {
        let mut reader = Reader::new(file);
        let short = |_| HeaderFault::NotASegment("shorter than a header");
        let magic = reader.array("magic").map_err(short)?;
        let version = reader.u8("version").map_err(short)?;
        let flags = reader.u8("flags").map_err(short)?;
        let reserved = reader.u16("reserved").map_err(short)?;
        let base = reader.i64("base").map_err(short)?;
        let created_us = reader.u64("creation time").map_err(short)?;
        if magic != MAGIC {
            return Err(HeaderFault::NotASegment("other magic"));
        }
        let must_be = |field, value, ok: bool| {
            if ok { Ok(()) } else { Err(HeaderFault::Unsupported { field, value }) }
        };
        must_be("version", version.into(), version == VERSION)?;
        must_be("flags", flags.into(), flags & !FLAGGED == 0)?;
        must_be("reserved bytes", reserved, reserved == 0)?;
        let base = Fsn::new(base).ok_or(HeaderFault::NotASegment("negative base"))?;
        Ok(Header { flagged: flags & FLAGGED != 0, base, created_us })
    }
}

/// The header of a segment in memory whose first frame is `base`.
pub(crate) fn header(base: Fsn) -> [u8; HEADER_BYTES] {
    Header { flagged: false, base, created_us: 0 }.encode()
}

/// CRC32C, as every file of a slot uses it (2.2).
#[inline]
pub(crate) fn crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// The envelope of a payload of `len` bytes. The checksum is what a file needs, memory does not.
#[inline]
pub(crate) fn envelope(len: u32) -> [u8; ENVELOPE_BYTES] {
    let mut bytes = [0; ENVELOPE_BYTES];
    bytes[4..].copy_from_slice(&len.to_le_bytes());
    bytes
}

/// The checksum of a frame: over the length, then the payload, which stand one behind the other in a
/// segment (2.4).
#[inline]
pub(crate) fn frame_crc(length_and_payload: &[u8]) -> u32 {
    crc(length_and_payload)
}

/// Where a frame at `offset` would end by its length, even beyond the segment; `None` if it states no
/// length that a frame can have.
#[inline]
pub(crate) fn frame_end(segment: &[u8], offset: usize) -> Option<usize> {
    let start = offset.checked_add(ENVELOPE_BYTES)?;
    let (_, length) = segment.get(offset..start)?.split_last_chunk::<4>()?;
    let length = usize::try_from(i32::from_le_bytes(*length)).ok().filter(|&length| length > 0)?;
    start.checked_add(length)
}

/// As [`frame`], and the checksum has to be right (FMT-11).
#[inline]
pub(crate) fn checked_frame(segment: &[u8], offset: usize) -> Option<(&[u8], usize)> {
    let (payload, end) = frame(segment, offset)?;
    let (checksum, covered) = segment.get(offset..end)?.split_first_chunk()?;
    (frame_crc(covered) == u32::from_le_bytes(*checksum)).then_some((payload, end))
}

/// The payload whose envelope begins at `offset`, and where the next envelope begins. `None` at the
/// end of the data.
#[inline]
pub(crate) fn frame(segment: &[u8], offset: usize) -> Option<(&[u8], usize)> {
    let end = frame_end(segment, offset)?;
    Some((segment.get(offset.checked_add(ENVELOPE_BYTES)?..end)?, end))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::cast_possible_truncation, reason = "test data is small")]

    use super::*;
    use proptest::prelude::*;

    fn segment(payloads: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = header(Fsn::FIRST.plus(7)).to_vec();
        for payload in payloads {
            bytes.extend(envelope(payload.len() as u32));
            bytes.extend(payload);
        }
        bytes
    }

    #[test]
    fn the_header_is_that_of_a_segment_file() {
        let bytes = header(Fsn::FIRST.plus(0x0102));
        assert_eq!(&bytes[..8], b"SF01\x01\0\0\0");
        assert_eq!(bytes[8..16], [2, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[16..], [0; 8]);
    }

    #[test]
    fn fmt_11_the_data_ends_at_a_length_that_is_no_length() {
        let mut bytes = segment(&[vec![1, 2, 3]]);
        let end = bytes.len();
        assert_eq!(frame(&bytes, HEADER_BYTES), Some((&[1, 2, 3][..], end)));
        for tail in
            [&[][..], &[0; 7], &[0; 8], &[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff], &[0, 0, 0, 0, 1, 0, 0, 0]]
        {
            bytes.truncate(end);
            bytes.extend(tail);
            assert_eq!(frame(&bytes, end), None, "{tail:?}");
        }
        assert_eq!(frame(&bytes, usize::MAX), None);
    }

    #[test]
    fn checksums_are_castagnoli() {
        assert_eq!(crc(b"123456789"), 0xe306_9283);
        // 2.4: so eight zero bytes are never a frame
        assert_eq!(frame_crc(&[0; 4]), 0x4867_4bc7);
    }

    #[test]
    fn a_header_reads_as_it_was_written() {
        for flagged in [false, true] {
            let header = Header { flagged, base: Fsn::FIRST.plus(258), created_us: u64::MAX };
            assert_eq!(Header::decode(&header.encode()), Ok(header));
        }
    }

    #[test]
    fn rec_01_what_a_newer_writer_may_have_written_is_unsupported() {
        let good = header(Fsn::FIRST.plus(7));
        for (at, byte, field, value) in [
            (4, 2, "version", 2),
            (5, 2, "flags", 2),
            (5, 3, "flags", 3),
            (6, 1, "reserved bytes", 1),
            (7, 1, "reserved bytes", 256),
        ] {
            let mut bytes = good;
            bytes[at] = byte;
            assert_eq!(Header::decode(&bytes), Err(HeaderFault::Unsupported { field, value }));
        }
    }

    #[test]
    fn rec_02_what_no_writer_wrote_is_no_segment() {
        let good = header(Fsn::FIRST.plus(7));
        for cut in 0..HEADER_BYTES {
            assert!(matches!(Header::decode(&good[..cut]), Err(HeaderFault::NotASegment(_))), "{cut}");
        }
        for (at, byte) in [(0, 0), (3, b'2'), (15, 0x80)] {
            let mut bytes = good;
            bytes[at] = byte;
            assert!(matches!(Header::decode(&bytes), Err(HeaderFault::NotASegment(_))), "byte {at}");
        }
    }

    #[test]
    fn fmt_11_a_frame_with_another_checksum_is_the_end() {
        // 2.11: the first frame of slots/rust-7.2.1-one-segment begins with these bytes
        let payload = b"QWP1";
        let mut bytes = vec![0; HEADER_BYTES];
        bytes.extend(envelope(4));
        bytes.extend(payload);
        let checksum = frame_crc(&bytes[HEADER_BYTES + 4..]);
        bytes[HEADER_BYTES..HEADER_BYTES + 4].copy_from_slice(&checksum.to_le_bytes());
        let end = bytes.len();
        assert_eq!(checked_frame(&bytes, HEADER_BYTES), Some((&payload[..], end)));
        for at in HEADER_BYTES..end {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_eq!(checked_frame(&other, HEADER_BYTES), None, "byte {at}");
        }
    }

    proptest! {
        #[test]
        fn frames_are_read_back_as_written(
            payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..20),
        ) {
            let bytes = segment(&payloads);
            let mut offset = HEADER_BYTES;
            for payload in &payloads {
                let (read, next) = frame(&bytes, offset).unwrap();
                prop_assert_eq!(read, &payload[..]);
                offset = next;
            }
            prop_assert_eq!(frame(&bytes, offset), None);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>, offset: usize) {
            let _ = frame(&bytes, offset);
            let _ = frame(&bytes, offset % (bytes.len() + 1));
        }
    }
}
