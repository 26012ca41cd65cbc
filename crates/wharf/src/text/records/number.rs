//! Classifies the text of numbers before a column's type is chosen.

/// Integers up to this magnitude are exact as `f64`.
const MAX_EXACT: i128 = 1 << 53;

/// A number, as far as its column's type depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    /// Digits alone, saturated to `i128`.
    Integer {
        value: i128,
        /// Exact as `f64`.
        exact: bool,
    },
    /// With a decimal point or an exponent, or `-0`, which no integer type holds.
    Float,
    /// Overflows `f64`.
    Overflow,
}

/// Classifies text that has the syntax of a number.
pub(crate) fn number(text: &str) -> Number {
    if text.len() < 16
        && let Ok(value) = text.parse::<i64>()
    {
        if value == 0 && text.starts_with('-') {
            return Number::Float;
        }
        return Number::Integer { value: value.into(), exact: true };
    }
    if text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        let float = text.parse::<f64>().unwrap_or(f64::NAN);
        return if float.is_infinite() { Number::Overflow } else { Number::Float };
    }
    match text.parse::<i128>() {
        Ok(value) => Number::Integer { value, exact: is_exact(value) },
        Err(_) => {
            let negative = text.starts_with('-');
            let value = if negative { i128::MIN } else { i128::MAX };
            match text.parse::<f64>() {
                Ok(float) if float.is_finite() => {
                    // `{:.0}` prints all digits of the float.
                    Number::Integer { value, exact: text.len() < 400 && format!("{float:.0}") == text }
                }
                _ => Number::Overflow,
            }
        }
    }
}

fn is_exact(value: i128) -> bool {
    if (-MAX_EXACT..=MAX_EXACT).contains(&value) {
        return true;
    }
    // Without trailing zero bits it must fit the 53 bits of a float's mantissa.
    let odd = value.unsigned_abs() >> value.trailing_zeros();
    odd >> 53 == 0
}

/// Whether a cell is a number: digits, optionally with a minus, a decimal point, an exponent. `+1` and `007` are not: they would
/// not round-trip.
pub(crate) fn is_number(text: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.strip_prefix('-').unwrap_or(text);
    let whole = digits(rest);
    if whole > 1 && rest.starts_with('0') {
        return false;
    }
    let mut rest = rest.get(whole..).unwrap_or_default();
    let mut parts = whole;
    if let Some(after) = rest.strip_prefix('.') {
        let fraction = digits(after);
        parts += fraction;
        rest = after.get(fraction..).unwrap_or_default();
    }
    if parts == 0 {
        return false;
    }
    match rest.strip_prefix(['e', 'E']) {
        None => rest.is_empty(),
        Some(exponent) => {
            let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            !exponent.is_empty() && digits(exponent) == exponent.len()
        }
    }
}

/// The spellings of non-finite floats.
pub(crate) fn is_float_word(text: &str) -> bool {
    matches!(text, "NaN" | "Infinity" | "-Infinity")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_integers_exact_as_float() {
        let exact = |text: &str| match number(text) {
            Number::Integer { exact, .. } => exact,
            other => unreachable!("{text} is {other:?}"),
        };
        for text in [
            "0",
            "-1",
            "9007199254740992",
            "9007199254740994",
            "-9223372036854775808",
            "18446744073709549568",
            "100000000000000000000",
            "170141183460469231731687303715884105728",
            "340282366920938463463374607431768211456",
            "99999999999999991611392",
        ] {
            assert!(exact(text), "{text}");
        }
        for text in [
            "9007199254740993",
            "9223372036854775807",
            "18446744073709551615",
            "100000000000000000000000",
            "340282366920938463463374607431768211457",
            "1000000000000000000000000000000000000000000000000000000000000000000000000000001",
        ] {
            assert!(!exact(text), "{text}");
        }
        assert_eq!(number("-9223372036854775809"), Number::Integer { value: -9_223_372_036_854_775_809, exact: false });
    }

    #[test]
    fn classifies_floats_and_overflow() {
        assert_eq!(number("1.0"), Number::Float);
        assert_eq!(number("-0"), Number::Float);
        assert_eq!(number("1e308"), Number::Float);
        assert_eq!(number("1e-999"), Number::Float);
        assert_eq!(number("-1e309"), Number::Overflow);
        assert_eq!(number(&"9".repeat(400)), Number::Overflow);
        assert_eq!(number(&"9".repeat(309)), Number::Overflow);
        assert_eq!(number(&"9".repeat(308)), Number::Integer { value: i128::MAX, exact: false });
    }

    #[test]
    fn recognizes_numbers() {
        for text in ["0", "-0", "7", "-12", "0.5", ".5", "5.", "1e5", "1E-5", "-1.5e+10", "0e0"] {
            assert!(is_number(text), "{text}");
            assert!(text.parse::<f64>().is_ok(), "{text}");
        }
        for text in
            ["", "-", ".", "007", "00.5", "-01", "+1", "1e", "1e+", "e5", "1 ", " 1", "1,5", "0x1", "1_0", "--1"]
        {
            assert!(!is_number(text), "{text}");
        }
    }
}
