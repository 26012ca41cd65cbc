//! Parses ISO 8601 dates.

use container_core::{Error, Result};

use super::calendar::Calendar;
use super::date::{DAY, Date, Fields};

impl Date {
    /// Parses ISO 8601, such as `2000-01-31T12:00:00.5Z`: a space may replace the T, trailing parts may be omitted, and the zone is `Z`, `UTC`,
    /// `GMT` or an offset such as `+01:30`. Without a zone the time is UTC.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for malformed text, and for a date that the calendar does not have.
    pub fn from_iso(text: &str, calendar: Calendar) -> Result<Self> {
        date(text.trim(), calendar).map(|(date, _)| date)
    }

    /// The start of the year, month, day, hour, minute or second that ISO 8601 names, and of the next one; with a fraction of a second it is an
    /// instant, which has no next.
    ///
    /// # Errors
    /// As [`from_iso`](Self::from_iso).
    pub(crate) fn period_of_iso(text: &str, calendar: Calendar) -> Result<(Self, Option<Self>)> {
        date(text.trim(), calendar)
    }
}

/// The finest part of a date that is given.
#[derive(Clone, Copy)]
enum Precision {
    Year,
    Month,
    Micros(i64),
    Instant,
}

/// Parses a date that extends to the end of `text`. Also returns when the period that it names ends; `None` for an instant.
fn date(text: &str, calendar: Calendar) -> Result<(Date, Option<Date>)> {
    let mut cursor = Cursor { whole: text, text };
    let negative = cursor.eat('-');
    let _ = !negative && cursor.eat('+');
    let digits = cursor.digits();
    let year: i64 = match digits.len() {
        1..=6 => digits.parse().unwrap_or(0), // only digits
        0 => return Err(cursor.invalid("a year")),
        _ => return Err(cursor.invalid("a year of up to 6 digits and a hyphen")),
    };
    let mut fields = Fields { year: if negative { -year } else { year }, month: 1, day: 1, ..MIDNIGHT };
    let mut precision = Precision::Year;
    if cursor.eat('-') {
        fields.month = cursor.number("a month")?;
        precision = Precision::Month;
        if cursor.eat('-') {
            fields.day = cursor.number("a day")?;
            precision = Precision::Micros(DAY);
        }
    }
    let space = cursor.skip_whitespace();
    let marker = cursor.eat('T') || cursor.eat('t');
    if (space || marker) && cursor.text.starts_with(|first: char| first.is_ascii_digit()) {
        precision = time(&mut cursor, &mut fields)?;
    } else if marker {
        return Err(cursor.invalid("a time"));
    }
    cursor.skip_whitespace();
    let offset = zone(&mut cursor)?;
    cursor.skip_whitespace();
    if !cursor.text.is_empty() {
        return Err(cursor.invalid("the end"));
    }
    let utc = |date: Date| Date::from_micros(date.total() - i128::from(offset) * 60_000_000, calendar);
    let date = Date::new(calendar, fields)?;
    let next = next(date, fields, precision).and_then(utc);
    Ok((utc(date).ok_or_else(|| cursor.invalid("a year in range"))?, next))
}

/// When the period ends that begins with `date` and is as long as its precision; `None` for an instant.
fn next(date: Date, fields: Fields, precision: Precision) -> Option<Date> {
    let calendar = date.calendar();
    let first = |year, month| Date::new(calendar, Fields { year, month, day: 1, ..MIDNIGHT }).ok();
    match precision {
        Precision::Instant => None,
        Precision::Micros(micros) => Date::from_micros(date.total() + i128::from(micros), calendar),
        Precision::Month if fields.month < 12 => first(fields.year, fields.month + 1),
        // A calendar may have no year 0.
        Precision::Month | Precision::Year => first(fields.year + 1, 1).or_else(|| first(fields.year + 2, 1)),
    }
}

const MIDNIGHT: Fields = Fields { year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0, microsecond: 0 };

/// `12`, `12:30`, `12:30:15.25`, `1230`, `123015`.
fn time(cursor: &mut Cursor<'_>, fields: &mut Fields) -> Result<Precision> {
    const MINUTE: i64 = 60_000_000;
    let run = cursor.text.bytes().take_while(u8::is_ascii_digit).count();
    if run == 4 || run == 6 {
        fields.hour = cursor.two_digits("an hour")?;
        fields.minute = cursor.two_digits("a minute")?;
        if run == 4 {
            return Ok(Precision::Micros(MINUTE));
        }
        fields.second = cursor.two_digits("a second")?;
    } else {
        fields.hour = cursor.number("an hour")?;
        if !cursor.eat(':') {
            return Ok(Precision::Micros(60 * MINUTE));
        }
        fields.minute = cursor.number("a minute")?;
        if !cursor.eat(':') {
            return Ok(Precision::Micros(MINUTE));
        }
        fields.second = cursor.number("a second")?;
    }
    if cursor.eat('.') {
        // Further digits are below a microsecond.
        let digits: String = cursor.digits().chars().chain("000000".chars()).take(6).collect();
        fields.microsecond = digits.parse().unwrap_or(0); // six digits
        return Ok(Precision::Instant);
    }
    Ok(Precision::Micros(1_000_000))
}

/// Parses a time zone: minutes ahead of UTC.
fn zone(cursor: &mut Cursor<'_>) -> Result<i64> {
    for name in ["UTC", "GMT", "Z"] {
        let matches = cursor.text.get(..name.len()).is_some_and(|text| text.eq_ignore_ascii_case(name));
        if matches {
            cursor.text = cursor.text.get(name.len()..).unwrap_or_default();
            return Ok(0);
        }
    }
    let negative = cursor.eat('-');
    if !negative && !cursor.eat('+') {
        return match cursor.text.chars().next() {
            Some(first) if first.is_alphabetic() => Err(cursor.invalid("Z, UTC, GMT or an offset such as +01:00")),
            _ => Ok(0),
        };
    }
    let run = cursor.text.bytes().take_while(u8::is_ascii_digit).count();
    let hours = if run > 2 { cursor.two_digits("an offset")? } else { cursor.number("an offset")? };
    let colon = cursor.eat(':');
    let minutes = if colon || run > 2 { cursor.two_digits("an offset's minutes")? } else { 0 };
    if hours > 24 || minutes > 59 {
        return Err(cursor.invalid("an offset of up to 24 hours"));
    }
    let offset = i64::from(hours) * 60 + i64::from(minutes);
    Ok(if negative { -offset } else { offset })
}

/// The unread part of a date.
struct Cursor<'t> {
    whole: &'t str,
    text: &'t str,
}

impl<'t> Cursor<'t> {
    fn eat(&mut self, expected: char) -> bool {
        match self.text.strip_prefix(expected) {
            Some(rest) => {
                self.text = rest;
                true
            }
            None => false,
        }
    }

    fn skip_whitespace(&mut self) -> bool {
        let before = self.text.len();
        self.text = self.text.trim_start();
        self.text.len() < before
    }

    fn digits(&mut self) -> &'t str {
        let end = self.text.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.text.split_at_checked(end).unwrap_or_default();
        self.text = rest;
        digits
    }

    /// One or two digits.
    fn number(&mut self, what: &str) -> Result<u8> {
        let before = self.text;
        match self.digits() {
            digits if (1..=2).contains(&digits.len()) => Ok(digits.parse().unwrap_or(0)), // two digits
            _ => {
                self.text = before;
                Err(self.invalid(&format!("{what} of one or two digits")))
            }
        }
    }

    /// Exactly two digits; more may follow.
    fn two_digits(&mut self, what: &str) -> Result<u8> {
        let digits = self.text.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let digits = digits.ok_or_else(|| self.invalid(&format!("{what} of two digits")))?;
        self.text = self.text.get(2..).unwrap_or_default();
        Ok(digits.parse().unwrap_or(0)) // two digits
    }

    fn invalid(&self, expected: &str) -> Error {
        let excerpt: String = self.whole.chars().take(60).collect();
        let found = match self.text.chars().next() {
            Some(found) => format!("{found:?}"),
            None => "the end".to_owned(),
        };
        Error::usage(format!("invalid date {excerpt:?}: expected {expected}, found {found}"))
    }
}
