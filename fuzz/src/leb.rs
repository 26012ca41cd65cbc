//! LEB128 values through every decoder, compared with a reference decoder.

use leb128_codec::{
    DecodeErrorKind, Integer, count, decode, decode_slice, decode_slice_strict, decode_strict, encode, encode_into,
    encode_slice, encoded_len, encoded_len_slice, io, skip, skip_n, values,
};

/// The first byte selects the type and the number of values.
pub fn leb128(data: &[u8]) {
    let Some((&how, bytes)) = data.split_first() else { return };
    let n = usize::from(how >> 4) * 11;
    match how % 12 {
        0 => check::<u8>(bytes, n),
        1 => check::<u16>(bytes, n),
        2 => check::<u32>(bytes, n),
        3 => check::<u64>(bytes, n),
        4 => check::<u128>(bytes, n),
        5 => check::<usize>(bytes, n),
        6 => check::<i8>(bytes, n),
        7 => check::<i16>(bytes, n),
        8 => check::<i32>(bytes, n),
        9 => check::<i64>(bytes, n),
        10 => check::<i128>(bytes, n),
        _ => check::<isize>(bytes, n),
    }
    lengths(bytes, n);
}

/// A value, extended to 128 bits, and its length; or the kind and offset of the error.
pub type Verdict = Result<(u128, usize), (DecodeErrorKind, usize)>;

/// The reference decoder, which follows the definition bit by bit.
pub fn naive(bytes: &[u8], bits: usize, signed: bool, strict: bool) -> Verdict {
    let longest = bits.div_ceil(7);
    let mut groups = Vec::new();
    loop {
        let Some(&byte) = bytes.get(groups.len() / 7) else { return Err((DecodeErrorKind::Truncated, 0)) };
        groups.extend((0..7).map(|bit| byte >> bit & 1 == 1));
        if byte < 0x80 {
            break;
        }
        if groups.len() / 7 == longest {
            return Err((DecodeErrorKind::Overflow, longest - 1));
        }
    }
    let len = groups.len() / 7;
    let sign = signed && groups.last().copied().unwrap_or(false);
    // Bits beyond the type's width must be copies of its sign bit, or zeros.
    let fill = if signed { groups.get(bits - 1).copied().unwrap_or(sign) } else { false };
    if groups.iter().skip(bits).any(|&bit| bit != fill) {
        return Err((DecodeErrorKind::Overflow, len - 1));
    }
    let is_padding = |byte: u8, before: u8| match (signed, byte) {
        (false, 0) => true,
        (true, 0) => before & 0x40 == 0,
        (true, 0x7F) => before & 0x40 != 0,
        _ => false,
    };
    if strict && len > 1 && is_padding(bytes[len - 1], bytes[len - 2]) {
        return Err((DecodeErrorKind::Overlong, len - 1));
    }
    let bit = |index: usize| groups.get(index).copied().unwrap_or(sign);
    let value = (0..128).fold(0u128, |value, index| value | u128::from(bit(index)) << index);
    Ok((value, len))
}

/// A value extended to 128 bits.
fn wide<T: Integer>(value: T) -> u128 {
    value.to_string().parse::<i128>().map_or_else(|_| value.to_string().parse().unwrap(), |value| value as u128)
}

fn check<T: Integer>(bytes: &[u8], n: usize) {
    let bits = T::BITS as usize;
    let naive = |bytes: &[u8], strict: bool| naive(bytes, bits, T::SIGNED, strict);
    let one = |found: Result<(T, usize), leb128_codec::DecodeError>| {
        found.map(|(value, len)| (wide(value), len)).map_err(|error| (error.kind(), error.offset()))
    };
    assert_eq!(one(decode::<T>(bytes)), naive(bytes, false));
    assert_eq!(one(decode_strict::<T>(bytes)), naive(bytes, true));

    // One after the other, up to an error.
    let run = |strict: bool, most: usize| {
        let (mut all, mut at) = (Vec::new(), 0);
        while all.len() < most {
            match naive(&bytes[at..], strict) {
                Ok((value, len)) => {
                    all.push(value);
                    at += len;
                }
                Err((kind, offset)) => return (all, Err((kind, at + offset))),
            }
        }
        (all, Ok(at))
    };
    for strict in [false, true] {
        let (expected, end) = run(strict, n);
        let mut out = vec![T::default(); n];
        let found = if strict { decode_slice_strict(bytes, &mut out) } else { decode_slice(bytes, &mut out) };
        if let Err(error) = found {
            assert_eq!(error.index(), expected.len());
            assert!(!error.to_string().is_empty());
        }
        assert_eq!(found.map_err(|error| (error.kind(), error.offset())), end);
        let decoded: Vec<u128> = out[..expected.len()].iter().map(|value| wide(*value)).collect();
        assert_eq!(decoded, expected);
        encoding(&out[..expected.len()]);
    }

    let (expected, end) = run(false, usize::MAX);
    let (mut iterator, mut found) = (values::<T>(bytes), Vec::new());
    while let Some(Ok(value)) = iterator.next() {
        found.push(wide(value));
    }
    assert_eq!(found, expected);
    // The iterator ends at the end of the bytes, or with one error.
    let whole = end == Err((DecodeErrorKind::Truncated, bytes.len()));
    assert_eq!(values::<T>(bytes).last().is_none_or(|last| last.is_ok()), whole);

    let mut stream = bytes;
    match (io::read::<T, _>(&mut stream), naive(bytes, false)) {
        (Ok(None), Err((DecodeErrorKind::Truncated, 0))) => assert!(bytes.is_empty()),
        (Ok(Some(value)), Ok((expected, len))) => {
            assert_eq!((wide(value), bytes.len() - stream.len()), (expected, len));
        }
        (Err(_), Err(_)) => {}
        (result, expected) => panic!("stream: expected {expected:?}, found {result:?}"),
    }
}

/// Values survive encoding and decoding, in their shortest form.
fn encoding<T: Integer>(all: &[T]) {
    let mut joined = Vec::new();
    for &value in all {
        let mut buffer = T::Buffer::default();
        let bytes = encode(value, &mut buffer).to_vec();
        assert_eq!(bytes.len(), encoded_len(value));
        assert_eq!(decode_strict::<T>(&bytes), Ok((value, bytes.len())));
        let mut room = vec![0xEE; bytes.len() + 1];
        assert_eq!(encode_into(value, &mut room), Ok(bytes.len()));
        assert!(room[..bytes.len()] == bytes && room[bytes.len()] == 0xEE);
        assert!(encode_into(value, &mut room[..bytes.len() - 1]).is_err());
        joined.extend(bytes);
    }
    assert_eq!(encoded_len_slice(all), joined.len());
    let mut out = vec![0xEE; joined.len() + 3];
    assert_eq!(encode_slice(all, &mut out), Ok(joined.len()));
    assert!(out[..joined.len()] == joined && out[joined.len()..] == [0xEE; 3]);
    if !joined.is_empty() {
        assert!(encode_slice(all, &mut out[..joined.len() - 1]).is_err());
    }
}

/// The functions that only count and skip values.
fn lengths(bytes: &[u8], n: usize) {
    let ends: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] < 0x80).collect();
    assert_eq!(count(bytes), ends.len());
    assert_eq!(skip(bytes).ok(), ends.first().map(|end| end + 1));
    let expected = if n == 0 { Some(0) } else { ends.get(n - 1).map(|end| end + 1) };
    match skip_n(bytes, n) {
        Ok(len) => assert_eq!(Some(len), expected),
        Err(error) => {
            assert!(expected.is_none() && error.index() == ends.len());
            assert_eq!(error.offset(), ends.last().map_or(0, |end| end + 1));
        }
    }
}
