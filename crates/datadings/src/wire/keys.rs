//! `.keys`: one msgpack array with the key of every sample.

use container_core::{Error, Result};

use crate::wire::token::{Token, Tokens, utf8};

/// How many keys the file states, and where the first begins.
///
/// # Errors
/// When the file begins no array.
pub(crate) fn keys_header(bytes: &[u8]) -> Result<(u32, Tokens<'_>)> {
    let mut tokens = Tokens::at(bytes, 0);
    match tokens.next()? {
        Token::Array(count) => Ok((count, tokens)),
        other => Err(Error::invalid(format!("{} stands where the array of keys is expected", other.name())).at(0)),
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
}
