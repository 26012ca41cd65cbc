//! Parsing of times and durations: their displayed form and common variants.

use std::str::FromStr;

use container_core::Error;

use super::{DAY, DateTime, DateTimeOffset, TimeSpan, days_of};

/// Ticks per second.
const SECOND_TICKS: i64 = DAY / 86_400;
/// Ticks per second, wide enough for overflow checks.
const TICKS: i128 = SECOND_TICKS as i128;
/// Maximum digits of a number, so that it fits an `i64`.
const MAX_DIGITS: usize = 18;
/// Significant digits of a fraction of a second; the seventh is a tick.
const FRACTION_DIGITS: usize = 7;

/// The error is the reason why the text is invalid.
type Parsed<T> = Result<T, String>;

impl FromStr for TimeSpan {
    type Err = Error;

    /// ISO 8601 without years, months and weeks (`-PT12.5S`, `P1DT2H3M4.5S`), or .NET's `[-][d.]hh:mm[:ss[.fffffff]]`.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid), with the reason and an example.
    fn from_str(text: &str) -> Result<Self, Error> {
        let parsed = span(text).and_then(|ticks| ticks_to_i64(ticks).map(Self));
        parsed.map_err(|why| invalid("duration", text, &why, "PT12.3456789S, P1DT2H3M4.5S, 1.02:03:04.5"))
    }
}

impl FromStr for DateTime {
    type Err = Error;

    /// `2020-12-31T23:59:59.1234567`, optionally with a space instead of the `T`, without the fraction, the seconds, or the time of day.
    /// Years of more than four digits, or before year 0, have a sign.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid), with the reason and an example.
    fn from_str(text: &str) -> Result<Self, Error> {
        let mut rest = Rest(text);
        let parsed = date_time(&mut rest).and_then(|ticks| match rest.0 {
            "" => ticks_to_i64(ticks).map(Self),
            "Z" | "z" => Err("unexpected offset for this type".to_owned()),
            more if more.starts_with(['+', '-']) => Err("unexpected offset for this type".to_owned()),
            more => Err(format!("unexpected {} at the end", quoted(more))),
        });
        parsed.map_err(|why| invalid("time", text, &why, "2020-12-31T23:59:59.1234567"))
    }
}

impl FromStr for DateTimeOffset {
    type Err = Error;

    /// As a [`DateTime`], then the offset from UTC: `+00:30`, `-1000`, `+02`, `Z`, optionally after a space.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid), with the reason and an example.
    fn from_str(text: &str) -> Result<Self, Error> {
        let mut rest = Rest(text);
        let parsed = date_time(&mut rest).and_then(|ticks| {
            let ticks = ticks_to_i64(ticks)?;
            rest.skip(" ");
            Ok(Self { ticks, minutes: offset(&mut rest)? })
        });
        parsed.map_err(|why| invalid("time with offset", text, &why, "2020-12-31T23:59:59.1234567+01:00"))
    }
}

/// Builds the error message.
#[cold]
fn invalid(what: &str, text: &str, why: &str, example: &str) -> Error {
    Error::invalid(format!("invalid {what} {}: {why} (example: {example})", quoted(text)))
}

/// Quotes the text, truncated if long.
fn quoted(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{:?}...", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}

fn ticks_to_i64(ticks: i128) -> Parsed<i64> {
    i64::try_from(ticks).map_err(|_| format!("{ticks} ticks of 100 ns overflow 64 bits"))
}

/// The rest of the text to parse.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn skip(&mut self, prefix: &str) -> bool {
        let rest = self.0.strip_prefix(prefix);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expect(&mut self, prefix: &str, after: &str) -> Parsed<()> {
        if self.skip(prefix) {
            return Ok(());
        }
        Err(format!("expected {prefix:?} after the {after}, found {}", self.found()))
    }

    fn found(&self) -> String {
        if self.0.is_empty() { "the end".to_owned() } else { quoted(self.0) }
    }

    /// Takes the leading digits.
    fn digits(&mut self) -> &'a str {
        let end = self.0.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(self.0.len());
        let (digits, rest) = self.0.split_at_checked(end).unwrap_or((self.0, ""));
        self.0 = rest;
        digits
    }

    /// Takes a number of `min` to `max` digits.
    fn number(&mut self, min: usize, max: usize, what: &str) -> Parsed<i64> {
        let before = Rest(self.0);
        let digits = self.digits();
        if digits.len() < min || digits.len() > max {
            let expected = if min == max { format!("{min}") } else { format!("{min} to {max}") };
            return Err(format!("{what}: expected {expected} digits, found {}", before.found()));
        }
        digits.parse().map_err(|_| format!("{what}: invalid number {}", before.found()))
    }

    /// Takes a two-digit number between `first` and `last`.
    fn two(&mut self, first: i64, last: i64, what: &str) -> Parsed<i64> {
        let number = self.number(2, 2, what)?;
        within(number, first, last, what)
    }

    /// Takes an optional fraction of a second, in ticks.
    fn fraction(&mut self) -> Parsed<i64> {
        if !self.skip(".") {
            return Ok(0);
        }
        let digits = self.digits();
        let (kept, more) = digits.split_at_checked(FRACTION_DIGITS).unwrap_or((digits, ""));
        if digits.is_empty() {
            return Err(format!("expected digits after the point, found {}", self.found()));
        }
        if more.bytes().any(|digit| digit != b'0') {
            return Err(format!(
                "fraction {} has more than {FRACTION_DIGITS} digits (a tick is 100 ns)",
                quoted(digits)
            ));
        }
        let scale = (kept.len()..FRACTION_DIGITS).fold(1, |scale, _| scale * 10);
        kept.parse::<i64>().map(|ticks| ticks * scale).map_err(|_| format!("invalid fraction {kept:?}"))
    }
}

fn within(number: i64, first: i64, last: i64, what: &str) -> Parsed<i64> {
    if (first..=last).contains(&number) {
        return Ok(number);
    }
    Err(format!("{what} {number} is not between {first} and {last}"))
}

/// Takes a date and an optional time of day: ticks since 0001-01-01T00:00:00.
fn date_time(rest: &mut Rest<'_>) -> Parsed<i128> {
    let year = if rest.skip("+") {
        rest.number(5, MAX_DIGITS, "year")?
    } else if rest.skip("-") {
        -rest.number(5, MAX_DIGITS, "year")?
    } else {
        rest.number(4, 4, "year (signed if longer)")?
    };
    // Wider than 64 bits of ticks reach, narrow enough that the sums do not overflow.
    let year = within(year, -1_000_000, 1_000_000, "year")?;
    rest.expect("-", "year")?;
    let month = rest.two(1, 12, "month")?;
    rest.expect("-", "month")?;
    let next = if month == 12 { days_of(year + 1, 1, 1) } else { days_of(year, month + 1, 1) };
    let day = rest.two(1, next - days_of(year, month, 1), "day")?;
    let midnight = i128::from(days_of(year, month, day)) * i128::from(DAY);
    let before_time = rest.0;
    if !(rest.skip("T") || rest.skip("t") || rest.skip(" ")) {
        return Ok(midnight);
    }
    if before_time.starts_with(" ") && rest.0.starts_with(['+', '-']) {
        // The space before an offset.
        return Ok(midnight);
    }
    Ok(midnight + i128::from(clock(rest)?))
}

/// Takes `hh:mm[:ss[.fffffff]]`: ticks since midnight.
fn clock(rest: &mut Rest<'_>) -> Parsed<i64> {
    let hours = rest.two(0, 23, "hour")?;
    rest.expect(":", "hour")?;
    let minutes = rest.two(0, 59, "minute")?;
    let mut ticks = (hours * 60 + minutes) * 60 * SECOND_TICKS;
    if !rest.skip(":") {
        return Ok(ticks);
    }
    ticks += rest.two(0, 59, "second")? * SECOND_TICKS;
    Ok(ticks + rest.fraction()?)
}

/// Parses the rest as an offset in minutes.
fn offset(rest: &mut Rest<'_>) -> Parsed<i16> {
    let minutes = if rest.skip("Z") || rest.skip("z") {
        0
    } else {
        let sign = match (rest.skip("+"), rest.skip("-")) {
            (true, _) => 1,
            (_, true) => -1,
            _ => return Err(format!("expected an offset such as +01:00 or Z, found {}", rest.found())),
        };
        // Two digits each without a colon. Three-digit hours, from damaged files, are displayed with one.
        let is_basic = matches!(rest.0.len(), 2 | 4) && rest.0.bytes().all(|byte| byte.is_ascii_digit());
        if is_basic && let Some((hours, minutes)) = std::mem::take(&mut rest.0).split_at_checked(2) {
            let minutes = if minutes.is_empty() { "00" } else { minutes };
            sign * (Rest(hours).two(0, 99, "offset's hour")? * 60 + Rest(minutes).two(0, 59, "offset's minute")?)
        } else {
            let hours = rest.number(2, 3, "offset's hour")?;
            rest.expect(":", "offset's hour")?;
            sign * (hours * 60 + rest.two(0, 59, "offset's minute")?)
        }
    };
    if !rest.0.is_empty() {
        return Err(format!("unexpected {} at the end", quoted(rest.0)));
    }
    i16::try_from(minutes).map_err(|_| format!("offset of {minutes} minutes overflows 16 bits"))
}

/// Parses a duration in ticks.
fn span(text: &str) -> Parsed<i128> {
    let mut rest = Rest(text);
    let sign = if rest.skip("-") { -1 } else { 1 };
    if sign > 0 {
        rest.skip("+");
    }
    let ticks = if rest.skip("P") || rest.skip("p") { iso_span(&mut rest)? } else { net_span(&mut rest)? };
    if rest.0.is_empty() { Ok(sign * ticks) } else { Err(format!("unexpected {} at the end", quoted(rest.0))) }
}

/// Parses after the `P`: days, then after a `T` hours, minutes and seconds; at least one of them.
fn iso_span(rest: &mut Rest<'_>) -> Parsed<i128> {
    const UNITS: [(char, &str, i128, bool); 4] = [
        ('D', "days", 86_400 * TICKS, false),
        ('H', "hours", 3600 * TICKS, true),
        ('M', "minutes", 60 * TICKS, true),
        ('S', "seconds", TICKS, true),
    ];
    let (mut ticks, mut next, mut timed) = (0, 0, false);
    loop {
        if !timed && (rest.skip("T") || rest.skip("t")) {
            timed = true;
        } else if rest.0.is_empty() && next > 0 {
            return Ok(ticks);
        }
        let number = i128::from(rest.number(1, MAX_DIGITS, "number before a unit")?);
        let fraction = if rest.0.starts_with('.') { Some(i128::from(rest.fraction()?)) } else { None };
        let letter = rest.0.chars().next().map(|letter| letter.to_ascii_uppercase());
        let found = UNITS.iter().enumerate().skip(next).find(|(_, unit)| Some(unit.0) == letter && unit.3 == timed);
        let Some((place, &(_, name, scale, _))) = found else {
            let units = UNITS.iter().skip(next).filter(|unit| unit.3 || !timed).map(|unit| unit.0.to_string());
            let units = units.collect::<Vec<_>>().join(", ");
            return Err(match units.as_str() {
                "" => format!("expected the end after the seconds, found {}", rest.found()),
                units => format!("expected a unit ({units}; hours and smaller after a T), found {}", rest.found()),
            });
        };
        if fraction.is_some() && scale != TICKS {
            return Err(format!("fraction of {name}: only seconds may have one"));
        }
        ticks += number * scale + fraction.unwrap_or(0);
        next = place + 1;
        rest.0 = rest.0.get(1..).unwrap_or_default();
    }
}

/// Parses .NET's `[d.]hh:mm[:ss[.fffffff]]`.
fn net_span(rest: &mut Rest<'_>) -> Parsed<i128> {
    let whole = rest.0;
    let days = rest.digits();
    let days = if !days.is_empty() && rest.skip(".") {
        days.parse::<i64>().map_err(|_| format!("too many days: {}", quoted(days)))?
    } else {
        rest.0 = whole;
        0
    };
    Ok(i128::from(days) * i128::from(DAY) + i128::from(clock(rest)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::SECOND;
    use super::*;

    /// Any ticks, with extremes and .NET's range over-represented.
    fn ticks() -> impl Strategy<Value = i64> {
        prop_oneof![
            any::<i64>(),
            0..=super::super::LAST_TICK,
            any::<i32>().prop_map(i64::from),
            (any::<i32>(), 0..7u32).prop_map(|(x, zeros)| i64::from(x) * 10i64.pow(zeros)),
            prop_oneof![Just(i64::MIN), Just(i64::MIN + 1), Just(i64::MAX), Just(-1), Just(0)],
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn displayed_form_parses_back(ticks in ticks(), minutes in any::<i16>(), zeros in 0usize..9) {
            prop_assert_eq!(TimeSpan(ticks).to_string().parse::<TimeSpan>().unwrap(), TimeSpan(ticks));
            let time = DateTime(ticks);
            prop_assert_eq!(time.to_string().parse::<DateTime>().unwrap(), time);
            prop_assert_eq!(time.to_string().replace('T', " ").parse::<DateTime>().unwrap(), time);
            let zoned = DateTimeOffset::new(ticks, minutes);
            prop_assert_eq!(zoned.to_string().parse::<DateTimeOffset>().unwrap(), zoned);
            // Trailing zeros of a fraction change nothing.
            let mut padded = time.to_string();
            if padded.contains('.') {
                padded.extend(std::iter::repeat_n('0', zeros));
                prop_assert_eq!(padded.parse::<DateTime>().unwrap(), time);
                padded.push('1');
                prop_assert_eq!(padded.parse::<DateTime>().is_ok(), padded.split('.').nth(1).unwrap().len() <= 7);
            }
        }

        /// .NET's form, and ISO 8601 with days, hours and minutes.
        #[test]
        fn durations_parse_in_all_forms(ticks in ticks()) {
            let (sign, whole) = (if ticks < 0 { "-" } else { "" }, ticks.unsigned_abs());
            let (days, seconds, part) = (whole / DAY as u64, whole / SECOND % 86_400, whole % SECOND);
            let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            for text in [
                format!("{sign}{days}.{hours:02}:{minutes:02}:{seconds:02}.{part:07}"),
                format!("{sign}P{days}DT{hours}H{minutes}M{seconds}.{part:07}S"),
                format!("{sign}p{days}dt{}m{seconds}.{part:07}s", hours * 60 + minutes),
            ] {
                prop_assert_eq!(text.parse::<TimeSpan>().unwrap(), TimeSpan(ticks), "{}", text);
            }
        }

        #[test]
        fn arbitrary_text_does_not_panic(text in "[-+PTDHMSZ0-9:. é]{0,24}") {
            let _ = (text.parse::<TimeSpan>(), text.parse::<DateTime>(), text.parse::<DateTimeOffset>());
        }
    }

    #[test]
    fn accepts_common_variants() {
        let time = |text: &str| text.parse::<DateTime>().unwrap().to_string();
        assert_eq!(time("2024-02-29"), "2024-02-29T00:00:00");
        assert_eq!(time("2024-02-29 12:30"), "2024-02-29T12:30:00");
        assert_eq!(time("2024-02-29t12:30:01.500"), "2024-02-29T12:30:01.5");
        assert_eq!(time("+02024-02-29"), "2024-02-29T00:00:00");
        let zoned = |text: &str| text.parse::<DateTimeOffset>().unwrap().to_string();
        assert_eq!(zoned("2024-02-29T12:30:00Z"), "2024-02-29T12:30:00+00:00");
        assert_eq!(zoned("2024-02-29 12:30:00 -01:30"), "2024-02-29T12:30:00-01:30");
        assert_eq!(zoned("2024-02-29 +01:30"), "2024-02-29T00:00:00+01:30");
        assert_eq!(zoned("2024-02-29T12:30-0130"), "2024-02-29T12:30:00-01:30");
        assert_eq!(zoned("2024-02-29T12:30+02"), "2024-02-29T12:30:00+02:00");
        let span = |text: &str| text.parse::<TimeSpan>().unwrap().0;
        assert_eq!(span("P1D"), DAY);
        assert_eq!(span("+PT1H"), 3600 * 10_000_000);
        assert_eq!(span("00:00:01"), 10_000_000);
        assert_eq!(span("-1.12:30"), -DAY - 45_000 * 10_000_000);
        assert_eq!(span("-10675199.02:48:05.4775808"), i64::MIN);
    }

    #[test]
    fn errors_give_reason_and_example() {
        let example = "(example: 2020-12-31T23:59:59.1234567)";
        for (text, why) in [
            ("", "year (signed if longer): expected 4 digits, found the end"),
            ("20200101", "year (signed if longer): expected 4 digits, found \"20200101\""),
            ("2020/01/01", "expected \"-\" after the year, found \"/01/01\""),
            ("2020-13-01", "month 13 is not between 1 and 12"),
            ("2023-02-29", "day 29 is not between 1 and 28"),
            ("2023-02-00", "day 0 is not between 1 and 28"),
            ("2020-01-01T24:00:00", "hour 24 is not between 0 and 23"),
            ("2020-01-01T23:60:00", "minute 60 is not between 0 and 59"),
            ("2020-01-01T23:59:60", "second 60 is not between 0 and 59"),
            ("2020-01-01T", "hour: expected 2 digits, found the end"),
            ("2020-01-01T00:00:00.", "expected digits after the point, found the end"),
            ("2020-01-01T00:00:00.12345678", "fraction \"12345678\" has more than 7 digits (a tick is 100 ns)"),
            ("2020-01-01T00:00:00Z", "unexpected offset for this type"),
            ("2020-01-01x", "unexpected \"x\" at the end"),
            ("+30000-01-01", "9466769376000000000 ticks of 100 ns overflow 64 bits"),
            ("+9999999-01-01", "year 9999999 is not between -1000000 and 1000000"),
        ] {
            let error = text.parse::<DateTime>().unwrap_err();
            assert_eq!(
                (error.kind().name(), error.to_string()),
                ("invalid", format!("invalid time {text:?}: {why} {example}"))
            );
        }
        for (text, why) in [
            ("2020-01-01T00:00:00", "expected an offset such as +01:00 or Z, found the end"),
            ("2020-01-01T00:00:00+1:00", "offset's hour: expected 2 to 3 digits, found \"1:00\""),
            ("2020-01-01T00:00:00+01:00 ", "unexpected \" \" at the end"),
            ("2020-01-01T00:00:00+0160", "offset's minute 60 is not between 0 and 59"),
            ("2020-01-01T00:00:00+010", "expected \":\" after the offset's hour, found the end"),
            ("2020-01-01T00:00:00+547:00", "offset of 32820 minutes overflows 16 bits"),
        ] {
            let error = text.parse::<DateTimeOffset>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("invalid time with offset {text:?}: {why} (example: ")), "{error}");
        }
        let unit = "number before a unit: expected 1 to 18 digits, found the end";
        for (text, why) in [
            ("P", unit),
            ("PT", unit),
            ("P1DT", unit),
            ("P1Y", "expected a unit (D, H, M, S; hours and smaller after a T), found \"Y\""),
            ("P1H", "expected a unit (D, H, M, S; hours and smaller after a T), found \"H\""),
            ("PT1M1H", "expected a unit (S; hours and smaller after a T), found \"H\""),
            ("PT1S1M", "expected the end after the seconds, found \"M\""),
            ("PT1.5M", "fraction of minutes: only seconds may have one"),
            ("12", "expected \":\" after the hour, found the end"),
            ("24:00:00", "hour 24 is not between 0 and 23"),
            ("12:00.5", "unexpected \".5\" at the end"),
            ("PT922337203685.4775808S", "9223372036854775808 ticks of 100 ns overflow 64 bits"),
        ] {
            let error = text.parse::<TimeSpan>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("invalid duration {text:?}: {why} (example: ")), "{error}");
        }
    }
}
