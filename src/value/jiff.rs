//! Times of `jiff`, behind the feature of that name.

use super::input::sealed;
use super::{Timestamp, TimestampMicros, TimestampNanos, TimestampValue, invalid};
use crate::error::{Error, Result};

impl sealed::TimestampValue for ::jiff::Timestamp {}

impl TimestampValue for ::jiff::Timestamp {
    fn into_timestamp(self) -> Result<Option<Timestamp>> {
        Ok(Some(TimestampMicros::from(self).into()))
    }
}

impl From<::jiff::Timestamp> for TimestampMicros {
    /// Nanoseconds are cut off towards the past. Every `jiff::Timestamp` fits.
    fn from(time: ::jiff::Timestamp) -> TimestampMicros {
        // jiff rounds towards zero.
        let below = time.as_nanosecond() % 1_000 < 0;
        TimestampMicros::new(time.as_microsecond() - i64::from(below))
    }
}

impl TryFrom<::jiff::Timestamp> for TimestampNanos {
    type Error = Error;

    /// Fails with `InvalidValue` outside 1677 to 2262.
    fn try_from(time: ::jiff::Timestamp) -> Result<TimestampNanos> {
        match i64::try_from(time.as_nanosecond()) {
            Ok(nanos) => Ok(TimestampNanos::new(nanos)),
            Err(_) => {
                let shown = TimestampMicros::from(time);
                Err(invalid("time out of range", shown, "nanoseconds reach from 1677 to 2262"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lim_13_a_timestamp_is_cut_towards_the_past() {
        for (nanos, micros) in [(0, 0), (1, 0), (1_999, 1), (-1, -1), (-1_000, -1), (-1_001, -2)] {
            let time = ::jiff::Timestamp::from_nanosecond(nanos).unwrap();
            assert_eq!(time.into_timestamp().unwrap(), Some(Timestamp::Micros(micros)), "{nanos}");
            assert_eq!(i128::from(TimestampNanos::try_from(time).unwrap().as_i64()), nanos);
        }
        assert_eq!(None::<::jiff::Timestamp>.into_timestamp().unwrap(), None);
    }

    #[test]
    fn lim_13_every_timestamp_is_microseconds_but_not_nanoseconds() {
        for edge in [::jiff::Timestamp::MIN, ::jiff::Timestamp::MAX] {
            assert!(TimestampMicros::from(edge).as_i64().unsigned_abs() > 1 << 50);
            assert!(TimestampNanos::try_from(edge).is_err());
        }
    }
}
