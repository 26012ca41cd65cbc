//! Names of extracted files: made of values, checked before anything is written.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use container_core::{Error, Result};

/// A pattern of names: text, and columns in braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Column(String),
    /// The number of the row.
    Row,
}

/// The placeholder of the row number.
const ROW: &str = "row";

impl Pattern {
    /// Parses `{label}/{key}.jpg`; `{{` and `}}` are braces. A pattern without placeholders is the name of a column.
    pub(super) fn new(text: &str) -> Result<Self> {
        let wrong =
            |what: &str| Error::usage(format!("{what} in the pattern {text:?}; expected {{COLUMN}}")).in_option("name");
        if !text.contains(['{', '}']) {
            return Ok(Self(vec![Part::Column(text.to_owned())]));
        }
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find(['{', '}']) {
            let (before, brace) = rest.split_at(at);
            plain.push_str(before);
            if let Some(after) = brace.strip_prefix("{{").or_else(|| brace.strip_prefix("}}")) {
                plain.extend(brace.chars().next());
                rest = after;
                continue;
            }
            let inner = brace.strip_prefix('{').ok_or_else(|| wrong("unexpected }"))?;
            let (column, after) = inner.split_once('}').ok_or_else(|| wrong("unclosed {"))?;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(match column {
                "" => return Err(wrong("{} without a column")),
                ROW => Part::Row,
                column => Part::Column(column.to_owned()),
            });
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self(parts))
    }

    /// The row number.
    pub(super) fn row() -> Self {
        Self(vec![Part::Row])
    }

    pub(super) fn column(name: &str) -> Self {
        Self(vec![Part::Column(name.to_owned())])
    }

    pub(super) fn parts(&self) -> &[Part] {
        &self.0
    }

    /// The columns whose values are part of names.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Column(name) => Some(name.as_str()),
            _ => None,
        })
    }
}

/// Names that were used.
#[derive(Default)]
pub(super) struct Names {
    /// Two hashes of each name: an accidental match is practically impossible.
    files: HashSet<u128>,
    folders: HashSet<u128>,
    keys: [RandomState; 2],
}

/// Maximum bytes of a part of a name between slashes, and of a name, as file systems have them: a path of 4096 bytes includes a final zero.
const MAX_BYTES: usize = 255;
const MAX_NAME_BYTES: usize = 4095;

impl Names {
    /// Fails for a name that could lead out of the output, that not every system can have, or that was used already.
    pub(super) fn add(&mut self, name: &str) -> Result<()> {
        let wrong = |what: &str| {
            let error = Error::invalid(format!("the name {name:?} {what}"));
            Err(error.advising("{name} makes other names, such as those of row numbers"))
        };
        if name.len() > MAX_NAME_BYTES {
            return Err(Error::limit("bytes of a name", name.len() as u64, MAX_NAME_BYTES as u64));
        }
        for part in name.split('/') {
            match part {
                "" => return wrong("is empty, or has an empty part"),
                "." | ".." => return wrong("has a part . or .."),
                part if part.len() > MAX_BYTES => return wrong("has a part of more than 255 bytes"),
                _ => {}
            }
        }
        if let Some(character) =
            name.chars().find(|character| character.is_control() || matches!(character, '\\' | ':'))
        {
            return wrong(&format!("has the character {character:?}"));
        }
        let hash = self.hash(name);
        if self.folders.contains(&hash) || !self.files.insert(hash) {
            return wrong("occurs twice");
        }
        for (at, _) in name.match_indices('/') {
            let folder = self.hash(name.get(..at).unwrap_or_default());
            if self.files.contains(&folder) {
                return wrong("is in a folder with the name of a file");
            }
            self.folders.insert(folder);
        }
        Ok(())
    }

    fn hash(&self, name: &str) -> u128 {
        let [one, other] = self.keys.each_ref().map(|key| u128::from(key.hash_one(name)));
        one << 64 | other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_patterns() {
        let parts = |text: &str| Pattern::new(text).map(|pattern| pattern.0).map_err(|error| error.to_string());
        let (text, column) = (|text: &str| Part::Text(text.to_owned()), |name: &str| Part::Column(name.to_owned()));
        assert_eq!(parts("key"), Ok(vec![column("key")]));
        assert_eq!(parts("{label}/{key}.jpg"), Ok(vec![column("label"), text("/"), column("key"), text(".jpg")]));
        assert_eq!(parts("{{{row}}}"), Ok(vec![text("{"), Part::Row, text("}")]));
        for wrong in ["{", "}", "{}", "a{b", "a}b"] {
            assert!(parts(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rejects_hostile_and_duplicate_names() {
        let mut names = Names::default();
        for good in ["a", "b/c", "b/d", "..a", "a b", "ä/..b", ".hidden"] {
            names.add(good).unwrap();
        }
        names.add(&format!("{}b", "n/".repeat(2047))).unwrap();
        let long = names.add(&format!("{}bc", "n/".repeat(2047))).unwrap_err();
        assert_eq!(long.to_string(), "bytes of a name 4096 exceeds the limit 4095");
        for bad in [
            "",
            "/",
            "/etc/passwd",
            "a/",
            "a//b",
            "..",
            "../x",
            "x/../y",
            ".",
            "./x",
            "c:x",
            "x\\y",
            "x\0",
            "\u{1b}[1m",
            "a\nb",
            "\u{85}",
            "b",
            "a/x",
            "b/c",
            "b/c/d",
        ] {
            assert!(names.add(bad).is_err(), "{bad:?}");
        }
        assert!(names.add(&"x".repeat(256)).is_err());
    }
}
