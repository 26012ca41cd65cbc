//! Options of a conversion set by name.

use std::ffi::OsStr;

use container_arrow::{Sparse, Times};
use container_core::{Error, Result};

use super::change::{CHANGE_OPTIONS, ChangeOptions};
use super::job::Convert;
use super::option::{OptionSpec, number, text, unknown_choice};
use super::options::InputForm;
use super::targets::Target;
use super::targets::options::{self, INPUT_OPTIONS, MAPPING_OPTIONS};
use crate::Registry;

impl Registry {
    /// The options that change the columns of inputs, for verbs that print or join rows.
    #[must_use]
    pub fn change_options(&self) -> Vec<OptionSpec> {
        CHANGE_OPTIONS.to_vec()
    }

    /// The options of inputs that are read as typed columns, whatever becomes of them: how text is read, and how values are mapped.
    pub fn input_options() -> impl Iterator<Item = &'static OptionSpec> {
        INPUT_OPTIONS.iter().chain(MAPPING_OPTIONS)
    }

    /// The options of conversions: those of text inputs, those that change columns, then those of each [target](Self::targets). Each name occurs once.
    #[must_use]
    pub fn options(&self) -> Vec<OptionSpec> {
        let mut options: Vec<OptionSpec> = options::common().copied().collect();
        for target in self.targets() {
            for option in target.options() {
                if !options.iter().any(|known| known.name == option.name) {
                    options.push(*option);
                }
            }
        }
        options
    }
}

impl Convert {
    /// Sets an option by its name: of this conversion, or of the target. Flags are set whatever the value. The fields of both can be set
    /// directly instead.
    ///
    /// ```
    /// use wharf::convert::{IdvTarget, ParquetTarget};
    /// use wharf::{Convert, Registry};
    ///
    /// let registry = Registry::builtin();
    /// let mut convert = Convert::new(["a.csv"]);
    /// let mut target = ParquetTarget::default();
    /// convert.set(&mut target, "row_group", "100000", &registry)?;
    /// assert_eq!(target.row_group, Some(100_000));
    /// let error = convert.set(&mut IdvTarget::default(), "row_group", "100000", &registry).unwrap_err();
    /// assert_eq!(error.to_string(), "row_group is an option of parquet, the output is idv");
    /// # Ok::<(), wharf::Error>(())
    /// ```
    ///
    /// # Errors
    /// The option is unknown, or belongs to other targets; it does not take the value; a [file](super::OptionValue::File) whose text it takes
    /// cannot be read.
    pub fn set(
        &mut self,
        target: &mut dyn Target,
        name: &str,
        value: impl AsRef<OsStr>,
        registry: &Registry,
    ) -> Result<()> {
        let value = value.as_ref();
        let known = options::common().chain(target.options()).find(|option| option.name == name);
        let Some(option) = known else { return Err(misplaced(target, name, registry)) };
        option.check_and_set(value, || self.set_checked(target, name, value))
    }

    /// As [`set`](Self::set), for an option of the inputs: those that say how text is read, and how values become typed columns.
    ///
    /// # Errors
    /// The option is unknown; it does not take the value.
    pub fn set_input(&mut self, name: &str, value: impl AsRef<OsStr>) -> Result<()> {
        let value = value.as_ref();
        let option = Registry::input_options().find(|option| option.name == name);
        let option = option.ok_or_else(|| Error::usage(format!("unknown option {name:?}")))?;
        option.check_and_set(value, || self.set_own(name, value).map(drop))
    }

    /// Replaces the changes of columns, and how inputs are joined.
    pub(in crate::hub) fn apply(&mut self, options: ChangeOptions) {
        let ChangeOptions { changes, union, on_mismatch } = options;
        (self.changes, self.union, self.mapping.on_mismatch) = (changes, union, on_mismatch);
    }

    fn set_checked(&mut self, target: &mut dyn Target, name: &str, value: &OsStr) -> Result<()> {
        if self.set_own(name, value)? { Ok(()) } else { target.set(name, value) }
    }

    /// Sets an option of this conversion. Returns false for one of the target.
    fn set_own(&mut self, name: &str, value: &OsStr) -> Result<bool> {
        match name {
            "from" => {
                let word = text(value)?;
                self.text.from = Some(InputForm::named(word).ok_or_else(|| unknown_choice(word))?);
            }
            "no_header" => self.text.no_header = true,
            "delimiter" => self.text.delimiter = Some(one_character(text(value)?)?),
            "schema" => self.text.schema = Some(value.into()),
            "batch_rows" => self.mapping.batch_rows = Some(number(value)?),
            "times" => self.mapping.times = Some(times(text(value)?)?),
            "sparse" => {
                self.mapping.sparse = Some(if value == "structs" { Sparse::Structs } else { Sparse::Lists });
            }
            name if ChangeOptions::has(name) => {
                let mut options = ChangeOptions {
                    changes: std::mem::take(&mut self.changes),
                    union: self.union,
                    on_mismatch: self.mapping.on_mismatch,
                };
                let set = options.set_checked(name, value);
                self.apply(options);
                set?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The error for an option that the target does not have: it names those that do.
fn misplaced(target: &dyn Target, name: &str, registry: &Registry) -> Error {
    let Some(option) = registry.options().into_iter().find(|option| option.name == name) else {
        return Error::usage(format!("unknown option {name:?}"));
    };
    let mut targets = registry.targets();
    targets.retain(|target| target.options().iter().any(|option| option.name == name));
    let names: Vec<_> = targets.iter().map(|target| target.info().name).collect();
    let names = match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    };
    Error::usage(format!("is an option of {names}, the output is {}", target.info().name)).in_option(option.name)
}

fn one_character(text: &str) -> Result<char> {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) => Ok(character),
        _ => Err(Error::usage(format!("must be one character, found {text:?}"))),
    }
}

fn times(word: &str) -> Result<Times> {
    Ok(match word {
        "exact" => Times::Exact,
        "floor" => Times::Floor,
        "nanoseconds" => Times::Nanoseconds,
        "ticks" => Times::Ticks,
        "truncate" => {
            return Err(Error::usage("truncate is not supported any more")
                .advising("{times} floor takes the microsecond before a finer time, also before 1970"));
        }
        other => return Err(unknown_choice(other)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::option::OptionValue;
    use super::super::targets::{BatchTarget, DsTarget, IdvTarget, TextTarget};
    use super::*;
    use container_core::testkit::MOCK;
    use dsfmt::arrow::Ragged;

    #[test]
    fn names_the_option_and_what_is_wrong_with_it() {
        let registry = Registry::builtin().with(MOCK);
        let (mut convert, mut idv, mut ds) = (Convert::default(), IdvTarget::default(), DsTarget::default());
        let mut set = |target: &mut dyn Target, name: &str, value: &str| {
            convert.set(target, name, value, &registry).map_err(|error| error.to_string())
        };
        assert_eq!(set(&mut idv, "level", "9"), Ok(()));
        assert_eq!(set(&mut idv, "level", "10").unwrap_err(), "level must be 0 to 9, found 10");
        assert_eq!(set(&mut idv, "level", "x").unwrap_err(), "level must be an integer, found \"x\"");
        let mut own = BatchTarget::new(MOCK);
        assert_eq!(set(&mut own, "batch_rows", "5"), Ok(()));
        let zarr = if registry.target("zarr").is_some() { "zarr, " } else { "" };
        let detail = format!("compression is an option of idv, {zarr}parquet, arrow and arrows, the output is mock");
        assert_eq!(set(&mut own, "compression", "none").unwrap_err(), detail);
        assert_eq!(set(&mut ds, "ragged", "pad"), Ok(()));
        assert_eq!(set(&mut ds, "ragged", "cut").unwrap_err(), "ragged must be refuse or pad, found \"cut\"");
        let detail = "times is an option of idv, parquet, arrow and arrows, the output is ds";
        assert_eq!(set(&mut ds, "times", "ticks").unwrap_err(), detail);
        assert_eq!(set(&mut TextTarget::CSV.clone(), "colour", "red").unwrap_err(), "unknown option \"colour\"");
        assert_eq!(idv.level, Some(9));
        assert_eq!(convert.mapping.batch_rows, Some(5));
        assert_eq!(ds.ragged, Some(Ragged::Pad));
    }

    /// Options mention only options that exist, and each target takes every choice of each of its options.
    #[test]
    fn options_are_consistent() {
        let registry = Registry::builtin();
        let options = registry.options();
        for option in &options {
            for other in option.excludes.iter().chain(option.requires.iter()) {
                assert!(options.iter().any(|option| option.name == *other), "{} names {other}", option.name);
            }
        }
        for mut target in registry.targets() {
            let name = target.info().name;
            for option in options::common().chain(target.options()) {
                let values: Vec<&str> = match option.value {
                    OptionValue::Choice(words) => {
                        words.iter().filter(|(_, meaning)| !meaning.is_empty()).map(|(word, _)| *word).collect()
                    }
                    OptionValue::Integer(min, _) if min > 0 => vec!["1"],
                    OptionValue::Integer(..) => vec!["0"],
                    OptionValue::Text if option.name == "compression" => vec!["none"],
                    OptionValue::Text if ["chunks", "shards"].contains(&option.name) => vec!["time=10"],
                    OptionValue::File => continue,
                    OptionValue::Pairs => vec!["a=int8"],
                    _ => vec![";"],
                };
                for value in values {
                    let outcome = Convert::default().set(target.as_mut(), option.name, value, &registry);
                    assert!(outcome.is_ok(), "{name}: {} {value}: {outcome:?}", option.name);
                }
            }
        }
    }
}
