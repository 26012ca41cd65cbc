//! Sources of records, and outputs in the same format.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Error, Format, Result};
use datadings::Writer;

use super::super::convert::TargetUnit;
use super::super::dataset::{self, Dataset};
use super::super::env::Opener;
use super::super::inputs::Location;
use super::super::operation::Inputs;
use super::super::rows::refuse_other_format;
use super::super::select::Reading;
use super::super::transaction::Transaction;
use super::super::zds::{self, NewZds, Ready, Stored};
use super::super::{Bar, Lost};
use super::{Copying, Written, rows};

/// A source of records.
pub(super) trait Records {
    /// The name of the format.
    fn format(&self) -> &'static str;

    /// What the records are.
    fn unit(&self) -> TargetUnit;

    fn len(&self) -> Result<u64>;

    /// Fails when the output would replace an input or, without `force`, anything.
    fn refuse(&self, path: &Path, force: bool, inputs: &[Location]) -> Result<()>;

    /// Keeps outputs out of sight until all are complete.
    fn transaction(&self, force: bool) -> Transaction {
        Transaction::new(force)
    }

    /// Where to write an output that the transaction moves to `path`.
    fn temporary(&self, path: &Path, transaction: &mut Transaction) -> Result<PathBuf> {
        transaction.path(path)
    }

    /// Creates an output, which is not refused.
    fn create<'a>(&'a self, new: &New<'_>) -> Result<Box<dyn Out + 'a>>;
}

/// An output to create.
pub(super) struct New<'a> {
    pub(super) path: &'a Path,
    /// Where it is written.
    pub(super) temporary: &'a Path,
    pub(super) force: bool,
    pub(super) copying: &'a Copying,
    pub(super) input: &'a Location,
    pub(super) bar: &'a Arc<Bar>,
}

/// An output in progress.
pub(super) trait Out {
    /// Copies a range of records.
    fn copy(&mut self, rows: Range<u64>, bar: &Bar) -> Result<()>;

    /// Copies the records with these numbers, in this order.
    fn copy_rows(&mut self, rows: &mut dyn Iterator<Item = u64>, bar: &Bar) -> Result<()>;

    /// What could not be kept, since the last call.
    fn take_losses(&mut self) -> Vec<Lost> {
        Vec::new()
    }

    /// Writes what is buffered. A store still has to be moved into place.
    fn prepare(self: Box<Self>) -> Result<(Written, Option<Ready>)>;
}

/// Opens an input, of which only the records are there that are selected.
pub(super) fn open(
    location: &Location,
    opener: &mut Opener<'_>,
    verb: &str,
    copying: &Copying,
) -> Result<Box<dyn Records>> {
    let records = open_all(location, opener, verb, copying)?;
    let Some(condition) = &copying.filter else { return Ok(records) };
    let named = |error: Error| error.in_file(location.name());
    let input = location.input(opener).map_err(named)?;
    let reading = Reading::new(copying.table.clone(), copying.threads, false);
    let rows = opener.matching_rows(&input, &reading, condition).map_err(named)?.rows;
    Ok(Box::new(PickedRecords { records, rows }))
}

/// Opens an input.
fn open_all(location: &Location, opener: &mut Opener<'_>, verb: &str, copying: &Copying) -> Result<Box<dyn Records>> {
    let named = |error: Error| error.in_file(location.name());
    let input = location.input(opener).map_err(named)?;
    let detected = opener.registry.detect(&input).map(Format::name);
    let format = detected.as_ref().ok().copied();
    let inputs = Inputs { format: format.unwrap_or(dataset::NAME), file: Some(location.name()) };
    let only = |option, title, is_given| if is_given { Err(inputs.misplaced(option, title)) } else { Ok(()) };
    let without_md5 = || only("no_md5", "datadings", copying.no_md5);
    // Formats whose records are copied byte for byte; of all others, and of those that a program adds, rows are copied.
    if zds::is_of(format) {
        without_md5()?;
        return Ok(Box::new(Stored::open(location, &input, opener, copying.table.as_deref())?));
    }
    only("table", "ZDS", copying.table.is_some())?;
    // Also damaged data beside an index.
    if dataset::is_of(&input, format) {
        return Ok(Box::new(Dataset::of(location, &input, opener, verb)?));
    }
    let format = detected.map_err(named)?;
    let detail = || format!("{verb} works on samples, documents and rows, the input is {format}");
    let rows = rows::open(location, &input, format, opener)?.ok_or_else(|| named(Error::usage(detail())))?;
    without_md5()?;
    Ok(rows)
}

/// Fails when an output would replace an input or, without `force`, anything, or has the extension of another format.
pub(super) fn refuse(
    records: &dyn Records,
    path: &Path,
    force: bool,
    input: &Location,
    opener: &Opener<'_>,
) -> Result<()> {
    refuse_other_format(path, records.format(), &opener.registry)?;
    records.refuse(path, force, std::slice::from_ref(input))
}

/// Some records of another source.
struct PickedRecords {
    records: Box<dyn Records>,
    /// Their numbers in the other source.
    rows: Vec<u64>,
}

impl Records for PickedRecords {
    fn format(&self) -> &'static str {
        self.records.format()
    }

    fn unit(&self) -> TargetUnit {
        self.records.unit()
    }

    fn len(&self) -> Result<u64> {
        Ok(self.rows.len() as u64)
    }

    fn refuse(&self, path: &Path, force: bool, inputs: &[Location]) -> Result<()> {
        self.records.refuse(path, force, inputs)
    }

    fn transaction(&self, force: bool) -> Transaction {
        self.records.transaction(force)
    }

    fn temporary(&self, path: &Path, transaction: &mut Transaction) -> Result<PathBuf> {
        self.records.temporary(path, transaction)
    }

    fn create<'a>(&'a self, new: &New<'_>) -> Result<Box<dyn Out + 'a>> {
        Ok(Box::new(PickedOut { out: self.records.create(new)?, rows: &self.rows }))
    }
}

/// An output of some records of another source.
struct PickedOut<'a> {
    out: Box<dyn Out + 'a>,
    rows: &'a [u64],
}

impl Out for PickedOut<'_> {
    fn copy(&mut self, mut rows: Range<u64>, bar: &Bar) -> Result<()> {
        self.copy_rows(&mut rows, bar)
    }

    fn copy_rows(&mut self, rows: &mut dyn Iterator<Item = u64>, bar: &Bar) -> Result<()> {
        let number = |row: u64| usize::try_from(row).ok().and_then(|row| self.rows.get(row)).copied();
        self.out.copy_rows(&mut rows.filter_map(number), bar)
    }

    fn take_losses(&mut self) -> Vec<Lost> {
        self.out.take_losses()
    }

    fn prepare(self: Box<Self>) -> Result<(Written, Option<Ready>)> {
        self.out.prepare()
    }
}

impl Records for Dataset {
    fn format(&self) -> &'static str {
        dataset::NAME
    }

    fn unit(&self) -> TargetUnit {
        TargetUnit::Samples
    }

    fn len(&self) -> Result<u64> {
        Ok(self.reader.len())
    }

    fn refuse(&self, path: &Path, force: bool, inputs: &[Location]) -> Result<()> {
        dataset::refuse(path, force, inputs)
    }

    fn create<'a>(&'a self, new: &New<'_>) -> Result<Box<dyn Out + 'a>> {
        let options = dataset::copy_options(new.force, new.copying.no_md5, new.copying.threads);
        let writer = Writer::create(new.temporary, options)?;
        Ok(Box::new(Samples { from: self, path: new.path.to_owned(), writer }))
    }
}

struct Samples<'a> {
    from: &'a Dataset,
    path: PathBuf,
    writer: Writer,
}

impl Out for Samples<'_> {
    fn copy(&mut self, rows: Range<u64>, bar: &Bar) -> Result<()> {
        self.from.copy(rows, &mut self.writer, bar)
    }

    fn copy_rows(&mut self, rows: &mut dyn Iterator<Item = u64>, bar: &Bar) -> Result<()> {
        self.from.copy_rows(rows, &mut self.writer, bar)
    }

    /// Samples that were copied although verification rejects them.
    fn take_losses(&mut self) -> Vec<Lost> {
        dataset::rejected(&mut self.writer, Some(self.from.location.name()))
    }

    fn prepare(self: Box<Self>) -> Result<(Written, Option<Ready>)> {
        let Self { path, writer, .. } = *self;
        let written = writer.finish().map_err(|error| error.in_file(path.display().to_string()))?;
        Ok((Written { path, rows: written.samples, bytes: written.bytes }, None))
    }
}

impl Records for Stored {
    fn format(&self) -> &'static str {
        zds::NAME
    }

    fn unit(&self) -> TargetUnit {
        TargetUnit::Documents
    }

    fn len(&self) -> Result<u64> {
        self.count()
    }

    fn refuse(&self, path: &Path, force: bool, inputs: &[Location]) -> Result<()> {
        zds::refuse(path, force, inputs)
    }

    /// A new store is moved into place by itself.
    fn temporary(&self, path: &Path, _: &mut Transaction) -> Result<PathBuf> {
        Ok(path.to_owned())
    }

    fn create<'a>(&'a self, new: &New<'_>) -> Result<Box<dyn Out + 'a>> {
        let store = NewZds::create(new.path, new.force, std::slice::from_ref(new.input))?;
        let writer = store.collection(self.collection.name())?;
        Ok(Box::new(Documents { from: self, path: new.path.to_owned(), store, writer }))
    }
}

struct Documents<'a> {
    from: &'a Stored,
    path: PathBuf,
    store: NewZds,
    writer: zdx::CollectionWriter,
}

impl Out for Documents<'_> {
    fn copy(&mut self, rows: Range<u64>, bar: &Bar) -> Result<()> {
        self.from.copy(rows, &mut self.writer, bar)
    }

    fn copy_rows(&mut self, rows: &mut dyn Iterator<Item = u64>, bar: &Bar) -> Result<()> {
        self.from.copy_rows(rows, &mut self.writer, bar)
    }

    fn prepare(self: Box<Self>) -> Result<(Written, Option<Ready>)> {
        let Self { path, store, writer, .. } = *self;
        let (store, written) = store.prepare(vec![writer])?;
        Ok((Written { path, rows: written.documents, bytes: written.bytes }, Some(store)))
    }
}
