//! What the verbs that keep a format have in common: mergers and recoverers of formats, and their options by name.

use std::cmp::Reverse;
use std::ffi::{OsStr, OsString};
use std::fmt;

use container_core::{Error, Input, Result};

use super::convert::{OptionSpec, TargetInfo, unknown_option};

/// How a format carries out a verb, with its options: a [`Merger`](crate::merge::Merger) or a [`Recoverer`](crate::recover::Recoverer).
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

/// The operations of all formats, in the order in which help texts list their options.
pub(super) struct Operations<'a> {
    pub(super) all: Vec<&'a dyn Operation>,
    /// The place of formats without an operation, which are handled row by row.
    pub(super) rows: usize,
}

impl Operations<'_> {
    /// The options of all. An option of several formats comes with the last of them.
    pub(super) fn options(&self) -> Vec<OptionSpec> {
        let mut options: Vec<OptionSpec> = Vec::new();
        for option in self.all.iter().flat_map(|operation| operation.options()) {
            options.retain(|known| known.name != option.name);
            options.push(*option);
        }
        options
    }

    /// Sets the options of one operation. `inputs` is how messages call its inputs, and the file that they name.
    pub(super) fn set(&self, own: &mut dyn Operation, given: &Given, inputs: Inputs) -> Result<()> {
        self.check(own, given, inputs)?;
        for (name, value) in given {
            let option =
                own.options().iter().find(|option| option.name == *name).ok_or_else(|| unknown_option(name))?;
            option.check_and_set(value, || own.set(name, value))?;
        }
        Ok(())
    }

    /// Fails for an option of another format.
    fn check(&self, own: &dyn Operation, given: &Given, inputs: Inputs) -> Result<()> {
        let format = own.info().format;
        let place = self.all.iter().position(|operation| operation.info().format == format);
        let mut others = Vec::new();
        for (name, _) in given.iter().filter(|(name, _)| !own.options().iter().any(|option| option.name == *name)) {
            let found = self.all.iter().enumerate().find_map(|(index, operation)| {
                let option = operation.options().iter().find(|option| option.name == *name)?;
                Some((index, operation.info().title, option.name))
            });
            others.push(found.ok_or_else(|| unknown_option(name))?);
        }
        // The wording depends on which format comes first, as scripts know it.
        let later = others.iter().filter(|(index, ..)| *index >= place.unwrap_or(self.rows));
        if let Some((_, title, option)) = later.min_by_key(|(index, ..)| Reverse(*index)) {
            let which = if inputs.several { "first input" } else { "input" };
            let error = Error::usage(format!("is an option of {title}, the {which} is another format"));
            return Err(error.in_option(option).in_file(inputs.file));
        }
        let Some((_, title, option)) = others.iter().min_by_key(|(index, ..)| *index) else { return Ok(()) };
        let error = |detail: String| Error::usage(detail).in_option(option);
        Err(match place {
            _ if inputs.several => error(format!("is an option of {title}, the inputs are {format}")),
            Some(_) if own.options().is_empty() => {
                error(format!("is not an option of {}", own.info().title)).in_file(inputs.file)
            }
            _ => error(format!("is an option of {title}, the input is {format}")).in_file(inputs.file),
        })
    }
}

/// How messages call the inputs of an operation.
pub(super) struct Inputs {
    pub(super) several: bool,
    /// The first one.
    pub(super) file: String,
}
