use std::fmt;
use std::str::FromStr;

use container_core::{Error, Result};

/// A Python complex number, stored in a sample as text.
///
/// ```
/// use datadings::numpy::Complex;
/// let number: Complex = "(-0-1e+16j)".parse()?;
/// assert_eq!((number.re, number.im), (-0.0, -1e16));
/// assert_eq!(number.to_string(), "(-0-1e+16j)");
/// # Ok::<(), datadings::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Complex {
    /// The real part.
    pub re: f64,
    /// The imaginary part.
    pub im: f64,
}

impl FromStr for Complex {
    type Err = Error;

    /// Accepts what Python's `complex()` does: surrounding white space and one pair of parentheses, `nan`, `inf` and `infinity` in any case,
    /// underscores between digits.
    fn from_str(text: &str) -> Result<Self> {
        parse(text).ok_or_else(|| {
            let head: String = text.chars().take(60).collect();
            Error::invalid(format!("invalid complex number {head:?}"))
        })
    }
}

fn parse(text: &str) -> Option<Complex> {
    let text = text.trim();
    let text = match text.strip_prefix('(') {
        Some(inner) => inner.strip_suffix(')')?.trim(),
        None => text,
    };
    let (first, rest) = float(text);
    let Some(first) = first else {
        // No number, or only a sign, before the j means 1.
        let (sign, rest) = sign(text);
        return unit(rest).then_some(Complex { re: 0.0, im: sign });
    };
    if rest.is_empty() {
        return Some(Complex { re: first, im: 0.0 });
    }
    if unit(rest) {
        return Some(Complex { re: 0.0, im: first });
    }
    if !rest.starts_with(['+', '-']) {
        return None;
    }
    match float(rest) {
        (Some(im), rest) => unit(rest).then_some(Complex { re: first, im }),
        (None, rest) => {
            let (sign, rest) = sign(rest);
            unit(rest).then_some(Complex { re: first, im: sign })
        }
    }
}

fn unit(text: &str) -> bool {
    text == "j" || text == "J"
}

fn sign(text: &str) -> (f64, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (-1.0, text.get(1..).unwrap_or_default()),
        Some(b'+') => (1.0, text.get(1..).unwrap_or_default()),
        _ => (1.0, text),
    }
}

/// The float at the start of a string, and the rest.
fn float(text: &str) -> (Option<f64>, &str) {
    let (factor, body) = sign(text);
    for name in ["infinity", "inf", "nan"] {
        if let Some((word, rest)) = body.split_at_checked(name.len())
            && word.eq_ignore_ascii_case(name)
        {
            let value: f64 = if name == "nan" { f64::NAN } else { f64::INFINITY };
            return (Some(value.copysign(factor)), rest);
        }
    }
    let bytes = body.as_bytes();
    let mut digits = String::new();
    let mut at = 0;
    // Digits, with single underscores between them.
    let run = |at: &mut usize, digits: &mut String| {
        let start = digits.len();
        while let Some(&byte) = bytes.get(*at) {
            let between = digits.len() > start && bytes.get(*at + 1).is_some_and(u8::is_ascii_digit);
            match byte {
                b'0'..=b'9' => digits.push(byte.into()),
                b'_' if between => {}
                _ => break,
            }
            *at += 1;
        }
        digits.len() - start
    };
    let whole = run(&mut at, &mut digits);
    let mut fraction = 0;
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        digits.push('.');
        fraction = run(&mut at, &mut digits);
    }
    if whole + fraction == 0 {
        return (None, text);
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        let (mut ahead, mut exponent) = (at + 1, String::from("e"));
        if let Some(&sign @ (b'+' | b'-')) = bytes.get(ahead) {
            exponent.push(sign.into());
            ahead += 1;
        }
        if run(&mut ahead, &mut exponent) > 0 {
            at = ahead;
            digits.push_str(&exponent);
        }
    }
    (digits.parse::<f64>().ok().map(|value| value.copysign(factor)), body.get(at..).unwrap_or_default())
}

/// As Python's `repr`.
impl fmt::Display for Complex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.re == 0.0 && self.re.is_sign_positive() {
            part(self.im, f)?;
            return f.write_str("j");
        }
        f.write_str("(")?;
        part(self.re, f)?;
        if self.im.is_nan() || self.im.is_sign_positive() {
            f.write_str("+")?;
        }
        part(self.im, f)?;
        f.write_str("j)")
    }
}

/// Number of decimals. Rounding to as many reproduces the shortest digits, except for ties between neighbors, of which Python takes the
/// even one.
fn decimals(digits: &str) -> usize {
    digits.split_once('.').map_or(0, |(_, decimals)| decimals.len())
}

/// Shortest digits; an exponent of at least two digits below 1e-4 and from 1e16 on; no `.0`.
fn part(value: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if value.is_nan() {
        return f.write_str("nan");
    }
    if value.is_infinite() {
        return f.write_str(if value > 0.0 { "inf" } else { "-inf" });
    }
    if value == 0.0 || (1e-4..1e16).contains(&value.abs()) {
        let decimals = decimals(&format!("{value}"));
        return write!(f, "{value:.decimals$}");
    }
    let text = format!("{value:e}");
    let (digits, _) = text.split_once('e').unwrap_or((&text, "0"));
    let text = format!("{value:.*e}", decimals(digits));
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    match exponent.strip_prefix('-') {
        Some(exponent) => write!(f, "{digits}e-{exponent:0>2}"),
        None => write!(f, "{digits}e+{exponent:0>2}"),
    }
}
