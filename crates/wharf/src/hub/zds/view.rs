//! Which fields of documents are shown.

use std::sync::Arc;

use container_core::{Container, Error, Format, Input, OpenOptions, Result};
use zdx::{Predicate, ZdsContainer};

use super::super::select;

/// Maximum number of names in a path.
const MAX_DEPTH: usize = 128;

/// A projection of documents.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// The selected columns.
    columns: Vec<String>,
}

impl View {
    /// Sets the selected columns.
    pub fn columns(&mut self, asked: &[String]) -> Result<()> {
        self.columns.clear();
        for argument in asked {
            self.columns.extend(select::split(argument)?);
        }
        self.columns.iter().try_for_each(|name| checked(name))
    }

    /// Opens a store with this projection, and only the documents for which a condition holds; `None` for a container that is open already.
    pub fn filtered(
        &self,
        input: &Input,
        condition: &Predicate,
        options: &OpenOptions,
    ) -> Result<Option<Arc<dyn Container>>> {
        if matches!(input, Input::Container(_)) {
            return Ok(None);
        }
        let container = ZdsContainer::open(input, options)?.with_columns(&self.columns);
        Ok(Some(Arc::new(container.with_filter(condition))))
    }

    /// Opens a store with this projection; `None` without a projection, and for an input that is no store.
    pub fn open(
        &self,
        input: &Input,
        formats: &[&'static dyn Format],
        options: &OpenOptions,
    ) -> Result<Option<Box<dyn Container>>> {
        // Without a projection, the registry opens it and reports what it is not.
        if self.columns.is_empty() || matches!(input, Input::Container(_)) {
            return Ok(None);
        }
        let Ok(format) = container_core::detect(formats, input) else { return Ok(None) };
        if !super::is_of(Some(format.name())) {
            return Ok(None);
        }
        // Paths into documents exist only in ZDS: its container takes them, not a scan of tables.
        Ok(Some(Box::new(ZdsContainer::open(input, options)?.with_columns(&self.columns))))
    }
}

fn checked(path: &str) -> Result<()> {
    match path.split('.').count() {
        names if names > MAX_DEPTH => {
            Err(Error::usage(format!("a path of {names} names exceeds the depth limit {MAX_DEPTH}")))
        }
        _ => Ok(()),
    }
}
