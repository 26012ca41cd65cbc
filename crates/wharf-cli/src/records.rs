//! Datasets and collections, as far as the verbs that choose records of them treat them alike.

use std::ops::Range;
use std::path::{Path, PathBuf};

use container_core::{Error, Result};
use datadings::Writer;
use serde_json::{Map, Value};

use super::bar::Bar;
use super::dataset::{self, Dataset, Placing};
use super::env::Opener;
use super::inputs::Location;
use super::report::Lost;
use super::zds::{self, NewZds, Stored};

/// Records that are chosen from.
pub(crate) enum Records {
    Datadings(Dataset),
    Zds(Stored),
}

/// Which collection, of a format that has them.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Which {
    /// The collection, where a store has several
    #[arg(long, value_name = "NAME", help_heading = "Options for ZDS")]
    table: Option<String>,
}

impl Records {
    /// Opens an input.
    pub(crate) fn open(
        location: &Location,
        opener: &mut Opener<'_>,
        verb: &str,
        which: &Which,
        placing: &Placing,
    ) -> Result<Self> {
        let named = |error: Error| error.in_file(location.name());
        let input = location.input(opener).map_err(named)?;
        if zds::is_store(&input, opener) {
            if placing.no_md5 {
                return Err(named(Error::usage("--no-md5 is for datadings, this is zds")));
            }
            return Stored::open(location, &input, opener, which.table.as_deref()).map(Self::Zds);
        }
        if which.table.is_some() {
            return Err(named(Error::usage("--table is for ZDS, and this is none")));
        }
        Dataset::of(location, &input, opener, verb).map(Self::Datadings)
    }

    pub(crate) fn len(&self) -> Result<u64> {
        match self {
            Self::Datadings(dataset) => Ok(dataset.reader.len()),
            Self::Zds(stored) => stored.count(),
        }
    }

    /// What one is called.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Datadings(_) => "sample",
            Self::Zds(_) => "document",
        }
    }

    /// Refuses an output that would take the place of an input, or without `force` of anything.
    pub(crate) fn refuse(&self, path: &Path, force: bool, inputs: &[Location]) -> Result<()> {
        match self {
            Self::Datadings(_) => dataset::refuse(path, force, inputs),
            Self::Zds(_) => zds::refuse(path, force, inputs),
        }
    }

    /// Begins an output. Where it is made may be another path.
    pub(crate) fn create(&self, path: &Path, made_at: &Path, placing: &Placing, inputs: &[Location]) -> Result<Out> {
        self.refuse(path, placing.force, inputs)?;
        match self {
            Self::Datadings(_) => {
                Ok(Out::Datadings(path.to_owned(), Box::new(Writer::create(made_at, placing.options())?)))
            }
            Self::Zds(stored) => {
                let new = NewZds::create(path, placing.force, inputs)?;
                let writer = new.collection(stored.collection.name())?;
                Ok(Out::Zds(path.to_owned(), Box::new((new, writer))))
            }
        }
    }

    /// Copies records of a range, in order.
    pub(crate) fn copy(&self, rows: Range<u64>, out: &mut Out, bar: &Bar) -> Result<()> {
        match (self, out) {
            (Self::Datadings(dataset), Out::Datadings(_, writer)) => dataset.copy(rows, writer, bar),
            (Self::Zds(stored), Out::Zds(_, new)) => stored.copy(rows, &mut new.1, bar),
            _ => Err(Error::usage("records of one format into another")),
        }
    }

    /// Copies the records of these numbers, in this order.
    pub(crate) fn copy_rows(&self, rows: impl Iterator<Item = u64>, out: &mut Out, bar: &Bar) -> Result<()> {
        match (self, out) {
            (Self::Datadings(dataset), Out::Datadings(_, writer)) => dataset.copy_rows(rows, writer, bar),
            (Self::Zds(stored), Out::Zds(_, new)) => stored.copy_rows(rows, &mut new.1, bar),
            _ => Err(Error::usage("records of one format into another")),
        }
    }
}

/// Records that are being written.
pub(crate) enum Out {
    Datadings(PathBuf, Box<Writer>),
    Zds(PathBuf, Box<(NewZds, zdx::CollectionWriter)>),
}

impl Out {
    /// What was copied although verification rejects it, since this was asked last. Documents are refused then.
    pub(crate) fn take_losses(&mut self, from: &Location) -> Vec<Lost> {
        match self {
            Self::Datadings(_, writer) => dataset::rejected(writer, Some(from.name())),
            Self::Zds(..) => Vec::new(),
        }
    }

    /// Writes what is held back, and gives it its place; says how many records there are, and what programs are told.
    pub(crate) fn finish(self) -> Result<(u64, Map<String, Value>)> {
        match self {
            Self::Datadings(path, writer) => {
                let written = writer.finish().map_err(|error| error.in_file(path.display().to_string()))?;
                Ok((written.samples, dataset::done(&path, written)))
            }
            Self::Zds(path, new) => {
                let (new, writer) = *new;
                let written = new.finish(vec![writer])?;
                Ok((written.documents, zds::done(&path, written)))
            }
        }
    }
}
