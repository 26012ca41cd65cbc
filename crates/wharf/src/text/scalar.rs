//! Types of unquoted-or-quoted CSV cells: the scalar that a cell's text denotes.

use crate::text::records::number::{Number, is_float_word, is_number, number};

/// The scalar that a cell's text denotes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scalar {
    Bool(bool),
    Integer(i64),
    /// An integer outside `i64`, saturated to `i128`, and whether an `f64` holds it exactly.
    Large(i128, bool),
    /// With a decimal point or an exponent, or `-0`; and its value, if that is short.
    Float(Option<f64>),
    /// A number that overflows `f64`.
    Overflow,
    /// `NaN`, `Infinity` or `-Infinity`.
    NonFinite,
    Text,
}

impl Scalar {
    /// Parses non-empty text.
    #[inline]
    pub(crate) fn parse(text: &str) -> Self {
        match text.as_bytes() {
            [b'0'..=b'9' | b'-' | b'.', ..] => Self::number(text),
            [b't' | b'T' | b'f' | b'F', ..] if text.eq_ignore_ascii_case("true") => Self::Bool(true),
            [b't' | b'T' | b'f' | b'F', ..] if text.eq_ignore_ascii_case("false") => Self::Bool(false),
            [b'N' | b'I', ..] if is_float_word(text) => Self::NonFinite,
            _ => Self::Text,
        }
    }

    #[inline]
    fn number(text: &str) -> Self {
        let bytes = text.as_bytes();
        let (negative, digits) = match bytes.split_first() {
            Some((b'-', digits)) => (true, digits),
            _ => (false, bytes),
        };
        let (mut value, mut count) = (0_i64, 0);
        for byte in digits {
            // 18 digits always fit into an i64.
            if !byte.is_ascii_digit() || count == 18 {
                return Self::long_or_fractional(text, (negative, value), count, digits);
            }
            value = value * 10 + i64::from(byte - b'0');
            count += 1;
        }
        match (digits, negative) {
            ([b'0', _, ..], _) | ([], _) => Self::long_or_fractional(text, (negative, value), count, digits),
            ([b'0'], true) => Self::Float(Some(-0.0)),
            (_, true) => Self::Integer(-value),
            (_, false) => Self::Integer(value),
        }
    }

    /// Parses what is not a short run of digits. The first `count` digits are parsed.
    #[inline]
    fn long_or_fractional(text: &str, (negative, value): (bool, i64), count: usize, digits: &[u8]) -> Self {
        // By far the most frequent case: digits, a point, digits.
        if let (Some(b'.'), Some(fraction)) = (digits.get(count), digits.get(count + 1..))
            && (count == 1 || count > 1 && digits.first() != Some(&b'0'))
            && fraction.iter().all(u8::is_ascii_digit)
        {
            return Self::Float(short_decimal(negative, value, count, fraction));
        }
        Self::other(text)
    }

    fn other(text: &str) -> Self {
        if !is_number(text) {
            return if is_float_word(text) { Self::NonFinite } else { Self::Text };
        }
        match number(text) {
            Number::Float => Self::Float(None),
            Number::Overflow => Self::Overflow,
            Number::Integer { value, exact } => match i64::try_from(value) {
                Ok(value) => Self::Integer(value),
                Err(_) => Self::Large(value, exact),
            },
        }
    }
}

/// Powers of ten that are exact as `f64`, as far as they are needed.
const POWERS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// The value of a decimal with `count` digits before its point, if it has at most 15 digits: they and the power of ten are exact as `f64`, so
/// their quotient is the nearest `f64`.
#[inline]
#[expect(clippy::cast_precision_loss, reason = "below 2^53")]
fn short_decimal(negative: bool, whole: i64, count: usize, fraction: &[u8]) -> Option<f64> {
    let power = POWERS.get(fraction.len()).filter(|_| count + fraction.len() <= 15)?;
    let digits = fraction.iter().fold(whole, |value, digit| value * 10 + i64::from(digit.wrapping_sub(b'0')));
    let value = digits as f64 / power;
    Some(if negative { -value } else { value })
}

/// Whether a number has JSON syntax. CSV cells may also begin or end with the decimal point.
pub(super) fn is_json_number(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    let whole = digits.bytes().take_while(u8::is_ascii_digit).count();
    let behind = digits.get(whole..).unwrap_or_default();
    whole > 0 && behind.strip_prefix('.').is_none_or(|fraction| fraction.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether text begins and ends like a JSON array or object.
#[inline]
pub(crate) fn may_be_nested(text: &str) -> bool {
    matches!(text.as_bytes(), [b'[', .., b']'] | [b'{', .., b'}'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parses_scalars() {
        for (text, word) in [
            ("true", Scalar::Bool(true)),
            ("FALSE", Scalar::Bool(false)),
            ("truth", Scalar::Text),
            ("0", Scalar::Integer(0)),
            ("-12", Scalar::Integer(-12)),
            ("-0", Scalar::Float(Some(-0.0))),
            ("007", Scalar::Text),
            ("-01", Scalar::Text),
            ("+1", Scalar::Text),
            ("-", Scalar::Text),
            (".", Scalar::Text),
            ("1.5", Scalar::Float(Some(1.5))),
            ("0.5", Scalar::Float(Some(0.5))),
            ("00.5", Scalar::Text),
            (".5", Scalar::Float(None)),
            ("5.", Scalar::Float(Some(5.0))),
            ("-1e5", Scalar::Float(None)),
            ("1e400", Scalar::Overflow),
            ("1.2.3", Scalar::Text),
            ("2024-05-01", Scalar::Text),
            ("9223372036854775807", Scalar::Integer(i64::MAX)),
            ("-9223372036854775808", Scalar::Integer(i64::MIN)),
            ("18446744073709551615", Scalar::Large(u64::MAX.into(), false)),
            ("9223372036854775808", Scalar::Large(1 << 63, true)),
            ("NaN", Scalar::NonFinite),
            ("-Infinity", Scalar::NonFinite),
            ("nan", Scalar::Text),
            ("1 ", Scalar::Text),
        ] {
            assert_eq!(Scalar::parse(text), word, "{text}");
        }
    }

    proptest! {
        #[test]
        fn values_of_floats_are_exact(text in "-?(0|[1-9][0-9]{0,9})\\.[0-9]{0,9}") {
            match Scalar::parse(&text) {
                Scalar::Float(Some(value)) => prop_assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits()),
                scalar => prop_assert!(scalar == Scalar::Float(None) && text.len() > 16, "{} is {:?}", text, scalar),
            }
        }
    }

    #[test]
    fn recognizes_json_numbers() {
        for (word, expected) in
            [("1", true), ("-1.5e+3", true), (".5", false), ("5.", false), ("5.e1", false), ("-.5", false)]
        {
            assert_eq!(is_json_number(word), expected, "{word}");
            assert_eq!(serde_json::from_str::<f64>(word).is_ok(), expected, "{word}");
        }
    }
}
