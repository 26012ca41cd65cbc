//! Options as data: the command makes flags of them, other languages keyword arguments.

use std::ffi::OsStr;
use std::path::Path;

use container_core::{Error, ErrorKind, Result};

/// An option of a conversion, a merge or a recovery.
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

    /// Another option under the same heading.
    #[must_use]
    pub const fn named(self, name: &'static str, help: &'static str) -> Self {
        Self { group: self.group, ..Self::flag(name, help) }
    }

    /// Replaces the values that it takes, and the word for one.
    #[must_use]
    pub const fn with_value(mut self, value: OptionValue, placeholder: &'static str) -> Self {
        (self.value, self.placeholder) = (value, placeholder);
        self
    }

    /// Replaces the heading under which it is listed.
    #[must_use]
    pub const fn with_group(mut self, group: &'static str) -> Self {
        self.group = group;
        self
    }

    /// Sets the options that it cannot be combined with.
    #[must_use]
    pub const fn with_excludes(mut self, options: &'static [&'static str]) -> Self {
        self.excludes = options;
        self
    }

    /// Sets the option without which it has no meaning.
    #[must_use]
    pub const fn with_requires(mut self, option: &'static str) -> Self {
        self.requires = Some(option);
        self
    }

    /// Checks a value, and sets it with `set`.
    pub(in crate::hub) fn check_and_set(&self, value: &OsStr, set: impl FnOnce() -> Result<()>) -> Result<()> {
        self.value.check(value).and_then(|()| set()).map_err(|error| match error.kind() {
            ErrorKind::Usage => error.in_option(self.name),
            _ => error,
        })
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
    /// Names of columns, separated by commas; one in double quotes can contain anything. The option can be repeated.
    Names,
    /// A name, `=`, and what belongs to it, quoted in the same way. The option can be repeated.
    Pairs,
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
    fn check(self, value: &OsStr) -> Result<()> {
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

pub(in crate::hub) fn text(value: &OsStr) -> Result<&str> {
    value.to_str().ok_or_else(|| Error::usage(format!("must be UTF-8, found {:?}", value.display())))
}

pub(in crate::hub) fn number(value: &OsStr) -> Result<u64> {
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
