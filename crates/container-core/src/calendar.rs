//! Day numbers of the proleptic Gregorian calendar.

/// Days in the 400-year cycle of the calendar.
const CYCLE: i64 = 146_097;

/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;

/// Days from 1970-01-01 to a date. Months count from 1, and year 0 precedes year 1.
///
/// ```
/// use container_core::calendar::{civil_from_days, days_from_civil};
///
/// assert_eq!(days_from_civil(2000, 2, 29), 11_016);
/// assert_eq!(civil_from_days(-1), (1969, 12, 31));
/// ```
#[must_use]
pub const fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Counted from March, so that the leap day ends the year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (cycle, year) = (year.div_euclid(400), year.rem_euclid(400));
    cycle * CYCLE + year * 365 + year / 4 - year / 100 + (153 * month + 2) / 5 + day - 1 - EPOCH
}

/// Year, month and day of a day number: the inverse of [`days_from_civil`].
#[must_use]
pub const fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH;
    let (cycle, day) = (days.div_euclid(CYCLE), days.rem_euclid(CYCLE));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = cycle * 400 + year;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_round_trip_and_are_consecutive() {
        let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let (mut year, mut month, mut day) = (-801, 1, 1);
        for days in days_from_civil(year, month, day)..days_from_civil(2802, 1, 1) {
            assert_eq!(civil_from_days(days), (year, month, day), "{days}");
            assert_eq!(days_from_civil(year, month, day), days);
            let length = match month {
                2 => 28 + i64::from(leap(year)),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            (year, month, day) = match (day == length, month) {
                (false, _) => (year, month, day + 1),
                (true, 12) => (year + 1, 1, 1),
                (true, _) => (year, month + 1, 1),
            };
        }
        assert_eq!((days_from_civil(1970, 1, 1), days_from_civil(1, 1, 1)), (0, -719_162));
    }
}
