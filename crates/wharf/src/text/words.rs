//! What the words of CSV are.

use crate::text::records::number::{Number, is_float_word, is_number, number};

/// A word, understood.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Word {
    Bool(bool),
    Integer(i64),
    /// An integer beyond 64 bits with a sign, and whether a float holds it exactly. What 128 bits do not hold is their greatest or least.
    Large(i128, bool),
    /// With a point or an exponent, or `-0`.
    Float,
    /// No float is so great.
    Beyond,
    /// A word that floats are printed as when they are no number.
    NoNumber,
    Text,
}

impl Word {
    /// What a word is that is not empty.
    #[inline]
    pub(super) fn of(text: &str) -> Self {
        match text.as_bytes() {
            [b'0'..=b'9' | b'-' | b'.', ..] => Self::number(text),
            [b't' | b'T' | b'f' | b'F', ..] if text.eq_ignore_ascii_case("true") => Self::Bool(true),
            [b't' | b'T' | b'f' | b'F', ..] if text.eq_ignore_ascii_case("false") => Self::Bool(false),
            [b'N' | b'I', ..] if is_float_word(text) => Self::NoNumber,
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
            // As many digits always fit.
            if !byte.is_ascii_digit() || count == 18 {
                return Self::other(text, count, digits);
            }
            value = value * 10 + i64::from(byte - b'0');
            count += 1;
        }
        match (digits, negative) {
            ([b'0', _, ..], _) | ([], _) => Self::other(text, count, digits),
            ([b'0'], true) => Self::Float,
            (_, true) => Self::Integer(-value),
            (_, false) => Self::Integer(value),
        }
    }

    /// Not only a few digits.
    fn other(text: &str, count: usize, digits: &[u8]) -> Self {
        // The most frequent by far: digits, a point, digits.
        if let (Some(b'.'), Some(fraction)) = (digits.get(count), digits.get(count + 1..))
            && (count == 1 || count > 1 && digits.first() != Some(&b'0'))
            && fraction.iter().all(u8::is_ascii_digit)
        {
            return Self::Float;
        }
        if !is_number(text) {
            return if is_float_word(text) { Self::NoNumber } else { Self::Text };
        }
        match number(text) {
            Number::Float => Self::Float,
            Number::Beyond => Self::Beyond,
            Number::Integer { value, exact } => match i64::try_from(value) {
                Ok(value) => Self::Integer(value),
                Err(_) => Self::Large(value, exact),
            },
        }
    }
}

/// Is it a number as JSON has it? Words may end or begin with the point.
pub(super) fn is_json_number(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    let whole = digits.bytes().take_while(u8::is_ascii_digit).count();
    let behind = digits.get(whole..).unwrap_or_default();
    whole > 0 && behind.strip_prefix('.').is_none_or(|fraction| fraction.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a word begins and ends as an array or an object of JSON does.
#[inline]
pub(crate) fn may_be_nested(text: &str) -> bool {
    matches!(text.as_bytes(), [b'[', .., b']'] | [b'{', .., b'}'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_they_look_like() {
        for (text, word) in [
            ("true", Word::Bool(true)),
            ("FALSE", Word::Bool(false)),
            ("truth", Word::Text),
            ("0", Word::Integer(0)),
            ("-12", Word::Integer(-12)),
            ("-0", Word::Float),
            ("007", Word::Text),
            ("-01", Word::Text),
            ("+1", Word::Text),
            ("-", Word::Text),
            (".", Word::Text),
            ("1.5", Word::Float),
            ("0.5", Word::Float),
            ("00.5", Word::Text),
            (".5", Word::Float),
            ("5.", Word::Float),
            ("-1e5", Word::Float),
            ("1e400", Word::Beyond),
            ("1.2.3", Word::Text),
            ("2024-05-01", Word::Text),
            ("9223372036854775807", Word::Integer(i64::MAX)),
            ("-9223372036854775808", Word::Integer(i64::MIN)),
            ("18446744073709551615", Word::Large(u64::MAX.into(), false)),
            ("9223372036854775808", Word::Large(1 << 63, true)),
            ("NaN", Word::NoNumber),
            ("-Infinity", Word::NoNumber),
            ("nan", Word::Text),
            ("1 ", Word::Text),
        ] {
            assert_eq!(Word::of(text), word, "{text}");
        }
    }

    #[test]
    fn numbers_of_json() {
        for (word, is) in
            [("1", true), ("-1.5e+3", true), (".5", false), ("5.", false), ("5.e1", false), ("-.5", false)]
        {
            assert_eq!(is_json_number(word), is, "{word}");
            assert_eq!(serde_json::from_str::<f64>(word).is_ok(), is, "{word}");
        }
    }
}
