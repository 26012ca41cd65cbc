//! datadings datasets into one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use container_core::{Error, Loss, Position, Result, Unit};
use datadings::order::Order;
use datadings::{RawValue, Sample, Writer};

use super::super::dataset::{self, Dataset, is_duplicate, tick};
use super::super::env::Opener;
use super::super::{Bar, Lost};
use super::{Merge, OnDuplicate, Report, Strategy};

pub(super) fn run(job: &Merge, path: &Path, force: bool, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
    let options = &job.datadings;
    if job.on_duplicate == Some(OnDuplicate::Last) {
        return Err(Error::usage("last is for ZDS, and the inputs are datadings").in_option("on_duplicate"));
    }
    let random = options.strategy == Some(Strategy::Random);
    if options.seed.is_some() && !random && !options.shuffle {
        let detail = "has no effect: nothing here is left to chance";
        return Err(Error::usage(detail).in_option("seed").advising("it is for {strategy} random and for {shuffle}"));
    }
    let seed = (random || options.shuffle).then(|| dataset::seed(options.seed));
    let mut inputs = Vec::with_capacity(job.inputs.len());
    for location in &job.inputs {
        inputs.push(Dataset::open(location, opener, "merge")?);
    }
    let writer = dataset::copy_options(force, options.no_md5, job.threads);
    let writer = dataset::create(path, force, writer, &job.inputs)?;
    let bar = job.bar();
    bar.name(&path.display().to_string());
    let total = inputs.iter().map(|input| input.reader.len()).fold(0, u64::saturating_add);
    bar.begin(Unit::Rows, Some(total));
    (report.inputs, report.seed) = (inputs.len(), seed);
    let on_duplicate = job.on_duplicate.unwrap_or(OnDuplicate::Error);
    let mut samples = Samples {
        inputs: &inputs,
        writer,
        bar: bar.as_ref(),
        on_duplicate,
        lost: &mut report.losses,
        numbers: HashMap::new(),
    };
    match seed {
        None => (0..inputs.len()).try_for_each(|number| samples.whole(number))?,
        Some(seed) if random => samples.random(total, seed, options.shuffle)?,
        Some(seed) => samples.shuffled(seed)?,
    }
    let mut writer = samples.writer;
    report.duplicates = report.losses.iter().map(|lost| lost.loss.count).sum();
    // Of which dataset each is its key tells.
    report.losses.extend(dataset::rejected(&mut writer, None));
    let written = writer.finish()?;
    (report.rows, report.bytes) = (written.samples, written.bytes);
    Ok(())
}

/// Samples being copied.
struct Samples<'a> {
    inputs: &'a [Dataset],
    writer: Writer,
    bar: &'a Bar,
    on_duplicate: OnDuplicate,
    /// Samples that could not be kept as they were, by dataset.
    lost: &'a mut Vec<Lost>,
    /// Where the numbers go on that are appended to a key that comes again: all samples may have the same.
    numbers: HashMap<Box<str>, u64>,
}

impl<'a> Samples<'a> {
    fn input(&self, number: usize) -> Result<&'a Dataset> {
        self.inputs.get(number).ok_or_else(|| Error::usage("there are no datasets to merge"))
    }

    /// All samples of a dataset, in order.
    fn whole(&mut self, number: usize) -> Result<()> {
        let input = self.input(number)?;
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

    /// A sample by its number.
    fn one(&mut self, number: usize, row: u64) -> Result<()> {
        let (key, sample) = self.input(number)?.get(row)?;
        self.put(number, &key, &sample)
    }

    /// All datasets one behind the other, each in an order of its own.
    fn shuffled(&mut self, seed: u64) -> Result<()> {
        for number in 0..self.inputs.len() {
            let order = Order::sequential(self.input(number)?.reader.len()).shuffled(seed)?;
            for row in order.iter(number as u64) {
                self.one(number, row)?;
            }
        }
        Ok(())
    }

    /// Positions of all samples in random order say which dataset comes next: so each sample that is left is as likely as the others.
    fn random(&mut self, total: u64, seed: u64, shuffle: bool) -> Result<()> {
        let mut starts = Vec::with_capacity(self.inputs.len());
        let mut start = 0_u64;
        for input in self.inputs {
            starts.push(start);
            start = start.saturating_add(input.reader.len());
        }
        let mut next = vec![0_u64; self.inputs.len()];
        for position in Order::sequential(total).shuffled(seed)?.iter(0) {
            // Of empty datasets, which begin at the same position, it is the last that is not.
            let number = starts.partition_point(|&start| start <= position).saturating_sub(1);
            let row = match (next.get_mut(number), starts.get(number)) {
                (Some(next), _) if !shuffle => {
                    *next += 1;
                    *next - 1
                }
                (_, Some(start)) => position - start,
                _ => position,
            };
            self.one(number, row)?;
        }
        Ok(())
    }

    fn put(&mut self, number: usize, key: &str, sample: &Sample<'_>) -> Result<()> {
        let input = self.input(number)?;
        match self.writer.append_raw(key, sample.as_bytes()) {
            Ok(()) => {
                tick(self.bar, self.writer.len());
                Ok(())
            }
            Err(error) if !is_duplicate(&error) => Err(input.of_message(error, sample)),
            Err(_) => match self.on_duplicate {
                OnDuplicate::Error | OnDuplicate::Last => Err(self.duplicate(number, key, sample)),
                OnDuplicate::First => {
                    self.count(input, "sample left out: its key came before", key, sample);
                    Ok(())
                }
                OnDuplicate::Rename => {
                    self.rename(input, key, sample)?;
                    self.count(input, "key with a number appended: it came before", key, sample);
                    Ok(())
                }
            },
        }
    }

    /// The error for a key that two samples have.
    #[cold]
    fn duplicate(&self, number: usize, key: &str, sample: &Sample<'_>) -> Error {
        let others = self.inputs.iter().enumerate().filter(|(other, _)| *other != number);
        let holder = others.map(|(_, other)| other).find(|other| matches!(other.reader.find(key), Ok(Some(_))));
        let detail = match holder {
            Some(other) => format!("{} has the same key", other.location.name()),
            None => "the dataset has the same key twice".to_owned(),
        };
        let file = self.inputs.get(number).map(|input| input.location.name()).unwrap_or_default();
        let error = Error::usage(detail).advising("{on_duplicate} says what to do");
        error.in_format(dataset::NAME).in_row(sample.index()).in_key(key.to_owned()).in_file(file)
    }

    fn count(&mut self, input: &Dataset, what: &str, key: &str, sample: &Sample<'_>) {
        let file = Some(input.location.name());
        if let Some(lost) = self.lost.iter_mut().find(|lost| lost.file == file) {
            lost.loss.count += 1;
            return;
        }
        let mut first = Position::default();
        first.row = Some(sample.index());
        first.key = Some(key.to_owned().into());
        self.lost.push(Lost { file, loss: Loss::new(what.to_owned(), 1, first) });
    }

    /// Writes a sample under a key that is free.
    fn rename(&mut self, input: &Dataset, key: &str, sample: &Sample<'_>) -> Result<()> {
        let number = self.numbers.entry(key.into()).or_insert(2);
        loop {
            let new = format!("{key}#{number}");
            *number += 1;
            let message = with_key(sample, &new).map_err(|error| input.of_message(error, sample))?;
            match self.writer.append_raw(&new, &message) {
                Err(error) if is_duplicate(&error) => {}
                other => return other.map_err(|error| input.of_message(error, sample)),
            }
        }
    }
}

/// The message with another key. One that states no key stays as it is.
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
