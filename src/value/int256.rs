//! Unsigned 256-bit arithmetic, as far as decimals need it. Nothing here wraps or panics.

use std::fmt;

/// The largest power of ten in 64 bits, and its exponent.
const TEN_19: u64 = 10_000_000_000_000_000_000;
const TEN_19_EXPONENT: u32 = 19;

/// A 256-bit unsigned integer, the least significant limb first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct U256([u64; 4]);

impl U256 {
    pub(super) const ZERO: U256 = U256([0; 4]);

    pub(super) fn from_u128(value: u128) -> U256 {
        U256([low(value), high(value), 0, 0])
    }

    /// `self * factor + add`, unless that takes more than 256 bits.
    pub(super) fn mul_add(self, factor: u64, add: u64) -> Option<U256> {
        let mut carry = add;
        let limbs = self.0.map(|limb| {
            // At most (2^64 - 1)^2 + 2^64 - 1, which 128 bits hold.
            let product = u128::from(limb) * u128::from(factor) + u128::from(carry);
            carry = high(product);
            low(product)
        });
        (carry == 0).then_some(U256(limbs))
    }

    /// `self * 10^exponent`, unless that takes more than 256 bits.
    pub(super) fn mul_pow10(self, exponent: u32) -> Option<U256> {
        if self == U256::ZERO {
            return Some(self);
        }
        let mut value = self;
        let mut left = exponent;
        // Every round but the last multiplies by 10^19, so at most five of them fit.
        while left > 0 {
            let step = left.min(TEN_19_EXPONENT);
            value = value.mul_add(10_u64.pow(step), 0)?;
            left -= step;
        }
        Some(value)
    }

    /// `self / 10^exponent`, unless a digit would be lost.
    pub(super) fn div_pow10_exact(self, exponent: u32) -> Option<U256> {
        let mut value = self;
        let mut left = exponent;
        while left > 0 && value != U256::ZERO {
            let step = left.min(TEN_19_EXPONENT);
            let (quotient, rest) = value.div_rem(10_u64.pow(step));
            if rest != 0 {
                return None;
            }
            value = quotient;
            left -= step;
        }
        Some(value)
    }

    /// Quotient and rest; a divisor of 0 counts as 1.
    fn div_rem(self, divisor: u64) -> (U256, u64) {
        let divisor = u128::from(divisor.max(1));
        let mut limbs = self.0;
        let mut rest = 0_u64;
        for limb in limbs.iter_mut().rev() {
            let part = u128::from(rest) << 64 | u128::from(*limb);
            // The rest is below the divisor, so the quotient fits into a limb.
            *limb = low(part / divisor);
            rest = low(part % divisor);
        }
        (U256(limbs), rest)
    }

    /// The decimal digits, the most significant first. Zero has none.
    pub(super) fn digits(self) -> Digits {
        let mut digits = Digits { bytes: [b'0'; Digits::MAX], start: Digits::MAX };
        let mut value = self;
        while value != U256::ZERO {
            let (quotient, mut rest) = value.div_rem(TEN_19);
            value = quotient;
            let end = digits.start;
            // Leading zeros are written only below a higher group.
            while rest > 0 || (value != U256::ZERO && end - digits.start < 19) {
                digits.start -= 1;
                digits.bytes[digits.start] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
                rest /= 10;
            }
        }
        digits
    }

    /// Two's complement of `self`, or of `-self`. Meant for values below 2^255.
    pub(super) fn to_signed(self, negative: bool) -> [u64; 4] {
        if negative { negate(self.0) } else { self.0 }
    }

    /// Sign and magnitude of a two's complement number.
    pub(super) fn from_signed(limbs: [u64; 4]) -> (bool, U256) {
        let negative = limbs[3] >> 63 == 1;
        (negative, U256(if negative { negate(limbs) } else { limbs }))
    }
}

/// The decimal digits of a number.
pub(super) struct Digits {
    bytes: [u8; Digits::MAX],
    start: usize,
}

impl Digits {
    /// 2^256 has 78 digits.
    const MAX: usize = 78;

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[self.start..]).unwrap_or_default()
    }
}

impl fmt::Display for U256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.digits().as_str() {
            "" => f.write_str("0"),
            digits => f.write_str(digits),
        }
    }
}

fn negate(limbs: [u64; 4]) -> [u64; 4] {
    let mut carry = true;
    limbs.map(|limb| {
        let (limb, overflow) = (!limb).overflowing_add(u64::from(carry));
        carry = overflow;
        limb
    })
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is asked for")]
fn low(value: u128) -> u64 {
    value as u64
}

fn high(value: u128) -> u64 {
    (value >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAX: U256 = U256([u64::MAX; 4]);

    #[test]
    fn arithmetic_ends_at_256_bits() {
        let most = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
        assert_eq!(MAX.to_string(), most);
        assert_eq!(MAX.mul_add(1, 1), None);
        assert_eq!(MAX.mul_add(2, 0), None);
        assert_eq!(MAX.mul_add(1, 0), Some(MAX));
        let one = U256::from_u128(1);
        assert_eq!(one.mul_pow10(77).unwrap().to_string(), format!("1{}", "0".repeat(77)));
        assert_eq!(one.mul_pow10(78), None);
        assert_eq!(one.mul_pow10(u32::MAX), None);
        assert_eq!(U256::ZERO.mul_pow10(u32::MAX), Some(U256::ZERO));
        assert_eq!(U256::ZERO.div_pow10_exact(u32::MAX), Some(U256::ZERO));
        assert_eq!(U256::ZERO.to_string(), "0");
        assert_eq!(one.div_rem(0), (one, 0));
    }

    proptest! {
        #[test]
        fn digits_are_those_of_u128(value: u128) {
            prop_assert_eq!(U256::from_u128(value).to_string(), value.to_string());
        }

        /// The model is the text: appending a digit multiplies by ten and adds it.
        #[test]
        fn digits_in_are_digits_out(text in "[1-9][0-9]{0,76}") {
            let mut value = U256::ZERO;
            for digit in text.bytes() {
                value = value.mul_add(10, u64::from(digit - b'0')).unwrap();
            }
            prop_assert_eq!(value.to_string(), text);
        }

        #[test]
        fn powers_of_ten_append_and_remove_zeros(value: u128, exponent in 0_u32..=38) {
            let start = U256::from_u128(value);
            let raised = start.mul_pow10(exponent).unwrap();
            let zeros = if value == 0 { String::new() } else { "0".repeat(exponent as usize) };
            prop_assert_eq!(raised.to_string(), format!("{value}{zeros}"));
            prop_assert_eq!(raised.div_pow10_exact(exponent), Some(start));
            let inexact = start.mul_pow10(1).unwrap().mul_add(1, 1).unwrap();
            prop_assert_eq!(inexact.div_pow10_exact(1 + exponent), None);
        }

        #[test]
        fn signs_survive_two_s_complement(limbs: [u64; 4]) {
            let (negative, magnitude) = U256::from_signed(limbs);
            prop_assert_eq!(magnitude.to_signed(negative), limbs);
        }
    }
}
