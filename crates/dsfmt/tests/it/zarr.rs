//! Zarr stores of zarr-python and xarray, compared with what these read: `tests/reference/python/zarr_golden.py`.

use std::path::{Path, PathBuf};

use container_core::{ErrorKind, Input, Scan, VerifyOptions};
use dsfmt::netcdf::{self, Kind, ReadOptions, Reader, as_ds, ds_view, to_ds};
use dsfmt::zarr::{self, Compression, WriteOptions, from_ds};
use dsfmt::{Array, Builder, Field, Mask, OutputOptions, Region, Select, Strings, Values};
use serde_json::{Map, Value, json};

pub(crate) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/zarr").join(format!("{name}.zarr"))
}

fn expected(store: &str) -> Map<String, Value> {
    let text = std::fs::read_to_string(golden("x").with_file_name("expected.json")).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    all[store].as_object().unwrap().clone()
}

fn open(path: &Path) -> Reader {
    zarr::open(path, Default::default()).unwrap()
}

/// A store as ds, with packed numbers as the values they mean.
fn dataset(path: &Path) -> dsfmt::Reader {
    as_ds(open(path), Default::default(), &ReadOptions::default().with_scaled(true)).unwrap()
}

/// Values as JSON; missing ones are null, other floats that JSON does not have strings, bytes hexadecimal.
fn values(array: &Array<'_>) -> Vec<Value> {
    let float = |number: f64| match number {
        _ if number.is_nan() => json!("NaN"),
        _ if number.is_infinite() => json!(if number > 0.0 { "Infinity" } else { "-Infinity" }),
        _ => json!(number),
    };
    let hexadecimal = |bytes: &[u8]| json!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    let value = |index: usize| match array.values() {
        Values::Float32(all) => float(f64::from(all[index])),
        Values::Float64(all) => float(all[index]),
        Values::Int8(all) => json!(all[index]),
        Values::Int16(all) => json!(all[index]),
        Values::Int32(all) => json!(all[index]),
        Values::Int64(all) => json!(all[index]),
        Values::Uint8(all) => json!(all[index]),
        Values::Uint16(all) => json!(all[index]),
        Values::Uint32(all) => json!(all[index]),
        Values::Uint64(all) => json!(all[index]),
        Values::Bool(all) => json!(all[index]),
        Values::Str(all) => hexadecimal(all.get(index).unwrap()),
        Values::Unicode(all) => json!(std::str::from_utf8(all.get(index).unwrap()).unwrap()),
    };
    let missing = |index: usize| array.mask().is_some_and(|mask| mask.is_missing(index));
    (0..array.len()).map(|index| if missing(index) { Value::Null } else { value(index) }).collect()
}

/// Numbers compare as `f64`, if they are no integers of both.
fn same(found: &Value, expected: &Value) -> bool {
    found == expected || found.is_f64() != expected.is_f64() && found.as_f64() == expected.as_f64() && found.is_number()
}

fn compare(store: &str, count: usize) {
    let expected = expected(store);
    assert_eq!(expected.len(), count, "{store}");
    compare_with(store, &expected);
}

fn compare_with(store: &str, expected: &Map<String, Value>) {
    let reader = dataset(&golden(store));
    for (name, expected) in expected {
        let what = format!("{store} {name}");
        let variable = reader.variable(name).unwrap();
        assert_eq!(json!(variable.dimensions()), expected["dims"], "{what}");
        assert_eq!(json!(variable.shape().unwrap()), expected["shape"], "{what}");
        let wanted = expected["values"].as_array().unwrap();
        let check = |found: Vec<Value>| {
            assert_eq!(found.len(), wanted.len(), "{what}");
            for (index, (found, wanted)) in found.iter().zip(wanted).enumerate() {
                assert!(same(found, wanted), "{what} {index}: {found} {wanted}");
            }
        };
        check(values(&variable.read().unwrap()));
        for step in [1, 4, 7].into_iter().filter(|_| wanted.len() < 1000) {
            let mut parts = Vec::new();
            for start in (0..variable.len()).step_by(step) {
                let end = variable.len().min(start + step as u64);
                parts.extend(values(&variable.read_elements(start..end).unwrap()));
            }
            check(parts);
        }
    }
}

#[test]
fn every_type_has_the_values_of_zarr_python() {
    compare("types", 21);
    let reader = open(&golden("types"));
    assert_eq!(reader.kind(), Kind::Zarr);
    let losses: Vec<String> = reader.losses().iter().map(|loss| loss.what.to_string()).collect();
    assert_eq!(losses.len(), 1, "{losses:?}");
    assert!(losses[0].starts_with("variable \"complex\" left out: unsupported data type \"complex64\""), "{losses:?}");
    let attributes: Vec<(String, Value)> = dataset(&golden("types"))
        .attributes()
        .map(|(name, value)| (name, serde_json::to_value(value).unwrap()))
        .collect();
    assert_eq!(
        attributes,
        [
            ("title".to_owned(), json!("types")),
            ("list".to_owned(), json!([1.0, 2.5, 3.0])),
            ("nested".to_owned(), json!({"a": [null, true]})),
        ]
    );
}

#[test]
fn every_layout_has_the_values_of_zarr_python() {
    let mut expected = expected("codecs");
    assert_eq!(expected.len(), 10);
    // Every compression of Blosc, of the same values.
    let blosc = expected.remove("blosc").unwrap();
    let names: Vec<String> =
        dataset(&golden("codecs")).variables().map(|variable| variable.name().to_owned()).collect();
    for name in names.iter().filter(|name| name.starts_with("blosc_")) {
        expected.insert(name.clone(), blosc.clone());
    }
    assert_eq!(expected.len(), 24);
    compare_with("codecs", &expected);
}

#[test]
fn datasets_have_the_values_of_xarray() {
    compare("grid", 7);
    compare("grid2", 7);
    let container = |name: &str| zarr::FORMAT.open(&Input::Directory(golden(name)), &Default::default()).unwrap();
    assert_eq!((container("grid").version(), container("grid2").version()), ("3".to_owned(), "2".to_owned()));
}

#[test]
fn groups_have_the_values_of_xarray() {
    compare("groups", 4);
    let reader = open(&golden("groups"));
    let names: Vec<&str> = reader.attributes().iter().map(|attribute| attribute.name.as_str()).collect();
    assert_eq!(names, ["title", "north/note"]);
}

#[test]
fn version_2_has_the_values_of_zarr_python() {
    compare("version2", 3);
}

/// zarr-python 2 declares 0 unless told otherwise, which xarray reads as the first second of 1970.
#[test]
fn only_not_a_time_is_missing_among_times() {
    let times = [0, i64::MIN, 5];
    for fill in ["0", "null", "\"NaT\""] {
        let (_folder, store) = version_2_of("[3]", "<M8[s]", fill, &times, "{}");
        assert_eq!(values(&dataset(&store).variable("v").unwrap().read().unwrap()), [json!(0), Value::Null, json!(5)]);
    }
}

/// The type tells unit and calendar; what attributes say of these keeps another name.
#[test]
fn types_of_times_decide_units_and_calendar() {
    let attributes = r#"{"units": "days since 2000-01-01", "calendar": "noleap"}"#;
    for (dtype, count, units) in [("<M8[s]", 1, "seconds since 1970-01-01"), ("<M8[W]", 7, "days since 1970-01-01")] {
        for own in ["{}", attributes] {
            let (_folder, store) = version_2_of("[2]", dtype, "null", &[-5, i64::MIN], own);
            let found = dataset(&store);
            let variable = found.variable("v").unwrap();
            assert_eq!(values(&variable.read().unwrap()), [json!(-5 * count), Value::Null]);
            let text = |name: &str| {
                let found = variable.attributes().find(|(own, _)| own == name);
                found.map(|(_, value)| value.as_str().unwrap().into_owned())
            };
            assert_eq!(text("units").as_deref(), Some(units));
            assert_eq!(text("calendar").as_deref(), Some("proleptic_gregorian"));
            let kept = (own == attributes).then_some("days since 2000-01-01");
            assert_eq!(text("original_units").as_deref(), kept);
        }
    }
    let (_folder, store) = version_2_of("[1]", "<m8[W]", "null", &[i64::MAX], "{}");
    let error = dataset(&store).variable("v").unwrap().read().unwrap_err().to_string();
    assert!(error.contains("9223372036854775807 weeks exceed the days that 64 bits hold"), "{error}");
    let (_folder, store) = version_2_of("[1]", "<m8[W]", "null", &[2_i64], r#"{"units": "hello"}"#);
    let found = dataset(&store);
    let variable = found.variable("v").unwrap();
    let kept = variable.attributes().map(|(name, value)| format!("{name}={}", value.as_text())).collect::<Vec<_>>();
    assert_eq!(kept[..2], ["original_units=\"hello\"", "units=\"days\""]);
}

/// A fill value is an element of the array's type.
#[test]
fn fill_values_of_version_2_are_rounded_to_the_type() {
    let nulls = [Value::Null, Value::Null];
    for (dtype, fill) in [("<f4", "1e20"), ("<f4", "16777217"), ("<f2", "0.1"), ("<f2", "1e-7"), ("<f8", "0.1")] {
        let (_folder, store) = version_2_of::<u8>("[2]", dtype, fill, &[], "{}");
        std::fs::remove_file(store.join("v/0")).unwrap();
        assert_eq!(values(&dataset(&store).variable("v").unwrap().read().unwrap()), nulls, "{dtype} {fill}");
    }
}

/// As xarray and zarr-python read them.
#[test]
fn fill_values_of_version_2_have_other_forms() {
    let of = |dtype: &str, fill: &str, bytes: &[u8]| {
        let (_folder, store) = version_2_of("[2]", dtype, fill, bytes, "{}");
        values(&dataset(&store).variable("v").unwrap().read().unwrap())
    };
    let null = Value::Null;
    for fill in ["1.0", "\"1\"", "1"] {
        assert_eq!(of("<i2", fill, &[1, 0, 2, 0]), [null.clone(), json!(2)], "{fill}");
    }
    assert_eq!(of("|b1", "0", &[0, 1]), [json!(false), json!(true)]);
    assert_eq!(of("<f4", "\"-9999\"", &[0, 0, 128, 63, 0, 60, 28, 198]), [json!(1.0), null.clone()]);
    assert_eq!(of("<U2", "\"NA\"", b"N\0\0\0A\0\0\0a\0\0\0\0\0\0\0"), [null.clone(), json!("a")]);
    assert_eq!(of("<U1", "\"\"", b"\0\0\0\0a\0\0\0"), [json!(""), json!("a")]);
    for fill in ["\"TkE=\"", "\"TkEA\""] {
        assert_eq!(of("|S3", fill, b"NA\0ab\0"), [null.clone(), json!("6162")]);
    }
    assert_eq!(of("|S3", "\"AAAA\"", b"\0\0\0ab\0"), [json!(""), json!("6162")]);
}

/// kerchunk describes empty variables of HDF5 so.
#[test]
fn empty_dimensions_may_have_empty_chunks() {
    let (_folder, store) = version_2::<i16>("[0]", "C", &[], "{}");
    assert_eq!(dataset(&store).variable("v").unwrap().read().unwrap().shape(), [0]);
}

/// xarray opens no store with a `_FillValue` of texts.
#[test]
fn missing_texts_are_those_of_missing_value() {
    let folder = tempfile::tempdir().unwrap();
    let (ds, store) = (folder.path().join("a.ds"), folder.path().join("a.zarr"));
    let texts = |all: [&'static str; 3]| {
        Array::new([3], all.into_iter().collect::<Values<'static>>())
            .unwrap()
            .with_mask(Mask::from_bools([false, true, false]))
            .unwrap()
    };
    let mut builder = Builder::new();
    builder.field("plain", Field::new(texts(["a", "", "c"])).with_dimensions(["x"]));
    builder.field("own", Field::new(texts(["", "", "c"])).with_dimensions(["x"]).with_attribute("_FillValue", "none"));
    builder.field("taken", Field::new(texts(["NA", "", ""])).with_dimensions(["x"]).with_attribute(MISSING, "NA"));
    builder.write(&ds, OutputOptions::default()).unwrap();
    let done = from_ds(&dsfmt::Reader::open(&ds).unwrap(), &store, &WriteOptions::default()).unwrap();
    let losses: Vec<String> = done.losses.iter().map(|loss| loss.what.to_string()).collect();
    let taken = "missing text \"NA\" of variable \"taken\" replaced or left out: present elements have it";
    assert_eq!(losses, [taken]);
    let found = dataset(&store);
    for (name, fill, expected) in
        [("plain", "", ["a", "c"]), ("own", "none", ["", "c"]), ("taken", "<missing>", ["NA", ""])]
    {
        let variable = found.variable(name).unwrap();
        let attributes: Vec<_> =
            variable.attributes().map(|(name, value)| (name, value.as_text().to_owned())).collect();
        assert_eq!(attributes, [(MISSING.to_owned(), format!("{fill:?}"))]);
        let [first, last] = expected;
        assert_eq!(values(&variable.read().unwrap()), [json!(first), Value::Null, json!(last)]);
    }
    // Several of them.
    let metadata = std::fs::read_to_string(store.join("taken/zarr.json")).unwrap();
    let several = metadata.replace("\"<missing>\"", r#"["<missing>","NA"]"#);
    assert_ne!(several, metadata);
    std::fs::write(store.join("taken/zarr.json"), several).unwrap();
    let found = values(&dataset(&store).variable("taken").unwrap().read().unwrap());
    assert_eq!(found, [Value::Null, Value::Null, json!("")]);
}

const MISSING: &str = "missing_value";

/// A store of version 2 with an array of integers in native byte order in one chunk.
fn version_2<T: bytemuck::Pod>(
    shape: &str,
    order: &str,
    values: &[T],
    attributes: &str,
) -> (tempfile::TempDir, PathBuf) {
    let (folder, store) = version_2_of(shape, &format!("<i{}", size_of::<T>()), "null", values, attributes);
    let metadata = std::fs::read_to_string(store.join("v/.zarray")).unwrap();
    std::fs::write(store.join("v/.zarray"), metadata.replace("\"C\"", &format!("{order:?}"))).unwrap();
    (folder, store)
}

/// A store of version 2 with an array of this type and fill value in one chunk.
fn version_2_of<T: bytemuck::Pod>(
    shape: &str,
    dtype: &str,
    fill: &str,
    values: &[T],
    attributes: &str,
) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("a.zarr");
    std::fs::create_dir_all(store.join("v")).unwrap();
    std::fs::write(store.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    let metadata = format!(
        r#"{{"zarr_format": 2, "shape": {shape}, "chunks": {shape}, "dtype": "{dtype}", "fill_value": {fill}, "order": "C",
            "compressor": null, "filters": null}}"#
    );
    std::fs::write(store.join("v/.zarray"), metadata).unwrap();
    std::fs::write(store.join("v/.zattrs"), attributes).unwrap();
    std::fs::write(store.join("v/0"), bytemuck::cast_slice::<T, u8>(values)).unwrap();
    (folder, store)
}

#[test]
fn scalars_have_any_order() {
    let (_folder, store) = version_2("[]", "F", &[5_i16], "{}");
    assert_eq!(values(&dataset(&store).variable("v").unwrap().read().unwrap()), [json!(5)]);
}

/// As numpy arrays of one element are written, and xarray reads them. Other lists of one item stay lists.
#[test]
fn attributes_of_meaning_may_be_lists_of_one_item() {
    let attributes = r#"{"_ARRAY_DIMENSIONS": ["x"], "scale_factor": [0.5], "add_offset": [1], "missing_value": [3], "units": ["K"],
        "levels": [1], "names": ["a"]}"#;
    let (_folder, store) = version_2("[3]", "C", &[1_i16, 2, 3], attributes);
    let found = dataset(&store);
    let variable = found.variable("v").unwrap();
    assert_eq!(values(&variable.read().unwrap()), [json!(1.5), json!(2.0), Value::Null]);
    let kept = variable.attributes().map(|(name, value)| format!("{name}={}", value.as_text())).collect::<Vec<_>>();
    assert_eq!(kept, ["units=\"K\"", "levels=[1]", "names=[\"a\"]"]);
}

/// xarray writes `NaT` as the smallest integer, without a fill value, and reads it so.
#[test]
fn not_a_time_of_xarray_is_missing() {
    let times = r#"{"_ARRAY_DIMENSIONS": ["x"], "units": "days since 2000-01-01", "calendar": "proleptic_gregorian"}"#;
    let (folder, store) = version_2("[3]", "C", &[0, i64::MIN, 366], times);
    assert_eq!(values(&dataset(&store).variable("v").unwrap().read().unwrap()), [json!(0), Value::Null, json!(366)]);
    let copy = folder.path().join("copy.zarr");
    let view = ds_view(open(&store), &ReadOptions::default(), "x".to_owned()).unwrap().0;
    from_ds(&view, &copy, &WriteOptions::default()).unwrap();
    assert_eq!(values(&dataset(&copy).variable("v").unwrap().read().unwrap()), [json!(0), Value::Null, json!(366)]);
    let (_folder, store) = version_2("[2]", "C", &[0, i64::MIN], r#"{"_ARRAY_DIMENSIONS": ["x"], "units": "m"}"#);
    assert_eq!(values(&dataset(&store).variable("v").unwrap().read().unwrap()), [json!(0), json!(i64::MIN)]);
}

#[test]
fn rows_are_tables() {
    let container = zarr::FORMAT.open(&Input::Directory(golden("grid")), &Default::default()).unwrap();
    let tables = container.tables();
    let time = tables.iter().find(|table| table.name() == "time").unwrap();
    assert_eq!((time.len(), container.format()), (Some(4), "zarr"));
    let names: Vec<&str> = time.columns().iter().map(|column| column.name.as_str()).collect();
    let mut rows = time.rows(&Scan::default()).unwrap();
    assert!(rows.advance().unwrap());
    let mut json = Vec::new();
    rows.json(&mut json).unwrap();
    let row: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(row.as_object().unwrap().keys().collect::<Vec<_>>(), names);
    assert_eq!(row["count"], json!(1));
    let t2m = time.columns().iter().position(|column| column.name == "t2m").unwrap();
    assert_eq!(time.column_summary(t2m)["zarr_type"], json!("int16"));
    let mut findings = Vec::new();
    container.verify(&VerifyOptions::default(), &mut |finding| findings.push(finding.error.to_string())).unwrap();
    assert_eq!(findings, [""; 0]);
}

#[test]
fn slabs_read_only_their_chunks() {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&golden("grid"), &folder.path().join("a.zarr"));
    let store = folder.path().join("a.zarr");
    // Chunks of (2, 3, 4): only the first of (0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 0, 1) stays.
    for chunk in ["0/0/1", "1/0/0", "1/0/1"] {
        std::fs::write(store.join("t2m/c").join(chunk), "damaged").unwrap();
    }
    let region = Region::new().with("time", Select::Index(1)).between("lon", Some(60.0), Some(180.0));
    let part = region.apply(dataset(&store)).unwrap();
    let whole = region.apply(dataset(&golden("grid"))).unwrap();
    let read = |reader: &dsfmt::Reader| values(&reader.variable("t2m").unwrap().read().unwrap());
    assert_eq!(read(&part), read(&whole));
    assert_eq!(read(&part).len(), 9);
    let error = dataset(&store).variable("t2m").unwrap().read().unwrap_err();
    assert_eq!((error.kind(), error.format()), (ErrorKind::Invalid, Some("zarr")));
    assert!(error.to_string().contains("chunk [0, 0, 1] of t2m: "), "{error}");
}

pub(crate) fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy_folder(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// A dataset with every type, some of them with missing elements.
fn every_type() -> Builder<'static> {
    let mut builder = Builder::new();
    builder
        .attribute("title", "every type")
        .attribute("nested", dsfmt::JsonBuf::parse("{\"a\": [null, true]}").unwrap());
    let missing = || Mask::from_bools((0..12).map(|index| index % 5 == 2));
    macro_rules! numbers {
        ($($name:literal: $number:ty),*) => {$(
            let all: Vec<$number> = (0..12u8).map(|number| number as $number).collect();
            let array = Array::new([4, 3], all).unwrap();
            builder.field($name, Field::new(array.clone()).with_dimensions(["y", "x"]).with_attribute("units", "K"));
            let masked = array.with_mask(missing()).unwrap();
            builder.field(concat!($name, "_masked"), Field::new(masked).with_dimensions(["y", "x"]));
        )*};
    }
    numbers!("f4": f32, "f8": f64, "i1": i8, "i2": i16, "i4": i32, "i8": i64, "u1": u8, "u2": u16, "u4": u32, "u8": u64);
    builder.field(
        "flags",
        Field::new(Array::new([3], Values::Bool(vec![true, false, true].into())).unwrap()).with_dimensions(["x"]),
    );
    let texts = |all: &[&str]| {
        let mut strings = Strings::default();
        all.iter().for_each(|text| strings.push(text.as_bytes()));
        strings
    };
    let text = Array::new([3], Values::Unicode(texts(&["", "\u{fc}", "long text"]))).unwrap();
    builder.field("text", Field::new(text).with_dimensions(["x"]));
    // "N" and "A" are no missing "NA".
    let text = Array::new([4], Values::Unicode(texts(&["", "x", "N", "A"]))).unwrap();
    builder.field(
        "letters",
        Field::new(text.clone().with_mask(Mask::from_bools([false, true, false, false])).unwrap())
            .with_dimensions(["w"]),
    );
    let text = Array::new([3], Values::Unicode(texts(&["", "\u{fc}", "long text"]))).unwrap();
    let masked = text.with_mask(Mask::from_bools([false, true, false])).unwrap();
    builder.field("text_masked", Field::new(masked).with_dimensions(["x"]));
    let bytes = Array::new([3], Values::Str(texts(&["a", "", "ccc"]))).unwrap();
    builder.field("bytes", Field::new(bytes).with_dimensions(["x"]));
    builder.field("scalar", Field::new(Array::new([], vec![2.5f64]).unwrap()));
    let inner = Array::new([2], vec![f32::NAN, f32::INFINITY]).unwrap();
    builder.field("group/inner", Field::new(inner).with_dimensions(["group/z"]).with_attribute("_FillValue", 1e20f32));
    builder.attribute("group/note", "in a group");
    builder
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let ds = folder.path().join("a.ds");
    every_type().write(&ds, OutputOptions::default()).unwrap();
    let source = dsfmt::Reader::open(&ds).unwrap();
    let plain = WriteOptions::default();
    for (number, options) in [
        plain.clone(),
        plain.clone().with_compression(Compression::None),
        plain.clone().with_compression(Compression::Gzip(1)).with_chunks([("y", 3), ("x", 2)]),
        plain.clone().with_chunks([("x", 1), ("w", 2)]).with_shards([("x", 2), ("y", 4)]),
        plain
            .clone()
            .with_chunks([("y", 100), ("x", 2)])
            .with_shards([("x", 4)])
            .with_compression(Compression::Zstd(19)),
    ]
    .into_iter()
    .enumerate()
    {
        let store = folder.path().join(format!("{number}.zarr"));
        let done = from_ds(&source, &store, &options).unwrap();
        assert!(done.losses.is_empty(), "{:?}", done.losses);
        assert_eq!(done.written.variables, source.len());
        let (back, losses) = ds_view(open(&store), &ReadOptions::default(), "x".to_owned()).unwrap();
        assert!(losses.is_empty(), "{losses:?}");
        assert_eq!(back.len(), source.len());
        for variable in source.variables() {
            let found = back.variable(variable.name()).unwrap();
            assert_eq!(found.data_type(), variable.data_type(), "{}", variable.name());
            assert_eq!(found.dimensions(), variable.dimensions(), "{}", variable.name());
            let (found, wanted) = (values(&found.read().unwrap()), values(&variable.read().unwrap()));
            assert_eq!(found, wanted, "{} {number}", variable.name());
        }
        let names: Vec<String> = back.attributes().map(|(name, _)| name).collect();
        assert_eq!(names, ["title", "nested", "group/note"]);
    }
    // And ds again, byte for byte where no fill value was declared.
    let store = folder.path().join("0.zarr");
    let again = folder.path().join("b.ds");
    to_ds(&open(&store), &again, &ReadOptions::default(), OutputOptions::default()).unwrap();
    let again = dsfmt::Reader::open(&again).unwrap();
    let order =
        |reader: &dsfmt::Reader| reader.variables().map(|variable| variable.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(order(&again), order(&source));
}

#[test]
fn chunks_of_the_fill_value_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let (ds, store) = (folder.path().join("a.ds"), folder.path().join("a.zarr"));
    let mut builder = Builder::new();
    let mut all = vec![0i32; 100];
    all[55] = 1;
    builder.field("v", Field::new(Array::new([100], all.clone()).unwrap()).with_dimensions(["x"]));
    builder.write(&ds, OutputOptions::default()).unwrap();
    let options = WriteOptions::default().with_chunks([("x", 10)]);
    from_ds(&dsfmt::Reader::open(&ds).unwrap(), &store, &options).unwrap();
    let chunks: Vec<_> =
        std::fs::read_dir(store.join("v/c")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(chunks, ["5"]);
    let back = dataset(&store).variable("v").unwrap().read().unwrap().into_owned();
    assert_eq!(back.values().as_slice::<i32>(), Some(&all[..]));
}

/// xarray fails on strings that it should decode.
#[test]
fn strings_have_no_encoding() {
    let folder = tempfile::tempdir().unwrap();
    let (ds, store) = (folder.path().join("a.ds"), folder.path().join("a.zarr"));
    let texts = Array::new([2], Values::Unicode(Strings::from_lengths(b"abc".to_vec(), vec![1, 2]).unwrap())).unwrap();
    let field = Field::new(texts).with_dimensions(["x"]).with_attribute("_Encoding", "utf-8").with_attribute("a", "b");
    let mut builder = Builder::new();
    builder.field("v", field);
    builder.write(&ds, OutputOptions::default()).unwrap();
    from_ds(&dsfmt::Reader::open(&ds).unwrap(), &store, &WriteOptions::default()).unwrap();
    let names: Vec<_> = dataset(&store).variable("v").unwrap().attributes().map(|(name, _)| name).collect();
    assert_eq!(names, ["a"]);
}

#[test]
fn fill_values_get_the_type_of_their_variable_in_netcdf() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nc");
    let (view, _) = ds_view(open(&golden("grid")), &ReadOptions::default(), "x".to_owned()).unwrap();
    let done = netcdf::from_ds(&view, &path, &netcdf::WriteOptions::default()).unwrap();
    assert!(done.losses.is_empty(), "{:?}", done.losses);
    let back = Reader::open(&path).unwrap();
    let fill = back.variable("rain").unwrap().attribute("_FillValue");
    assert_eq!(fill, Some(&netcdf::AttributeValue::Numbers(vec![-1f32].into())));
}

#[test]
fn what_cannot_be_written_is_refused_or_reported() {
    let folder = tempfile::tempdir().unwrap();
    let ds = folder.path().join("a.ds");
    let write = |builder: &Builder<'_>, options: &WriteOptions| {
        builder.write(&ds, OutputOptions::default().with_overwrite(dsfmt::Overwrite::Replace)).unwrap();
        from_ds(&dsfmt::Reader::open(&ds).unwrap(), folder.path().join("out.zarr"), options)
    };
    let field = || Field::new(Array::new([2], vec![1i32, 2]).unwrap()).with_dimensions(["x"]);
    for (names, message) in [
        (&["__a"][..], "\"__a\" is no name of a group or array of Zarr"),
        (&["a/.."], "\"..\" is no name of a group or array of Zarr"),
        (&["zarr.json"], "\"zarr.json\" is no name of a group or array of Zarr"),
        (&["a", "a/b"], "\"a\" would be a group and an array, or two arrays"),
    ] {
        let mut builder = Builder::new();
        for name in names {
            builder.field(*name, field());
        }
        let error = write(&builder, &WriteOptions::default()).unwrap_err();
        assert_eq!((error.kind(), error.detail()), (ErrorKind::Usage, message));
        assert!(!folder.path().join("out.zarr").exists());
    }
    let mut builder = Builder::new();
    builder.field("v", field());
    for (options, message) in [
        (WriteOptions::default().with_chunks([("y", 2)]), "no dimension \"y\": the dimensions are \"x\""),
        (WriteOptions::default().with_chunks([("x", 0)]), "x: expected a size from 1, found 0"),
        (
            WriteOptions::default().with_chunks([("x", 2)]).with_shards([("x", 3)]),
            "x: expected a multiple of the chunk size 2, found 3",
        ),
    ] {
        assert_eq!(write(&builder, &options).unwrap_err().detail(), message);
    }
    builder.attribute("number", f64::NAN);
    let flags = Array::new([2], Values::Bool(vec![true, false].into())).unwrap();
    let flags = flags.with_mask(Mask::from_bools([true, false])).unwrap();
    builder.field("flags", Field::new(flags).with_dimensions(["x"]));
    builder.field("taken", field().with_attribute("_FillValue", 2));
    let losses: Vec<String> =
        write(&builder, &WriteOptions::default()).unwrap().losses.iter().map(|loss| loss.what.to_string()).collect();
    assert_eq!(
        losses,
        [
            "booleans of \"flags\" written as bytes, 0 and 1: some are missing",
            "attribute \"_FillValue\" of variable \"taken\" replaced or left out: present elements have this value",
            "attribute \"number\": a number that JSON does not have written as text",
        ]
    );
    // An output that exists stays.
    let before = std::fs::read(folder.path().join("out.zarr/zarr.json")).unwrap();
    assert_eq!(write(&builder, &WriteOptions::default()).unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(std::fs::read(folder.path().join("out.zarr/zarr.json")).unwrap(), before);
}
