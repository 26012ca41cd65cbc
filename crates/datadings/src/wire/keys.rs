//! `.keys`: one msgpack array with the key of every sample.

use container_core::{Error, Result};

use crate::wire::token::{Token, Tokens, utf8};

/// How many keys the file states, and where the first begins.
///
/// # Errors
/// When the file begins no array.
pub(crate) fn keys_header(bytes: &[u8]) -> Result<(u32, Tokens<'_>)> {
    keys_header_at(bytes, 0)
}

/// The same of bytes that begin at `offset` of their file.
pub(crate) fn keys_header_at(bytes: &[u8], offset: u64) -> Result<(u32, Tokens<'_>)> {
    let mut tokens = Tokens::at(bytes, offset);
    match tokens.next()? {
        Token::Array(count) => Ok((count, tokens)),
        other => Err(Error::invalid(format!("{} stands where the array of keys is expected", other.name())).at(offset)),
    }
}

/// The next key of the file.
///
/// # Errors
/// When it is no text.
#[inline]
pub(crate) fn next_key<'a>(tokens: &mut Tokens<'a>) -> Result<&'a str> {
    let at = tokens.offset();
    match tokens.next()? {
        Token::Str(bytes) => utf8(bytes, tokens.offset()),
        other => Err(Error::invalid(format!("{} stands where a key is expected: keys are str", other.name())).at(at)),
    }
}

/// Passes over the next key.
#[inline]
pub(crate) fn skip_key(tokens: &mut Tokens<'_>) -> Result<()> {
    let at = tokens.offset();
    match tokens.next()? {
        Token::Str(_) => Ok(()),
        other => Err(Error::invalid(format!("{} stands where a key is expected: keys are str", other.name())).at(at)),
    }
}

/// The bytes of the key in a message that begins with it in the shortest form, as most do; `None` says nothing. A few steps, so that the
/// processor sees past them while it waits for the message.
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
    fn keys_one_after_another() {
        let (count, mut tokens) = keys_header(&[0x92, 0xa1, b'a', 0xa2, 0xc3, 0xa4]).unwrap();
        assert_eq!(count, 2);
        assert_eq!(next_key(&mut tokens).unwrap(), "a");
        assert_eq!(next_key(&mut tokens).unwrap(), "ä");
        assert!(tokens.is_empty());
        assert!(next_key(&mut tokens).is_err());
    }

    #[test]
    fn what_is_no_key_is_named() {
        let error = keys_header(&[0x80]).unwrap_err();
        assert_eq!(error.to_string(), "a map stands where the array of keys is expected (byte 0)");
        let (_, mut tokens) = keys_header(&[0x91, 5]).unwrap();
        let error = next_key(&mut tokens.clone()).unwrap_err();
        assert_eq!(error.to_string(), "an integer stands where a key is expected: keys are str (byte 1)");
        assert!(skip_key(&mut tokens).is_err());
    }

    /// Whatever a message holds: the key that it opens with is the one that is found by going through it.
    #[test]
    fn the_key_that_opens_a_message_is_the_one_it_has() {
        let message = b"\x83\xa3key\xa5f\xc3\xbcnf\xa5label\x07\xa3key\xa1b";
        let check = |message: &[u8]| {
            let opening = opening_key(message);
            if let Some(Ok(key)) = opening.map(std::str::from_utf8) {
                let found = crate::RawValue::new(message).get("key").unwrap().unwrap();
                assert_eq!(found.str().unwrap(), key, "{message:02x?}");
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
