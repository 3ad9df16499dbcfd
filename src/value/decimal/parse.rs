//! Decimals from text (FLUSH-20).
//!
//! The text is read twice, first for its form and then for its digits, so that neither a long text nor
//! a large exponent allocates anything.

use super::{Decimal, MAX_DIGITS, SCALE_TOO_LARGE, TOO_MANY_DIGITS};
use crate::error::Result;
use crate::value::int256::U256;
use crate::value::invalid;

/// What is between sign and exponent, and the exponent.
struct Form<'a> {
    negative: bool,
    mantissa: &'a [u8],
    /// Saturated; what saturates is out of range unless the mantissa is zero.
    exponent: i64,
}

/// How the digits of the mantissa make the number.
struct Digits {
    /// Digits from the first one that is not zero on.
    significant: i64,
    /// Zeros at the end of them.
    trailing: i64,
    /// Digits after the point.
    after_point: i64,
}

pub(super) fn decimal(text: &str) -> Result<Decimal> {
    let form = form(text.as_bytes()).map_err(|rule| invalid("invalid decimal", text, rule))?;
    build(&form).map_err(|rule| invalid("decimal out of range", text, rule))
}

fn form(text: &[u8]) -> std::result::Result<Form<'_>, &'static str> {
    let (negative, unsigned) = sign(text);
    let end = unsigned.iter().position(|c| matches!(c, b'e' | b'E')).unwrap_or(unsigned.len());
    let (mantissa, rest) = unsigned.split_at(end);
    let points = mantissa.iter().filter(|c| **c == b'.').count();
    let digits = mantissa.iter().filter(|c| c.is_ascii_digit()).count();
    if digits + points != mantissa.len() {
        return Err("only digits, one sign, one point and an exponent make a decimal");
    }
    if points > 1 {
        return Err("a decimal has at most one point");
    }
    if digits == 0 {
        return Err("a decimal has at least one digit");
    }
    let exponent = match rest.split_first() {
        None => 0,
        Some((_, digits)) => exponent(digits).ok_or("an exponent is an optional sign and digits")?,
    };
    Ok(Form { negative, mantissa, exponent })
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    }
}

fn exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = sign(text);
    if digits.is_empty() {
        return None;
    }
    let mut value = 0_i64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
    }
    Some(if negative { -value } else { value })
}

fn measure(mantissa: &[u8]) -> Digits {
    let mut digits = Digits { significant: 0, trailing: 0, after_point: 0 };
    let mut seen_point = false;
    for c in mantissa {
        if *c == b'.' {
            seen_point = true;
            continue;
        }
        digits.after_point += i64::from(seen_point);
        if *c != b'0' || digits.significant > 0 {
            digits.significant += 1;
        }
        digits.trailing = if *c == b'0' && digits.significant > 0 { digits.trailing + 1 } else { 0 };
    }
    digits
}

fn build(form: &Form<'_>) -> std::result::Result<Decimal, &'static str> {
    let max = i64::from(MAX_DIGITS);
    let digits = measure(form.mantissa);
    let scale = digits.after_point.saturating_sub(form.exponent);
    if digits.significant == 0 {
        // Zero is zero at any exponent, and has no sign.
        return finish(false, U256::ZERO, scale.clamp(0, max));
    }
    // Zeros after the point that do not fit are dropped, and zeros that a positive exponent stands for
    // are appended: never both.
    let excess = scale.saturating_sub(max).max(digits.significant - max).max(0);
    let dropped = excess.min(digits.trailing).min(scale.max(0));
    let appended = scale.min(0).saturating_neg();
    let scale = scale.max(0) - dropped;
    if scale > max {
        return Err(SCALE_TOO_LARGE);
    }
    let kept = digits.significant - dropped;
    if kept.saturating_add(appended) > max {
        return Err(TOO_MANY_DIGITS);
    }
    let magnitude = accumulate(form.mantissa, kept)
        .and_then(|value| value.mul_pow10(u32::try_from(appended).unwrap_or(u32::MAX)))
        .ok_or(TOO_MANY_DIGITS)?;
    finish(form.negative, magnitude, scale)
}

/// The number that the first `count` significant digits make.
fn accumulate(mantissa: &[u8], count: i64) -> Option<U256> {
    let digits = mantissa.iter().filter(|c| **c != b'.').skip_while(|c| **c == b'0');
    let mut value = U256::ZERO;
    for digit in digits.take(usize::try_from(count).unwrap_or(usize::MAX)) {
        value = value.mul_add(10, u64::from(digit - b'0'))?;
    }
    Some(value)
}

fn finish(negative: bool, magnitude: U256, scale: i64) -> std::result::Result<Decimal, &'static str> {
    let scale = u8::try_from(scale).map_err(|_| SCALE_TOO_LARGE)?;
    Decimal::checked(negative, magnitude, scale, None).map_err(|_| TOO_MANY_DIGITS)
}
