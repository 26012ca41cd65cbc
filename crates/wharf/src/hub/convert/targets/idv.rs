//! IDV: from IDV files block by block, from everything else as columns.

use std::ffi::OsStr;
use std::io::{self, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use container_arrow::{OnMismatch, Sparse, Times};
use container_core::{Error, ErrorKind, Position, Result, Scan, Unit};
use idv::{Schema, Writer, WriterOptions};

use super::super::super::env::Opener;
use super::super::super::idv_file::IDV;
use super::super::super::{Bar, DS, Lost, copy_rows, dataset, output, select, zds};
use super::super::columnar;
use super::super::job::{Context, Job, Report, finish, of_output};
use super::super::option::{OptionSpec, number, text};
use super::super::source::{self, Kind, Opened};
use super::super::text::does_not_go;
use super::options::{BYTES_PER_BLOCK, COMPRESSION, LEVEL, NULL_INTEGERS, ROWS_PER_BLOCK, SCHEMA, TIMES};
use super::{Streaming, Target, TargetInfo, TargetUnit, unknown_option};
use crate::text::TextFormat;

/// IDV, the format of ML.NET.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct IdvTarget {
    /// Nullable integer columns become Double, where NaN means missing. Otherwise a null integer is an error.
    pub missing_as_double: bool,
    /// The compression of blocks; `None` for that of the input, or deflate.
    pub compression: Option<idv::Compression>,
    /// The compression level, 0 to 9.
    pub level: Option<u8>,
    /// Maximum rows of a block.
    pub rows_per_block: Option<u64>,
    /// Maximum bytes of the blocks of the same rows, before compression.
    pub bytes_per_block: Option<u64>,
}

impl IdvTarget {
    /// The options of the writer.
    pub(in crate::hub) fn writer_options(&self, threads: usize, progress: Arc<Bar>) -> WriterOptions {
        let mut options = WriterOptions::default().with_threads(threads).with_progress(progress);
        options.compression = self.compression.unwrap_or(options.compression);
        options.level = self.level.unwrap_or(options.level);
        options.rows_per_block = self.rows_per_block;
        options.bytes_per_block = self.bytes_per_block;
        options
    }

    /// Sets the compression of all columns, if one is given; otherwise each keeps that of its file.
    pub(in crate::hub) fn compress(&self, schema: &mut Schema) {
        if let Some(compression) = self.compression {
            schema.columns.iter_mut().for_each(|column| column.compression = Some(compression));
        }
    }

    /// Fails for options that do not go with the inputs.
    fn check(&self, job: &Job<'_>, kind: Kind) -> Result<()> {
        match kind {
            Kind::Container(DS | zds::NAME) => {}
            kind if kind.is_netcdf() => {}
            Kind::Container(name) => {
                return Err(Error::unsupported(format!("IDV cannot be written from files of the format {name}")));
            }
            _ => {}
        }
        job.text.check(kind)?;
        let reading = &job.selection.reading;
        let columns = matches!(kind, Kind::Columns(_) | Kind::Renamed(_)) || kind.is_netcdf();
        let wrong = [
            ("schema", job.text.schema.is_some() && has_types(kind)),
            ("table", reading.table.is_some() && kind.is_text()),
            ("times", job.mapping.times.is_some() && !columns && job.picked.is_none()),
            ("null_integers", self.missing_as_double && !columns),
        ];
        does_not_go(&wrong, kind)?;
        if reading.missing_as_null {
            let why = "is for text outputs: IDV has its own missing values";
            return Err(Error::usage(why).in_option("missing_as_null"));
        }
        if job.text.schema.is_some() && !matches!(job.mapping.on_mismatch, None | Some(OnMismatch::Error)) {
            let why = "declares the types of columns, and in IDV a value that does not fit is an error";
            return Err(Error::usage(why).in_option("schema"));
        }
        Ok(())
    }

    fn write<W: Write + Seek + Send>(
        &self,
        job: &Job<'_>,
        sink: W,
        context: &mut Context<'_, '_>,
        report: &mut Report,
    ) -> Result<W> {
        let (kind, inputs) = source::open(&job.inputs, job.text.from, context.opener)?;
        self.check(job, kind).map_err(|error| match inputs.first().filter(|_| !kind.is_text()) {
            Some(input) if error.kind() == ErrorKind::Unsupported => error.in_file(input.name.clone()),
            _ => error,
        })?;
        match kind {
            Kind::Idv if job.picked.is_none() && !job.is_filtered() && !job.union => {
                self.copy_blocks(job, &inputs, sink, context.progress, report)
            }
            Kind::Idv | Kind::Renamed(IDV) if job.picked.is_none() => {
                // Ticks hold every time exactly, and structs keep sparse vectors sparse.
                let mut convert = job.convert.clone();
                convert.mapping.times.get_or_insert(Times::Ticks);
                convert.mapping.sparse.get_or_insert(Sparse::Structs);
                columnar::idv::write(&Job { convert: &convert, ..*job }, self, sink, context, report)
            }
            Kind::Columns(IDV) if job.picked.is_none() && !job.changes.is_empty() => {
                let mut convert = job.convert.clone();
                convert.mapping.times.get_or_insert(Times::Ticks);
                columnar::idv::write(&Job { convert: &convert, ..*job }, self, sink, context, report)
            }
            _ => columnar::idv::write(job, self, sink, context, report),
        }
    }

    /// Copies rows of IDV files; whole blocks are carried over as they are.
    fn copy_blocks<W: Write + Seek>(
        &self,
        job: &Job<'_>,
        inputs: &[Opened],
        sink: W,
        progress: &Arc<Bar>,
        report: &mut Report,
    ) -> Result<W> {
        let selection = &job.selection;
        let requested = job.rows();
        let mut first: Option<(Schema, &str)> = None;
        let mut files = Vec::new();
        for (input, location) in inputs.iter().zip(&job.inputs) {
            let named = |error: Error| error.in_file(input.name.clone());
            let reader =
                idv::Reader::from_source(input.source()?.clone(), idv::OpenOptions::default()).map_err(named)?;
            let container = idv::IdvContainer::new(reader.clone());
            let table = select::table(&container, selection.reading.table.as_deref()).map_err(named)?;
            let columns = select::columns(table, &selection.columns).map_err(named)?;
            if columns.is_none() {
                report.losses.extend(copy_rows::unreadable(location, table));
            }
            let schema = reader.schema(columns.as_deref()).map_err(named)?;
            match &first {
                None => first = Some((schema, &input.name)),
                Some((expected, name)) => {
                    if let Some(difference) = expected.difference(&schema) {
                        let detail = format!("columns differ from those of {name}: {difference}");
                        return Err(named(Error::invalid(detail)));
                    }
                }
            }
            let columns = columns.map_or_else(|| reader.readable_columns(), Ok).map_err(named)?;
            files.push((reader, columns, input));
        }
        let Some((mut schema, _)) = first else { return Err(Error::usage("there is no input")) };
        let total: u64 = files.iter().map(|(reader, ..)| reader.row_count()).fold(0, u64::saturating_add);
        if let Some(range) = &selection.rows {
            range.check(total)?;
        }
        self.compress(&mut schema);
        report.columns = schema.columns.len();
        let rows = requested.start.min(total)..requested.end.min(total);
        progress.begin(Unit::Rows, Some(rows.end.saturating_sub(rows.start)));
        let threads = selection.reading.threads;
        let options: WriterOptions = self.writer_options(threads, Arc::clone(progress));
        let mut writer = Writer::new(sink, schema, options)?;
        let mut before = 0_u64;
        for (number, (reader, columns, input)) in files.iter().enumerate() {
            progress.name(&copy_rows::input_label(input.name.clone(), number, files.len()));
            let count = reader.row_count();
            let part = rows.start.saturating_sub(before).min(count)..rows.end.saturating_sub(before).min(count);
            let scan = Scan::default().with_columns(columns.clone()).with_rows(part).with_threads(threads);
            let copied = writer.append_reader(reader, &scan).map_err(|error| match error.kind() {
                ErrorKind::Io if error.position() == &Position::default() => error,
                _ => error.in_file(input.name.clone()),
            })?;
            report.rows += copied;
            let losses = writer.take_losses();
            report.losses.extend(losses.into_iter().map(|loss| Lost { file: Some(input.name.clone()), loss }));
            before += count;
        }
        writer.into_inner()
    }
}

impl Target for IdvTarget {
    fn info(&self) -> TargetInfo {
        TargetInfo {
            name: "idv",
            format: IDV,
            title: "IDV, the format of ML.NET",
            extensions: &["idv"],
            stream: Streaming::Binary,
            unit: TargetUnit::TypedRows,
        }
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[COMPRESSION, LEVEL, ROWS_PER_BLOCK, BYTES_PER_BLOCK, NULL_INTEGERS, TIMES, SCHEMA]
    }

    fn set(&mut self, option: &str, value: &OsStr) -> Result<()> {
        match option {
            "compression" => self.compression = Some(compression(text(value)?)?),
            "level" => self.level = number(value)?.try_into().ok(),
            "rows_per_block" => self.rows_per_block = Some(number(value)?),
            "bytes_per_block" => self.bytes_per_block = Some(number(value)?),
            "null_integers" => self.missing_as_double = value == "double",
            _ => return Err(unknown_option(option)),
        }
        Ok(())
    }

    fn infers_narrow_types(&self) -> bool {
        true
    }

    fn read_schema(&self, path: &Path, _: &Opener<'_>, lost: &mut Vec<Lost>) -> Result<SchemaRef> {
        columnar::idv::read_schema(path, &[], lost)
    }

    fn run(&self, job: &Job<'_>, context: &mut Context<'_, '_>, report: &mut Report) -> Result<()> {
        if let Some(path) = job.path {
            let output = output::create(path, job.force, &job.inputs)?;
            let name = output.path().display().to_string();
            let output = self.write(job, output, context, report).map_err(|error| of_output(error, &name))?;
            return finish(output, report);
        }
        // The header is known last and stands first, which a stream cannot have.
        let temporary = |cause| Error::io("cannot keep the output in a temporary file", cause);
        let file = container_core::unnamed_file(&std::env::temp_dir()).map_err(temporary)?;
        let mut file = self.write(job, file, context, report)?;
        file.rewind().map_err(temporary)?;
        let stream = context.stream()?;
        io::copy(&mut file, stream).and_then(|_| stream.flush()).map_err(output::stream_failed)
    }
}

fn compression(name: &str) -> Result<idv::Compression> {
    match name {
        "none" => Ok(idv::Compression::None),
        "deflate" => Ok(idv::Compression::Deflate),
        "zlib" => Ok(idv::Compression::Zlib),
        _ => Err(Error::usage(format!("must be none, deflate or zlib for IDV, found {name:?}"))),
    }
}

/// Whether the columns of inputs have types.
fn has_types(kind: Kind) -> bool {
    match kind {
        Kind::Columns(name) | Kind::Renamed(name) => !has_no_schema(name),
        kind => matches!(kind, Kind::Idv | Kind::Container(DS)) || kind.is_netcdf(),
    }
}

/// Whether files of this format have no schema.
fn has_no_schema(name: &str) -> bool {
    TextFormat::named(name).is_some() || [zds::NAME, dataset::NAME].contains(&name)
}
