//! Reads and writes dates, times and durations as ISO 8601 text.

use std::fmt::Write as _;

use arrow_schema::{DataType, TimeUnit};
use container_core::calendar::{civil_from_days, days_from_civil};

/// Days from 1970-01-01 to a date, or `None` for an invalid date.
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

/// Units per second.
const fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Fractional digits of a second in a unit.
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

    /// Reads `2024-05-01`. Years with more than four digits need a sign.
    fn date(&mut self) -> Option<i64> {
        if let Some((&[a, b, c, d, b'-', e, f, b'-', g, h], rest)) = self.rest.split_first_chunk()
            && [a, b, c, d, e, f, g, h].iter().all(u8::is_ascii_digit)
        {
            let two = |tens: u8, ones: u8| i64::from(tens - b'0') * 10 + i64::from(ones - b'0');
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

    /// Reads `12:30`, `12:30:59` or `12:30:59.25`, which must be exact in the unit.
    fn time(&mut self, unit: TimeUnit) -> Option<i64> {
        let hour = self.number(2).filter(|hour| *hour < 24)?;
        self.expect(b':')?;
        let minute = self.number(2).filter(|minute| *minute < 60)?;
        let minutes = (hour * 60 + minute) * 60 * per_second(unit);
        if !self.is(b':') {
            // No fraction of minutes: the author of `01:30.5` probably means 90.5 seconds.
            return Some(minutes);
        }
        let second = self.number(2).filter(|second| *second < 60)?;
        Some(minutes + second * per_second(unit) + self.fraction(unit)?)
    }

    /// Reads an optional fraction of a second, which must be exact in the unit.
    fn fraction(&mut self, unit: TimeUnit) -> Option<i64> {
        if !self.is(b'.') {
            return Some(0);
        }
        let count = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let precision = digits(unit);
        let (read, excess) = (count.min(precision), count.saturating_sub(precision));
        let fraction = self.number(read)? * 10_i64.pow(u32::try_from(precision - read).ok()?);
        let (zeros, rest) = self.rest.split_at_checked(excess)?;
        self.rest = rest;
        (count > 0 && zeros.iter().all(|digit| *digit == b'0')).then_some(fraction)
    }

    /// Reads `-PT12.5S` or `P1DT2H3M4S`, which must be exact in the unit. Years and months have no fixed length and are rejected.
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
            // 18 digits never overflow.
            let width = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let number = (1..=18).contains(&width).then(|| self.number(width))??;
            let is_fraction = self.rest.first() == Some(&b'.');
            let fraction = i128::from(self.fraction(unit)?);
            let letter = *self.rest.first()?;
            let mut parts = PARTS.iter().enumerate().skip(next);
            let (index, (_, seconds, _)) = parts.find(|(_, part)| part.0 == letter && part.2 == timed)?;
            if is_fraction && *seconds != 1 {
                return None;
            }
            self.expect(letter)?;
            sum += i128::from(number) * seconds * i128::from(per_second(unit)) + fraction;
            next = index + 1;
        }
        i64::try_from(if negative { -sum } else { sum }).ok()
    }

    /// Reads `Z`, `+02:00`, `-0330` or `+02`. Returns the UTC offset in seconds.
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
        let offset = (hours * 60 + minutes) * 60;
        Some(if negative { -offset } else { offset })
    }
}

/// Parses ISO 8601 text as a value of a date, time, timestamp or duration type. Returns `None` for invalid text, another type, and values the type
/// cannot represent exactly. Text must have a UTC offset if the type has a time zone, and none otherwise.
#[must_use]
pub fn parse(data_type: &DataType, text: &str) -> Option<i64> {
    let mut text = Reader { rest: text.as_bytes() };
    let value = match data_type {
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
            let offset = if zone.is_some() { text.zone()? } else { 0 };
            let units = per_second(*unit);
            let seconds = date.checked_mul(86_400)?.checked_sub(offset)?;
            // In 128 bits, since the whole seconds of the earliest values are out of range.
            i64::try_from(i128::from(seconds) * i128::from(units) + i128::from(time)).ok()?
        }
        _ => return None,
    };
    text.rest.is_empty().then_some(value)
}

/// Appends a value of a date, time, timestamp or duration type as ISO 8601, without quotes. Fractions have no trailing zeros; durations are in seconds.
///
/// Returns false, possibly after appending some text, if the value has no such form.
pub fn write(data_type: &DataType, value: i64, out: &mut String) -> bool {
    let written = match data_type {
        DataType::Date32 => date(value, out),
        // Milliseconds; whole days are dates.
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
            let offset = Reader { rest: zone.as_bytes() }.zone().unwrap_or(0);
            match value.checked_add(offset * per_second(*unit)) {
                Some(local) if offset != 0 => {
                    let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.abs() / 60);
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

/// Appends a fraction of a second without trailing zeros.
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

    fn round_trip(data_type: &DataType, text: &str) -> Option<(i64, String)> {
        let value = parse(data_type, text)?;
        let mut out = String::new();
        assert!(write(data_type, value, &mut out));
        Some((value, out))
    }

    #[test]
    fn round_trips_iso_8601() {
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
            assert_eq!(round_trip(&data_type, text), Some((value, text.to_owned())), "{data_type}");
        }
        assert_eq!(parse(&zoned(TimeUnit::Second, "UTC"), "2024-05-01 14:30+0200"), Some(1_714_566_600));
        assert_eq!(parse(&DataType::Duration(TimeUnit::Millisecond), "P1DT2H3M4.5S"), Some(93_784_500));
        assert_eq!(parse(&DataType::Duration(TimeUnit::Second), "P2D"), Some(172_800));
        assert_eq!(parse(&stamp(TimeUnit::Second), "2024-05-01"), Some(1_714_521_600));
        assert_eq!(parse(&stamp(TimeUnit::Second), "2024-05-01T12:30:00.000"), Some(1_714_566_600));
    }

    #[test]
    fn rejects_invalid_or_inexact_text() {
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
    fn day_accepts_exactly_the_valid_dates() {
        for day in -1_000_000..1_000_000_i64 {
            let (year, month, day_of_month) = civil_from_days(day);
            assert_eq!(days_from_civil(year, month, day_of_month), day);
            assert_eq!(super::day(year, month, day_of_month), Some(day));
            // The day after the last one of a month is invalid.
            let is_last = civil_from_days(day + 1).2 == 1;
            assert_eq!(super::day(year, month, day_of_month + 1).is_none(), is_last, "{year}-{month}-{day_of_month}");
        }
    }
}
