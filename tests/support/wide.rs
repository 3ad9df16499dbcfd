//! 256-bit whole numbers, as far as decimals need them.

use std::cmp::Ordering;
use std::fmt;

/// A two's complement number of 256 bits, least significant limb first.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Wide(pub [u64; 4]);

/// Why a decimal cannot take another scale.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rescale {
    Overflow,
    Inexact,
}

impl Wide {
    /// The number of `bytes` (8, 16 or 32 of them), little-endian, extended by its sign.
    pub fn from_le(bytes: &[u8]) -> Wide {
        let fill = if bytes.last().is_some_and(|b| b & 0x80 != 0) { 0xff } else { 0 };
        let mut all = [fill; 32];
        all[..bytes.len()].copy_from_slice(bytes);
        let mut limbs = [0; 4];
        for (limb, part) in limbs.iter_mut().zip(all.chunks_exact(8)) {
            *limb = part.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b));
        }
        Wide(limbs)
    }

    /// All 32 bytes, little-endian; a narrower type takes the first of them.
    pub fn to_le(self) -> [u8; 32] {
        let mut out = [0; 32];
        for (part, limb) in out.chunks_exact_mut(8).zip(self.0) {
            part.copy_from_slice(&limb.to_le_bytes());
        }
        out
    }

    /// Reads a sign and decimal digits; `None` for anything else or beyond 256 bits.
    pub fn parse(text: &str) -> Option<Wide> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if digits.is_empty() {
            return None;
        }
        let mut n = Wide::default();
        for d in digits.chars() {
            n = n.times_ten()?.plus(u64::from(d.to_digit(10)?))?;
        }
        Some(if negative { n.negated() } else { n })
    }

    pub fn is_negative(self) -> bool {
        self.0[3] >> 63 == 1
    }

    pub fn negated(self) -> Wide {
        let mut carry = true;
        let mut out = [0; 4];
        for (o, limb) in out.iter_mut().zip(self.0) {
            let (n, over) = (!limb).overflowing_add(u64::from(carry));
            (*o, carry) = (n, over);
        }
        Wide(out)
    }

    /// The value without its sign (the minimum stays as it is: its bits are its magnitude).
    pub fn magnitude(self) -> Wide {
        if self.is_negative() { self.negated() } else { self }
    }

    /// Decimal digits of the magnitude; 0 has none.
    pub fn digits(self) -> usize {
        let mut rest = self.magnitude();
        let mut count = 0;
        while rest.0 != [0; 4] {
            (rest, _) = rest.over_ten();
            count += 1;
        }
        count
    }

    /// The same decimal with `to` places instead of `from`.
    pub fn rescale(self, from: u8, to: u8) -> Result<Wide, Rescale> {
        let mut n = self.magnitude();
        for _ in from..to {
            n = n.times_ten().ok_or(Rescale::Overflow)?;
        }
        for _ in to..from {
            let (quotient, rest) = n.over_ten();
            if rest != 0 {
                return Err(Rescale::Inexact);
            }
            n = quotient;
        }
        Ok(if self.is_negative() { n.negated() } else { n })
    }

    /// Plain notation with `scale` places behind the point.
    pub fn decimal(self, scale: u8) -> String {
        let text = self.to_string();
        let (sign, digits) = match text.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", text.as_str()),
        };
        let scale = usize::from(scale);
        if scale == 0 {
            return text;
        }
        let padded = format!("{digits:0>width$}", width = scale + 1);
        let (whole, places) = padded.split_at(padded.len() - scale);
        format!("{sign}{whole}.{places}")
    }

    /// Ten times an unsigned magnitude.
    fn times_ten(self) -> Option<Wide> {
        let mut carry = 0u128;
        let mut out = [0; 4];
        for (o, limb) in out.iter_mut().zip(self.0) {
            let n = u128::from(limb) * 10 + carry;
            *o = low(n);
            carry = n >> 64;
        }
        (carry == 0 && out[3] >> 63 == 0).then_some(Wide(out))
    }

    fn plus(self, small: u64) -> Option<Wide> {
        let mut carry = small;
        let mut out = [0; 4];
        for (o, limb) in out.iter_mut().zip(self.0) {
            let (n, over) = limb.overflowing_add(carry);
            (*o, carry) = (n, u64::from(over));
        }
        (carry == 0 && out[3] >> 63 == 0).then_some(Wide(out))
    }

    fn over_ten(self) -> (Wide, u64) {
        let mut rest = 0u128;
        let mut out = [0; 4];
        for (o, limb) in out.iter_mut().zip(self.0).rev() {
            let n = rest << 64 | u128::from(limb);
            *o = low(n / 10);
            rest = n % 10;
        }
        (Wide(out), low(rest))
    }
}

impl From<i64> for Wide {
    fn from(n: i64) -> Wide {
        Wide::from_le(&n.to_le_bytes())
    }
}

impl PartialOrd for Wide {
    fn partial_cmp(&self, other: &Wide) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Wide {
    fn cmp(&self, other: &Wide) -> Ordering {
        let key = |n: &Wide| {
            let mut limbs = n.0;
            limbs[3] ^= 1 << 63;
            limbs.reverse();
            limbs
        };
        key(self).cmp(&key(other))
    }
}

impl fmt::Display for Wide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = Vec::new();
        let mut rest = self.magnitude();
        while rest.0 != [0; 4] || digits.is_empty() {
            let (quotient, digit) = rest.over_ten();
            digits.push(char::from(b'0' + u8::try_from(digit).expect("below ten")));
            rest = quotient;
        }
        if self.is_negative() {
            digits.push('-');
        }
        digits.iter().rev().try_for_each(|c| write!(f, "{c}"))
    }
}

impl fmt::Debug for Wide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

fn low(n: u128) -> u64 {
    u64::try_from(n & u128::from(u64::MAX)).expect("masked to 64 bits")
}
