//! What may name a document.

use container_core::{Error, Result};

/// Characters of an id, at most.
pub const MOST: usize = 255;

/// May this byte stand in an id?
pub(crate) const fn allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Checks an id: 1 to 255 characters of `a-z A-Z 0-9 _ - .`.
///
/// # Errors
/// [`Invalid`](container_core::ErrorKind::Invalid), with the id as key.
pub fn check(id: &str) -> Result<()> {
    let problem = if id.is_empty() {
        "the id is empty".to_owned()
    } else if let Some(found) = id.chars().find(|found| !u8::try_from(*found).is_ok_and(allowed)) {
        format!("{found:?} is no character of an id: they are a-z, A-Z, 0-9, \"_\", \"-\" and \".\"")
    } else if id.len() > MOST {
        format!("the id has {} characters, more than {MOST}", id.len())
    } else {
        return Ok(());
    };
    Err(Error::invalid(problem).in_key(id.chars().take(MOST).collect::<String>()))
}

/// Checks an id that becomes the name of a file: also without `..`, and not beginning with a dot.
///
/// # Errors
/// As [`check`].
pub fn check_file_name(id: &str) -> Result<()> {
    check(id)?;
    match id.starts_with('.') || id.contains("..") {
        true => Err(Error::invalid("the id begins with \".\" or holds \"..\": it cannot be the name of a file")
            .in_key(id.to_owned())),
        false => Ok(()),
    }
}

/// Can a document of this id be in a file of its name, by whatever program? More can than [`check_file_name`] lets pass: the reference takes
/// letters and digits of all alphabets, and any number of them.
pub(crate) fn names_a_file(id: &str) -> bool {
    // A million names at once: those of the format take one look at each byte.
    let is_plain = id.bytes().fold(true, |all, byte| all & allowed(byte));
    let fits = is_plain || id.chars().all(|found| found.is_alphanumeric() || matches!(found, '_' | '-' | '.'));
    fits && !id.is_empty() && !id.starts_with('.') && !id.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids() {
        for good in ["a", "doc-1_2.v3", "..", ".x", &"z".repeat(255)] {
            assert!(check(good).is_ok(), "{good}");
        }
        for (bad, wanted) in [
            ("", "the id is empty (key \"\")"),
            ("a b", "' ' is no character of an id: they are a-z, A-Z, 0-9, \"_\", \"-\" and \".\" (key \"a b\")"),
            (
                "\u{e9}",
                "'\u{e9}' is no character of an id: they are a-z, A-Z, 0-9, \"_\", \"-\" and \".\" (key \"\u{e9}\")",
            ),
        ] {
            assert_eq!(check(bad).unwrap_err().to_string(), wanted);
        }
        assert!(
            check(&"z".repeat(256)).unwrap_err().to_string().starts_with("the id has 256 characters, more than 255")
        );
        for bad in [".x", "a..b", ".."] {
            assert!(check_file_name(bad).is_err(), "{bad}");
        }
        assert!(check_file_name("a.b").is_ok());
    }

    #[test]
    fn files_are_named_by_more_ids() {
        for name in ["a", "A-1_x.y", "", ".a", "a..b", "a.", "a b", "a/b", "a\\b", "\0", &"a".repeat(255)] {
            assert_eq!(names_a_file(name), check_file_name(name).is_ok(), "{name:?}");
        }
        for name in ["\u{e9}", "\u{4e00}-1", &"a".repeat(256)] {
            assert!(names_a_file(name) && check_file_name(name).is_err(), "{name}");
        }
    }
}
