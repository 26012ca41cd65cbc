//! What opening inputs and writing outputs takes.

use std::io::Read;

use container_core::{Access, Container, Error, Input, OpenOptions, Result, Source};

use super::inputs::Location;
use super::overrides::Overrides;
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

    /// Opens an input.
    pub fn container(&self, input: &Input) -> Result<Box<dyn Container>> {
        let options = OpenOptions::default().with_access(self.access);
        if let Some(container) = self.overrides.open(input, self.registry.formats(), &options)? {
            return Ok(container);
        }
        if let Some(container) = self.view.open(input, self.registry.formats(), &options)? {
            return Ok(container);
        }
        self.registry.open_with(input, &options).map_err(|error| self.overrides.helped(error))
    }
}
