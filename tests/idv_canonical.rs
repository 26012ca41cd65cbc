//! The canonical dump of an IDV file: the form in which the ML.NET driver (`tests/reference/mlnet`) tells what ML.NET reads.
//!
//! The first line is the schema with all annotations, each further line an array of a row's values. Floats are their
//! bits, keys the stored numbers, sparse vectors what is stored of them: two dumps are equal only if every value is.

use std::io::BufRead;

use container_core::{Error, Result, Scan};
use idv::{ItemType, Reader, Type, Values};
use serde_json::{Map, Value, json};

/// A type in the words of the dump.
#[must_use]
pub fn type_name(kind: &Type) -> String {
    let item = match kind.item() {
        // What ML.NET makes of an unbounded key: as many as its number allows.
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
            // ML.NET reads what stands for "missing" as tick 0.
            Values::TimeSpan(v) | Values::DateTime(v) => json!(present(*v.get(index)?)),
            Values::DateTimeOffset(v) => {
                let minutes = *v.minutes.get(index)?;
                json!([present(*v.ticks.get(index)?), if minutes == i16::MIN { 0 } else { minutes }])
            }
            Values::RowId(v) => json!(format!("{:032x}", v.get(index)?)),
            Values::Boolean(v) => json!(v.get(index)?),
            Values::DvBool(v) => json!(v.get(index)?.unwrap_or(false)),
            Values::Text(v) => json!(v.get(index).unwrap_or("")),
            Values::Vector(v) => {
                let vector = v.get(index)?;
                let item = |place: usize| match vector.values {
                    // The least span is tick 0 to ML.NET in a row of its own, and itself in a vector.
                    Values::TimeSpan(v) => json!(v.get(place)),
                    values => value(values, place),
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

fn present(ticks: i64) -> i64 {
    if ticks == i64::MIN { 0 } else { ticks }
}

/// The first line: rows, and names, types and annotations of the columns that ML.NET can read.
///
/// # Errors
/// What is wrong with the metadata.
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

/// Compares a file with the dump of what ML.NET reads in it; the result is how many values were equal, the error names the first
/// difference.
///
/// # Errors
/// The first difference, and what is wrong with either file.
pub fn compare(reader: &Reader, expected: impl BufRead) -> Result<u64> {
    let mut lines = expected.lines();
    let mut next = || -> Result<Option<Value>> {
        let Some(line) = lines.next() else { return Ok(None) };
        let line = line.map_err(|cause| Error::io("cannot read the expected dump", cause))?;
        let parsed = serde_json::from_str(&line);
        parsed.map(Some).map_err(|cause| Error::invalid("the expected dump is not JSON").caused_by(cause))
    };
    let found = schema(reader)?;
    match next()? {
        Some(expected) if expected == found => {}
        expected => {
            let expected = expected.unwrap_or(Value::Null);
            return Err(Error::invalid(format!("schema {found} where ML.NET reads {expected}")));
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
                return Err(Error::invalid(format!("{} columns where ML.NET reads {}", slices.len(), expected.len())));
            }
            for (index, (slice, expected)) in slices.iter().zip(&expected).enumerate() {
                let found = value(slice.values, slice.range.start + offset);
                if found == *expected {
                    equal += 1;
                } else {
                    let name = readable.get(index).map_or("", |column| column.unique_name());
                    let error = Error::invalid(format!("{found} where ML.NET reads {expected}"));
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
