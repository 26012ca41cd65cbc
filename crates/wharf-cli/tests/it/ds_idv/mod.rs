//! `wharf convert` between ds and IDV, in both directions.

mod generated;
mod goldens;

use std::collections::BTreeMap;
use std::path::Path;

use container_core::Scan;
use idv::Value;
use tempfile::TempDir;

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).into_os_string().into_string().unwrap()
}

/// The bits of an IDV value; of a vector, of all its items.
fn exact(value: &Value<'_>) -> String {
    match value {
        Value::Single(x) if !x.is_nan() => format!("f32 {:08x}", x.to_bits()),
        Value::Double(x) if !x.is_nan() => format!("f64 {:016x}", x.to_bits()),
        Value::Vector(vector) => vector.items().map(|item| exact(&item)).collect::<Vec<_>>().join(", "),
        Value::Label(_, labels) => {
            let Value::Label(key, _) = value else { unreachable!() };
            format!("label {}", labels.get(*key).map_or_else(String::new, |label| exact(&label)))
        }
        other => format!("{other:?}"),
    }
}

/// The types and values of the columns of an IDV file, by name.
fn idv_columns(path: impl AsRef<Path>) -> BTreeMap<String, (String, Vec<String>)> {
    let reader = idv::Reader::open(path).unwrap();
    let mut columns = BTreeMap::new();
    for column in reader.columns() {
        let Ok(kind) = column.kind() else { continue };
        let mut rows = reader.rows(&Scan::default().with_columns([column.index()])).unwrap();
        let mut values = Vec::new();
        while let Some(row) = rows.try_next().unwrap() {
            values.push(exact(&row.get(0).unwrap()));
        }
        columns.insert(column.unique_name().to_owned(), (kind.to_string(), values));
    }
    columns
}
