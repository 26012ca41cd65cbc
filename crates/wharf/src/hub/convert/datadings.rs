//! datadings datasets written: from text, from containers, from files.

use std::path::{Path, PathBuf};

use container_core::{Error, ErrorKind, OpenOptions, Result, Scan, Unit};
use datadings::{Reader, WriteSummary, Writer, WriterOptions};

use super::super::inputs::Location;
use super::super::overlap::refuse_overlap;
use super::super::{Bar, Lost, dataset, pour, select, zds};
use super::alike::Alike;
use super::job::{Env, Job, Report, of_output};
use super::source::{self, Kind, Opened};
use super::text::{does_not_go, together};
use crate::convert::import::{
    Documents, FileOptions, FileTable, Keys, SampleOptions, TextTable, copy_samples, write_rows,
};

impl Job<'_> {
    /// Fails when an option does not go with what the inputs are.
    fn check_datadings(&self, kind: Kind) -> Result<()> {
        self.text.check(kind)?;
        let files = matches!(kind, Kind::Folder | Kind::Zip);
        let table = matches!(kind, Kind::Idv | Kind::Container(_) | Kind::Columns(_));
        let has_keys = !files && kind != Kind::Datadings;
        let (selection, of_files) = (&self.selection, &self.datadings.files);
        let default = FileOptions::default();
        let wrong = [
            ("key", matches!(self.datadings.keys, Keys::Column(_)) && !has_keys),
            ("number", self.datadings.keys == Keys::Number && !has_keys),
            ("text", self.datadings.text && !matches!(kind, Kind::Csv | Kind::Tsv)),
            ("columns", !selection.columns.is_empty() && files),
            ("table", selection.reading.table.is_some() && !table),
            ("missing_as_null", selection.reading.missing_as_null && !table),
            ("pattern", of_files.patterns != default.patterns && !files),
            ("list", of_files.list.is_some() && !files),
            ("include", !of_files.include.is_empty() && !files),
            ("exclude", !of_files.exclude.is_empty() && !files),
            ("follow", of_files.follow && !files),
            ("field", of_files.field.is_some() && !files),
            ("text_labels", of_files.text_labels && !files),
            ("label_names", of_files.labels.is_some() && !files),
        ];
        does_not_go(&wrong, kind)
    }

    /// The keys of what comes in columns.
    fn column_keys(&self) -> datadings::arrow::Keys {
        use datadings::arrow;

        match &self.datadings.keys {
            Keys::Column(column) => arrow::Keys::Column(column.clone()),
            Keys::Number => arrow::Keys::Number,
            Keys::Key => arrow::Keys::Key,
        }
    }

    /// What becomes samples, but for the columns.
    fn samples(&self) -> SampleOptions {
        let options = SampleOptions::default().with_keys(self.datadings.keys.clone());
        options.with_rows(self.rows()).with_only_text(self.datadings.text)
    }
}

pub(super) fn run(job: &Job<'_>, env: &mut Env<'_, '_>, report: &mut Report) -> Result<()> {
    let path = job.path("a dataset is a set of files")?;
    dataset::refuse(path, job.force, &job.inputs)?;
    let options = WriterOptions::default()
        .with_output(job.output_options())
        .with_threads(job.selection.reading.threads)
        .with_md5(!job.datadings.no_md5)
        .with_any_message(true);
    let written =
        write(job, (path, options), env, report).map_err(|error| of_output(error, &path.display().to_string()))?;
    (report.rows, report.bytes) = (written.samples, written.bytes);
    Ok(())
}

fn write(
    job: &Job<'_>,
    (path, options): (&Path, WriterOptions),
    env: &mut Env<'_, '_>,
    report: &mut Report,
) -> Result<WriteSummary> {
    let (kind, inputs) = source::open(&job.inputs, job.text.from, env.opener)?;
    job.check_datadings(kind)?;
    let bar = env.bar.as_ref();
    bar.name(&together(&inputs));
    if kind.is_columns() {
        let to = (path, options, job.column_keys());
        return super::columnar::datadings::write(job, env.opener, to, bar, report);
    }
    let mut writer = Writer::create(path, options)?;
    match kind {
        Kind::Folder | Kind::Zip => files(job, (path, kind), &inputs, &mut writer, bar, report),
        Kind::Datadings => datasets(job, &inputs, &mut writer, env, report),
        Kind::Container(zds::NAME) => documents(job, &inputs, &mut writer, env, report),
        Kind::Idv | Kind::Container(_) | Kind::Columns(_) => tables(job, &inputs, &mut writer, env, report),
        text => {
            let table = job.text.table(text, inputs, job.selection.reading.threads)?;
            texts(job, (&table, &job.samples()), &mut writer, bar, report)
        }
    }?;
    writer.finish()
}

fn texts(
    job: &Job<'_>,
    (table, options): (&TextTable, &SampleOptions),
    writer: &mut Writer,
    bar: &Bar,
    done: &mut Report,
) -> Result<()> {
    let sampled = table.write_samples(writer, &options.clone().with_columns(job.columns()?), Some(bar))?;
    job.check_rows(sampled.passed)?;
    done.rows = sampled.rows;
    done.inferred = sampled.kinds.into_iter().map(|(name, kind)| (name, kind.to_owned())).collect();
    Ok(())
}

/// Documents of stores, as the lines of JSON that they are.
fn documents(
    job: &Job<'_>,
    inputs: &[Opened],
    writer: &mut Writer,
    env: &mut Env<'_, '_>,
    done: &mut Report,
) -> Result<()> {
    let selection = &job.selection;
    let mut all = Vec::new();
    for input in inputs {
        let named = |error: Error| error.in_file(input.name.clone());
        let container = env.opener.container(&input.input).map_err(named)?;
        let table = select::table(container.as_ref(), selection.reading.table.as_deref()).map_err(named)?;
        let mut scan = Scan::default().with_threads(selection.reading.threads);
        scan.columns = select::columns(table, &selection.columns).map_err(named)?;
        // What a store was found to lack, which is known before the first row.
        let losses = table.rows(&scan).map_err(named)?.losses();
        done.losses.extend(Lost::all(losses, Some(&input.name)));
        let place = container.tables().iter().position(|found| found.name() == table.name()).unwrap_or(0);
        all.push(Documents::new(input.name.clone(), container, place, scan));
    }
    let mut options = job.samples();
    if options.keys == Keys::Key {
        // A document's key is its id.
        options.keys = Keys::Column("_id".to_owned());
    }
    texts(
        job,
        (&TextTable::documents(all).with_threads(selection.reading.threads), &options),
        writer,
        env.bar.as_ref(),
        done,
    )
}

fn tables(
    job: &Job<'_>,
    inputs: &[Opened],
    writer: &mut Writer,
    env: &mut Env<'_, '_>,
    done: &mut Report,
) -> Result<()> {
    let bar = env.bar.as_ref();
    let selection = &job.selection;
    let mut alike = Alike::of_samples();
    let mut before = 0;
    for (number, (input, location)) in inputs.iter().zip(&job.inputs).enumerate() {
        let wanted = job.rows();
        if number > 0 && before >= wanted.end {
            return Ok(());
        }
        bar.name(&input.name);
        let named =
            |error: Error| if error.kind() == ErrorKind::Io { error } else { error.in_file(input.name.clone()) };
        let container = env.opener.container(&input.input).map_err(named)?;
        let table = select::table(container.as_ref(), selection.reading.table.as_deref()).map_err(named)?;
        let chosen = select::columns(table, &selection.columns).map_err(named)?;
        if inputs.len() > 1 {
            alike.check(&input.name, container.as_ref(), table, chosen.as_deref()).map_err(named)?;
        }
        if chosen.is_none() {
            done.losses.extend(pour::unreadable(location, table));
        }
        let names = chosen.map(|chosen| {
            let name = |index: usize| table.columns().get(index).map(|column| column.name.clone());
            chosen.into_iter().filter_map(name).collect()
        });
        let mut scan = selection.reading.scan();
        // Columns that cannot be read were told already.
        scan.columns = Some(
            (0..table.columns().len())
                .filter(|&index| table.columns().get(index).is_some_and(|column| column.unreadable.is_none()))
                .collect(),
        );
        bar.begin(Unit::Rows, table.len());
        let samples = job.samples().with_columns(names);
        let sampled = write_rows(table, &scan, writer, &samples, before, Some(bar)).map_err(named)?;
        done.losses.extend(sampled.losses.into_iter().map(|loss| Lost { file: Some(input.name.clone()), loss }));
        done.rows += sampled.rows;
        before = sampled.passed;
    }
    job.check_rows(before)
}

fn datasets(
    job: &Job<'_>,
    inputs: &[Opened],
    writer: &mut Writer,
    env: &mut Env<'_, '_>,
    done: &mut Report,
) -> Result<()> {
    let bar = env.bar.as_ref();
    let reading = OpenOptions::default().with_access(env.opener.access);
    let options = job.samples().with_columns(job.columns()?);
    let mut before = 0;
    for input in inputs {
        bar.name(&input.name);
        let named = |error: Error| error.in_file(input.name.clone());
        let reader = match input.input.path() {
            Some(path) => Reader::open_with(path, reading),
            None => Reader::scan(input.source()?.clone(), reading),
        };
        let reader = reader.map_err(named)?;
        bar.begin(Unit::Rows, Some(reader.len()));
        let sampled = copy_samples(&reader, writer, &options, before, Some(bar));
        let sampled = sampled.map_err(|error| if error.kind() == ErrorKind::Io { error } else { named(error) })?;
        done.losses.extend(sampled.losses.into_iter().map(|loss| Lost { file: Some(input.name.clone()), loss }));
        done.rows += sampled.rows;
        before = sampled.passed;
    }
    job.check_rows(before)
}

fn files(
    job: &Job<'_>,
    (path, kind): (&Path, Kind),
    opened: &[Opened],
    writer: &mut Writer,
    bar: &Bar,
    done: &mut Report,
) -> Result<()> {
    let mut table = FileTable::new(job.datadings.files.clone());
    for input in opened {
        match (kind, input.input.path()) {
            (Kind::Folder, Some(folder)) => table.push_folder(folder)?,
            _ => table.push_archive(input.name.clone(), input.source()?)?,
        }
    }
    done.losses.extend(table.left_out().iter().cloned().map(|mut loss| {
        let file = loss.first.file.take().map(String::from);
        if loss.count > 1 {
            loss.what = format!("{}, the first of {}", loss.what, loss.count);
        }
        Lost { file, loss }
    }));
    if table.is_empty() {
        let file = opened.first().map(|input| input.name.clone()).unwrap_or_default();
        let error = Error::usage("there is no file that matches").in_file(file);
        return Err(error.advising("{pattern}, {list}, {include} and {exclude} say which do"));
    }
    let there: Vec<PathBuf> = dataset::members(path).filter(|member| member.exists()).collect();
    if !there.is_empty() {
        refuse_overlap(there, &table.paths().map(Location::Path).collect::<Vec<_>>())?;
    }
    done.labels = Some(table.label_names()?).filter(|labels| !labels.is_empty());
    let threads = job.selection.reading.threads;
    done.rows = table.write_to(writer, job.rows(), threads, Some(bar))?;
    job.check_rows(table.len())
}
