//! The three kinds of record sources behind one interface.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Error, Result};
use datadings::Writer;

use super::super::dataset::{self, Dataset};
use super::super::env::Opener;
use super::super::inputs::Location;
use super::super::zds::{self, NewZds, Ready, Stored};
use super::super::{Bar, Lost};
use super::rows::{self, Rows};
use super::{Copying, Written};
use crate::Registry;

/// A source of records.
pub(super) enum Records {
    Datadings(Dataset),
    Zds(Stored),
    /// Formats of the registry, which is kept for looking up targets.
    Rows(Box<Rows>, Registry),
}

impl Records {
    /// Opens an input.
    pub(super) fn open(location: &Location, opener: &mut Opener<'_>, verb: &str, copying: &Copying) -> Result<Self> {
        let named = |error: Error| error.in_file(location.name());
        let input = location.input(opener).map_err(named)?;
        if zds::is_store(&input, opener) {
            if copying.no_md5 {
                return Err(named(Error::usage("is an option of datadings, the input is zds").in_option("no_md5")));
            }
            return Stored::open(location, &input, opener, copying.table.as_deref()).map(Self::Zds);
        }
        if copying.table.is_some() {
            return Err(named(Error::usage("is an option of ZDS, the input is another format").in_option("table")));
        }
        if let Ok(format) = opener.registry.detect(&input)
            && format.name() != dataset::NAME
        {
            let format = format.name();
            let detail = || format!("{verb} works on samples, documents and rows, the input is {format}");
            let rows = Rows::open(location, &input, format, opener)?;
            let rows = rows.ok_or_else(|| named(Error::usage(detail())))?;
            if copying.no_md5 {
                let detail = format!("is an option of datadings, the input is {format}");
                return Err(named(Error::usage(detail).in_option("no_md5")));
            }
            return Ok(Self::Rows(Box::new(rows), opener.registry.clone()));
        }
        Dataset::of(location, &input, opener, verb).map(Self::Datadings)
    }

    pub(super) fn len(&self) -> Result<u64> {
        match self {
            Self::Datadings(dataset) => Ok(dataset.reader.len()),
            Self::Zds(stored) => stored.count(),
            Self::Rows(rows, _) => Ok(rows.len()),
        }
    }

    /// The name of the format.
    pub(super) const fn format(&self) -> &'static str {
        match self {
            Self::Datadings(_) => dataset::NAME,
            Self::Zds(_) => zds::NAME,
            Self::Rows(rows, _) => rows.format(),
        }
    }

    /// The words for one record, and for all.
    pub(super) const fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Datadings(_) => ("sample", "dataset"),
            Self::Zds(_) => ("document", "collection"),
            Self::Rows(..) => ("row", "table"),
        }
    }

    /// Fails when the output would replace an input or, without `force`, anything.
    pub(super) fn refuse(&self, path: &Path, force: bool, input: &Location) -> Result<()> {
        let inputs = std::slice::from_ref(input);
        match self {
            Self::Datadings(_) => dataset::refuse(path, force, inputs),
            Self::Zds(_) => zds::refuse(path, force, inputs),
            Self::Rows(rows, registry) => rows.refuse(path, force, inputs, registry),
        }
    }

    /// Creates an output, which can be written to a temporary path.
    pub(super) fn create(
        &self,
        (path, temporary): (&Path, &Path),
        force: bool,
        copying: &Copying,
        input: &Location,
        bar: &Arc<Bar>,
    ) -> Result<Out> {
        self.refuse(path, force, input)?;
        match self {
            Self::Datadings(_) => {
                let options = dataset::copy_options(force, copying.no_md5, copying.threads);
                Ok(Out::Datadings(path.to_owned(), Box::new(Writer::create(temporary, options)?)))
            }
            Self::Zds(stored) => {
                let new = NewZds::create(path, force, std::slice::from_ref(input))?;
                let writer = new.collection(stored.collection.name())?;
                Ok(Out::Zds(path.to_owned(), Box::new((new, writer))))
            }
            Self::Rows(rows, _) => {
                rows::Out::create(rows, (path, temporary), force, copying, input, bar).map(Box::new).map(Out::Rows)
            }
        }
    }

    /// Copies a range of records.
    pub(super) fn copy(&self, rows: Range<u64>, out: &mut Out, bar: &Bar) -> Result<()> {
        match (self, out) {
            (Self::Datadings(dataset), Out::Datadings(_, writer)) => dataset.copy(rows, writer, bar),
            (Self::Zds(stored), Out::Zds(_, new)) => stored.copy(rows, &mut new.1, bar),
            (Self::Rows(from, _), Out::Rows(out)) => out.copy(from, rows, bar),
            _ => Err(Error::usage("records of one format cannot be copied into another")),
        }
    }

    /// Copies the records with these numbers, in this order.
    pub(super) fn copy_rows(&self, rows: impl Iterator<Item = u64>, out: &mut Out, bar: &Bar) -> Result<()> {
        match (self, out) {
            (Self::Datadings(dataset), Out::Datadings(_, writer)) => dataset.copy_rows(rows, writer, bar),
            (Self::Zds(stored), Out::Zds(_, new)) => stored.copy_rows(rows, &mut new.1, bar),
            (Self::Rows(from, _), Out::Rows(out)) => out.copy_rows(from, rows, bar),
            _ => Err(Error::usage("records of one format cannot be copied into another")),
        }
    }
}

/// An output in progress.
pub(super) enum Out {
    Datadings(PathBuf, Box<Writer>),
    Zds(PathBuf, Box<(NewZds, zdx::CollectionWriter)>),
    Rows(Box<rows::Out>),
}

impl Out {
    /// Samples that were copied although verification rejects them, since the last call. Such documents are errors instead.
    pub(super) fn take_losses(&mut self, from: &Location) -> Vec<Lost> {
        match self {
            Self::Datadings(_, writer) => dataset::rejected(writer, Some(from.name())),
            Self::Zds(..) => Vec::new(),
            Self::Rows(out) => out.take_losses(),
        }
    }

    /// Writes what is buffered. A store still has to be moved into place.
    pub(super) fn prepare(self, from: &Records) -> Result<(Written, Option<Ready>)> {
        match self {
            Self::Datadings(path, writer) => {
                let written = writer.finish().map_err(|error| error.in_file(path.display().to_string()))?;
                Ok((Written { path, rows: written.samples, bytes: written.bytes }, None))
            }
            Self::Zds(path, new) => {
                let (new, writer) = *new;
                let (store, written) = new.prepare(vec![writer])?;
                Ok((Written { path, rows: written.documents, bytes: written.bytes }, Some(store)))
            }
            Self::Rows(out) => match from {
                Records::Rows(rows, _) => Ok((out.finish(rows)?, None)),
                _ => Err(Error::usage("records of one format cannot be copied into another")),
            },
        }
    }
}
