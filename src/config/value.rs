//! The text of one key, read by the kind that the registry gives it (CONF-07, CONF-14, CONF-16).

use super::keys::{Kind, Spec};
use super::secret::REDACTED;
use crate::error::{Error, ErrorKind, Result, printable};

/// What the text of a key means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// Not given and without a default, or blank where blank means unset.
    Unset,
    Text(String),
    /// One of the words of the key.
    Word(&'static str),
    Flag(bool),
    /// Milliseconds, bytes or a count, within the range of the key.
    Number(i64),
    Off,
}

/// Reads the text of a key. `written` is the name by which the user called it.
pub(super) fn read(spec: &Spec, written: &'static str, text: &str) -> Result<Value> {
    if let Some(position) = control_character(text) {
        return Err(Error::new(ErrorKind::Config, "control character in a value")
            .with("key", written)
            .with("at byte", position));
    }
    if text.is_empty() && spec.kind != Kind::Trimmed {
        let e = Error::new(ErrorKind::Config, "empty value").with("key", written);
        return Err(
            e.because("leave the key out to leave it unset; an unset shell variable is the usual cause")
        );
    }
    meaning(spec.kind, text).map_err(|why| invalid(spec, written, text, why))
}

/// The error of a value that a key does not take; a secret is not shown.
#[cold]
pub(super) fn invalid(spec: &Spec, written: &'static str, text: &str, why: impl Into<String>) -> Error {
    let shown = if spec.is_secret() { REDACTED.to_owned() } else { printable(text) };
    Error::new(ErrorKind::Config, "invalid value")
        .with("key", written)
        .with("value", shown)
        .because(why.into())
}

/// The byte at which the first control character stands (CONF-02).
pub(super) fn control_character(text: &str) -> Option<usize> {
    text.char_indices().find(|(_, c)| c.is_control()).map(|(index, _)| index)
}

fn meaning(kind: Kind, text: &str) -> std::result::Result<Value, String> {
    match kind {
        Kind::Endpoints | Kind::Text | Kind::Secret => Ok(Value::Text(text.to_owned())),
        Kind::Trimmed => Ok(match text.trim() {
            "" => Value::Unset,
            trimmed => Value::Text(trimmed.to_owned()),
        }),
        Kind::Flag => match text {
            "on" | "true" => Ok(Value::Flag(true)),
            "off" | "false" => Ok(Value::Flag(false)),
            _ => Err("wanted on, off, true or false".to_owned()),
        },
        Kind::Word(words) => match words.iter().find(|word| **word == text) {
            Some(word) => Ok(Value::Word(word)),
            None => Err(format!("wanted one of {}", words.join(", "))),
        },
        Kind::Millis { min } => number(text, "milliseconds", min, i64::MAX),
        Kind::SignedMillis => number(text, "milliseconds", i64::MIN, i64::MAX),
        Kind::MillisOrOff => or_off(text, |text| number(text, "milliseconds", 1, i64::MAX)),
        Kind::Count { min, max } => number(text, "a number", min, max),
        Kind::CountOrOff => or_off(text, |text| number(text, "a number", 0, i64::MAX)).map(zero_is_off),
        Kind::Bytes { min, max } => bytes(text, min, max),
        Kind::BytesOrOff => or_off(text, |text| bytes(text, 0, i64::MAX)).map(zero_is_off),
    }
}

fn or_off(
    text: &str,
    read: impl FnOnce(&str) -> std::result::Result<Value, String>,
) -> std::result::Result<Value, String> {
    if text == "off" { Ok(Value::Off) } else { read(text).map_err(|why| format!("{why}, or off")) }
}

fn zero_is_off(value: Value) -> Value {
    if value == Value::Number(0) { Value::Off } else { value }
}

/// A whole number; a sign only if the range goes below zero.
fn number(text: &str, what: &str, min: i64, max: i64) -> std::result::Result<Value, String> {
    let unsigned = text.strip_prefix('-').filter(|_| min < 0).unwrap_or(text);
    if unsigned.is_empty() || !unsigned.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("wanted {what}, in digits only"));
    }
    // Only digits are left, so what fails is too large.
    in_range(text.parse::<i64>().ok(), min, max)
}

/// A number of bytes with an optional suffix, in powers of 1024.
fn bytes(text: &str, min: i64, max: i64) -> std::result::Result<Value, String> {
    let end = text.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let unit = match suffix.to_ascii_lowercase().as_str() {
        "" => Some(1),
        "k" | "kb" => Some(1_i64 << 10),
        "m" | "mb" => Some(1_i64 << 20),
        "g" | "gb" => Some(1_i64 << 30),
        "t" | "tb" => Some(1_i64 << 40),
        _ => None,
    };
    match unit {
        Some(unit) if !digits.is_empty() => {
            in_range(digits.parse::<i64>().ok().and_then(|n| n.checked_mul(unit)), min, max)
        }
        _ => Err("wanted digits with k, kb, m, mb, g, gb, t, tb or nothing behind them".to_owned()),
    }
}

fn in_range(value: Option<i64>, min: i64, max: i64) -> std::result::Result<Value, String> {
    match value {
        Some(value) if value < min => Err(format!("at least {min}")),
        Some(value) if value <= max => Ok(Value::Number(value)),
        _ => Err(format!("at most {max}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(kind: Kind, text: &str) -> std::result::Result<Value, String> {
        meaning(kind, text)
    }

    /// CONF-07, trial C11.
    #[test]
    fn conf_07_sizes_take_suffixes_of_1024() {
        let any = Kind::Bytes { min: 0, max: i64::MAX };
        for (text, bytes) in [
            ("0", 0),
            ("64k", 64 << 10),
            ("64KB", 64 << 10),
            ("4M", 4 << 20),
            ("4mB", 4 << 20),
            ("1gb", 1 << 30),
            ("1G", 1 << 30),
            ("1t", 1 << 40),
            ("1Tb", 1 << 40),
            ("9223372036854775807", i64::MAX),
            ("8388607t", 8_388_607 << 40),
        ] {
            assert_eq!(value(any, text), Ok(Value::Number(bytes)), "{text}");
        }
        for text in [
            "1.5g",
            "-1",
            "+1",
            " 4m",
            "4 m",
            "4m ",
            "4mib",
            "k",
            "4kk",
            "0x4",
            "\u{664}",
            "99999999999t",
            "8388608t",
            "9223372036854775808",
        ] {
            assert!(value(any, text).is_err(), "{text}");
        }
        assert_eq!(value(Kind::Bytes { min: 33, max: 100 }, "0"), Err("at least 33".to_owned()));
        assert_eq!(value(Kind::Bytes { min: 33, max: 100 }, "1k"), Err("at most 100".to_owned()));
        assert_eq!(value(Kind::BytesOrOff, "0k"), Ok(Value::Off));
        assert_eq!(value(Kind::BytesOrOff, "off"), Ok(Value::Off));
        assert!(value(any, "off").is_err());
    }

    /// CONF-07, CONF-16.
    #[test]
    fn conf_16_numbers_go_up_to_i64_and_never_wrap() {
        let most = i64::MAX.to_string();
        for kind in [Kind::Millis { min: 0 }, Kind::SignedMillis, Kind::MillisOrOff, Kind::CountOrOff] {
            assert_eq!(value(kind, &most), Ok(Value::Number(i64::MAX)));
            for text in [
                "9223372036854775808",
                "99999999999999999999",
                "1s",
                "1ms",
                "+1",
                "1.0",
                " 1",
                "1 ",
                "-",
                "1k",
            ] {
                assert!(value(kind, text).is_err(), "{kind:?} {text}");
            }
        }
        assert_eq!(value(Kind::SignedMillis, "-1"), Ok(Value::Number(-1)));
        assert_eq!(value(Kind::SignedMillis, &i64::MIN.to_string()), Ok(Value::Number(i64::MIN)));
        assert!(value(Kind::SignedMillis, "-9223372036854775809").is_err());
        assert!(value(Kind::SignedMillis, "--1").is_err());
        assert!(value(Kind::Millis { min: 0 }, "-1").is_err());
        assert!(value(Kind::Millis { min: 1 }, "0").is_err());
        assert_eq!(value(Kind::CountOrOff, "0"), Ok(Value::Off));
        assert!(value(Kind::MillisOrOff, "0").is_err());
        assert_eq!(value(Kind::MillisOrOff, "off"), Ok(Value::Off));
        assert_eq!(value(Kind::Count { min: 16, max: 127 }, "128"), Err("at most 127".to_owned()));
    }

    #[test]
    fn conf_07_booleans_are_four_words() {
        for (text, flag) in [("on", true), ("true", true), ("off", false), ("false", false)] {
            assert_eq!(value(Kind::Flag, text), Ok(Value::Flag(flag)));
        }
        for text in ["On", "TRUE", "1", "0", "yes", "on ", ""] {
            assert!(value(Kind::Flag, text).is_err(), "{text}");
        }
    }
}
