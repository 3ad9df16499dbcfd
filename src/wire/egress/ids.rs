//! Symbol ids of a column: varints, nearly all of one or two bytes (wire.md 8.4).
//!
//! In most columns all ids are of one length: small dictionaries of one byte, large ones of two. In
//! the others the length of an id is as good as random, so a branch on it would be guessed wrong for
//! many: [`mixed`] has none.

use crate::wire::reader::WireFault;
use crate::wire::varint::{self, VarintError};

/// Bytes of one step, and ids at most.
const STEP: usize = 8;

/// Steps after a mixed one that do not try [`uniform`].
const MIXED_STEPS: u32 = 16;

/// The bit of each byte that says that its varint goes on.
const CONTINUES: u64 = 0x8080_8080_8080_8080;
/// Those of four ids of two bytes.
const PAIRS: u64 = 0x0080_0080_0080_0080;

/// Fills `slots` with ids from the front of `bytes`, and returns how many bytes they took. A fault
/// comes with the place of its id.
pub(super) fn decode(bytes: &[u8], slots: &mut [u32]) -> Result<usize, (usize, WireFault)> {
    let (mut at, mut filled) = (0, 0);
    let mut skip = 0_u32;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let free = slots.get_mut(filled..).unwrap_or_default();
        if let (Some(word), Some(window)) = (rest.first_chunk(), free.first_chunk_mut()) {
            let mut step = None;
            if skip == 0 {
                step = uniform(word, window);
            }
            if step.is_none() {
                skip = skip.checked_sub(1).unwrap_or(MIXED_STEPS);
                step = mixed(word, window);
            }
            if let Some((taken, count)) = step {
                at += taken;
                filled += count;
                continue;
            }
        }
        let Some(slot) = free.first_mut() else { return Ok(at) };
        let taken;
        (*slot, taken) = long(rest).map_err(|fault| (at, fault))?;
        at += taken;
        filled += 1;
    }
}

/// An id of any length. No dictionary has one that does not fit.
fn long(bytes: &[u8]) -> Result<(u32, usize), WireFault> {
    let (id, taken) = varint::decode(bytes).map_err(|error| match error {
        VarintError::Truncated => WireFault::Truncated,
        VarintError::TooLarge => WireFault::Varint,
    })?;
    Ok((u32::try_from(id).map_err(|_| WireFault::Value(id))?, taken))
}

/// Eight ids of a byte each, or four of two: returns their bytes and how many they are.
#[inline]
fn uniform(bytes: &[u8; STEP], slots: &mut [u32; STEP]) -> Option<(usize, usize)> {
    match u64::from_le_bytes(*bytes) & CONTINUES {
        0 => {
            for (slot, &byte) in slots.iter_mut().zip(bytes) {
                *slot = byte.into();
            }
            Some((STEP, STEP))
        }
        PAIRS => {
            for (slot, &[low, high]) in slots.iter_mut().zip(bytes.as_chunks().0) {
                *slot = u32::from(low & 0x7f) | u32::from(high) << 7;
            }
            Some((STEP, STEP / 2))
        }
        _ => None,
    }
}

/// All ids that end within `bytes`, if none is longer than two bytes: returns the bytes that they
/// took and how many they are, 4 to 8. Slots behind them may hold anything.
#[inline]
fn mixed(bytes: &[u8; STEP], slots: &mut [u32; STEP]) -> Option<(usize, usize)> {
    let continues = u64::from_le_bytes(*bytes) & CONTINUES;
    if continues & (continues >> 8) != 0 {
        return None;
    }
    let mut count = 0;
    let mut before = 0;
    for &byte in bytes {
        let (low, byte) = (before, u32::from(byte));
        before = byte;
        let id = if low < 0x80 { byte & 0x7f } else { byte << 7 | low & 0x7f };
        // Below STEP: at most one id for each byte before.
        slots[count % STEP] = id;
        count += usize::from(byte < 0x80);
    }
    Some((STEP - usize::from(continues >> 63 == 1), count))
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "test data is small")]
mod tests {
    use super::*;
    use crate::wire::egress::testing;
    use proptest::prelude::*;

    /// Ids whose varints are of one length, of two, or of any.
    fn ids() -> impl Strategy<Value = Vec<u64>> {
        let one = || 0_u64..128;
        let two = || 128_u64..16_384;
        let any = prop_oneof![8 => one(), 8 => two(), 1 => any::<u32>().prop_map(u64::from)];
        let runs = prop_oneof![
            prop::collection::vec(one(), 1..40),
            prop::collection::vec(two(), 1..40),
            prop::collection::vec(any, 1..40),
        ];
        prop::collection::vec(runs, 1..8).prop_map(|runs| runs.concat())
    }

    #[test]
    fn qry_15_an_id_that_does_not_fit_is_a_fault_at_its_place() {
        let bytes = [&[0; 8][..], &testing::varint(1 << 32)].concat();
        assert_eq!(decode(&bytes, &mut [0; 9]), Err((8, WireFault::Value(1 << 32))));
    }

    #[test]
    fn lim_16_ids_padded_with_zero_bits_are_read_as_what_they_are() {
        let mut slots = [9; 8];
        let bytes = [0x81, 0x00, 0x01, 0x82, 0x00, 0x02, 0x03, 0x04, 0x05, 0x06];
        assert_eq!((decode(&bytes, &mut slots), slots), (Ok(10), [1, 1, 2, 2, 3, 4, 5, 6]));
    }

    proptest! {
        #[test]
        fn qry_15_ids_of_any_length_come_back(
            ids in ids(), behind in prop::collection::vec(any::<u8>(), 0..12),
        ) {
            let mut bytes: Vec<u8> = ids.iter().flat_map(|id| testing::varint(*id)).collect();
            let length = bytes.len();
            bytes.extend(behind);
            let mut slots = vec![0; ids.len()];
            prop_assert_eq!(decode(&bytes, &mut slots), Ok(length));
            let wanted: Vec<u32> = ids.iter().map(|id| *id as u32).collect();
            prop_assert_eq!(slots, wanted);
        }

        #[test]
        fn qry_15_ids_that_end_too_early_are_an_error_at_the_last_of_them(ids in ids()) {
            let bytes: Vec<u8> = ids.iter().flat_map(|id| testing::varint(*id)).collect();
            let last = bytes.len() - testing::varint(*ids.last().unwrap()).len();
            let mut slots = vec![0; ids.len()];
            let error = decode(&bytes[..bytes.len() - 1], &mut slots);
            prop_assert_eq!(error, Err((last, WireFault::Truncated)));
        }
    }
}
