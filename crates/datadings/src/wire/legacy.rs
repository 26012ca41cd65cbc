//! `.index`, the index of older datasets: one msgpack map from each key to its sample's start offset.

use container_core::{Error, Result};

use crate::wire::keys::next_key;
use crate::wire::token::{Token, Tokens};

/// The declared number of entries, and a reader of them.
///
/// # Errors
/// When the file does not begin with a map.
pub(crate) fn legacy_header(bytes: &[u8]) -> Result<(u32, Tokens<'_>)> {
    let mut tokens = Tokens::at(bytes, 0);
    match tokens.next()? {
        Token::Map(count) => Ok((count, tokens)),
        other => Err(Error::invalid(format!("expected a map of offsets, found {}", other.name())).at(0)),
    }
}

/// The next key and offset.
///
/// # Errors
/// When the key is not a str or the offset not a non-negative integer.
pub(crate) fn next_entry<'a>(tokens: &mut Tokens<'a>) -> Result<(&'a str, u64)> {
    let key = next_key(tokens)?;
    let at = tokens.offset();
    match tokens.next()? {
        Token::Unsigned(offset) => Ok((key, offset)),
        Token::Negative(offset) => {
            Err(Error::invalid(format!("negative offset {offset}")).at(at).in_key(key.to_owned()))
        }
        other => {
            let detail = format!("expected an offset, found {}", other.name());
            Err(Error::invalid(detail).at(at).in_key(key.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_entries() {
        let (count, mut tokens) = legacy_header(&[0x82, 0xa1, b'a', 0, 0xa1, b'b', 0xcd, 1, 0]).unwrap();
        assert_eq!(count, 2);
        assert_eq!(next_entry(&mut tokens).unwrap(), ("a", 0));
        assert_eq!(next_entry(&mut tokens).unwrap(), ("b", 256));
        assert!(tokens.is_empty());
    }

    #[test]
    fn rejects_invalid_entries() {
        assert!(legacy_header(&[0x90]).is_err());
        let (_, mut tokens) = legacy_header(&[0x81, 0xa1, b'a', 0xff]).unwrap();
        assert_eq!(next_entry(&mut tokens).unwrap_err().to_string(), r#"negative offset -1 (byte 3, key "a")"#);
    }
}
