//! Dates, times and durations as ISO 8601 text.

use std::fmt::Write as _;

use arrow_schema::{DataType, TimeUnit};
use container_core::calendar::{civil_from_days, days_from_civil};

/// Days from 1970-01-01 to a day, where there is such a one.
fn day(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(is_leap),
        1..=12 => 31,
        _ => return None,
    };
    (1..=length).contains(&day).then(|| days_from_civil(year, month, day))
}

/// Units in a second.
const fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Digits of a unit behind the second.
const fn digits(unit: TimeUnit) -> usize {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

struct Reader<'t> {
    rest: &'t [u8],
}

impl Reader<'_> {
    fn number(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        digits
            .iter()
            .try_fold(0_i64, |sum, digit| Some(sum * 10 + i64::from(digit.is_ascii_digit().then(|| digit - b'0')?)))
    }

    fn is(&mut self, byte: u8) -> bool {
        let is = self.rest.first() == Some(&byte);
        if is {
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
        is
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.is(byte).then_some(())
    }

    /// `2024-05-01`, with a sign and more digits where the year has them.
    fn date(&mut self) -> Option<i64> {
        if let Some((&[a, b, c, d, b'-', e, f, b'-', g, h], rest)) = self.rest.split_first_chunk()
            && [a, b, c, d, e, f, g, h].iter().all(u8::is_ascii_digit)
        {
            let two = |one: u8, other: u8| i64::from(one - b'0') * 10 + i64::from(other - b'0');
            self.rest = rest;
            return day(two(a, b) * 100 + two(c, d), two(e, f), two(g, h));
        }
        let negative = self.is(b'-');
        let signed = negative || self.is(b'+');
        let width = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(4..=9).contains(&width) || width > 4 && !signed {
            return None;
        }
        let year = self.number(width)?;
        let year = if negative { -year } else { year };
        self.expect(b'-')?;
        let month = self.number(2)?;
        self.expect(b'-')?;
        day(year, month, self.number(2)?)
    }

    /// `12:30`, `12:30:59`, `12:30:59.25` in a unit, exactly.
    fn time(&mut self, unit: TimeUnit) -> Option<i64> {
        let hour = self.number(2).filter(|hour| *hour < 24)?;
        self.expect(b':')?;
        let minute = self.number(2).filter(|minute| *minute < 60)?;
        let minutes = (hour * 60 + minute) * 60 * per_second(unit);
        if !self.is(b':') {
            // A fraction here would be one of minutes: `01:30.5` is a time of 90.5 seconds to those who write it.
            return Some(minutes);
        }
        let second = self.number(2).filter(|second| *second < 60)?;
        Some(minutes + second * per_second(unit) + self.fraction(unit)?)
    }

    /// `.25` of a second in a unit, exactly; nothing is 0.
    fn fraction(&mut self, unit: TimeUnit) -> Option<i64> {
        if !self.is(b'.') {
            return Some(0);
        }
        let count = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let kept = digits(unit);
        let (read, more) = (count.min(kept), count.saturating_sub(kept));
        let fraction = self.number(read)? * 10_i64.pow(u32::try_from(kept - read).ok()?);
        let (zeros, rest) = self.rest.split_at_checked(more)?;
        self.rest = rest;
        (count > 0 && zeros.iter().all(|digit| *digit == b'0')).then_some(fraction)
    }

    /// `-PT12.5S`, `P1DT2H3M4S` in a unit, exactly: no years and months, whose lengths differ.
    fn duration(&mut self, unit: TimeUnit) -> Option<i64> {
        const PARTS: [(u8, i128, bool); 4] =
            [(b'D', 86_400, false), (b'H', 3600, true), (b'M', 60, true), (b'S', 1, true)];
        let negative = self.is(b'-');
        self.expect(b'P')?;
        let (mut sum, mut next, mut timed) = (0_i128, 0, false);
        while next == 0 || !self.rest.is_empty() {
            if !timed && self.is(b'T') {
                timed = true;
            }
            // As many digits fit, and no duration has more.
            let width = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let number = (1..=18).contains(&width).then(|| self.number(width))??;
            let is_fraction = self.rest.first() == Some(&b'.');
            let fraction = i128::from(self.fraction(unit)?);
            let letter = *self.rest.first()?;
            let mut parts = PARTS.iter().enumerate().skip(next);
            let (place, (_, seconds, _)) = parts.find(|(_, part)| part.0 == letter && part.2 == timed)?;
            if is_fraction && *seconds != 1 {
                return None;
            }
            self.expect(letter)?;
            sum += i128::from(number) * seconds * i128::from(per_second(unit)) + fraction;
            next = place + 1;
        }
        i64::try_from(if negative { -sum } else { sum }).ok()
    }

    /// `Z`, `+02:00`, `-0330`, `+02`: seconds that the local time is ahead.
    fn zone(&mut self) -> Option<i64> {
        if self.is(b'Z') || self.is(b'z') {
            return Some(0);
        }
        let negative = self.is(b'-');
        if !negative {
            self.expect(b'+')?;
        }
        let hours = self.number(2).filter(|hours| *hours < 24)?;
        let _ = self.is(b':');
        let minutes = if self.rest.is_empty() { 0 } else { self.number(2).filter(|minutes| *minutes < 60)? };
        let ahead = (hours * 60 + minutes) * 60;
        Some(if negative { -ahead } else { ahead })
    }
}

/// The number that a type of dates, times or durations has for a text, if it holds it exactly. A timestamp with a zone needs a text that says the
/// difference to UTC, one without a zone a text that does not.
#[must_use]
pub fn parse(data_type: &DataType, text: &str) -> Option<i64> {
    let mut text = Reader { rest: text.as_bytes() };
    let found = match data_type {
        DataType::Date32 => text.date()?,
        DataType::Date64 => text.date()?.checked_mul(86_400_000)?,
        DataType::Time32(unit) | DataType::Time64(unit) => text.time(*unit)?,
        DataType::Duration(unit) => text.duration(*unit)?,
        DataType::Timestamp(unit, zone) => {
            let date = text.date()?;
            let time = match text.is(b'T') || text.is(b't') || text.is(b' ') {
                true => text.time(*unit)?,
                false => 0,
            };
            let ahead = if zone.is_some() { text.zone()? } else { 0 };
            let units = per_second(*unit);
            let seconds = date.checked_mul(86_400)?.checked_sub(ahead)?;
            // In 128 bits, as the first second of the range has no whole one in front of it.
            i64::try_from(i128::from(seconds) * i128::from(units) + i128::from(time)).ok()?
        }
        _ => return None,
    };
    text.rest.is_empty().then_some(found)
}

/// Writes a number of a type of dates, times or durations as ISO 8601, without quotes; a fraction with as many digits as it needs, and a duration in
/// seconds, as every other format of this workspace does. False where the type has no such form; there may be text of it then.
pub fn write(data_type: &DataType, value: i64, out: &mut String) -> bool {
    let written = match data_type {
        DataType::Date32 => date(value, out),
        // Milliseconds, of whole days.
        DataType::Date64 if value.rem_euclid(86_400_000) == 0 => date(value.div_euclid(86_400_000), out),
        DataType::Date64 => stamp(TimeUnit::Millisecond, value, out),
        DataType::Time32(unit) | DataType::Time64(unit) if (0..86_400 * per_second(*unit)).contains(&value) => {
            time(*unit, value, out)
        }
        DataType::Duration(unit) => {
            let (size, units) = (value.unsigned_abs(), per_second(*unit).unsigned_abs());
            let sign = if value < 0 { "-" } else { "" };
            let written = write!(out, "{sign}PT{}", size / units).ok();
            written.and_then(|()| fraction(*unit, size % units, out)).map(|()| out.push('S'))
        }
        DataType::Timestamp(unit, None) => stamp(*unit, value, out),
        DataType::Timestamp(unit, Some(zone)) => {
            let ahead = Reader { rest: zone.as_bytes() }.zone().unwrap_or(0);
            match value.checked_add(ahead * per_second(*unit)) {
                Some(local) if ahead != 0 => {
                    let (sign, minutes) = (if ahead < 0 { '-' } else { '+' }, ahead.abs() / 60);
                    stamp(*unit, local, out)
                        .and_then(|()| write!(out, "{sign}{:02}:{:02}", minutes / 60, minutes % 60).ok())
                }
                _ => stamp(*unit, value, out).map(|()| out.push('Z')),
            }
        }
        _ => None,
    };
    written.is_some()
}

fn date(days: i64, out: &mut String) -> Option<()> {
    let (year, month, day) = civil_from_days(days);
    match year {
        0..=9999 => write!(out, "{year:04}-{month:02}-{day:02}").ok(),
        _ => write!(out, "{year:+05}-{month:02}-{day:02}").ok(),
    }
}

fn time(unit: TimeUnit, value: i64, out: &mut String) -> Option<()> {
    let units = per_second(unit);
    let seconds = value / units;
    write!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60).ok()?;
    fraction(unit, (value % units).unsigned_abs(), out)
}

/// A part of a second, without zeros behind.
fn fraction(unit: TimeUnit, mut value: u64, out: &mut String) -> Option<()> {
    let mut width = digits(unit);
    while width > 0 && value.is_multiple_of(10) {
        (value, width) = (value / 10, width - 1);
    }
    if width > 0 { write!(out, ".{value:0width$}").ok() } else { Some(()) }
}

fn stamp(unit: TimeUnit, value: i64, out: &mut String) -> Option<()> {
    let day = 86_400 * per_second(unit);
    date(value.div_euclid(day), out)?;
    out.push('T');
    time(unit, value.rem_euclid(day), out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(data_type: &DataType, text: &str) -> Option<(i64, String)> {
        let value = parse(data_type, text)?;
        let mut out = String::new();
        assert!(write(data_type, value, &mut out));
        Some((value, out))
    }

    #[test]
    fn texts_become_numbers_and_come_back() {
        let stamp = |unit| DataType::Timestamp(unit, None);
        let zoned = |unit, zone: &str| DataType::Timestamp(unit, Some(zone.into()));
        for (data_type, text, value) in [
            (DataType::Date32, "1970-01-01", 0),
            (DataType::Date32, "2000-02-29", 11_016),
            (DataType::Date32, "1969-12-31", -1),
            (DataType::Date32, "0001-01-01", -719_162),
            (DataType::Date32, "-0001-03-01", -719_834),
            (DataType::Date64, "2000-02-29", 951_782_400_000),
            (DataType::Time32(TimeUnit::Second), "23:59:59", 86_399),
            (DataType::Time64(TimeUnit::Nanosecond), "00:00:00.000000001", 1),
            (stamp(TimeUnit::Second), "2024-05-01T12:30:00", 1_714_566_600),
            (stamp(TimeUnit::Millisecond), "1969-12-31T23:59:59.999", -1),
            (stamp(TimeUnit::Microsecond), "2024-05-01T12:30:00.25", 1_714_566_600_250_000),
            (stamp(TimeUnit::Nanosecond), "1677-09-21T00:12:43.145224192", i64::MIN),
            (DataType::Duration(TimeUnit::Second), "PT0S", 0),
            (DataType::Duration(TimeUnit::Millisecond), "-PT0.5S", -500),
            (DataType::Duration(TimeUnit::Microsecond), "PT12.345678S", 12_345_678),
            (DataType::Duration(TimeUnit::Nanosecond), "PT9223372036.854775807S", i64::MAX),
            (DataType::Duration(TimeUnit::Nanosecond), "-PT9223372036.854775808S", i64::MIN),
            (DataType::Duration(TimeUnit::Microsecond), "-PT9223372036854.775808S", i64::MIN),
            (zoned(TimeUnit::Second, "UTC"), "2024-05-01T12:30:00Z", 1_714_566_600),
            (zoned(TimeUnit::Second, "+02:00"), "2024-05-01T14:30:00+02:00", 1_714_566_600),
            (zoned(TimeUnit::Second, "-03:30"), "2024-05-01T09:00:00-03:30", 1_714_566_600),
        ] {
            assert_eq!(round(&data_type, text), Some((value, text.to_owned())), "{data_type}");
        }
        assert_eq!(parse(&zoned(TimeUnit::Second, "UTC"), "2024-05-01 14:30+0200"), Some(1_714_566_600));
        assert_eq!(parse(&DataType::Duration(TimeUnit::Millisecond), "P1DT2H3M4.5S"), Some(93_784_500));
        assert_eq!(parse(&DataType::Duration(TimeUnit::Second), "P2D"), Some(172_800));
        assert_eq!(parse(&stamp(TimeUnit::Second), "2024-05-01"), Some(1_714_521_600));
        assert_eq!(parse(&stamp(TimeUnit::Second), "2024-05-01T12:30:00.000"), Some(1_714_566_600));
    }

    #[test]
    fn what_is_not_exact_or_no_time_is_refused() {
        for (data_type, text) in [
            (DataType::Date32, "2023-02-29"),
            (DataType::Date32, "2023-13-01"),
            (DataType::Date32, "2023-04-31"),
            (DataType::Date32, "2023-4-1"),
            (DataType::Date32, "2023-04-01T00:00:00"),
            (DataType::Date32, "20230401"),
            (DataType::Date32, ""),
            (DataType::Time32(TimeUnit::Second), "24:00:00"),
            (DataType::Time32(TimeUnit::Second), "12:00:00.5"),
            (DataType::Time32(TimeUnit::Second), "12:00:60"),
            (DataType::Time32(TimeUnit::Millisecond), "01:30.5"),
            (DataType::Timestamp(TimeUnit::Millisecond, None), "2024-05-01T12:30.5"),
            (DataType::Timestamp(TimeUnit::Millisecond, None), "2024-05-01T12:30:00.0001"),
            (DataType::Timestamp(TimeUnit::Millisecond, None), "2024-05-01T12:30:00."),
            (DataType::Timestamp(TimeUnit::Millisecond, None), "2024-05-01T12:30:00Z"),
            (DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())), "2024-05-01T12:30:00"),
            (DataType::Timestamp(TimeUnit::Nanosecond, None), "2500-01-01T00:00:00"),
            (DataType::Duration(TimeUnit::Second), ""),
            (DataType::Duration(TimeUnit::Second), "P"),
            (DataType::Duration(TimeUnit::Second), "PT"),
            (DataType::Duration(TimeUnit::Second), "P1DT"),
            (DataType::Duration(TimeUnit::Second), "PT0.5S"),
            (DataType::Duration(TimeUnit::Second), "PT1.0M"),
            (DataType::Duration(TimeUnit::Second), "PT1S1M"),
            (DataType::Duration(TimeUnit::Second), "PT1S1S"),
            (DataType::Duration(TimeUnit::Second), "P1M"),
            (DataType::Duration(TimeUnit::Second), "P1Y"),
            (DataType::Duration(TimeUnit::Second), "--PT1S"),
            (DataType::Duration(TimeUnit::Second), "PT9223372036854775808S"),
            (DataType::Duration(TimeUnit::Nanosecond), "PT9223372036.854775808S"),
            (DataType::Duration(TimeUnit::Second), "PT99999999999999999999999999999999S"),
        ] {
            assert_eq!(parse(&data_type, text), None, "{data_type} {text}");
        }
    }

    #[test]
    fn every_day_of_some_centuries() {
        for day in -1_000_000..1_000_000_i64 {
            let (year, month, day_of_month) = civil_from_days(day);
            assert_eq!(days_from_civil(year, month, day_of_month), day);
            assert_eq!(super::day(year, month, day_of_month), Some(day));
            // Where the next day is none of the month there is none.
            let is_last = civil_from_days(day + 1).2 == 1;
            assert_eq!(super::day(year, month, day_of_month + 1).is_none(), is_last, "{year}-{month}-{day_of_month}");
        }
    }
}
