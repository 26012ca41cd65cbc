//! Types of unquoted-or-quoted CSV cells: the scalar that a cell's text denotes.

use crate::text::records::number::{Number, is_float_word, is_number, number};

/// The scalar that a cell's text denotes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scalar {
    Bool(bool),
    Integer(i64),
    /// An integer outside `i64`, saturated to `i128`, and whether an `f64` holds it exactly.
    Large(i128, bool),
    /// With a decimal point or an exponent, or `-0`.
    Float,
    /// A number that overflows `f64`.
    Overflow,
    /// `NaN`, `Infinity` or `-Infinity`.
    NonFinite,
    Text,
}

impl Scalar {
    /// Parses non-empty text.
    #[inline]
    pub(super) fn parse(text: &str) -> Self {
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
                return Self::long_or_fractional(text, count, digits);
            }
            value = value * 10 + i64::from(byte - b'0');
            count += 1;
        }
        match (digits, negative) {
            ([b'0', _, ..], _) | ([], _) => Self::long_or_fractional(text, count, digits),
            ([b'0'], true) => Self::Float,
            (_, true) => Self::Integer(-value),
            (_, false) => Self::Integer(value),
        }
    }

    /// Parses what is not a short run of digits.
    fn long_or_fractional(text: &str, count: usize, digits: &[u8]) -> Self {
        // By far the most frequent case: digits, a point, digits.
        if let (Some(b'.'), Some(fraction)) = (digits.get(count), digits.get(count + 1..))
            && (count == 1 || count > 1 && digits.first() != Some(&b'0'))
            && fraction.iter().all(u8::is_ascii_digit)
        {
            return Self::Float;
        }
        if !is_number(text) {
            return if is_float_word(text) { Self::NonFinite } else { Self::Text };
        }
        match number(text) {
            Number::Float => Self::Float,
            Number::Overflow => Self::Overflow,
            Number::Integer { value, exact } => match i64::try_from(value) {
                Ok(value) => Self::Integer(value),
                Err(_) => Self::Large(value, exact),
            },
        }
    }
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
    use super::*;

    #[test]
    fn parses_scalars() {
        for (text, word) in [
            ("true", Scalar::Bool(true)),
            ("FALSE", Scalar::Bool(false)),
            ("truth", Scalar::Text),
            ("0", Scalar::Integer(0)),
            ("-12", Scalar::Integer(-12)),
            ("-0", Scalar::Float),
            ("007", Scalar::Text),
            ("-01", Scalar::Text),
            ("+1", Scalar::Text),
            ("-", Scalar::Text),
            (".", Scalar::Text),
            ("1.5", Scalar::Float),
            ("0.5", Scalar::Float),
            ("00.5", Scalar::Text),
            (".5", Scalar::Float),
            ("5.", Scalar::Float),
            ("-1e5", Scalar::Float),
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
