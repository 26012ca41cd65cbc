//! The natural logarithm, correctly rounded and in integer arithmetic, so that every platform derives the same sizes.
//!
//! C libraries differ in the last bit of `log`, some even between processors. With `p = m / 2^e` and `1/2 <= m < 1`,
//!
//! ```text
//! -ln p = e ln 2 + 2 atanh((1 - m) / (1 + m)),    ln 2 = 2 atanh(1/3)
//! ```
//!
//! Both terms have the same sign, so nothing cancels. They are summed with 192 fractional bits. About 1200 truncations cost
//! at most one unit in the last of them each: 2^-181 in total if `e` is not 0, else 2^-184, with a result of at least 2^-53.
//! The hardest case of a correctly rounded logarithm of a double needs a relative error of about 2^-118, so the final
//! rounding is always correct. Speed does not matter: a filter takes one logarithm.

/// A fixed-point number of 64 integer and 192 fractional bits; the first limb is the integer part.
#[derive(Clone, Copy)]
struct Fixed([u64; 4]);

impl Fixed {
    const ZERO: Self = Self([0; 4]);

    /// `numerator / denominator` below 1, truncated.
    fn ratio(numerator: u64, denominator: u64) -> Self {
        let mut rest = u128::from(numerator);
        let mut limbs = [0; 4];
        for limb in limbs.iter_mut().skip(1) {
            rest <<= 64;
            *limb = low(rest / u128::from(denominator));
            rest %= u128::from(denominator);
        }
        Self(limbs)
    }

    fn plus(self, other: Self) -> Self {
        let mut sum = self;
        let mut carry = 0;
        for (limb, add) in sum.0.iter_mut().zip(other.0).rev() {
            let wide = u128::from(*limb) + u128::from(add) + carry;
            *limb = low(wide);
            carry = wide >> 64;
        }
        sum
    }

    /// The product, truncated. One factor must be below 1, and the product below 2^64.
    fn times(self, other: Self) -> Self {
        // The limbs of the product, most significant first, with 384 fractional bits.
        let mut product = [0_u64; 8];
        for (i, a) in self.0.into_iter().enumerate().rev() {
            let mut carry = 0;
            for (j, b) in other.0.into_iter().enumerate().rev() {
                if let Some(limb) = product.get_mut(i + j + 1) {
                    let wide = u128::from(a) * u128::from(b) + u128::from(*limb) + carry;
                    *limb = low(wide);
                    carry = wide >> 64;
                }
            }
            if let Some(limb) = product.get_mut(i) {
                *limb = low(carry);
            }
        }
        let [_, a, b, c, d, ..] = product;
        Self([a, b, c, d])
    }

    fn over(self, divisor: u64) -> Self {
        let mut quotient = self;
        let mut rest = 0;
        for limb in &mut quotient.0 {
            let wide = rest << 64 | u128::from(*limb);
            *limb = low(wide / u128::from(divisor));
            rest = wide % u128::from(divisor);
        }
        quotient
    }

    /// The nearest double, ties to even.
    fn round(self) -> f64 {
        let [a, b, c, d] = self.0;
        let (high, rest) = (u128::from(a) << 64 | u128::from(b), u128::from(c) << 64 | u128::from(d));
        let up = high.leading_zeros();
        // The highest 128 bits of the result. The last of them is set if any bit follows: far below the 53 bits of a
        // double, it only breaks ties.
        let (high, rest) = match up {
            0 => (high, rest),
            128 => return 0.0,
            _ => (high << up | rest >> (128 - up), rest << up),
        };
        let high = high | u128::from(rest != 0);
        // The conversion rounds; dividing by a power of two is exact.
        #[expect(clippy::cast_precision_loss, reason = "this is the rounding")]
        let rounded = high as f64;
        // The weight of the highest bits' last one is 2^-(64 + up).
        rounded / power_of_two(64) / power_of_two(up)
    }
}

fn low(wide: u128) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
    let low = wide as u64;
    low
}

fn power_of_two(exponent: u32) -> f64 {
    f64::from_bits(u64::from(1023 + exponent) << 52)
}

/// `2 atanh(numerator / denominator)`, the fraction at most 1/3.
fn twice_atanh(numerator: u64, denominator: u64) -> Fixed {
    let z = Fixed::ratio(numerator, denominator);
    let square = z.times(z);
    let (mut power, mut sum) = (z, Fixed::ZERO);
    // Each power is at most a ninth of the one before: 61 of them reach the last bit.
    for divisor in (1..=123).step_by(2) {
        sum = sum.plus(power.over(divisor));
        power = power.times(square);
    }
    sum.plus(sum)
}

/// The natural logarithm of `p`, above 0 and below 1, correctly rounded.
pub(crate) fn ln(p: f64) -> f64 {
    const POINT: u32 = 53;
    let bits = p.to_bits();
    let (field, fraction) = (bits >> 52, bits & ((1 << 52) - 1));
    // p = significand / 2^53 / 2^e, with the significand's highest bit at 52.
    let (significand, e) = if field == 0 {
        let up = fraction.leading_zeros() - 11;
        (fraction << up, 1021 + u64::from(up))
    } else {
        (fraction | 1 << 52, 1022_u64.saturating_sub(field))
    };
    let one = 1_u64 << POINT;
    let mut sum = twice_atanh(one - significand, one + significand);
    if e > 0 {
        let ln_2 = twice_atanh(1, 3);
        sum = sum.plus(ln_2.times(Fixed([e, 0, 0, 0])));
    }
    -sum.round()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ln_2_has_at_least_184_correct_bits() {
        let [whole, a, b, c] = twice_atanh(1, 3).0;
        assert_eq!([whole, a, b], [0, 0xB172_17F7_D1CF_79AB, 0xC9E3_B398_03F2_F6AF]);
        assert!(c.abs_diff(0x40F3_4326_7298_B62D) < 200, "{c:x}");
    }

    #[test]
    #[expect(clippy::excessive_precision, clippy::approx_constant, reason = "exact digits, rounded by the compiler")]
    fn rounds_known_digits_correctly() {
        // Digits of ln 2, ln 3 and ln 10; multiples of them, rounded by the compiler.
        assert_eq!(ln(0.5), -0.693_147_180_559_945_309_417_232_121_458_2);
        assert_eq!(ln(0.25), -1.386_294_361_119_890_618_834_464_242_916_4);
        assert_eq!(ln(0.75), -0.287_682_072_451_780_927_439_219_005_993_8);
        assert_eq!(ln(f64::from_bits(1)), -744.440_071_921_381_262_314_107_298_446_1);
        // -ln(1 - x) = x + x^2 / 2 + x^3 / 3 ...: a quarter of the last place; half of it and a little more; all of it.
        let epsilon = f64::EPSILON / 2.0;
        assert_eq!(ln(1.0 - epsilon), -epsilon);
        assert_eq!(ln(1.0 - 2.0 * epsilon), -2.0 * epsilon * (1.0 + 2.0 * epsilon));
        assert_eq!(ln(1.0 - 4.0 * epsilon), -4.0 * epsilon * (1.0 + 2.0 * epsilon));
    }

    #[test]
    #[cfg_attr(miri, ignore = "50,000 logarithms")]
    fn differs_from_the_platform_by_at_most_one_unit() {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let (mut cases, mut differ) = (0_u32, 0_u32);
        let mut check = |p: f64| {
            let (ours, theirs) = (ln(p), p.ln());
            cases += 1;
            if ours != theirs {
                differ += 1;
                assert!(ours.next_up() == theirs || ours.next_down() == theirs, "ln {p:e}: {ours:e}, {theirs:e}");
            }
        };
        for _ in 0..container_core::testkit::cases(10_000, 100_000) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // Uniform, and of any exponent.
            #[expect(clippy::cast_precision_loss, reason = "a fraction of 53 bits is exact")]
            let uniform = (state >> 11) as f64 / 2_f64.powi(53);
            if uniform > 0.0 {
                check(uniform);
                check(1.0 - uniform / 2_f64.powi(30));
            }
            check(f64::from_bits((state >> 1) % 1.0_f64.to_bits()).max(f64::MIN_POSITIVE / 4.0));
        }
        for n in 2..20_000 {
            check(1.0 / f64::from(n));
        }
        // The platform's logarithm is nearly always correctly rounded.
        assert!(differ * 20 < cases, "{differ} of {cases} differ");
        println!("{differ} of {cases} differ from the platform's by one unit in the last place");
    }
}
