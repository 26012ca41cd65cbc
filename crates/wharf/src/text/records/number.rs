//! What there is to know of a number before its type is chosen.

/// The greatest integer up to which a Double has all of them.
const EXACT: i128 = 1 << 53;

/// A number's text, understood as far as its column's type depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    /// Digits alone. What 128 bits do not hold is their greatest or least.
    Integer {
        value: i128,
        /// A Double holds it as it is.
        exact: bool,
    },
    /// With a point or an exponent, or `-0`: no integer has that sign.
    Float,
    /// Greater than any Double.
    Beyond,
}

/// Understands a text that has the syntax of a number.
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
        return if float.is_infinite() { Number::Beyond } else { Number::Float };
    }
    match text.parse::<i128>() {
        Ok(value) => Number::Integer { value, exact: is_exact(value) },
        Err(_) => {
            let negative = text.starts_with('-');
            let value = if negative { i128::MIN } else { i128::MAX };
            match text.parse::<f64>() {
                Ok(float) if float.is_finite() => {
                    // All digits of the Double, which `{}` would fill up with zeros.
                    Number::Integer { value, exact: text.len() < 400 && format!("{float:.0}") == text }
                }
                _ => Number::Beyond,
            }
        }
    }
}

fn is_exact(value: i128) -> bool {
    if (-EXACT..=EXACT).contains(&value) {
        return true;
    }
    // What is left of the zeros behind its last one bit must fit the 53 bits of a Double.
    let odd = value.unsigned_abs() >> value.trailing_zeros();
    odd >> 53 == 0
}

/// Whether a cell is a number: digits, perhaps a minus, a point, an exponent. `+1` and `007` are none: they would not come
/// back as they were.
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

/// The words that floats are printed as when they are no number.
pub(crate) fn is_float_word(text: &str) -> bool {
    matches!(text, "NaN" | "Infinity" | "-Infinity")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_know_whether_a_double_holds_them() {
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
    fn floats_end_somewhere() {
        assert_eq!(number("1.0"), Number::Float);
        assert_eq!(number("-0"), Number::Float);
        assert_eq!(number("1e308"), Number::Float);
        assert_eq!(number("1e-999"), Number::Float);
        assert_eq!(number("-1e309"), Number::Beyond);
        assert_eq!(number(&"9".repeat(400)), Number::Beyond);
        assert_eq!(number(&"9".repeat(309)), Number::Beyond);
        assert_eq!(number(&"9".repeat(308)), Number::Integer { value: i128::MAX, exact: false });
    }

    #[test]
    fn cells_that_are_numbers() {
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
