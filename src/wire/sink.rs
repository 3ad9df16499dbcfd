//! Writes a message into a slice that may turn out too short.
//!
//! Writers do not check for room at each step: a sink that ran over swallows what follows, and
//! [`Sink::finish`] says so once.

use super::varint;

/// A cursor over the bytes that a message is written to.
#[derive(Debug)]
pub(crate) struct Sink<'a> {
    bytes: &'a mut [u8],
    /// May be larger than `bytes.len()`: then the message did not fit.
    at: usize,
}

impl<'a> Sink<'a> {
    /// Writes from the front of `bytes`.
    pub(crate) fn new(bytes: &'a mut [u8]) -> Sink<'a> {
        Sink { bytes, at: 0 }
    }

    /// Bytes written so far, those that did not fit included.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.at
    }

    /// The length, or `None` if the slice was too short.
    pub(crate) fn finish(&self) -> Option<usize> {
        (self.at <= self.bytes.len()).then_some(self.at)
    }

    /// The next `count` bytes to write to, or `None` once it ran over.
    #[inline]
    pub(crate) fn reserve(&mut self, count: usize) -> Option<&mut [u8]> {
        let start = self.at;
        self.at = self.at.saturating_add(count);
        self.bytes.get_mut(start..self.at)
    }

    /// Appends bytes.
    #[inline]
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        if let Some(room) = self.reserve(bytes.len()) {
            room.copy_from_slice(bytes);
        }
    }

    /// Appends one byte.
    #[inline]
    pub(crate) fn u8(&mut self, value: u8) {
        self.put(&[value]);
    }

    /// Appends a varint.
    #[inline]
    pub(crate) fn varint(&mut self, value: u64) {
        if value < 0x80 {
            return self.u8((value & 0x7f) as u8);
        }
        let (bytes, count) = varint::encode(value);
        self.put(&bytes[..count]);
    }

    /// Appends values of fixed width, little-endian, in one go.
    #[inline]
    pub(crate) fn scalars<T: Scalar>(&mut self, values: &[T]) {
        if let Some(room) = self.reserve(size_of_val(values)) {
            T::put_all(values, room);
        }
    }

    /// Appends text behind a varint length.
    #[inline]
    pub(crate) fn str(&mut self, text: &str) {
        self.varint(text.len() as u64);
        self.put(text.as_bytes());
    }

    /// Gives back what was written or reserved behind `len`.
    #[inline]
    pub(crate) fn rewind(&mut self, len: usize) {
        debug_assert!(len <= self.at);
        self.at = len;
    }

    /// Gives up: the message counts as one that did not fit, whatever follows.
    #[cold]
    pub(crate) fn fail(&mut self) {
        self.at = usize::MAX;
    }

    /// Overwrites bytes written before, for lengths that are known only at the end.
    #[inline]
    pub(crate) fn patch(&mut self, at: usize, bytes: &[u8]) {
        if let Some(room) = at.checked_add(bytes.len()).and_then(|end| self.bytes.get_mut(at..end)) {
            room.copy_from_slice(bytes);
        }
    }
}

/// A value that takes as many bytes on the wire as in memory.
pub(crate) trait Scalar: Copy {
    /// Writes `values` to `room`, which is exactly as long; compiles to a copy on common machines.
    fn put_all(values: &[Self], room: &mut [u8]);
}

macro_rules! scalars {
    ($($type:ty),*) => {$(
        impl Scalar for $type {
            #[inline]
            fn put_all(values: &[$type], room: &mut [u8]) {
                let (room, _) = room.as_chunks_mut();
                for (room, value) in room.iter_mut().zip(values) {
                    *room = value.to_le_bytes();
                }
            }
        }
    )*};
}

scalars!(i8, u8, i16, u16, i32, u32, i64, u64, u128, f32, f64);

/// Limbs, the least significant first.
impl<const N: usize> Scalar for [u64; N] {
    #[inline]
    fn put_all(values: &[[u64; N]], room: &mut [u8]) {
        u64::put_all(values.as_flattened(), room);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_over_is_told_once_at_the_end() {
        let mut room = [0_u8; 4];
        let mut sink = Sink::new(&mut room);
        sink.varint(300);
        sink.u8(7);
        assert_eq!(sink.finish(), Some(3));
        sink.put(&[1, 2]);
        assert_eq!((sink.finish(), sink.len()), (None, 5));
        sink.u8(1);
        assert_eq!(sink.finish(), None);
        assert_eq!(room[..3], [0xac, 0x02, 7]);
    }

    #[test]
    fn scalars_are_little_endian_and_bit_exact() {
        let nan = f64::from_bits(0xfff4_0302_0100_0201);
        let mut room = [0_u8; 8 + 3 * 2 + 2 * 16 + 1];
        let mut sink = Sink::new(&mut room);
        sink.scalars(&[nan]);
        sink.scalars(&[-2_i16, 0x0102, i16::MIN]);
        sink.scalars(&[[1_u64, 0x0102_0304_0506_0708]]);
        sink.scalars(&[1_u128 << 120]);
        sink.scalars::<u32>(&[]);
        sink.scalars(&[-1_i8]);
        assert_eq!(sink.finish(), Some(47));
        assert_eq!(room[..8], [1, 2, 0, 1, 2, 3, 0xf4, 0xff]);
        assert_eq!(room[8..14], [0xfe, 0xff, 2, 1, 0, 0x80]);
        assert_eq!(room[14..30], [1, 0, 0, 0, 0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(room[30..47], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff]);
    }

    #[test]
    fn a_sink_that_gave_up_stays_so() {
        let mut room = [0_u8; 4];
        let mut sink = Sink::new(&mut room);
        sink.fail();
        sink.put(&[1, 2]);
        sink.u8(1);
        assert_eq!(sink.finish(), None);
    }
}
