//! Opens inputs.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::SchemaRef;
use container_arrow::{Mapping, Predicate};
use container_core::{Access, Container, Error, Input, OpenOptions, Result, Source};
use dsfmt::container::TimeForm;

use super::convert::ChangeOptions;
use super::inputs::{Location, is_reopenable};
use super::overrides::Overrides;
use super::select::{Reading, Selection};
use super::{is_netcdf, is_variables, zarr};
use crate::Registry;
use crate::hub::view::change::{Changed, Changes, Settings};
use crate::hub::view::filter::{FilteredContainer, Lacking, Matches, matching_rows};

/// Opens inputs with a registry, and remembers those that can be read only once.
pub struct Opener<'a> {
    pub registry: Registry,
    pub access: Access,
    pub stdin: Box<dyn Read + 'a>,
    /// The content of standard input, once it has been read.
    pub stdin_read: Option<Source>,
    /// The declared format of inputs.
    pub overrides: Overrides,
    /// Which fields of documents are shown.
    pub view: super::zds::View,
    /// Which rows are shown.
    filter: Option<Predicate>,
    /// Columns of the condition that are null in inputs that lack them.
    lacking: Lacking,
    /// Which part of variables is read.
    pub part: super::VariablesView,
    /// How times of ds and NetCDF are read.
    time: Option<TimeForm>,
    /// Packed numbers of NetCDF stay packed.
    pub packed: bool,
    /// How the columns of inputs are changed.
    changes: Option<Settings>,
    /// What paths stand for that are not opened again: the content of pipes, and files that are open already.
    kept: HashMap<PathBuf, Input>,
}

/// An opened input.
pub struct Opened {
    pub container: Box<dyn Container>,
    /// Its size in bytes, if it is one file.
    pub bytes: Option<u64>,
}

impl<'a> Opener<'a> {
    /// Detects formats by content and name.
    #[must_use]
    pub fn new(registry: Registry) -> Self {
        Self {
            registry,
            access: Access::Auto,
            stdin: Box::new(std::io::empty()),
            stdin_read: None,
            overrides: Overrides::default(),
            view: super::zds::View::default(),
            filter: None,
            lacking: Lacking::default(),
            part: super::VariablesView::default(),
            time: None,
            packed: false,
            changes: None,
            kept: HashMap::new(),
        }
    }

    /// Sets standard input.
    #[must_use]
    pub fn with_stdin(mut self, stdin: impl Read + 'a) -> Self {
        self.stdin = Box::new(stdin);
        self
    }

    /// Reads standard input to its end.
    pub fn stdin(&mut self) -> Result<Source> {
        if let Some(read) = &self.stdin_read {
            return Ok(read.clone());
        }
        let read = Source::from_reader(&mut self.stdin)?;
        self.stdin_read = Some(read.clone());
        Ok(read)
    }

    /// Takes an open file for its path, even if the path has got another file since.
    pub fn reuse(&mut self, path: impl Into<PathBuf>, input: Input) {
        self.kept.insert(path.into(), input);
    }

    /// Opens a path. A pipe is read only once.
    fn path(&mut self, path: &Path) -> Result<Input> {
        if let Some(input) = self.kept.get(path) {
            return Ok(input.clone());
        }
        let input = Input::open(path, self.access)?;
        if !is_reopenable(path) {
            self.kept.insert(path.to_owned(), input.clone());
        }
        Ok(input)
    }

    /// Keeps the content of a location that cannot be read again.
    pub(super) fn keep(&mut self, location: &Location, input: &Input) {
        match location {
            Location::Stdin => self.stdin_read = input.source().cloned(),
            Location::Path(path) if !is_reopenable(path) => drop(self.kept.insert(path.clone(), input.clone())),
            Location::Path(_) | Location::Open(_) => {}
        }
    }

    /// Applies the filter, the columns, the region and the time form of a selection to inputs opened from now on.
    ///
    /// # Errors
    /// A column name is invalid.
    pub fn apply(&mut self, selection: &Selection) -> Result<()> {
        (self.time, self.packed) = (selection.reading.time, selection.reading.packed);
        self.part = super::VariablesView::new(selection)?;
        self.filter.clone_from(&selection.filter);
        self.lacking = Lacking::default();
        self.changes = None;
        self.view.columns(&selection.columns)
    }

    /// Lets a column of the condition be null in inputs that lack it, where another input has it: inputs without a schema and those of a `union` may
    /// have different columns. After [`apply`](Self::apply). Errors are reported later, when rows are read.
    pub(super) fn allow_lacking(&mut self, locations: &[Location], selection: &Selection, union: bool) {
        let Some(filter) = selection.filter.as_ref().filter(|_| locations.len() > 1) else { return };
        let options = OpenOptions::default().with_access(self.access);
        let mut found = HashSet::new();
        for location in locations {
            let Ok(container) = location.input(self).and_then(|input| self.opened(&input, &options)) else { continue };
            let Ok(table) = super::select::table(container.as_ref(), selection.reading.table.as_deref()) else {
                continue;
            };
            if table.has_schema() && !union {
                continue;
            }
            let has = |name: &&str| table.columns().iter().any(|column| column.name == **name);
            if !filter.columns().iter().all(has) && table.infer_columns().is_err() {
                continue;
            }
            found.extend(filter.columns().into_iter().filter(has).map(str::to_owned));
        }
        self.lacking = Arc::new(found);
    }

    /// Changes the columns of inputs opened from now on, after [`apply`](Self::apply). Columns are selected by the names they get.
    ///
    /// # Errors
    /// No input has a column that is changed; an input cannot be opened.
    pub fn change(&mut self, options: &ChangeOptions, locations: &[Location], selection: &Selection) -> Result<()> {
        let mapping = Mapping::default().with_on_mismatch(options.on_mismatch.unwrap_or_default());
        self.change_with(&options.changes, locations, selection, mapping, None)
    }

    /// As [`change`](Self::change). Columns of inputs without a schema are declared, by the names they have in the files.
    pub(super) fn change_with(
        &mut self,
        changes: &Changes,
        locations: &[Location],
        selection: &Selection,
        mapping: Mapping,
        declared: Option<SchemaRef>,
    ) -> Result<()> {
        if changes.is_empty() && declared.is_none() {
            return Ok(());
        }
        self.view.columns(&[])?;
        let (changes, reading) = (changes.clone(), &selection.reading);
        let skip_unknown = locations.len() > 1;
        let (table, threads) = (reading.table.clone(), reading.threads);
        let settings = Settings { changes, declared, mapping, table, skip_unknown, threads };
        if skip_unknown {
            self.check_changed_names(&settings, locations)?;
        }
        self.changes = Some(settings);
        Ok(())
    }

    /// Fails for a changed column that no input has. One that some inputs lack is reported when they are joined.
    fn check_changed_names(&mut self, settings: &Settings, locations: &[Location]) -> Result<()> {
        let mut known = HashSet::new();
        let mut columns = Vec::new();
        for location in locations {
            let opened = location.open(self)?;
            let table = super::select::table(opened.container.as_ref(), settings.table.as_deref())
                .map_err(|error| error.in_file(location.name()))?;
            table.infer_columns().map_err(|error| error.in_file(location.name()))?;
            let new = table.columns().iter().filter(|column| known.insert(column.name.clone()));
            columns.extend(new.cloned().collect::<Vec<_>>());
        }
        settings.changes.check_names(&columns)
    }

    /// The changes of columns, if there are any.
    pub(super) fn changes(&self) -> Option<&Changes> {
        self.changes.as_ref().map(|settings| &settings.changes)
    }

    /// Fails for inputs of other formats when a form of ds and NetCDF times, or of packed numbers, was selected.
    pub(super) fn check_time(&self, inputs: &str) -> Result<()> {
        if self.packed && !is_netcdf(inputs) {
            return Err(Error::usage(format!("is for inputs that are NetCDF, not {inputs}")).in_option("packed"));
        }
        match self.time {
            Some(_) if !is_variables(inputs) => {
                Err(Error::usage(format!("is for inputs that are ds or NetCDF, not {inputs}")).in_option("time"))
            }
            _ => Ok(()),
        }
    }

    /// Infers one type per column over several CSV inputs, up to the input that has row `end`. Errors are reported later, when rows are read.
    pub(super) fn infer_common_types(&mut self, locations: &[Location], end: u64, threads: usize) {
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

    /// Opens an input as a container, which shows the rows that match the filter.
    pub fn container(&self, input: &Input) -> Result<Box<dyn Container>> {
        let options = OpenOptions::default().with_access(self.access);
        let opened = self.opened(input, &options)?;
        self.check_time(opened.format())?;
        let opened = match &self.filter {
            Some(filter) => self.filtered(opened, filter, input, &options)?,
            None => opened,
        };
        Ok(match &self.changes {
            Some(settings) => Box::new(Changed::open(opened, settings)?),
            None => opened,
        })
    }

    fn filtered(
        &self,
        opened: Box<dyn Container>,
        filter: &Predicate,
        input: &Input,
        options: &OpenOptions,
    ) -> Result<Box<dyn Container>> {
        let untyped = match super::zds::on_documents(filter) {
            Some(condition) if super::zds::is_of(Some(opened.format())) => {
                self.view.filtered(input, &condition, options)?
            }
            _ => None,
        };
        let filtered = FilteredContainer::new(opened.into(), filter.clone()).with_lacking(&self.lacking);
        Ok(Box::new(match untyped {
            Some(untyped) => filtered.with_untyped(untyped),
            None => filtered,
        }))
    }

    /// The rows of an input's table for which a condition holds.
    pub(super) fn matching_rows(&self, input: &Input, reading: &Reading, condition: &Predicate) -> Result<Matches> {
        let container = self.opened(input, &OpenOptions::default().with_access(self.access))?;
        let name = super::select::table(container.as_ref(), reading.table.as_deref())?.name().to_owned();
        let table = container.tables().iter().position(|table| table.name() == name).unwrap_or(0);
        matching_rows(container.into(), table, condition, &self.lacking, &reading.scan())
    }

    fn opened(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
        if let Some(container) = self.overrides.open(input, self.registry.formats(), options)? {
            return Ok(container);
        }
        if let Some(container) = self.part_of(input, self.time)? {
            return Ok(container);
        }
        if let Some(container) = self.view.open(input, self.registry.formats(), options)? {
            return Ok(container);
        }
        let registry = match (self.time, self.packed) {
            (None, false) => Cow::Borrowed(&self.registry),
            (time, packed) => {
                let time = time.unwrap_or_default();
                let registry = self.registry.clone().with(time.format()).with(time.netcdf(packed));
                Cow::Owned(zarr::format(time, packed).into_iter().fold(registry, Registry::with))
            }
        };
        registry.open_with(input, options).map_err(|error| self.overrides.with_advice(error))
    }
}

impl Location {
    /// The bytes or directory, without detecting a format.
    pub fn input(&self, opener: &mut Opener<'_>) -> Result<Input> {
        match self {
            Self::Path(path) => opener.path(path),
            Self::Stdin => opener.stdin().map(Input::Stream),
            Self::Open(open) => Ok(Input::Container(Arc::clone(&open.container))),
        }
    }

    /// As [`input`](Self::input); `None` if there is nothing, which is reported when it is read.
    pub fn existing_input(&self, opener: &mut Opener<'_>) -> Result<Option<Input>> {
        match self.input(opener) {
            Ok(input) => Ok(Some(input)),
            Err(error) => match std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<io::Error>()) {
                Some(cause) if cause.kind() != io::ErrorKind::NotFound => Err(error.in_file(self.name())),
                _ => Ok(None),
            },
        }
    }

    /// Opens it as a container.
    pub fn open(&self, opener: &mut Opener<'_>) -> Result<Opened> {
        let input = self.input(opener).map_err(|error| error.in_file(self.name()))?;
        self.open_input(&input, opener)
    }

    /// Opens its input as a container.
    pub fn open_input(&self, input: &Input, opener: &Opener<'_>) -> Result<Opened> {
        let container = opener.container(input).map_err(|error| error.in_file(self.name()))?;
        Ok(Opened { container, bytes: input.source().map(Source::len) })
    }
}
