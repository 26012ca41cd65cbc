//! Document ids.

use container_core::{Error, Result};

/// Maximum length of an id in characters, all of which are ASCII.
pub const MAX_ID_LEN: usize = 255;

/// Whether a byte is allowed in an id.
pub(crate) const fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Checks an id: 1 to 255 characters of `a-z A-Z 0-9 _ - .`.
///
/// # Errors
/// [`Invalid`](container_core::ErrorKind::Invalid), with the id as the key.
pub fn check(id: &str) -> Result<()> {
    let problem = if id.is_empty() {
        "the id is empty".to_owned()
    } else if let Some(found) = id.chars().find(|c| !u8::try_from(*c).is_ok_and(is_allowed)) {
        format!("invalid character {found:?} in the id (allowed: a-z, A-Z, 0-9, \"_\", \"-\" and \".\")")
    } else if id.len() > MAX_ID_LEN {
        format!("id length: expected at most {MAX_ID_LEN} characters, found {}", id.len())
    } else {
        return Ok(());
    };
    Err(Error::invalid(problem).in_key(id.chars().take(MAX_ID_LEN).collect::<String>()))
}

/// Checks an id used as a file name: additionally, it must not contain `..` or begin with a dot.
///
/// # Errors
/// As [`check`].
pub fn check_file_name(id: &str) -> Result<()> {
    check(id)?;
    match id.starts_with('.') || id.contains("..") {
        true => Err(Error::invalid("the id begins with \".\" or contains \"..\", and cannot be a file name")
            .in_key(id.to_owned())),
        false => Ok(()),
    }
}

/// Whether an id can be a file name written by any program. Allows more than [`check_file_name`]: the reference accepts letters and digits of
/// all alphabets, in any number.
pub(crate) fn names_a_file(id: &str) -> bool {
    // Fast path without early exit, for directories of a million files.
    let is_ascii = id.bytes().fold(true, |all, byte| all & is_allowed(byte));
    let is_valid = is_ascii || id.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    is_valid && !id.is_empty() && !id.starts_with('.') && !id.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_ids() {
        for good in ["a", "doc-1_2.v3", "..", ".x", &"z".repeat(255)] {
            assert!(check(good).is_ok(), "{good}");
        }
        for (bad, expected) in [
            ("", "the id is empty (key \"\")"),
            ("a b", "invalid character ' ' in the id (allowed: a-z, A-Z, 0-9, \"_\", \"-\" and \".\") (key \"a b\")"),
            (
                "\u{e9}",
                "invalid character '\u{e9}' in the id (allowed: a-z, A-Z, 0-9, \"_\", \"-\" and \".\") (key \"\u{e9}\")",
            ),
        ] {
            assert_eq!(check(bad).unwrap_err().to_string(), expected);
        }
        let error = check(&"z".repeat(256)).unwrap_err().to_string();
        assert!(error.starts_with("id length: expected at most 255 characters, found 256"), "{error}");
        for bad in [".x", "a..b", ".."] {
            assert!(check_file_name(bad).is_err(), "{bad}");
        }
        assert!(check_file_name("a.b").is_ok());
    }

    #[test]
    fn accepts_file_names_of_other_programs() {
        for name in ["a", "A-1_x.y", "", ".a", "a..b", "a.", "a b", "a/b", "a\\b", "\0", &"a".repeat(255)] {
            assert_eq!(names_a_file(name), check_file_name(name).is_ok(), "{name:?}");
        }
        for name in ["\u{e9}", "\u{4e00}-1", &"a".repeat(256)] {
            assert!(names_a_file(name) && check_file_name(name).is_err(), "{name}");
        }
    }
}
