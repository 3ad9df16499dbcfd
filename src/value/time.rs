//! Instants in the units of QuestDB's columns.

use super::calendar::{days_from_civil, write_iso};
use super::invalid;
use crate::error::{Error, Result};
use crate::time::wall_now;
use std::fmt;
use std::time::{Duration, SystemTime};

const OUT_OF_RANGE: &str = "the time does not fit into 64 bits of this unit";
const INEXACT: &str = "the time has digits below this unit, and times are never rounded";

/// Microseconds since 1970-01-01T00:00:00Z: a value of a TIMESTAMP column, or a bind of that type.
///
/// Every `i64` is a value, before 1970 too; the smallest one reads back as NULL (LIM-13). What can be
/// the designated timestamp of a row is narrower (LIM-12) and checked where the row is written.
///
/// ```
/// use qwp::TimestampMicros;
///
/// let time = TimestampMicros::from_millis(1_704_067_200_500)?;
/// assert_eq!(time.as_i64(), 1_704_067_200_500_000);
/// assert_eq!(time.to_string(), "2024-01-01T00:00:00.500000Z");
/// # Ok::<(), qwp::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimestampMicros(i64);

/// Nanoseconds since 1970-01-01T00:00:00Z: a value of a TIMESTAMP_NS column, or a bind of that type.
///
/// Reaches from 1677 to 2262. The smallest value reads back as NULL (LIM-13).
///
/// ```
/// use qwp::{TimestampMicros, TimestampNanos};
///
/// let time = TimestampNanos::new(1_704_067_200_000_000_001);
/// assert_eq!(time.to_string(), "2024-01-01T00:00:00.000000001Z");
/// // Never rounded: one nanosecond is no whole microsecond.
/// assert!(TimestampMicros::try_from(time).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimestampNanos(i64);

/// Milliseconds since 1970-01-01T00:00:00Z: a value of a DATE column.
///
/// ```
/// use qwp::Date;
///
/// assert_eq!(Date::from_secs(-1)?.to_string(), "1969-12-31T23:59:59.000Z");
/// # Ok::<(), qwp::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(i64);

/// A time in one of the two resolutions of QuestDB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Timestamp {
    /// Microseconds since 1970.
    Micros(i64),
    /// Nanoseconds since 1970.
    Nanos(i64),
}

/// What the three types have in common: a number of a unit that has `$digits` digits of a second.
macro_rules! instant {
    ($name:ident, $unit:literal, $digits:literal, [$($from:ident $from_unit:literal $factor:literal),*]) => {
        impl $name {
            #[doc = concat!("That many ", $unit, " since 1970.")]
            pub const fn new(value: i64) -> $name {
                $name(value)
            }

            #[doc = concat!("The number of ", $unit, " since 1970.")]
            pub const fn as_i64(self) -> i64 {
                self.0
            }

            /// The time of the machine's clock, with what lies below the unit cut off. A clock that
            /// shows a time outside the type's range gives the end of the range.
            pub fn now() -> $name {
                let now = wall_now();
                let end = if now < SystemTime::UNIX_EPOCH { i64::MIN } else { i64::MAX };
                $name(since_epoch(now, $digits).unwrap_or(end))
            }

            $(
                #[doc = concat!("That many ", $from_unit, " since 1970, exactly.")]
                ///
                /// # Errors
                ///
                /// `InvalidValue` if the result does not fit into 64 bits.
                pub fn $from(value: i64) -> Result<$name> {
                    raised(value, $factor).map($name)
                }
            )*
        }

        impl TryFrom<SystemTime> for $name {
            type Error = Error;

            /// The instant, with what lies below the unit cut off towards the past.
            ///
            /// Fails with `InvalidValue` outside the type's range.
            fn try_from(time: SystemTime) -> Result<$name> {
                match since_epoch(time, $digits) {
                    Some(value) => Ok($name(value)),
                    None => Err(invalid("time out of range", format_args!("{time:?}"), OUT_OF_RANGE)),
                }
            }
        }

        impl TryFrom<$name> for SystemTime {
            type Error = Error;

            /// Fails with `InvalidValue` if the platform's `SystemTime` cannot hold the instant.
            fn try_from(time: $name) -> Result<SystemTime> {
                let per_second = 10_u64.pow($digits);
                let away = time.0.unsigned_abs();
                let nanos = away % per_second * (1_000_000_000 / per_second);
                let away = Duration::from_secs(away / per_second) + Duration::from_nanos(nanos);
                let found = if time.0 < 0 {
                    SystemTime::UNIX_EPOCH.checked_sub(away)
                } else {
                    SystemTime::UNIX_EPOCH.checked_add(away)
                };
                found.ok_or_else(|| invalid("time out of range", time, "`SystemTime` cannot hold it here"))
            }
        }

        impl fmt::Display for $name {
            #[doc = concat!("ISO 8601 in UTC with ", $digits, " digits of a second, as the web console shows it.")]
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_iso(f, self.0, $digits)
            }
        }
    };
}

instant!(TimestampMicros, "microseconds", 6, [from_secs "seconds" 1_000_000, from_millis "milliseconds" 1_000]);
instant!(TimestampNanos, "nanoseconds", 9, [
    from_secs "seconds" 1_000_000_000,
    from_millis "milliseconds" 1_000_000,
    from_micros "microseconds" 1_000
]);
instant!(Date, "milliseconds", 3, [from_secs "seconds" 1_000]);

/// Exact conversions to a finer and to a coarser unit.
macro_rules! convert {
    ($coarse:ident, $fine:ident, $factor:literal) => {
        impl TryFrom<$coarse> for $fine {
            type Error = Error;

            /// Exact; fails with `InvalidValue` if the result does not fit into 64 bits.
            fn try_from(time: $coarse) -> Result<$fine> {
                raised(time.0, $factor).map($fine)
            }
        }

        impl TryFrom<$fine> for $coarse {
            type Error = Error;

            /// Exact; fails with `InvalidValue` if digits would be lost.
            fn try_from(time: $fine) -> Result<$coarse> {
                match time.0 % $factor {
                    0 => Ok($coarse(time.0 / $factor)),
                    _ => Err(invalid("time does not convert", time, INEXACT)),
                }
            }
        }
    };
}

convert!(TimestampMicros, TimestampNanos, 1_000);
convert!(Date, TimestampMicros, 1_000);
convert!(Date, TimestampNanos, 1_000_000);

const MICROS_PER_DAY: i64 = 86_400_000_000;
const NANOS_PER_DAY: i64 = 86_400_000_000_000;
/// The first value that cannot be a designated timestamp: 10000-01-01 and 2262-01-01.
const DESIGNATED_MICROS_END: i64 = days_from_civil(10_000, 1, 1) * MICROS_PER_DAY;
const DESIGNATED_NANOS_END: i64 = days_from_civil(2262, 1, 1) * NANOS_PER_DAY;
/// The last day that nanoseconds reach: a server dies of it, and again at every restart (wire.md 4.5).
const DEADLY_DAY_MICROS: i64 = days_from_civil(2262, 4, 11) * MICROS_PER_DAY;

impl Timestamp {
    /// Whether a row may carry this as its designated timestamp (LIM-12, FLUSH-21).
    #[inline]
    pub(crate) fn check_designated(self) -> Result<()> {
        let (value, end) = match self {
            Timestamp::Micros(value) => (value, DESIGNATED_MICROS_END),
            Timestamp::Nanos(value) => (value, DESIGNATED_NANOS_END),
        };
        let in_range = (0..end).contains(&value);
        let deadly = DEADLY_DAY_MICROS..DEADLY_DAY_MICROS + MICROS_PER_DAY;
        if in_range && !matches!(self, Timestamp::Micros(_) if deadly.contains(&value)) {
            return Ok(());
        }
        Err(self.refused())
    }

    /// Whether all of the values, of one resolution, can be designated timestamps: a quick look that
    /// may say no of values of which each passes [`Timestamp::check_designated`].
    pub(crate) fn are_surely_designated(values: &[i64], nanos: bool) -> bool {
        let last = if nanos { DESIGNATED_NANOS_END } else { DEADLY_DAY_MICROS } - 1;
        // The sign of what is below 0 and of what is above the last; without branches, for vectors.
        values.iter().fold(0, |signs, value| signs | value | last.wrapping_sub(*value)) >= 0
    }

    #[cold]
    fn refused(self) -> Error {
        let rule = match self {
            Timestamp::Micros(value) if (0..DESIGNATED_MICROS_END).contains(&value) => {
                "servers crash on 2262-04-11, the last day of the nanosecond range"
            }
            Timestamp::Micros(_) => "a designated timestamp in microseconds lies from 1970 to 9999",
            Timestamp::Nanos(_) => "a designated timestamp in nanoseconds lies from 1970 to 2261",
        };
        invalid("invalid designated timestamp", self, rule)
    }
}

impl fmt::Display for Timestamp {
    /// As [`TimestampMicros`] and [`TimestampNanos`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Timestamp::Micros(value) => TimestampMicros(value).fmt(f),
            Timestamp::Nanos(value) => TimestampNanos(value).fmt(f),
        }
    }
}

impl From<TimestampMicros> for Timestamp {
    fn from(time: TimestampMicros) -> Timestamp {
        Timestamp::Micros(time.0)
    }
}

impl From<TimestampNanos> for Timestamp {
    fn from(time: TimestampNanos) -> Timestamp {
        Timestamp::Nanos(time.0)
    }
}

fn raised(value: i64, factor: i64) -> Result<i64> {
    value.checked_mul(factor).ok_or_else(|| invalid("time out of range", value, OUT_OF_RANGE))
}

/// Units of `10^-digits` seconds since 1970, rounded towards the past.
fn since_epoch(time: SystemTime, digits: u32) -> Option<i64> {
    let per_second = 10_i128.pow(digits);
    let nanos_per_unit = 1_000_000_000 / per_second;
    let nanos = |d: Duration| i128::from(d.as_secs()) * 1_000_000_000 + i128::from(d.subsec_nanos());
    let nanos = match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => nanos(after),
        Err(before) => -nanos(before.duration()),
    };
    i64::try_from(nanos.div_euclid(nanos_per_unit)).ok()
}

#[cfg(test)]
mod tests;
