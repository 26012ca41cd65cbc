//! Splits, samples and shuffles records; outputs have the format of the input.
//!
//! | inputs | records |
//! |---|---|
//! | datadings, ZDS | samples and documents, byte for byte |
//! | JSON lines, CSV, TSV | rows, byte for byte, and the header of CSV in each output; an array of objects stays one |
//! | IDV | rows; a range as it is, others as columns: then sparse vectors become dense, and times outside of 1677 to 2262 are an error |
//! | Parquet, Arrow IPC, other formats of the registry that read and write record batches | rows, as columns |
//!
//! [`Convert`](crate::Convert) selects from ds and NetCDF. The order of rows follows from the seed and their number, whatever the format. Memory: 8
//! bytes per row of text; for columns in another order a few times 64 MiB, and temporary files beyond.

mod parts;
mod records;
mod rows;
mod split;

use std::path::{Path, PathBuf};

use container_arrow::Predicate;
use container_core::{Error, Overwrite, Result, Unit};
use datadings::order::{Order, QuasiShuffle};

pub use parts::{Fractions, Parts};
pub use split::Split;

use super::convert::TargetUnit;
use super::env::Opener;
use super::inputs::Location;
use super::{Bar, Listener, Lost, dataset, zds};
use crate::Registry;
use records::{New, Out, Records};

/// How records are copied.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Copying {
    /// The collection, for ZDS stores with several.
    pub table: Option<String>,
    /// Only records for which it holds. The others do not exist for the verb: they are neither counted nor copied.
    pub filter: Option<Predicate>,
    /// Write no `.md5` file for datadings.
    pub no_md5: bool,
    /// Maximum number of threads; 0 for one per core.
    pub threads: usize,
}

/// What was done, also before an error.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The format of the input and of the outputs.
    pub format: &'static str,
    /// What the records are.
    pub unit: TargetUnit,
    /// Records in the input, or those for which [`Copying::filter`] holds.
    pub of: u64,
    /// The outputs.
    pub outputs: Vec<Written>,
    /// The random seed.
    pub seed: Option<u64>,
    /// Samples that were copied although verification rejects them.
    pub losses: Vec<Lost>,
}

/// An output.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Its path.
    pub path: PathBuf,
    /// Records in it.
    pub rows: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Selects some [records](self) of an input.
///
/// The same seed selects the same records, on every machine and in every later version.
///
/// ```no_run
/// use wharf::{Overwrite, Registry, Sample};
///
/// let sample = Sample::new("train.msgpack", 1000).with_seed(7);
/// let report = sample.write("small.msgpack", Overwrite::Refuse, &Registry::builtin())?;
/// println!("{} of {}", report.outputs[0].rows, report.of);
/// # Ok::<(), wharf::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Sample {
    /// The file, dataset or store.
    pub input: Location,
    /// How many.
    pub number: u64,
    /// Which ones, in which order.
    pub method: SampleMethod,
    /// The random seed; `None` for another one each time.
    pub seed: Option<u64>,
    /// How they are copied.
    pub copying: Copying,
    /// Receives progress reports.
    pub(in crate::hub) progress: Listener,
}

/// Which records a sample consists of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SampleMethod {
    /// Random ones without replacement, in random order. Takes 8 bytes of memory each.
    #[default]
    Random,
    /// Random ones in the order of the input.
    InOrder,
    /// The first ones.
    First,
}

/// Shuffles the [records](self) of an input.
///
/// The same seed gives the same bytes, on every machine and in every later version.
///
/// ```no_run
/// use wharf::{Overwrite, Registry, Shuffle};
///
/// let report = Shuffle::new("train.msgpack").write("shuffled.msgpack", Overwrite::Refuse, &Registry::builtin())?;
/// println!("seed {:?}", report.seed);
/// # Ok::<(), wharf::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Shuffle {
    /// The file, dataset or store.
    pub input: Location,
    /// A less random order with far fewer seeks.
    pub quasi: Option<Quasi>,
    /// The random seed; `None` for another one each time.
    pub seed: Option<u64>,
    /// How they are copied.
    pub copying: Copying,
    /// Receives progress reports.
    pub(in crate::hub) progress: Listener,
}

/// Shuffles chunks of neighbors, then the records in a buffer of several chunks: the input is read in long stretches.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Quasi {
    /// Records in the buffer, or below 1 a fraction of the input; `None` for 0.01.
    pub buffer: Option<f64>,
    /// Records of a chunk; `None` for 16.
    pub chunk: Option<u64>,
}

impl Sample {
    /// Selects this many records of an input at random.
    #[must_use]
    pub fn new(input: impl Into<PathBuf>, number: u64) -> Self {
        Self {
            input: Location::Path(input.into()),
            number,
            method: SampleMethod::default(),
            seed: None,
            copying: Copying::default(),
            progress: Listener::default(),
        }
    }

    /// Replaces [`seed`](Self::seed).
    #[must_use]
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Writes them.
    ///
    /// # Errors
    /// All that [`run`](Self::run) fails for.
    pub fn write(&self, path: impl AsRef<Path>, overwrite: Overwrite, registry: &Registry) -> Result<Report> {
        let mut report = Report::default();
        self.run(path.as_ref(), overwrite, &mut Opener::new(registry.clone()), &mut report)?;
        Ok(report)
    }

    /// Writes them. `report` says what was done, also when this ends with an error.
    ///
    /// # Errors
    /// The input has fewer; it is of another format, or cannot be read; the extension of the output stands for another format; the output exists
    /// and is not to be replaced, or cannot be written. The output is there whole, or not at all.
    pub fn run(&self, path: &Path, overwrite: Overwrite, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let records = records::open(&self.input, opener, "sample", &self.copying)?;
        let (len, number) = (records.len()?, self.number);
        if number > len {
            let (word, all) = records.unit().words();
            let detail = format!("{number} {word}s requested, the {all} has {len}");
            return Err(Error::usage(detail).in_file(self.input.name()));
        }
        let output = SingleOutput { input: &self.input, copying: &self.copying, progress: &self.progress, number };
        if self.method == SampleMethod::First {
            return output
                .write((records.as_ref(), opener), path, overwrite, report, |out, bar| out.copy(0..number, bar));
        }
        let seed = dataset::seed(self.seed);
        report.seed = Some(seed);
        let mut chosen = Order::sequential(len).shuffled(seed)?.range(0..number)?.iter(0);
        output.write((records.as_ref(), opener), path, overwrite, report, |out, bar| {
            if self.method == SampleMethod::Random {
                return out.copy_rows(&mut chosen, bar);
            }
            let mut rows: Vec<u64> = chosen.collect();
            rows.sort_unstable();
            out.copy_rows(&mut rows.into_iter(), bar)
        })
    }
}

impl Shuffle {
    /// Shuffles an input.
    #[must_use]
    pub fn new(input: impl Into<PathBuf>) -> Self {
        let (copying, progress) = (Copying::default(), Listener::default());
        Self { input: Location::Path(input.into()), quasi: None, seed: None, copying, progress }
    }

    /// Replaces [`seed`](Self::seed).
    #[must_use]
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Writes them.
    ///
    /// # Errors
    /// All that [`run`](Self::run) fails for.
    pub fn write(&self, path: impl AsRef<Path>, overwrite: Overwrite, registry: &Registry) -> Result<Report> {
        let mut report = Report::default();
        self.run(path.as_ref(), overwrite, &mut Opener::new(registry.clone()), &mut report)?;
        Ok(report)
    }

    /// Writes them. `report` says what was done, also when this ends with an error.
    ///
    /// # Errors
    /// The input is of another format, or cannot be read; the values of [`quasi`](Self::quasi) do not fit it; the extension of the output stands
    /// for another format; the output exists and is not to be replaced, or cannot be written. The output is there whole, or not at all.
    pub fn run(&self, path: &Path, overwrite: Overwrite, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let records = records::open(&self.input, opener, "shuffle", &self.copying)?;
        let number = records.len()?;
        let seed = dataset::seed(self.seed);
        report.seed = Some(seed);
        let order = Order::sequential(number);
        let order = match self.quasi {
            None => order.shuffled(seed)?,
            Some(Quasi { buffer, chunk }) => {
                let buffer = buffer.unwrap_or(QuasiShuffle::PYTHON_BUFFER);
                let quasi = QuasiShuffle::of_len(number, buffer, chunk.unwrap_or(QuasiShuffle::PYTHON_CHUNK));
                order.quasi_shuffled(quasi.map_err(|error| Error::usage(error.detail().to_owned()))?, seed)?
            }
        };
        let output = SingleOutput { input: &self.input, copying: &self.copying, progress: &self.progress, number };
        output.write((records.as_ref(), opener), path, overwrite, report, |out, bar| {
            out.copy_rows(&mut order.iter(0), bar)
        })
    }
}

/// Writes one output.
struct SingleOutput<'a> {
    input: &'a Location,
    copying: &'a Copying,
    progress: &'a Listener,
    /// Records to write.
    number: u64,
}

impl SingleOutput<'_> {
    fn write(
        &self,
        (records, opener): (&dyn Records, &Opener<'_>),
        path: &Path,
        overwrite: Overwrite,
        report: &mut Report,
        copy: impl FnOnce(&mut dyn Out, &Bar) -> Result<()>,
    ) -> Result<()> {
        let force = overwrite == Overwrite::Replace;
        (report.format, report.unit, report.of) = (records.format(), records.unit(), records.len()?);
        let (bar, input) = (&self.progress.0, self.input);
        records::refuse(records, path, force, input, opener)?;
        let mut out = records.create(&New { path, temporary: path, force, copying: self.copying, input, bar })?;
        bar.name(&self.input.name());
        bar.begin(Unit::Rows, Some(self.number));
        copy(out.as_mut(), bar.as_ref())?;
        report.losses.extend(out.take_losses());
        let (written, ready) = out.prepare()?;
        zds::place_all(ready.into_iter().collect())?;
        report.outputs.push(written);
        Ok(())
    }
}
