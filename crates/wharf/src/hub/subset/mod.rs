//! Records of one input in others of its format: all of them in several, some of them, or all in another order.
//!
//! | inputs | records |
//! |---|---|
//! | datadings, ZDS | samples and documents, byte for byte |
//! | JSON lines, CSV, TSV | rows, byte for byte, and the names of CSV in front of each output; an array of objects stays one |
//! | IDV | rows; a stretch of them as they are, others as columns: sparse vectors are written in full then, and times before 1677 or behind 2262 are an error |
//! | Parquet, Arrow IPC, formats of the registry with columns that write batches | rows, as columns |
//!
//! Of ds and NetCDF variables are cut, which [`Convert`](crate::Convert) does. The order of rows follows from the seed and from how many there are,
//! whatever the format. Of a text it is listed where each row begins, 8 bytes for each. Rows of columns in another order take memory for a few times 64 MiB, and temporary files where they are more.

mod parts;
mod records;
mod rows;
mod split;

use std::path::{Path, PathBuf};

use container_core::{Error, Overwrite, Result, Unit};
use datadings::order::{Order, QuasiShuffle};

pub use parts::{Fractions, Parts};
pub use split::Split;

use super::env::Opener;
use super::inputs::Location;
use super::{Listener, Lost, dataset, zds};
use crate::Registry;
use records::Records;

/// How records are copied: byte for byte.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Copying {
    /// The collection of a ZDS store that has several.
    pub table: Option<String>,
    /// Write no `.md5` for datadings.
    pub no_md5: bool,
    /// Threads that may work at once; 0 for all the machine has.
    pub threads: usize,
}

/// What has been done, also before an error.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The format of the input and of the outputs.
    pub format: &'static str,
    /// Records of the input.
    pub of: u64,
    /// What was written.
    pub outputs: Vec<Written>,
    /// Where chance began.
    pub seed: Option<u64>,
    /// Samples that verification rejects, which were copied as they are.
    pub losses: Vec<Lost>,
}

/// An output.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Where it is.
    pub path: PathBuf,
    /// Records in it.
    pub rows: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// Some [records](self) of an input.
///
/// The same seed chooses the same ones, on every machine and in every later version.
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
    /// Which.
    pub chosen: Chosen,
    /// Where chance begins; another number each time unless given.
    pub seed: Option<u64>,
    /// How they are copied.
    pub copying: Copying,
    /// Who hears how far the work is.
    pub(in crate::hub) progress: Listener,
}

/// Which records are chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Chosen {
    /// Random ones, each at most once, in random order. They are listed in memory: 8 bytes each.
    #[default]
    Random,
    /// Random ones in the order of the input.
    InOrder,
    /// The first.
    First,
}

/// The [records](self) of an input in random order.
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
    /// Less random, and far fewer seeks.
    pub quasi: Option<Quasi>,
    /// Where chance begins; another number each time unless given.
    pub seed: Option<u64>,
    /// How they are copied.
    pub copying: Copying,
    /// Who hears how far the work is.
    pub(in crate::hub) progress: Listener,
}

/// A shuffle of chunks of neighbors, the records of some of which are mixed with each other: the input is read in long stretches.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Quasi {
    /// Records that are mixed with each other; below 1 a fraction of the input; 0.01 unless given.
    pub buffer: Option<f64>,
    /// Neighbors that stay near each other; 16 unless given.
    pub chunk: Option<u64>,
}

impl Sample {
    /// So many records of an input, at random.
    #[must_use]
    pub fn new(input: impl Into<PathBuf>, number: u64) -> Self {
        Self {
            input: Location::Path(input.into()),
            number,
            chosen: Chosen::default(),
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

    /// Writes them; `report` says what was done also when it ends with an error.
    ///
    /// # Errors
    /// The input has fewer; it is of another format, or cannot be read; the output exists and is not to be replaced, or cannot be written. The
    /// output is there whole, or not at all.
    pub fn run(&self, path: &Path, overwrite: Overwrite, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let records = Records::open(&self.input, opener, "sample", &self.copying)?;
        let (len, number) = (records.len()?, self.number);
        if number > len {
            let (word, all) = records.words();
            let detail = format!("{number} {word}s are asked for: the {all} has {len}");
            return Err(Error::usage(detail).in_file(self.input.name()));
        }
        let one = One { input: &self.input, copying: &self.copying, progress: &self.progress, number };
        if self.chosen == Chosen::First {
            return one.write(&records, path, overwrite, report, |out, bar| records.copy(0..number, out, bar));
        }
        let seed = dataset::seed(self.seed);
        report.seed = Some(seed);
        let chosen = Order::sequential(len).shuffled(seed)?.range(0..number)?.iter(0);
        one.write(&records, path, overwrite, report, |out, bar| {
            if self.chosen == Chosen::Random {
                return records.copy_rows(chosen, out, bar);
            }
            let mut rows: Vec<u64> = chosen.collect();
            rows.sort_unstable();
            records.copy_rows(rows.into_iter(), out, bar)
        })
    }
}

impl Shuffle {
    /// Of an input.
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

    /// Writes them; `report` says what was done also when it ends with an error.
    ///
    /// # Errors
    /// The input is of another format, or cannot be read; the numbers of [`quasi`](Self::quasi) do not go with it; the output exists and is not to be
    /// replaced, or cannot be written. The output is there whole, or not at all.
    pub fn run(&self, path: &Path, overwrite: Overwrite, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let records = Records::open(&self.input, opener, "shuffle", &self.copying)?;
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
        let one = One { input: &self.input, copying: &self.copying, progress: &self.progress, number };
        one.write(&records, path, overwrite, report, |out, bar| records.copy_rows(order.iter(0), out, bar))
    }
}

/// One output of one input.
struct One<'a> {
    input: &'a Location,
    copying: &'a Copying,
    progress: &'a Listener,
    /// Records that are written.
    number: u64,
}

impl One<'_> {
    fn write(
        &self,
        records: &Records,
        path: &Path,
        overwrite: Overwrite,
        report: &mut Report,
        copy: impl FnOnce(&mut records::Out, &super::Bar) -> Result<()>,
    ) -> Result<()> {
        let force = overwrite == Overwrite::Replace;
        (report.format, report.of) = (records.format(), records.len()?);
        let bar = &self.progress.0;
        let mut out = records.create((path, path), force, self.copying, self.input, bar)?;
        bar.name(&self.input.name());
        bar.begin(Unit::Rows, Some(self.number));
        copy(&mut out, bar.as_ref())?;
        report.losses.extend(out.take_losses(self.input));
        let (written, ready) = out.prepare(records)?;
        zds::place_all(ready.into_iter().collect())?;
        report.outputs.push(written);
        Ok(())
    }
}
