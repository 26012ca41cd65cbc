//! Parquet files and Arrow IPC written, from any table that can be read as record batches.

pub(super) mod datadings;
mod declared;
pub(super) mod ds;
pub(super) mod idv;
mod inputs;
mod target;
mod unify;
mod widen;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use clap::ValueEnum;
use container_arrow::{BatchScan, Mapping, OnMismatch, Sparse, Times, from_arrow};
use container_core::{Error, ErrorKind, Progress, Result, Unit};
use serde_json::{Map, Value};

use super::super::Outcome;
use super::super::bar::Bar;
use super::super::cat;
use super::super::env::Env;
use super::super::human::counted;
use super::super::inputs::Place;
use super::super::output;
use super::super::pour::Poured;
use super::super::report::Lost;
use super::{Arguments, Form, refuse, wanted};
pub(super) use declared::is_schemaless;
pub(super) use inputs::join;
use inputs::{How, Joined};
use target::Target;

/// Options that only the outputs Parquet and Arrow IPC have.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for the outputs parquet, arrow and arrows")]
pub(super) struct ColumnarOptions {
    /// Rows of a row group of Parquet at most [default: 1048576, or as many as 16 to 64 MiB hold]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    row_group: Option<u64>,

    /// Rows of a batch of Arrow IPC at most, and of what is read at once [default: 65536, or as many as 32 MiB hold]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    batch_rows: Option<u64>,

    /// What becomes of times that are finer than microseconds; also of those that are finer than 100 ns, into IDV [default: exact]
    #[arg(long, value_enum, value_name = "HOW")]
    times: Option<TimesChoice>,

    /// What becomes of sparse vectors [default: lists]
    #[arg(long, value_enum, value_name = "HOW")]
    sparse: Option<SparseChoice>,

    /// What becomes of a value that its column's type cannot hold, where the input has no schema; also of one from datadings into ds
    /// [default: error]
    #[arg(long, value_enum, value_name = "HOW")]
    on_mismatch: Option<UnfitChoice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TimesChoice {
    /// Microseconds; a finer one is an error
    Exact,
    /// The microsecond at or before the time, also before 1970; a finer time is counted as a loss
    Floor,
    /// What `floor` was called: refused, with the name it has now.
    #[value(hide = true)]
    Truncate,
    /// Nanoseconds; one outside of 1677 to 2262 is an error
    Nanoseconds,
    /// Ticks of 100 ns, as integers
    Ticks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SparseChoice {
    /// Lists with all elements
    Lists,
    /// Structs of length, indices and values
    Structs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum UnfitChoice {
    /// An error
    Error,
    /// Null, counted as a loss
    Null,
    /// All values of the column become JSON
    Json,
    /// All values of the column become msgpack
    Msgpack,
}

impl ColumnarOptions {
    /// Fails for a choice that has another name now.
    pub(super) fn check(&self) -> Result<()> {
        match self.times {
            Some(TimesChoice::Truncate) => Err(Error::usage(
                "--times truncate is called --times floor: a finer time becomes the microsecond before it, also before 1970",
            )),
            _ => Ok(()),
        }
    }

    /// Fails when one of these is given for another output.
    pub(super) fn refuse(&self, form: Form) -> Result<()> {
        let given = [
            ("--row-group", self.row_group.is_some()),
            ("--batch-rows", self.batch_rows.is_some()),
            ("--times", self.times.is_some() && !form.has_times()),
            ("--sparse", self.sparse.is_some()),
            ("--on-mismatch", self.on_mismatch.is_some() && !form.has_mismatches()),
        ];
        refuse(&given, "the outputs parquet, arrow and arrows", form)
    }

    /// Is the option for values that do not fit given?
    pub(super) const fn has_mismatch(&self) -> bool {
        self.on_mismatch.is_some()
    }

    /// Was something said of times?
    pub(super) const fn has_times(&self) -> bool {
        self.times.is_some()
    }

    fn times(&self) -> Times {
        self.times.map_or(Times::default(), |choice| match choice {
            TimesChoice::Exact => Times::Exact,
            TimesChoice::Floor | TimesChoice::Truncate => Times::Floor,
            TimesChoice::Nanoseconds => Times::Nanoseconds,
            TimesChoice::Ticks => Times::Ticks,
        })
    }

    fn scan(&self, arguments: &Arguments) -> BatchScan {
        let mut mapping = Mapping::default();
        mapping.times = self.times();
        mapping.sparse = self.sparse.map_or(mapping.sparse, |choice| match choice {
            SparseChoice::Lists => Sparse::Lists,
            SparseChoice::Structs => Sparse::Structs,
        });
        mapping.on_mismatch = self.on_mismatch.map_or(mapping.on_mismatch, |choice| match choice {
            UnfitChoice::Error => OnMismatch::Error,
            UnfitChoice::Null => OnMismatch::Null,
            UnfitChoice::Json => OnMismatch::Json,
            UnfitChoice::Msgpack => OnMismatch::Msgpack,
        });
        let mut scan = BatchScan::from(arguments.selection.reading.scan()).with_mapping(mapping);
        if let Some(rows) = self.batch_rows {
            scan = scan.with_batch_rows(usize::try_from(rows).unwrap_or(usize::MAX));
        }
        scan
    }
}

pub(super) fn run(arguments: &Arguments, form: Form, places: &[Place], env: &mut Env<'_>) -> Result<Outcome> {
    let target = Target::new(arguments, form)?;
    if arguments.text.schema.is_some()
        && matches!(arguments.columnar.on_mismatch, Some(UnfitChoice::Json | UnfitChoice::Msgpack))
    {
        let detail = "--schema says the types of columns, and what does not fit may be an error or null: the type JSON takes anything";
        return Err(Error::usage(detail));
    }
    let mut poured = Poured::default();
    if arguments.output() == "-" {
        if env.stdout.terminal.is_some() {
            return Err(Error::usage(format!("{} is not for a terminal: give a file, or a pipe", target.title())));
        }
        let joined = Joined::open(arguments, places, &mut env.opener);
        let bar = Bar::new(env.report.terminal);
        let outcome = joined.and_then(|joined| {
            let writer = target.writer(&mut env.stdout, Arc::clone(&joined.schema), arguments);
            let written = writer.and_then(|writer| write(arguments, writer, &joined, &bar, &mut poured));
            written.map(drop).map_err(|error| match error.kind() {
                ErrorKind::Io if poured.sink_failed => {
                    // The writer of Parquet keeps of a cause nothing but its text.
                    let kind =
                        if env.stdout.closed { std::io::ErrorKind::BrokenPipe } else { std::io::ErrorKind::Other };
                    let cause = std::io::Error::new(kind, error.to_string());
                    Error::io("cannot write to standard output", cause)
                }
                _ => error,
            })
        });
        bar.clear();
        return cat::finish(outcome, &poured, env);
    }
    let bar = Bar::new(env.report.terminal);
    let (mut may_guess, mut labels) = (true, 0);
    let (outcome, name, columns, bytes) = loop {
        let output = output::create(Path::new(arguments.output()), arguments.force, places)?;
        let name = output.path().display().to_string();
        let joined =
            Joined::open_with(arguments, places, &mut env.opener, &How { may_guess, labels, ..How::default() })?;
        let columns = joined.schema.fields().len();
        let writer = target.writer_behind(output, Arc::clone(&joined.schema), arguments);
        let written = writer.and_then(|writer| write(arguments, writer, &joined, &bar, &mut poured));
        if written.is_err() && joined.is_sampled && !poured.sink_failed {
            // What is wrong with the rows, if anything is, is told by a walk over all of them.
            (may_guess, poured) = (false, Poured::default());
            continue;
        }
        // Dictionaries whose indexes do not count the labels of all rows get wider ones.
        if let Some(needed) = poured.labels.filter(|needed| *needed > labels) {
            (labels, poured) = (needed, Poured::default());
            continue;
        }
        let mut bytes = 0;
        let outcome = written.map_err(|error| if poured.sink_failed { error.in_file(name.clone()) } else { error });
        let outcome = outcome.and_then(|output| {
            bytes = output.file().metadata().map_or(0, |metadata| metadata.len());
            target.read_back(&output).map_err(|cause| {
                Error::invalid("the output cannot be read back").caused_by(cause).in_file(name.clone())
            })?;
            output.finish()
        });
        break (outcome, name, columns, bytes);
    };
    bar.clear();
    let outcome = cat::finish(outcome, &poured, env)?;
    let rows = poured.rows;
    if env.json() {
        let mut object = Map::new();
        object.insert("file".into(), name.into());
        object.insert("to".into(), target.name().into());
        object.insert("rows".into(), rows.into());
        object.insert("bytes".into(), bytes.into());
        object.insert("columns".into(), columns.into());
        env.stdout.print(&format!("{}\n", Value::Object(object)))?;
    } else {
        env.report.note(format!("{name}: {}, {}", counted(rows, "row"), counted(columns, "column")));
    }
    Ok(outcome)
}

/// Writes the wanted rows of all inputs, and gives back the sink.
fn write<W: Write + Send>(
    arguments: &Arguments,
    mut writer: target::Writer<W>,
    joined: &Joined,
    bar: &Bar,
    poured: &mut Poured,
) -> Result<W> {
    let mut labels = None;
    let outcome = pour(arguments, joined, bar, poured, &mut |batch| {
        writer.write(batch).inspect_err(|error| {
            if let ErrorKind::Limit { asked, .. } = error.kind() {
                labels = Some(asked);
            }
        })
    });
    poured.labels = labels;
    outcome?;
    let ended = writer.end();
    poured.sink_failed = ended.as_ref().is_err_and(|error| error.kind() == ErrorKind::Io);
    let (sink, notes) = ended?;
    poured.lost.extend(notes.into_iter().map(|loss| Lost { file: None, loss }));
    Ok(sink)
}

/// Gives the wanted rows of all inputs to `write`, batch by batch; `poured` tells how far it came, and whether it was the sink that failed.
fn pour(
    arguments: &Arguments,
    joined: &Joined,
    bar: &Bar,
    poured: &mut Poured,
    write: &mut dyn FnMut(&RecordBatch) -> Result<()>,
) -> Result<()> {
    let wanted = wanted(&arguments.selection);
    let scan = arguments.columnar.scan(arguments);
    let (mut before, mut complete) = (0_u64, true);
    for (number, input) in joined.inputs.iter().enumerate() {
        if number > 0 && before >= wanted.end {
            complete = false;
            break;
        }
        bar.name(match joined.inputs.len() {
            1 => input.name.clone(),
            all => format!("{} ({} of {all})", input.name, number + 1),
        });
        let named = |error: Error| error.in_file(input.name.clone());
        let table = input.table().map_err(named)?;
        let (start, end) = (wanted.start.saturating_sub(before), wanted.end.saturating_sub(before));
        // Where the length is not known, rows are counted by walking over them. In text nobody walks twice to know it before.
        let len = if joined.is_sampled && input.is_text() { None } else { table.len() };
        let (rows, mut skip) = match len {
            Some(len) => (start.min(len)..end.min(len), 0),
            None => (0..end, start),
        };
        bar.begin(Unit::Rows, len.map(|_| rows.end - rows.start));
        let mut own = scan.clone();
        own.scan.columns.clone_from(&input.columns);
        if joined.is_sampled {
            own = own.with_sampled_schema(Arc::clone(&joined.schema));
        }
        own.scan.rows = rows;
        if let Some(declared) = &input.declared {
            own = own.with_schema(Arc::clone(declared));
        }
        let mut batches = table.batches(&own).map_err(named)?;
        let mut walked = 0_u64;
        let outcome = loop {
            let batch = match batches.next() {
                None => break Ok(()),
                Some(Err(error)) => break Err(named(from_arrow(error))),
                Some(Ok(batch)) => batch,
            };
            let rows = batch.num_rows() as u64;
            walked += rows;
            let skipped = skip.min(rows);
            skip -= skipped;
            let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
            let batch = batch.slice(skipped, batch.num_rows() - skipped);
            let batch = match joined.fit(&batch) {
                Ok(batch) => batch,
                Err(error) => break Err(named(error)),
            };
            if let Err(error) = write(&batch) {
                poured.sink_failed = error.kind() == ErrorKind::Io;
                break Err(if poured.sink_failed { error } else { named(error) });
            }
            poured.rows += batch.num_rows() as u64;
            bar.advance(batch.num_rows() as u64);
        };
        poured.lost.extend(batches.losses().into_iter().map(|loss| Lost { file: Some(input.name.clone()), loss }));
        outcome?;
        poured.lost.extend(input.left_out.iter().cloned());
        before = before.saturating_add(table.len().unwrap_or(walked));
    }
    if let Some(range) = arguments.selection.rows.as_ref().filter(|_| complete) {
        range.check(before)?;
    }
    Ok(())
}
