//! Timestamp columns under flag GORILLA: an encoding byte, then plain values or delta-of-deltas
//! (wire.md 4.7).

use super::bits::{BitReader, BitWriter};
use super::reader::{Reader, WireError, WireFault, WireResult};
use super::sink::Sink;

/// The encoding byte of plain values.
pub(crate) const PLAIN: u8 = 0x00;
/// The encoding byte of two plain values and a bit stream of delta-of-deltas.
pub(crate) const DELTA: u8 = 0x01;

/// Bytes of the two values in front of the bit stream.
const HEAD_BYTES: usize = 16;

/// Upper bound of what [`encode`] writes for `count` values. It needs that much room even where it
/// then takes less.
#[inline]
pub(crate) const fn max_len(count: usize) -> usize {
    1 + 8 * count
}

/// Appends the encoding byte and the values.
///
/// With 3 values or more the bit stream is always the smaller form where it is possible at all:
/// it takes at most 36 bits a value instead of 64. So nothing is compared.
pub(crate) fn encode(values: &[i64], sink: &mut Sink<'_>) {
    let start = sink.len();
    if let Some([encoding, room @ ..]) = sink.reserve(max_len(values.len())) {
        if let Some(bytes) = encode_deltas(values, room) {
            *encoding = DELTA;
            return sink.rewind(start + 1 + bytes);
        }
        *encoding = PLAIN;
        for (room, value) in room.chunks_exact_mut(8).zip(values) {
            room.copy_from_slice(&value.to_le_bytes());
        }
    }
}

/// The form of [`DELTA`] in `room`, or `None` if a delta-of-delta does not fit.
fn encode_deltas(values: &[i64], room: &mut [u8]) -> Option<usize> {
    let [first, second, rest @ ..] = values else { return None };
    if rest.is_empty() {
        return None;
    }
    let (head, stream) = room.split_first_chunk_mut::<HEAD_BYTES>()?;
    *head = (u128::from(first.cast_unsigned()) | u128::from(second.cast_unsigned()) << 64).to_le_bytes();
    let mut writer = BitWriter::new(stream);
    let mut delta = second.checked_sub(*first)?;
    for (value, previous) in rest.iter().zip(values.get(1..)?) {
        let next = value.checked_sub(*previous)?;
        let (field, bits) = field(next.checked_sub(delta)?)?;
        if !writer.put(field, bits) {
            return None;
        }
        delta = next;
    }
    writer.finish().map(|bytes| HEAD_BYTES + bytes)
}

/// Prefix and value of a delta-of-delta as one bit field, or `None` if it does not fit 32 bits.
#[inline]
fn field(dod: i64) -> Option<(u64, u32)> {
    /// By the bits of the magnitude: prefix, its length, length in all.
    const BUCKETS: [(u8, u8, u8); 32] = {
        let mut buckets = [(0b1111, 4, 36); 32];
        let mut magnitude_bits = 0;
        while magnitude_bits < 12 {
            buckets[magnitude_bits] = match magnitude_bits {
                0..7 => (0b01, 2, 9),
                7..9 => (0b011, 3, 12),
                _ => (0b0111, 4, 16),
            };
            magnitude_bits += 1;
        }
        buckets
    };
    if dod == 0 {
        return Some((0, 1));
    }
    let magnitude_bits = 64 - (dod ^ (dod >> 63)).leading_zeros();
    // 11 bits of magnitude and the sign are the 12 of the third bucket, and so on
    let &(prefix, shift, bits) = BUCKETS.get(magnitude_bits as usize)?;
    let value = (dod.cast_unsigned() << shift) & ((1 << bits) - 1);
    Some((u64::from(prefix) | value, u32::from(bits)))
}

/// Why bytes are no timestamp column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GorillaFault {
    /// The bytes end before the values do.
    Truncated,
    /// Neither [`PLAIN`] nor [`DELTA`].
    Encoding(u8),
}

/// Appends `count` values to `out` and returns the bytes that they took, the encoding byte
/// included. After an error `out` is as it was. A reader accepts [`DELTA`] in front of fewer than
/// three values.
///
/// Allocates at most 64 times the length of `bytes`, so a limit for `count` is up to the caller.
pub(crate) fn decode(bytes: &[u8], count: usize, out: &mut Vec<i64>) -> Result<usize, GorillaFault> {
    let (&encoding, body) = bytes.split_first().ok_or(GorillaFault::Truncated)?;
    let body_bytes = match encoding {
        PLAIN => decode_plain(body, count, out),
        DELTA if count < 3 => decode_plain(body, count, out),
        DELTA => decode_deltas(body, count, out),
        other => return Err(GorillaFault::Encoding(other)),
    };
    body_bytes.map(|bytes| 1 + bytes).ok_or(GorillaFault::Truncated)
}

/// Reads a timestamp column of `count` values: [`decode`] for a [`Reader`].
pub(crate) fn read(
    reader: &mut Reader<'_>,
    field: &'static str,
    count: usize,
    out: &mut Vec<i64>,
) -> WireResult<()> {
    let at = reader.offset();
    match decode(reader.peek_rest(), count, out) {
        Ok(bytes) => reader.bytes(field, bytes).map(|_| ()),
        Err(GorillaFault::Truncated) => Err(WireError { at, what: WireFault::Truncated, field }),
        Err(GorillaFault::Encoding(byte)) => {
            Err(WireError { at, what: WireFault::Value(byte.into()), field })
        }
    }
}

fn decode_plain(body: &[u8], count: usize, out: &mut Vec<i64>) -> Option<usize> {
    let bytes = count.checked_mul(8)?;
    let (values, _) = body.get(..bytes)?.as_chunks();
    out.extend(values.iter().map(|value| i64::from_le_bytes(*value)));
    Some(bytes)
}

fn decode_deltas(body: &[u8], count: usize, out: &mut Vec<i64>) -> Option<usize> {
    let (head, stream) = body.split_first_chunk::<HEAD_BYTES>()?;
    let rest = count.checked_sub(2)?;
    if rest.div_ceil(8) > stream.len() {
        return None; // at least a bit a value: checked before anything is allocated
    }
    let start = out.len();
    let (values, _) = head.as_chunks();
    out.extend(values.iter().map(|value| i64::from_le_bytes(*value)));
    out.resize(start + count, 0);
    let bytes = match out.get_mut(start..) {
        Some([first, second, rest @ ..]) => decode_stream(stream, *first, *second, rest),
        _ => None,
    };
    if bytes.is_none() {
        out.truncate(start);
    }
    bytes.map(|bytes| HEAD_BYTES + bytes)
}

/// The hot loop: no branch depends on the kind of a field but the one for runs of equal deltas.
fn decode_stream(stream: &[u8], first: i64, second: i64, mut slots: &mut [i64]) -> Option<usize> {
    /// Zero bits, so equal deltas, that are worth a loop of their own.
    const RUN_BITS: u32 = 8;
    const RUN: usize = RUN_BITS as usize;
    let mut bits = BitReader::new(stream);
    let mut value = second;
    let mut delta = second.wrapping_sub(first);
    while !slots.is_empty() {
        let word = bits.peek();
        if word & 0xff == 0 && slots.len() >= RUN {
            let (run, rest) = std::mem::take(&mut slots).split_at_mut(RUN);
            for slot in run {
                value = value.wrapping_add(delta);
                *slot = value;
            }
            bits.consume(RUN_BITS);
            slots = rest;
            continue;
        }
        let (dod, count) = split_field(word);
        bits.consume(count);
        delta = delta.wrapping_add(dod);
        value = value.wrapping_add(delta);
        if let Some((slot, rest)) = std::mem::take(&mut slots).split_first_mut() {
            *slot = value;
            slots = rest;
        }
    }
    bits.consumed_bytes()
}

/// The delta-of-delta at bit 0 of `word`, and how many bits it takes.
#[inline]
fn split_field(word: u64) -> (i64, u32) {
    /// By the first four bits: bits in all, and bits of the value. The value of the first kind is its
    /// own prefix, a zero.
    const FIELDS: [(u8, u8); 16] = {
        let mut fields = [(1, 1); 16];
        let mut first = 1_usize;
        while first < 16 {
            fields[first] = match first.trailing_ones() {
                0 => (1, 1),
                1 => (9, 7),
                2 => (12, 9),
                3 => (16, 12),
                _ => (36, 32),
            };
            first += 1;
        }
        fields
    };
    let (all, value) = FIELDS[(word & 0xf) as usize];
    ((word << (64 - all)).cast_signed() >> (64 - value), all.into())
}

/// Body of a fuzz target: no bytes make the decoder panic, and what it reads is written back to at
/// most as many values.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz_gorilla(data: &[u8]) {
    let Some((head, body)) = data.split_first_chunk::<2>() else { return };
    let count = usize::from(u16::from_le_bytes(*head));
    let mut values = vec![7];
    match decode(body, count, &mut values) {
        Err(_) => assert_eq!(values, [7]),
        Ok(bytes) => {
            assert!(bytes <= body.len() && values.len() == count + 1);
            let mut room = vec![0; max_len(values.len())];
            let mut sink = Sink::new(&mut room);
            encode(&values, &mut sink);
            let written = sink.finish().expect("max_len is an upper bound");
            let mut again = Vec::new();
            assert_eq!(decode(&room, values.len(), &mut again), Ok(written));
            assert_eq!(again, values);
        }
    }
}

#[cfg(test)]
mod tests;
