//! What the verbs that keep a format have in common: mergers, recoverers and reindexers of formats, and their options by name.

use std::ffi::{OsStr, OsString};
use std::fmt;

use container_core::{Error, Input, Result};

use super::convert::{OptionSpec, TargetInfo, unknown_option};

/// How a format carries out a verb, with its options: a [`Merger`](crate::merge::Merger), a [`Recoverer`](crate::recover::Recoverer) or a
/// [`Reindexer`](crate::reindex::Reindexer).
pub trait Operation: fmt::Debug + Send + Sync {
    /// The format of inputs and output, whether the output can be a stream, and what reports count.
    fn info(&self) -> TargetInfo;

    /// Its options, apart from those that all formats share.
    fn options(&self) -> &'static [OptionSpec] {
        &[]
    }

    /// Sets one of its options, whose value the [`OptionSpec`] takes.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for an unknown option or an invalid value.
    fn set(&mut self, option: &str, value: &OsStr) -> Result<()> {
        let _ = value;
        Err(unknown_option(option))
    }

    /// Whether it takes an input of this format; `None` for a format that was not recognized. A damaged file can be one of its own all the same.
    fn accepts(&self, input: &Input, format: Option<&str>) -> bool {
        let _ = input;
        format == Some(self.info().format)
    }
}

/// Options by name, in the order in which they were given.
pub(super) type Given = Vec<(String, OsString)>;

/// The options of these operations, in their order. An option of several formats comes with the last of them.
pub(super) fn options<O: Operation + ?Sized>(all: &[Box<O>]) -> Vec<OptionSpec> {
    let mut options: Vec<OptionSpec> = Vec::new();
    for option in all.iter().flat_map(|operation| operation.options()) {
        options.retain(|known| known.name != option.name);
        options.push(*option);
    }
    options
}

/// The last operation that accepts an input: one that a program added takes precedence.
pub(super) fn accepting<O: Operation + ?Sized>(
    all: Vec<Box<O>>,
    input: &Input,
    format: Option<&str>,
) -> Option<Box<O>> {
    all.into_iter().rfind(|own| own.accepts(input, format))
}

/// Sets the options of the operation for inputs of this format; those of other formats, which `all` has, are errors.
pub(super) fn set<O: Operation + ?Sized>(own: &mut O, all: &[Box<O>], given: &Given, inputs: &Inputs) -> Result<()> {
    for (name, value) in given {
        match own.options().iter().find(|option| option.name == *name) {
            Some(option) => option.check_and_set(value, || own.set(name, value))?,
            None => return Err(misplaced(name, all, inputs)),
        }
    }
    Ok(())
}

/// The error for an option that only other formats have.
fn misplaced<O: Operation + ?Sized>(name: &str, all: &[Box<O>], inputs: &Inputs) -> Error {
    let found = all.iter().find_map(|other| {
        let option = other.options().iter().find(|option| option.name == name)?;
        Some(inputs.misplaced(option.name, other.info().title))
    });
    found.unwrap_or_else(|| unknown_option(name))
}

/// What the messages about options say of the inputs.
pub(super) struct Inputs {
    pub(super) format: &'static str,
    /// The input; `None` for several.
    pub(super) file: Option<String>,
}

impl Inputs {
    /// The error for an option of another format.
    pub(super) fn misplaced(&self, option: &'static str, title: &str) -> Error {
        let Self { format, file } = self;
        let are = if file.is_some() { "input is" } else { "inputs are" };
        let detail = format!("is an option of {title}, the {are} {format}");
        Error::usage(detail).in_option(option).in_optional_file(file.clone())
    }
}
