//! Writes MessagePack, always in the shortest encoding, as Python's `msgpack` does.

/// The header of an array of `len` values.
#[inline]
pub(crate) fn put_array_header(out: &mut Vec<u8>, len: u32) {
    put_header(out, len, 0x90, 0xdc);
}

/// The header of a map of `len` pairs.
pub fn put_map_header(out: &mut Vec<u8>, len: u32) {
    put_header(out, len, 0x80, 0xde);
}

/// `fixed` is the marker for counts below 16, `wide` that for two-byte counts; the next one takes four bytes.
fn put_header(out: &mut Vec<u8>, len: u32, fixed: u8, wide: u8) {
    match (u8::try_from(len), u16::try_from(len)) {
        (Ok(len @ 0..16), _) => out.push(fixed | len),
        (_, Ok(len)) => {
            out.push(wide);
            out.extend_from_slice(&len.to_be_bytes());
        }
        _ => {
            out.push(wide + 1);
            out.extend_from_slice(&len.to_be_bytes());
        }
    }
}

/// The header of a str of `len` bytes.
#[inline]
pub(crate) fn put_str_header(out: &mut Vec<u8>, len: u32) {
    match (u8::try_from(len), u16::try_from(len)) {
        (Ok(len @ 0..32), _) => out.push(0xa0 | len),
        (Ok(len), _) => out.extend_from_slice(&[0xd9, len]),
        (_, Ok(len)) => {
            out.push(0xda);
            out.extend_from_slice(&len.to_be_bytes());
        }
        _ => {
            out.push(0xdb);
            out.extend_from_slice(&len.to_be_bytes());
        }
    }
}

/// The header of a bin of `len` bytes.
pub fn put_bin_header(out: &mut Vec<u8>, len: u32) {
    match (u8::try_from(len), u16::try_from(len)) {
        (Ok(len), _) => out.extend_from_slice(&[0xc4, len]),
        (_, Ok(len)) => {
            out.push(0xc5);
            out.extend_from_slice(&len.to_be_bytes());
        }
        _ => {
            out.push(0xc6);
            out.extend_from_slice(&len.to_be_bytes());
        }
    }
}

/// A str.
///
/// # Errors
/// The length, when it exceeds the format's 2^32 - 1.
#[inline]
pub(crate) fn put_str(out: &mut Vec<u8>, text: &str) -> Result<(), u64> {
    put_str_header(out, u32::try_from(text.len()).map_err(|_| text.len() as u64)?);
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

/// A bin.
///
/// # Errors
/// The length, when it exceeds the format's 2^32 - 1.
pub(crate) fn put_bin(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), u64> {
    put_bin_header(out, u32::try_from(bytes.len()).map_err(|_| bytes.len() as u64)?);
    out.extend_from_slice(bytes);
    Ok(())
}

pub(crate) fn put_nil(out: &mut Vec<u8>) {
    out.push(0xc0);
}

pub(crate) fn put_bool(out: &mut Vec<u8>, value: bool) {
    out.push(0xc2 | u8::from(value));
}

/// A non-negative integer.
#[inline]
pub(crate) fn put_uint(out: &mut Vec<u8>, value: u64) {
    match (u8::try_from(value), u16::try_from(value), u32::try_from(value)) {
        (Ok(value @ 0..0x80), ..) => out.push(value),
        (Ok(value), ..) => out.extend_from_slice(&[0xcc, value]),
        (_, Ok(value), _) => put_marked_16(out, 0xcd, value.to_be_bytes()),
        (_, _, Ok(value)) => put_marked_32(out, 0xce, value.to_be_bytes()),
        _ => put_marked_64(out, 0xcf, value),
    }
}

/// An integer.
#[inline]
pub(crate) fn put_int(out: &mut Vec<u8>, value: i64) {
    if let Ok(value) = u64::try_from(value) {
        return put_uint(out, value);
    }
    match (i8::try_from(value), i16::try_from(value), i32::try_from(value)) {
        (Ok(value @ -32..), ..) => out.extend_from_slice(&value.to_be_bytes()),
        (Ok(value), ..) => out.extend_from_slice(&[0xd0, value.cast_unsigned()]),
        (_, Ok(value), _) => put_marked_16(out, 0xd1, value.to_be_bytes()),
        (_, _, Ok(value)) => put_marked_32(out, 0xd2, value.to_be_bytes()),
        _ => put_marked_64(out, 0xd3, value.cast_unsigned()),
    }
}

#[inline]
pub(crate) fn put_f32(out: &mut Vec<u8>, value: f32) {
    put_marked_32(out, 0xca, value.to_be_bytes());
}

#[inline]
pub(crate) fn put_f64(out: &mut Vec<u8>, value: f64) {
    put_marked_64(out, 0xcb, value.to_bits());
}

// A marker and its value, in one step: each step checks the capacity.

#[inline]
fn put_marked_16(out: &mut Vec<u8>, marker: u8, [a, b]: [u8; 2]) {
    out.extend_from_slice(&[marker, a, b]);
}

#[inline]
fn put_marked_32(out: &mut Vec<u8>, marker: u8, [a, b, c, d]: [u8; 4]) {
    out.extend_from_slice(&[marker, a, b, c, d]);
}

#[inline]
fn put_marked_64(out: &mut Vec<u8>, marker: u8, value: u64) {
    let wide = (u128::from(marker) << 64 | u128::from(value)).to_be_bytes();
    if let Some(bytes) = wide.last_chunk::<9>() {
        out.extend_from_slice(bytes);
    }
}

/// An ext of type `kind`.
///
/// # Errors
/// The length, when it exceeds the format's 2^32 - 1.
pub(crate) fn put_ext(out: &mut Vec<u8>, kind: i8, bytes: &[u8]) -> Result<(), u64> {
    let len = u32::try_from(bytes.len()).map_err(|_| bytes.len() as u64)?;
    match (len, u8::try_from(len), u16::try_from(len)) {
        (1, ..) => out.push(0xd4),
        (2, ..) => out.push(0xd5),
        (4, ..) => out.push(0xd6),
        (8, ..) => out.push(0xd7),
        (16, ..) => out.push(0xd8),
        (_, Ok(len), _) => out.extend_from_slice(&[0xc7, len]),
        (_, _, Ok(len)) => {
            out.push(0xc8);
            out.extend_from_slice(&len.to_be_bytes());
        }
        _ => {
            out.push(0xc9);
            out.extend_from_slice(&len.to_be_bytes());
        }
    }
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::token::{Token, Tokens};

    #[test]
    fn integers_take_the_shortest_encoding() {
        let cases: &[(i64, usize)] = &[
            (0, 1),
            (127, 1),
            (128, 2),
            (255, 2),
            (256, 3),
            (65_535, 3),
            (65_536, 5),
            (u32::MAX as i64, 5),
            (u32::MAX as i64 + 1, 9),
            (i64::MAX, 9),
            (-1, 1),
            (-32, 1),
            (-33, 2),
            (-128, 2),
            (-129, 3),
            (-32_768, 3),
            (-32_769, 5),
            (i32::MIN as i64, 5),
            (i32::MIN as i64 - 1, 9),
            (i64::MIN, 9),
        ];
        for &(value, size) in cases {
            let mut out = Vec::new();
            put_int(&mut out, value);
            assert_eq!(out.len(), size, "{value}");
            let expected = u64::try_from(value).map_or(Token::Negative(value), Token::Unsigned);
            assert_eq!(Tokens::at(&out, 0).next().unwrap(), expected);
        }
    }

    #[test]
    fn headers_take_the_shortest_encoding() {
        let sizes = |put: fn(&mut Vec<u8>, u32)| {
            [0, 15, 16, 31, 32, 255, 256, 65_535, 65_536].map(|len| {
                let mut out = Vec::new();
                put(&mut out, len);
                out.len()
            })
        };
        assert_eq!(sizes(put_array_header), [1, 1, 3, 3, 3, 3, 3, 3, 5]);
        assert_eq!(sizes(put_map_header), [1, 1, 3, 3, 3, 3, 3, 3, 5]);
        assert_eq!(sizes(put_str_header), [1, 1, 1, 1, 2, 2, 3, 3, 5]);
        assert_eq!(sizes(put_bin_header), [2, 2, 2, 2, 2, 2, 3, 3, 5]);
    }

    #[test]
    fn round_trips() {
        for len in [0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 255, 256, 70_000] {
            let bytes = vec![b'x'; len];
            let mut out = Vec::new();
            put_ext(&mut out, -5, &bytes).unwrap();
            put_bin(&mut out, &bytes).unwrap();
            put_str(&mut out, std::str::from_utf8(&bytes).unwrap()).unwrap();
            put_bool(&mut out, true);
            let mut tokens = Tokens::at(&out, 0);
            assert_eq!(tokens.next().unwrap(), Token::Ext(-5, &bytes));
            assert_eq!(tokens.next().unwrap(), Token::Bin(&bytes));
            assert_eq!(tokens.next().unwrap(), Token::Str(&bytes));
            assert_eq!(tokens.next().unwrap(), Token::Bool(true));
        }
    }
}
