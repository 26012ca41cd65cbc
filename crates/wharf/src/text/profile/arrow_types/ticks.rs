//! Detects dates and times in ticks of 100 ns, years 1 to 9999, character by character: type inference spends most of its time here.
//!
//! The syntax is that of [`parse_time`](container_arrow::parse_time). The order of cells does not matter.

use crate::text::profile::ColumnKind;

/// The largest UTC offset in .NET, in minutes.
const MAX_OFFSET: i32 = 14 * 60;
/// Fraction digits of a tick of 100 ns.
const FRACTION_DIGITS: usize = 7;

/// Which kinds of times the cells of a column are, a bit each; 0 for no cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TickTypes(u8);

impl TickTypes {
    /// `2024-05-01`, optionally with `12:30`, `12:30:59` or `12:30:59.5` after a `T` or a space.
    const LOCAL: u8 = 1;
    /// The same with `Z`, `+02:00`, `+0200` or `+02`.
    const ZONED: u8 = 2;
    /// `12:30:59.5` alone.
    const CLOCK: u8 = 4;
    const OTHER: u8 = 8;
    /// Adds a cell.
    pub(super) fn observe(&mut self, text: &str) {
        if !self.are_none() {
            self.0 |= classify(text);
        }
    }

    /// Adds other cells of the column.
    pub(super) const fn merge(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether the cells have no type in common.
    pub(super) const fn are_none(self) -> bool {
        !matches!(self.0, 0 | Self::LOCAL | Self::ZONED | Self::CLOCK)
    }

    /// The type that all cells have in common.
    pub(super) const fn kind(self) -> ColumnKind {
        match self.0 {
            Self::LOCAL => ColumnKind::Stamp(false, false),
            Self::ZONED => ColumnKind::Stamp(false, true),
            Self::CLOCK => ColumnKind::Time(false),
            _ => ColumnKind::Text,
        }
    }
}

fn classify(text: &str) -> u8 {
    let bytes = text.as_bytes();
    if let Some(rest) = clock(bytes) {
        return if rest.is_empty() { TickTypes::CLOCK } else { TickTypes::OTHER };
    }
    let rest = match date(bytes) {
        Some([b'T' | b't' | b' ', rest @ ..]) => clock(rest),
        rest => rest,
    };
    match rest {
        Some([]) => TickTypes::LOCAL,
        Some(rest) => match offset(rest) {
            Some(minutes) if in_years(text, minutes) => TickTypes::ZONED,
            _ => TickTypes::OTHER,
        },
        _ => TickTypes::OTHER,
    }
}

/// What follows a date in the years 1 to 9999.
fn date(text: &[u8]) -> Option<&[u8]> {
    let (&[y1, y2, y3, y4, b'-', o1, o2, b'-', d1, d2], rest) = text.split_first_chunk()? else { return None };
    let (year, month, day) = (digits(&[y1, y2, y3, y4])?, digits(&[o1, o2])?, digits(&[d1, d2])?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (year > 0 && (1..=last).contains(&day)).then_some(rest)
}

/// What follows a time of day.
fn clock(text: &[u8]) -> Option<&[u8]> {
    let (&[h1, h2, b':', m1, m2], rest) = text.split_first_chunk()? else { return None };
    if digits(&[h1, h2])? > 23 || digits(&[m1, m2])? > 59 {
        return None;
    }
    let Some(rest) = rest.strip_prefix(b":") else { return Some(rest) };
    let (&seconds, rest) = rest.split_first_chunk::<2>()?;
    if digits(&seconds)? > 59 {
        return None;
    }
    let Some(fraction) = rest.strip_prefix(b".") else { return Some(rest) };
    let len = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (fraction, rest) = fraction.split_at_checked(len)?;
    let is_exact = fraction.iter().skip(FRACTION_DIGITS).all(|digit| *digit == b'0');
    (len > 0 && is_exact).then_some(rest)
}

/// Minutes ahead of UTC.
fn offset(text: &[u8]) -> Option<i32> {
    let (sign, hours, minutes) = match *text {
        [b'Z' | b'z'] => return Some(0),
        [sign @ (b'+' | b'-'), a, b] => (sign, digits(&[a, b])?, 0),
        [sign @ (b'+' | b'-'), a, b, b':', c, d] | [sign @ (b'+' | b'-'), a, b, c, d] => {
            (sign, digits(&[a, b])?, digits(&[c, d])?)
        }
        _ => return None,
    };
    let ahead = i32::try_from(hours * 60 + minutes).ok().filter(|ahead| minutes < 60 && *ahead <= MAX_OFFSET)?;
    Some(if sign == b'-' { -ahead } else { ahead })
}

/// Whether a time with this offset is in the years 1 to 9999 in UTC as well.
fn in_years(text: &str, offset: i32) -> bool {
    let minutes = || {
        let [b'T' | b't' | b' ', clock @ ..] = text.as_bytes().get(10..)? else { return None };
        let &[h1, h2, _, m1, m2] = clock.first_chunk()?;
        i32::try_from(digits(&[h1, h2])? * 60 + digits(&[m1, m2])?).ok()
    };
    let utc = minutes().unwrap_or(0) - offset; // a date alone means midnight
    !(utc < 0 && text.starts_with("0001-01-01") || utc >= 24 * 60 && text.starts_with("9999-12-31"))
}

fn digits(text: &[u8]) -> Option<u32> {
    text.iter().try_fold(0, |number, &byte| byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const LOCAL: ColumnKind = ColumnKind::Stamp(false, false);
    pub(super) const ZONED: ColumnKind = ColumnKind::Stamp(false, true);
    pub(super) const CLOCK: ColumnKind = ColumnKind::Time(false);

    pub(super) fn kind_of(text: &str) -> ColumnKind {
        let mut times = TickTypes::default();
        times.observe(text);
        times.kind()
    }

    #[test]
    fn mixed_kinds_are_text() {
        let kind_of = |texts: &[&str]| {
            let mut all = TickTypes::default();
            for text in texts {
                let mut one = TickTypes::default();
                one.observe(text);
                all.merge(one);
            }
            all.kind()
        };
        assert_eq!(kind_of(&["2024-05-01", "2024-05-01 12:30"]), LOCAL);
        assert_eq!(kind_of(&["2024-05-01T00:00:00Z", "2024-05-01 00:00+0200"]), ZONED);
        assert_eq!(kind_of(&["12:30", "12:30:59.5"]), CLOCK);
        for texts in [
            &[][..],
            &["text"],
            &["2024-05-01", "12:30"],
            &["2024-05-01", "2024-05-01Z"],
            &["2024-05-01", "text"],
            &["01:30.5"],
            &["12:30:00.00000001"],
        ] {
            assert_eq!(kind_of(texts), ColumnKind::Text, "{texts:?}");
        }
    }

    /// Ticks are detected exactly where Arrow parses a time of the same kind.
    #[test]
    fn agrees_with_arrow_parsing() {
        use arrow_schema::{DataType, TimeUnit};
        use container_arrow::parse_time;

        let unit = TimeUnit::Nanosecond;
        for date in ["", "2024-02-29", "2023-02-29", "2024-02-29T", "2024-02-29 "] {
            for clock in ["", "12:30", "12:30:59", "12:30:59.5000000", "12:30:59.0000001", "12:30.5", "24:00"] {
                for offset in ["", "Z", "z", "+02:00", "-0330", "+02", " +02:00", "+2", "+02:60"] {
                    let text = format!("{date}{clock}{offset}");
                    let is = |data_type: DataType| parse_time(&data_type, &text).is_some();
                    let expected = if is(DataType::Timestamp(unit, None)) {
                        LOCAL
                    } else if is(DataType::Timestamp(unit, Some("UTC".into()))) {
                        ZONED
                    } else {
                        if is(DataType::Time64(unit)) { CLOCK } else { ColumnKind::Text }
                    };
                    assert_eq!(kind_of(&text), expected, "{text}");
                }
            }
        }
    }
}

#[cfg(all(test, feature = "idv"))]
mod idv_tests {
    use ::idv::{DateTime, DateTimeOffset, TimeSpan};
    use proptest::prelude::*;

    use super::tests::{CLOCK, LOCAL, ZONED, kind_of};
    use super::*;

    /// The expected kind, by parsing with the IDV crate.
    fn parsed(text: &str) -> ColumnKind {
        let years = |ticks: i64| (0..=3_155_378_975_999_999_999).contains(&ticks);
        if text.parse::<DateTime>().is_ok_and(|time| years(time.0)) {
            return LOCAL;
        }
        let zoned = text.parse::<DateTimeOffset>().is_ok_and(|time| {
            let utc = time.ticks - i64::from(time.minutes) * 600_000_000;
            years(time.ticks) && years(utc) && i32::from(time.minutes).abs() <= MAX_OFFSET
        });
        if zoned {
            return ZONED;
        }
        if text.parse::<TimeSpan>().is_ok() { CLOCK } else { ColumnKind::Text }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn agrees_with_idv_parsing(
            date in "(0000|0001|1900|2000|2023|9999)-(0[0-3]|01|12|1[0-3])-(00|01|2[89]|3[0-2]|31)",
            clock in "(00|23|24|1):(00|59|60)(:(00|59|60)(\\.[05]{0,9})?)?",
            offset in "([+-](00|13|14|15)(:?(00|01|59|60))?|Z)?",
            form in 0..3_u8,
        ) {
            let text = match form {
                0 => format!("{date}{offset}"),
                1 => format!("{clock}{offset}"),
                _ => format!("{date}T{clock}{offset}"),
            };
            prop_assert_eq!(kind_of(&text), parsed(&text), "{}", text);
        }
    }
}
