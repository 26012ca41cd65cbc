//! Cells of CSV that are dates and times, told by their characters: looking at each text of a column is what inference spends its time on.
//!
//! The forms are those that `container_arrow::parse_time` reads, as far as IDV holds them exactly. The order of cells does not matter.

use idv::ItemType;

/// .NET's offsets end here, in minutes.
const MOST_OFFSET: u32 = 14 * 60;
/// The last tick of the year 9999.
const LAST_TICK: i64 = 3_155_378_975_999_999_999;
/// Digits of a tick behind the second.
const FRACTION: usize = 7;

/// Which times the cells of a column are, a bit each; none for no cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Times(u8);

impl Times {
    /// `2024-05-01`, with `12:30`, `12:30:59`, `12:30:59.5` behind a `T` or a blank.
    const LOCAL: u8 = 1;
    /// The same with `Z`, `+02:00`, `+0200` or `+02`.
    const ZONED: u8 = 2;
    /// `12:30:59.5` alone.
    const CLOCK: u8 = 4;
    const OTHER: u8 = 8;
    /// No cell is a time, or what they are has no type in common.
    pub(super) const NONE: Self = Self(Self::OTHER);

    /// Notes a cell.
    pub(super) fn see(&mut self, text: &str) {
        if self.item().is_some() || *self == Self::default() {
            self.0 |= of(text);
        }
    }

    /// Adds what was seen elsewhere.
    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The type that all have in common.
    pub(super) const fn item(self) -> Option<ItemType> {
        match self.0 {
            Self::LOCAL => Some(ItemType::DateTime),
            Self::ZONED => Some(ItemType::DateTimeOffset),
            Self::CLOCK => Some(ItemType::TimeSpan),
            _ => None,
        }
    }
}

fn of(text: &str) -> u8 {
    let bytes = text.as_bytes();
    if let Some(rest) = clock(bytes) {
        return if rest.is_empty() { Times::CLOCK } else { Times::OTHER };
    }
    let rest = match date(bytes) {
        Some([b'T' | b't' | b' ', rest @ ..]) => clock(rest),
        rest => rest,
    };
    match rest {
        Some([]) => Times::LOCAL,
        Some(rest) if is_offset(rest) && in_years(text) => Times::ZONED,
        _ => Times::OTHER,
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

fn is_offset(text: &[u8]) -> bool {
    let (hours, minutes) = match *text {
        [b'Z' | b'z'] => return true,
        [b'+' | b'-', a, b] => (digits(&[a, b]), Some(0)),
        [b'+' | b'-', a, b, b':', c, d] | [b'+' | b'-', a, b, c, d] => (digits(&[a, b]), digits(&[c, d])),
        _ => return false,
    };
    matches!((hours, minutes), (Some(hours), Some(minutes @ 0..60)) if hours * 60 + minutes <= MOST_OFFSET)
}

/// Whether a time with an offset is one of the years 1 to 9999 in UTC too.
fn in_years(text: &str) -> bool {
    if !text.starts_with("0001-01-01") && !text.starts_with("9999-12-31") {
        return true;
    }
    let utc = text.parse::<idv::DateTimeOffset>().map(|time| time.ticks - i64::from(time.minutes) * 600_000_000);
    utc.is_ok_and(|ticks| (0..=LAST_TICK).contains(&ticks))
}

fn digits(text: &[u8]) -> Option<u32> {
    text.iter().try_fold(0, |number, &byte| byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0')))
}

#[cfg(test)]
mod tests {
    use idv::{DateTime, DateTimeOffset, TimeSpan};
    use proptest::prelude::*;

    use super::*;

    /// The same by parsing, of texts in the forms that are generated here.
    fn parsed(text: &str) -> Option<ItemType> {
        let years = |ticks: i64| (0..=LAST_TICK).contains(&ticks);
        if text.parse::<DateTime>().is_ok_and(|time| years(time.0)) {
            return Some(ItemType::DateTime);
        }
        let zoned = text.parse::<DateTimeOffset>().is_ok_and(|time| {
            let utc = time.ticks - i64::from(time.minutes) * 600_000_000;
            years(time.ticks) && years(utc) && u32::from(time.minutes.unsigned_abs()) <= MOST_OFFSET
        });
        if zoned {
            return Some(ItemType::DateTimeOffset);
        }
        text.parse::<TimeSpan>().is_ok().then_some(ItemType::TimeSpan)
    }

    fn item(text: &str) -> Option<ItemType> {
        let mut times = Times::default();
        times.see(text);
        times.item()
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

    #[test]
    fn a_column_has_one_kind_of_times() {
        let item = |texts: &[&str]| {
            let mut all = Times::default();
            for text in texts {
                let mut one = Times::default();
                one.see(text);
                all = all.and(one);
            }
            all.item()
        };
        assert_eq!(item(&["2024-05-01", "2024-05-01 12:30"]), Some(ItemType::DateTime));
        assert_eq!(item(&["2024-05-01T00:00:00Z", "2024-05-01 00:00+0200"]), Some(ItemType::DateTimeOffset));
        assert_eq!(item(&["12:30", "12:30:59.5"]), Some(ItemType::TimeSpan));
        for texts in [
            &[][..],
            &["text"],
            &["2024-05-01", "12:30"],
            &["2024-05-01", "2024-05-01Z"],
            &["2024-05-01", "text"],
            &["01:30.5"],
            &["12:30:00.00000001"],
        ] {
            assert_eq!(item(texts), None, "{texts:?}");
        }
    }

    /// What is a time in IDV is one in Arrow, of the same kind.
    #[cfg(feature = "arrow")]
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
                        Some(ItemType::DateTime)
                    } else if is(DataType::Timestamp(unit, Some("UTC".into()))) {
                        Some(ItemType::DateTimeOffset)
                    } else {
                        is(DataType::Time64(unit)).then_some(ItemType::TimeSpan)
                    };
                    assert_eq!(item(&text), expected, "{text}");
                }
            }
        }
    }
}
