//! Variables in groups, compared with those of netCDF4 by `tests/reference/python/netcdf_groups.py`.

use std::path::{Path, PathBuf};

use container_core::Container;
use dsfmt::netcdf::{FORMAT, Kind, ReadOptions, Reader, WriteOptions, as_ds, from_ds, to_ds};
use serde_json::{Value, json};

use crate::region::{same, values};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/netcdf-groups")
}

fn expected() -> Value {
    serde_json::from_str(&std::fs::read_to_string(golden().join("groups.json")).unwrap()).unwrap()
}

fn scaled() -> dsfmt::Reader {
    let reader = Reader::open(golden().join("groups.nc")).unwrap();
    assert!(reader.losses().is_empty(), "{:?}", reader.losses());
    as_ds(reader, Default::default(), &ReadOptions::default().with_scaled(true)).unwrap()
}

/// Compares variables of these names, which `name` derives from those in the file.
fn compare(reader: &dsfmt::Reader, name: impl Fn(&str) -> String) {
    let expected = expected();
    let variables = expected["variables"].as_object().unwrap();
    assert_eq!((reader.len(), variables.len()), (8, 8));
    for (path, expected) in variables {
        let variable = reader.variable(&name(path)).unwrap();
        let dimensions: Vec<String> =
            expected["dimensions"].as_array().unwrap().iter().map(|path| name(path.as_str().unwrap())).collect();
        assert_eq!(variable.dimensions(), dimensions, "{path}");
        assert_eq!(json!(variable.shape().unwrap()), expected["shape"], "{path}");
        let (found, expected) = (values(&variable.read().unwrap()), expected["values"].as_array().unwrap());
        assert!(same(&found, expected), "{path}: {found:?} {expected:?}");
    }
}

#[test]
fn variables_are_those_of_netcdf4() {
    let reader = scaled();
    compare(&reader, str::to_owned);
    let attributes: Vec<(String, Value)> =
        reader.attributes().map(|(name, value)| (name, serde_json::to_value(value).unwrap())).collect();
    let expected = expected();
    assert_eq!(attributes.len(), 3);
    for (name, value) in attributes {
        assert_eq!(value, expected["attributes"][&name], "{name}");
    }
    let file = Reader::open(golden().join("groups.nc")).unwrap();
    let unlimited: Vec<&str> =
        file.dimensions().iter().filter(|dimension| dimension.unlimited).map(|dimension| &*dimension.name).collect();
    assert_eq!(unlimited, ["time", "north/inner/record"]);
}

#[test]
fn groups_are_tables() {
    let source = container_core::Source::open(golden().join("groups.nc")).unwrap();
    let container: Box<dyn Container> =
        FORMAT.open(&container_core::Input::Stream(source), &Default::default()).unwrap();
    let tables: Vec<(String, Vec<String>)> = container
        .tables()
        .iter()
        .map(|table| (table.name().to_owned(), table.columns().iter().map(|column| column.name.clone()).collect()))
        .collect();
    let all: Vec<&str> = tables.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(all, ["time", "x", "north/x", "north/inner/record", "scalars"]);
    assert_eq!(tables[0].1, ["time", "north/t2m"]);
    assert_eq!(tables[1].1, ["x", "south/wide"]);
    assert_eq!(tables[2].1, ["north/x", "north/inner/names"]);
}

/// Into ds under the same names; into NetCDF, which is written without groups, under names without slashes.
#[test]
fn groups_are_converted() {
    let folder = tempfile::tempdir().unwrap();
    let (ds, nc) = (folder.path().join("groups.ds"), folder.path().join("groups.nc"));
    let reader = Reader::open(golden().join("groups.nc")).unwrap();
    let scaled = ReadOptions::default().with_scaled(true);
    let converted = to_ds(&reader, &ds, &scaled, Default::default()).unwrap();
    assert!(converted.losses.is_empty(), "{:?}", converted.losses);
    let reader = dsfmt::Reader::open(&ds).unwrap();
    compare(&reader, str::to_owned);
    for kind in [Kind::Data64, Kind::Hdf5] {
        let converted = from_ds(&reader, &nc, &WriteOptions::default().with_kind(Some(kind))).unwrap();
        let losses: Vec<String> = converted.losses.iter().map(ToString::to_string).collect();
        assert!(
            losses
                .iter()
                .any(|loss| loss.contains("variable \"north/x\" written as \"north_x\": groups are not written")),
            "{losses:?}"
        );
        assert!(losses.iter().any(|loss| loss.contains("attribute \"north/note\" left out")), "{losses:?}");
        let written = as_ds(Reader::open(&nc).unwrap(), Default::default(), &scaled).unwrap();
        compare(&written, |path| path.replace('/', "_"));
        std::fs::remove_file(&nc).unwrap();
    }
}
