//! datadings datasets into one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use clap::ValueEnum;
use container_core::{Error, Loss, Position, Progress, Result, Unit};
use datadings::order::Order;
use datadings::{RawValue, Sample, Writer};
use serde_json::json;

use super::super::Outcome;
use super::super::bar::Bar;
use super::super::dataset::{self, Dataset, Placing, is_duplicate, tick};
use super::super::env::Env;
use super::super::human::counted;
use super::super::inputs::Location;
use super::super::report::Lost;
use super::{Arguments, OnDuplicate};

/// Options that only datadings has.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for datadings")]
pub(super) struct Options {
    /// Which sample comes next [default: concat]
    #[arg(long, value_enum, value_name = "HOW")]
    strategy: Option<Strategy>,

    /// Take the samples of each dataset in random order
    #[arg(long)]
    shuffle: bool,

    /// Where chance begins: any number [default: another one each time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Write no .md5
    #[arg(long)]
    no_md5: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Strategy {
    /// All of the first dataset, then all of the second, and so on
    Concat,
    /// One of all samples that are left; each dataset keeps its order
    Random,
}

impl Options {
    /// An option that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        let Self { strategy, shuffle, seed, no_md5 } = self;
        let given = [
            ("--strategy", strategy.is_some()),
            ("--shuffle", *shuffle),
            ("--seed", seed.is_some()),
            ("--no-md5", *no_md5),
        ];
        given.iter().find(|(_, given)| *given).map(|(option, _)| *option)
    }
}

pub(super) fn run(arguments: &Arguments, locations: &[Location], env: &mut Env<'_>) -> Result<Outcome> {
    let options = &arguments.datadings;
    if arguments.on_duplicate == Some(OnDuplicate::Last) {
        return Err(Error::usage("--on-duplicate last is for ZDS, and the inputs are datadings"));
    }
    let random = options.strategy == Some(Strategy::Random);
    if options.seed.is_some() && !random && !options.shuffle {
        return Err(Error::usage("--seed is for --strategy random and for --shuffle: nothing here is left to chance"));
    }
    let seed = (random || options.shuffle).then(|| dataset::seed(options.seed));
    let mut inputs = Vec::with_capacity(locations.len());
    for location in locations {
        inputs.push(Dataset::open(location, &mut env.opener, "merge")?);
    }
    let placing = Placing { force: arguments.force, no_md5: options.no_md5, threads: arguments.threads };
    let path: &Path = &arguments.output;
    let writer = placing.create(path, locations)?;
    let bar = Bar::new(env.report.terminal);
    bar.name(&path.display().to_string());
    let total = inputs.iter().map(|input| input.reader.len()).fold(0, u64::saturating_add);
    bar.begin(Unit::Rows, Some(total));
    let on_duplicate = arguments.on_duplicate.unwrap_or(OnDuplicate::Error);
    let mut merge =
        Merge { inputs: &inputs, writer, bar: &bar, on_duplicate, lost: Vec::new(), numbers: HashMap::new() };
    match seed {
        None => (0..inputs.len()).try_for_each(|number| merge.whole(number))?,
        Some(seed) if random => merge.random(total, seed, options.shuffle)?,
        Some(seed) => merge.shuffled(seed)?,
    }
    let Merge { mut writer, mut lost, .. } = merge;
    // Of which dataset each is its key tells.
    let rejected = dataset::rejected(&mut writer, None);
    let written = writer.finish()?;
    bar.clear();
    for loss in lost.iter().chain(&rejected) {
        env.report.lost(loss);
    }
    let mut object = dataset::done(path, written);
    object.insert("inputs".into(), inputs.len().into());
    if let Some(seed) = seed {
        object.insert("seed".into(), seed.into());
    }
    let count: u64 = lost.iter().map(|lost| lost.loss.count).sum();
    match on_duplicate {
        OnDuplicate::Error | OnDuplicate::Last => {}
        OnDuplicate::First => drop(object.insert("left_out".into(), json!(count))),
        OnDuplicate::Rename => drop(object.insert("renamed".into(), json!(count))),
    }
    if env.json() {
        dataset::tell(object, "", env)?;
    } else {
        let (samples, from) = (counted(written.samples, "sample"), counted(inputs.len(), "dataset"));
        env.report.note(format!("{}: {samples} of {from}", path.display()));
        if let (Some(seed), None) = (seed, options.seed) {
            env.report.message(format!("note: {}: seed {seed}", path.display()));
        }
    }
    lost.extend(rejected);
    Ok(Outcome::after(&lost))
}

struct Merge<'a> {
    inputs: &'a [Dataset],
    writer: Writer,
    bar: &'a Bar,
    on_duplicate: OnDuplicate,
    /// Samples that could not be kept as they were, by dataset.
    lost: Vec<Lost>,
    /// Where the numbers go on that are appended to a key that comes again: all samples may have the same.
    numbers: HashMap<Box<str>, u64>,
}

impl<'a> Merge<'a> {
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
            Some(other) => format!("{} has the same key (--on-duplicate says what to do)", other.location.name()),
            None => "the dataset has the same key twice (--on-duplicate says what to do)".to_owned(),
        };
        let file = self.inputs.get(number).map(|input| input.location.name()).unwrap_or_default();
        Error::usage(detail).in_format(dataset::NAME).in_row(sample.index()).in_key(key.to_owned()).in_file(file)
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
