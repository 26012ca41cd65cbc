//! Known values, the limits of every type, and every error.

use leb128_codec::typed::{
    decode_i32, decode_strict_u16, decode_u64, encode_i64, encode_into_u8, encode_u128, encoded_len_i128,
};
use leb128_codec::{
    DecodeError, DecodeErrorKind, EncodeError, Integer, count, decode, decode_strict, encode, encode_into, encoded_len,
    skip, skip_n,
};

use crate::support::{for_each_type, naive, verdict};

/// The vectors of the format's description, in its order.
#[test]
fn matches_vectors_of_the_format() {
    let unsigned: [(u64, &[u8]); 6] = [
        (0, &[0x00]),
        (127, &[0x7f]),
        (128, &[0x80, 0x01]),
        (300, &[0xac, 0x02]),
        (624_485, &[0xe5, 0x8e, 0x26]),
        (u64::MAX, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
    ];
    for (value, bytes) in unsigned {
        assert_eq!(encode(value, &mut [0; 10]), bytes);
        assert_eq!(decode(bytes), Ok((value, bytes.len())));
        assert_eq!(encoded_len(value), bytes.len());
    }
    let signed: [(i64, &[u8]); 5] = [
        (-1, &[0x7f]),
        (-123_456, &[0xc0, 0xbb, 0x78]),
        (i64::MIN, &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f]),
        (64, &[0xc0, 0x00]),
        (-64, &[0x40]),
    ];
    for (value, bytes) in signed {
        assert_eq!(encode(value, &mut [0; 10]), bytes);
        assert_eq!(decode(bytes), Ok((value, bytes.len())));
        assert_eq!(encoded_len(value), bytes.len());
    }
}

#[test]
fn works_in_const_code() {
    const MAX: Result<(u64, usize), DecodeError> =
        decode_u64(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x55]);
    const NEGATIVE: (i32, usize) = match decode_i32(&[0xc0, 0xbb, 0x78, 0, 0, 0, 0, 0, 0]) {
        Ok(decoded) => decoded,
        Err(_) => (0, 0),
    };
    const OVERLONG: DecodeErrorKind = match decode_strict_u16(&[0xff, 0x00]) {
        Ok(_) => DecodeErrorKind::Truncated,
        Err(error) => error.kind(),
    };
    const LEN: usize = encoded_len_i128(i128::MIN);
    const MIN: ([u8; 10], usize) = {
        let mut buffer = [0; 10];
        let len = encode_i64(i64::MIN, &mut buffer).len();
        (buffer, len)
    };
    const WIDE: [u8; 19] = {
        let mut buffer = [0; 19];
        encode_u128(u128::MAX, &mut buffer);
        buffer
    };
    const NO_ROOM: Result<usize, EncodeError> = encode_into_u8(200, &mut [0]);
    const SKIPPED: Result<usize, DecodeError> = skip(&[0x80, 0x80, 0x00, 0x01]);
    assert_eq!(MAX, Ok((u64::MAX, 10)));
    assert_eq!(NEGATIVE, (-123_456, 3));
    assert_eq!(OVERLONG, DecodeErrorKind::Overlong);
    assert_eq!(LEN, 19);
    assert_eq!(MIN, ([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f], 10));
    assert_eq!((WIDE[0], WIDE[17], WIDE[18]), (0xff, 0xff, 0x03));
    assert_eq!(NO_ROOM.map_err(|e| (e.needed(), e.available())), Err((2, 1)));
    assert_eq!(SKIPPED, Ok(3));
}

/// Values near every power of two, through every function, in buffers of every length.
#[test]
#[cfg_attr(miri, ignore = "a million calls")]
fn round_trips_values_near_powers_of_two() {
    macro_rules! boundaries {
        ($($int:ident)+) => {$(
            let mut tested = 0;
            for bit in 0..$int::BITS {
                for near in [-2_i128, -1, 0, 1, 2] {
                    for value in [(1 as $int) << bit, !((1 as $int) << bit)] {
                        let value = value.wrapping_add(near as $int);
                        round_trip(value);
                        tested += 1;
                    }
                }
            }
            for value in [$int::MIN, $int::MAX, 0, 1, (0 as $int).wrapping_sub(1)] {
                round_trip(value);
            }
            assert_eq!(tested, 10 * $int::BITS);
        )+};
    }
    for_each_type!(boundaries);
}

fn round_trip<T: Integer>(value: T) {
    let mut buffer = T::Buffer::default();
    let bytes = encode(value, &mut buffer).to_vec();
    assert_eq!(bytes.len(), encoded_len(value), "{value}");
    assert_eq!(decode(&bytes), Ok((value, bytes.len())));
    assert_eq!(decode_strict(&bytes), Ok((value, bytes.len())));
    assert_eq!(skip(&bytes), Ok(bytes.len()));
    // Bytes after the value do not matter.
    for (tail, filler) in (0..12).flat_map(|tail| [(tail, 0x00), (tail, 0x7f), (tail, 0x80), (tail, 0xff)]) {
        let followed: Vec<u8> = bytes.iter().copied().chain(std::iter::repeat_n(filler, tail)).collect();
        assert_eq!(decode(&followed), Ok((value, bytes.len())), "{value} and {tail} times {filler:#x}");
        assert_eq!(decode_strict(&followed), Ok((value, bytes.len())), "{value} and {tail} times {filler:#x}");
    }
    // Every prefix is truncated, at its first byte.
    for cut in 0..bytes.len() {
        let error = decode::<T>(&bytes[..cut]).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (DecodeErrorKind::Truncated, 0), "{value} cut to {cut}");
    }
    // A slice that is too small is not changed.
    for room in 0..bytes.len() + 12 {
        let mut slice = vec![0xaa; room];
        let result = encode_into(value, &mut slice);
        if room < bytes.len() {
            let error = result.unwrap_err();
            assert_eq!((error.needed(), error.available(), error.index()), (bytes.len(), room, 0));
            assert!(slice.iter().all(|byte| *byte == 0xaa), "{value} in {room} bytes");
        } else {
            assert_eq!(result, Ok(bytes.len()));
            assert_eq!(slice[..bytes.len()], bytes);
        }
    }
    // Padding is valid up to the type's maximum length.
    let negative = value < T::default();
    for len in bytes.len() + 1..=T::MAX_LEN + 1 {
        let mut padded = bytes.clone();
        *padded.last_mut().unwrap() |= 0x80;
        padded.resize(len, if negative { 0xff } else { 0x80 });
        *padded.last_mut().unwrap() &= 0x7f;
        if len <= T::MAX_LEN {
            assert_eq!(decode(&padded), Ok((value, len)));
            let error = decode_strict::<T>(&padded).unwrap_err();
            assert_eq!((error.kind(), error.offset()), (DecodeErrorKind::Overlong, len - 1));
        } else {
            for result in [decode::<T>(&padded), decode_strict::<T>(&padded)] {
                let error = result.unwrap_err();
                assert_eq!((error.kind(), error.offset()), (DecodeErrorKind::Overflow, T::MAX_LEN - 1));
            }
        }
    }
}

/// Every value of the last byte of the longest encoding, after bytes of all kinds.
#[test]
#[cfg_attr(miri, ignore = "50,000 calls")]
fn checks_every_last_byte() {
    macro_rules! last_bytes {
        ($($int:ident)+) => {$(
            let (mut good, mut bad) = (0, 0);
            for before in [0x80, 0xff, 0xbf, 0xc0] {
                for last in 0..=u8::MAX {
                    for tail in [0, 20] {
                        let mut bytes = vec![before; <$int>::MAX_LEN - 1];
                        bytes.push(last);
                        bytes.resize(bytes.len() + tail, 0);
                        let bits = usize::try_from($int::BITS).unwrap();
                        let expected = naive(&bytes, bits, <$int>::SIGNED, false);
                        assert_eq!(verdict(decode::<$int>(&bytes)), expected, "{} {bytes:x?}", stringify!($int));
                        let strict = naive(&bytes, bits, <$int>::SIGNED, true);
                        assert_eq!(verdict(decode_strict::<$int>(&bytes)), strict, "{} {bytes:x?}", stringify!($int));
                        if expected.is_ok() { good += 1 } else { bad += 1 }
                    }
                }
            }
            // The type has room for this many bits of the last byte; they determine the others.
            let room = $int::BITS - 7 * (u32::try_from(<$int>::MAX_LEN).unwrap() - 1);
            assert_eq!((good, bad), (8 << room, 8 * 256 - (8 << room)), "{}", stringify!($int));
        )+};
    }
    for_each_type!(last_bytes);
}

/// Every pair of bytes, for the types of at most two.
#[test]
#[cfg_attr(miri, ignore = "800,000 calls")]
fn checks_every_pair_of_bytes() {
    for first in 0..=u8::MAX {
        for second in 0..=u8::MAX {
            for tail in [0, 1, 8] {
                let mut bytes = vec![first, second];
                bytes.resize(2 + tail, 0xff);
                for strict in [false, true] {
                    let unsigned = if strict { decode_strict::<u8>(&bytes) } else { decode::<u8>(&bytes) };
                    assert_eq!(verdict(unsigned), naive(&bytes, 8, false, strict), "{bytes:x?}");
                    let signed = if strict { decode_strict::<i8>(&bytes) } else { decode::<i8>(&bytes) };
                    assert_eq!(verdict(signed), naive(&bytes, 8, true, strict), "{bytes:x?}");
                }
            }
        }
    }
}

/// More values than 8-bit or 16-bit counters can hold.
#[test]
fn counts_long_runs() {
    for (byte, values) in [(0x05, 100_003), (0x80, 0)] {
        let bytes = vec![byte; 100_003];
        assert_eq!(count(&bytes), values);
        assert_eq!(skip_n(&bytes, values), Ok(values));
        assert_eq!(skip_n(&bytes, values + 1).unwrap_err().index(), values);
    }
}

#[test]
fn error_messages() {
    let text = |bytes: &[u8]| decode_strict::<i16>(bytes).unwrap_err().to_string();
    assert_eq!(text(&[]), "leb128: value needs at least 1 byte, 0 available (byte 0)");
    assert_eq!(text(&[0x80, 0x80]), "leb128: value needs at least 3 bytes, 2 available (byte 0)");
    assert_eq!(text(&[0x80, 0x80, 0x02]), "leb128: byte 0x02 does not fit i16 (byte 2)");
    assert_eq!(text(&[0xff, 0x7f]), "leb128: byte 0x7f is padding, the shortest form is required (byte 1)");
    assert_eq!(skip(&[0x80; 20]).unwrap_err().shifted(7).offset(), 7);
}

/// With the name and the offset of a field.
#[test]
fn converts_errors_to_container_core() {
    use container_core::{Blame, ErrorKind};

    let truncated = decode::<u32>(&[0x80, 0x80]).unwrap_err().in_field("row count", 40);
    assert_eq!(truncated.to_string(), "row count: needs 3 bytes, 2 available (byte 40)");
    assert_eq!(truncated.kind(), ErrorKind::Truncated { needed: 3, available: 2 });
    let overflow = decode::<u32>(&[0xff, 0xff, 0xff, 0xff, 0x10]).unwrap_err().in_field("row count", 40);
    assert_eq!((overflow.kind(), overflow.position().byte), (ErrorKind::Invalid, Some(44)));
    #[cfg(feature = "alloc")]
    assert_eq!(overflow.to_string(), "row count: LEB128 byte 0x10 does not fit u32 (byte 44)");
    #[cfg(not(feature = "alloc"))]
    assert!(overflow.to_string().ends_with("(byte 44)"), "{overflow}");
    let anonymous = container_core::Error::from(decode_strict::<u32>(&[0x80, 0x00]).unwrap_err());
    assert_eq!((anonymous.format(), anonymous.position().byte), (Some("leb128"), Some(1)));
    let no_room = container_core::Error::from(encode_into(300_u32, &mut [0]).unwrap_err());
    assert_eq!(no_room.kind().blame(), Blame::Caller);
}
