//! Every function against the reference decoder, against related functions and against another crate, on random input.

use leb128_codec::{
    DecodeError, DecodeErrorKind, Integer, count, decode, decode_slice, decode_slice_strict, decode_strict, encode,
    encode_slice, encoded_len, encoded_len_slice, skip, skip_n, values,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{config, for_each_type, naive, verdict};

/// Bytes that often have the continuation bit, and often are those at the limits of a type.
fn any_byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        4 => any::<u8>(),
        6 => 0x80..=0xff_u8,
        4 => prop::sample::select(vec![0x00, 0x01, 0x02, 0x03, 0x0f, 0x10, 0x3f, 0x40, 0x70, 0x78, 0x7e, 0x7f, 0x80, 0xff]),
    ]
}

/// Values of every size.
fn any_value() -> impl Strategy<Value = u128> {
    (any::<u128>(), 0..=127_u32, any::<bool>()).prop_map(|(value, shift, negative)| {
        let small = value >> shift;
        if negative { !small } else { small }
    })
}

macro_rules! definition_tests {
    ($($int:ident)+) => {$(
        mod $int {
            use super::*;

            proptest! {
                #![proptest_config(config(2000))]

                #[test]
                fn decodes_as_defined(bytes in vec(any_byte(), 0..24)) {
                    let (bits, signed) = ($int::BITS as usize, <$int>::SIGNED);
                    prop_assert_eq!(verdict(decode::<$int>(&bytes)), naive(&bytes, bits, signed, false));
                    prop_assert_eq!(verdict(decode_strict::<$int>(&bytes)), naive(&bytes, bits, signed, true));
                }

                #[test]
                fn decodes_what_it_encodes(value in any_value()) {
                    let value = value as $int;
                    let mut buffer = <$int as Integer>::Buffer::default();
                    let bytes = encode(value, &mut buffer);
                    prop_assert_eq!(bytes.len(), encoded_len(value));
                    prop_assert_eq!(decode_strict::<$int>(bytes), Ok((value, bytes.len())));
                    prop_assert_eq!(naive(bytes, $int::BITS as usize, <$int>::SIGNED, true), Ok((value as u128, bytes.len())));
                }

                #[test]
                fn runs_equal_their_values(drawn in vec(any_value(), 0..200), room in 0..12_usize) {
                    let drawn: Vec<$int> = drawn.into_iter().map(|value| value as $int).collect();
                    check_run(&drawn, room)?;
                }
            }
        }
    )+};
}

for_each_type!(definition_tests);

/// A run is encoded and decoded as its values are; `room` is the excess length of the slice.
fn check_run<T: Integer>(drawn: &[T], room: usize) -> Result<(), TestCaseError> {
    let mut expected = Vec::new();
    for value in drawn {
        expected.extend_from_slice(encode(*value, &mut T::Buffer::default()));
    }
    prop_assert_eq!(encoded_len_slice(drawn), expected.len());
    prop_assert_eq!(count(&expected), drawn.len());

    let mut bytes = vec![0xaa; expected.len() + room];
    prop_assert_eq!(encode_slice(drawn, &mut bytes), Ok(expected.len()));
    prop_assert_eq!(&bytes[..expected.len()], &expected[..]);
    prop_assert!(bytes[expected.len()..].iter().all(|byte| *byte == 0xaa), "bytes after the values were changed");

    let mut decoded = vec![T::default(); drawn.len()];
    prop_assert_eq!(decode_slice(&bytes, &mut decoded), Ok(expected.len()));
    prop_assert_eq!(&decoded[..], drawn);
    decoded.fill(T::default());
    prop_assert_eq!(decode_slice_strict(&bytes, &mut decoded), Ok(expected.len()));
    prop_assert_eq!(&decoded[..], drawn);
    let collected: Result<Vec<T>, _> = values(&expected).collect();
    prop_assert_eq!(collected, Ok(drawn.to_vec()));

    // One byte or one value too few.
    let Some(short) = expected.len().checked_sub(1) else { return Ok(()) };
    let last = encoded_len(drawn[drawn.len() - 1]);
    let error = encode_slice(drawn, &mut bytes[..short]).unwrap_err();
    let last_value = (drawn.len() - 1, expected.len() - last);
    prop_assert_eq!((error.index(), error.offset()), last_value);
    prop_assert_eq!((error.needed(), error.available()), (last, last - 1));
    prop_assert_eq!(&bytes[..last_value.1], &expected[..last_value.1]);
    let error = decode_slice(&expected[..short], &mut decoded).unwrap_err();
    prop_assert_eq!(
        (error.kind(), error.index(), error.offset()),
        (DecodeErrorKind::Truncated, last_value.0, last_value.1)
    );
    let mut more = vec![T::default(); drawn.len() + 1];
    let error = decode_slice(&expected, &mut more).unwrap_err();
    prop_assert_eq!(
        (error.kind(), error.index(), error.offset()),
        (DecodeErrorKind::Truncated, drawn.len(), expected.len())
    );
    prop_assert_eq!(&more[..drawn.len()], drawn);
    Ok(())
}

proptest! {
    #![proptest_config(config(2000))]

    /// Values, lengths and error kinds are those of the crate leb128.
    #[test]
    fn agrees_with_crate_leb128(bytes in vec(any_byte(), 0..24), signed in any::<i64>(), shift in 0..64_u32) {
        let agree = |ours: Result<(i128, usize), DecodeErrorKind>, theirs: Result<(i128, usize), leb128::read::Error>| {
            match (ours, theirs) {
                (Err(DecodeErrorKind::Overflow), Err(leb128::read::Error::Overflow)) => true,
                // After an overflow it reads on to the value's end, and may not find one.
                (Err(DecodeErrorKind::Overflow), Err(leb128::read::Error::IoError(_))) => skip(&bytes).is_err(),
                (Err(DecodeErrorKind::Truncated), Err(leb128::read::Error::IoError(_))) => true,
                (Ok(ours), Ok(theirs)) => ours == theirs,
                _ => false,
            }
        };
        let mut rest = &bytes[..];
        let theirs = leb128::read::unsigned(&mut rest).map(|value| (i128::from(value), bytes.len() - rest.len()));
        let ours = decode::<u64>(&bytes).map(|(value, len)| (i128::from(value), len));
        prop_assert!(agree(ours.map_err(|error| error.kind()), theirs));
        let mut rest = &bytes[..];
        let theirs = leb128::read::signed(&mut rest).map(|value| (i128::from(value), bytes.len() - rest.len()));
        let ours = decode::<i64>(&bytes).map(|(value, len)| (i128::from(value), len));
        prop_assert!(agree(ours.map_err(|error| error.kind()), theirs));

        let value = signed >> shift;
        let mut theirs = Vec::new();
        leb128::write::signed(&mut theirs, value).unwrap();
        prop_assert_eq!(encode(value, &mut [0; 10]).to_vec(), theirs.clone());
        theirs.clear();
        leb128::write::unsigned(&mut theirs, value.cast_unsigned()).unwrap();
        prop_assert_eq!(encode(value.cast_unsigned(), &mut [0; 10]).to_vec(), theirs);
    }

    /// A run fails as its first invalid value does, strict or not; the iterator ends there.
    #[test]
    fn runs_fail_as_their_values(bytes in vec(any_byte(), 0..300), n in 0..120_usize) {
        one_by_one::<u32>(&bytes, n)?;
        one_by_one::<i64>(&bytes, n)?;
        one_by_one::<u8>(&bytes, n)?;
        one_by_one::<i128>(&bytes, n)?;
    }
}

proptest! {
    #![proptest_config(config(if std::env::var_os("WHARF_EXHAUSTIVE").is_some() { 2000 } else { 100 }))]

    /// `skip`, `skip_n` and `count` agree.
    #[test]
    fn skipping_agrees_with_counting(bytes in vec(any_byte(), 0..9000), part in 0..=1000_usize) {
        let total = bytes.iter().filter(|byte| **byte < 0x80).count();
        prop_assert_eq!(count(&bytes), total);
        let n = total * part / 1000;
        let end = bytes.iter().enumerate().filter(|(_, byte)| **byte < 0x80).map(|(at, _)| at + 1).nth(n.wrapping_sub(1));
        prop_assert_eq!(skip_n(&bytes, n), Ok(end.unwrap_or(0)));
        let mut at = 0;
        for _ in 0..n.min(50) {
            at += skip(&bytes[at..]).unwrap();
        }
        prop_assert_eq!(skip_n(&bytes, n.min(50)), Ok(at));
        let error = skip_n(&bytes, total + 1).unwrap_err();
        let unfinished = bytes.iter().rposition(|byte| *byte < 0x80).map_or(0, |last| last + 1);
        prop_assert_eq!((error.kind(), error.index(), error.offset()), (DecodeErrorKind::Truncated, total, unfinished));
    }
}

/// [`decode`] or [`decode_strict`].
type Decode<T> = fn(&[u8]) -> Result<(T, usize), DecodeError>;

fn one_by_one<T: Integer>(bytes: &[u8], n: usize) -> Result<(), TestCaseError> {
    let decode_each = |decode: Decode<T>| {
        let (mut at, mut decoded) = (0, Vec::new());
        while decoded.len() < n {
            match decode(&bytes[at..]) {
                Ok((value, len)) => {
                    at += len;
                    decoded.push(value);
                }
                Err(error) => return (decoded, Err((error.kind(), at + error.offset()))),
            }
        }
        (decoded, Ok(at))
    };
    let mut out = vec![T::default(); n];
    for (strict, (decoded, end)) in [(false, decode_each(decode)), (true, decode_each(decode_strict))] {
        out.fill(T::default());
        let result = if strict { decode_slice_strict(bytes, &mut out) } else { decode_slice(bytes, &mut out) };
        prop_assert_eq!(result.map_err(|error| error.index()), end.map_err(|_| decoded.len()));
        prop_assert_eq!(result.map_err(|error| (error.kind(), error.offset())), end);
        prop_assert_eq!(&out[..decoded.len()], &decoded[..]);
    }
    let mut iterator = values::<T>(bytes);
    let good = iterator.by_ref().take_while(Result::is_ok).count();
    prop_assert!(good <= count(bytes));
    prop_assert!(iterator.next().is_none());
    prop_assert!(iterator.offset() <= bytes.len());
    Ok(())
}
