//! Values that columns hold and that std has no type for, and the traits by which setters take
//! values, optional values and the types of other crates.

mod calendar;
#[cfg(feature = "chrono")]
mod chrono;
mod decimal;
mod geohash;
mod input;
mod int256;
#[cfg(feature = "jiff")]
mod jiff;
mod long256;
mod time;
mod uuid;

pub use decimal::{Decimal, DecimalWidth};
pub use geohash::Geohash;
pub use input::{Bytes, Nullable, Text, TimestampValue};
pub use long256::Long256;
pub use time::{Date, Timestamp, TimestampMicros, TimestampNanos};
pub use uuid::Uuid;

use crate::error::{Error, ErrorKind, printable};
use std::fmt;

/// The error of a value that cannot be taken, with the value and the rule that it breaks.
#[cold]
pub(crate) fn invalid(what: &'static str, value: impl fmt::Display, rule: &'static str) -> Error {
    Error::new(ErrorKind::InvalidValue, what).with("value", printable(&value.to_string())).because(rule)
}
