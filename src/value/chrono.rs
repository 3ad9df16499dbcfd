//! Times of `chrono`, behind the feature of that name.

use super::input::sealed;
use super::{Timestamp, TimestampMicros, TimestampNanos, TimestampValue, invalid};
use crate::error::{Error, Result};
use ::chrono::{DateTime, TimeZone};

impl<Tz: TimeZone> sealed::TimestampValue for DateTime<Tz> {}

impl<Tz: TimeZone> TimestampValue for DateTime<Tz> {
    fn into_timestamp(self) -> Result<Option<Timestamp>> {
        Ok(Some(TimestampMicros::from(self).into()))
    }
}

impl<Tz: TimeZone> From<DateTime<Tz>> for TimestampMicros {
    /// Nanoseconds are cut off towards the past. Every `DateTime` fits.
    fn from(time: DateTime<Tz>) -> TimestampMicros {
        TimestampMicros::new(time.timestamp_micros())
    }
}

impl<Tz: TimeZone> TryFrom<DateTime<Tz>> for TimestampNanos {
    type Error = Error;

    /// Fails with `InvalidValue` outside 1677 to 2262.
    fn try_from(time: DateTime<Tz>) -> Result<TimestampNanos> {
        match time.timestamp_nanos_opt() {
            Some(nanos) => Ok(TimestampNanos::new(nanos)),
            None => {
                let shown = TimestampMicros::from(time);
                Err(invalid("time out of range", shown, "nanoseconds reach from 1677 to 2262"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::chrono::{FixedOffset, Utc};

    #[test]
    fn lim_13_a_date_time_is_its_instant_in_utc() {
        let zone = FixedOffset::east_opt(3_600).unwrap();
        let time = zone.with_ymd_and_hms(2024, 1, 1, 1, 0, 0).unwrap();
        assert_eq!(time.into_timestamp().unwrap(), Some(Timestamp::Micros(1_704_067_200_000_000)));
        assert_eq!(None::<DateTime<Utc>>.into_timestamp().unwrap(), None);
        let early = DateTime::from_timestamp_nanos(-1);
        assert_eq!(TimestampMicros::from(early).as_i64(), -1);
        assert_eq!(TimestampNanos::try_from(early).unwrap().as_i64(), -1);
    }

    #[test]
    fn lim_13_every_date_time_is_microseconds_but_not_nanoseconds() {
        for edge in [DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC] {
            assert_eq!(TimestampMicros::from(edge).as_i64(), edge.timestamp_micros());
            assert!(TimestampNanos::try_from(edge).is_err());
        }
    }
}
