//! Splits the records of one input.

use std::collections::HashSet;
use std::path::PathBuf;

use container_core::{Error, Overwrite, Result, Unit};
use datadings::order::Order;

use super::super::env::Opener;
use super::super::inputs::Location;
use super::super::overlap::absolute;
use super::super::{Listener, dataset, zds};
use super::records::{self, New};
use super::{Copying, Parts, Report};
use crate::Registry;

/// Splits the [records](super) of an input into several outputs, each a range of them.
///
/// All outputs appear at the end, and none if anything fails before.
///
/// ```no_run
/// use wharf::{Overwrite, Registry, Split, subset::Parts};
///
/// let split = Split::new("all.msgpack", Parts::Fractions("0.8,0.1,0.1".parse().map_err(wharf::Error::usage)?))
///     .with_outputs(["train.msgpack", "validation.msgpack", "test.msgpack"])
///     .with_shuffle(Some(7));
/// for output in split.write(Overwrite::Refuse, &Registry::builtin())?.outputs {
///     println!("{}: {}", output.path.display(), output.rows);
/// }
/// # Ok::<(), wharf::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Split {
    /// The file, dataset or store.
    pub input: Location,
    /// How it is split.
    pub parts: Parts,
    /// The outputs: a name for each, or one with `{}`, which is replaced by the number of the part, counted from 0 and padded to equal width. Empty for
    /// names beside the input: `all-0.msgpack`.
    pub outputs: Vec<PathBuf>,
    /// Shuffle the records first.
    pub shuffle: bool,
    /// The random seed; `None` for another one each time.
    pub seed: Option<u64>,
    /// How they are copied.
    pub copying: Copying,
    /// Receives progress reports.
    pub(in crate::hub) progress: Listener,
}

impl Split {
    /// Splits an input.
    #[must_use]
    pub fn new(input: impl Into<PathBuf>, parts: Parts) -> Self {
        Self {
            input: Location::Path(input.into()),
            parts,
            outputs: Vec::new(),
            shuffle: false,
            seed: None,
            copying: Copying::default(),
            progress: Listener::default(),
        }
    }

    /// Replaces [`outputs`](Self::outputs).
    #[must_use]
    pub fn with_outputs<P: Into<PathBuf>>(mut self, outputs: impl IntoIterator<Item = P>) -> Self {
        self.outputs = outputs.into_iter().map(Into::into).collect();
        self
    }

    /// Shuffles the records first, with this seed if given.
    #[must_use]
    pub const fn with_shuffle(mut self, seed: Option<u64>) -> Self {
        (self.shuffle, self.seed) = (true, seed);
        self
    }

    /// Writes all of them.
    ///
    /// # Errors
    /// All that [`run`](Self::run) fails for.
    pub fn write(&self, overwrite: Overwrite, registry: &Registry) -> Result<Report> {
        let mut report = Report::default();
        self.run(overwrite, &mut Opener::new(registry.clone()), &mut report)?;
        Ok(report)
    }

    /// Writes all of them. `report` says what was done, also when this ends with an error.
    ///
    /// # Errors
    /// The input cannot be split so; it is of another format, or cannot be read; there are not as many names as parts, or two are of the same file; the
    /// extension of an output stands for another format; an output exists and is not to be replaced, or cannot be written.
    pub fn run(&self, overwrite: Overwrite, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let force = overwrite == Overwrite::Replace;
        let records = records::open(&self.input, opener, "split", &self.copying)?;
        let len = records.len()?;
        (report.format, report.unit, report.of) = (records.format(), records.unit(), len);
        let parts = self.parts.of(len).map_err(|error| error.in_file(self.input.name()))?;
        let paths = self.names(parts.count())?;
        for path in &paths {
            records::refuse(records.as_ref(), path, force, &self.input, opener)?;
        }
        check_distinct(&paths)?;
        report.seed = self.shuffle.then(|| dataset::seed(self.seed));
        let order = report.seed.map(|seed| Order::sequential(len).shuffled(seed)).transpose()?;
        let mut transaction = records.transaction(force);
        let (bar, mut ready, mut outputs) = (&self.progress.0, Vec::new(), Vec::new());
        for (number, (path, rows)) in paths.iter().zip(parts.ranges()).enumerate() {
            bar.name(&format!("{} ({} of {})", path.display(), number + 1, paths.len()));
            bar.begin(Unit::Rows, Some(rows.end - rows.start));
            let temporary = &records.temporary(path, &mut transaction)?;
            let (copying, input) = (&self.copying, &self.input);
            let mut out = records.create(&New { path, temporary, force, copying, input, bar })?;
            match &order {
                None => out.copy(rows, bar.as_ref())?,
                Some(order) => out.copy_rows(&mut order.clone().range(rows)?.iter(0), bar.as_ref())?,
            }
            report.losses.extend(out.take_losses());
            let (written, store) = out.prepare()?;
            outputs.push(written);
            ready.extend(store);
        }
        zds::place_all(ready)?;
        transaction.commit()?;
        report.outputs = outputs;
        Ok(())
    }

    /// The name of every output.
    fn names(&self, count: usize) -> Result<Vec<PathBuf>> {
        let digits = count.saturating_sub(1).to_string().len();
        match (self.outputs.as_slice(), &self.input) {
            ([], Location::Stdin | Location::Open(_)) => {
                let what = if self.input == Location::Stdin { "standard input" } else { "an open container" };
                Err(Error::usage(format!("{what} has no name to derive output names from"))
                    .advising("{output} sets them"))
            }
            ([], Location::Path(path)) => {
                let data = dataset::data_of(path);
                let stem = data.file_stem().unwrap_or_default();
                let name = |number: usize| {
                    let mut name = stem.to_owned();
                    name.push(format!("-{number:0digits$}"));
                    if let Some(extension) = data.extension() {
                        name.push(".");
                        name.push(extension);
                    }
                    data.with_file_name(name)
                };
                Ok((0..count).map(name).collect())
            }
            ([one], _) if one.to_str().is_some_and(|text| text.contains("{}")) => {
                let pattern = one.to_string_lossy();
                let path = |number: usize| PathBuf::from(pattern.replace("{}", &format!("{number:0digits$}")));
                Ok((0..count).map(path).collect())
            }
            (names, _) if names.len() == count => Ok(names.to_vec()),
            (names, _) => {
                let counted = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
                let (names, parts) = (counted(names.len(), "name"), counted(count, "output"));
                Err(Error::usage(format!("{names} for {parts}: give a name with {{}}, or one for each")))
            }
        }
    }
}

/// Fails when two outputs are the same file, or one belongs to the file set of another.
fn check_distinct(paths: &[PathBuf]) -> Result<()> {
    let mut all = HashSet::new();
    let twice = paths.iter().find(|path| !all.insert(absolute(path)));
    let inside = || paths.iter().find(|path| dataset::members(path).skip(1).any(|part| all.contains(&absolute(&part))));
    match twice.or_else(inside) {
        None => Ok(()),
        Some(path) => {
            Err(Error::usage("two outputs would be written to the same file").in_file(path.display().to_string()))
        }
    }
}
