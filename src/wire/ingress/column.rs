//! The data of one column in a block: null section, then the values that are there (wire.md 4.3, 4.4).
//!
//! Free functions over slices, one a layout. All take the NULLs of the block's rows, `None` where a
//! column has none or its type knows none, and the values of the other rows, packed. Each has a
//! function beside it that says how many bytes it takes at most, given the same slices' lengths; a
//! sink with less room than that may report that a column does not fit which would have fitted. The
//! length that a sink without any room counts is exact for a single row.
//!
//! Nothing here checks values: names, ranges, precisions and text were checked when they were set.

use crate::wire::gorilla;
use crate::wire::sink::{Scalar, Sink};
use crate::wire::varint;

/// No row of the block is NULL, so no bitmap follows.
const WITHOUT_BITMAP: u8 = 0x00;
const WITH_BITMAP: u8 = 0x01;

/// A run of bits out of a longer bitmap. As NULLs: bit 1 = NULL, one bit a row of the block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bits<'a> {
    /// The whole bitmap, bit `i % 64` of word `i / 64`. Bits beyond its end count as 0.
    pub(crate) words: &'a [u64],
    /// The bit of the first row.
    pub(crate) first: usize,
    /// Number of rows.
    pub(crate) count: usize,
}

impl Bits<'_> {
    /// Whether any bit is 1.
    pub(crate) fn any(&self) -> bool {
        self.words().any(|word| word != 0)
    }

    /// The run 64 bits at a time, shifted to the front; bits behind its end are 0.
    #[inline]
    fn words(&self) -> impl Iterator<Item = u64> {
        let shift = self.first % 64;
        let from = self.first / 64;
        (0..self.count.div_ceil(64)).map(move |index| {
            let at = |index: usize| self.words.get(from + index).copied().unwrap_or(0);
            let low = at(index) >> shift;
            // two steps, as a shift by 64 would not be 0
            let high = (at(index + 1) << 1) << (63 - shift);
            let left = self.count - index * 64;
            (low | high) & if left < 64 { (1 << left) - 1 } else { u64::MAX }
        })
    }

    fn put(&self, sink: &mut Sink<'_>) {
        if let Some(room) = sink.reserve(self.count.div_ceil(8)) {
            for (room, word) in room.chunks_mut(8).zip(self.words()) {
                room.copy_from_slice(&word.to_le_bytes()[..room.len()]);
            }
        }
    }
}

fn put_null_section(nulls: Option<Bits<'_>>, sink: &mut Sink<'_>) {
    match nulls {
        Some(nulls) if nulls.any() => {
            sink.u8(WITH_BITMAP);
            nulls.put(sink);
        }
        _ => sink.u8(WITHOUT_BITMAP),
    }
}

/// Upper bound of the null section of `row_count` rows.
#[inline]
pub(crate) const fn null_section_max_len(row_count: usize) -> usize {
    1 + row_count.div_ceil(8)
}

/// BOOLEAN. NULL is false, so there is no bitmap.
pub(crate) fn put_booleans(values: Bits<'_>, sink: &mut Sink<'_>) {
    sink.u8(WITHOUT_BITMAP);
    values.put(sink);
}

/// Bytes that [`put_booleans`] writes.
pub(crate) const fn booleans_len(row_count: usize) -> usize {
    1 + row_count.div_ceil(8)
}

/// BYTE, SHORT and CHAR with a value for every row (NULL is 0) and `nulls` `None`; INT, LONG, FLOAT,
/// DOUBLE, IPv4 and DATE; UUID as `u128` or as low and high limb; LONG256 as limbs.
pub(crate) fn put_fixed<T: Scalar>(nulls: Option<Bits<'_>>, values: &[T], sink: &mut Sink<'_>) {
    put_null_section(nulls, sink);
    sink.scalars(values);
}

/// Upper bound for [`put_fixed`] with values of `value_bytes` each; exact without NULLs but for the
/// bitmap.
pub(crate) const fn fixed_max_len(value_bytes: usize, row_count: usize, value_count: usize) -> usize {
    null_section_max_len(row_count) + value_bytes * value_count
}

/// TIMESTAMP and TIMESTAMP_NANOS in a message with flag GORILLA.
pub(crate) fn put_timestamps(nulls: Option<Bits<'_>>, values: &[i64], sink: &mut Sink<'_>) {
    put_null_section(nulls, sink);
    gorilla::encode(values, sink);
}

/// Upper bound for [`put_timestamps`].
pub(crate) const fn timestamps_max_len(row_count: usize, value_count: usize) -> usize {
    null_section_max_len(row_count) + gorilla::max_len(value_count)
}

/// SYMBOL: ids of the connection's dictionary.
pub(crate) fn put_symbols(nulls: Option<Bits<'_>>, ids: &[u32], sink: &mut Sink<'_>) {
    put_null_section(nulls, sink);
    let all = ids.iter().fold(0, |all, id| all | id);
    if all < 0x80 {
        if let Some(room) = sink.reserve(ids.len()) {
            for (room, id) in room.iter_mut().zip(ids) {
                *room = (id & 0x7f) as u8;
            }
        }
    } else if all < 0x4000 {
        put_middle_symbols(ids, sink);
    } else {
        put_long_symbols(all, ids, sink);
    }
}

/// Ids of one byte and of two: two bytes are stored for each, of which some count.
fn put_middle_symbols(ids: &[u32], sink: &mut Sink<'_>) {
    let start = sink.len();
    if let Some(mut room) = sink.reserve(2 * ids.len()) {
        let whole = room.len();
        for id in ids {
            let more = u32::from(*id >= 0x80);
            // The bits above the lowest seven go up by one, and bit 7 is free for the mark.
            let word = (id + (id & 0x3f80)) | more << 7;
            let Some(place) = room.first_chunk_mut::<2>() else { break };
            let [low, high, ..] = word.to_le_bytes();
            *place = [low, high];
            room = room.get_mut(1 + more as usize..).unwrap_or_default();
        }
        let written = whole - room.len();
        sink.rewind(start + written);
    }
}

/// Ids of which one takes more than a byte: eight bytes are stored for each, of which some count.
fn put_long_symbols(all: u32, ids: &[u32], sink: &mut Sink<'_>) {
    let start = sink.len();
    let id_max_bytes = varint::len(all.into());
    let mut written = 0;
    if let Some(room) = sink.reserve(id_max_bytes * ids.len()) {
        for id in ids {
            let (word, count) = varint_word(*id);
            match room.get_mut(written..).and_then(|rest| rest.first_chunk_mut::<8>()) {
                Some(room) => *room = word.to_le_bytes(),
                None => {
                    let rest = room.get_mut(written..written + count).unwrap_or_default();
                    rest.copy_from_slice(&word.to_le_bytes()[..rest.len()]);
                }
            }
            written += count;
        }
        sink.rewind(start + written);
    }
}

/// The bytes of a varint as a little-endian word, and their number.
#[inline]
fn varint_word(value: u32) -> (u64, usize) {
    const MORE: u64 = 0x80_80_80_80;
    let group = |index: u32| (u64::from(value >> (7 * index)) & 0x7f) << (8 * index);
    let count = varint::len(value.into());
    let more = MORE & ((1 << (8 * (count - 1))) - 1);
    (group(0) | group(1) | group(2) | group(3) | group(4) | more, count)
}

/// Upper bound for [`put_symbols`] with ids of at most `id_max`.
pub(crate) const fn symbols_max_len(row_count: usize, value_count: usize, id_max: u32) -> usize {
    null_section_max_len(row_count) + varint::len(id_max as u64) * value_count
}

/// GEOHASH of `precision` bits (1 to 60) each, right-aligned. Where the precision fills whole bytes
/// a bitmap is written even without NULLs: without one an all-ones value would be NULL (wire.md 4.4).
pub(crate) fn put_geohashes(precision: u8, nulls: Option<Bits<'_>>, values: &[u64], sink: &mut Sink<'_>) {
    debug_assert!((1..=60).contains(&precision) && values.iter().all(|value| value >> precision == 0));
    if precision.is_multiple_of(8) {
        sink.u8(WITH_BITMAP);
        nulls.unwrap_or(Bits { words: &[], first: 0, count: values.len() }).put(sink);
    } else {
        put_null_section(nulls, sink);
    }
    sink.varint(precision.into());
    let width = usize::from(precision.div_ceil(8)).clamp(1, 8);
    if let Some(room) = sink.reserve(width * values.len()) {
        for (room, value) in room.chunks_exact_mut(width).zip(values) {
            room.copy_from_slice(&value.to_le_bytes()[..width]);
        }
    }
}

/// Upper bound for [`put_geohashes`].
pub(crate) const fn geohashes_max_len(precision: u8, row_count: usize, value_count: usize) -> usize {
    null_section_max_len(row_count) + 1 + (precision as usize).div_ceil(8) * value_count
}

/// VARCHAR and BINARY: value `i` is `bytes[offsets[i]..offsets[i + 1]]`, and `offsets` has one element
/// more than there are values. The first offset may be any; on the wire it is 0.
pub(crate) fn put_texts(nulls: Option<Bits<'_>>, offsets: &[u32], bytes: &[u8], sink: &mut Sink<'_>) {
    put_null_section(nulls, sink);
    let (&[base, ..], &[.., end]) = (offsets, offsets) else { return sink.fail() };
    let Some(bytes) = bytes.get(base as usize..end as usize) else { return sink.fail() };
    if let Some(room) = sink.reserve(4 * offsets.len()) {
        let (room, _) = room.as_chunks_mut();
        for (room, offset) in room.iter_mut().zip(offsets) {
            *room = offset.wrapping_sub(base).to_le_bytes();
        }
    }
    sink.put(bytes);
}

/// Upper bound for [`put_texts`] with texts of `text_bytes` in all.
pub(crate) const fn texts_max_len(row_count: usize, value_count: usize, text_bytes: usize) -> usize {
    null_section_max_len(row_count) + 4 * (value_count + 1) + text_bytes
}

/// DECIMAL64, 128 and 256 with `LIMBS` of 1, 2 and 4: unscaled values, two's complement, the least
/// significant limb first; limbs above `LIMBS` repeat the sign and are left out.
pub(crate) fn put_decimals<const LIMBS: usize>(
    scale: u8,
    nulls: Option<Bits<'_>>,
    values: &[[u64; 4]],
    sink: &mut Sink<'_>,
) {
    put_null_section(nulls, sink);
    sink.u8(scale);
    if let Some(room) = sink.reserve(8 * LIMBS * values.len()) {
        for (room, value) in room.chunks_exact_mut(8 * LIMBS).zip(values) {
            u64::put_all(value, room);
        }
    }
}

/// Upper bound for [`put_decimals`].
pub(crate) const fn decimals_max_len(limbs: usize, row_count: usize, value_count: usize) -> usize {
    null_section_max_len(row_count) + 1 + 8 * limbs * value_count
}

/// DOUBLE_ARRAY: the values stand in `encoded` one behind the other, each as number of dimensions, u8,
/// their lengths, u32 each, and the elements row by row.
pub(crate) fn put_arrays(nulls: Option<Bits<'_>>, encoded: &[u8], sink: &mut Sink<'_>) {
    put_null_section(nulls, sink);
    sink.put(encoded);
}

/// Upper bound for [`put_arrays`].
pub(crate) const fn arrays_max_len(row_count: usize, encoded_bytes: usize) -> usize {
    null_section_max_len(row_count) + encoded_bytes
}

#[cfg(test)]
mod tests;
