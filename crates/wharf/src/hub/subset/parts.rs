//! How records are split into parts.

use std::ops::Range;
use std::str::FromStr;

use container_core::{Error, Result};

/// Maximum number of outputs: more are a mistake.
const MAX_PARTS: u64 = 10_000;

/// How records are split into parts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parts {
    /// A new part begins at each of these records, counted from 0.
    At(Vec<u64>),
    /// This many parts, whose sizes differ by at most one record.
    Equal(u64),
    /// This many records in each part; the last one can be smaller.
    Every(u64),
    /// These fractions of the records.
    Fractions(Fractions),
}

impl Parts {
    /// The ranges for `len` records.
    pub(super) fn of(&self, len: u64) -> Result<Stretches> {
        let option = match self {
            Self::At(_) => "at",
            Self::Equal(_) => "parts",
            Self::Every(_) => "every",
            Self::Fractions(_) => "fractions",
        };
        match self {
            Self::Equal(0) | Self::Every(0) => Err(Error::usage("must be at least 1, found 0").in_option(option)),
            Self::At(positions) => Stretches::at(len, positions),
            Self::Equal(count) => Stretches::equal(len, *count),
            Self::Every(size) => Stretches::every(len, *size),
            Self::Fractions(fractions) => fractions.stretches(len),
        }
    }
}

/// Consecutive ranges that cover all records.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stretches {
    /// The end of each.
    ends: Vec<u64>,
}

impl Stretches {
    /// A new range begins at each of these records.
    fn at(len: u64, positions: &[u64]) -> Result<Self> {
        let mut before = 0;
        for &position in positions {
            if position <= before {
                let detail = format!("{position} after {before}: positions must increase and be above 0");
                return Err(Error::usage(detail).in_option("at"));
            }
            if position >= len {
                let s = if len == 1 { "" } else { "s" };
                let detail = format!("no record {position}: the input has {len} record{s}, counted from 0");
                return Err(Error::usage(detail));
            }
            before = position;
        }
        check_count(positions.len() as u64 + 1)?;
        Ok(Self { ends: positions.iter().copied().chain([len]).collect() })
    }

    /// `count` ranges, whose sizes differ by at most one.
    fn equal(len: u64, count: u64) -> Result<Self> {
        check_count(count)?;
        let (share, more) = (len / count, len % count);
        Ok(Self { ends: (1..=count).map(|number| number * share + number.min(more)).collect() })
    }

    /// Ranges of `size` records; the last one can be smaller.
    fn every(len: u64, size: u64) -> Result<Self> {
        let count = len.div_ceil(size).max(1);
        check_count(count)?;
        Ok(Self { ends: (1..=count).map(|number| number.saturating_mul(size).min(len)).collect() })
    }

    pub(super) fn count(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| start..end)
    }
}

fn check_count(count: u64) -> Result<()> {
    if count <= MAX_PARTS {
        return Ok(());
    }
    Err(Error::usage(format!("{count} outputs exceed the limit {MAX_PARTS}")))
}

/// Fractions that add up to 1, in billionths, so that decimal notation is exact: `"0.8,0.1,0.1".parse()`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fractions(Vec<u64>);

/// 1 in billionths.
const ONE: u64 = 1_000_000_000;

impl Fractions {
    /// Splits at the record nearest to each cumulative sum.
    fn stretches(&self, len: u64) -> Result<Stretches> {
        check_count(self.0.len() as u64)?;
        let mut sum = 0;
        let ends = self.0.iter().map(|share| {
            sum += share;
            let end = (u128::from(len) * u128::from(sum) + u128::from(ONE / 2)) / u128::from(ONE);
            u64::try_from(end).unwrap_or(len).min(len)
        });
        Ok(Stretches { ends: ends.collect() })
    }
}

impl FromStr for Fractions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shares = text.split(',').map(parse_fraction).collect::<Result<Vec<_>, _>>()?;
        let sum = shares.iter().fold(0, |sum: u64, share| sum.saturating_add(*share));
        // Thirds can be written with any number of digits.
        if sum.abs_diff(ONE) > shares.len() as u64 * (ONE / 100_000) {
            let shown = format!("{}.{:09}", sum / ONE, sum % ONE);
            return Err(format!(
                "the fractions add up to {}, not to 1",
                shown.trim_end_matches('0').trim_end_matches('.')
            ));
        }
        let mut shares = shares;
        if let Some(last) = shares.last_mut() {
            *last = (*last + ONE).saturating_sub(sum);
        }
        Ok(Self(shares))
    }
}

/// `0.25` in billionths.
fn parse_fraction(text: &str) -> Result<u64, String> {
    let wrong = || format!("invalid fraction {text:?}: expected a number from 0 to 1, such as 0.25");
    let (whole, digits) = text.split_once('.').unwrap_or((text, ""));
    let decimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !decimal(whole) || !decimal(digits) || (whole.is_empty() && digits.is_empty()) || digits.len() > 100 {
        return Err(wrong());
    }
    let nine = format!("{digits:0<9}");
    let part: u64 = nine.get(..9).and_then(|nine| nine.parse().ok()).ok_or_else(wrong)?;
    match whole.trim_start_matches('0') {
        "" => Ok(part),
        "1" if part == 0 => Ok(ONE),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(parts: Result<Stretches>) -> Vec<(u64, u64)> {
        parts.unwrap().ranges().map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn ranges_cover_all_records() {
        assert_eq!(ranges(Stretches::at(10, &[3, 7])), [(0, 3), (3, 7), (7, 10)]);
        assert_eq!(ranges(Stretches::equal(11, 3)), [(0, 4), (4, 8), (8, 11)]);
        assert_eq!(ranges(Stretches::equal(2, 3)), [(0, 1), (1, 2), (2, 2)]);
        assert_eq!(ranges(Stretches::equal(0, 2)), [(0, 0), (0, 0)]);
        assert_eq!(ranges(Stretches::every(10, 4)), [(0, 4), (4, 8), (8, 10)]);
        assert_eq!(ranges(Stretches::every(8, 4)), [(0, 4), (4, 8)]);
        assert_eq!(ranges(Stretches::every(0, 4)), [(0, 0)]);
        assert_eq!(ranges(Stretches::every(5, u64::MAX)), [(0, 5)]);
        assert_eq!(ranges(Stretches::equal(u64::MAX, 2)), [(0, u64::MAX / 2 + 1), (u64::MAX / 2 + 1, u64::MAX)]);
    }

    #[test]
    fn rejects_invalid_positions() {
        let at = |len, positions: &[u64]| Stretches::at(len, positions).unwrap_err().to_string();
        assert_eq!(at(10, &[0]), "at 0 after 0: positions must increase and be above 0");
        assert_eq!(at(10, &[5, 3]), "at 3 after 5: positions must increase and be above 0");
        assert_eq!(at(10, &[5, 5]), "at 5 after 5: positions must increase and be above 0");
        assert_eq!(at(10, &[10]), "no record 10: the input has 10 records, counted from 0");
        let error = Stretches::every(1 << 40, 1).unwrap_err().to_string();
        assert_eq!(error, "1099511627776 outputs exceed the limit 10000");
        assert!(Stretches::equal(5, 10_001).is_err());
    }

    #[test]
    fn fractions_are_exact() {
        let cut = |text: &str, len| ranges(text.parse::<Fractions>().unwrap().stretches(len));
        assert_eq!(cut("0.8,0.1,0.1", 150), [(0, 120), (120, 135), (135, 150)]);
        assert_eq!(cut(".7,.2,.1", 10), [(0, 7), (7, 9), (9, 10)]);
        assert_eq!(cut("0.333,0.333,0.334", 3), [(0, 1), (1, 2), (2, 3)]);
        assert_eq!(cut("0.33333,0.33333,0.33333", 300_000), [(0, 99_999), (99_999, 199_998), (199_998, 300_000)]);
        assert_eq!(cut("1", 7), [(0, 7)]);
        assert_eq!(cut("0,1.0", 7), [(0, 0), (0, 7)]);
        assert_eq!(cut("0.5,0.5", u64::MAX).last().unwrap().1, u64::MAX);
        assert_eq!(cut("0.5,0.5", 0), [(0, 0), (0, 0)]);
    }

    #[test]
    fn rejects_invalid_fractions() {
        let wrong = |text: &str| text.parse::<Fractions>().unwrap_err();
        assert_eq!(wrong("0.8,0.1"), "the fractions add up to 0.9, not to 1");
        assert_eq!(wrong("1,1"), "the fractions add up to 2, not to 1");
        for text in ["80", "-0.5", "1e-1", "a", "", ".", "1.5", "0.5,,0.5", "0.5 0.5"] {
            assert!(wrong(text).contains("invalid fraction"), "{text:?}: {}", wrong(text));
        }
    }
}
