//! The size of a filter and the number of bits per key.

use alloc::format;

use container_core::{Error, Result};

use crate::ln::ln;
use crate::probe::MAX_BITS;

/// The format's name in errors.
pub(crate) const FORMAT: &str = "simplebloom";

/// Bytes before the bits.
pub(crate) const HEADER_BYTES: usize = 32;

/// The capacity and false positive probability of a filter, and the sizes that follow from them.
///
/// ```
/// use simplebloom::Shape;
/// let shape = Shape::new(1_000_000, 0.001)?;
/// assert_eq!((shape.bits(), shape.hashes(), shape.file_bytes()), (14_377_592, 10, 32 + 1_797_199));
/// # Ok::<(), container_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    elements: u64,
    probability: f64,
    bits: u64,
    hashes: u32,
}

// A probability is never NaN.
impl Eq for Shape {}

impl Shape {
    /// A shape for `elements` keys, at least 2, with a false positive probability above 0 and below 1.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for other values, [`Limit`](container_core::ErrorKind::Limit) for filters
    /// of 2^63 bits or more.
    pub fn new(elements: u64, probability: f64) -> Result<Self> {
        if let Some(why) = elements_error(elements).or_else(|| probability_error(probability)) {
            return Err(Error::usage(why).in_format(FORMAT));
        }
        Self::derive(elements, probability, ln(probability)).ok_or_else(|| too_large(elements, probability))
    }

    /// A shape for `elements` keys with the reference's default probability, `1 / elements`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_default_probability(elements: u64) -> Result<Self> {
        Self::new(elements, 1.0 / float(elements))
    }

    /// The shape of a file of `bytes` bytes, whose writer's logarithm may have been off by one unit in the last place. `None`
    /// if no shape has that length.
    ///
    /// `elements` and `probability` must be valid.
    pub(crate) fn of_file(elements: u64, probability: f64, bytes: u64) -> Option<Self> {
        let exact = ln(probability);
        let candidates = [exact, exact.next_up(), exact.next_down()];
        let mut shapes = candidates.into_iter().filter_map(|ln| Self::derive(elements, probability, ln));
        shapes.find(|shape| shape.file_bytes() == bytes)
    }

    /// The reference's arithmetic, operation by operation. `None` if the filter is too large.
    fn derive(elements: u64, probability: f64, ln: f64) -> Option<Self> {
        const LN_2_SQUARED: f64 = -0.480_453_013_918_201_5;
        const LN_2: f64 = core::f64::consts::LN_2;
        let bits = float(elements) * ln / LN_2_SQUARED;
        let bits = ceil(bits / 8.0)?.checked_mul(8).filter(|bits| *bits < MAX_BITS)?;
        let hashes = u32::try_from(round_half_even(quotient(bits, elements) * LN_2)?).ok()?;
        Some(Self { elements, probability, bits, hashes })
    }

    /// The capacity in keys. More can be inserted, with more false positives.
    #[must_use]
    pub const fn elements(&self) -> u64 {
        self.elements
    }

    /// The false positive probability of a filter with [`elements`](Self::elements) keys.
    #[must_use]
    pub const fn probability(&self) -> f64 {
        self.probability
    }

    /// The number of bits: a multiple of 8, at least 8.
    #[must_use]
    pub const fn bits(&self) -> u64 {
        self.bits
    }

    /// The number of bits per key. 0 if the probability is near 1: such a filter contains every key.
    #[must_use]
    pub const fn hashes(&self) -> u32 {
        self.hashes
    }

    /// The length of the file in bytes: a header of 32 bytes, and the bits.
    #[must_use]
    pub const fn file_bytes(&self) -> u64 {
        HEADER_BYTES as u64 + self.bits / 8
    }
}

/// The message for an invalid number of keys.
pub(crate) fn elements_error(elements: u64) -> Option<alloc::string::String> {
    (elements < 2).then(|| format!("number of elements: expected at least 2, found {elements}"))
}

/// The message for an invalid probability.
pub(crate) fn probability_error(probability: f64) -> Option<alloc::string::String> {
    let valid = probability > 0.0 && probability < 1.0;
    (!valid).then(|| format!("probability: expected above 0 and below 1, found {probability:?}"))
}

#[cold]
fn too_large(elements: u64, probability: f64) -> Error {
    let what = format!("number of bits for {elements} elements and probability {probability:?}");
    // An estimate, which saturates.
    let bits = float(elements) * ln(probability) / -0.48;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
    let bits = bits as u64;
    Error::limit(what, bits, MAX_BITS - 8).in_format(FORMAT)
}

/// The nearest double.
#[expect(clippy::cast_precision_loss, reason = "rounded as the reference rounds its integers")]
fn float(value: u64) -> f64 {
    value as f64
}

/// A non-negative number rounded up; `None` from 2^60 on.
fn ceil(value: f64) -> Option<u64> {
    let (whole, part) = split(value)?;
    Some(whole + u64::from(part > 0.0))
}

/// A non-negative number rounded half to even; `None` from 2^60 on.
fn round_half_even(value: f64) -> Option<u64> {
    let (whole, part) = split(value)?;
    Some(whole + u64::from(part > 0.5 || part == 0.5 && whole % 2 == 1))
}

/// The integer part and the fraction, both exact.
fn split(value: f64) -> Option<(u64, f64)> {
    const BELOW: f64 = (1_u64 << 60) as f64;
    if !(0.0..BELOW).contains(&value) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "truncation of a value in range")]
    let whole = value as u64;
    Some((whole, value - float(whole)))
}

/// The double nearest to the exact quotient, as the reference computes it. Dividing the nearest doubles would round twice.
fn quotient(a: u64, b: u64) -> f64 {
    const EXACT: u64 = 1 << 53;
    if a == 0 || a <= EXACT && b <= EXACT {
        return float(a) / float(b);
    }
    let up = a.leading_zeros() + 64;
    let (a, b) = (u128::from(a) << up, u128::from(b));
    // At least 63 bits, so the last one can stand for all that follow.
    let quotient = (a / b) | u128::from(a % b != 0);
    #[expect(clippy::cast_precision_loss, reason = "this is the rounding")]
    let rounded = quotient as f64;
    // Powers of two divide exactly.
    rounded / float(1 << (up / 2)) / float(1 << (up - up / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_half_to_even_and_up() {
        let cases =
            [(0.0, 0), (0.5, 0), (0.500_000_1, 1), (1.5, 2), (2.5, 2), (2.499, 2), (3.5, 4), (1e6 + 0.5, 1_000_000)];
        for (value, expected) in cases {
            assert_eq!(round_half_even(value), Some(expected), "{value}");
        }
        let cases = [(0.0, 0), (5e-324, 1), (1.0, 1), (1.000_001, 2), (float(1 << 59), 1 << 59)];
        for (value, expected) in cases {
            assert_eq!(ceil(value), Some(expected), "{value}");
        }
        for value in [f64::NAN, f64::INFINITY, float(1 << 60), -1.0] {
            assert_eq!(ceil(value), None);
        }
    }

    #[test]
    fn quotient_is_correctly_rounded() {
        // By Python 3: a / b.
        let cases: [(u64, u64, u64); 8] = [
            (u64::MAX, 3, 0x43D5_5555_5555_5555),
            (u64::MAX, u64::MAX - 1, 0x3FF0_0000_0000_0000),
            ((1 << 53) + 1, (1 << 53) + 3, 0x3FEF_FFFF_FFFF_FFFE),
            (3, u64::MAX, 0x3C08_0000_0000_0000),
            (9_007_199_254_740_993, 2, 0x4330_0000_0000_0000),
            (18_446_744_073_709_549_569, 7, 0x43C2_4924_9249_2492),
            // Slightly more than half a unit in the last place.
            (1_911_042_159_490_644_866, 15_911_041_402_196_732_844, 0x3FBE_BF64_97BA_80A7),
            (3_813_124_421_464_312_869, 18_056_136_672_919_760_986, 0x3FCB_07FF_EED1_40AF),
        ];
        for (a, b, expected) in cases {
            assert_eq!(quotient(a, b).to_bits(), expected, "{a} / {b} = {:x}", quotient(a, b).to_bits());
        }
    }

    #[test]
    fn rejects_invalid_parameters() {
        let message = |shape: Result<Shape>| shape.unwrap_err().to_string();
        assert_eq!(message(Shape::new(1, 0.5)), "simplebloom: number of elements: expected at least 2, found 1");
        for (p, text) in [(0.0, "0.0"), (1.0, "1.0"), (f64::NAN, "NaN"), (-0.5, "-0.5"), (f64::INFINITY, "inf")] {
            let expected = format!("simplebloom: probability: expected above 0 and below 1, found {text}");
            assert_eq!(message(Shape::new(5, p)), expected);
        }
        assert_eq!(
            message(Shape::new(u64::MAX, 0.5)),
            "simplebloom: number of bits for 18446744073709551615 elements and probability 0.5 \
             18446744073709551615 exceeds the limit 9223372036854775800"
        );
        assert_eq!(
            message(Shape::with_default_probability(0)),
            "simplebloom: number of elements: expected at least 2, found 0"
        );
        assert!(Shape::new(u64::MAX, 1.0 - 2_f64.powi(-53)).is_ok());
    }

    #[test]
    fn accepts_lengths_from_a_logarithm_off_by_one_unit() {
        // So many elements that one unit in the last place changes the size.
        let exact = Shape::new(1 << 54, 0.3).unwrap();
        let ln = ln(0.3);
        for (ln, fits) in [
            (ln, true),
            (ln.next_up(), true),
            (ln.next_down(), true),
            (ln.next_up().next_up(), false),
            (ln.next_down().next_down(), false),
        ] {
            let other = Shape::derive(1 << 54, 0.3, ln).unwrap();
            let opened = Shape::of_file(1 << 54, 0.3, other.file_bytes());
            assert_eq!(opened, fits.then_some(other));
        }
        assert_eq!(Shape::of_file(1 << 54, 0.3, exact.file_bytes()), Some(exact));
        assert_eq!(Shape::of_file(5, 0.2, 35 + 1), None);
    }
}
