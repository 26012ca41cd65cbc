//! The options of conversions as data: the command makes flags of them, other languages keyword arguments.

use std::ffi::OsStr;
use std::path::Path;

use container_core::{Error, Result};

/// An option of a conversion.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct OptionSpec {
    /// Its name: `row_group`.
    pub name: &'static str,
    /// The heading under which it is listed; empty for options of several formats.
    pub group: &'static str,
    /// Which values it takes.
    pub value: OptionValue,
    /// A word for its value: `COLUMN`.
    pub placeholder: &'static str,
    /// What it does, and its default; `{list}` is another option.
    pub help: &'static str,
    /// Options that it cannot be combined with.
    pub excludes: &'static [&'static str],
    /// The option without which it has no meaning.
    pub requires: Option<&'static str>,
}

impl OptionSpec {
    /// A flag.
    #[must_use]
    pub const fn flag(name: &'static str, help: &'static str) -> Self {
        Self { name, group: "", value: OptionValue::Flag, placeholder: "", help, excludes: &[], requires: None }
    }

    /// An option whose value is a string.
    #[must_use]
    pub const fn text(name: &'static str, help: &'static str) -> Self {
        Self { value: OptionValue::Text, placeholder: "TEXT", ..Self::flag(name, help) }
    }

    /// Replaces the values that it takes, and the word for one.
    #[must_use]
    pub const fn with_value(mut self, value: OptionValue, placeholder: &'static str) -> Self {
        (self.value, self.placeholder) = (value, placeholder);
        self
    }
}

/// Which values an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionValue {
    /// None: it is given or not.
    Flag,
    /// A string.
    Text,
    /// A string; the option can be repeated.
    Texts,
    /// The path of a file that is read.
    File,
    /// One character.
    Character,
    /// An integer between these two, both included.
    Integer(u64, u64),
    /// One of these words, each with what it means; one without a meaning is deprecated.
    Choice(&'static [(&'static str, &'static str)]),
}

impl OptionValue {
    /// Fails for a value that it does not take.
    pub(super) fn check(self, value: &OsStr) -> Result<()> {
        match self {
            Self::Integer(min, max) => match number(value)? {
                given if (min..=max).contains(&given) => Ok(()),
                given => Err(Error::usage(format!("must be {min} to {max}, found {given}"))),
            },
            Self::Choice(words) => {
                let given = text(value)?;
                if words.iter().any(|(word, _)| *word == given) {
                    return Ok(());
                }
                let known = words.iter().filter(|(_, meaning)| !meaning.is_empty()).map(|(word, _)| *word);
                Err(Error::usage(format!("must be {}, found {given:?}", one_of(&known.collect::<Vec<_>>()))))
            }
            _ => Ok(()),
        }
    }
}

/// `a, b or c`
fn one_of(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => words.concat(),
    }
}

pub(super) fn text(value: &OsStr) -> Result<&str> {
    value.to_str().ok_or_else(|| Error::usage(format!("must be UTF-8, found {:?}", value.display())))
}

pub(super) fn number(value: &OsStr) -> Result<u64> {
    let invalid = || Error::usage(format!("must be an integer, found {:?}", value.display()));
    value.to_str().and_then(|text| text.parse().ok()).ok_or_else(invalid)
}

/// The error for a word that the choices of an option do not have: [`OptionValue::check`] refuses it earlier.
#[cold]
pub(super) fn unknown_choice(word: &str) -> Error {
    Error::usage(format!("unknown choice {word:?}"))
}

/// The name and content of a text file.
pub(super) fn text_file(path: &OsStr) -> Result<(String, String)> {
    let path = Path::new(path);
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => Ok((name, text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())),
        Err(cause) if cause.kind() == std::io::ErrorKind::InvalidData => {
            Err(Error::invalid("the text is not UTF-8").in_file(name))
        }
        Err(cause) => Err(Error::io("cannot read", cause).in_file(name)),
    }
}
