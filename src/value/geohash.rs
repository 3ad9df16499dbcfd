//! Geohashes.

use super::invalid;
use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

const MAX_PRECISION: u8 = 60;
const BITS_PER_CHAR: u8 = 5;
const ALPHABET: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";

/// A geohash of 1 to 60 bits.
///
/// All values of one column have the same precision (LIM-11).
///
/// ```
/// use qwp::Geohash;
///
/// let area: Geohash = "u33d8".parse()?;
/// assert_eq!(area.precision(), 25);
/// assert_eq!(area.to_string(), "u33d8");
/// assert_eq!(Geohash::new(0b101, 3)?.to_string(), "101");
/// # Ok::<(), qwp::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Geohash {
    /// Always below `1 << precision`.
    bits: u64,
    /// 1 to 60.
    precision: u8,
}

impl Geohash {
    /// The `precision` lowest bits of `bits`, the first split of the globe in the highest of them.
    ///
    /// # Errors
    ///
    /// `InvalidValue` unless the precision is 1 to 60 and no bit is set above it.
    pub fn new(bits: u64, precision: u8) -> Result<Geohash> {
        if precision == 0 || precision > MAX_PRECISION {
            return Err(invalid("invalid geohash precision", precision, "a geohash has 1 to 60 bits"));
        }
        if bits >> precision != 0 {
            let value = format_args!("{bits:#x} with {precision} bits");
            return Err(invalid("invalid geohash", value, "bits are set above the precision"));
        }
        Ok(Geohash { bits, precision })
    }

    /// The bits; none is set above the precision.
    pub const fn bits(self) -> u64 {
        self.bits
    }

    /// How many bits it has: 1 to 60.
    pub const fn precision(self) -> u8 {
        self.precision
    }
}

impl FromStr for Geohash {
    type Err = Error;

    /// 1 to 12 characters of the geohash alphabet in either case, 5 bits each.
    fn from_str(text: &str) -> Result<Geohash> {
        parse(text).ok_or_else(|| {
            invalid("invalid geohash", text, "wanted 1 to 12 letters and digits without a, i, l and o")
        })
    }
}

impl fmt::Display for Geohash {
    /// Geohash characters if the precision is a multiple of 5, else binary digits, as QuestDB shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.precision.is_multiple_of(BITS_PER_CHAR) {
            return write!(f, "{:0width$b}", self.bits, width = usize::from(self.precision));
        }
        let mut shift = self.precision;
        while shift > 0 {
            shift -= BITS_PER_CHAR;
            let index = usize::try_from(self.bits >> shift & 31).unwrap_or(0);
            write!(f, "{}", char::from(ALPHABET[index]))?;
        }
        Ok(())
    }
}

fn parse(text: &str) -> Option<Geohash> {
    let mut bits = 0_u64;
    let mut precision = 0_u8;
    for byte in text.bytes() {
        if precision == MAX_PRECISION {
            return None;
        }
        let digit = ALPHABET.iter().position(|c| *c == byte.to_ascii_lowercase())?;
        bits = bits << BITS_PER_CHAR | u64::try_from(digit).ok()?;
        precision += BITS_PER_CHAR;
    }
    (precision > 0).then_some(Geohash { bits, precision })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lim_11_precision_is_1_to_60_and_holds_every_bit() {
        for precision in [1, 5, 8, 59, 60] {
            let all = u64::MAX >> (64 - u32::from(precision));
            assert_eq!(Geohash::new(all, precision).unwrap().bits(), all);
            assert!(Geohash::new(all + 1, precision).is_err(), "{precision}");
        }
        for precision in [0, 61, 64, 255] {
            assert!(Geohash::new(0, precision).is_err(), "{precision}");
        }
    }

    #[test]
    fn text_is_the_geohash_alphabet_and_nothing_else() {
        assert_eq!("0".parse::<Geohash>().unwrap(), Geohash::new(0, 5).unwrap());
        assert_eq!("ZZZZZZZZZZZZ".parse::<Geohash>().unwrap().bits(), (1 << 60) - 1);
        assert_eq!("ezs42".parse::<Geohash>().unwrap().bits(), 0b01101_11111_11000_00100_00010);
        for text in ["", "zzzzzzzzzzzzz", "a", "i", "l", "o", "u3 ", "#u3", "\u{e9}"] {
            assert!(text.parse::<Geohash>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_precision_that_no_characters_make_is_shown_in_binary() {
        assert_eq!(Geohash::new(1, 8).unwrap().to_string(), "00000001");
        assert_eq!(Geohash::new(1, 10).unwrap().to_string(), "01");
    }

    proptest! {
        #[test]
        fn a_geohash_survives_text(bits: u64, chars in 1_u8..=12) {
            let precision = chars * BITS_PER_CHAR;
            let hash = Geohash::new(bits >> (64 - u32::from(precision)), precision).unwrap();
            prop_assert_eq!(hash.to_string().parse::<Geohash>().unwrap(), hash);
        }
    }
}
