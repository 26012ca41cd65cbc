//! Dates as people write them.

use container_core::{Error, Result};

use super::calendar::Calendar;
use super::date::{Date, Fields};

impl Date {
    /// Reads ISO 8601, such as `2000-01-31T12:00:00.5Z`: a blank may stand for the T, parts may be missing from the end on, the zone is
    /// `Z`, `UTC`, `GMT` or an offset such as `+01:30`. In UTC where no zone is named.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a text of another form, and for what the calendar has not.
    pub fn from_iso(text: &str, calendar: Calendar) -> Result<Self> {
        date(text.trim(), calendar)
    }
}

/// Reads a date with what follows it: all of the text.
fn date(text: &str, calendar: Calendar) -> Result<Date> {
    let mut rest = Rest { whole: text, text };
    let negative = rest.takes('-');
    let _ = !negative && rest.takes('+');
    let digits = rest.digits();
    let year: i64 = match digits.len() {
        1..=6 => digits.parse().unwrap_or(0), // digits
        0 => return Err(rest.wrong("a year is expected")),
        _ => return Err(rest.wrong("a year of up to 6 digits and a hyphen are expected")),
    };
    let mut fields = Fields { year: if negative { -year } else { year }, month: 1, day: 1, ..MIDNIGHT };
    if rest.takes('-') {
        fields.month = rest.number("a month")?;
        if rest.takes('-') {
            fields.day = rest.number("a day")?;
        }
    }
    let blank = rest.blanks();
    let marked = rest.takes('T') || rest.takes('t');
    if (blank || marked) && rest.text.starts_with(|first: char| first.is_ascii_digit()) {
        time(&mut rest, &mut fields)?;
    } else if marked {
        return Err(rest.wrong("a time is expected"));
    }
    rest.blanks();
    let offset = zone(&mut rest)?;
    rest.blanks();
    if !rest.text.is_empty() {
        return Err(rest.wrong("the end is expected"));
    }
    let date = Date::new(calendar, fields)?;
    let moved = Date::from_micros(date.total() - i128::from(offset) * 60_000_000, calendar);
    moved.ok_or_else(|| rest.wrong("a nearer year is expected"))
}

const MIDNIGHT: Fields = Fields { year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0, microsecond: 0 };

/// `12`, `12:30`, `12:30:15.25`, `1230`, `123015`.
fn time(rest: &mut Rest<'_>, fields: &mut Fields) -> Result<()> {
    let run = rest.text.bytes().take_while(u8::is_ascii_digit).count();
    if run == 4 || run == 6 {
        fields.hour = rest.two("an hour")?;
        fields.minute = rest.two("a minute")?;
        if run == 6 {
            fields.second = rest.two("a second")?;
        }
    } else {
        fields.hour = rest.number("an hour")?;
        if !rest.takes(':') {
            return Ok(());
        }
        fields.minute = rest.number("a minute")?;
        if !rest.takes(':') {
            return Ok(());
        }
        fields.second = rest.number("a second")?;
    }
    if rest.takes('.') {
        // Further digits are below a microsecond.
        let digits: String = rest.digits().chars().chain("000000".chars()).take(6).collect();
        fields.microsecond = digits.parse().unwrap_or(0); // six digits
    }
    Ok(())
}

/// Minutes that a zone is ahead of UTC.
fn zone(rest: &mut Rest<'_>) -> Result<i64> {
    for name in ["UTC", "GMT", "Z"] {
        let named = rest.text.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name));
        if named {
            rest.text = rest.text.get(name.len()..).unwrap_or_default();
            return Ok(0);
        }
    }
    let negative = rest.takes('-');
    if !negative && !rest.takes('+') {
        return match rest.text.chars().next() {
            Some(first) if first.is_alphabetic() => {
                Err(rest.wrong("Z, UTC, GMT or an offset such as +01:00 is expected"))
            }
            _ => Ok(0),
        };
    }
    let run = rest.text.bytes().take_while(u8::is_ascii_digit).count();
    let hours = if run > 2 { rest.two("an offset")? } else { rest.number("an offset")? };
    let colon = rest.takes(':');
    let minutes = if colon || run > 2 { rest.two("an offset's minutes")? } else { 0 };
    if hours > 24 || minutes > 59 {
        return Err(rest.wrong("an offset of up to 24 hours is expected"));
    }
    let offset = i64::from(hours) * 60 + i64::from(minutes);
    Ok(if negative { -offset } else { offset })
}

/// What is not yet read.
struct Rest<'t> {
    whole: &'t str,
    text: &'t str,
}

impl<'t> Rest<'t> {
    fn takes(&mut self, wanted: char) -> bool {
        match self.text.strip_prefix(wanted) {
            Some(rest) => {
                self.text = rest;
                true
            }
            None => false,
        }
    }

    fn blanks(&mut self) -> bool {
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
                Err(self.wrong(&format!("{what} of one or two digits is expected")))
            }
        }
    }

    /// Two digits of several.
    fn two(&mut self, what: &str) -> Result<u8> {
        let digits = self.text.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let digits = digits.ok_or_else(|| self.wrong(&format!("{what} of two digits is expected")))?;
        self.text = self.text.get(2..).unwrap_or_default();
        Ok(digits.parse().unwrap_or(0)) // two digits
    }

    fn wrong(&self, expected: &str) -> Error {
        let shown: String = self.whole.chars().take(60).collect();
        let found = match self.text.chars().next() {
            Some(found) => format!("{found:?}"),
            None => "the end".to_owned(),
        };
        Error::usage(format!("{shown:?} is no date: {expected}, {found} is found"))
    }
}
