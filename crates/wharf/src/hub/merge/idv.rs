//! Merges IDV files.

use std::ffi::OsStr;
use std::sync::Arc;

use container_core::{Access, Error, Output, Overwrite, Result, Unit};

use super::super::convert::{
    ChangeOptions, OptionSpec, OptionValue, Streaming, Target as _, TargetInfo, TargetUnit, text,
};
use super::super::env::Opener;
use super::super::idv_file::{IDV, WRITER_OPTIONS, open_idv};
use super::super::inputs::Location;
use super::super::{Lost, copy_rows, output, select};
use super::{Blocks, IdvTarget, Merge, Merger, Operation, Report, To, rows};

/// Merges IDV files: rows; blocks are copied unchanged where the new file can have them so.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct IdvMerger {
    /// Selects these columns, in this order: names separated by commas; a name with a comma is quoted.
    pub columns: Vec<String>,
    /// What becomes of the columns of the inputs, and how they are joined. Blocks are encoded again then.
    pub change: ChangeOptions,
    /// How the output is written; `missing_as_double` is for conversions.
    pub output: IdvTarget,
}

pub(super) const COLUMNS: OptionSpec =
    OptionSpec::text("columns", "Only these columns, in this order (not ds, NetCDF, datadings, ZDS)")
        .with_value(OptionValue::Texts, "NAMES");

impl Operation for IdvMerger {
    fn info(&self) -> TargetInfo {
        let stream = Streaming::Unsupported("IDV is merged into a file");
        TargetInfo { title: "IDV", ..TargetInfo::new(IDV, TargetUnit::TypedRows, stream) }
    }

    fn options(&self) -> &'static [OptionSpec] {
        const COUNT: usize = rows::OPTIONS.len();
        const ALL: [OptionSpec; COUNT + 4] = {
            let mut all = [COLUMNS; COUNT + 4];
            let (columns, writer) = all.split_at_mut(COUNT);
            columns.copy_from_slice(&rows::OPTIONS);
            writer.copy_from_slice(&WRITER_OPTIONS);
            all
        };
        &ALL
    }

    fn set(&mut self, option: &str, value: &OsStr) -> Result<()> {
        match option {
            "columns" => self.columns.push(text(value)?.to_owned()),
            name if ChangeOptions::has(name) => self.change.set(name, value)?,
            _ => self.output.set(option, value)?,
        }
        Ok(())
    }
}

impl Merger for IdvMerger {
    fn run(&self, job: &Merge, to: To<'_>, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let To::Path(path, overwrite) = to else {
            return Err(Error::usage("IDV is merged into a file, not a stream: give a path"));
        };
        if job.filter.is_some() || !self.change.is_empty() {
            let columns = (self.columns.as_slice(), &self.change);
            return rows::convert(job, columns, &self.output, To::Path(path, overwrite), opener, report);
        }
        let access = opener.access;
        // Positional reads are faster for bytes that are only copied.
        opener.access = Access::Positional;
        let files = job.inputs.iter().map(|location| open(location, &self.columns, opener)).collect::<Result<Vec<_>>>();
        opener.access = access;
        let mut files = files?;
        let schema = schema(&files, &self.output)?;
        let output = output::create(path, overwrite == Overwrite::Replace, &job.inputs)?;
        let total = files.iter().map(|file| file.reader.row_count()).fold(0, u64::saturating_add);
        job.progress().begin(Unit::Rows, Some(total));
        report.losses = files.iter_mut().flat_map(|file| std::mem::take(&mut file.lost)).collect();
        (report.inputs, report.columns) = (files.len(), schema.columns.len());
        let output = write(job, (&files, &self.output), schema, output, report)?;
        report.bytes = output.file().metadata().map_or(0, |metadata| metadata.len());
        output.finish()
    }
}

/// An opened input, and the selected columns.
struct File {
    location: Location,
    reader: idv::Reader,
    columns: Vec<usize>,
    lost: Vec<Lost>,
}

fn open(location: &Location, columns: &[String], opener: &mut Opener<'_>) -> Result<File> {
    let reader = open_idv(location, opener, "merge")?;
    let named = |error: Error| error.in_file(location.name());
    let container = idv::IdvContainer::new(reader.clone());
    let chosen = select::columns(&container, columns).map_err(named)?;
    let (columns, lost) = match chosen {
        Some(chosen) => (chosen, Vec::new()),
        None => {
            let readable = reader.columns().iter().filter(|column| column.kind().is_ok());
            (readable.map(idv::Column::index).collect(), copy_rows::unreadable(location, &container))
        }
    };
    Ok(File { location: location.clone(), reader, columns, lost })
}

/// The schema of the first file, which all others must have.
fn schema(files: &[File], output: &IdvTarget) -> Result<idv::Schema> {
    let schema_of =
        |file: &File| file.reader.schema(Some(&file.columns)).map_err(|error| error.in_file(file.location.name()));
    let Some((first, others)) = files.split_first() else {
        return Err(Error::usage("there are no files to merge"));
    };
    let mut schema = schema_of(first)?;
    for file in others {
        if let Some(difference) = schema.difference(&schema_of(file)?) {
            let detail = format!("columns differ from those of {}: {difference}", first.location.name());
            return Err(Error::invalid(detail).in_file(file.location.name()));
        }
    }
    output.compress(&mut schema);
    Ok(schema)
}

fn write(
    job: &Merge,
    (files, target): (&[File], &IdvTarget),
    schema: idv::Schema,
    output: Output,
    report: &mut Report,
) -> Result<Output> {
    let readers: Vec<idv::Reader> = files.iter().map(|file| file.reader.clone()).collect();
    let bar = job.progress();
    let options = target.writer_options(job.threads, Arc::clone(bar));
    let name = output.path().display().to_string();
    let named = |error: Error| error.in_file(name.clone());
    let mut writer = idv::Writer::new(output, schema, options.with_block_size_of(&readers)).map_err(named)?;
    let blocks = report.blocks.insert(Blocks::default());
    for (number, file) in files.iter().enumerate() {
        bar.name(&format!("{} ({} of {})", file.location.name(), number + 1, files.len()));
        let more = writer.append_blocks(&file.reader, Some(&file.columns));
        let more = more.map_err(|error| error.in_file(file.location.name()))?;
        blocks.carried += more.copied;
        blocks.encoded += more.reencoded;
        report.losses.extend(Lost::all(writer.take_losses(), Some(&file.location.name())));
        report.rows = writer.row_count();
    }
    writer.into_inner().map_err(named)
}
