//! What a conversion is told, works with, and reports.

use std::io::Write;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_arrow::{BatchScan, Mapping, OnMismatch};
use container_core::{Error, ErrorKind, Output, OutputOptions, Overwrite, Result};
use serde_json::Value;

use super::super::env::Opener;
use super::super::inputs::Location;
use super::super::select::{self, Selection};
use super::super::{Bar, Listener, Lost};
use super::columnar::picked::Picked;
use super::options::{
    ColumnarOutput, DatadingsOutput, DsOutput, IdvOutput, NetcdfOutput, OutputForm, TextInput, ZdsOutput,
};

/// A conversion: inputs whose rows follow one another, which columns and rows are selected, and how each kind of output is written.
///
/// Inputs are files, data sets, stores, or folders of files; what they are follows from their content, or from [`TextInput::from`]. Several
/// inputs have to have the same columns with the same meaning: what differs and cannot be unified is an error that names it. Options of outputs
/// other than the one that is written are ignored. The same values get the same types whichever way they come.
///
/// ```no_run
/// use wharf::{Convert, Overwrite, Registry};
///
/// let report = Convert::new(["monday.csv", "tuesday.csv"])
///     .with_columns(["station", "temperature"])
///     .with_rows(0..1_000_000)
///     .write("days.parquet", Overwrite::Refuse, &Registry::builtin())?;
/// println!("{} rows, {} bytes", report.rows, report.bytes);
/// for lost in &report.losses {
///     eprintln!("{lost}");
/// }
/// # Ok::<(), wharf::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Convert {
    /// The inputs. Several have the same columns.
    pub inputs: Vec<Location>,
    /// Which columns and rows.
    pub selection: Selection,
    /// How inputs of text are read.
    pub text: TextInput,
    /// The output IDV.
    pub idv: IdvOutput,
    /// The output datadings.
    pub datadings: DatadingsOutput,
    /// The output ds.
    pub ds: DsOutput,
    /// The output NetCDF.
    pub netcdf: NetcdfOutput,
    /// The output ZDS.
    pub zds: ZdsOutput,
    /// The outputs Parquet and Arrow IPC.
    pub columnar: ColumnarOutput,
    /// Some of the rows, in another order; of formats that are read in columns.
    pub(in crate::hub) picked: Option<Arc<Picked>>,
    /// Who hears how far the work is.
    pub(in crate::hub) progress: Listener,
}

/// Where a conversion writes.
#[non_exhaustive]
pub enum To<'a> {
    /// A file, a set of files, or a folder, whole or not at all.
    Path(&'a Path, Overwrite),
    /// A stream; what was written before an error stays there.
    Stream(&'a mut (dyn Write + Send)),
}

/// What has been done, also before an error.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Rows written, or samples, or documents.
    pub rows: u64,
    /// Columns written, where the output has columns.
    pub columns: usize,
    /// Variables written, where the output has variables.
    pub variables: usize,
    /// Bytes of the output; 0 for streams.
    pub bytes: u64,
    /// What could not be kept.
    pub losses: Vec<Lost>,
    /// The types inferred for the columns of a text that became IDV, as `wharf info --json` has them.
    pub schema: Option<Value>,
    /// Columns whose types were inferred, and these types.
    pub inferred: Vec<(String, String)>,
    /// The texts of labels that are numbers in the samples.
    pub labels: Option<Vec<String>>,
    /// The collection of documents that was written.
    pub collection: Option<String>,
    /// Documents that had no id, and have their number as one.
    pub numbered: u64,
    /// Columns of the last table that were left out because the sink shows no more.
    pub hidden: usize,
    /// It was the output that failed, and not an input.
    pub sink_failed: bool,
    /// The labels that a dictionary of the output has to count, and does not.
    pub(super) dictionary: Option<u64>,
}

impl Convert {
    /// Of files, one after the other.
    #[must_use]
    pub fn new<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Self {
        Self { inputs: Location::all(inputs), ..Self::default() }
    }

    /// Only these columns, in this order.
    #[must_use]
    pub fn with_columns<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.selection.columns = quoted(names);
        self
    }

    /// Only these rows, counted from 0 over all inputs.
    #[must_use]
    pub fn with_rows(mut self, rows: Range<u64>) -> Self {
        self.selection.rows = Some(select::RowRange { rows, one: false });
        self
    }
}

/// Names as selections have them: quoted, as a name may hold a comma.
pub(in crate::hub) fn quoted<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Vec<String> {
    names.into_iter().map(|name| format!("\"{}\"", name.into().replace('"', "\"\""))).collect()
}

/// A conversion with its output.
pub(super) struct Job<'a> {
    pub(super) convert: &'a Convert,
    pub(super) form: OutputForm,
    /// `None` for a stream.
    pub(super) path: Option<&'a Path>,
    pub(super) force: bool,
}

impl Deref for Job<'_> {
    type Target = Convert;

    fn deref(&self) -> &Convert {
        self.convert
    }
}

impl Job<'_> {
    /// The path of an output that is no stream of bytes.
    pub(super) fn path(&self, what: &str) -> Result<&Path> {
        self.path.ok_or_else(|| Error::usage(format!("{what}, which a stream is not: give a path")))
    }

    /// The rows that are wanted, over all inputs.
    pub(super) fn rows(&self) -> Range<u64> {
        let rows = self.selection.rows.as_ref().map_or(0..u64::MAX, |range| range.rows.clone());
        let end = self.selection.limit.map_or(rows.end, |limit| rows.start.saturating_add(limit).min(rows.end));
        rows.start..end
    }

    /// Fails when the rows that are wanted begin behind all there are.
    pub(super) fn check_rows(&self, passed: u64) -> Result<()> {
        match &self.selection.rows {
            Some(range) if passed < self.rows().end => range.check(passed),
            _ => Ok(()),
        }
    }

    /// Columns by name, where the input does not say beforehand which there are.
    pub(super) fn columns(&self) -> Result<Option<Vec<String>>> {
        let mut names: Vec<String> = Vec::new();
        for argument in &self.selection.columns {
            for name in select::split(argument)? {
                if names.contains(&name) {
                    return Err(Error::usage(format!("the column {name:?} is chosen twice")));
                }
                names.push(name);
            }
        }
        Ok(Some(names).filter(|names| !names.is_empty()))
    }

    /// How the output is written, whole or not at all.
    pub(super) fn output_options(&self) -> OutputOptions {
        OutputOptions::default().with_overwrite(if self.force { Overwrite::Replace } else { Overwrite::Refuse })
    }

    /// Are all variables wanted, whole?
    pub(super) fn is_whole(&self) -> bool {
        self.selection.columns.is_empty() && !self.is_cut()
    }

    /// Are some rows wanted?
    pub(super) fn is_cut(&self) -> bool {
        self.selection.rows.is_some() || self.selection.limit.is_some()
    }

    /// Refuses to say two things of values that do not fit.
    pub(super) fn check_mismatch(&self) -> Result<()> {
        let detail = match self.columnar.on_mismatch {
            _ if self.text.schema.is_none() => return Ok(()),
            None | Some(OnMismatch::Error) => return Ok(()),
            _ if self.form == OutputForm::Idv => {
                "says the types of columns, and what does not fit into them is an error in IDV"
            }
            Some(OnMismatch::Json | OnMismatch::Msgpack) => {
                "says the types of columns, and what does not fit may be an error or null: the type JSON takes anything"
            }
            _ => return Ok(()),
        };
        Err(Error::usage(detail).in_option("schema"))
    }

    /// How batches are read.
    pub(super) fn scan(&self) -> BatchScan {
        let mut mapping = Mapping::default();
        mapping.times = self.columnar.times.unwrap_or(mapping.times);
        mapping.sparse = self.columnar.sparse.unwrap_or(mapping.sparse);
        mapping.on_mismatch = self.columnar.on_mismatch.unwrap_or(mapping.on_mismatch);
        mapping.narrow = self.form == OutputForm::Idv;
        let scan = BatchScan::from(self.selection.reading.scan()).with_mapping(mapping);
        match self.columnar.batch_rows {
            Some(rows) => scan.with_batch_rows(usize::try_from(rows).unwrap_or(usize::MAX)),
            None => scan,
        }
    }
}

/// What a conversion works with.
pub(super) struct Env<'e, 'o> {
    pub(super) opener: &'e mut Opener<'o>,
    pub(super) bar: &'e Arc<Bar>,
    /// Where the output goes that has no path.
    pub(super) stream: Option<&'e mut (dyn Write + Send)>,
}

impl Env<'_, '_> {
    pub(super) fn stream(&mut self) -> Result<&mut (dyn Write + Send)> {
        match &mut self.stream {
            Some(stream) => Ok(*stream),
            None => Err(Error::usage("there is no output")),
        }
    }
}

/// Moves a file into place.
pub(super) fn finish(output: Output, report: &mut Report) -> Result<()> {
    report.bytes = output.file().metadata().map_or(0, |metadata| metadata.len());
    output.finish()
}

/// An error that names no input is one of the output.
pub(super) fn of_output(error: Error, name: &str) -> Error {
    match error.kind() {
        // Errors of inputs name their file already.
        ErrorKind::Io => error.in_file(name.to_owned()),
        _ => error,
    }
}
