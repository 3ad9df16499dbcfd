//! Unsigned LEB128, at most 10 bytes.

/// Bytes of the longest varint.
pub(crate) const MAX_BYTES: usize = 10;

/// Bytes that the shortest form of `value` takes.
#[inline]
pub(crate) const fn len(value: u64) -> usize {
    (63 - (value | 1).leading_zeros() as usize) / 7 + 1
}

/// Writes the shortest form and returns it with its length.
#[inline]
pub(crate) fn encode(mut value: u64) -> ([u8; MAX_BYTES], usize) {
    let mut bytes = [0; MAX_BYTES];
    let mut count = 0;
    for byte in &mut bytes {
        count += 1;
        *byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            break;
        }
        *byte |= 0x80;
    }
    (bytes, count)
}

/// Why bytes are no varint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VarintError {
    /// The bytes end inside it.
    Truncated,
    /// Its value does not fit 64 bits, or it is longer than 10 bytes.
    TooLarge,
}

/// Reads one from the front and returns it with the bytes that it took. Zero-padded forms of up to
/// 10 bytes are accepted (wire.md 2).
#[inline]
pub(crate) fn decode(bytes: &[u8]) -> Result<(u64, usize), VarintError> {
    let mut value = 0_u64;
    for (index, &byte) in bytes.iter().take(MAX_BYTES).enumerate() {
        if index == MAX_BYTES - 1 && byte > 1 {
            return Err(VarintError::TooLarge);
        }
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Ok((value, index + 1));
        }
    }
    Err(if bytes.len() < MAX_BYTES { VarintError::Truncated } else { VarintError::TooLarge })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EDGES: [u64; 8] = [0, 127, 128, 300, 16_383, 16_384, (1 << 63) - 1, u64::MAX];

    #[test]
    fn lim_16_edges_round_trip_and_are_cut_at_every_byte() {
        for value in EDGES {
            let (bytes, count) = encode(value);
            assert_eq!(count, len(value), "{value}");
            assert_eq!(decode(&bytes[..count]), Ok((value, count)));
            for cut in 0..count {
                assert_eq!(decode(&bytes[..cut]), Err(VarintError::Truncated), "{value} cut at {cut}");
            }
        }
    }

    #[test]
    fn lim_16_zero_padding_is_read_up_to_10_bytes_and_no_further() {
        for padding in 0..=8 {
            let mut bytes = vec![0x85];
            bytes.extend(vec![0x80; padding]);
            bytes.push(0);
            assert_eq!(decode(&bytes), Ok((5, padding + 2)));
        }
        let eleven = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00];
        assert_eq!(decode(&eleven), Err(VarintError::TooLarge));
        let tenth_above_1 = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        assert_eq!(decode(&tenth_above_1), Err(VarintError::TooLarge));
    }

    proptest! {
        #[test]
        fn every_value_round_trips(value: u64, tail: Vec<u8>) {
            let (bytes, count) = encode(value);
            let mut with_tail = bytes[..count].to_vec();
            with_tail.extend(tail);
            prop_assert_eq!(decode(&with_tail), Ok((value, count)));
        }
    }
}
