//! ds and NetCDF files as readers of variables, or of a part of them.

use container_core::{Container, Error, Input, OpenOptions, Result};
use dsfmt::container::{DsContainer, TimeForm};
use dsfmt::netcdf::{ReadOptions, as_ds};
use dsfmt::{Reader, Region, Tidy};

use super::env::Opener;
use super::select::{self, Selection};
use super::{DS, is_netcdf, is_variables, open_netcdf};

/// Which part of variables is read, and in which form.
#[derive(Debug, Clone, Default)]
pub struct VariablesView {
    region: Region,
    tidy: Option<Tidy>,
}

impl VariablesView {
    /// What a selection asks for.
    ///
    /// # Errors
    /// An unclosed quote in the names of columns.
    pub fn new(selection: &Selection) -> Result<Self> {
        let tidy = match selection.tidy {
            false => None,
            true => {
                let names =
                    selection.columns.iter().map(|argument| select::split(argument)).collect::<Result<Vec<_>>>()?;
                Some(Tidy::new().with_variables(names.into_iter().flatten()))
            }
        };
        Ok(Self { region: selection.region.clone(), tidy })
    }

    /// Whether variables are read as they are.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.region.is_whole() && self.tidy.is_none()
    }

    /// The part of a dataset, in this form.
    ///
    /// # Errors
    /// Those of [`Region::apply`] and [`Tidy::apply`].
    pub fn apply(&self, reader: Reader) -> Result<Reader> {
        let part = self.region.apply(reader)?;
        self.rows(part)
    }

    /// The part of a NetCDF file that `read` opens with some options. Coordinates are looked up as they are stored: unpacking rounds.
    pub(super) fn of_netcdf(
        &self,
        reading: &ReadOptions,
        mut read: impl FnMut(&ReadOptions) -> Result<Reader>,
    ) -> Result<Reader> {
        let reader = read(reading)?;
        if self.region.is_whole() || !reading.scaled {
            return self.apply(reader);
        }
        let part = self.region.apply_by(reader, &read(&ReadOptions::default())?)?;
        self.rows(part)
    }

    fn rows(&self, part: Reader) -> Result<Reader> {
        match &self.tidy {
            None => Ok(part),
            Some(tidy) => tidy.apply(part),
        }
    }

    /// Fails for a format without variables.
    fn check(&self, format: &str) -> Result<()> {
        match (is_variables(format), &self.tidy) {
            (true, _) => Ok(()),
            (false, Some(_)) => {
                Err(Error::usage(format!("is for inputs that are ds or NetCDF, not {format}")).in_option("tidy"))
            }
            (false, None) => Err(Error::usage(format!(
                "only variables of ds and NetCDF are cut by coordinates, the input is {format}"
            ))),
        }
    }
}

impl Opener<'_> {
    /// The variables of a ds or NetCDF input, or the selected part of them; `None` for other formats. Errors do not name the file.
    ///
    /// # Errors
    /// The input is damaged; the selection does not fit it.
    pub fn variables(&self, input: &Input) -> Result<Option<Reader>> {
        // An open container shows its own part.
        if matches!(input, Input::Container(_)) {
            return Ok(None);
        }
        let options = OpenOptions::default().with_access(self.access);
        let format = self.registry.detect(input).map(|format| format.name());
        let reader = match (format, input.source()) {
            (Ok(DS), Some(source)) => {
                self.check_time(DS)?;
                Reader::from_source(source.clone(), options)?
            }
            (Ok(name), _) if is_netcdf(name) => {
                let reading = ReadOptions::default().with_scaled(!self.packed).with_names(!self.packed);
                let read = |reading: &ReadOptions| as_ds(open_netcdf(input, self)?, options, reading);
                return self.part.of_netcdf(&reading, read).map(Some);
            }
            _ => return Ok(None),
        };
        self.part.apply(reader).map(Some)
    }

    /// The selected part of variables as a container; `None` when none is selected.
    pub(super) fn part_of(&self, input: &Input, times: Option<TimeForm>) -> Result<Option<Box<dyn Container>>> {
        if self.part.is_whole() {
            return Ok(None);
        }
        let format = match input {
            Input::Container(container) => container.format(),
            _ => self.registry.detect(input)?.name(),
        };
        self.part.check(format)?;
        let reader = self.variables(input)?.ok_or_else(|| Error::usage("expected a file, found an open container"))?;
        Ok(Some(Box::new(DsContainer::new(reader).with_times(times.unwrap_or_default()))))
    }
}
