//! Cells that are dates and times in ticks of 100 ns of the years 1 to 9999, told by their characters: looking at each text of a column is what
//! inference spends its time on.
//!
//! The forms are those that [`parse_time`](container_arrow::parse_time) reads. The order of cells does not matter.

use crate::text::seen::Kind;

/// .NET's offsets end here, in minutes.
const MOST_OFFSET: i32 = 14 * 60;
/// Digits of a tick behind the second.
const FRACTION: usize = 7;

/// Which times the cells of a column are, a bit each; 0 for no cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ticks(u8);

impl Ticks {
    /// `2024-05-01`, with `12:30`, `12:30:59`, `12:30:59.5` behind a `T` or a blank.
    const LOCAL: u8 = 1;
    /// The same with `Z`, `+02:00`, `+0200` or `+02`.
    const ZONED: u8 = 2;
    /// `12:30:59.5` alone.
    const CLOCK: u8 = 4;
    const OTHER: u8 = 8;
    /// Notes a cell.
    pub(super) fn see(&mut self, text: &str) {
        if !self.are_none() {
            self.0 |= of(text);
        }
    }

    /// Adds what was seen elsewhere.
    pub(super) const fn merge(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// No type has all of them.
    pub(super) const fn are_none(self) -> bool {
        !matches!(self.0, 0 | Self::LOCAL | Self::ZONED | Self::CLOCK)
    }

    /// The type that all have in common.
    pub(super) const fn kind(self) -> Kind {
        match self.0 {
            Self::LOCAL => Kind::Stamp(false, false),
            Self::ZONED => Kind::Stamp(false, true),
            Self::CLOCK => Kind::Time(false),
            _ => Kind::Text,
        }
    }
}

fn of(text: &str) -> u8 {
    let bytes = text.as_bytes();
    if let Some(rest) = clock(bytes) {
        return if rest.is_empty() { Ticks::CLOCK } else { Ticks::OTHER };
    }
    let rest = match date(bytes) {
        Some([b'T' | b't' | b' ', rest @ ..]) => clock(rest),
        rest => rest,
    };
    match rest {
        Some([]) => Ticks::LOCAL,
        Some(rest) => match offset(rest) {
            Some(minutes) if in_years(text, minutes) => Ticks::ZONED,
            _ => Ticks::OTHER,
        },
        _ => Ticks::OTHER,
    }
}

/// What follows a date of the years 1 to 9999.
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
    let is_exact = fraction.iter().skip(FRACTION).all(|digit| *digit == b'0');
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
    let ahead = i32::try_from(hours * 60 + minutes).ok().filter(|ahead| minutes < 60 && *ahead <= MOST_OFFSET)?;
    Some(if sign == b'-' { -ahead } else { ahead })
}

/// Whether a time with this offset is one of the years 1 to 9999 in UTC, too.
fn in_years(text: &str, offset: i32) -> bool {
    let minutes = || {
        let [b'T' | b't' | b' ', clock @ ..] = text.as_bytes().get(10..)? else { return None };
        let &[h1, h2, _, m1, m2] = clock.first_chunk()?;
        i32::try_from(digits(&[h1, h2])? * 60 + digits(&[m1, m2])?).ok()
    };
    let utc = minutes().unwrap_or(0) - offset; // a date alone is its midnight
    !(utc < 0 && text.starts_with("0001-01-01") || utc >= 24 * 60 && text.starts_with("9999-12-31"))
}

fn digits(text: &[u8]) -> Option<u32> {
    text.iter().try_fold(0, |number, &byte| byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: Kind = Kind::Stamp(false, false);
    const ZONED: Kind = Kind::Stamp(false, true);
    const CLOCK: Kind = Kind::Time(false);

    fn item(text: &str) -> Kind {
        let mut times = Ticks::default();
        times.see(text);
        times.kind()
    }

    #[test]
    fn a_column_has_one_kind_of_times() {
        let item = |texts: &[&str]| {
            let mut all = Ticks::default();
            for text in texts {
                let mut one = Ticks::default();
                one.see(text);
                all.merge(one);
            }
            all.kind()
        };
        assert_eq!(item(&["2024-05-01", "2024-05-01 12:30"]), LOCAL);
        assert_eq!(item(&["2024-05-01T00:00:00Z", "2024-05-01 00:00+0200"]), ZONED);
        assert_eq!(item(&["12:30", "12:30:59.5"]), CLOCK);
        for texts in [
            &[][..],
            &["text"],
            &["2024-05-01", "12:30"],
            &["2024-05-01", "2024-05-01Z"],
            &["2024-05-01", "text"],
            &["01:30.5"],
            &["12:30:00.00000001"],
        ] {
            assert_eq!(item(texts), Kind::Text, "{texts:?}");
        }
    }

    /// What is a time in IDV is one in Arrow, of the same kind.
    #[test]
    fn record_batches_have_the_same_times() {
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
                        if is(DataType::Time64(unit)) { CLOCK } else { Kind::Text }
                    };
                    assert_eq!(item(&text), expected, "{text}");
                }
            }
        }
    }

    #[cfg(feature = "idv")]
    mod idv {
        use ::idv::{DateTime, DateTimeOffset, TimeSpan};
        use proptest::prelude::*;

        use super::*;

        /// The same by parsing, of texts in the forms that are generated here.
        fn parsed(text: &str) -> Kind {
            let years = |ticks: i64| (0..=3_155_378_975_999_999_999).contains(&ticks);
            if text.parse::<DateTime>().is_ok_and(|time| years(time.0)) {
                return LOCAL;
            }
            let zoned = text.parse::<DateTimeOffset>().is_ok_and(|time| {
                let utc = time.ticks - i64::from(time.minutes) * 600_000_000;
                years(time.ticks) && years(utc) && i32::from(time.minutes).abs() <= MOST_OFFSET
            });
            if zoned {
                return ZONED;
            }
            if text.parse::<TimeSpan>().is_ok() { CLOCK } else { Kind::Text }
        }

        proptest! {
            #![proptest_config(ProptestConfig::with_cases(3000))]

            #[test]
            fn times_are_what_the_writer_reads(
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
                prop_assert_eq!(item(&text), parsed(&text), "{}", text);
            }
        }
    }
}
