//! Extracts fields of rows into files: the way back of importing files.

mod archive;
mod names;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, SchemaRef};
use container_arrow::{BatchWriter, from_arrow};
use container_core::{Error, Loss, Overwrite, Position, Result};

use super::convert::{Convert, Report, quoted};
use super::env::Opener;
use super::query::{accept_mixed_types, scalar_of};
use super::{Lost, output, select};
use crate::Registry;
use archive::Archive;
pub use archive::ArchiveForm;
use names::{Names, Part, Pattern};

/// Extracts fields of rows into files of a folder, a tar archive or a ZIP archive, which appears whole or not at all.
///
/// Bytes and texts are the content of files as they are; other values are written as JSON. Values of one field can have different types; bytes
/// among them are an error. Nulls have no file, and are reported as a loss. With several fields, each file is called `NAME.FIELD`: such a tar archive is a shard of WebDataset, whose names have no dots.
///
/// Names are made of values, and therefore checked: they are relative, without `..`, control characters, backslashes and colons, and occur once.
///
/// ```no_run
/// use wharf::{Extract, Overwrite, Registry};
///
/// let extract = Extract::new("train.msgpack", ["image"]).with_name("{label}/{key}.jpg");
/// let report = extract.write("images/", Overwrite::Refuse, &Registry::builtin())?;
/// println!("{} files", report.rows);
/// # Ok::<(), wharf::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Extract {
    /// The inputs, and which rows.
    pub inputs: Convert,
    /// The columns whose values are the content of files.
    pub fields: Vec<String>,
    /// A column, or a pattern such as `{label}/{key}.jpg` of columns and the row number `{row}`, counted from the first row of the inputs.
    /// `None`: the key of a row, otherwise its number.
    pub name: Option<String>,
    /// What is written; `None`: what the extension stands for.
    pub form: Option<ArchiveForm>,
}

/// Columns with the key of a row: of datadings and files, of ZDS, of WebDataset.
const KEYS: [&str; 3] = ["key", "_id", "__key__"];

impl Extract {
    /// Extracts fields of a file.
    #[must_use]
    pub fn new<F: Into<String>>(input: impl Into<PathBuf>, fields: impl IntoIterator<Item = F>) -> Self {
        Self::of(Convert::new([input]), fields)
    }

    /// Extracts fields of the selected rows of these inputs.
    #[must_use]
    pub fn of<F: Into<String>>(inputs: Convert, fields: impl IntoIterator<Item = F>) -> Self {
        Self { inputs, fields: fields.into_iter().map(Into::into).collect(), name: None, form: None }
    }

    /// Sets the column, or the pattern, that names files.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Writes the files to `path`.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn write(&self, path: impl AsRef<Path>, overwrite: Overwrite, registry: &Registry) -> Result<Report> {
        let mut report = Report::default();
        self.run(path.as_ref(), overwrite, &mut Opener::new(registry.clone()), &mut report)?;
        Ok(report)
    }

    /// Writes the files to `path`. `report` counts the files as rows, also before an error.
    ///
    /// # Errors
    /// An input cannot be opened or read; a column is unknown; a name is not allowed or occurs twice; the output exists and is not to be replaced,
    /// or cannot be written.
    pub fn run(&self, path: &Path, overwrite: Overwrite, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let form = self.form.map_or_else(|| ArchiveForm::of(path), Ok)?;
        let options = output::options(path, overwrite == Overwrite::Replace, &self.inputs.inputs)?;
        if form == ArchiveForm::Folder && overwrite == Overwrite::Refuse && !is_free(path) {
            let error = Error::usage("the output exists").advising("{force} replaces it");
            return Err(error.in_file(path.display().to_string()));
        }
        let (inputs, pattern) = self.columns(opener)?;
        let named = |error: Error| error.in_file(path.display().to_string());
        let archive = Archive::create(form, path, options).map_err(named)?;
        let first = inputs.selection.rows.as_ref().map_or(0, |range| range.rows.start);
        let begin =
            |schema: SchemaRef| Writer::new(archive, self.fields.clone(), (pattern, first), &schema).map(Box::new);
        let mut read = Report::default();
        let written = inputs.read_batches(opener, &mut read, begin);
        report.losses.append(&mut read.losses);
        let writer = written?;
        report.rows = writer.files;
        if let Some(missing) = writer.missing {
            report.losses.push(Lost { file: None, loss: missing });
        }
        writer.archive.finish(overwrite).map_err(named)
    }

    /// The inputs with only the needed columns, and how files are named.
    fn columns(&self, opener: &mut Opener<'_>) -> Result<(Convert, Pattern)> {
        if self.fields.is_empty() {
            return Err(Error::usage("no field is selected").in_option("field"));
        }
        let pattern = match &self.name {
            Some(name) => Pattern::new(name)?,
            None => self.key(opener)?.map_or_else(Pattern::row, Pattern::column),
        };
        let mut names: Vec<&str> = Vec::new();
        for (at, field) in self.fields.iter().enumerate() {
            if self.fields.iter().take(at).any(|other| other == field) {
                return Err(Error::usage(format!("has {field:?} twice")).in_option("field"));
            }
        }
        for name in self.fields.iter().map(String::as_str).chain(pattern.columns()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut inputs = self.inputs.clone();
        inputs.selection.columns = quoted(names);
        // Each value becomes a file by itself.
        accept_mixed_types(&mut inputs);
        Ok((inputs, pattern))
    }

    /// The first of [`KEYS`] that an input has. Values, which can be of any type, are not read.
    fn key(&self, opener: &mut Opener<'_>) -> Result<Option<&'static str>> {
        let Convert { inputs, selection, text, .. } = &self.inputs;
        opener.apply(selection)?;
        opener.overrides = text.overrides()?;
        let mut first = KEYS.len();
        for location in inputs {
            let named = |error: Error| error.in_file(location.name());
            let opened = location.open(opener)?;
            let table = select::table(opened.container.as_ref(), selection.reading.table.as_deref()).map_err(named)?;
            let find = || KEYS.iter().position(|key| table.columns().iter().any(|column| column.name == *key));
            if find() != Some(0) {
                table.infer_columns().map_err(named)?;
            }
            first = first.min(find().unwrap_or(first));
        }
        Ok(KEYS.get(first).copied())
    }
}

/// Whether there is nothing at a path, or an empty folder.
fn is_free(path: &Path) -> bool {
    !path.exists() || path.read_dir().is_ok_and(|mut entries| entries.next().is_none())
}

/// Writes the files of batches.
struct Writer {
    archive: Archive,
    fields: Vec<(String, usize)>,
    /// Parts of names, and the column of each.
    pattern: Vec<(Part, usize)>,
    names: Names,
    /// The number of the next row, counted from the first one of the input.
    row: u64,
    files: u64,
    missing: Option<Loss>,
}

impl Writer {
    fn new(archive: Archive, fields: Vec<String>, (pattern, row): (Pattern, u64), schema: &SchemaRef) -> Result<Self> {
        let index = |name: &str| schema.index_of(name).map_err(from_arrow);
        let fields = fields.into_iter().map(|name| index(&name).map(|index| (name, index))).collect::<Result<_>>()?;
        let part = |part: &Part| match part {
            Part::Column(name) => Ok((part.clone(), index(name)?)),
            _ => Ok((part.clone(), 0)),
        };
        let pattern = pattern.parts().iter().map(part).collect::<Result<_>>()?;
        Ok(Self { archive, fields, pattern, names: Names::default(), row, files: 0, missing: None })
    }

    fn name(&self, cells: &Cells<'_>, row: usize) -> Result<String> {
        let mut name = String::new();
        for (part, index) in &self.pattern {
            match part {
                Part::Text(text) => name.push_str(text),
                Part::Row => name.push_str(&self.row.to_string()),
                Part::Column(column) => {
                    let value = cells.value(*index, row).map_err(|error| error.in_column(column.clone()))?;
                    let value =
                        value.ok_or_else(|| Error::invalid("null cannot name a file").in_column(column.clone()))?;
                    let text = String::from_utf8(value.into_owned());
                    let text = text.map_err(|_| {
                        Error::invalid("bytes that are not UTF-8 cannot name a file").in_column(column.clone())
                    })?;
                    name.push_str(&text);
                }
            }
        }
        Ok(name)
    }

    fn write_row(&mut self, cells: &Cells<'_>, row: usize) -> Result<()> {
        let name = self.name(cells, row)?;
        let is_shard = self.fields.len() > 1 && self.archive.is_tar();
        if is_shard && name.rsplit('/').next().is_some_and(|name| name.contains('.')) {
            let detail = format!("the name {name:?} has a dot, where readers of WebDataset look for the field");
            return Err(Error::invalid(detail).advising("{name} makes other names, such as those of row numbers"));
        }
        for at in 0..self.fields.len() {
            let Some((field, index)) = self.fields.get(at) else { continue };
            let name = if self.fields.len() == 1 { name.clone() } else { format!("{name}.{field}") };
            let content = cells.value(*index, row).map_err(|error| error.in_column(field.clone()))?;
            let Some(content) = content else {
                let first = Position::of_column(field.clone()).in_row(self.row);
                self.missing.get_or_insert_with(|| Loss::new("no file for a null", 0, first)).count += 1;
                continue;
            };
            self.names.add(&name)?;
            self.archive.add(&name, &content)?;
            self.files += 1;
        }
        Ok(())
    }
}

impl BatchWriter for Writer {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        // A dictionary can have nulls among its values.
        let nulls = batch.columns().iter().map(|column| column.logical_nulls()).collect();
        let cells = Cells { batch, nulls };
        for row in 0..batch.num_rows() {
            self.write_row(&cells, row).map_err(|error| error.in_row(self.row))?;
            self.row += 1;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<Loss>> {
        Ok(self.missing.into_iter().collect())
    }
}

/// The values of a batch, and which of them are null.
struct Cells<'b> {
    batch: &'b RecordBatch,
    nulls: Vec<Option<NullBuffer>>,
}

impl Cells<'_> {
    /// The bytes of a value: of texts and bytes as they are, otherwise JSON. `None` for null.
    ///
    /// # Errors
    /// Bytes in a column of JSON, where they are text.
    fn value(&self, column: usize, row: usize) -> Result<Option<Cow<'_, [u8]>>> {
        let fields = self.batch.schema_ref().fields();
        let Some((array, field)) = self.batch.columns().get(column).zip(fields.get(column)) else { return Ok(None) };
        if self.nulls.get(column).is_some_and(|nulls| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))) {
            return Ok(None);
        }
        let content = match array.data_type() {
            DataType::Utf8 => Cow::Borrowed(array.as_string::<i32>().value(row).as_bytes()),
            DataType::LargeUtf8 => Cow::Borrowed(array.as_string::<i64>().value(row).as_bytes()),
            DataType::Utf8View => Cow::Borrowed(array.as_string_view().value(row).as_bytes()),
            DataType::Binary => Cow::Borrowed(array.as_binary::<i32>().value(row)),
            DataType::LargeBinary => Cow::Borrowed(array.as_binary::<i64>().value(row)),
            DataType::BinaryView => Cow::Borrowed(array.as_binary_view().value(row)),
            DataType::FixedSizeBinary(_) => Cow::Borrowed(array.as_fixed_size_binary().value(row)),
            _ => {
                let json = scalar_of(array, row)?;
                // Texts of dictionaries, times and others without quotes.
                let text = serde_json::from_str::<String>(json.get());
                text.unwrap_or_else(|_| json.get().to_owned()).into_bytes().into()
            }
        };
        if field.extension_type_name() != Some("arrow.json") {
            return Ok(Some(content));
        }
        if content.starts_with(br#"{"$bytes":"#) {
            return Err(Error::unsupported("bytes in a column with values of other types cannot become a file"));
        }
        Ok(Some(match serde_json::from_slice::<String>(&content) {
            Ok(text) => text.into_bytes().into(),
            Err(_) => content,
        }))
    }
}
