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
            return self.u8(value as u8);
        }
        let (bytes, count) = varint::encode(value);
        self.put(&bytes[..count]);
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

    /// Overwrites bytes written before, for lengths that are known only at the end.
    #[inline]
    pub(crate) fn patch(&mut self, at: usize, bytes: &[u8]) {
        if let Some(room) = at.checked_add(bytes.len()).and_then(|end| self.bytes.get_mut(at..end)) {
            room.copy_from_slice(bytes);
        }
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
}
