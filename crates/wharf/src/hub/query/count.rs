//! Counts rows, of all or of each group.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::PathBuf;

use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrowNativeTypeOp, ArrowPrimitiveType, PrimitiveArray, RecordBatch, make_array};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use container_arrow::{BatchWriter, JsonRows, from_arrow, parse_time};
use container_core::{Error, Loss, Result};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::super::convert::{Convert, Report};
use super::super::env::Opener;
use super::super::select;
use crate::Registry;

/// Counts the selected rows of inputs, of all or of each group.
///
/// ```no_run
/// use wharf::{Count, Registry};
///
/// let registry = Registry::builtin();
/// println!("{} rows", Count::new(["a.parquet", "b.parquet"]).total(&registry)?);
/// for group in Count::new(["adult.idv"]).by(["Label"]).groups(&registry)? {
///     println!("{} {}", group.values.get(), group.count);
/// }
/// # Ok::<(), wharf::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Count {
    /// Inputs, rows, and how text is read. The selected columns are those that make groups.
    pub inputs: Convert,
    /// Maximum bytes of the values of all groups. Default: 256 MiB.
    pub max_bytes: usize,
}

/// Rows with the same values.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Group {
    /// The values: an object of all columns, as `cat` prints it.
    pub values: Box<RawValue>,
    /// Number of rows.
    pub count: u64,
}

/// `{"rows": count, "values": values}`
impl Serialize for Group {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("rows", &self.count)?;
        map.serialize_entry("values", &self.values)?;
        map.end()
    }
}

/// What a group takes in memory besides its values.
const GROUP_BYTES: usize = 64;

impl Count {
    /// Counts the rows of files.
    #[must_use]
    pub fn new<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Self {
        Self::of(Convert::new(inputs))
    }

    /// Counts the selected rows of these inputs.
    #[must_use]
    pub fn of(inputs: Convert) -> Self {
        Self { inputs, max_bytes: 256 << 20 }
    }

    /// Makes groups of the rows that have the same values in these columns.
    #[must_use]
    pub fn by<N: Into<String>>(mut self, columns: impl IntoIterator<Item = N>) -> Self {
        self.inputs = self.inputs.with_columns(columns);
        self
    }

    /// The number of rows of all inputs.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn total(&self, registry: &Registry) -> Result<u64> {
        self.run(&mut Opener::new(registry.clone()))
    }

    /// The number of rows of each group, the largest first.
    ///
    /// # Errors
    /// As [`run_groups`](Self::run_groups).
    pub fn groups(&self, registry: &Registry) -> Result<Vec<Group>> {
        self.run_groups(&mut Opener::new(registry.clone()), &mut Report::default())
    }

    /// The number of rows of all inputs. Headers tell it in most formats; otherwise rows are counted as they are read. Columns of several inputs
    /// may differ.
    ///
    /// # Errors
    /// An input cannot be opened or read; a range of rows begins after the last one.
    pub fn run(&self, opener: &mut Opener<'_>) -> Result<u64> {
        let selection = &self.inputs.selection;
        opener.apply(selection)?;
        opener.overrides = self.inputs.text.overrides()?;
        opener.allow_lacking(&self.inputs.inputs, selection, self.inputs.union);
        let progress = &self.inputs.progress.0;
        let mut all = 0_u64;
        for location in &self.inputs.inputs {
            let named = |error: Error| error.in_file(location.name());
            progress.name(&location.name());
            let opened = location.open(opener)?;
            let table = select::table(opened.container.as_ref(), selection.reading.table.as_deref()).map_err(named)?;
            let rows = match table.len() {
                Some(len) => len,
                None => {
                    progress.begin(container_core::Unit::Rows, None);
                    count_rows(table, self, progress.as_ref()).map_err(named)?
                }
            };
            all = all.saturating_add(rows);
        }
        let rows = selection.rows.as_ref().map_or(0..u64::MAX, |range| range.rows.clone());
        if let Some(range) = &selection.rows {
            range.check(all)?;
        }
        let selected = all.min(rows.end).saturating_sub(rows.start);
        Ok(selection.limit.map_or(selected, |limit| selected.min(limit)))
    }

    /// The number of rows of each group: the largest first, equal ones by their values. `report` has the losses.
    ///
    /// # Errors
    /// As [`run`](Self::run); a column is unknown; inputs differ in the meaning of a column; [`Limit`](crate::ErrorKind::Limit) when the groups
    /// exceed [`max_bytes`](Self::max_bytes).
    pub fn run_groups(&self, opener: &mut Opener<'_>, report: &mut Report) -> Result<Vec<Group>> {
        let mut inputs = self.inputs.clone();
        super::accept_mixed_types(&mut inputs);
        let max_bytes = self.max_bytes;
        let groups = super::with_exact_times(&inputs, report, |inputs, report| {
            inputs.read_batches(opener, report, |schema| {
                let types = schema.fields().iter().map(|field| field.data_type().clone()).collect();
                Ok(Box::new(Groups { types, counts: HashMap::new(), bytes: 0, max_bytes }))
            })
        })?;
        let types = groups.types;
        let parsed = groups.counts.into_iter().map(|(json, count)| {
            let values: Map<String, Value> = serde_json::from_slice(&json)?;
            let json = String::from_utf8_lossy(&json).into_owned();
            Ok((values, Group { values: RawValue::from_string(json)?, count }))
        });
        let parsed: serde_json::Result<Vec<_>> = parsed.collect();
        let mut groups = parsed.map_err(|cause| Error::invalid("invalid JSON of a group").caused_by(cause))?;
        groups.sort_by(|(one, group), (other, more)| {
            let values = || {
                let values = one.values().zip(other.values()).zip(&types);
                let mut orders = values.map(|((one, other), data_type)| compare(one, other, data_type));
                orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            };
            more.count.cmp(&group.count).then_with(values)
        });
        Ok(groups.into_iter().map(|(_, group)| group).collect())
    }
}

/// Counts the rows of a table that does not know their number.
fn count_rows(
    table: &dyn container_core::Table,
    count: &Count,
    progress: &dyn container_core::Progress,
) -> Result<u64> {
    /// Rows between two progress reports.
    const REPORTED: u64 = 1 << 16;
    let scan = count.inputs.selection.reading.scan().with_columns([]);
    let mut rows = table.rows(&scan)?;
    let mut counted = 0;
    while rows.advance()? {
        counted += 1;
        if counted % REPORTED == 0 {
            progress.advance(REPORTED)?;
        }
    }
    Ok(counted)
}

/// Counts rows by their JSON.
struct Groups {
    /// The types of the columns.
    types: Vec<DataType>,
    counts: HashMap<Box<[u8]>, u64>,
    bytes: usize,
    max_bytes: usize,
}

impl BatchWriter for Groups {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let batch = with_one_zero(batch)?;
        let mut rows = JsonRows::new(&batch)?;
        let mut json = Vec::new();
        for row in 0..rows.len() {
            json.clear();
            rows.write(row, &mut json)?;
            if let Some(count) = self.counts.get_mut(json.as_slice()) {
                *count += 1;
                continue;
            }
            self.bytes = self.bytes.saturating_add(json.len() + GROUP_BYTES);
            if self.bytes > self.max_bytes {
                let error = Error::limit("bytes of all groups", self.bytes as u64, self.max_bytes as u64);
                return Err(error.advising("group by columns with fewer distinct values"));
            }
            self.counts.insert(json.as_slice().into(), 1);
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<Loss>> {
        Ok(Vec::new())
    }
}

/// A batch with 0 for -0, which are equal.
fn with_one_zero(batch: &RecordBatch) -> Result<RecordBatch> {
    let schema = batch.schema();
    if !schema.flattened_fields().iter().any(|field| field.data_type().is_floating()) {
        return Ok(batch.clone());
    }
    let columns = batch.columns().iter().map(|column| Ok(make_array(one_zero(column.to_data())?)));
    RecordBatch::try_new(schema, columns.collect::<Result<_>>()?).map_err(from_arrow)
}

fn one_zero(data: ArrayData) -> Result<ArrayData> {
    fn positive<T: ArrowPrimitiveType>(data: ArrayData) -> ArrayData {
        PrimitiveArray::<T>::from(data).unary::<_, T>(|value| value.add_wrapping(T::Native::ZERO)).into_data()
    }
    match data.data_type() {
        DataType::Float16 => Ok(positive::<Float16Type>(data)),
        DataType::Float32 => Ok(positive::<Float32Type>(data)),
        DataType::Float64 => Ok(positive::<Float64Type>(data)),
        _ if data.child_data().is_empty() => Ok(data),
        _ => {
            let children = data.child_data().iter().cloned().map(one_zero).collect::<Result<_>>()?;
            data.into_builder().child_data(children).build().map_err(from_arrow)
        }
    }
}

/// Nulls first, then numbers and times, texts by bytes, and others by their JSON.
fn compare(one: &Value, other: &Value, data_type: &DataType) -> Ordering {
    if is_float(data_type)
        && let (Some(one), Some(other)) = (float(one), float(other))
    {
        return one.total_cmp(&other);
    }
    let rank = |value: &Value| match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) | Value::Object(_) => 4,
    };
    match (one, other) {
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Number(one), Value::Number(other)) => {
            let integer = |number: &serde_json::Number| number.as_i128();
            match (integer(one), integer(other)) {
                (Some(one), Some(other)) => one.cmp(&other),
                _ => one.as_f64().partial_cmp(&other.as_f64()).unwrap_or(Ordering::Equal),
            }
        }
        (Value::String(one), Value::String(other)) => compare_texts(one, other, data_type),
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => {
            one.to_string().cmp(&other.to_string())
        }
        _ => rank(one).cmp(&rank(other)),
    }
}

fn is_float(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_float(values),
        other => other.is_floating(),
    }
}

/// The float of a JSON value, in which infinities and NaN are texts. NaN is the greatest.
fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// Decimals and times, which are texts in JSON, by their values.
fn compare_texts(one: &str, other: &str, data_type: &DataType) -> Ordering {
    if data_type.is_decimal() {
        // All have the same number of digits after the point.
        let parts = |text: &str| {
            let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
            let digits = digits.trim_start_matches('0').to_owned();
            (is_negative, digits.len(), digits)
        };
        let (one, other) = (parts(one), parts(other));
        return match (one.0, other.0) {
            (false, false) => one.cmp(&other),
            (true, true) => other.cmp(&one),
            (is_negative, _) => {
                if is_negative {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
        };
    }
    match (parse_time(data_type, one), parse_time(data_type, other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => one.cmp(other),
    }
}
