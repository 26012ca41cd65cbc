//! The command `wharf` with an additional format: a text file of labeled points.
//!
//! ```text
//! points 1
//! 2.5 -1 oak
//! 0 17.25 elm
//! ```
//!
//! `cargo run -p wharf-cli --example own_format -- convert trees.points trees.parquet`

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, Float64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, SchemaRef};
use container_arrow::{BatchTable, BatchWriter, from_arrow};
use container_core::Bytes;
use serde_json::{Map, Value};
use wharf::convert::{
    Context, Job, Opener, OptionSpec, OptionValue, Report, Streaming, Target, TargetInfo, TargetUnit, To,
};
use wharf::merge::{Merger, Operation};
use wharf::recover::Recoverer;
use wharf::reindex::{Before, Index, Reindexer};
use wharf::{
    Container, Error, Finding, Format, Input, Loss, Lost, Merge, OpenOptions, Output, OutputOptions, Overwrite,
    Position, Probe, Recognition, Recover, RecoverReport, Registry, Reindex, Result, Table, VerifyOptions, merge,
    recover, reindex,
};

const FIRST_LINE: &str = "points 1\n";

pub(crate) struct Points;

impl Points {
    fn source(&self, input: &Input) -> Result<Bytes> {
        let source = input.source().ok_or_else(|| Error::usage("expected a file, found a directory"))?;
        source.read(0..source.len())
    }
}

impl Format for Points {
    fn name(&self) -> &'static str {
        "points"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["points"]
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        match probe.head.starts_with(FIRST_LINE.as_bytes()) {
            true => Recognition::Content,
            false if probe.has_extension(self.extensions()) => Recognition::Name,
            false => Recognition::No,
        }
    }

    fn open(&self, input: &Input, _: &OpenOptions) -> Result<Box<dyn Container>> {
        let bytes = self.source(input)?;
        let text = std::str::from_utf8(&bytes).map_err(|cause| Error::invalid("invalid UTF-8").caused_by(cause))?;
        let lines =
            text.strip_prefix(FIRST_LINE).ok_or_else(|| Error::invalid("expected \"points 1\" as the first line"))?;
        let (mut x, mut y, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        for (row, line) in (0..).zip(lines.lines()) {
            let (point, label) = parse(line).ok_or_else(|| {
                Error::invalid(format!("expected two numbers and a label, found {line:?}")).in_row(row)
            })?;
            x.push(point[0]);
            y.push(point[1]);
            labels.push(label);
        }
        let batch = RecordBatch::try_from_iter([
            ("x", Arc::new(Float64Array::from(x)) as _),
            ("y", Arc::new(Float64Array::from(y)) as _),
            ("label", Arc::new(StringArray::from(labels)) as _),
        ]);
        Ok(Box::new(PointsFile(BatchTable::new("points", batch.map_err(from_arrow)?)?)))
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn batch_writer(&self, path: &Path, schema: SchemaRef, options: OutputOptions) -> Result<Box<dyn BatchWriter>> {
        Ok(Box::new(PointsWriter::create(path, &schema, options)?))
    }

    /// Copies every line that is a valid point.
    fn recover(
        &self,
        input: &Input,
        _: &OpenOptions,
        path: &Path,
        options: OutputOptions,
    ) -> Result<Option<RecoverReport>> {
        recover_lines(&self.source(input)?, path, options, |line| parse(line).map(|_| line.to_owned())).map(Some)
    }
}

/// Copies every line that `repair` accepts, as it returns it.
fn recover_lines(
    bytes: &[u8],
    path: &Path,
    options: OutputOptions,
    repair: impl Fn(&str) -> Option<String>,
) -> Result<RecoverReport> {
    let text = String::from_utf8_lossy(bytes);
    let mut output = Output::create(path, options)?;
    write(&mut output, FIRST_LINE)?;
    let mut rows = 0;
    let mut lost = Loss::new("line that is not a point", 0, Position::default());
    for (line, text) in (1..).zip(text.lines()) {
        if line == 1 && text == FIRST_LINE.trim_end() {
            continue;
        }
        if let Some(point) = repair(text).filter(|point| !point.contains('\u{FFFD}')) {
            write(&mut output, &format!("{point}\n"))?;
            rows += 1;
        } else {
            lost.count += 1;
            lost.first.line.get_or_insert(line);
        }
    }
    output.finish()?;
    Ok(RecoverReport::new(rows, if lost.count > 0 { vec![lost] } else { Vec::new() }))
}

/// Writes points with an option. Without one, `batch_writer` is enough.
#[derive(Debug, Default)]
pub(crate) struct PointsTarget {
    decimals: Option<usize>,
}

impl Target for PointsTarget {
    fn info(&self) -> TargetInfo {
        let mut info = TargetInfo::new("points", TargetUnit::TypedRows, Streaming::Unsupported("points are a file"));
        info.extensions = Points.extensions();
        info
    }

    fn options(&self) -> &'static [OptionSpec] {
        const DECIMALS: OptionSpec = OptionSpec::text("decimals", "Digits after the decimal point")
            .with_value(OptionValue::Integer(0, 300), "N")
            .with_group("Options for points outputs");
        &[DECIMALS]
    }

    fn set(&mut self, _: &str, value: &OsStr) -> Result<()> {
        self.decimals = value.to_str().and_then(|digits| digits.parse().ok()); // the number was checked
        Ok(())
    }

    fn run(&self, job: &Job<'_>, context: &mut Context<'_, '_>, report: &mut Report) -> Result<()> {
        let path = job.path().ok_or_else(|| Error::usage("points are a file, not a stream"))?;
        let begin = |schema| {
            let mut writer = PointsWriter::create(path, &schema, job.output_options())?;
            writer.decimals = self.decimals;
            Ok(Box::new(writer))
        };
        job.copy_batches(context, report, begin)?.finish()?;
        Ok(())
    }
}

/// Merges files line by line, so that numbers stay as they are written.
#[derive(Debug, Default)]
pub(crate) struct PointsMerger {
    is_sorted: bool,
}

impl Operation for PointsMerger {
    fn info(&self) -> TargetInfo {
        TargetInfo::new("points", TargetUnit::Rows, Streaming::Unsupported("points are merged into a file"))
    }

    fn options(&self) -> &'static [OptionSpec] {
        const SORTED: OptionSpec = OptionSpec::flag("sorted", "Sort the points by label");
        &[SORTED]
    }

    fn set(&mut self, _: &str, _: &OsStr) -> Result<()> {
        self.is_sorted = true;
        Ok(())
    }
}

impl Merger for PointsMerger {
    fn run(&self, job: &Merge, to: To<'_>, opener: &mut Opener<'_>, report: &mut merge::Report) -> Result<()> {
        let To::Path(path, overwrite) = to else { return Err(Error::usage("points are merged into a file")) };
        let mut lines = Vec::new();
        for location in &job.inputs {
            let named = |error: Error| error.in_file(location.name());
            let source = Points.source(&location.input(opener).map_err(named)?)?;
            let text = std::str::from_utf8(&source).ok().and_then(|text| text.strip_prefix(FIRST_LINE));
            let text = text.ok_or_else(|| named(Error::usage("expected a file of points")))?;
            lines.extend(text.lines().map(str::to_owned));
        }
        if self.is_sorted {
            lines.sort_by_key(|line| parse(line).map(|(_, label)| label.to_owned()));
        }
        let mut output = Output::create(path, OutputOptions::default().with_overwrite(overwrite))?;
        write(&mut output, FIRST_LINE)?;
        lines.iter().try_for_each(|line| write(&mut output, &format!("{line}\n")))?;
        output.finish()?;
        (report.rows, report.inputs) = (lines.len() as u64, job.inputs.len());
        report.bytes = path.metadata().map_or(0, |metadata| metadata.len());
        Ok(())
    }
}

/// Recovers points, with a word for missing labels.
#[derive(Debug, Default)]
pub(crate) struct PointsRecoverer {
    label: Option<String>,
}

impl Operation for PointsRecoverer {
    fn info(&self) -> TargetInfo {
        TargetInfo::new("points", TargetUnit::Rows, Streaming::Unsupported("points are recovered into a file"))
    }

    fn options(&self) -> &'static [OptionSpec] {
        const LABEL: OptionSpec = OptionSpec::text("label", "Label of points that lost theirs [default: skip them]");
        &[LABEL]
    }

    fn set(&mut self, _: &str, value: &OsStr) -> Result<()> {
        self.label = Some(value.to_string_lossy().into_owned());
        Ok(())
    }
}

impl Recoverer for PointsRecoverer {
    fn run(&self, job: &Recover, to: To<'_>, opener: &mut Opener<'_>, report: &mut recover::Report) -> Result<()> {
        let To::Path(path, overwrite) = to else { return Err(Error::usage("points are recovered into a file")) };
        let named = |error: Error| error.in_file(job.input.name());
        let bytes = Points.source(&job.input.input(opener).map_err(named)?)?;
        let with_label = |line: &str| Some(format!("{} {}", line.trim_end(), self.label.as_ref()?));
        let repair = |line: &str| {
            [Some(line.to_owned()), with_label(line)].into_iter().flatten().find(|line| parse(line).is_some())
        };
        let done = recover_lines(&bytes, path, OutputOptions::default().with_overwrite(overwrite), repair)?;
        report.rows = done.rows;
        let lost = |loss| Lost { file: Some(job.input.name()), loss };
        report.losses.extend(done.losses.into_iter().map(lost));
        report.bytes = path.metadata().map_or(0, |metadata| metadata.len());
        Ok(())
    }
}

/// Writes the offsets of the points of `trees.points`, a line each, to `trees.offsets`.
#[derive(Debug, Default)]
pub(crate) struct PointsReindexer {
    is_hexadecimal: bool,
}

impl Operation for PointsReindexer {
    fn info(&self) -> TargetInfo {
        TargetInfo::new("points", TargetUnit::Rows, Streaming::Unsupported("an index is a file beside the data"))
    }

    fn options(&self) -> &'static [OptionSpec] {
        const HEXADECIMAL: OptionSpec = OptionSpec::flag("hexadecimal", "Write hexadecimal offsets");
        &[HEXADECIMAL]
    }

    fn set(&mut self, _: &str, _: &OsStr) -> Result<()> {
        self.is_hexadecimal = true;
        Ok(())
    }
}

impl Reindexer for PointsReindexer {
    fn run(&self, job: &Reindex, opener: &mut Opener<'_>, report: &mut reindex::Report) -> Result<()> {
        let input = job.input.input(opener)?;
        let path = input.path().ok_or_else(|| Error::usage("expected a file"))?.with_extension("offsets");
        let before = if path.exists() { Before::Offsets } else { Before::Missing };
        let mut output = Output::create(&path, OutputOptions::default().with_overwrite(Overwrite::Replace))?;
        let bytes = Points.source(&input)?;
        let (mut offset, mut rows) = (FIRST_LINE.len(), 0);
        for line in bytes.split_inclusive(|byte| *byte == b'\n').skip(1) {
            let text = if self.is_hexadecimal { format!("{offset:x}\n") } else { format!("{offset}\n") };
            write(&mut output, &text)?;
            offset += line.len();
            rows += 1;
        }
        output.finish()?;
        let mut index = Index::new(before, rows);
        (index.is_made, index.bytes) = (true, bytes.len() as u64);
        report.indexes.push(index);
        Ok(())
    }
}

/// Writes one line per row.
struct PointsWriter {
    output: Output,
    columns: [usize; 3],
    /// Digits after the decimal point; `None` for as many as the number needs.
    decimals: Option<usize>,
}

impl PointsWriter {
    fn create(path: &Path, schema: &SchemaRef, options: OutputOptions) -> Result<Self> {
        let column = |name: &str, data_type: DataType| match schema.index_of(name) {
            Ok(index) if *schema.field(index).data_type() == data_type => Ok(index),
            Ok(index) => {
                let found = schema.field(index).data_type();
                Err(Error::unsupported(format!("expected {data_type}, found {found}")).in_column(name.to_owned()))
            }
            Err(_) => Err(Error::usage("missing column").in_column(name.to_owned())),
        };
        let columns =
            [column("x", DataType::Float64)?, column("y", DataType::Float64)?, column("label", DataType::Utf8)?];
        let mut output = Output::create(path, options)?;
        write(&mut output, FIRST_LINE)?;
        Ok(Self { output, columns, decimals: None })
    }

    fn number(&self, value: f64) -> String {
        self.decimals.map_or_else(|| value.to_string(), |decimals| format!("{value:.decimals$}"))
    }
}

impl BatchWriter for PointsWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let [x, y, label] = self.columns.map(|column| batch.column(column));
        let (x, y) = (x.as_primitive::<Float64Type>(), y.as_primitive::<Float64Type>());
        let label = label.as_string::<i32>();
        let nulls = [("x", x.null_count()), ("y", y.null_count()), ("label", label.null_count())];
        if let Some((column, _)) = nulls.into_iter().find(|(_, count)| *count > 0) {
            return Err(Error::invalid("expected a value, found null").in_column(column));
        }
        for row in 0..batch.num_rows() {
            let [x, y] = [x.value(row), y.value(row)].map(|value| self.number(value));
            write(&mut self.output, &format!("{x} {y} {}\n", label.value(row)))?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<Loss>> {
        self.output.finish().map(|()| Vec::new())
    }
}

fn write(output: &mut Output, text: &str) -> Result<()> {
    output.write_all(text.as_bytes()).map_err(|cause| Error::io("cannot write", cause))
}

fn parse(line: &str) -> Option<([f64; 2], &str)> {
    let (x, rest) = line.split_once(' ')?;
    let (y, label) = rest.split_once(' ')?;
    Some(([x.parse().ok()?, y.parse().ok()?], label))
}

struct PointsFile(BatchTable);

impl Container for PointsFile {
    fn format(&self) -> &'static str {
        "points"
    }

    fn version(&self) -> String {
        "1".to_owned()
    }

    fn details(&self) -> Map<String, Value> {
        Map::new()
    }

    fn tables(&self) -> Vec<&dyn Table> {
        vec![&self.0]
    }

    /// Opening the file has validated all of it.
    fn verify(&self, _: &VerifyOptions, _: &mut dyn FnMut(Finding)) -> Result<()> {
        Ok(())
    }
}

fn main() -> ExitCode {
    let registry = Registry::builtin()
        .with(&Points)
        .with_target(|| Box::<PointsTarget>::default())
        .with_merger(|| Box::<PointsMerger>::default())
        .with_recoverer(|| Box::<PointsRecoverer>::default())
        .with_reindexer(|| Box::<PointsReindexer>::default());
    wharf_cli::main(&registry)
}
