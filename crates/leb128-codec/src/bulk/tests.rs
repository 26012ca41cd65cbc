//! Every kernel against the single-value decoder.

use std::vec;
use std::vec::Vec;

use proptest::collection::vec as vec_of;
use proptest::prelude::*;

use super::progress::no_kernel;
use super::{decode_slice_with, lowest, portable};
use crate::{DecodeErrorKind, Integer, encode, kernels};

/// `cases`, unless `PROPTEST_CASES` asks for another number, as emulators and Miri do.
fn config(cases: u32) -> ProptestConfig {
    let requested = std::env::var("PROPTEST_CASES").ok().and_then(|number| number.parse().ok());
    ProptestConfig::with_cases(requested.unwrap_or(cases))
}

/// All kernels decode the input as the first one does, which decodes one value after the other.
fn agree<T: Integer>(input: &[u8], n: usize) -> Result<(), TestCaseError> {
    let filler = T::decode(&[0x2a]).map(|(value, _)| value).unwrap();
    let mut expected = vec![filler; n];
    let kernels = kernels::all::<T>();
    let result = kernels[0].1(input, &mut expected);
    let good = result.map_or_else(|error| error.index(), |_| n);
    for (name, decode) in &kernels[1..] {
        let mut out = vec![filler; n];
        prop_assert_eq!(decode(input, &mut out), result, "{} of {} values", name, n);
        prop_assert_eq!(&out[..good], &expected[..good], "{} of {} values", name, n);
    }
    Ok(())
}

/// [`agree`] for all types with kernels.
fn all_agree(input: &[u8], n: usize) -> Result<(), TestCaseError> {
    agree::<u32>(input, n)?;
    agree::<i32>(input, n)?;
    agree::<u64>(input, n)?;
    agree::<i64>(input, n)?;
    agree::<usize>(input, n)?;
    agree::<isize>(input, n)
}

/// What the other tests cover depends on the machine: print it, and require what the machine has.
#[test]
fn tests_each_kernel_of_this_machine() {
    let names: Vec<_> = kernels::all::<u32>().iter().map(|(name, _)| *name).collect();
    let mut expected = vec!["one by one", "portable"];
    #[cfg(target_arch = "x86_64")]
    {
        let (avx2, avx512) = if cfg!(feature = "std") {
            (std::arch::is_x86_feature_detected!("avx2"), std::arch::is_x86_feature_detected!("avx512vbmi2"))
        } else {
            (cfg!(target_feature = "avx2"), cfg!(target_feature = "avx512vbmi2"))
        };
        expected.extend(avx2.then_some("avx2"));
        expected.extend(avx512.then_some("avx512"));
    }
    if cfg!(all(target_arch = "aarch64", target_endian = "little")) {
        expected.push("neon");
    }
    println!("kernels tested on {}: {}", std::env::consts::ARCH, names.join(", "));
    assert_eq!(names, expected);
}

/// Input of one kind of value.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let value_of = |longest: u32| {
        (any::<u64>(), 1..=longest).prop_map(|(value, len)| {
            let value = value.checked_shr(64_u32.saturating_sub(7 * len)).unwrap_or(0);
            encode(value, &mut [0; 10]).to_vec()
        })
    };
    prop_oneof![
        // Unsigned values of at most one, two, five and ten bytes.
        4 => vec_of(0..0x80_u8, 1..150),
        3 => vec_of(value_of(2), 1..60).prop_map(|values| values.concat()),
        3 => vec_of(value_of(5), 1..40).prop_map(|values| values.concat()),
        3 => vec_of(value_of(10), 1..20).prop_map(|values| values.concat()),
        // Signed values.
        2 => vec_of((any::<i64>(), 0..64_u32), 1..30)
            .prop_map(|values| values.iter().flat_map(|(v, by)| encode(v >> by, &mut [0; 10]).to_vec()).collect()),
        // Padded values.
        1 => (0..0x80_u8, 1..9_usize).prop_map(|(first, n)| {
            let mut bytes = vec![0x80; n + 1];
            bytes[0] |= first;
            bytes[n] = 0;
            bytes
        }),
        // Values of maximum length, with any last byte.
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
    #![proptest_config(config(3000))]

    #[test]
    fn kernels_agree(pieces in vec_of(piece(), 0..8), n in 0..400_usize, exact in any::<bool>()) {
        let input = pieces.concat();
        // As many values as there are, or an arbitrary number.
        let n = if exact { crate::count(&input) } else { n };
        all_agree(&input, n)?;
    }

    #[test]
    fn kernels_agree_on_valid_values(values in vec_of((any::<i32>(), 0..32_u32), 0..300), more in 0..80_usize) {
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

/// A value of up to three bytes. Few overflow a type, because a kernel stops before a window with an overflow.
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

/// [`agree`] for the types that have only the portable kernel.
fn portable_agrees<T: Integer>(input: &[u8], n: usize) -> Result<(), TestCaseError> {
    let (mut expected, mut out) = (vec![T::default(); n], vec![T::default(); n]);
    let result = decode_slice_with(input, &mut expected, no_kernel);
    prop_assert_eq!(decode_slice_with(input, &mut out, portable::run), result);
    let good = result.map_or_else(|error| error.index(), |_| n);
    prop_assert_eq!(&out[..good], &expected[..good]);
    Ok(())
}

/// An invalid value after each value of runs of all kinds, and input truncated at every byte.
#[test]
#[cfg_attr(miri, ignore = "millions of values")]
fn kernels_agree_on_errors_at_every_offset() {
    let invalid_values: [&[u8]; 7] = [
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
            for invalid in invalid_values {
                let mut input = good.clone();
                input.splice(end + 1..=end, invalid.iter().copied());
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
    // Four of the seven overflow u64, after each value.
    assert!(overflows > 1000, "only {overflows} overflows");
}

#[test]
fn lowest_keeps_n_bits() {
    assert_eq!(lowest(0b1011_0100, 0), 0);
    assert_eq!(lowest(0b1011_0100, 2), 0b0001_0100);
    assert_eq!(lowest(0b1011_0100, 4), 0b1011_0100);
    assert_eq!(lowest(0b1011_0100, 60), 0b1011_0100);
    assert_eq!(lowest(u64::MAX, 63), u64::MAX >> 1);
    assert_eq!(lowest(u64::MAX, 64), u64::MAX);
}
