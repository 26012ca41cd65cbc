//! Enumerations and compounds, compared with the rows of netCDF4: `tests/reference/python/netcdf_types.py`.

use std::path::{Path, PathBuf};

use container_core::{Container, Input, Scan, Source};
use dsfmt::container::TimeForm;
use dsfmt::netcdf::{FORMAT, NcType, ReadOptions, Reader, to_ds};
use serde_json::Value;

use crate::region::same;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/netcdf-types/types.nc")
}

fn container(packed: bool) -> Box<dyn Container> {
    let input = Input::Stream(Source::open(golden()).unwrap());
    TimeForm::Stored.netcdf(packed).open(&input, &Default::default()).unwrap()
}

fn rows(container: &dyn Container, name: &str) -> Vec<Value> {
    let tables = container.tables();
    let table = tables.iter().find(|table| table.name() == name).unwrap();
    let (mut rows, mut out) = (table.rows(&Scan::default()).unwrap(), Vec::new());
    while rows.advance().unwrap() {
        let mut json = Vec::new();
        rows.json(&mut json).unwrap();
        out.push(serde_json::from_slice(&json).unwrap());
    }
    out
}

/// Equal, numbers as `f64`.
fn equal(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            found.len() == expected.len()
                && found.iter().zip(expected).all(|((a, one), (b, other))| a == b && equal(one, other))
        }
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(one, other)| equal(one, other))
        }
        (found, expected) => same(std::slice::from_ref(found), std::slice::from_ref(expected)),
    }
}

#[test]
fn rows_are_those_of_netcdf4() {
    let text = std::fs::read_to_string(golden().with_extension("json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    for (name, count) in [("station", 4), ("scalars", 1)] {
        let found = rows(&*container(false), name);
        let wanted = expected[name].as_array().unwrap();
        assert_eq!((found.len(), wanted.len()), (count, count));
        for (found, wanted) in found.iter().zip(wanted) {
            assert!(equal(found, wanted), "{found}\n{wanted}");
        }
    }
}

#[test]
fn numbers_of_enumerations_stay_reachable() {
    let packed = rows(&*container(true), "station");
    let sky: Vec<&Value> = packed.iter().map(|row| &row["sky"]).collect();
    assert_eq!(sky, [&1.into(), &0.into(), &Value::Null, &2.into()]);
    let container = container(false);
    let tables = container.tables();
    let station = tables.iter().find(|table| table.name() == "station").unwrap();
    let column = |name: &str| station.columns().iter().position(|column| column.name == name).unwrap();
    assert_eq!(station.column_summary(column("sky"))["members"]["stratus"], Value::from(2));
    let kind = &station.columns()[column("stations")].kind;
    let expected = "struct<id: int32, where.lat: float32, where.lon: float64, range: int16[stations.range_1=2], name: unicode, flag: uint8>";
    assert_eq!(kind, expected);
}

#[test]
fn ds_has_no_compounds() {
    let reader = Reader::open(golden()).unwrap();
    assert!(matches!(reader.variable("wind").unwrap().nc_type, NcType::Compound { fields: 2, .. }));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ds");
    let done = to_ds(&reader, &path, &ReadOptions::default(), Default::default()).unwrap();
    let losses: Vec<String> = done.losses.iter().map(|loss| loss.what.to_string()).collect();
    for name in ["stations", "wind", "one", "lists"] {
        let expected = format!("variable {name:?} left out: unsupported type ");
        assert_eq!(losses.iter().filter(|loss| loss.starts_with(&expected)).count(), 1, "{losses:?}");
    }
    let names: Vec<String> =
        dsfmt::Reader::open(&path).unwrap().variables().map(|variable| variable.name().to_owned()).collect();
    assert_eq!(names, ["height", "sky", "wide"]);
    assert_eq!(FORMAT.name(), "netcdf");
}

#[cfg(feature = "arrow")]
#[test]
fn batches_have_structs() {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float32Type, Int32Type};
    use arrow_array::{Array, RecordBatch};

    let container = container(false);
    let tables = container.tables();
    let station = tables.iter().find(|table| table.name() == "station").unwrap();
    let read = |scan: Scan| -> RecordBatch {
        station.arrow().unwrap().batches(&scan.into()).unwrap().next().unwrap().unwrap()
    };
    let batch = read(Scan::default());
    let names: Vec<&str> = batch.schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["sky", "wide", "stations", "wind", "height"]);
    let stations = batch.column_by_name("stations").unwrap().as_struct();
    assert_eq!(stations.column_names(), ["id", "where", "range", "name", "flag"]);
    let ids = stations.column_by_name("id").unwrap().as_primitive::<Int32Type>();
    assert_eq!(ids.values(), &[1, -2, 3, i32::MAX]);
    let lat = stations.column_by_name("where").unwrap().as_struct().column(0).as_primitive::<Float32Type>();
    assert_eq!(lat.values(), &[50.5, -0.25, 1e10, 0.0]);
    let sky = batch.column_by_name("sky").unwrap().as_string::<i32>();
    assert_eq!((sky.value(0), sky.is_null(2)), ("cumulus", true));
    // Some rows of one column.
    let wind = station.columns().iter().position(|column| column.name == "wind").unwrap();
    let mut scan = Scan::default();
    (scan.columns, scan.rows) = (Some(vec![wind]), 2..4);
    let batch = read(scan);
    assert_eq!((batch.num_columns(), batch.num_rows()), (1, 2));
    let u = batch.column(0).as_struct().column_by_name("u").unwrap().as_fixed_size_list().values();
    assert_eq!(u.as_primitive::<Float32Type>().values(), &[4.0, 5.0, 6.0, 7.0]);
}
