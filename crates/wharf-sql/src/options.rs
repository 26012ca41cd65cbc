//! `OPTIONS (...)`: the options of formats, by name.

use std::collections::BTreeMap;

use wharf::convert::{OptionValue, Target};
use wharf::{Convert, Error, Registry, Result};

/// Names and values of options. Names are those of [`Registry::options`]: `row_group`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Options(BTreeMap<String, String>);

/// The options that say how a table is read.
pub(crate) struct Reading {
    pub(crate) table: Option<String>,
    pub(crate) options: Options,
}

impl Options {
    /// Sets an option. DataFusion prefixes the names with `format.`; a hyphen is an underscore.
    pub(crate) fn set(&mut self, name: &str, value: String) {
        let name = name.strip_prefix("format.").unwrap_or(name);
        self.0.insert(name.to_ascii_lowercase().replace('-', "_"), value);
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    /// Separates options of reading from those of writing `target`. Some are both.
    pub(crate) fn split(self, format: &str, target: Option<&dyn Target>) -> Result<(Reading, Self)> {
        let (mut reading, mut writing, mut table) = (Self::default(), Self::default(), None);
        let of_target =
            |name: &str| target.is_some_and(|target| target.options().iter().any(|option| option.name == name));
        for (name, value) in self.0 {
            let (reads, writes) = (is_input_option(&name), name == "overwrite" || of_target(&name));
            match name.as_str() {
                "table" => table = Some(value),
                _ if !reads && !writes => {
                    return Err(Error::usage(format!("unknown option {name:?} of a table stored as {format}")));
                }
                _ => {
                    if reads {
                        reading.0.insert(name.clone(), value.clone());
                    }
                    if writes {
                        writing.0.insert(name, value);
                    }
                }
            }
        }
        Ok((Reading { table, options: reading }, writing))
    }

    /// Whether text is read that no target writes: with another delimiter, or without a header.
    pub(crate) fn reads_other_text(&self) -> Result<bool> {
        for (name, value) in &self.0 {
            let is_other = match name.as_str() {
                "delimiter" => true,
                "header" => !is_true("header", value)?,
                "no_header" => is_true("no_header", value)?,
                _ => false,
            };
            if is_other {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Sets the options of inputs.
    pub(crate) fn apply_to_inputs(&self, convert: &mut Convert) -> Result<()> {
        for (name, value) in &self.0 {
            match name.as_str() {
                "missing_as_null" => convert.selection.reading.missing_as_null = is_true("missing_as_null", value)?,
                "header" => convert.text.no_header = !is_true("header", value)?,
                _ => {
                    let option = Registry::input_options().find(|option| option.name == name);
                    if !matches!(option.map(|option| option.value), Some(OptionValue::Flag))
                        || is_flag_set(name, value)?
                    {
                        convert.set_input(name, value)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Sets the options of an output.
    pub(crate) fn apply_to_target(
        &self,
        convert: &mut Convert,
        target: &mut dyn Target,
        registry: &Registry,
    ) -> Result<()> {
        let of_inputs: Vec<_> = Registry::input_options().copied().chain(registry.change_options()).collect();
        for (name, value) in &self.0 {
            let option = target.options().iter().chain(&of_inputs).find(|option| option.name == name);
            if !matches!(option.map(|option| option.value), Some(OptionValue::Flag)) || is_flag_set(name, value)? {
                convert.set(target, name, value, registry)?;
            }
        }
        Ok(())
    }
}

fn is_input_option(name: &str) -> bool {
    matches!(name, "missing_as_null" | "header") || Registry::input_options().any(|option| option.name == name)
}

fn is_flag_set(name: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" | "" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err(Error::usage(format!("option {name:?} must be true or false, found {value:?}"))),
    }
}

/// The value of an option that is true or false.
pub(crate) fn is_true(name: &'static str, value: &str) -> Result<bool> {
    is_flag_set(name, value)
}
