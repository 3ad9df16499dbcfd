//! A bounded cursor over what a client sent, with the server's words for what is wrong.

/// A status other than OK, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub status: u8,
    pub text: String,
}

pub const SCHEMA_MISMATCH: u8 = 0x03;
pub const PARSE_ERROR: u8 = 0x05;
pub const INTERNAL_ERROR: u8 = 0x06;
pub const SECURITY_ERROR: u8 = 0x08;
pub const WRITE_ERROR: u8 = 0x09;
pub const CANCELLED: u8 = 0x0a;
pub const LIMIT_EXCEEDED: u8 = 0x0b;

pub fn refusal(status: u8, text: impl Into<String>) -> Refusal {
    Refusal { status, text: text.into() }
}

pub fn malformed(text: impl Into<String>) -> Refusal {
    refusal(PARSE_ERROR, text)
}

/// The bytes of a message, and how far they were read.
pub struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Input<'a> {
        Input { rest: bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn len(&self) -> usize {
        self.rest.len()
    }

    /// The next `count` bytes, or the refusal that `otherwise` words.
    pub fn take(&mut self, count: usize, otherwise: impl FnOnce() -> String) -> Result<&'a [u8], Refusal> {
        let Some((head, rest)) = self.rest.split_at_checked(count) else {
            return Err(malformed(otherwise()));
        };
        self.rest = rest;
        Ok(head)
    }

    pub fn u8(&mut self, otherwise: impl FnOnce() -> String) -> Result<u8, Refusal> {
        self.take(1, otherwise).map(|b| b[0])
    }

    pub fn array<const N: usize>(&mut self, otherwise: impl FnOnce() -> String) -> Result<[u8; N], Refusal> {
        self.take(N, otherwise).map(|b| b.try_into().expect("as many as asked for"))
    }

    /// At most ten bytes, padded or not, within 64 bits (wire.md 2).
    pub fn varint(&mut self) -> Result<u64, Refusal> {
        let mut value = 0u64;
        for place in 0..10 {
            let byte = self.u8(|| "incomplete varint: buffer underflow".into())?;
            let bits = u64::from(byte & 0x7f);
            if place == 9 && byte > 1 {
                break;
            }
            value |= bits << (7 * place);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(malformed("varint overflow: too many continuation bytes"))
    }
}

/// Text, or the answer of a server that has to turn it into UTF-16.
pub fn text(bytes: &[u8]) -> Result<&str, Refusal> {
    std::str::from_utf8(bytes).map_err(|_| {
        let shown: String = bytes
            .iter()
            .map(|b| if b.is_ascii_graphic() { char::from(*b).to_string() } else { format!("\\x{b:02X}") })
            .collect();
        refusal(WRITE_ERROR, format!("cannot convert invalid UTF-8 sequence to UTF-16 [seq={shown}]"))
    })
}

/// Reads single bits, from bit 0 of each byte upwards.
pub struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    pub fn new(bytes: &'a [u8]) -> Bits<'a> {
        Bits { bytes, at: 0 }
    }

    pub fn bit(&mut self) -> Result<bool, Refusal> {
        let byte =
            self.bytes.get(self.at / 8).ok_or_else(|| malformed("attempt to read beyond available bits"))?;
        let set = byte >> (self.at % 8) & 1 == 1;
        self.at += 1;
        Ok(set)
    }

    /// `count` bits as a two's complement number, least significant bit first.
    pub fn signed(&mut self, count: u32) -> Result<i64, Refusal> {
        let mut value = 0i64;
        for place in 0..count {
            if self.bit()? {
                value |= 1 << place;
            }
        }
        let spare = 64 - count;
        Ok(value << spare >> spare)
    }

    /// Whole bytes that the bits read so far have used.
    pub fn bytes_used(&self) -> usize {
        self.at.div_ceil(8)
    }
}
