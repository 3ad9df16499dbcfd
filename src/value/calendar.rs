//! The proleptic Gregorian calendar, as far as times are shown and compared.

use std::fmt;

const SECONDS_PER_DAY: i64 = 86_400;

/// Days from 1970-01-01 to a date. Exact for every year that an `i64` of microseconds reaches.
pub(crate) const fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years start in March here, so that the leap day is the last one of its year.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9).rem_euclid(12);
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The date, as year, month and day, that many days after 1970-01-01.
pub(crate) const fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

/// Writes an instant as ISO 8601 in UTC with as many digits of a second as its unit has.
///
/// Years outside 0 to 9999 get a sign, as ISO 8601 wants it of expanded years.
pub(crate) fn write_iso(f: &mut fmt::Formatter<'_>, value: i64, digits: usize) -> fmt::Result {
    let per_second = 10_i64.pow(u32::try_from(digits).unwrap_or(0));
    let (seconds, fraction) = (value.div_euclid(per_second), value.rem_euclid(per_second));
    let (days, of_day) = (seconds.div_euclid(SECONDS_PER_DAY), seconds.rem_euclid(SECONDS_PER_DAY));
    let (year, month, day) = civil_from_days(days);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    match year {
        0..=9999 => write!(f, "{year:04}")?,
        _ => write!(f, "{year:+05}")?,
    }
    write!(f, "-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:0digits$}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_note_are_the_days_that_they_are() {
        for (date, days) in [
            ((1970, 1, 1), 0),
            ((1969, 12, 31), -1),
            ((2000, 2, 29), 11_016),
            ((2000, 3, 1), 11_017),
            ((2024, 1, 1), 19_723),
            ((0, 3, 1), -719_468),
            ((9999, 12, 31), 2_932_896),
        ] {
            assert_eq!(days_from_civil(date.0, date.1, date.2), days, "{date:?}");
            assert_eq!(civil_from_days(days), date);
        }
    }

    #[test]
    fn every_day_of_four_centuries_goes_there_and_back_in_order() {
        let mut before = civil_from_days(-150_001);
        for days in -150_000..150_000 {
            let date = civil_from_days(days);
            assert!(date > before, "{date:?} after {before:?}");
            assert_eq!(days_from_civil(date.0, date.1, date.2), days);
            before = date;
        }
    }
}
