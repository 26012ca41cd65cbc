//! Recovery of the intact part of a truncated or damaged file.

mod ranges;
mod repair;
mod rows;
mod scan;
mod sequence;

use std::collections::{HashMap, HashSet};
use std::io::{Seek, Write};
use std::ops::Range;
use std::sync::Arc;

use container_core::{Error, ErrorKind, Loss, OpenOptions, Position, Progress, Result, Source, Unit};

use self::ranges::{RangeSet, total};
use self::repair::RepairedValues;
use self::scan::{ColumnDamage, scan};
use crate::FORMAT_NAME;
use crate::check;
use crate::codec::Values;
use crate::read::Reader;
use crate::schema::{MetadataSchema, Schema};
use crate::wire::{ItemType, Type};
use crate::write::{Writer, WriterOptions};

/// The recoverable part of a truncated or damaged file, determined by decoding every block.
///
/// ```
/// # fn main() -> container_core::Result<()> {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/real-adult.idv");
/// use std::io::Cursor;
/// use container_core::Source;
/// use idv::{Recovery, WriterOptions};
///
/// let mut bytes = std::fs::read(path).unwrap();
/// bytes[6000] ^= 1; // damages one of the three blocks of one of 14 columns
/// let recovery = Recovery::survey(Source::from(bytes), &Default::default())?;
/// assert_eq!((recovery.column_names().len(), recovery.row_count()), (13, 500));
/// let (out, losses) = recovery.write(Cursor::new(Vec::new()), WriterOptions::default())?;
/// assert_eq!(losses.len(), 1);
/// # Ok(())
/// # }
/// ```
pub struct Recovery {
    reader: Reader,
    /// Row count declared by the file.
    declared: u64,
    /// The schema given for a lost table of contents.
    declared_schema: Option<Schema>,
    /// Problems of header, tail and table of contents.
    findings: Vec<Error>,
    columns: Vec<ColumnDamage>,
    /// Indices of the columns to write.
    selected: Vec<usize>,
    /// Rows that are intact in all of them.
    rows: Vec<Range<u64>>,
}

/// Options of [`Recovery::survey`].
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct RecoverOptions {
    /// Options for reading the file.
    pub open: OpenOptions,
    /// Only these columns, by unique name, in this order, even if that loses rows.
    pub columns: Option<Vec<String>>,
    /// The schema of a file whose table of contents is lost, for example from another file of the same origin. Blocks are then found by
    /// scanning, which requires that they are in the order of rows and columns: [`Writer`] writes them so, ML.NET only with a
    /// deterministic block order.
    pub schema: Option<Schema>,
    /// Threads for decoding; 0 uses all.
    pub threads: usize,
    /// Receives progress in rows: of all columns while surveying, then of the rows written.
    pub progress: Option<Arc<dyn Progress>>,
}

impl RecoverOptions {
    /// Replaces [`columns`](Self::columns).
    #[must_use]
    pub fn with_columns<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Replaces [`schema`](Self::schema).
    #[must_use]
    pub fn with_schema(mut self, schema: Schema) -> Self {
        self.schema = Some(schema);
        self
    }

    /// Replaces [`threads`](Self::threads).
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Replaces [`progress`](Self::progress).
    #[must_use]
    pub fn with_progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = Some(progress);
        self
    }
}

impl Recovery {
    /// Opens what is left of a file and decodes every block.
    ///
    /// Keeps the columns and rows that maximize the number of values: a badly damaged column may be dropped in favor of rows.
    /// [`RecoverOptions::columns`] overrides the choice.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io); why nothing is recoverable: no header, a lost table of contents, no intact block; [`Usage`](ErrorKind::Usage)
    /// for an unknown column.
    pub fn survey(source: Source, options: &RecoverOptions) -> Result<Self> {
        let (reader, findings, declared, declared_schema) =
            match (Reader::salvage(source.clone(), options.open), &options.schema) {
                (Err(lost), Some(schema)) if lost.kind() != ErrorKind::Io => {
                    let salvaged = sequence::salvage(&source, schema, options, lost);
                    let (reader, findings, rows) = salvaged.map_err(|error| error.in_format(FORMAT_NAME))?;
                    (reader, findings, rows, Some(schema.clone()))
                }
                (salvaged, _) => {
                    let (reader, findings) = salvaged?;
                    let rows = reader.row_count();
                    (reader, findings, rows, None)
                }
            };
        if let Some(progress) = &options.progress {
            let readable = reader.readable().len() as u64;
            progress.begin(Unit::Rows, Some(reader.row_count().saturating_mul(readable)));
        }
        let columns = scan(&reader, options)?;
        let mut recovery =
            Self { reader, declared, declared_schema, findings, columns, selected: Vec::new(), rows: Vec::new() };
        recovery.select(options.columns.as_deref())?;
        Ok(recovery)
    }

    /// Problems of header, tail and table of contents. They do not imply a loss of values.
    #[must_use]
    pub fn findings(&self) -> &[Error] {
        &self.findings
    }

    /// Returns the [`findings`](Self::findings) by value.
    #[must_use]
    pub fn into_findings(self) -> Vec<Error> {
        self.findings
    }

    /// Names of the columns to write.
    #[must_use]
    pub fn column_names(&self) -> Vec<&str> {
        self.selected.iter().filter_map(|&index| self.columns.get(index)).map(|column| column.name.as_str()).collect()
    }

    /// Number of rows to write.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        total(&self.rows)
    }

    /// The rows to write: increasing ranges of row numbers in the damaged file.
    #[must_use]
    pub fn rows(&self) -> &[Range<u64>] {
        &self.rows
    }

    /// Row count declared by the file.
    #[must_use]
    pub fn rows_declared(&self) -> u64 {
        self.declared
    }

    /// Selects the columns and, by them, the rows.
    fn select(&mut self, requested: Option<&[String]>) -> Result<()> {
        let rows = self.reader.row_count();
        self.selected = match requested {
            Some(names) => {
                let all = self.columns.iter().enumerate().map(|(index, column)| (column.name.as_str(), index));
                let by_name: HashMap<&str, usize> = all.collect();
                let find = |name: &String| {
                    let found = by_name.get(name.as_str()).copied();
                    found.ok_or_else(|| Error::usage(format!("unknown column {name:?}")).in_format(FORMAT_NAME))
                };
                let mut unique = HashSet::new();
                if let Some(duplicate) = names.iter().find(|name| !unique.insert(name.as_str())) {
                    return Err(Error::usage(format!("column {duplicate:?} is selected twice")).in_format(FORMAT_NAME));
                }
                names.iter().map(find).collect::<Result<_>>()?
            }
            None => self.best(rows),
        };
        let unreadable = self.selected.iter().filter_map(|&index| self.columns.get(index));
        if let Some((name, why)) =
            unreadable.filter_map(|column| Some((&column.name, column.unreadable.as_ref()?))).next()
        {
            return Err(Error::invalid(why.clone()).in_column(name.clone()).in_format(FORMAT_NAME));
        }
        let mut damaged = RangeSet::default();
        for column in self.selected.iter().filter_map(|&index| self.columns.get(index)) {
            column.damaged.iter().for_each(|range| damaged.add(range));
        }
        self.rows = damaged.complement(rows);
        let declared = self.reader.header().columns;
        if declared > 0 && !self.columns.iter().any(|column| column.unreadable.is_none()) {
            let error = Error::invalid(format!("none of {declared} columns can be read")).in_format(FORMAT_NAME);
            let why = self.columns.iter().find_map(|column| column.unreadable.clone());
            let why = why.or_else(|| self.findings.last().map(ToString::to_string));
            return Err(match why {
                Some(why) => error.caused_by(why),
                None => error,
            });
        }
        if self.rows.is_empty() && rows > 0 || self.selected.is_empty() && declared > 0 {
            let first = self.columns.iter().find_map(|column| column.first.as_ref());
            let mut error = Error::invalid("no row is intact in all readable columns").in_format(FORMAT_NAME);
            if let Some(cause) = first {
                error = error.caused_by(cause.to_string());
            }
            return Err(error);
        }
        Ok(())
    }

    /// The columns that maximize the number of values in rows intact in all of them.
    fn best(&self, rows: u64) -> Vec<usize> {
        let mut readable: Vec<usize> = (0..self.columns.len())
            .filter(|&index| self.column(index).is_some_and(|c| c.unreadable.is_none()))
            .collect();
        if rows == 0 {
            return readable;
        }
        // Sorted by damage, the best selection is a prefix.
        readable.sort_by_key(|&index| self.column(index).map_or(0, |column| total(&column.damaged)));
        let (mut best, mut most_values) = (0, 0);
        let mut damaged = RangeSet::default();
        for (count, &index) in readable.iter().enumerate() {
            if let Some(column) = self.column(index) {
                column.damaged.iter().for_each(|range| damaged.add(range));
            }
            let values = u128::from(rows - damaged.total()) * (count as u128 + 1);
            if values > 0 && values >= most_values {
                (best, most_values) = (count + 1, values);
            }
        }
        readable.truncate(best);
        readable.sort_unstable();
        readable
    }

    fn column(&self, index: usize) -> Option<&ColumnDamage> {
        self.columns.get(index)
    }

    /// Writes the intact part and returns the losses: columns, rows, metadata, and invalid values (written as missing).
    ///
    /// # Errors
    /// As [`Writer::append_columns`]; [`Io`](ErrorKind::Io) of the source.
    pub fn write<W: Write + Seek>(&self, sink: W, options: WriterOptions) -> Result<(W, Vec<Loss>)> {
        let mut losses = self.lost();
        let schema = self.schema(&mut losses)?;
        let kinds: Vec<Type> = schema.columns.iter().map(|column| column.kind.clone()).collect();
        let mut repaired: Vec<RepairedValues> = kinds.iter().map(|_| RepairedValues::default()).collect();
        let threads = options.threads;
        let mut writer = Writer::new(sink, schema, options)?;
        rows::copy(self, &mut writer, &kinds, &mut repaired, threads)?;
        for (repaired, name) in repaired.into_iter().zip(self.column_names()) {
            losses.extend(repaired.loss(name));
        }
        Ok((writer.into_inner()?, losses))
    }

    /// Losses of columns and rows.
    fn lost(&self) -> Vec<Loss> {
        let mut losses = Vec::new();
        let rows = self.reader.row_count();
        let selected: HashSet<usize> = self.selected.iter().copied().collect();
        for (index, column) in self.columns.iter().enumerate() {
            let mut first = Position::of_column(column.name.clone());
            let lost = total(&column.damaged);
            if let Some(why) = &column.unreadable {
                losses.push(Loss::new(format!("column lost ({why})"), 1, first));
            } else if !selected.contains(&index) {
                let what = match lost {
                    0 => "column left out".to_owned(),
                    lost => format!("column left out: {lost} of its {rows} rows are damaged ({})", column.why()),
                };
                if lost > 0 {
                    losses.push(Loss::new(what, 1, first));
                }
            } else if lost > 0 {
                first.row = column.damaged.first().map(|range| range.start);
                let s = if column.blocks == 1 { "" } else { "s" };
                let what = format!("rows of {} damaged block{s} lost ({})", column.blocks, column.why());
                losses.push(Loss::new(what, lost, first));
            }
        }
        if self.declared > rows {
            let first = Position::of_row(rows);
            losses.push(Loss::new("rows after the last complete blocks lost", self.declared - rows, first));
        }
        losses
    }

    /// The schema of the selected columns, with all readable metadata.
    fn schema(&self, losses: &mut Vec<Loss>) -> Result<Schema> {
        let mut schema = Schema::default();
        let mut budget = self.reader.memory_budget();
        for &index in &self.selected {
            let mut column = self.reader.column_schema(index, None)?;
            if let Some(declared_schema) =
                self.declared_schema.as_ref().and_then(|declared_schema| declared_schema.columns.get(index))
            {
                column.metadata.clone_from(&declared_schema.metadata);
            }
            let name = self.column(index).map(|column| column.name.clone()).unwrap_or_default();
            let mut lose = |what: String| {
                losses.push(Loss::new(what, 1, Position::of_column(name.clone())));
            };
            if column.name.is_empty() {
                column.name = format!("column {index}");
                lose(format!("empty name, which ML.NET rejects, written as {:?}", column.name));
            }
            match self.reader.metadata(index) {
                Err(error) if error.kind() == ErrorKind::Io => return Err(error),
                Err(error) => lose(format!("all metadata lost ({})", error.detail())),
                Ok(all) => {
                    let mut kinds: HashSet<String> = column.metadata.iter().map(|one| one.kind.clone()).collect();
                    for item in all {
                        let duplicate = kinds.contains(item.kind());
                        let value = self.reader.metadata_value_within(index, &item, &mut budget);
                        match (value, item.value_type()) {
                            (Ok(value), Ok(value_type)) if !is_writable(value_type, &value) => {
                                lose(format!("metadata {:?} lost: invalid value", item.kind()));
                            }
                            (Ok(value), Ok(value_type)) if !duplicate && !item.kind().is_empty() => {
                                let value_type = value_type.for_writing(self.reader.header().version);
                                let kind = item.kind().to_owned();
                                kinds.insert(kind.clone());
                                column.metadata.push(MetadataSchema { kind, value_type, value });
                            }
                            (Ok(_), _) => lose(format!("metadata {:?} lost: duplicate or empty kind", item.kind())),
                            (Err(error), _) if error.kind() == ErrorKind::Io => return Err(error),
                            (Err(error), _) => lose(format!("metadata lost ({})", error.detail())),
                        }
                    }
                }
            }
            schema.columns.push(column);
        }
        Ok(schema)
    }
}

/// Whether a metadata value can be written.
fn is_writable(value_type: &Type, value: &Values) -> bool {
    matches!(value_type.item(), ItemType::Key(_))
        || check::validate_for_writing(value_type, value, 0..value.len()).is_ok()
}
