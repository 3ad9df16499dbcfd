//! Exact decimal numbers.

mod parse;

use super::int256::U256;
use super::invalid;
use crate::error::{Error, Result};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

/// The largest scale, and the largest count of digits, of the widest decimal (LIM-10).
const MAX_DIGITS: u8 = 76;

const TOO_MANY_DIGITS: &str = "a decimal has at most 76 digits";
const SCALE_TOO_LARGE: &str = "a decimal has at most 76 digits after the point";

/// How wide a decimal travels, and with that how many digits it has (LIM-10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecimalWidth {
    /// 64 bits: up to 18 digits.
    W64,
    /// 128 bits: up to 38 digits.
    W128,
    /// 256 bits: up to 76 digits.
    W256,
}

impl DecimalWidth {
    /// How many digits it holds, all of which may stand after the point.
    pub const fn max_digits(self) -> u8 {
        match self {
            DecimalWidth::W64 => 18,
            DecimalWidth::W128 => 38,
            DecimalWidth::W256 => MAX_DIGITS,
        }
    }
}

/// An exact decimal number of up to 76 digits: an integer divided by a power of ten, the scale.
///
/// Made from text or from an unscaled integer and a scale; nothing is ever rounded. It travels as
/// DECIMAL256 unless [`with_width`](Decimal::with_width) declares less (FLUSH-22).
///
/// Two decimals are equal if integer and scale are: `1.5` and `1.50` are not, as a column tells them
/// apart by its scale. The declared width does not count.
///
/// ```
/// use qwp::Decimal;
///
/// let price: Decimal = "-12.50".parse()?;
/// assert_eq!(price, Decimal::from_i64(-1250, 2)?);
/// assert_eq!(price.rescale(4)?.to_string(), "-12.5000");
/// assert_eq!("1.2e3".parse::<Decimal>()?.to_string(), "1200");
/// assert!("NaN".parse::<Decimal>().is_err());
/// # Ok::<(), qwp::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Decimal {
    /// Two's complement, the least significant limb first; at most as many digits as `width` holds.
    unscaled: [u64; 4],
    /// At most what `width` holds.
    scale: u8,
    width: Option<DecimalWidth>,
}

impl Decimal {
    /// `unscaled / 10^scale`.
    ///
    /// # Errors
    ///
    /// `InvalidValue` for a scale above 76.
    pub fn from_i64(unscaled: i64, scale: u8) -> Result<Decimal> {
        Decimal::from_i128(i128::from(unscaled), scale)
    }

    /// `unscaled / 10^scale`.
    ///
    /// # Errors
    ///
    /// `InvalidValue` for a scale above 76.
    pub fn from_i128(unscaled: i128, scale: u8) -> Result<Decimal> {
        let magnitude = U256::from_u128(unscaled.unsigned_abs());
        Decimal::checked(unscaled < 0, magnitude, scale, None)
    }

    /// `unscaled / 10^scale`, the integer as four limbs of 256-bit two's complement, the least
    /// significant first.
    ///
    /// # Errors
    ///
    /// `InvalidValue` for a scale above 76 or an integer of more than 76 digits.
    pub fn from_parts(unscaled: [u64; 4], scale: u8) -> Result<Decimal> {
        let (negative, magnitude) = U256::from_signed(unscaled);
        Decimal::checked(negative, magnitude, scale, None)
    }

    /// As a server sent it. It does not check what it stores, so the digits may be more than the width
    /// has; such a number is shown as it is, and refused where it would be sent.
    pub(crate) const fn received(unscaled: [u64; 4], scale: u8, width: DecimalWidth) -> Decimal {
        Decimal { unscaled, scale, width: Some(width) }
    }

    /// The same number, declared to travel in that width.
    ///
    /// # Errors
    ///
    /// `InvalidValue` if it has more digits, or more of them after the point, than 18, 38 or 76.
    pub fn with_width(self, width: DecimalWidth) -> Result<Decimal> {
        let (negative, magnitude) = U256::from_signed(self.unscaled);
        Decimal::checked(negative, magnitude, self.scale, Some(width))
    }

    /// The same number with that many digits after the point.
    ///
    /// # Errors
    ///
    /// `InvalidValue` if raising the scale needs more digits than the width has, or lowering it would
    /// lose a digit that is not zero.
    pub fn rescale(self, scale: u8) -> Result<Decimal> {
        let (negative, magnitude) = U256::from_signed(self.unscaled);
        let rescaled = if scale >= self.scale {
            let raised = magnitude.mul_pow10(u32::from(scale - self.scale));
            raised.ok_or_else(|| invalid("decimal does not fit its scale", self, TOO_MANY_DIGITS))?
        } else {
            let lowered = magnitude.div_pow10_exact(u32::from(self.scale - scale));
            lowered.ok_or_else(|| {
                invalid("decimal does not fit its scale", self, "digits after the point would be lost")
            })?
        };
        Decimal::checked(negative, rescaled, scale, self.width)
    }

    /// How many digits stand after the point.
    pub const fn scale(self) -> u8 {
        self.scale
    }

    /// The width that was declared, or in which the value came.
    pub const fn width(self) -> Option<DecimalWidth> {
        self.width
    }

    /// The integer without its point, as 256-bit two's complement, the least significant limb first.
    pub const fn unscaled(self) -> [u64; 4] {
        self.unscaled
    }

    /// How many digits the integer without its point has: 0 for zero.
    fn digit_count(magnitude: U256) -> usize {
        magnitude.digits().as_str().len()
    }

    /// The only place where one is made, so that LIM-10 holds for all of them.
    fn checked(negative: bool, magnitude: U256, scale: u8, width: Option<DecimalWidth>) -> Result<Decimal> {
        let max = width.unwrap_or(DecimalWidth::W256).max_digits();
        if scale > max {
            let rule = match width {
                Some(DecimalWidth::W64) => "64 bits hold at most 18 digits after the point",
                Some(DecimalWidth::W128) => "128 bits hold at most 38 digits after the point",
                Some(DecimalWidth::W256) | None => SCALE_TOO_LARGE,
            };
            return Err(invalid("decimal out of range", format_args!("scale {scale}"), rule));
        }
        if Decimal::digit_count(magnitude) > usize::from(max) {
            let rule = match width {
                Some(DecimalWidth::W64) => "64 bits hold at most 18 digits",
                Some(DecimalWidth::W128) => "128 bits hold at most 38 digits",
                Some(DecimalWidth::W256) | None => TOO_MANY_DIGITS,
            };
            let sign = if negative { "-" } else { "" };
            let value = format_args!("{sign}{magnitude} with scale {scale}");
            return Err(invalid("decimal out of range", value, rule));
        }
        Ok(Decimal { unscaled: magnitude.to_signed(negative), scale, width })
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        (self.unscaled, self.scale) == (other.unscaled, other.scale)
    }
}

impl Eq for Decimal {}

impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.unscaled, self.scale).hash(state);
    }
}

impl FromStr for Decimal {
    type Err = Error;

    /// An optional sign, digits with at most one point and at least one digit, and an optional exponent
    /// (FLUSH-20). The scale is the count of digits after the point, less the exponent; zeros at the end
    /// are dropped only where 76 digits would not hold the number otherwise.
    fn from_str(text: &str) -> Result<Decimal> {
        parse::decimal(text)
    }
}

impl fmt::Display for Decimal {
    /// All digits of its scale, as in `-12.50`, without an exponent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (negative, magnitude) = U256::from_signed(self.unscaled);
        let digits = magnitude.digits();
        let digits = digits.as_str();
        let scale = usize::from(self.scale);
        // At least one digit stands before the point.
        let padded = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = padded.split_at(padded.len() - scale);
        let point = if scale == 0 { "" } else { "." };
        f.pad_integral(!negative, "", &format!("{whole}{point}{fraction}"))
    }
}

#[cfg(test)]
mod tests;
