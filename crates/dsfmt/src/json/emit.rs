//! Emits JSON as Python's `json.dumps` does with default settings.

use std::fmt::Write;

/// Appends a quoted string: non-ASCII characters become `\uXXXX` escapes, surrogate pairs beyond 16 bits.
pub(crate) fn put_str(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}"); // writing to a String cannot fail
                }
            }
        }
    }
    out.push('"');
}

/// Appends a float as Python's `repr`: shortest digits, always a point, an exponent from 1e16 up and below 1e-4.
pub(crate) fn put_f64(out: &mut String, number: f64) {
    if number.is_nan() {
        return out.push_str("NaN");
    }
    if number.is_infinite() {
        return out.push_str(if number > 0.0 { "Infinity" } else { "-Infinity" });
    }
    let digits = digits(number);
    let (digits, exponent) = digits.split_once('e').unwrap_or((&digits, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        point(out, digits, exponent);
        return;
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    let _ = write!(out, "{digits}e{sign}{:02}", exponent.unsigned_abs());
}

/// The shortest digits that round-trip, as `d.ddde-4`. Python breaks ties to the even digit, Rust to the larger one.
fn digits(number: f64) -> String {
    let shortest = format!("{number:e}");
    let count = shortest.split('e').next().unwrap_or_default().bytes().filter(u8::is_ascii_digit).count();
    let nearest = format!("{number:.*e}", count.saturating_sub(1));
    // At a power of two, the nearest value with this many digits may parse as the neighboring number.
    if nearest != shortest && nearest.parse() == Ok(number) { nearest } else { shortest }
}

/// Appends `d.ddd` with the point shifted by `exponent`, with at least one digit on each side.
fn point(out: &mut String, digits: &str, exponent: i32) {
    out.push_str(if digits.starts_with('-') { "-" } else { "" });
    let digits: String = digits.chars().filter(char::is_ascii_digit).collect();
    match usize::try_from(exponent) {
        Err(_) => {
            out.push_str("0.");
            out.extend((exponent + 1..0).map(|_| '0'));
            out.push_str(&digits);
        }
        Ok(exponent) => {
            let (before, behind) = digits.split_at_checked(exponent + 1).unwrap_or((&digits, ""));
            out.push_str(before);
            out.extend(std::iter::repeat_n('0', exponent + 1 - before.len()));
            out.push('.');
            out.push_str(if behind.is_empty() { "0" } else { behind });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_python_strings_and_floats() {
        let mut out = String::new();
        put_str(&mut out, "a\"\\\n\t\u{8}\u{c}\r\u{1}\u{7f}\u{fc}\u{1f600}/");
        assert_eq!(out, r#""a\"\\\n\t\b\f\r\u0001\u007f\u00fc\ud83d\ude00/""#);
        for (number, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.25e-7, "1.25e-07"),
            (5e-324, "5e-324"),
            (0.1, "0.1"),
            (-120.5, "-120.5"),
            (-0.00125, "-0.00125"),
            (100.0, "100.0"),
            // A tie: equally near to the one ending in 3.
            (89_051_871_641_296.0 + 0.125, "89051871641296.12"),
            (-89_051_871_641_296.0 - 0.125, "-89051871641296.12"),
            (89_051_871_641_296.0 + 0.375, "89051871641296.38"),
            (2f64.powi(-44), "5.684341886080802e-14"),
            (9_007_199_254_740_993.0, "9007199254740992.0"),
            (f64::from_bits(1), "5e-324"),
            (2f64.powi(89), "6.189700196426902e+26"),
            (f64::from(1e20f32), "1.0000000200408773e+20"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            let mut out = String::new();
            put_f64(&mut out, number);
            assert_eq!(out, expected);
        }
    }
}
