//! datadings: from text, from containers, from files.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use container_arrow::Predicate;
use container_core::{Error, ErrorKind, OpenOptions, Result, Scan, Unit};
use datadings::{Reader, WriteSummary, Writer, WriterOptions};

use super::super::super::inputs::Location;
use super::super::super::overlap::refuse_overlap;
use super::super::super::{Bar, Lost, copy_rows, dataset, select, zds};
use super::super::columnar;
use super::super::job::{Context, Job, Report, of_output};
use super::super::option::{OptionSpec, text, text_file};
use super::super::schema_check::SchemaCheck;
use super::super::source::{self, Kind, Opened};
use super::super::text::{does_not_go, together};
use super::options::{
    CELLS_AS_TEXT, EXCLUDE, FIELD, FOLLOW, INCLUDE, KEY, LABEL_NAMES, LIST, NO_MD5, NUMBER, PATTERN, SEPARATOR,
    TEXT_LABELS,
};
use super::{Streaming, Target, TargetInfo, TargetUnit, path_of, unknown_option};
use crate::convert::import::{
    Documents, FileOptions, FileTable, Keys, SampleOptions, TextTable, copy_samples, write_rows,
};

/// The key of a sample.
const SAMPLE_KEY: &str = "key";
/// The id of a document.
const ID: &str = "_id";

/// datadings, samples of msgpack with an index.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DatadingsTarget {
    /// Where the keys of samples come from.
    pub keys: Keys,
    /// Cells of CSV and TSV stay text.
    pub text: bool,
    /// Write no `.md5` file.
    pub no_md5: bool,
    /// How files of folders and ZIP archives become samples.
    pub files: FileOptions,
}

impl DatadingsTarget {
    /// Fails for options that do not go with the inputs.
    fn check(&self, job: &Job<'_>, kind: Kind) -> Result<()> {
        job.text.check(kind)?;
        let files = matches!(kind, Kind::Folder | Kind::Zip);
        let table = matches!(kind, Kind::Idv | Kind::Container(_) | Kind::Columns(_) | Kind::Renamed(_));
        let changed = matches!(kind, Kind::Columns(_) | Kind::Renamed(_));
        let has_keys = !files && kind != Kind::Datadings;
        let (selection, of_files) = (&job.selection, &self.files);
        let default = FileOptions::default();
        let wrong = [
            ("key", matches!(self.keys, Keys::Column(_)) && !has_keys),
            ("number", self.keys == Keys::Number && !has_keys),
            ("text", self.text && (!kind.is_cells() || changed)),
            ("columns", !selection.columns.is_empty() && files),
            ("where", selection.filter.is_some() && files),
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

    /// The keys of samples that are made from columns.
    fn column_keys(&self) -> datadings::arrow::Keys {
        use datadings::arrow;

        match &self.keys {
            Keys::Column(column) => arrow::Keys::Column(column.clone()),
            Keys::Number => arrow::Keys::Number,
            Keys::Key => arrow::Keys::Key,
        }
    }

    /// How samples are made, apart from their columns.
    fn samples(&self, job: &Job<'_>) -> SampleOptions {
        let options = SampleOptions::default().with_keys(self.keys.clone());
        options.with_rows(job.rows()).with_only_text(self.text)
    }

    fn write(
        &self,
        job: &Job<'_>,
        (path, options): (&Path, WriterOptions),
        context: &mut Context<'_, '_>,
        report: &mut Report,
    ) -> Result<WriteSummary> {
        let (kind, inputs) = source::open(&job.inputs, job.text.from, context.opener)?;
        self.check(job, kind)?;
        Self { keys: self.keys_of(job, kind, &inputs, context)?, ..self.clone() }.write_inputs(
            job,
            (kind, inputs),
            (path, options),
            context,
            report,
        )
    }

    /// Where keys come from. By default that is the column `key`; documents without it have an id.
    fn keys_of(&self, job: &Job<'_>, kind: Kind, inputs: &[Opened], context: &mut Context<'_, '_>) -> Result<Keys> {
        let is_documents =
            matches!(kind, Kind::Container(zds::NAME) | Kind::Columns(zds::NAME) | Kind::Renamed(zds::NAME));
        match &self.keys {
            Keys::Column(column) if column == SAMPLE_KEY => return Ok(Keys::Key),
            Keys::Key if is_documents => {}
            keys => return Ok(keys.clone()),
        }
        let mut has_id = false;
        for input in inputs {
            let named = |error: Error| error.in_file(input.name.clone());
            let container = context.opener.container(&input.input).map_err(named)?;
            let table = select::table(container.as_ref(), job.selection.reading.table.as_deref()).map_err(named)?;
            if table.columns().iter().any(|column| column.name == SAMPLE_KEY) {
                return Ok(Keys::Key);
            }
            has_id |= table.columns().iter().any(|column| column.name == ID);
        }
        Ok(if has_id { Keys::Column(ID.to_owned()) } else { Keys::Key })
    }

    fn write_inputs(
        &self,
        job: &Job<'_>,
        (kind, inputs): (Kind, Vec<Opened>),
        (path, options): (&Path, WriterOptions),
        context: &mut Context<'_, '_>,
        report: &mut Report,
    ) -> Result<WriteSummary> {
        let progress = context.progress.as_ref();
        progress.name(&together(&inputs));
        if kind.is_columns() {
            let to = (path, options, self.column_keys());
            return columnar::datadings::write(job, context.opener, to, progress, report);
        }
        let mut writer = Writer::create(path, options)?;
        match kind {
            Kind::Folder | Kind::Zip => self.import_files(job, (path, kind), &inputs, &mut writer, progress, report),
            Kind::Datadings => self.copy_samples(job, &inputs, &mut writer, context, report),
            Kind::Container(zds::NAME) => self.copy_documents(job, &inputs, &mut writer, context, report),
            Kind::Idv | Kind::Container(_) | Kind::Columns(_) | Kind::Renamed(_) => {
                self.copy_tables(job, &inputs, &mut writer, context, report)
            }
            text => {
                let mut samples = self.samples(job);
                if let Some(condition) = &job.selection.filter {
                    samples = samples.with_picked(matching_text(job, &inputs, condition, context)?);
                }
                let table = job.text.table(text, inputs, job.selection.reading.threads)?;
                copy_text(job, (&table, &samples), &mut writer, context.progress.as_ref(), report)
            }
        }?;
        writer.finish()
    }

    /// Documents of stores, as the lines of JSON that they are.
    fn copy_documents(
        &self,
        job: &Job<'_>,
        inputs: &[Opened],
        writer: &mut Writer,
        context: &mut Context<'_, '_>,
        report: &mut Report,
    ) -> Result<()> {
        let selection = &job.selection;
        let mut all = Vec::new();
        for input in inputs {
            let named = |error: Error| error.in_file(input.name.clone());
            let container = context.opener.container(&input.input).map_err(named)?;
            let table = select::table(container.as_ref(), selection.reading.table.as_deref()).map_err(named)?;
            let mut scan = Scan::default().with_threads(selection.reading.threads);
            scan.columns = select::columns(table, &selection.columns).map_err(named)?;
            // What a store was found to lack, which is known before the first row.
            let losses = table.rows(&scan).map_err(named)?.losses();
            report.losses.extend(Lost::all(losses, Some(&input.name)));
            let place = container.tables().iter().position(|found| found.name() == table.name()).unwrap_or(0);
            all.push(Documents::new(input.name.clone(), container, place, scan));
        }
        copy_text(
            job,
            (&TextTable::documents(all).with_threads(selection.reading.threads), &self.samples(job)),
            writer,
            context.progress.as_ref(),
            report,
        )
    }

    fn copy_tables(
        &self,
        job: &Job<'_>,
        inputs: &[Opened],
        writer: &mut Writer,
        context: &mut Context<'_, '_>,
        report: &mut Report,
    ) -> Result<()> {
        let progress = context.progress.as_ref();
        let selection = &job.selection;
        let mut alike = SchemaCheck::by_name();
        let mut before = 0;
        for (number, (input, location)) in inputs.iter().zip(&job.inputs).enumerate() {
            let wanted = job.rows();
            if number > 0 && before >= wanted.end {
                return Ok(());
            }
            progress.name(&input.name);
            let named =
                |error: Error| if error.kind() == ErrorKind::Io { error } else { error.in_file(input.name.clone()) };
            let container = context.opener.container(&input.input).map_err(named)?;
            let table = select::table(container.as_ref(), selection.reading.table.as_deref()).map_err(named)?;
            let chosen = select::columns(table, &selection.columns).map_err(named)?;
            if inputs.len() > 1 {
                alike.check(&input.name, container.as_ref(), table, chosen.as_deref()).map_err(named)?;
            }
            if chosen.is_none() {
                report.losses.extend(copy_rows::unreadable(location, table));
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
            progress.begin(Unit::Rows, table.len());
            let samples = self.samples(job).with_columns(names);
            let sampled = write_rows(table, &scan, writer, &samples, before, Some(progress)).map_err(named)?;
            report.losses.extend(sampled.losses.into_iter().map(|loss| Lost { file: Some(input.name.clone()), loss }));
            report.rows += sampled.rows;
            before = sampled.passed;
        }
        job.check_rows(before)
    }

    fn copy_samples(
        &self,
        job: &Job<'_>,
        inputs: &[Opened],
        writer: &mut Writer,
        context: &mut Context<'_, '_>,
        report: &mut Report,
    ) -> Result<()> {
        let progress = context.progress.as_ref();
        let reading = OpenOptions::default().with_access(context.opener.access);
        let options = self.samples(job).with_columns(job.columns()?);
        let mut before = 0;
        for input in inputs {
            progress.name(&input.name);
            let named = |error: Error| error.in_file(input.name.clone());
            let reader = match input.input.path() {
                Some(path) => Reader::open_with(path, reading),
                None => Reader::scan(input.source()?.clone(), reading),
            };
            let reader = reader.map_err(named)?;
            progress.begin(Unit::Rows, Some(reader.len()));
            let options = match &job.selection.filter {
                None => options.clone(),
                Some(condition) => {
                    let rows = context.opener.matching_rows(&input.input, &job.selection.reading, condition);
                    options.clone().with_picked(rows.map_err(named)?.rows)
                }
            };
            let sampled = copy_samples(&reader, writer, &options, before, Some(progress));
            let sampled = sampled.map_err(|error| if error.kind() == ErrorKind::Io { error } else { named(error) })?;
            report.losses.extend(sampled.losses.into_iter().map(|loss| Lost { file: Some(input.name.clone()), loss }));
            report.rows += sampled.rows;
            before = sampled.passed;
        }
        job.check_rows(before)
    }

    fn import_files(
        &self,
        job: &Job<'_>,
        (path, kind): (&Path, Kind),
        opened: &[Opened],
        writer: &mut Writer,
        progress: &Bar,
        report: &mut Report,
    ) -> Result<()> {
        let mut table = FileTable::new(self.files.clone());
        for input in opened {
            match (kind, input.input.path()) {
                (Kind::Folder, Some(folder)) => table.push_folder(folder)?,
                _ => table.push_archive(input.name.clone(), input.source()?)?,
            }
        }
        report.losses.extend(table.left_out().iter().cloned().map(|mut loss| {
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
        report.labels = Some(table.label_names()?).filter(|labels| !labels.is_empty());
        let threads = job.selection.reading.threads;
        report.rows = table.write_to(writer, job.rows(), threads, Some(progress))?;
        job.check_rows(table.len())
    }
}

impl Target for DatadingsTarget {
    fn info(&self) -> TargetInfo {
        TargetInfo {
            name: "datadings",
            format: dataset::NAME,
            title: "datadings, samples of msgpack with an index",
            extensions: &["msgpack"],
            stream: Streaming::Unsupported("a datadings dataset is a set of files"),
            unit: TargetUnit::Samples,
        }
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[
            KEY,
            NUMBER,
            CELLS_AS_TEXT,
            NO_MD5,
            PATTERN,
            LIST,
            SEPARATOR,
            INCLUDE,
            EXCLUDE,
            FOLLOW,
            FIELD,
            TEXT_LABELS,
            LABEL_NAMES,
        ]
    }

    fn set(&mut self, option: &str, value: &OsStr) -> Result<()> {
        match option {
            "key" => {
                // Also for `key`, which is not the default of documents.
                self.keys = Keys::Column(text(value)?.to_owned());
            }
            "number" => self.keys = Keys::Number,
            "text" => self.text = true,
            "no_md5" => self.no_md5 = true,
            "pattern" => self.files.patterns.push(text(value)?.to_owned()),
            "list" => self.files.list = Some(text_file(value)?),
            "separator" => text(value)?.clone_into(&mut self.files.separator),
            "include" => self.files.include.push(text(value)?.to_owned()),
            "exclude" => self.files.exclude.push(text(value)?.to_owned()),
            "follow" => self.files.follow = true,
            "field" => {
                let field = text(value)?;
                if ["key", "label"].contains(&field) {
                    return Err(Error::usage(format!("{field:?} is the name of another field of the samples")));
                }
                self.files.field = Some(field.to_owned());
            }
            "text_labels" => self.files.text_labels = true,
            "label_names" => self.files.labels = Some(text_file(value)?),
            _ => return Err(unknown_option(option)),
        }
        Ok(())
    }

    fn files(&self, path: &Path) -> Vec<PathBuf> {
        dataset::members(path).collect()
    }

    fn run(&self, job: &Job<'_>, context: &mut Context<'_, '_>, report: &mut Report) -> Result<()> {
        let path = path_of(job, self)?;
        dataset::refuse(path, job.force, &job.inputs)?;
        let options = WriterOptions::default()
            .with_output(job.output_options())
            .with_threads(job.selection.reading.threads)
            .with_md5(!self.no_md5)
            .with_any_message(true);
        let written = self
            .write(job, (path, options), context, report)
            .map_err(|error| of_output(error, &path.display().to_string()))?;
        (report.rows, report.bytes) = (written.samples, written.bytes);
        Ok(())
    }
}

/// The numbers of the rows of text inputs for which a condition holds, counted over all inputs.
fn matching_text(
    job: &Job<'_>,
    inputs: &[Opened],
    condition: &Predicate,
    context: &mut Context<'_, '_>,
) -> Result<Vec<u64>> {
    context.opener.infer_common_types(&job.inputs, u64::MAX, job.selection.reading.threads);
    let (mut all, mut before) = (Vec::new(), 0_u64);
    for input in inputs {
        let named = |error: Error| error.in_file(input.name.clone());
        let matches = context.opener.matching_rows(&input.input, &job.selection.reading, condition).map_err(named)?;
        all.extend(matches.rows.into_iter().map(|row| before.saturating_add(row)));
        before = before.saturating_add(matches.of);
    }
    job.check_rows(all.len() as u64)?;
    Ok(all)
}

/// Text, read as one table.
fn copy_text(
    job: &Job<'_>,
    (table, options): (&TextTable, &SampleOptions),
    writer: &mut Writer,
    progress: &Bar,
    report: &mut Report,
) -> Result<()> {
    let sampled = table.write_samples(writer, &options.clone().with_columns(job.columns()?), Some(progress))?;
    job.check_rows(sampled.passed)?;
    report.rows = sampled.rows;
    report.inferred = sampled.kinds.into_iter().map(|(name, kind)| (name, kind.to_owned())).collect();
    Ok(())
}
