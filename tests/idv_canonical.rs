//! The canonical dump of an IDV file, as the ML.NET driver (`tests/reference/mlnet`) writes it.
//!
//! The first line is the schema with all annotations; each further line is an array of a row's values. Floats are shown as bits, keys as stored
//! numbers, sparse vectors as stored: two dumps are equal only if every value is.

use std::io::BufRead;

use container_core::{Error, Result, Scan};
use idv::{ItemType, Reader, Type, Values};
use serde_json::{Map, Value, json};

/// The name of a type in a dump.
#[must_use]
pub fn type_name(kind: &Type) -> String {
    let item = match kind.item() {
        // ML.NET gives an unbounded key the maximum count of its width.
        ItemType::Key(key) if key.count == 0 => format!("Key<{},{}>", key.width, key.width.max()),
        ItemType::Key(key) => format!("Key<{},{}>", key.width, key.count),
        other => other.to_string(),
    };
    match kind {
        Type::Vector { dimensions, .. } => {
            let dimensions: String = dimensions.iter().map(|d| format!(",{d}")).collect();
            format!("Vector<{item}{dimensions}>")
        }
        _ => item,
    }
}

/// One value of a block.
#[must_use]
pub fn value(values: &Values, index: usize) -> Value {
    let read = || {
        Some(match values {
            Values::SByte(v) => json!(v.get(index)?),
            Values::Byte(v) => json!(v.get(index)?),
            Values::Int16(v) => json!(v.get(index)?),
            Values::UInt16(v) => json!(v.get(index)?),
            Values::Int32(v) => json!(v.get(index)?),
            Values::UInt32(v) => json!(v.get(index)?),
            Values::Int64(v) => json!(v.get(index)?),
            Values::UInt64(v) => json!(v.get(index)?),
            Values::Single(v) => json!(format!("{:#010x}", v.get(index)?.to_bits())),
            Values::Double(v) => json!(format!("{:#018x}", v.get(index)?.to_bits())),
            // ML.NET reads the missing value as tick 0.
            Values::TimeSpan(v) | Values::DateTime(v) => json!(missing_as_zero(*v.get(index)?)),
            Values::DateTimeOffset(v) => {
                let minutes = *v.minutes.get(index)?;
                json!([missing_as_zero(*v.ticks.get(index)?), if minutes == i16::MIN { 0 } else { minutes }])
            }
            Values::RowId(v) => json!(format!("{:032x}", v.get(index)?)),
            Values::Boolean(v) => json!(v.get(index)?),
            Values::DvBool(v) => json!(v.get(index)?.unwrap_or(false)),
            Values::Text(v) => json!(v.get(index).unwrap_or("")),
            Values::Vector(v) => {
                let vector = v.get(index)?;
                let item = |index: usize| match vector.values {
                    // Scalar minimum spans read as tick 0, but those in vectors are kept.
                    Values::TimeSpan(v) => json!(v.get(index)),
                    values => value(values, index),
                };
                let stored: Vec<Value> = vector.range.map(item).collect();
                match vector.indices {
                    None => json!({"length": vector.length, "dense": stored}),
                    Some(indices) => json!({"length": vector.length, "indices": indices, "values": stored}),
                }
            }
            _ => return None,
        })
    };
    read().unwrap_or(Value::Null)
}

fn missing_as_zero(ticks: i64) -> i64 {
    if ticks == i64::MIN { 0 } else { ticks }
}

/// The first line: the number of rows, and names, types and annotations of the columns that ML.NET can read.
///
/// # Errors
/// Those of reading the metadata.
pub fn schema(reader: &Reader) -> Result<Value> {
    let mut columns = Vec::new();
    for column in reader.columns() {
        let Ok(kind) = column.kind() else { continue };
        let mut annotations = Map::new();
        for metadata in reader.metadata(column.index())? {
            let Ok(value_type) = metadata.value_type() else { continue };
            let values = reader.metadata_value(column.index(), &metadata)?;
            let entry = json!({"type": type_name(value_type), "value": value(&values, 0)});
            annotations.insert(metadata.kind().to_owned(), entry);
        }
        columns.push(json!({"name": column.name(), "type": type_name(kind), "annotations": annotations}));
    }
    Ok(json!({"rows": reader.row_count(), "columns": columns}))
}

/// Compares a file with ML.NET's dump of it; returns the number of equal values.
///
/// # Errors
/// The first difference, or the error of reading either file.
pub fn compare(reader: &Reader, expected: impl BufRead) -> Result<u64> {
    let mut lines = expected.lines();
    let mut next = || -> Result<Option<Value>> {
        let Some(line) = lines.next() else { return Ok(None) };
        let line = line.map_err(|cause| Error::io("cannot read the expected dump", cause))?;
        let parsed = serde_json::from_str(&line);
        parsed.map(Some).map_err(|cause| Error::invalid("the expected dump is invalid JSON").caused_by(cause))
    };
    let actual = schema(reader)?;
    match next()? {
        Some(expected) if expected == actual => {}
        expected => {
            let expected = expected.unwrap_or(Value::Null);
            return Err(Error::invalid(format!("schema: expected {expected}, found {actual}")));
        }
    }
    let readable: Vec<_> = reader.columns().iter().filter(|column| column.kind().is_ok()).collect();
    let mut batches = reader.batches(&Scan::default())?;
    let mut equal = 0;
    while let Some(batch) = batches.try_next()? {
        let slices: Vec<_> = (0..batch.column_count()).filter_map(|index| batch.column(index)).collect();
        for (row, offset) in batch.rows().zip(0..) {
            let Some(Value::Array(expected)) = next()? else {
                return Err(Error::invalid("the expected dump has fewer rows").in_row(row));
            };
            if expected.len() != slices.len() {
                return Err(Error::invalid(format!("expected {} columns, found {}", expected.len(), slices.len())));
            }
            for (index, (slice, expected)) in slices.iter().zip(&expected).enumerate() {
                let actual = value(slice.values, slice.range.start + offset);
                if actual == *expected {
                    equal += 1;
                } else {
                    let name = readable.get(index).map_or("", |column| column.unique_name());
                    let error = Error::invalid(format!("expected {expected}, found {actual}"));
                    return Err(error.in_row(row).in_column(name.to_owned()));
                }
            }
        }
    }
    match next()? {
        None => Ok(equal),
        Some(_) => Err(Error::invalid("the expected dump has more rows").in_row(reader.row_count())),
    }
}
