//! The options of conversions as data: commands make flags of them, languages keyword arguments, SQL its `OPTIONS`.

use std::ffi::OsStr;

use container_core::{Error, Result};

use super::job::Convert;
use super::options::OutputForm;

/// An option of a conversion.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct OptionSpec {
    /// Its name: `row_group`.
    pub name: &'static str,
    /// What it belongs to, as a heading: `Options for the output ds`; empty for what belongs to no format.
    pub group: &'static str,
    /// The outputs that it is for, by name; empty for all. What is for `arrows` is for formats of the registry, too, that are none of ours.
    pub outputs: &'static [&'static str],
    /// Which values it takes.
    pub value: OptionValue,
    /// A word for its value: `COLUMN`.
    pub word: &'static str,
    /// What it does, and what holds without it; `{list}` is another option.
    pub help: &'static str,
    /// Options that do not go with it.
    pub excludes: &'static [&'static str],
    /// The option that it goes with.
    pub requires: Option<&'static str>,
    pub(super) set: fn(&mut Convert, OutputForm, &OsStr) -> Result<()>,
}

/// Which values an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionValue {
    /// None: it is given or not.
    Flag,
    /// A text.
    Text,
    /// Texts: it may be given several times.
    Texts,
    /// The path of a file that is read.
    File,
    /// A character.
    Character,
    /// An integer from the first to the last of these.
    Integer(u64, u64),
    /// One of these words, each with what it means; one without a meaning is an older word.
    Choice(&'static [(&'static str, &'static str)]),
}

impl OptionSpec {
    /// Is it for this output?
    #[must_use]
    pub fn is_for(&self, form: OutputForm) -> bool {
        let name = if let OutputForm::Other(_) = form { "arrows" } else { form.name() };
        self.outputs.is_empty() || self.outputs.contains(&name)
    }

    pub(super) fn check(&self, form: OutputForm) -> Result<()> {
        if self.is_for(form) {
            return Ok(());
        }
        let outputs = match self.outputs {
            [one] => format!("the output {one}"),
            [all @ .., last] => format!("the outputs {} and {last}", all.join(", ")),
            [] => String::new(),
        };
        Err(Error::usage(format!("is for {outputs}, and this one is {}", form.name())))
    }
}

impl OptionValue {
    pub(super) fn check(self, value: &OsStr) -> Result<()> {
        match self {
            Self::Integer(least, most) => match number(value)? {
                given if (least..=most).contains(&given) => Ok(()),
                given => Err(Error::usage(format!("is {given}, and {least} to {most} are allowed"))),
            },
            Self::Choice(words) => {
                let given = text(value)?;
                match words.iter().any(|(word, _)| *word == given) {
                    true => Ok(()),
                    false => {
                        let known = words.iter().filter(|(_, meaning)| !meaning.is_empty()).map(|(word, _)| *word);
                        let known: Vec<_> = known.collect();
                        Err(Error::usage(format!("is {given:?}, and allowed are {}", known.join(", "))))
                    }
                }
            }
            _ => Ok(()),
        }
    }
}

pub(super) fn text(value: &OsStr) -> Result<&str> {
    value.to_str().ok_or_else(|| Error::usage(format!("is {:?}, which is not UTF-8", value.display())))
}

pub(super) fn number(value: &OsStr) -> Result<u64> {
    let wrong = || Error::usage(format!("is {:?}, and an integer is wanted", value.display()));
    value.to_str().and_then(|text| text.parse().ok()).ok_or_else(wrong)
}
