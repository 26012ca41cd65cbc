//! Times as printed in rows.

/// The date of a number of days since 1970, in the proleptic Gregorian calendar.
pub(crate) fn date(days: i64) -> String {
    // Years start in March, so that the leap day is the last.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = era * 400 + year + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// A fraction of a second without trailing zeros.
fn fraction(micros: i64) -> String {
    if micros == 0 { String::new() } else { format!(".{}", format!("{micros:06}").trim_end_matches('0')) }
}

/// `2020-02-29T12:34:56.7`, of microseconds since 1970.
pub(crate) fn timestamp(micros: i64) -> String {
    let (days, rest) = (micros.div_euclid(86_400_000_000), micros.rem_euclid(86_400_000_000));
    let seconds = rest / 1_000_000;
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{}T{clock}{}", date(days), fraction(rest % 1_000_000))
}

/// `-PT1.5S`, of microseconds.
pub(crate) fn duration(micros: i64) -> String {
    let (sign, size) = if micros < 0 { ("-", -micros) } else { ("", micros) };
    format!("{sign}PT{}{}S", size / 1_000_000, fraction(size % 1_000_000))
}

/// The inverse of [`date`], by binary search.
pub(crate) fn days(text: &str) -> i64 {
    let (mut low, mut high) = (-719_162_i64, 2_932_896);
    while low < high {
        let middle = (low + high).div_euclid(2);
        match date(middle).as_str() < text {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    assert_eq!(date(low), text);
    low
}

/// The microseconds of a [`timestamp`], or of a [`date`].
pub(crate) fn micros(text: &str) -> i64 {
    let Some((day, clock)) = text.split_once('T') else { return days(text) * 86_400_000_000 };
    let (clock, rest) = clock.split_once('.').unwrap_or((clock, ""));
    let seconds = clock.split(':').fold(0, |sum, part| sum * 60 + part.parse::<i64>().unwrap());
    let micros = (days(day) * 86_400 + seconds) * 1_000_000 + format!("{rest:0<6}").parse::<i64>().unwrap();
    assert_eq!(timestamp(micros), text);
    micros
}

#[test]
fn times_at_the_limits() {
    assert_eq!(["0001-01-01", "1970-01-01", "2000-02-29", "9999-12-31"], [-719_162, 0, 11_016, 2_932_896].map(date));
    assert_eq!(timestamp(-1), "1969-12-31T23:59:59.999999");
    assert_eq!(timestamp(1_582_979_696_780_000), "2020-02-29T12:34:56.78");
    assert_eq!(["0001-01-01", "9999-12-31"].map(days), [-719_162, 2_932_896]);
    assert_eq!(["1969-12-31T23:59:59.999999", "2020-02-29T12:34:56.78"].map(micros), [-1, 1_582_979_696_780_000]);
    assert_eq!([duration(0), duration(-500_000)], ["PT0S", "-PT0.5S"]);
}
