use super::*;
use crate::error::ErrorKind;
use proptest::prelude::*;

const DAY: i64 = MICROS_PER_DAY;

#[test]
fn times_are_shown_as_the_console_shows_them() {
    for (micros, text) in [
        (0, "1970-01-01T00:00:00.000000Z"),
        (1_704_067_200_000_000, "2024-01-01T00:00:00.000000Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (951_825_599_000_001, "2000-02-29T11:59:59.000001Z"),
        (253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
        (253_402_300_800_000_000, "+10000-01-01T00:00:00.000000Z"),
        (-62_167_219_200_000_001, "-0001-12-31T23:59:59.999999Z"),
        (i64::MAX, "+294247-01-10T04:00:54.775807Z"),
        (i64::MIN, "-290308-12-21T19:59:05.224192Z"),
    ] {
        assert_eq!(TimestampMicros(micros).to_string(), text);
        assert_eq!(Timestamp::Micros(micros).to_string(), text);
    }
    assert_eq!(TimestampNanos(1).to_string(), "1970-01-01T00:00:00.000000001Z");
    assert_eq!(TimestampNanos(i64::MAX).to_string(), "2262-04-11T23:47:16.854775807Z");
    assert_eq!(Timestamp::Nanos(i64::MIN).to_string(), "1677-09-21T00:12:43.145224192Z");
    assert_eq!(Date(1_704_067_200_123).to_string(), "2024-01-01T00:00:00.123Z");
    assert_eq!(Date(i64::MAX).to_string(), "+292278994-08-17T07:12:55.807Z");
    assert_eq!(Date(i64::MIN).to_string(), "-292275055-05-16T16:47:04.192Z");
}

/// LIM-12, trial E32: the last good value and one beyond, at every edge.
#[test]
fn lim_12_designated_timestamps_keep_to_what_servers_survive() {
    let day = days_from_civil(2262, 4, 11);
    let end_of_nanos = days_from_civil(2262, 1, 1) * NANOS_PER_DAY;
    for good in [
        Timestamp::Micros(0),
        Timestamp::Micros(253_402_300_799_999_999),
        Timestamp::Micros(day * DAY - 1),
        Timestamp::Micros((day + 1) * DAY),
        Timestamp::Nanos(0),
        Timestamp::Nanos(end_of_nanos - 1),
    ] {
        good.check_designated().unwrap();
    }
    for (bad, reason) in [
        (Timestamp::Micros(-1), "1970 to 9999"),
        (Timestamp::Micros(i64::MIN), "1970 to 9999"),
        (Timestamp::Micros(253_402_300_800_000_000), "1970 to 9999"),
        (Timestamp::Micros(i64::MAX), "1970 to 9999"),
        (Timestamp::Micros(day * DAY), "2262-04-11"),
        (Timestamp::Micros(day * DAY + DAY - 1), "2262-04-11"),
        (Timestamp::Nanos(-1), "1970 to 2261"),
        (Timestamp::Nanos(i64::MIN), "1970 to 2261"),
        (Timestamp::Nanos(end_of_nanos), "1970 to 2261"),
        (Timestamp::Nanos(day * NANOS_PER_DAY), "1970 to 2261"),
        (Timestamp::Nanos(i64::MAX), "1970 to 2261"),
    ] {
        let e = bad.check_designated().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidValue);
        assert!(e.to_string().contains(reason), "{bad:?}: {e}");
    }
    assert_eq!(Timestamp::Nanos(end_of_nanos - 1).to_string(), "2261-12-31T23:59:59.999999999Z");
}

/// LIM-13: conversions are exact or fail.
#[test]
fn lim_13_conversions_that_overflow_or_lose_digits_fail() {
    let edge = i64::MAX / 1_000;
    assert_eq!(TimestampNanos::from_micros(edge).unwrap().as_i64(), edge * 1_000);
    assert!(TimestampNanos::from_micros(edge + 1).is_err());
    assert!(TimestampNanos::from_micros(i64::MIN / 1_000 - 1).is_err());
    assert!(TimestampNanos::from_millis(i64::MAX).is_err());
    assert!(TimestampNanos::from_secs(9_223_372_037).is_err());
    assert!(TimestampMicros::from_secs(i64::MIN).is_err());
    assert!(TimestampMicros::from_millis(edge + 1).is_err());
    assert!(Date::from_secs(edge + 1).is_err());
    assert!(TimestampNanos::try_from(TimestampMicros(edge + 1)).is_err());
    assert!(TimestampMicros::try_from(Date(i64::MIN)).is_err());
    assert!(TimestampMicros::try_from(TimestampNanos(-1)).is_err());
    assert!(Date::try_from(TimestampNanos(999_999)).is_err());
    assert_eq!(Date::try_from(TimestampNanos(-1_000_000)).unwrap(), Date(-1));
    let e = TimestampMicros::try_from(TimestampNanos(1)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidValue);
    assert!(e.to_string().contains("1970-01-01T00:00:00.000000001Z"), "{e}");
}

/// LIM-13: plain columns take times before 1970, designated ones do not.
#[test]
fn lim_13_a_clock_before_1970_is_a_value_but_no_designated_timestamp() {
    let early = SystemTime::UNIX_EPOCH - Duration::from_nanos(1);
    assert_eq!(TimestampNanos::try_from(early).unwrap(), TimestampNanos(-1));
    let micros = TimestampMicros::try_from(early).unwrap();
    assert_eq!(micros, TimestampMicros(-1));
    assert_eq!(Date::try_from(early).unwrap(), Date(-1));
    assert!(Timestamp::from(micros).check_designated().is_err());
    let late = SystemTime::UNIX_EPOCH + Duration::from_secs(10_000_000_000);
    assert!(TimestampNanos::try_from(late).is_err());
    assert_eq!(TimestampMicros::try_from(late).unwrap(), TimestampMicros(10_000_000_000_000_000));
}

#[test]
fn now_is_after_this_was_written() {
    let written = TimestampMicros::from_secs(1_700_000_000).unwrap();
    assert!(TimestampMicros::now() > written);
    assert!(TimestampNanos::now() > TimestampNanos::try_from(written).unwrap());
    assert!(Date::now() > Date::try_from(written).unwrap());
}

proptest! {
    #[test]
    fn lim_13_times_survive_system_time_and_finer_units(value: i64) {
        let back = |t: SystemTime| TimestampMicros::try_from(t).unwrap();
        if let Ok(time) = SystemTime::try_from(TimestampMicros(value)) {
            prop_assert_eq!(back(time), TimestampMicros(value));
        }
        let time = SystemTime::try_from(TimestampNanos(value)).unwrap();
        prop_assert_eq!(TimestampNanos::try_from(time).unwrap(), TimestampNanos(value));
        match TimestampNanos::try_from(TimestampMicros(value)) {
            Ok(fine) => prop_assert_eq!(TimestampMicros::try_from(fine).unwrap(), TimestampMicros(value)),
            Err(_) => prop_assert!(value.checked_mul(1_000).is_none()),
        }
    }

    #[test]
    fn any_time_can_be_shown(value: i64) {
        prop_assert!(TimestampMicros(value).to_string().ends_with('Z'));
        prop_assert!(TimestampNanos(value).to_string().ends_with('Z'));
        prop_assert!(Date(value).to_string().ends_with('Z'));
    }
}
