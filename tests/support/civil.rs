//! Instants as text, and back: `2023-11-14T22:13:20.000001Z`.

use super::value::Value;

const DAY_SECONDS: i64 = 86_400;

/// `units` since 1970, of which `places` decimal places make a second.
pub fn format(units: i64, places: u32) -> String {
    let per_second = 10i64.pow(places);
    let (seconds, part) = (units.div_euclid(per_second), units.rem_euclid(per_second));
    let (day, second) = (seconds.div_euclid(DAY_SECONDS), seconds.rem_euclid(DAY_SECONDS));
    let (year, month, day) = from_days(day);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let width = usize::try_from(places).expect("at most nine");
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{part:0width$}Z")
}

/// The text of a temporal value; `None` for any other.
pub fn text(value: &Value) -> Option<String> {
    match value {
        Value::Timestamp(n) => Some(format(*n, 6)),
        Value::TimestampNanos(n) => Some(format(*n, 9)),
        Value::Date(n) => Some(format(*n, 3)),
        _ => None,
    }
}

/// Reads `YYYY-MM-DD[THH:MM:SS[.fraction]][Z]` into units of `places` decimal places of a second.
pub fn parse(text: &str, places: u32) -> Option<i64> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00:00"));
    let mut date = date.splitn(3, '-').map(|p| p.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut clock = clock.splitn(3, ':').map(|p| p.parse::<i64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next().unwrap_or(Some(0))?);
    let width = usize::try_from(places).ok()?;
    let mut digits: String = fraction.chars().take(width).collect();
    while digits.len() < width {
        digits.push('0');
    }
    let part: i64 = if width == 0 { 0 } else { digits.parse().ok()? };
    let seconds = to_days(year, month, day) * DAY_SECONDS + hour * 3600 + minute * 60 + second;
    seconds.checked_mul(10i64.pow(places))?.checked_add(part)
}

/// Year, month and day of a day counted from 1970-01-01, in the proleptic Gregorian calendar.
fn from_days(day: i64) -> (i64, i64, i64) {
    // Years are counted from 1 March, so that the leap day is the last of a year.
    let shifted = day + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

fn to_days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month_index = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * month_index + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}
