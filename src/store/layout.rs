//! Where things stand in a segment (store-and-forward.md 2.3, 2.4). Pure.

use super::fsn::Fsn;

/// Bytes of the header of a segment.
pub(crate) const HEADER_BYTES: usize = 24;
/// Bytes in front of each payload: checksum and length.
pub(crate) const ENVELOPE_BYTES: usize = 8;
/// Bytes of a segment that no payload can use (FMT-14).
pub(crate) const OVERHEAD_BYTES: usize = HEADER_BYTES + ENVELOPE_BYTES;

const MAGIC: [u8; 4] = *b"SF01";
const VERSION: u8 = 1;

/// The header of a segment whose first frame is `base`.
pub(crate) fn header(base: Fsn) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4] = VERSION;
    bytes[8..16].copy_from_slice(&base.as_i64().to_le_bytes());
    bytes
}

/// The envelope of a payload of `len` bytes. The checksum is what a file needs, memory does not.
#[inline]
pub(crate) fn envelope(len: u32) -> [u8; ENVELOPE_BYTES] {
    let mut bytes = [0; ENVELOPE_BYTES];
    bytes[4..].copy_from_slice(&len.to_le_bytes());
    bytes
}

/// The payload whose envelope begins at `offset`, and where the next envelope begins. `None` at the
/// end of the data.
#[inline]
pub(crate) fn frame(segment: &[u8], offset: usize) -> Option<(&[u8], usize)> {
    let start = offset.checked_add(ENVELOPE_BYTES)?;
    let (_, length) = segment.get(offset..start)?.split_last_chunk::<4>()?;
    let length = usize::try_from(i32::from_le_bytes(*length)).ok().filter(|&length| length > 0)?;
    let end = start.checked_add(length)?;
    Some((segment.get(start..end)?, end))
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
