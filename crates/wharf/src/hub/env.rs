//! What opening inputs and writing outputs takes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Access, Container, Error, Input, OpenOptions, Result, Source};
use dsfmt::container::TimeForm;

use super::inputs::{Location, is_lasting};
use super::overrides::Overrides;
use super::select::Selection;
use crate::Registry;

/// What opening an input takes.
pub struct Opener<'a> {
    pub registry: Registry,
    pub access: Access,
    pub stdin: Box<dyn Read + 'a>,
    /// What stood there, once it was read: who asks again gets the same.
    pub stdin_read: Option<Source>,
    /// What inputs are declared to be.
    pub overrides: Overrides,
    /// What of documents is shown.
    pub view: super::zds::View,
    /// How times of ds and NetCDF files are shown.
    time: Option<TimeForm>,
    /// What pipes held that were read: who asks again gets the same.
    pipes: HashMap<PathBuf, Input>,
}

/// An input, opened.
pub struct Opened {
    pub container: Box<dyn Container>,
    /// Its size, when it is one file.
    pub bytes: Option<u64>,
}

impl<'a> Opener<'a> {
    /// For files, whose content and names tell what they are.
    #[must_use]
    pub fn new(registry: Registry) -> Self {
        Self {
            registry,
            access: Access::Auto,
            stdin: Box::new(std::io::empty()),
            stdin_read: None,
            overrides: Overrides::default(),
            view: super::zds::View::default(),
            time: None,
            pipes: HashMap::new(),
        }
    }

    /// With what stands for standard input.
    #[must_use]
    pub fn with_stdin(mut self, stdin: impl Read + 'a) -> Self {
        self.stdin = Box::new(stdin);
        self
    }

    /// Standard input, read to its end.
    pub fn stdin(&mut self) -> Result<Source> {
        if let Some(read) = &self.stdin_read {
            return Ok(read.clone());
        }
        let read = Source::from_reader(&mut self.stdin)?;
        self.stdin_read = Some(read.clone());
        Ok(read)
    }

    /// Opens a path. A pipe is read once, whoever asks.
    fn path(&mut self, path: &Path) -> Result<Input> {
        if let Some(input) = self.pipes.get(path) {
            return Ok(input.clone());
        }
        let input = Input::open(path, self.access)?;
        if !is_lasting(path) {
            self.pipes.insert(path.to_owned(), input.clone());
        }
        Ok(input)
    }

    /// Gives this to who asks for a location that cannot be read again.
    pub(super) fn hold(&mut self, location: &Location, input: &Input) {
        match location {
            Location::Stdin => self.stdin_read = input.source().cloned(),
            Location::Path(path) if !is_lasting(path) => drop(self.pipes.insert(path.clone(), input.clone())),
            Location::Path(_) => {}
        }
    }

    /// Takes what is to be shown of inputs.
    ///
    /// # Errors
    /// A filter or a name of a column cannot be understood.
    pub fn show(&mut self, selection: &Selection) -> Result<()> {
        self.time = selection.reading.time;
        self.view.set(selection)
    }

    /// Fails for inputs that are called so when times of ds and NetCDF files are asked for.
    pub(super) fn check_time(&self, inputs: &str) -> Result<()> {
        match self.time {
            Some(_) if ![super::DS, dsfmt::netcdf::FORMAT_NAME].contains(&inputs) => {
                Err(Error::usage(format!("is for inputs that are ds or NetCDF, not {inputs}")).in_option("time"))
            }
            _ => Ok(()),
        }
    }

    /// Fails for a filter that compares a field which no document of the inputs has: it is a misspelled name.
    pub fn check_filters(&mut self, locations: &[Location], table: Option<&str>) -> Result<()> {
        // What can be read only once is not read to check a name.
        if !self.view.compares()
            || !locations.iter().all(|location| location.is_lasting() || *location == Location::Stdin)
        {
            return Ok(());
        }
        // An input that cannot be opened is reported when it is read.
        let Ok(inputs) = locations.iter().map(|location| location.input(self)).collect::<Result<Vec<_>>>() else {
            return Ok(());
        };
        let options = OpenOptions::default().with_access(self.access);
        let Some((field, known)) = self.view.unknown_field(&inputs, table, &options) else { return Ok(()) };
        let known = super::select::listed("the fields are", &known);
        Err(Error::usage(format!("names a field {field:?} that no document has; {known}")).in_option("where"))
    }

    /// Has cells of several inputs of CSV shown as values of the types that their columns have in all of them, up to the input that has row
    /// `end`. What cannot be read is reported where rows are read.
    pub(super) fn join_cells(&mut self, locations: &[Location], end: u64, threads: usize) {
        self.overrides.kinds = None;
        if locations.len() < 2 {
            return;
        }
        let options = OpenOptions::default().with_access(self.access);
        let (mut cells, mut rows) = (HashMap::new(), 0_u64);
        for location in locations {
            if rows >= end {
                break;
            }
            let Ok(input) = location.input(self) else { continue };
            let found = self.overrides.add_cells(&input, self.registry.formats(), &options, threads, &mut cells);
            rows = rows.saturating_add(found.unwrap_or(0));
        }
        if !cells.is_empty() {
            let kinds = cells.into_iter().map(|(name, seen)| (name, seen.row_kind()));
            self.overrides.kinds = Some(Arc::new(kinds.collect()));
        }
    }

    /// Opens an input.
    pub fn container(&self, input: &Input) -> Result<Box<dyn Container>> {
        let options = OpenOptions::default().with_access(self.access);
        let opened = self.opened(input, &options)?;
        self.check_time(opened.format())?;
        Ok(opened)
    }

    fn opened(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
        if let Some(container) = self.overrides.open(input, self.registry.formats(), options)? {
            return Ok(container);
        }
        if let Some(container) = self.view.open(input, self.registry.formats(), options)? {
            return Ok(container);
        }
        let registry = match self.time {
            None => Cow::Borrowed(&self.registry),
            Some(time) => Cow::Owned(self.registry.clone().with(time.format()).with(time.netcdf())),
        };
        registry.open_with(input, options).map_err(|error| self.overrides.helped(error))
    }
}

impl Location {
    /// What it holds, not yet understood.
    pub fn input(&self, opener: &mut Opener<'_>) -> Result<Input> {
        match self {
            Self::Path(path) => opener.path(path),
            Self::Stdin => opener.stdin().map(Input::Stream),
        }
    }

    /// The same, to find out what to do with it; `None` where nothing is there, which whoever reads it reports.
    pub fn input_if_there(&self, opener: &mut Opener<'_>) -> Result<Option<Input>> {
        match self.input(opener) {
            Ok(input) => Ok(Some(input)),
            Err(error) => match std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<io::Error>()) {
                Some(cause) if cause.kind() != io::ErrorKind::NotFound => Err(error.in_file(self.name())),
                _ => Ok(None),
            },
        }
    }

    pub fn open(&self, opener: &mut Opener<'_>) -> Result<Opened> {
        let input = self.input(opener).map_err(|error| error.in_file(self.name()))?;
        self.understand(&input, opener)
    }

    /// Opens what it holds.
    pub fn understand(&self, input: &Input, opener: &Opener<'_>) -> Result<Opened> {
        let container = opener.container(input).map_err(|error| error.in_file(self.name()))?;
        Ok(Opened { container, bytes: input.source().map(Source::len) })
    }
}
