//! `.keys`: one msgpack array of the key of every sample.

use container_core::{Error, Result};

use crate::wire::token::{Token, Tokens, utf8};

/// The declared number of keys, and a reader of them.
///
/// # Errors
/// When the file does not begin with an array.
pub(crate) fn keys_header(bytes: &[u8]) -> Result<(u32, Tokens<'_>)> {
    keys_header_at(bytes, 0)
}

/// Like [`keys_header`], for bytes that begin at `offset` of their file.
pub(crate) fn keys_header_at(bytes: &[u8], offset: u64) -> Result<(u32, Tokens<'_>)> {
    let mut tokens = Tokens::at(bytes, offset);
    match tokens.next()? {
        Token::Array(count) => Ok((count, tokens)),
        other => Err(Error::invalid(format!("expected an array of keys, found {}", other.name())).at(offset)),
    }
}

/// The next key.
///
/// # Errors
/// When it is not a str of valid UTF-8.
#[inline]
pub(crate) fn next_key<'a>(tokens: &mut Tokens<'a>) -> Result<&'a str> {
    let bytes = next_key_bytes(tokens)?;
    utf8(bytes, tokens.offset())
}

/// The bytes of the next key.
///
/// # Errors
/// When it is not a str.
#[inline]
pub(crate) fn next_key_bytes<'a>(tokens: &mut Tokens<'a>) -> Result<&'a [u8]> {
    if let Some(bytes) = tokens.short_str() {
        return Ok(bytes);
    }
    let at = tokens.offset();
    match tokens.next()? {
        Token::Str(bytes) => Ok(bytes),
        other => Err(not_a_key(&other, at)),
    }
}

#[cold]
fn not_a_key(token: &Token<'_>, at: u64) -> Error {
    Error::invalid(format!("expected a key (str), found {}", token.name())).at(at)
}

/// The bytes of the key of a message that begins with it in its shortest encoding, as most do; `None` when it must be searched for.
/// Deliberately few steps, so that the processor can speculate past them while it waits for the message.
#[inline]
pub(crate) fn opening_key(message: &[u8]) -> Option<&[u8]> {
    let (&[map, b0, b1, b2, b3, head], text) = message.split_first_chunk()?;
    if (0x81..=0x8f).contains(&map) && [b0, b1, b2, b3] == *b"\xa3key" && (0xa0..=0xbf).contains(&head) {
        return text.get(..usize::from(head & 0x1f));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_keys() {
        let (count, mut tokens) = keys_header(&[0x92, 0xa1, b'a', 0xa2, 0xc3, 0xa4]).unwrap();
        assert_eq!(count, 2);
        assert_eq!(next_key(&mut tokens).unwrap(), "a");
        assert_eq!(next_key(&mut tokens).unwrap(), "ä");
        assert!(tokens.is_empty());
        assert!(next_key(&mut tokens).is_err());
    }

    #[test]
    fn rejects_values_that_are_not_keys() {
        let error = keys_header(&[0x80]).unwrap_err();
        assert_eq!(error.to_string(), "expected an array of keys, found a map (byte 0)");
        let (_, mut tokens) = keys_header(&[0x91, 5]).unwrap();
        let error = next_key(&mut tokens.clone()).unwrap_err();
        assert_eq!(error.to_string(), "expected a key (str), found an integer (byte 1)");
        assert!(next_key_bytes(&mut tokens).is_err());
    }

    /// The fast path agrees with the search through the message, for arbitrary bytes.
    #[test]
    fn opening_key_agrees_with_field_lookup() {
        let message = b"\x83\xa3key\xa5f\xc3\xbcnf\xa5label\x07\xa3key\xa1b";
        let check = |message: &[u8]| {
            let opening = opening_key(message);
            if let Some(Ok(key)) = opening.map(std::str::from_utf8) {
                let field = crate::RawValue::new(message).get("key").unwrap().unwrap();
                assert_eq!(field.str().unwrap(), key, "{message:02x?}");
            }
            opening.is_some()
        };
        assert_eq!(opening_key(message), Some("f\u{fc}nf".as_bytes()));
        assert!((0..message.len()).all(|len| check(&message[..len]) == (len >= 11)));
        for at in 0..message.len() {
            for byte in 0..=255 {
                let mut other = message.to_vec();
                other[at] = byte;
                check(&other);
            }
        }
        let long = [b"\x81\xa3key\xd9\x20".as_slice(), &[b'x'; 32]].concat();
        assert_eq!((check(b"\x81\xa3key\xa0"), check(b"\x80\xa3key\xa0"), check(&long)), (true, false, false));
    }
}
