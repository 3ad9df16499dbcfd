//! A bounded cursor over foreign bytes: nothing here panics, wraps or allocates by a stated length.

use super::varint::{self, VarintError};
use std::fmt;

/// Bytes that break the protocol: what is wrong, and at which offset of the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WireError {
    /// Offset of the offending bytes.
    pub(crate) at: usize,
    /// What is wrong.
    pub(crate) what: WireFault,
    /// The field that was being read.
    pub(crate) field: &'static str,
}

/// What is wrong with foreign bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WireFault {
    /// The bytes end before the field does.
    Truncated,
    /// Bytes are left behind the last field.
    Trailing,
    /// A varint of more than 64 bits or 10 bytes.
    Varint,
    /// Text that is not UTF-8.
    Utf8,
    /// A value outside of what the field may hold.
    Value(u64),
    /// A value beyond a limit of this client.
    Limit { value: u64, limit: u64 },
    /// Fields that contradict each other.
    Inconsistent(&'static str),
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {}: ", self.field, self.at)?;
        match &self.what {
            WireFault::Truncated => f.write_str("message ends inside it"),
            WireFault::Trailing => f.write_str("bytes are left behind it"),
            WireFault::Varint => f.write_str("no valid varint"),
            WireFault::Utf8 => f.write_str("not UTF-8"),
            WireFault::Value(value) => write!(f, "unexpected value {value}"),
            WireFault::Limit { value, limit } => write!(f, "{value} is beyond the limit of {limit}"),
            WireFault::Inconsistent(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for WireError {}

/// The result of reading foreign bytes.
pub(crate) type WireResult<T> = Result<T, WireError>;

/// Reads a message from front to back.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    /// `0 <= at <= bytes.len()`, always.
    at: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the front.
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }

    /// Offset of the next byte.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Bytes that are left.
    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// An error about `field` at the current offset.
    #[cold]
    pub(crate) fn fault(&self, field: &'static str, what: WireFault) -> WireError {
        WireError { at: self.at, what, field }
    }

    /// The next `count` bytes.
    #[inline]
    pub(crate) fn bytes(&mut self, field: &'static str, count: usize) -> WireResult<&'a [u8]> {
        let end = self.at.checked_add(count);
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(bytes) => {
                self.at += count;
                Ok(bytes)
            }
            None => Err(self.fault(field, WireFault::Truncated)),
        }
    }

    /// The next `count` bytes, where the count came from the wire.
    #[inline]
    pub(crate) fn bytes_u64(&mut self, field: &'static str, count: u64) -> WireResult<&'a [u8]> {
        match usize::try_from(count) {
            Ok(count) => self.bytes(field, count),
            Err(_) => Err(self.fault(field, WireFault::Truncated)),
        }
    }

    /// The next `N` bytes as an array.
    #[inline]
    pub(crate) fn array<const N: usize>(&mut self, field: &'static str) -> WireResult<[u8; N]> {
        match self.bytes.get(self.at..).and_then(|rest| rest.first_chunk()) {
            Some(array) => {
                self.at += N;
                Ok(*array)
            }
            None => Err(self.fault(field, WireFault::Truncated)),
        }
    }

    /// One byte.
    #[inline]
    pub(crate) fn u8(&mut self, field: &'static str) -> WireResult<u8> {
        self.array::<1>(field).map(|[byte]| byte)
    }

    /// Two bytes, little-endian.
    #[inline]
    pub(crate) fn u16(&mut self, field: &'static str) -> WireResult<u16> {
        self.array(field).map(u16::from_le_bytes)
    }

    /// Four bytes, little-endian.
    #[inline]
    pub(crate) fn u32(&mut self, field: &'static str) -> WireResult<u32> {
        self.array(field).map(u32::from_le_bytes)
    }

    /// Eight bytes, little-endian.
    #[inline]
    pub(crate) fn u64(&mut self, field: &'static str) -> WireResult<u64> {
        self.array(field).map(u64::from_le_bytes)
    }

    /// Eight bytes, little-endian, signed.
    #[inline]
    pub(crate) fn i64(&mut self, field: &'static str) -> WireResult<i64> {
        self.array(field).map(i64::from_le_bytes)
    }

    /// A varint.
    #[inline]
    pub(crate) fn varint(&mut self, field: &'static str) -> WireResult<u64> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        match varint::decode(rest) {
            Ok((value, count)) => {
                self.at += count;
                Ok(value)
            }
            Err(VarintError::Truncated) => Err(self.fault(field, WireFault::Truncated)),
            Err(VarintError::TooLarge) => Err(self.fault(field, WireFault::Varint)),
        }
    }

    /// A varint of at most `limit`.
    #[inline]
    pub(crate) fn varint_up_to(&mut self, field: &'static str, limit: u64) -> WireResult<u64> {
        let start = self.at;
        let value = self.varint(field)?;
        if value > limit {
            return Err(WireError { at: start, what: WireFault::Limit { value, limit }, field });
        }
        Ok(value)
    }

    /// Text behind a varint length.
    #[inline]
    pub(crate) fn str(&mut self, field: &'static str) -> WireResult<&'a str> {
        let count = self.varint(field)?;
        self.utf8(field, count)
    }

    /// Text behind a u16 length.
    #[inline]
    pub(crate) fn str16(&mut self, field: &'static str) -> WireResult<&'a str> {
        let count = u64::from(self.u16(field)?);
        self.utf8(field, count)
    }

    fn utf8(&mut self, field: &'static str, count: u64) -> WireResult<&'a str> {
        let start = self.at;
        let bytes = self.bytes_u64(field, count)?;
        std::str::from_utf8(bytes).map_err(|_| WireError { at: start, what: WireFault::Utf8, field })
    }

    /// Everything that is left, without taking it.
    #[inline]
    pub(crate) fn peek_rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Fails unless everything was read.
    pub(crate) fn end(&self, field: &'static str) -> WireResult<()> {
        if self.remaining() == 0 { Ok(()) } else { Err(self.fault(field, WireFault::Trailing)) }
    }
}

/// Little-endian bytes as limbs, the least significant first.
#[inline]
pub(crate) fn limbs(bytes: [u8; 32]) -> [u64; 4] {
    let mut limbs = [0; 4];
    for (limb, bytes) in limbs.iter_mut().zip(bytes.as_chunks().0) {
        *limb = u64::from_le_bytes(*bytes);
    }
    limbs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_never_goes_beyond_the_end() {
        let mut reader = Reader::new(b"\x03abcdef");
        assert_eq!(reader.str("text"), Ok("abc"));
        for count in [4, usize::MAX] {
            let fault = reader.bytes("rest", count).expect_err("three are left");
            assert_eq!((fault.at, fault.what), (4, WireFault::Truncated));
        }
        assert_eq!(reader.bytes_u64("rest", u64::MAX).map_err(|e| e.what), Err(WireFault::Truncated));
        assert_eq!(reader.u32("number").map_err(|e| e.at), Err(4));
        assert_eq!(reader.end("message").map_err(|e| e.what), Err(WireFault::Trailing));
        assert_eq!(reader.peek_rest(), b"def");
        assert_eq!(reader.bytes("rest", 3), Ok(&b"def"[..]));
        assert_eq!(reader.end("message"), Ok(()));
        assert_eq!(reader.peek_rest(), b"");
    }

    #[test]
    fn lim_16_a_length_near_2_to_the_64_does_not_wrap() {
        let mut reader = Reader::new(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01abc");
        assert_eq!(reader.str("text").map_err(|e| (e.at, e.what)), Err((10, WireFault::Truncated)));
    }

    #[test]
    fn a_limit_is_told_with_the_place_of_the_number() {
        let mut reader = Reader::new(b"\x00\x81\x01");
        assert_eq!(reader.varint_up_to("count", 0), Ok(0));
        let fault = reader.varint_up_to("count", 128).expect_err("129 is too much");
        assert_eq!(fault.to_string(), "count at offset 1: 129 is beyond the limit of 128");
    }

    #[test]
    fn the_least_significant_limb_comes_first() {
        let mut bytes = [0; 32];
        (bytes[0], bytes[8], bytes[31]) = (1, 2, 0x80);
        assert_eq!(limbs(bytes), [1, 2, 0, 1 << 63]);
    }
}
