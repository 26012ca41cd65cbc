//! datadings datasets written: from text, from containers, from files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Error, ErrorKind, OpenOptions, OutputOptions, Overwrite, Progress, Result, Unit};
use datadings::{Reader, Writer, WriterOptions, Written};
use serde_json::{Map, Value};
use wharf::convert::import::{FileOptions, FileTable, Keys, LinkOutside, SampleOptions, copy_samples, write_rows};

use super::super::Outcome;
use super::super::bar::Bar;
use super::super::cat;
use super::super::dataset;
use super::super::env::Env;
use super::super::human::{clean, counted};
use super::super::inputs::{self, Place};
use super::super::pour::{self, Poured};
use super::super::report::Lost;
use super::super::select;
use super::source::{self, Kind, Opened};
use super::text::{does_not_go, together};
use super::{Alike, Arguments, Form, columns, refuse, wanted};

/// Columns beyond this are not told one by one.
const MOST_LINES: usize = 20;

/// Options that only the output datadings has.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(id = "datadings")]
#[command(next_help_heading = "Options for the output datadings")]
pub(super) struct Options {
    /// The column whose texts or integers are the keys; it stays, and "key" is added in front [default: the column "key"]
    #[arg(long, value_name = "COLUMN", conflicts_with = "number")]
    key: Option<String>,

    /// The number of each row, in ten digits, is its key
    #[arg(long)]
    number: bool,

    /// Cells of CSV and TSV stay text; else columns of numbers, bools, and JSON become these
    #[arg(long)]
    text: bool,

    /// Write no .md5: faster, where MD5 is slower than the disk
    #[arg(long)]
    no_md5: bool,

    #[command(flatten)]
    files: Files,
}

/// Options for samples that are files.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(id = "files")]
#[command(next_help_heading = "Options for the output datadings from folders and ZIP archives of files")]
struct Files {
    /// Which files, relative to the input: {LABEL} is the folder whose name is the label, * ? [a-z] stand for parts of a name, ** for any
    /// folders; may be given several times [default: {LABEL}/**]
    #[arg(long, value_name = "PATTERN", conflicts_with = "list")]
    pattern: Vec<String>,

    /// Which files: a text with a path on each line, then a tabulator and the label, if there are labels
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,

    /// What separates path and label in the list [default: a tabulator]
    #[arg(long, value_name = "TEXT", requires = "list")]
    separator: Option<String>,

    /// Of these files, only those whose path matches; * also matches slashes; may be given several times
    #[arg(long, value_name = "PATTERN")]
    include: Vec<String>,

    /// Not those whose path matches; may be given several times
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,

    /// Import what links, and the paths of --list, lead to outside of the folder, too: otherwise that is an error
    #[arg(long)]
    follow: bool,

    /// Samples are {key, NAME, label}, NAME being the content: image, say. Without: {key, label, path, _additional_info, _label, data}, as
    /// Python's DirectoryReader has them
    #[arg(long, value_name = "NAME")]
    field: Option<String>,

    /// Labels are their texts and not their numbers
    #[arg(long, conflicts_with = "label_names")]
    text_labels: bool,

    /// A text with a label on each line, in the order of their numbers [default: all there are, sorted, 2 before 10]
    #[arg(long, value_name = "FILE")]
    label_names: Option<PathBuf>,
}

impl Options {
    /// Fails when one of these is given for another output.
    pub(super) fn refuse(&self, form: Form) -> Result<()> {
        let rest = [
            ("--key", self.key.is_some()),
            ("--number", self.number),
            ("--text", self.text),
            ("--no-md5", self.no_md5),
        ];
        let given: Vec<_> = rest.into_iter().chain(self.files.given()).collect();
        refuse(&given, "the output datadings", form)
    }

    /// Fails when an option does not go with what the inputs are.
    fn check(&self, kind: Kind, is_store: bool, arguments: &Arguments) -> Result<()> {
        arguments.text.check(kind)?;
        let files = matches!(kind, Kind::Folder | Kind::Zip);
        let table = matches!(kind, Kind::Idv | Kind::Container(_) | Kind::Columns(_)) || is_store;
        let selection = &arguments.selection;
        let rest = [
            ("--key", self.key.is_some() && (files || kind == Kind::Datadings)),
            ("--number", self.number && (files || kind == Kind::Datadings)),
            ("--text", self.text && !matches!(kind, Kind::Csv | Kind::Tsv)),
            ("--columns", !selection.columns.is_empty() && files),
            ("--table", selection.reading.table.is_some() && !table),
            ("--missing-as-null", selection.reading.missing_as_null && !table),
        ];
        let given = self.files.given().map(|(option, given)| (option, given && !files));
        does_not_go(&rest.into_iter().chain(given).collect::<Vec<_>>(), kind)
    }

    /// Files that are read besides the inputs.
    pub(super) fn read_besides(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.list.iter().chain(&self.files.label_names)
    }

    fn keys(&self) -> Keys {
        match (&self.key, self.number) {
            (Some(column), _) if column != "key" => Keys::Column(column.clone()),
            (_, true) => Keys::Number,
            _ => Keys::Key,
        }
    }
}

impl Options {
    /// The keys of what comes in columns.
    fn column_keys(&self) -> datadings::arrow::Keys {
        use datadings::arrow;

        match self.keys() {
            Keys::Column(column) => arrow::Keys::Column(column),
            Keys::Number => arrow::Keys::Number,
            Keys::Key => arrow::Keys::Key,
        }
    }
}

impl Files {
    fn given(&self) -> impl Iterator<Item = (&'static str, bool)> {
        [
            ("--pattern", !self.pattern.is_empty()),
            ("--list", self.list.is_some()),
            ("--include", !self.include.is_empty()),
            ("--exclude", !self.exclude.is_empty()),
            ("--follow", self.follow),
            ("--field", self.field.is_some()),
            ("--text-labels", self.text_labels),
            ("--label-names", self.label_names.is_some()),
        ]
        .into_iter()
    }

    fn options(&self) -> Result<FileOptions> {
        let taken = ["key", "label"];
        if let Some(field) = self.field.as_deref().filter(|field| taken.contains(field)) {
            return Err(Error::usage(format!("--field {field:?} is the name of another field of the samples")));
        }
        let mut options = FileOptions::default();
        options.patterns.clone_from(&self.pattern);
        options.list = self.list.as_deref().map(text_file).transpose()?;
        options.separator = self.separator.clone().unwrap_or_default();
        options.include.clone_from(&self.include);
        options.exclude.clone_from(&self.exclude);
        options.follow = self.follow;
        options.field.clone_from(&self.field);
        options.text_labels = self.text_labels;
        options.labels = self.label_names.as_deref().map(text_file).transpose()?;
        Ok(options)
    }
}

/// A text file's name and content.
fn text_file(path: &Path) -> Result<(String, String)> {
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => Ok((name, text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())),
        Err(cause) if cause.kind() == std::io::ErrorKind::InvalidData => {
            Err(Error::invalid("the text is not UTF-8").in_file(name))
        }
        Err(cause) => Err(Error::io("cannot read", cause).in_file(name)),
    }
}

/// What has been done.
#[derive(Default)]
struct Done {
    poured: Poured,
    columns: Vec<(String, &'static str)>,
    labels: Option<Vec<String>>,
}

pub(super) fn run(arguments: &Arguments, places: &[Place], env: &mut Env<'_>) -> Result<Outcome> {
    if arguments.output() == "-" {
        return Err(Error::usage("a dataset is a set of files, which standard output is not: give a file"));
    }
    let path = Path::new(arguments.output());
    dataset::refuse(path, arguments.force, places)?;
    let overwrite = if arguments.force { Overwrite::Replace } else { Overwrite::Refuse };
    let options = WriterOptions::default()
        .with_output(OutputOptions::default().with_overwrite(overwrite))
        .with_threads(arguments.selection.reading.threads)
        .with_md5(!arguments.datadings.no_md5)
        .with_any_message(true);
    let mut done = Done::default();
    let written = write(arguments, places, (path, options), env, &mut done).map_err(|error| match error.kind() {
        // Errors of inputs name their file already.
        ErrorKind::Io => error.in_file(path.display().to_string()),
        _ => error,
    });
    let mut total = None;
    let outcome = cat::finish(written.map(|written| total = Some(written)), &done.poured, env)?;
    if let Some(written) = total {
        tell(path, written, done, env)?;
    }
    Ok(outcome)
}

/// Says what was done.
fn tell(path: &Path, written: Written, done: Done, env: &mut Env<'_>) -> Result<()> {
    if !env.json() {
        env.report.note(format!("{}: {}", path.display(), counted(written.samples, "sample")));
        return Ok(());
    }
    let mut object = dataset::done(path, written);
    if !done.columns.is_empty() {
        let columns: Map<String, Value> = done.columns.into_iter().map(|(name, kind)| (name, kind.into())).collect();
        object.insert("columns".into(), columns.into());
    }
    if let Some(labels) = done.labels {
        object.insert("labels".into(), labels.into());
    }
    env.stdout.print(&format!("{}\n", Value::Object(object)))
}

fn write(
    arguments: &Arguments,
    places: &[Place],
    (path, options): (&Path, WriterOptions),
    env: &mut Env<'_>,
    done: &mut Done,
) -> Result<Written> {
    let (kind, inputs) = source::open(places, arguments.text.from, &mut env.opener)?;
    let (kind, inputs, is_store) = super::lines::documents((kind, inputs), arguments, &mut done.poured.lost, env)?;
    arguments.datadings.check(kind, is_store, arguments)?;
    let bar = Arc::new(Bar::new(env.report.terminal));
    bar.name(together(&inputs));
    if kind.is_columns() {
        let to = (path, options, arguments.datadings.column_keys());
        let written = super::columnar::datadings::write(arguments, places, &mut env.opener, to, &bar, &mut done.poured);
        bar.clear();
        return written;
    }
    let mut writer = Writer::create(path, options)?;
    let outcome = match kind {
        Kind::Folder | Kind::Zip => files(arguments, kind, &inputs, &mut writer, &bar, done),
        Kind::Datadings => datasets(arguments, &inputs, &mut writer, env, &bar, done),
        Kind::Idv | Kind::Container(_) | Kind::Columns(_) => {
            tables(arguments, places, &inputs, &mut writer, env, &bar, done)
        }
        text => texts(arguments, (text, is_store), inputs, &mut writer, env, &bar, done),
    };
    bar.clear();
    outcome?;
    writer.finish()
}

/// What becomes samples, but for the columns.
fn options(arguments: &Arguments) -> SampleOptions {
    let options = SampleOptions::default().with_keys(arguments.datadings.keys());
    options.with_rows(wanted(&arguments.selection)).with_only_text(arguments.datadings.text)
}

fn check_rows(arguments: &Arguments, sampled_to: u64) -> Result<()> {
    match &arguments.selection.rows {
        Some(range) if sampled_to < wanted(&arguments.selection).end => range.check(sampled_to),
        _ => Ok(()),
    }
}

fn texts(
    arguments: &Arguments,
    (kind, is_store): (Kind, bool),
    inputs: Vec<Opened>,
    writer: &mut Writer,
    env: &mut Env<'_>,
    bar: &Arc<Bar>,
    done: &mut Done,
) -> Result<()> {
    let name = together(&inputs);
    let table = arguments.text.table(kind, inputs, arguments.selection.reading.threads)?;
    let mut options = options(arguments).with_columns(columns(&arguments.selection.columns)?);
    if is_store && options.keys == Keys::Key {
        // A document's key is its id.
        options.keys = Keys::Column("_id".to_owned());
    }
    let sampled = table.write_samples(writer, &options, Some(bar.as_ref()))?;
    check_rows(arguments, sampled.passed)?;
    done.poured.rows = sampled.rows;
    if !env.json() && sampled.kinds.len() <= MOST_LINES {
        bar.aside(|| {
            for (column, kind) in &sampled.kinds {
                env.report.note(format!("{name}: {}: {kind}", clean(column)));
            }
        });
    }
    done.columns = sampled.kinds;
    Ok(())
}

fn tables(
    arguments: &Arguments,
    places: &[Place],
    inputs: &[Opened],
    writer: &mut Writer,
    env: &mut Env<'_>,
    bar: &Arc<Bar>,
    done: &mut Done,
) -> Result<()> {
    let selection = &arguments.selection;
    let mut alike = Alike::of_samples();
    let mut before = 0;
    for (number, (input, place)) in inputs.iter().zip(places).enumerate() {
        let wanted = wanted(selection);
        if number > 0 && before >= wanted.end {
            return Ok(());
        }
        bar.name(input.name.clone());
        let named =
            |error: Error| if error.kind() == ErrorKind::Io { error } else { error.in_file(input.name.clone()) };
        let container = env.opener.container(&input.input).map_err(named)?;
        let table = select::table(container.as_ref(), selection.reading.table.as_deref()).map_err(named)?;
        let chosen = select::columns(table, &selection.columns).map_err(named)?;
        if inputs.len() > 1 {
            alike.check(&input.name, container.as_ref(), table, chosen.as_deref()).map_err(named)?;
        }
        if chosen.is_none() {
            done.poured.lost.extend(pour::unreadable(place, table));
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
        let samples = self::options(arguments).with_columns(names);
        let sampled = write_rows(table, &scan, writer, &samples, before, Some(bar.as_ref())).map_err(named)?;
        done.poured.lost.extend(sampled.losses.into_iter().map(|loss| Lost { file: Some(input.name.clone()), loss }));
        done.poured.rows += sampled.rows;
        before = sampled.passed;
    }
    check_rows(arguments, before)
}

fn datasets(
    arguments: &Arguments,
    inputs: &[Opened],
    writer: &mut Writer,
    env: &mut Env<'_>,
    bar: &Arc<Bar>,
    done: &mut Done,
) -> Result<()> {
    let reading = OpenOptions::default().with_access(env.opener.access);
    let options = options(arguments).with_columns(columns(&arguments.selection.columns)?);
    let mut before = 0;
    for input in inputs {
        bar.name(input.name.clone());
        let named = |error: Error| error.in_file(input.name.clone());
        let reader = match input.input.path() {
            Some(path) => Reader::open_with(path, reading),
            None => Reader::walk(input.source()?.clone(), reading),
        };
        let reader = reader.map_err(named)?;
        bar.begin(Unit::Rows, Some(reader.len()));
        let sampled = copy_samples(&reader, writer, &options, before, Some(bar.as_ref()));
        let sampled = sampled.map_err(|error| if error.kind() == ErrorKind::Io { error } else { named(error) })?;
        done.poured.lost.extend(sampled.losses.into_iter().map(|loss| Lost { file: Some(input.name.clone()), loss }));
        done.poured.rows += sampled.rows;
        before = sampled.passed;
    }
    check_rows(arguments, before)
}

/// An error, with the option that helps.
fn how_to_follow(error: Error) -> Error {
    match LinkOutside::behind(&error) {
        Some(LinkOutside { link, target, .. }) => {
            let detail =
                format!("it leads out of the folder, to {}; --follow imports it all the same", target.display());
            Error::new(error.kind(), detail).in_file(link.display().to_string())
        }
        None => error,
    }
}

fn files(
    arguments: &Arguments,
    kind: Kind,
    opened: &[Opened],
    writer: &mut Writer,
    bar: &Arc<Bar>,
    done: &mut Done,
) -> Result<()> {
    let mut table = FileTable::new(arguments.datadings.files.options()?);
    for input in opened {
        match (kind, input.input.path()) {
            (Kind::Folder, Some(path)) => table.push_folder(path).map_err(how_to_follow)?,
            _ => table.push_archive(input.name.clone(), input.source()?)?,
        }
    }
    done.poured.lost.extend(table.left_out().iter().cloned().map(|mut loss| {
        let file = loss.first.file.take().map(String::from);
        if loss.count > 1 {
            loss.what = format!("{}, the first of {}", loss.what, loss.count);
        }
        Lost { file, loss }
    }));
    if table.is_empty() {
        let file = opened.first().map(|input| input.name.clone()).unwrap_or_default();
        let detail = "there is no file that matches: --pattern, --list, --include and --exclude say which do";
        return Err(Error::usage(detail).in_file(file));
    }
    let there: Vec<PathBuf> =
        dataset::members(Path::new(arguments.output())).filter(|member| member.exists()).collect();
    if !there.is_empty() {
        inputs::refuse_overlap(there, &table.paths().map(Place::Path).collect::<Vec<_>>())?;
    }
    done.labels = Some(table.label_names()?).filter(|labels| !labels.is_empty());
    let threads = arguments.selection.reading.threads;
    done.poured.rows = table.write_to(writer, wanted(&arguments.selection), threads, Some(bar.as_ref()))?;
    check_rows(arguments, table.len())
}
