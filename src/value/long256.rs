//! 256-bit unsigned integers.

use super::invalid;
use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// A 256-bit unsigned integer. The one whose limbs all are `i64::MIN` reads back as NULL (FLUSH-19).
///
/// ```
/// use qwp::Long256;
///
/// let hash: Long256 = "0x01ff".parse()?;
/// assert_eq!(hash, Long256::from_limbs([0x1ff, 0, 0, 0]));
/// assert_eq!(hash.to_string(), "0x01ff");
/// # Ok::<(), qwp::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Long256([u64; 4]);

impl Long256 {
    /// From four limbs, the least significant first.
    pub const fn from_limbs(limbs: [u64; 4]) -> Long256 {
        Long256(limbs)
    }

    /// The four limbs, the least significant first: the order in which they travel.
    pub const fn limbs(self) -> [u64; 4] {
        self.0
    }
}

impl FromStr for Long256 {
    type Err = Error;

    /// `0x` and 1 to 64 hex digits of either case.
    fn from_str(text: &str) -> Result<Long256> {
        parse(text).ok_or_else(|| invalid("invalid LONG256", text, "wanted 0x and 1 to 64 hex digits"))
    }
}

impl fmt::Display for Long256 {
    /// `0x` and the hex digits of as few whole bytes as hold it, as servers show it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.0;
        let all = format!("{d:016x}{c:016x}{b:016x}{a:016x}");
        let first = all.bytes().position(|digit| digit != b'0').unwrap_or(all.len());
        // At least one byte is shown, and never half of one.
        let start = first.min(all.len() - 2) / 2 * 2;
        write!(f, "0x{}", &all[start..])
    }
}

fn parse(text: &str) -> Option<Long256> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    if digits.is_empty() || digits.len() > 64 {
        return None;
    }
    let mut limbs = [0_u64; 4];
    for c in digits.chars() {
        let mut carry = u64::from(c.to_digit(16)?);
        for limb in &mut limbs {
            (*limb, carry) = (*limb << 4 | carry, *limb >> 60);
        }
    }
    Some(Long256(limbs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_that_is_no_long256_is_refused() {
        let long = format!("0x{}", "f".repeat(65));
        for text in ["", "0x", "1f", "0xg", "0x 1", "-0x1", &long] {
            assert!(text.parse::<Long256>().is_err(), "{text}");
        }
        let most = format!("0X{}", "F".repeat(64)).parse::<Long256>().unwrap();
        assert_eq!(most.limbs(), [u64::MAX; 4]);
        for (low, text) in [(0, "0x00"), (1, "0x01"), (0x1ff, "0x01ff"), (u64::MAX, "0xffffffffffffffff")] {
            assert_eq!(Long256::from_limbs([low, 0, 0, 0]).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn a_long256_survives_text(limbs: [u64; 4], used in 0_usize..=4) {
            let mut limbs = limbs;
            limbs.iter_mut().skip(used).for_each(|limb| *limb = 0);
            let value = Long256::from_limbs(limbs);
            prop_assert_eq!(value.to_string().parse::<Long256>().unwrap(), value);
        }
    }
}
