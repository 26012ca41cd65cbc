//! Texts that are times exactly as they are printed, told by their characters: looking at each text of a column is what
//! inference spends its time on.

/// .NET's offsets end here, in minutes.
const MOST_OFFSET: u32 = 14 * 60;
/// The last tick of the year 9999.
const LAST_TICK: i64 = 3_155_378_975_999_999_999;

/// Whether the text is what a [`DateTime`](idv::DateTime) of the years 1 to 9999 prints.
pub(super) fn is_time(text: &str) -> bool {
    rest_of_time(text.as_bytes()) == Some(&[])
}

/// Whether the text is what a [`DateTimeOffset`](idv::DateTimeOffset) of these years prints, also in UTC, with an offset that
/// .NET has.
pub(super) fn is_offset(text: &str) -> bool {
    let Some(&[sign @ (b'+' | b'-'), a, b, b':', c, d]) = rest_of_time(text.as_bytes()) else { return false };
    match (digits(&[a, b]), digits(&[c, d])) {
        (Some(hours), Some(minutes @ 0..60)) => {
            let minutes = hours * 60 + minutes;
            // No offset has a plus.
            minutes <= MOST_OFFSET && (minutes > 0 || sign == b'+') && in_years(text)
        }
        _ => false,
    }
}

/// Whether a time with an offset is one of the years 1 to 9999 in UTC too.
fn in_years(text: &str) -> bool {
    if !text.starts_with("0001-01-01") && !text.starts_with("9999-12-31") {
        return true;
    }
    let utc = text.parse::<idv::DateTimeOffset>().map(|time| time.ticks - i64::from(time.minutes) * 600_000_000);
    utc.is_ok_and(|ticks| (0..=LAST_TICK).contains(&ticks))
}

/// What follows date, time of day and fraction.
fn rest_of_time(text: &[u8]) -> Option<&[u8]> {
    let (head, mut rest) = text.split_at_checked(19)?;
    let &[y1, y2, y3, y4, b'-', o1, o2, b'-', d1, d2, b'T', h1, h2, b':', m1, m2, b':', s1, s2] = head else {
        return None;
    };
    let (year, month, day) = (digits(&[y1, y2, y3, y4])?, digits(&[o1, o2])?, digits(&[d1, d2])?);
    let (hour, minute, second) = (digits(&[h1, h2])?, digits(&[m1, m2])?, digits(&[s1, s2])?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if year == 0 || !(1..=last).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        let len = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (fraction, after) = fraction.split_at_checked(len)?;
        // A tick is the seventh digit, and zeros behind the last other digit are not printed.
        if len > 7 || matches!(fraction.last(), None | Some(b'0')) {
            return None;
        }
        rest = after;
    }
    Some(rest)
}

fn digits(text: &[u8]) -> Option<u32> {
    text.iter().try_fold(0, |number, &byte| byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0')))
}

#[cfg(test)]
mod tests {
    use idv::{DateTime, DateTimeOffset};
    use proptest::prelude::*;

    use super::*;

    const DAY: i64 = 864_000_000_000;

    /// The same by parsing and printing.
    fn prints_so(text: &str) -> (bool, bool) {
        let years = |ticks: i64| (0..=LAST_TICK).contains(&ticks);
        let time = text.parse::<DateTime>().is_ok_and(|time| years(time.0) && time.to_string() == text);
        let offset = text.parse::<DateTimeOffset>();
        let offset = offset.is_ok_and(|time| {
            let utc = time.ticks - i64::from(time.minutes) * 600_000_000;
            years(time.ticks)
                && years(utc)
                && u32::from(time.minutes.unsigned_abs()) <= MOST_OFFSET
                && time.to_string() == text
        });
        (time, offset)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn times_are_what_is_printed(ticks in DAY..=LAST_TICK - DAY, round in 0..8_u32, minutes in -840..=840_i16) {
            let step = 10_i64.pow(round);
            let ticks = ticks / step * step;
            let (time, offset) = (DateTime(ticks).to_string(), DateTimeOffset::new(ticks, minutes).to_string());
            prop_assert!(is_time(&time) && !is_offset(&time), "{}", time);
            prop_assert!(is_offset(&offset) && !is_time(&offset), "{}", offset);
        }

        #[test]
        fn nothing_else_is(
            year in "0000|0001|1900|2000|2023|9999|\\+10000",
            month in "0[0-3]|01|12|1[0-3]",
            day in "00|01|2[89]|3[0-2]|31",
            clock in "[T ](00|23|24|1):(00|59|60):(00|59|60)",
            fraction in "(\\.[05]{0,8})?",
            offset in "([+-](00|13|14|15):(00|01|59|60)|Z)?",
        ) {
            let text = format!("{year}-{month}-{day}{clock}{fraction}{offset}");
            prop_assert_eq!((is_time(&text), is_offset(&text)), prints_so(&text), "{}", text);
        }

        #[test]
        fn one_character_changed(ticks in 0..=LAST_TICK, minutes in -840..=840_i16, at in 0..40_usize, to in "[0-9T:.+Z -]") {
            let mut text = DateTimeOffset::new(ticks, minutes).to_string();
            let at = at.min(text.len() - 1);
            text.replace_range(at..=at, &to);
            prop_assert_eq!((is_time(&text), is_offset(&text)), prints_so(&text), "{}", text);
        }
    }
}
