//! UUIDs.

use super::invalid;
use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// A UUID. The one whose halves both are `i64::MIN` reads back as NULL (FLUSH-19).
///
/// ```
/// use qwp::Uuid;
///
/// let id: Uuid = "123e4567-e89b-12d3-a456-426614174000".parse()?;
/// assert_eq!(id.as_u128(), 0x123e4567_e89b_12d3_a456_426614174000);
/// assert_eq!(Uuid::from_bytes(id.to_bytes()), id);
/// # Ok::<(), qwp::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(u128);

impl Uuid {
    /// From the number that the hex digits make.
    pub const fn from_u128(value: u128) -> Uuid {
        Uuid(value)
    }

    /// The number that the hex digits make.
    pub const fn as_u128(self) -> u128 {
        self.0
    }

    /// From the 16 bytes in their canonical order, which is big-endian (RFC 9562).
    pub const fn from_bytes(bytes: [u8; 16]) -> Uuid {
        Uuid(u128::from_be_bytes(bytes))
    }

    /// The 16 bytes in their canonical order.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// The 64 bits that travel first (wire.md 4.4).
    #[expect(clippy::cast_possible_truncation, reason = "the low half is what is asked for")]
    pub(crate) const fn low(self) -> u64 {
        self.0 as u64
    }

    /// The 64 bits that travel second.
    pub(crate) const fn high(self) -> u64 {
        (self.0 >> 64) as u64
    }
}

impl From<u128> for Uuid {
    fn from(value: u128) -> Uuid {
        Uuid(value)
    }
}

impl FromStr for Uuid {
    type Err = Error;

    /// The canonical form, 8-4-4-4-12 hex digits of either case.
    fn from_str(text: &str) -> Result<Uuid> {
        parse(text).ok_or_else(|| invalid("invalid UUID", text, "wanted 8-4-4-4-12 hex digits"))
    }
}

impl fmt::Display for Uuid {
    /// The canonical form in lower case.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |shift: u32, digits: u32| (self.0 >> shift) & ((1_u128 << (4 * digits)) - 1);
        write!(
            f,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            part(96, 8),
            part(80, 4),
            part(64, 4),
            part(48, 4),
            part(0, 12)
        )
    }
}

fn parse(text: &str) -> Option<Uuid> {
    if text.len() != 36 {
        return None;
    }
    let mut value = 0_u128;
    for (index, c) in text.chars().enumerate() {
        match index {
            8 | 13 | 18 | 23 if c == '-' => {}
            8 | 13 | 18 | 23 => return None,
            _ => value = value << 4 | u128::from(c.to_digit(16)?),
        }
    }
    Some(Uuid(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_that_is_no_uuid_is_refused() {
        for text in [
            "",
            "123e4567-e89b-12d3-a456-42661417400",
            "123e4567-e89b-12d3-a456-4266141740000",
            "123e4567e-89b-12d3-a456-426614174000",
            "123e4567-e89b-12d3-a456-42661417400g",
            "{23e4567-e89b-12d3-a456-42661417400}",
            "123e4567-e89b-12d3-a456-4266141740\u{e9}",
        ] {
            assert!(text.parse::<Uuid>().is_err(), "{text}");
        }
        assert_eq!(
            "123E4567-E89B-12D3-A456-426614174000".parse::<Uuid>().unwrap().high(),
            0x123e_4567_e89b_12d3
        );
    }

    #[test]
    fn the_halves_are_the_canonical_bytes_in_reverse_order() {
        let id = Uuid::from_bytes([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(id.low().to_le_bytes(), [15, 14, 13, 12, 11, 10, 9, 8]);
        assert_eq!(id.high().to_le_bytes(), [7, 6, 5, 4, 3, 2, 1, 0]);
        assert_eq!(id.to_string(), "00010203-0405-0607-0809-0a0b0c0d0e0f");
    }

    proptest! {
        #[test]
        fn a_uuid_survives_text_and_halves(value: u128) {
            let id = Uuid::from(value);
            prop_assert_eq!(id.to_string().parse::<Uuid>().unwrap(), id);
            prop_assert_eq!(u128::from(id.high()) << 64 | u128::from(id.low()), value);
        }
    }
}
