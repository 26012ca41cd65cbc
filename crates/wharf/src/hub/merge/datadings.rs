//! Merges datadings datasets.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;

use container_core::{Error, Input, Loss, Position, Result, Unit};
use datadings::order::Order;
use datadings::{RawValue, Sample, Writer};

use super::super::convert::{OptionSpec, OptionValue, TargetInfo, number, unknown_option};
use super::super::dataset::{self, Dataset, is_duplicate};
use super::super::env::Opener;
use super::super::tick;
use super::super::{Bar, Lost};
use super::{Merge, Merger, OnDuplicate, Operation, Report, To};

/// Merges datadings datasets: samples, byte for byte.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DatadingsMerger {
    /// Which sample comes next.
    pub strategy: Strategy,
    /// Shuffle the samples of each dataset.
    pub shuffle: bool,
    /// The random seed; `None` for another one each time.
    pub seed: Option<u64>,
    /// Write no `.md5` file.
    pub no_md5: bool,
    /// What becomes of a sample with a duplicate key.
    pub on_duplicate: OnDuplicate,
}

/// Which sample comes next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// All of the first dataset, then all of the second, and so on.
    #[default]
    Concat,
    /// A random one of all remaining samples; each dataset keeps its order.
    Random,
}

impl Operation for DatadingsMerger {
    fn info(&self) -> TargetInfo {
        dataset::INFO
    }

    fn options(&self) -> &'static [OptionSpec] {
        const ALL: OptionSpec = OptionSpec::flag("", "").with_group("Options for datadings");
        const ORDERS: OptionValue = OptionValue::Choice(&[
            ("concat", "The datasets one after another"),
            ("random", "Interleaved at random; the samples of each dataset keep their order"),
        ]);
        const STRATEGY: OptionSpec =
            ALL.named("strategy", "Order of the samples [default: concat]").with_value(ORDERS, "HOW");
        const SHUFFLE: OptionSpec = ALL.named("shuffle", "Shuffle the samples of each dataset first");
        const SEED: OptionSpec = ALL
            .named("seed", "Seed of the random generator [default: a different one each time]")
            .with_value(OptionValue::Integer(0, u64::MAX), "N");
        const NO_MD5: OptionSpec = ALL.named("no_md5", "Write no .md5 file");
        &[STRATEGY, SHUFFLE, SEED, NO_MD5, OnDuplicate::OPTION]
    }

    fn set(&mut self, option: &str, value: &OsStr) -> Result<()> {
        match option {
            "strategy" => self.strategy = if value == "random" { Strategy::Random } else { Strategy::Concat },
            "shuffle" => self.shuffle = true,
            "seed" => self.seed = Some(number(value)?),
            "no_md5" => self.no_md5 = true,
            "on_duplicate" => self.on_duplicate = OnDuplicate::of(value),
            _ => return Err(unknown_option(option)),
        }
        Ok(())
    }

    fn accepts(&self, input: &Input, format: Option<&str>) -> bool {
        dataset::is_of(input, format)
    }
}

impl Merger for DatadingsMerger {
    fn run(&self, job: &Merge, to: To<'_>, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let (path, force) = to.file();
        if self.on_duplicate == OnDuplicate::Last {
            return Err(Error::usage("last is for ZDS, the inputs are datadings").in_option("on_duplicate"));
        }
        let random = self.strategy == Strategy::Random;
        if self.seed.is_some() && !random && !self.shuffle {
            let detail = "has no effect: nothing is random here";
            return Err(Error::usage(detail)
                .in_option("seed")
                .advising("it goes with {strategy} random and with {shuffle}"));
        }
        let seed = (random || self.shuffle).then(|| dataset::seed(self.seed));
        let mut inputs = Vec::with_capacity(job.inputs.len());
        for location in &job.inputs {
            let mut input = Dataset::open(location, opener, "merge")?;
            if let Some(condition) = &job.filter {
                input.pick(condition, job.threads, opener)?;
            }
            inputs.push(input);
        }
        let writer = dataset::copy_options(force, self.no_md5, job.threads);
        let writer = dataset::create(path, force, writer, &job.inputs)?;
        let bar = job.progress();
        bar.name(&path.display().to_string());
        let total = inputs.iter().map(Dataset::len).fold(0, u64::saturating_add);
        bar.begin(Unit::Rows, Some(total));
        (report.inputs, report.seed) = (inputs.len(), seed);
        let mut samples = Samples {
            inputs: &inputs,
            writer,
            bar: bar.as_ref(),
            on_duplicate: self.on_duplicate,
            lost: &mut report.losses,
            numbers: HashMap::new(),
        };
        match seed {
            None => (0..inputs.len()).try_for_each(|number| samples.copy_all(number))?,
            Some(seed) if random => samples.copy_random(total, seed, self.shuffle)?,
            Some(seed) => samples.copy_shuffled(seed)?,
        }
        let mut writer = samples.writer;
        let duplicates = Some(report.losses.iter().map(|lost| lost.loss.count).sum());
        match self.on_duplicate {
            OnDuplicate::First => report.left_out = duplicates,
            OnDuplicate::Rename => report.renamed = duplicates,
            OnDuplicate::Error | OnDuplicate::Last => {}
        }
        // The key tells which dataset a sample is from.
        report.losses.extend(dataset::rejected(&mut writer, None));
        let written = writer.finish()?;
        (report.rows, report.bytes) = (written.samples, written.bytes);
        Ok(())
    }
}

/// Copies samples.
struct Samples<'a> {
    inputs: &'a [Dataset],
    writer: Writer,
    bar: &'a Bar,
    on_duplicate: OnDuplicate,
    /// Samples left out or renamed, by dataset.
    lost: &'a mut Vec<Lost>,
    /// The next number to append to a duplicate key. Without it, many samples with one key would take quadratic time.
    numbers: HashMap<Box<str>, u64>,
}

impl<'a> Samples<'a> {
    fn input(&self, number: usize) -> Result<&'a Dataset> {
        self.inputs.get(number).ok_or_else(|| Error::usage("there are no datasets to merge"))
    }

    /// Copies all samples of a dataset, in order.
    fn copy_all(&mut self, number: usize) -> Result<()> {
        let input = self.input(number)?;
        if input.picked.is_some() {
            return (0..input.len()).try_for_each(|row| self.copy_one(number, row));
        }
        let named = |error: Error| error.in_file(input.location.name());
        let mut keys = input.reader.keys(0..input.reader.len()).map_err(named)?;
        for sample in &input.reader {
            let sample = sample.map_err(named)?;
            let key = keys.next().transpose().map_err(named)?;
            let key = key.ok_or_else(|| named(Error::invalid("the sample has no key").in_row(sample.index())))?;
            self.put(number, &key, &sample)?;
        }
        Ok(())
    }

    /// Copies a sample by its number.
    fn copy_one(&mut self, number: usize, row: u64) -> Result<()> {
        let input = self.input(number)?;
        let (key, sample) = input.get(input.number(row))?;
        self.put(number, &key, &sample)
    }

    /// Copies the datasets one after the other, each shuffled.
    fn copy_shuffled(&mut self, seed: u64) -> Result<()> {
        for number in 0..self.inputs.len() {
            let order = Order::sequential(self.input(number)?.len()).shuffled(seed)?;
            for row in order.iter(number as u64) {
                self.copy_one(number, row)?;
            }
        }
        Ok(())
    }

    /// Takes all positions in random order; each selects the dataset of the next sample, so that all remaining samples are equally likely.
    fn copy_random(&mut self, total: u64, seed: u64, shuffle: bool) -> Result<()> {
        let mut starts = Vec::with_capacity(self.inputs.len());
        let mut start = 0_u64;
        for input in self.inputs {
            starts.push(start);
            start = start.saturating_add(input.len());
        }
        let mut next = vec![0_u64; self.inputs.len()];
        for position in Order::sequential(total).shuffled(seed)?.iter(0) {
            // Empty datasets share their start with the next one; the last of them has samples.
            let number = starts.partition_point(|&start| start <= position).saturating_sub(1);
            let row = match (next.get_mut(number), starts.get(number)) {
                (Some(next), _) if !shuffle => {
                    *next += 1;
                    *next - 1
                }
                (_, Some(start)) => position - start,
                _ => position,
            };
            self.copy_one(number, row)?;
        }
        Ok(())
    }

    fn put(&mut self, number: usize, key: &str, sample: &Sample<'_>) -> Result<()> {
        let input = self.input(number)?;
        match self.writer.append_raw(key, sample.as_bytes()) {
            Ok(()) => tick(self.bar, self.writer.len()),
            Err(error) if !is_duplicate(&error) => Err(input.in_message(error, sample)),
            Err(_) => match self.on_duplicate {
                OnDuplicate::Error | OnDuplicate::Last => Err(self.duplicate(number, key, sample)),
                OnDuplicate::First => {
                    self.count(input, "sample left out: duplicate key", key, sample);
                    Ok(())
                }
                OnDuplicate::Rename => {
                    self.rename(input, key, sample)?;
                    self.count(input, "duplicate key with a number appended", key, sample);
                    Ok(())
                }
            },
        }
    }

    /// The error for a duplicate key.
    #[cold]
    fn duplicate(&self, number: usize, key: &str, sample: &Sample<'_>) -> Error {
        let others = self.inputs.iter().enumerate().filter(|(other, _)| *other != number);
        let holder = others.map(|(_, other)| other).find(|other| matches!(other.reader.find(key), Ok(Some(_))));
        let detail = match holder {
            Some(other) => format!("{} has the same key", other.location.name()),
            None => "the dataset has the same key twice".to_owned(),
        };
        let file = self.inputs.get(number).map(|input| input.location.name()).unwrap_or_default();
        let error = Error::usage(detail).advising("{on_duplicate} decides what to do");
        error.in_format(dataset::NAME).in_row(sample.index()).in_key(key.to_owned()).in_file(file)
    }

    fn count(&mut self, input: &Dataset, what: &str, key: &str, sample: &Sample<'_>) {
        let file = Some(input.location.name());
        if let Some(lost) = self.lost.iter_mut().find(|lost| lost.file == file) {
            lost.loss.count += 1;
            return;
        }
        let first = Position::of_key(key.to_owned()).in_row(sample.index());
        self.lost.push(Lost { file, loss: Loss::new(what.to_owned(), 1, first) });
    }

    /// Writes a sample under an unused key.
    fn rename(&mut self, input: &Dataset, key: &str, sample: &Sample<'_>) -> Result<()> {
        let number = self.numbers.entry(key.into()).or_insert(2);
        loop {
            let new = format!("{key}#{number}");
            *number += 1;
            let message = with_key(sample, &new).map_err(|error| input.in_message(error, sample))?;
            match self.writer.append_raw(&new, &message) {
                Err(error) if is_duplicate(&error) => {}
                other => return other.map_err(|error| input.in_message(error, sample)),
            }
        }
    }
}

/// The message with another key, or unchanged if it has none.
fn with_key<'s>(sample: &'s Sample<'_>, key: &str) -> Result<Cow<'s, [u8]>> {
    let message = sample.as_bytes();
    let Ok(Some(old)) = RawValue::new(message).get("key") else { return Ok(Cow::Borrowed(message)) };
    let start = usize::try_from(old.offset()).unwrap_or(message.len()); // an offset in bytes that are in memory
    let (before, rest) = message.split_at_checked(start).unwrap_or((message, &[]));
    let mut new = before.to_vec();
    datadings::ser::extend(&mut new, key)?;
    new.extend_from_slice(rest.get(old.as_bytes().len()..).unwrap_or_default());
    Ok(Cow::Owned(new))
}
