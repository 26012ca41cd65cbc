//! `.index`, the index of older datasets: one msgpack map from key to the offset at which its sample begins.

use container_core::{Error, Result};

use crate::wire::keys::next_key;
use crate::wire::token::{Token, Tokens};

/// How many entries the file states, and where the first begins.
///
/// # Errors
/// When the file begins no map.
pub(crate) fn legacy_header(bytes: &[u8]) -> Result<(u32, Tokens<'_>)> {
    let mut tokens = Tokens::at(bytes, 0);
    match tokens.next()? {
        Token::Map(count) => Ok((count, tokens)),
        other => Err(Error::invalid(format!("{} stands where the map of offsets is expected", other.name())).at(0)),
    }
}

/// The next key and offset of the file.
///
/// # Errors
/// When the key is no text or the offset no integer of zero or above.
pub(crate) fn next_entry<'a>(tokens: &mut Tokens<'a>) -> Result<(&'a str, u64)> {
    let key = next_key(tokens)?;
    let at = tokens.offset();
    match tokens.next()? {
        Token::Unsigned(offset) => Ok((key, offset)),
        Token::Negative(offset) => {
            Err(Error::invalid(format!("the offset {offset} is negative")).at(at).in_key(key.to_owned()))
        }
        other => {
            let detail = format!("{} stands where an offset is expected", other.name());
            Err(Error::invalid(detail).at(at).in_key(key.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_one_after_another() {
        let (count, mut tokens) = legacy_header(&[0x82, 0xa1, b'a', 0, 0xa1, b'b', 0xcd, 1, 0]).unwrap();
        assert_eq!(count, 2);
        assert_eq!(next_entry(&mut tokens).unwrap(), ("a", 0));
        assert_eq!(next_entry(&mut tokens).unwrap(), ("b", 256));
        assert!(tokens.is_empty());
    }

    #[test]
    fn what_is_no_entry_is_named() {
        assert!(legacy_header(&[0x90]).is_err());
        let (_, mut tokens) = legacy_header(&[0x81, 0xa1, b'a', 0xff]).unwrap();
        assert_eq!(next_entry(&mut tokens).unwrap_err().to_string(), r#"the offset -1 is negative (byte 3, key "a")"#);
    }
}
