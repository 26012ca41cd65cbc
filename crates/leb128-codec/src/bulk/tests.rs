//! Every kernel against the decoder of single values.

use std::vec;
use std::vec::Vec;

use proptest::collection::vec as vec_of;
use proptest::prelude::*;

use super::done::no_run;
use super::{decode_slice_by, lowest, portable};
use crate::{DecodeErrorKind, Integer, encode, kernels};

/// All kernels say of the input what the first of them says, which decodes one value after the other.
fn agree<T: Integer>(input: &[u8], n: usize) -> Result<(), TestCaseError> {
    let filler = T::decode(&[0x2a]).map(|(value, _)| value).unwrap();
    let mut expected = vec![filler; n];
    let kernels = kernels::all::<T>();
    let verdict = kernels[0].1(input, &mut expected);
    let good = verdict.map_or_else(|error| error.index(), |_| n);
    for (name, decode) in &kernels[1..] {
        let mut out = vec![filler; n];
        prop_assert_eq!(decode(input, &mut out), verdict, "{} of {} values", name, n);
        prop_assert_eq!(&out[..good], &expected[..good], "{} of {} values", name, n);
    }
    Ok(())
}

/// As [`agree`], for all types that kernels decode.
fn all_agree(input: &[u8], n: usize) -> Result<(), TestCaseError> {
    agree::<u32>(input, n)?;
    agree::<i32>(input, n)?;
    agree::<u64>(input, n)?;
    agree::<i64>(input, n)?;
    agree::<usize>(input, n)?;
    agree::<isize>(input, n)
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[test]
fn the_processors_kernels_are_tested() {
    let names: Vec<_> = kernels::all::<u32>().iter().map(|(name, _)| *name).collect();
    assert_eq!(names.contains(&"avx2"), std::arch::is_x86_feature_detected!("avx2"));
    assert_eq!(names.contains(&"avx512"), std::arch::is_x86_feature_detected!("avx512vbmi2"));
}

/// A stretch of input of one character.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let value_of = |longest: u32| {
        (any::<u64>(), 1..=longest).prop_map(|(value, len)| {
            let value = value.checked_shr(64_u32.saturating_sub(7 * len)).unwrap_or(0);
            encode(value, &mut [0; 10]).to_vec()
        })
    };
    prop_oneof![
        // Values as they come, of one, two, five and ten bytes at most.
        4 => vec_of(0..0x80_u8, 1..150),
        3 => vec_of(value_of(2), 1..60).prop_map(|values| values.concat()),
        3 => vec_of(value_of(5), 1..40).prop_map(|values| values.concat()),
        3 => vec_of(value_of(10), 1..20).prop_map(|values| values.concat()),
        // Signed ones of both signs.
        2 => vec_of((any::<i64>(), 0..64_u32), 1..30)
            .prop_map(|values| values.iter().flat_map(|(v, by)| encode(v >> by, &mut [0; 10]).to_vec()).collect()),
        // Padded ones.
        1 => (0..0x80_u8, 1..9_usize).prop_map(|(first, n)| {
            let mut bytes = vec![0x80; n + 1];
            bytes[0] |= first;
            bytes[n] = 0;
            bytes
        }),
        // The longest lengths, with any last byte.
        1 => (prop::sample::select(vec![5_usize, 10]), any::<u8>(), any::<u8>()).prop_map(|(len, filler, last)| {
            let mut bytes = vec![filler | 0x80; len];
            bytes[len - 1] = last;
            bytes
        }),
        // Anything.
        1 => vec_of(any::<u8>(), 1..12),
        1 => vec_of(0x80..=0xff_u8, 1..90),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn kernels_agree(pieces in vec_of(piece(), 0..8), n in 0..400_usize, exact in any::<bool>()) {
        let input = pieces.concat();
        // As many values as there are, or any number.
        let n = if exact { crate::count(&input) } else { n };
        all_agree(&input, n)?;
    }

    #[test]
    fn kernels_agree_on_values_that_fit(values in vec_of((any::<i32>(), 0..32_u32), 0..300), more in 0..80_usize) {
        let input: Vec<u8> = values.iter().flat_map(|(value, by)| encode(value >> by, &mut [0; 5]).to_vec()).collect();
        agree::<i32>(&input, values.len())?;
        agree::<i64>(&input, values.len())?;
        agree::<i32>(&input, values.len() + more)?;
        let input: Vec<u8> =
            values.iter().flat_map(|(value, by)| encode(value.cast_unsigned() >> by, &mut [0; 5]).to_vec()).collect();
        agree::<u32>(&input, values.len())?;
        agree::<u64>(&input, values.len())?;
        agree::<u32>(&input, values.len().saturating_sub(more))?;
    }

    #[test]
    fn narrow_types_agree(bytes in vec_of(narrow_piece(), 0..200), n in 0..200_usize) {
        let bytes = bytes.concat();
        portable_agrees::<u8>(&bytes, n)?;
        portable_agrees::<i8>(&bytes, n)?;
        portable_agrees::<u16>(&bytes, n)?;
        portable_agrees::<i16>(&bytes, n)?;
    }
}

/// A value of up to three bytes. Few are too large for some type: a window with one is not decoded by a kernel.
fn narrow_piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        150 => (0..0x80_u8).prop_map(|byte| vec![byte]),
        1 => any::<u8>().prop_map(|value| encode(value, &mut [0; 2]).to_vec()),
        1 => any::<u16>().prop_map(|value| encode(value, &mut [0; 3]).to_vec()),
        1 => any::<i16>().prop_map(|value| encode(value, &mut [0; 3]).to_vec()),
        1 => (1..4_usize, any::<bool>()).prop_map(|(n, negative)| {
            let mut bytes = vec![if negative { 0xff } else { 0x80 }; n + 1];
            bytes[n] &= 0x7f;
            bytes
        }),
    ]
}

/// As [`agree`], for the types that only the portable kernel decodes.
fn portable_agrees<T: Integer>(input: &[u8], n: usize) -> Result<(), TestCaseError> {
    let (mut expected, mut out) = (vec![T::default(); n], vec![T::default(); n]);
    let verdict = decode_slice_by(input, &mut expected, no_run);
    prop_assert_eq!(decode_slice_by(input, &mut out, portable::run), verdict);
    let good = verdict.map_or_else(|error| error.index(), |_| n);
    prop_assert_eq!(&out[..good], &expected[..good]);
    Ok(())
}

/// A wrong value at every place of runs of every character, and the input cut at every byte.
#[test]
fn every_place_of_an_error() {
    let wrong: [&[u8]; 7] = [
        &[0x80; 12],
        &[0xff, 0xff, 0xff, 0xff, 0x10],
        &[0xff, 0xff, 0xff, 0xff, 0x3f],
        &[0x80, 0x80, 0x80, 0x80, 0x80, 0x00],
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02],
        &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x3f],
        &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00],
    ];
    let runs: [&[u8]; 6] = [
        &[0x05],
        &[0x05, 0x85, 0x01, 0x7f],
        &[0x85, 0x01],
        &[0x85, 0x81, 0x81, 0x01, 0x07],
        &[0x85, 0x81, 0x81, 0x81, 0x01],
        &[
            0x85, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
            0x01,
        ],
    ];
    let mut overflows = 0;
    for run in runs {
        let good: Vec<u8> = run.iter().copied().cycle().take(run.len() * (230 / run.len())).collect();
        let ends = (0..good.len()).filter(|at| good[*at] < 0x80);
        for (index, end) in ends.enumerate() {
            for wrong in wrong {
                let mut input = good.clone();
                input.splice(end + 1..=end, wrong.iter().copied());
                let n = crate::count(&input);
                all_agree(&input, n).unwrap();
                let mut out = vec![0_u64; n];
                if let Err(error) = crate::decode_slice(&input, &mut out)
                    && error.kind() == DecodeErrorKind::Overflow
                {
                    assert_eq!(error.index(), index + 1);
                    overflows += 1;
                }
            }
        }
        for cut in 0..good.len() {
            for n in [crate::count(&good[..cut]), crate::count(&good), cut] {
                all_agree(&good[..cut], n).unwrap();
            }
        }
    }
    // Four of the seven are too large for u64, at each place.
    assert!(overflows > 1000, "only {overflows} overflows");
}

#[test]
fn the_lowest_bits() {
    assert_eq!(lowest(0b1011_0100, 0), 0);
    assert_eq!(lowest(0b1011_0100, 2), 0b0001_0100);
    assert_eq!(lowest(0b1011_0100, 4), 0b1011_0100);
    assert_eq!(lowest(0b1011_0100, 60), 0b1011_0100);
    assert_eq!(lowest(u64::MAX, 63), u64::MAX >> 1);
    assert_eq!(lowest(u64::MAX, 64), u64::MAX);
}
