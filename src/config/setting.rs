//! One key with its value, as the user gave it.

use super::keys::{Key, Kind};
use super::secret::REDACTED;
use super::words::{Compression, ConnectMode, Durability, RejectionPolicy, Target, TlsCa, TlsVerify};
use std::fmt;
use std::time::Duration;

/// A key with its text, not yet looked at.
#[derive(Clone)]
pub(super) struct Setting {
    pub(super) key: Key,
    /// The name or alias by which the user called it.
    pub(super) written: &'static str,
    pub(super) text: String,
}

impl fmt::Debug for Setting {
    /// As in a connect string, without the `;` behind it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.spec().is_secret() {
            return write!(f, "{}={REDACTED}", self.written);
        }
        write!(f, "{}={}", self.written, self.text.replace(';', ";;"))
    }
}

/// The value of a key: text, a number, a `bool`, a `Duration`, or one of the enums of this crate.
///
/// Made by `From`; it may be a secret, so `Debug` does not show it.
#[derive(Clone)]
pub struct ConfigValue {
    text: String,
    is_duration: bool,
}

impl ConfigValue {
    pub(super) fn is_duration(&self) -> bool {
        self.is_duration
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

impl fmt::Debug for ConfigValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConfigValue({REDACTED})")
    }
}

impl From<Duration> for ConfigValue {
    /// Whole milliseconds, rounded up, so that what is not zero does not become it.
    fn from(duration: Duration) -> ConfigValue {
        let millis = duration.as_nanos().div_ceil(1_000_000);
        ConfigValue { text: millis.to_string(), is_duration: true }
    }
}

impl From<bool> for ConfigValue {
    fn from(on: bool) -> ConfigValue {
        ConfigValue::from(if on { "on" } else { "off" })
    }
}

macro_rules! from_text {
    ($($type:ty),*) => {
        $(
            impl From<$type> for ConfigValue {
                fn from(value: $type) -> ConfigValue {
                    ConfigValue { text: value.to_string(), is_duration: false }
                }
            }
        )*
    };
}

from_text!(&str, String, &String, i32, i64, u16, u32, u64, usize);
from_text!(Compression, ConnectMode, Durability, RejectionPolicy, Target, TlsCa, TlsVerify);

impl Kind {
    /// Whether a `Duration` makes sense for it.
    pub(super) fn is_duration(self) -> bool {
        matches!(self, Kind::Millis { .. } | Kind::SignedMillis | Kind::MillisOrOff)
    }
}
