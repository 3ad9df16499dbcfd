//! Bits in the order of the protocol: each byte is filled from bit 0 upwards (wire.md 4.7).
//!
//! Both ends work on 64-bit words: a field is one shift and one or, a load or store of eight bytes
//! per field stands in for the loop over bytes.

/// The longest field that one call of [`BitWriter::put`] or [`BitReader::consume`] takes.
pub(crate) const MAX_FIELD_BITS: u32 = 56;

/// Writes bit fields into a slice.
#[derive(Debug)]
pub(crate) struct BitWriter<'a> {
    room: &'a mut [u8],
    /// Whole bytes written.
    at: usize,
    /// The bits of the byte being filled; at most 7 between two calls.
    acc: u64,
    used: u32,
}

impl<'a> BitWriter<'a> {
    /// Writes from the front of `room`.
    pub(crate) fn new(room: &'a mut [u8]) -> BitWriter<'a> {
        BitWriter { room, at: 0, acc: 0, used: 0 }
    }

    /// Appends the low `count` bits of `field`, whose other bits must be 0. False if there is no
    /// room; then the stream is broken and must be dropped.
    #[inline]
    #[must_use]
    pub(crate) fn put(&mut self, field: u64, count: u32) -> bool {
        debug_assert!(count <= MAX_FIELD_BITS && field >> count == 0);
        self.acc |= field << self.used;
        self.used += count;
        let whole = (self.used >> 3) as usize;
        if !self.store(whole) {
            return false;
        }
        self.at += whole;
        self.acc >>= self.used & !7;
        self.used &= 7;
        true
    }

    /// Pads the last byte with zero bits; returns how many bytes were written.
    pub(crate) fn finish(mut self) -> Option<usize> {
        let tail = usize::from(self.used > 0);
        self.store(tail).then_some(self.at + tail)
    }

    /// Stores the accumulator, of which `whole` bytes count.
    #[inline]
    fn store(&mut self, whole: usize) -> bool {
        let word = self.acc.to_le_bytes();
        if let Some(room) = self.room.get_mut(self.at..).and_then(|rest| rest.first_chunk_mut()) {
            *room = word;
            return true;
        }
        let room = self.room.get_mut(self.at..self.at + whole);
        match (room, word.get(..whole)) {
            (Some(room), Some(word)) => {
                room.copy_from_slice(word);
                true
            }
            _ => false,
        }
    }
}

/// Reads bit fields. Behind the end of the bytes it reads zero bits, and
/// [`consumed_bytes`](BitReader::consumed_bytes) tells.
#[derive(Debug, Clone)]
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    /// The byte that goes to bit `have` of `acc` next; beyond the end for zero bits.
    next: usize,
    /// The next `have` bits. Bits above them are 0 or already those of `bytes[next..]`.
    acc: u64,
    have: u32,
}

impl<'a> BitReader<'a> {
    /// Reads from the front of `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> BitReader<'a> {
        BitReader { bytes, next: 0, acc: 0, have: 0 }
    }

    /// The next bits, at least [`MAX_FIELD_BITS`] of them, the first in bit 0.
    #[inline]
    pub(crate) fn peek(&mut self) -> u64 {
        match self.bytes.get(self.next..).and_then(|rest| rest.first_chunk()) {
            Some(word) => {
                self.acc |= u64::from_le_bytes(*word) << self.have;
                self.next += ((63 - self.have) >> 3) as usize;
                self.have |= 56;
            }
            None => self.refill_at_the_end(),
        }
        self.acc
    }

    /// Takes `count` of the bits that [`peek`](BitReader::peek) showed.
    #[inline]
    pub(crate) fn consume(&mut self, count: u32) {
        debug_assert!(count <= self.have && count <= MAX_FIELD_BITS);
        self.acc >>= count;
        self.have -= count;
    }

    /// Bytes begun so far, or `None` if more bits were consumed than there are.
    pub(crate) fn consumed_bytes(&self) -> Option<usize> {
        let bytes = self.next - (self.have >> 3) as usize;
        (bytes <= self.bytes.len()).then_some(bytes)
    }

    #[cold]
    fn refill_at_the_end(&mut self) {
        while self.have <= 56 {
            let byte = self.bytes.get(self.next).copied().unwrap_or(0);
            self.acc |= u64::from(byte) << self.have;
            self.next += 1;
            self.have += 8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_fill_bytes_from_bit_0_upwards() {
        let mut room = [0xee_u8; 2];
        let mut writer = BitWriter::new(&mut room);
        assert!(writer.put(0b01, 2) && writer.put(5, 7));
        assert_eq!(writer.finish(), Some(2));
        assert_eq!(room, [0x15, 0x00], "wire.md 4.7, the example");
    }

    #[test]
    fn a_writer_stops_where_its_room_ends() {
        for room_bytes in 0..12 {
            let mut room = vec![0; room_bytes];
            let mut writer = BitWriter::new(&mut room);
            let mut fits = true;
            for _ in 0..9 {
                fits = fits && writer.put(0x1ff, 9);
            }
            assert_eq!(fits && writer.finish() == Some(11), room_bytes >= 11, "{room_bytes}");
        }
    }

    #[test]
    fn a_reader_tells_when_bits_behind_the_end_were_taken() {
        for bytes in 0..20_usize {
            let data = vec![0xff; bytes];
            let mut reader = BitReader::new(&data);
            for bit in 0..bytes * 8 {
                assert_eq!(reader.peek() & 1, 1, "bit {bit} of {bytes} bytes");
                reader.consume(1);
                assert_eq!(reader.consumed_bytes(), Some(bit / 8 + 1));
            }
            assert_eq!(reader.peek(), 0);
            reader.consume(1);
            assert_eq!(reader.consumed_bytes(), None);
        }
    }

    proptest! {
        #[test]
        fn fields_come_back_as_they_went(
            fields in prop::collection::vec((any::<u64>(), 0..=MAX_FIELD_BITS), 0..100),
        ) {
            let fields: Vec<(u64, u32)> =
                fields.iter().map(|&(field, n)| (field & ((1 << n) - 1), n)).collect();
            let bits: u32 = fields.iter().map(|&(_, n)| n).sum();
            let mut room = vec![0xff; bits.div_ceil(8) as usize];
            let mut writer = BitWriter::new(&mut room);
            for &(field, n) in &fields {
                prop_assert!(writer.put(field, n));
            }
            prop_assert_eq!(writer.finish(), Some(room.len()));
            let mut reader = BitReader::new(&room);
            for &(field, n) in &fields {
                prop_assert_eq!(reader.peek() & ((1 << n) - 1), field);
                reader.consume(n);
            }
            prop_assert_eq!(reader.consumed_bytes(), Some(room.len()));
        }
    }
}
