//! Numbers.

use super::Tokenizer;
use crate::Result;

/// A number. Integers of 64 bits are exact, `-0` is a float, and a float is the nearest to what is written.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Number {
    /// An integer that fits.
    I64(i64),
    /// A larger one.
    U64(u64),
    /// Any other number; of integers those that are exact.
    F64(f64),
    /// Out of range: an integer that no `f64` is equal to, or larger than any float.
    Beyond,
}

/// Powers of ten that `f64` represents exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Digits of integers that never overflow.
const MAX_DIGITS: usize = 18;

impl Tokenizer<'_> {
    /// Appends decimal digits to a number, which wraps on overflow. Returns how many.
    #[inline]
    fn digits(&mut self, number: &mut u64) -> usize {
        let start = self.at;
        while let Some(byte @ b'0'..=b'9') = self.peek() {
            *number = number.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            self.at += 1;
        }
        self.at - start
    }

    /// Takes one digit or more.
    #[inline(always)]
    fn some_digits(&mut self) -> Result<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(self.expected("a digit")) } else { Ok(()) }
    }

    /// Takes a number, and checks it.
    ///
    /// # Errors
    /// See [`Tokenizer`].
    #[inline(always)]
    pub fn skip_number(&mut self) -> Result<()> {
        match self.peek() {
            Some(b'-') => self.at += 1,
            Some(b'0'..=b'9') => {}
            _ => return Err(self.expected("a value")),
        }
        // A leading zero is not followed by digits.
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.some_digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.some_digits()?;
        }
        Ok(())
    }

    /// Takes a number.
    ///
    /// # Errors
    /// See [`Tokenizer`].
    #[inline]
    pub fn number(&mut self) -> Result<Number> {
        let start = self.at;
        let is_negative = self.peek() == Some(b'-');
        self.at += usize::from(is_negative);
        let mut number = 0;
        let mut digits = match self.peek() {
            // A leading zero is not followed by digits.
            Some(b'0') => {
                self.at += 1;
                1
            }
            _ => self.digits(&mut number),
        };
        if digits == 0 {
            return Err(self.expected(if is_negative { "a digit" } else { "a value" }));
        }
        if !matches!(self.peek(), Some(b'.' | b'e' | b'E')) {
            return Ok(match (i64::try_from(number), is_negative) {
                (Ok(0), true) if digits <= MAX_DIGITS => Number::F64(-0.0),
                (Ok(number), false) if digits <= MAX_DIGITS => Number::I64(number),
                (Ok(number), true) if digits <= MAX_DIGITS => Number::I64(-number),
                _ => self.large_integer(start),
            });
        }
        let mut exponent = 0_i64;
        if self.peek() == Some(b'.') {
            self.at += 1;
            let fraction = self.digits(&mut number);
            if fraction == 0 {
                return Err(self.expected("a digit"));
            }
            digits += fraction;
            exponent = -i64::try_from(fraction).unwrap_or(i64::MAX);
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            let is_negative_exponent = self.peek() == Some(b'-');
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            let mut power = 0;
            let count = self.digits(&mut power);
            if count == 0 {
                return Err(self.expected("a digit"));
            }
            let power = if count > 9 { i64::MAX / 2 } else { i64::try_from(power).unwrap_or(i64::MAX / 2) };
            exponent = exponent.saturating_add(if is_negative_exponent { -power } else { power });
        }
        // Both operands are exact, so the result is correctly rounded.
        if digits <= MAX_DIGITS
            && number < 1 << 53
            && let Some(power) = usize::try_from(exponent.unsigned_abs()).ok().and_then(|index| POWERS.get(index))
        {
            #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
            let float = number as f64;
            let float = if exponent < 0 { float / power } else { float * power };
            return Ok(Number::F64(if is_negative { -float } else { float }));
        }
        let float = self.since(start).parse::<f64>().ok().filter(|float| float.is_finite());
        Ok(float.map_or(Number::Beyond, Number::F64))
    }

    /// The integer that begins at `start`, which has more digits than never overflow.
    #[cold]
    fn large_integer(&self, start: usize) -> Number {
        let text = self.since(start);
        if let Ok(number) = text.parse::<i64>() {
            return Number::I64(number);
        }
        if let Ok(number) = text.parse::<u64>() {
            return Number::U64(number);
        }
        // No float has more digits.
        if text.len() > 310 {
            return Number::Beyond;
        }
        match text.parse::<f64>() {
            Ok(float) if float.is_finite() && format!("{float:.0}") == text => Number::F64(float),
            _ => Number::Beyond,
        }
    }
}
