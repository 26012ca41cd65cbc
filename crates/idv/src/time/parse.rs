//! Times from text: what they print, and what people and .NET write besides.

use std::str::FromStr;

use container_core::Error;

use super::{DAY, DateTime, DateTimeOffset, TimeSpan, days_of};

/// Ticks of a second.
const SECOND_TICKS: i64 = DAY / 86_400;
/// The same as the wider number in which overflow is found.
const TICKS: i128 = SECOND_TICKS as i128;
/// More digits than any number of a time has. A number of so many digits fits an `i64`.
const MOST_DIGITS: usize = 18;
/// Digits of a fraction: a tick is the seventh.
const FRACTION: usize = 7;

/// Why a text is no time.
type Why<T> = Result<T, String>;

impl FromStr for TimeSpan {
    type Err = Error;

    /// ISO 8601 without years, months and weeks (`-PT12.5S`, `P1DT2H3M4.5S`), or .NET's `[-][d.]hh:mm[:ss[.fffffff]]`.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid): what was found, and what is allowed.
    fn from_str(text: &str) -> Result<Self, Error> {
        let parsed = span(text).and_then(|ticks| fitting(ticks).map(Self));
        parsed.map_err(|why| no("duration", text, &why, "PT12.3456789S, P1DT2H3M4.5S, 1.02:03:04.5"))
    }
}

impl FromStr for DateTime {
    type Err = Error;

    /// `2020-12-31T23:59:59.1234567`, with a blank in place of the `T`, without the fraction, the seconds, or the whole time of day. Years
    /// of more than four digits, or before year 0, have a sign.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid): what was found, and what is allowed.
    fn from_str(text: &str) -> Result<Self, Error> {
        let mut rest = Rest(text);
        let parsed = date_time(&mut rest).and_then(|ticks| match rest.0 {
            "" => fitting(ticks).map(Self),
            "Z" | "z" => Err("it has an offset, which times of this type have not".to_owned()),
            more if more.starts_with(['+', '-']) => {
                Err("it has an offset, which times of this type have not".to_owned())
            }
            more => Err(format!("{} is left over", shown(more))),
        });
        parsed.map_err(|why| no("time", text, &why, "2020-12-31T23:59:59.1234567"))
    }
}

impl FromStr for DateTimeOffset {
    type Err = Error;

    /// As a [`DateTime`], then the offset from UTC: `+00:30`, `-1000`, `+02`, `Z`; a blank may stand between.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid): what was found, and what is allowed.
    fn from_str(text: &str) -> Result<Self, Error> {
        let mut rest = Rest(text);
        let parsed = date_time(&mut rest).and_then(|ticks| {
            let ticks = fitting(ticks)?;
            rest.skip(" ");
            Ok(Self { ticks, minutes: offset(&mut rest)? })
        });
        parsed.map_err(|why| no("time with offset", text, &why, "2020-12-31T23:59:59.1234567+01:00"))
    }
}

/// What is wrong with a text, in one sentence.
#[cold]
fn no(what: &str, text: &str, why: &str, allowed: &str) -> Error {
    Error::invalid(format!("{} is no {what}: {why} (allowed: {allowed})", shown(text)))
}

/// The text in quotes, its beginning if it is long.
fn shown(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}...", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}

fn fitting(ticks: i128) -> Why<i64> {
    i64::try_from(ticks).map_err(|_| format!("its {ticks} ticks of 100 ns do not fit 64 bits"))
}

/// What is left of a text.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn skip(&mut self, prefix: &str) -> bool {
        let rest = self.0.strip_prefix(prefix);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expect(&mut self, prefix: &str, after: &str) -> Why<()> {
        if self.skip(prefix) {
            return Ok(());
        }
        Err(format!("{prefix:?} is wanted after the {after}, found {}", self.found()))
    }

    fn found(&self) -> String {
        if self.0.is_empty() { "the end".to_owned() } else { shown(self.0) }
    }

    /// The digits that come next.
    fn digits(&mut self) -> &'a str {
        let end = self.0.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(self.0.len());
        let (digits, rest) = self.0.split_at_checked(end).unwrap_or((self.0, ""));
        self.0 = rest;
        digits
    }

    /// A number of `least` to `most` digits.
    fn number(&mut self, least: usize, most: usize, what: &str) -> Why<i64> {
        let before = Rest(self.0);
        let digits = self.digits();
        if digits.len() < least || digits.len() > most {
            let wanted = if least == most { format!("{least}") } else { format!("{least} to {most}") };
            return Err(format!("the {what} has {wanted} digits, found {}", before.found()));
        }
        digits.parse().map_err(|_| format!("the {what} is no number: {}", before.found()))
    }

    /// A number of two digits, from 0 or 1 up to `last`.
    fn two(&mut self, first: i64, last: i64, what: &str) -> Why<i64> {
        let number = self.number(2, 2, what)?;
        within(number, first, last, what)
    }

    /// The ticks of a fraction of a second, if there is one.
    fn fraction(&mut self) -> Why<i64> {
        if !self.skip(".") {
            return Ok(0);
        }
        let digits = self.digits();
        let (kept, more) = digits.split_at_checked(FRACTION).unwrap_or((digits, ""));
        if digits.is_empty() {
            return Err(format!("digits are wanted after the point, found {}", self.found()));
        }
        if more.bytes().any(|digit| digit != b'0') {
            return Err(format!("the fraction {} is finer than {FRACTION} digits, a tick of 100 ns", shown(digits)));
        }
        let scale = (kept.len()..FRACTION).fold(1, |scale, _| scale * 10);
        kept.parse::<i64>().map(|ticks| ticks * scale).map_err(|_| format!("the fraction {kept:?} is no number"))
    }
}

fn within(number: i64, first: i64, last: i64, what: &str) -> Why<i64> {
    if (first..=last).contains(&number) {
        return Ok(number);
    }
    Err(format!("the {what} is {number}, not from {first} to {last}"))
}

/// Ticks since the beginning of year 1, from the beginning of a text.
fn date_time(rest: &mut Rest<'_>) -> Why<i128> {
    let year = if rest.skip("+") {
        rest.number(5, MOST_DIGITS, "year")?
    } else if rest.skip("-") {
        -rest.number(5, MOST_DIGITS, "year")?
    } else {
        rest.number(4, 4, "year (with a sign for more digits)")?
    };
    // Far outside of what 64 bits of ticks reach, and no overflow in the sums.
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
        // The blank before an offset.
        return Ok(midnight);
    }
    Ok(midnight + i128::from(clock(rest)?))
}

/// Ticks since midnight: `hh:mm:ss.fffffff`, or without the seconds.
fn clock(rest: &mut Rest<'_>) -> Why<i64> {
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

/// The offset in minutes that ends a text.
fn offset(rest: &mut Rest<'_>) -> Why<i16> {
    let minutes = if rest.skip("Z") || rest.skip("z") {
        0
    } else {
        let sign = match (rest.skip("+"), rest.skip("-")) {
            (true, _) => 1,
            (_, true) => -1,
            _ => return Err(format!("its offset is wanted, such as +01:00 or Z, found {}", rest.found())),
        };
        // Without the colon there are two digits of each. Three digits of hours are in damaged files only; they print so.
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
        return Err(format!("{} is left over", shown(rest.0)));
    }
    i16::try_from(minutes).map_err(|_| format!("its offset of {minutes} minutes does not fit 16 bits"))
}

/// The ticks of a duration.
fn span(text: &str) -> Why<i128> {
    let mut rest = Rest(text);
    let sign = if rest.skip("-") { -1 } else { 1 };
    if sign > 0 {
        rest.skip("+");
    }
    let ticks = if rest.skip("P") || rest.skip("p") { iso_span(&mut rest)? } else { net_span(&mut rest)? };
    if rest.0.is_empty() { Ok(sign * ticks) } else { Err(format!("{} is left over", shown(rest.0))) }
}

/// What follows the `P`: days, then after a `T` hours, minutes and seconds; at least one of them.
fn iso_span(rest: &mut Rest<'_>) -> Why<i128> {
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
        let number = i128::from(rest.number(1, MOST_DIGITS, "number of a unit")?);
        let fraction = if rest.0.starts_with('.') { Some(i128::from(rest.fraction()?)) } else { None };
        let letter = rest.0.chars().next().map(|letter| letter.to_ascii_uppercase());
        let found = UNITS.iter().enumerate().skip(next).find(|(_, unit)| Some(unit.0) == letter && unit.3 == timed);
        let Some((place, &(_, name, scale, _))) = found else {
            let units = UNITS.iter().skip(next).filter(|unit| unit.3 || !timed).map(|unit| unit.0.to_string());
            let units = units.collect::<Vec<_>>().join(", ");
            return Err(match units.as_str() {
                "" => format!("nothing may follow the seconds, found {}", rest.found()),
                units => format!("a unit ({units}; hours and less after a T) is wanted, found {}", rest.found()),
            });
        };
        if fraction.is_some() && scale != TICKS {
            return Err(format!("{name} have a fraction, which only seconds may have"));
        }
        ticks += number * scale + fraction.unwrap_or(0);
        next = place + 1;
        rest.0 = rest.0.get(1..).unwrap_or_default();
    }
}

/// .NET's `[d.]hh:mm[:ss[.fffffff]]`.
fn net_span(rest: &mut Rest<'_>) -> Why<i128> {
    let whole = rest.0;
    let days = rest.digits();
    let days = if !days.is_empty() && rest.skip(".") {
        days.parse::<i64>().map_err(|_| format!("{} days are too many", shown(days)))?
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

    /// Any ticks, those at the ends and those .NET has as likely as the rest.
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
        fn what_is_printed_reads_back(ticks in ticks(), minutes in any::<i16>(), zeros in 0usize..9) {
            prop_assert_eq!(TimeSpan(ticks).to_string().parse::<TimeSpan>().unwrap(), TimeSpan(ticks));
            let time = DateTime(ticks);
            prop_assert_eq!(time.to_string().parse::<DateTime>().unwrap(), time);
            prop_assert_eq!(time.to_string().replace('T', " ").parse::<DateTime>().unwrap(), time);
            let zoned = DateTimeOffset::new(ticks, minutes);
            prop_assert_eq!(zoned.to_string().parse::<DateTimeOffset>().unwrap(), zoned);
            // Zeros behind a fraction, any number of them, change nothing.
            let mut padded = time.to_string();
            if padded.contains('.') {
                padded.extend(std::iter::repeat_n('0', zeros));
                prop_assert_eq!(padded.parse::<DateTime>().unwrap(), time);
                padded.push('1');
                prop_assert_eq!(padded.parse::<DateTime>().is_ok(), padded.split('.').nth(1).unwrap().len() <= 7);
            }
        }

        /// .NET's own form of a duration, and the one in days, hours and minutes.
        #[test]
        fn durations_read_in_all_forms(ticks in ticks()) {
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
        fn no_text_is_too_strange(text in "[-+PTDHMSZ0-9:. é]{0,24}") {
            let _ = (text.parse::<TimeSpan>(), text.parse::<DateTime>(), text.parse::<DateTimeOffset>());
        }
    }

    #[test]
    fn other_forms_are_read() {
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
    fn the_error_says_what_was_found_and_is_allowed() {
        let allowed = "(allowed: 2020-12-31T23:59:59.1234567)";
        for (text, why) in [
            ("", "the year (with a sign for more digits) has 4 digits, found the end"),
            ("20200101", "the year (with a sign for more digits) has 4 digits, found \"20200101\""),
            ("2020/01/01", "\"-\" is wanted after the year, found \"/01/01\""),
            ("2020-13-01", "the month is 13, not from 1 to 12"),
            ("2023-02-29", "the day is 29, not from 1 to 28"),
            ("2023-02-00", "the day is 0, not from 1 to 28"),
            ("2020-01-01T24:00:00", "the hour is 24, not from 0 to 23"),
            ("2020-01-01T23:60:00", "the minute is 60, not from 0 to 59"),
            ("2020-01-01T23:59:60", "the second is 60, not from 0 to 59"),
            ("2020-01-01T", "the hour has 2 digits, found the end"),
            ("2020-01-01T00:00:00.", "digits are wanted after the point, found the end"),
            ("2020-01-01T00:00:00.12345678", "the fraction \"12345678\" is finer than 7 digits, a tick of 100 ns"),
            ("2020-01-01T00:00:00Z", "it has an offset, which times of this type have not"),
            ("2020-01-01x", "\"x\" is left over"),
            ("+30000-01-01", "its 9466769376000000000 ticks of 100 ns do not fit 64 bits"),
            ("+9999999-01-01", "the year is 9999999, not from -1000000 to 1000000"),
        ] {
            let error = text.parse::<DateTime>().unwrap_err();
            assert_eq!(
                (error.kind().name(), error.to_string()),
                ("invalid", format!("{text:?} is no time: {why} {allowed}"))
            );
        }
        for (text, why) in [
            ("2020-01-01T00:00:00", "its offset is wanted, such as +01:00 or Z, found the end"),
            ("2020-01-01T00:00:00+1:00", "the offset's hour has 2 to 3 digits, found \"1:00\""),
            ("2020-01-01T00:00:00+01:00 ", "\" \" is left over"),
            ("2020-01-01T00:00:00+0160", "the offset's minute is 60, not from 0 to 59"),
            ("2020-01-01T00:00:00+010", "\":\" is wanted after the offset's hour, found the end"),
            ("2020-01-01T00:00:00+547:00", "its offset of 32820 minutes does not fit 16 bits"),
        ] {
            let error = text.parse::<DateTimeOffset>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{text:?} is no time with offset: {why} (allowed: ")), "{error}");
        }
        let unit = "the number of a unit has 1 to 18 digits, found the end";
        for (text, why) in [
            ("P", unit),
            ("PT", unit),
            ("P1DT", unit),
            ("P1Y", "a unit (D, H, M, S; hours and less after a T) is wanted, found \"Y\""),
            ("P1H", "a unit (D, H, M, S; hours and less after a T) is wanted, found \"H\""),
            ("PT1M1H", "a unit (S; hours and less after a T) is wanted, found \"H\""),
            ("PT1S1M", "nothing may follow the seconds, found \"M\""),
            ("PT1.5M", "minutes have a fraction, which only seconds may have"),
            ("12", "\":\" is wanted after the hour, found the end"),
            ("24:00:00", "the hour is 24, not from 0 to 23"),
            ("12:00.5", "\".5\" is left over"),
            ("PT922337203685.4775808S", "its 9223372036854775808 ticks of 100 ns do not fit 64 bits"),
        ] {
            let error = text.parse::<TimeSpan>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{text:?} is no duration: {why} (allowed: ")), "{error}");
        }
    }
}
