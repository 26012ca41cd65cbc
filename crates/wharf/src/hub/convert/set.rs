//! Options of a conversion set by name.

use std::ffi::OsStr;

use container_core::{Error, ErrorKind, Result};

use super::job::Convert;
use super::options::OutputForm;
use super::spec::OptionSpec;
use super::specs::OPTIONS;

impl Convert {
    /// All options that [`set`](Self::set) knows.
    #[must_use]
    pub const fn options() -> &'static [OptionSpec] {
        OPTIONS
    }

    /// Sets an option by its name, for the output that will be written; a flag whatever its value. The fields of this type are the same.
    ///
    /// ```
    /// use wharf::Convert;
    /// use wharf::convert::OutputForm;
    ///
    /// let mut convert = Convert::new(["a.csv"]);
    /// convert.set(OutputForm::Parquet, "row_group", "100000")?;
    /// let error = convert.set(OutputForm::Idv, "row_group", "100000").unwrap_err();
    /// assert_eq!(error.to_string(), "row_group is for the output parquet, and this one is idv");
    /// # Ok::<(), wharf::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such option; it is for other outputs; it does not take the value; a [file](crate::convert::OptionValue::File) whose text it takes cannot be read.
    pub fn set(&mut self, form: OutputForm, name: &str, value: impl AsRef<OsStr>) -> Result<()> {
        let Some(spec) = OPTIONS.iter().find(|spec| spec.name == name) else {
            return Err(Error::usage(format!("there is no option {name:?}")));
        };
        let value = value.as_ref();
        let of_option =
            |error: Error| if error.kind() == ErrorKind::Usage { error.in_option(spec.name) } else { error };
        spec.check(form).and_then(|()| spec.value.check(value)).map_err(of_option)?;
        (spec.set)(self, form, value).map_err(of_option)
    }
}

#[cfg(test)]
mod tests {
    use dsfmt::arrow::Ragged;

    use super::super::spec::OptionValue;
    use super::*;

    #[test]
    fn options_are_set_by_name_and_told_where_they_are_wrong() {
        let mut convert = Convert::default();
        let mut set = |form, name: &str, value: &str| convert.set(form, name, value).map_err(|error| error.to_string());
        assert_eq!(set(OutputForm::Idv, "level", "9"), Ok(()));
        assert_eq!(set(OutputForm::Idv, "level", "10").unwrap_err(), "level is 10, and 0 to 9 are allowed");
        assert_eq!(set(OutputForm::Idv, "level", "x").unwrap_err(), "level is \"x\", and an integer is wanted");
        assert_eq!(set(OutputForm::Other("own"), "batch_rows", "5"), Ok(()));
        assert_eq!(set(OutputForm::Ds, "ragged", "pad"), Ok(()));
        assert_eq!(set(OutputForm::Ds, "ragged", "cut").unwrap_err(), "ragged is \"cut\", and allowed are refuse, pad");
        let detail = "is for the outputs idv, parquet, arrow and arrows, and this one is ds";
        assert_eq!(set(OutputForm::Ds, "times", "ticks").unwrap_err(), format!("times {detail}"));
        assert_eq!(set(OutputForm::Csv, "colour", "red").unwrap_err(), "there is no option \"colour\"");
        assert_eq!(convert.idv.level, Some(9));
        assert_eq!(convert.columnar.batch_rows, Some(5));
        assert_eq!(convert.ds.ragged, Some(Ragged::Pad));
    }

    /// What each option says of others is there, and each choice is one that it takes.
    #[test]
    fn options_fit_together() {
        for spec in OPTIONS {
            let others = spec.excludes.iter().chain(spec.requires.iter());
            for other in others {
                assert!(OPTIONS.iter().any(|spec| spec.name == *other), "{} names {other}", spec.name);
            }
            let form = OutputForm::ALL.iter().map(|(form, _)| *form).find(|form| spec.is_for(*form));
            let form = form.unwrap_or_else(|| panic!("{} is for no output", spec.name));
            if let OptionValue::Choice(words) = spec.value {
                for (word, meaning) in words.iter().filter(|(_, meaning)| !meaning.is_empty()) {
                    let form = if *word == "zip" { OutputForm::Datadings } else { form };
                    let set = Convert::default().set(form, spec.name, word);
                    assert!(set.is_ok(), "{} {word} ({meaning}): {set:?}", spec.name);
                }
            }
        }
    }
}
