//! NetCDF as a format: read directly, it has the rows of the ds file converted from it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dsfmt::netcdf::{Kind, ReadOptions, Reader, WriteOptions, from_ds, to_ds};
use dsfmt::{Array, Builder, Field, Mask, OutputOptions};
use serde_json::Value;
use wharf::convert::{Convert, JsonLines, NetcdfTarget, Target, copy};
use wharf::{Container, Overwrite, Registry, Scan, Severity, Table, VerifyOptions};

fn goldens() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/netcdf");
    let all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = all.filter(|path| path.extension().is_some_and(|extension| extension == "nc")).collect();
    all.sort();
    assert!(all.len() > 10, "{all:?}");
    all
}

/// Rows as JSON, with members in any order.
fn rows(table: &dyn Table, scan: &Scan) -> Vec<Value> {
    let mut sink = JsonLines::new(Vec::new());
    copy(table, scan, &mut sink).unwrap();
    let text = String::from_utf8(sink.finish().unwrap()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn tables(container: &dyn Container) -> BTreeMap<String, Vec<Value>> {
    container.tables().iter().map(|table| (table.name().to_owned(), rows(*table, &Scan::default()))).collect()
}

/// Writes a NetCDF file of `len` rows with text and numbers, some of them missing; for NetCDF-4 in compressed chunks of 1 MiB.
fn write_netcdf(folder: &Path, name: &str, units: &str, len: u64, kind: Kind) -> PathBuf {
    let count = usize::try_from(len).unwrap();
    let (ds, nc) = (folder.join(format!("{name}.ds")), folder.join(format!("{name}.nc")));
    let wide: Vec<i32> = (0..i32::try_from(len * 3).unwrap()).map(|n| n * 7 - 1000).collect();
    let missing = Mask::from_bools((0..count * 3).map(|n| n % 11 == 5));
    let hours: Vec<f64> = (0..count).map(|n| n as f64 * 0.25).collect();
    let texts: Vec<String> = (0..count).map(|n| "\u{fc}x".repeat(n % 3)).collect();
    let lengths: Vec<usize> = texts.iter().map(String::len).collect();
    let texts = dsfmt::Strings::from_lengths(texts.concat().into_bytes(), lengths).unwrap();
    let mut builder = Builder::new();
    let array = Array::new([len, 3], wide).unwrap().with_mask(missing).unwrap();
    builder.field("wide", Field::new(array).with_dimensions(["t", "x"]).with_attribute("units", "K"));
    let hours = Field::new(Array::new([len], hours).unwrap()).with_dimensions(["t"]).with_attribute("units", units);
    builder.field("t", hours);
    let texts = Array::new([len], dsfmt::Values::Unicode(texts)).unwrap();
    builder.field("name", Field::new(texts).with_dimensions(["t"]));
    builder.write(&ds, OutputOptions::default().with_overwrite(Overwrite::Replace)).unwrap();
    let output = OutputOptions::default().with_overwrite(Overwrite::Replace);
    let mut options =
        WriteOptions::default().with_output(output).with_kind(Some(kind)).with_unlimited(Some("t".to_owned()));
    if kind == Kind::Hdf5 {
        options = options.with_deflate(Some(1));
    }
    from_ds(&dsfmt::Reader::open(&ds).unwrap(), &nc, &options).unwrap();
    nc
}

#[test]
fn has_the_rows_of_the_ds_file() {
    let folder = tempfile::tempdir().unwrap();
    for path in goldens() {
        let ds = folder.path().join("out.ds");
        let output = OutputOptions::default().with_overwrite(Overwrite::Replace);
        let reading = ReadOptions::default().with_scaled(true);
        to_ds(&Reader::open(&path).unwrap(), &ds, &reading, output).unwrap();
        let (netcdf, ds) = (wharf::open(&path).unwrap(), wharf::open(&ds).unwrap());
        assert_eq!(netcdf.format(), "netcdf");
        let mut found = tables(netcdf.as_ref());
        let mut expected = tables(ds.as_ref());
        // ds lacks variables of types it does not have, and names of enumerations.
        found.retain(|name, _| expected.contains_key(name));
        for row in found.values_mut().chain(expected.values_mut()).flatten() {
            row.as_object_mut().unwrap().retain(|name, _| !["compound", "enum"].contains(&name.as_str()));
        }
        assert_eq!(found, expected, "{}", path.display());
    }
}

#[test]
fn has_the_columns_of_the_ds_file_in_every_output() {
    let folder = tempfile::tempdir().unwrap();
    for kind in [Kind::Classic, Kind::Hdf5] {
        let nc = write_netcdf(folder.path(), "a", "hours since 2000-01-01", 700, kind);
        let ds = nc.with_extension("ds");
        for extension in ["parquet", "arrow", "jsonl", "csv", "msgpack"] {
            let given = |input: &Path, name: &str| {
                let path = folder.path().join(format!("{name}.{extension}"));
                write(&Convert::new([input]), &path);
                rows(wharf::open(&path).unwrap().tables()[0], &Scan::default())
            };
            let (found, expected) = (given(&nc, "found"), given(&ds, "expected"));
            assert_eq!(found.len(), 700, "{extension}");
            assert!(found == expected, "{extension} {kind:?}: {} instead of {}", found[5], expected[5]);
        }
    }
}

#[test]
fn reads_row_ranges_across_chunks() {
    let folder = tempfile::tempdir().unwrap();
    // Several chunks per variable.
    let len = 300_000;
    for kind in [Kind::Offset64, Kind::Hdf5] {
        let nc = write_netcdf(folder.path(), "large", "hours since 2000-01-01", len, kind);
        let ds = wharf::open(nc.with_extension("ds")).unwrap();
        let netcdf = wharf::open(&nc).unwrap();
        for range in [0..5, 87_000..87_900, 262_100..262_200, len - 3..len, 7..7] {
            let mut scan = Scan::default();
            scan.rows = range.clone();
            assert_eq!(rows(netcdf.tables()[0], &scan), rows(ds.tables()[0], &scan), "{kind:?} {range:?}");
        }
        let sum = |container: &dyn Container| -> (usize, usize) {
            let scan = container_arrow::BatchScan::default().with_batch_rows(100_003);
            let batches = container.tables()[0].arrow().unwrap().batches(&scan).unwrap();
            let batches = batches.map(Result::unwrap).map(|batch| {
                let nulls: usize = batch.columns().iter().map(|column| column.logical_null_count()).sum();
                (batch.num_rows(), nulls)
            });
            batches.fold((0, 0), |(rows, nulls), (more, gone)| (rows + more, nulls + gone))
        };
        assert_eq!(sum(netcdf.as_ref()), sum(ds.as_ref()), "{kind:?}");
        assert_eq!(sum(netcdf.as_ref()).0 as u64, len);
    }
}

#[test]
fn rejects_joining_different_units() {
    let folder = tempfile::tempdir().unwrap();
    let one = write_netcdf(folder.path(), "one", "hours since 2000-01-01", 20, Kind::Classic);
    let other = write_netcdf(folder.path(), "other", "hours since 1990-01-01", 20, Kind::Classic);
    for extension in ["parquet", "csv", "jsonl", "msgpack", "idv"] {
        let path = folder.path().join(format!("both.{extension}"));
        let (convert, registry) = (Convert::new([&one, &other]), Registry::builtin());
        let error = convert.write_as(target(&path).as_ref(), &path, Overwrite::Replace, &registry);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("units") && error.contains("other.nc"), "{extension}: {error}");
        assert!(!path.exists());
    }
}

/// Bounds of times have the units of these: as stored numbers they cannot be joined, as times they can.
#[test]
fn joins_bounds_of_times_as_times_only() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, units: &str, times: [f64; 3]| {
        let (ds, nc) = (folder.path().join(format!("{name}.ds")), folder.path().join(format!("{name}.nc")));
        let [first, second, last] = times;
        let bounds = Array::new([2, 2], vec![first, second, second, last]).unwrap();
        let times = Field::new(Array::new([2], vec![first, second]).unwrap()).with_dimensions(["t"]);
        let mut builder = Builder::new();
        builder.field("t", times.with_attribute("units", units).with_attribute("bounds", "b"));
        builder.field("b", Field::new(bounds).with_dimensions(["t", "two"]));
        builder.write(&ds, OutputOptions::default()).unwrap();
        from_ds(&dsfmt::Reader::open(&ds).unwrap(), &nc, &WriteOptions::default()).unwrap();
        nc
    };
    let days = write("days", "days since 2000-01-01", [0.0, 1.0, 2.0]);
    let hours = write("hours", "hours since 2000-01-01", [48.0, 72.0, 96.0]);
    let (path, registry) = (folder.path().join("both.parquet"), Registry::builtin());
    let mut convert = Convert::new([&days, &hours]);
    convert.selection.columns = vec!["b".to_owned()];
    let error = convert.write(&path, Overwrite::Replace, &registry).unwrap_err().to_string();
    assert!(error.contains("units") && error.contains("hours.nc"), "{error}");
    convert.selection.columns = Vec::new();
    convert.selection.reading.time = Some(dsfmt::container::TimeForm::Iso);
    convert.write(&path, Overwrite::Replace, &registry).unwrap();
    let bounds: Vec<Value> = all(&path).into_values().flatten().map(|row| row["b"].clone()).collect();
    let day = |day: u32| format!("2000-01-0{day}T00:00:00");
    assert_eq!(bounds, (1..5).map(|first| Value::from(vec![day(first), day(first + 1)])).collect::<Vec<_>>());
}

/// Vectors of a variable that an input lacks have missing elements in IDV, too.
#[test]
fn unions_into_idv_have_missing_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let with_k = |k: i32| {
        let mut builder = Builder::new();
        builder.field("k", Field::new(Array::new([1], vec![k]).unwrap()).with_dimensions(["x"]));
        builder
    };
    let mut builder = with_k(1);
    builder.field("m", Field::new(Array::new([1, 2], vec![3_i16, 4]).unwrap()).with_dimensions(["x", "y"]));
    builder.field("f", Field::new(Array::new([1, 2], vec![0.5_f32, 1.5]).unwrap()).with_dimensions(["x", "y"]));
    builder.write(at("a.ds"), OutputOptions::default()).unwrap();
    with_k(2).write(at("b.ds"), OutputOptions::default()).unwrap();
    for (inputs, first, last) in [(["a.ds", "b.ds"], 0, 1), (["b.ds", "a.ds"], 1, 0)] {
        let report = write(&Convert::new(inputs.map(at)).with_union(), &at("out.idv"));
        assert!(report.losses.iter().any(|lost| lost.loss.what.contains("NaN")), "{:?}", report.losses);
        let rows = all(&at("out.idv")).into_values().next().unwrap();
        assert_eq!(rows[first], serde_json::json!({"k": 1, "m": [3.0, 4.0], "f": [0.5, 1.5]}));
        assert_eq!(rows[last], serde_json::json!({"k": 2, "m": ["NaN", "NaN"], "f": ["NaN", "NaN"]}));
    }
}

const KINDS: [Kind; 4] = [Kind::Classic, Kind::Offset64, Kind::Data64, Kind::Hdf5];

/// The target of a path; rows get their numbers as keys.
fn target(path: &Path) -> Box<dyn Target> {
    let mut target = Registry::builtin().target_for(path).unwrap();
    if target.info().name == "datadings" {
        target.set("number", "".as_ref()).unwrap();
    }
    target
}

fn write(convert: &Convert, path: &Path) -> wharf::convert::Report {
    write_as(target(path).as_ref(), convert, path)
}

fn write_as(target: &dyn Target, convert: &Convert, path: &Path) -> wharf::convert::Report {
    convert.write_as(target, path, Overwrite::Replace, &Registry::builtin()).unwrap()
}

fn all(path: &Path) -> BTreeMap<String, Vec<Value>> {
    tables(wharf::open(path).unwrap().as_ref())
}

#[test]
fn any_format_converts_to_netcdf() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let first = write_netcdf(folder.path(), "first", "hours since 2000-01-01", 50, Kind::Classic);
    for extension in ["parquet", "arrow", "arrows", "jsonl", "csv", "tsv", "idv", "msgpack", "zds"] {
        let between = at(&format!("a.{extension}"));
        write(&Convert::new([&first]), &between);
        // The smallest kind that holds it, and those that hold anything.
        for kind in [None, Some(Kind::Data64), Some(Kind::Hdf5)] {
            let mut target = NetcdfTarget::default();
            target.kind = kind;
            target.ds.ragged = Some(dsfmt::arrow::Ragged::Pad);
            let made = write_as(&target, &Convert::new([&between]), &at("b.nc"));
            assert!(made.variables >= 3, "{extension} {kind:?}");
            let found = Reader::open(at("b.nc")).unwrap();
            assert_eq!(found.kind(), kind.unwrap_or(found.kind()));
            // By way of ds it is the same.
            write_as(&target.ds, &Convert::new([&between]), &at("c.ds"));
            write_as(&target, &Convert::new([at("c.ds")]), &at("c.nc"));
            assert!(fs::read(at("b.nc")).unwrap() == fs::read(at("c.nc")).unwrap(), "{extension} {kind:?}");
        }
        let rows = all(&at("b.nc"));
        let rows = rows.get("row").or(rows.get("t")).unwrap_or_else(|| panic!("{extension}: {:?}", rows.keys()));
        let names: Vec<&Value> = rows.iter().map(|row| &row["name"]).collect();
        let expected = &all(&first)["t"];
        assert_eq!(names, expected.iter().map(|row| &row["name"]).collect::<Vec<_>>(), "{extension}");
    }
    // Several files, one behind the other, and some of their rows and columns.
    let convert = Convert::new([at("a.parquet"), at("a.parquet")]).with_columns(["name"]).with_rows(40..60);
    let mut target = NetcdfTarget::default();
    target.ds.dim = Some("n".to_owned());
    write_as(&target, &convert, &at("d.nc"));
    let expected: Vec<Value> = all(&at("a.parquet"))["rows"].iter().map(|row| row["name"].clone()).collect();
    let found: Vec<Value> = all(&at("d.nc"))["n"].iter().map(|row| row["name"].clone()).collect();
    assert_eq!(found, expected.iter().cycle().skip(40).take(20).cloned().collect::<Vec<_>>());
}

#[test]
fn subsets_match_those_of_the_ds_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut compared = 0;
    for path in goldens() {
        write(&Convert::new([&path]), &at("whole.ds"));
        let whole = dsfmt::Reader::open(at("whole.ds")).unwrap();
        let names: Vec<&str> = whole.variables().map(|variable| variable.name()).step_by(2).collect();
        for dimension in whole.dimensions().iter().map(|found| Some(found.name.clone())).chain([None]) {
            for out in ["ds", "nc"] {
                let subset = |input: &Path, name: &str| {
                    let mut convert = Convert::new([input]).with_columns(names.clone());
                    let path = at(&format!("{name}.{out}"));
                    let mut target = target(&path);
                    if let Some(dimension) = &dimension {
                        convert = convert.with_rows(1..2);
                        target.set("dim", dimension.as_ref()).unwrap();
                    }
                    let report = convert.write_as(target.as_ref(), &path, Overwrite::Replace, &Registry::builtin());
                    report.map(|_| fs::read(path).unwrap()).map_err(|error| error.detail().to_owned())
                };
                let (ours, theirs) = (subset(&path, "ours"), subset(&at("whole.ds"), "theirs"));
                assert!(ours == theirs, "{path:?} {dimension:?} {out}");
                compared += usize::from(ours.is_ok());
            }
        }
    }
    assert!(compared > 60, "{compared}");
}

#[test]
fn joins_files_along_a_dimension() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for kind in KINDS {
        let days: Vec<PathBuf> =
            [("a", "hours since 2000-01-01"), ("b", "hours since 2000-01-02"), ("c", "minutes since 2000-01-03")]
                .map(|(name, units)| write_netcdf(folder.path(), name, units, 3000, kind))
                .into();
        let sets: Vec<PathBuf> = days.iter().map(|day| day.with_extension("whole.ds")).collect();
        for (day, set) in days.iter().zip(&sets) {
            write(&Convert::new([day]), set);
        }
        let joined = |files: &[PathBuf], out: &Path| {
            wharf::Merge::new(files)
                .with_option("dim", "t")
                .write(out, Overwrite::Replace, &Registry::builtin())
                .unwrap()
        };
        let report = joined(&days, &at("all.nc"));
        joined(&sets, &at("all.ds"));
        assert_eq!((report.format, report.inputs, report.variables), ("netcdf", 3, 3));
        assert_eq!(report.unit, wharf::convert::TargetUnit::Variables, "reports count variables");
        let found = all(&at("all.nc"));
        assert!(found == all(&at("all.ds")), "{kind:?}");
        // In the units of the first file: the second day begins after 24 hours.
        let times: Vec<f64> = found["t"].iter().map(|row| row["t"].as_f64().unwrap()).collect();
        assert_eq!((times.len(), times[3000], times[6001]), (9000, 24.0, 48.0 + 0.25 / 60.0), "{kind:?}");
        let whole = Reader::open(at("all.nc")).unwrap();
        let smallest = if kind == Kind::Offset64 { Kind::Classic } else { kind };
        assert_eq!(whole.kind(), smallest);
        let unlimited: Vec<&str> =
            whole.dimensions().iter().filter(|found| found.unlimited).map(|found| &*found.name).collect();
        assert_eq!(unlimited, ["t"], "{kind:?}");
        if kind != Kind::Hdf5 {
            continue;
        }
        // Compressed like the first file.
        for deflate in [None, Some(1)] {
            let mut target = NetcdfTarget::default();
            (target.kind, target.deflate) = (Some(kind), deflate);
            write_as(&target, &Convert::new([&days[0]]).with_columns(["wide", "t"]), &at("numbers.nc"));
            joined(&[at("numbers.nc"), at("numbers.nc")], &at("twice.nc"));
            let bytes = fs::metadata(at("twice.nc")).unwrap().len();
            assert_eq!(bytes < 2 * 3000 * (3 * 4 + 8), deflate.is_some(), "{bytes}");
        }
    }
}

#[test]
fn reports_damage_with_its_position() {
    let folder = tempfile::tempdir().unwrap();
    let nc = write_netcdf(folder.path(), "a", "hours since 2000-01-01", 40_000, Kind::Hdf5);
    let findings = |path: &Path| {
        let mut findings = Vec::new();
        let checked = wharf::open(path)
            .and_then(|container| container.verify(&VerifyOptions::default(), &mut |finding| findings.push(finding)));
        checked
            .map(|()| findings.into_iter().map(|found| (found.severity, found.error.to_string())).collect::<Vec<_>>())
    };
    assert_eq!(findings(&nc).unwrap(), []);
    let bytes = fs::read(&nc).unwrap();
    let mut found = 0;
    for at in (4096..bytes.len()).step_by(bytes.len() / 40) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0xff;
        bytes[at + 1] ^= 0xff;
        fs::write(&nc, bytes).unwrap();
        found += match findings(&nc) {
            Err(_) => 1,
            Ok(all) => usize::from(all.iter().any(|(severity, _)| *severity == Severity::Error)),
        };
    }
    // Deflate has no checksum, so some damage only changes numbers.
    assert!(found > 10, "{found} of 40");
    let rich = goldens().into_iter().find(|path| path.ends_with("rich.nc")).unwrap();
    let warnings = findings(&rich).unwrap();
    assert!(warnings.iter().all(|(severity, _)| *severity == Severity::Warning), "{warnings:?}");
    assert!(warnings.iter().any(|(_, text)| text.contains("compound")), "{warnings:?}");
}

#[test]
fn rows_may_be_large() {
    let folder = tempfile::tempdir().unwrap();
    let (ds, nc) = (folder.path().join("a.ds"), folder.path().join("a.nc"));
    let wide: Vec<i32> = (0..2 * 3 * 150_000).collect();
    let missing = Mask::from_bools((0..wide.len()).map(|n| n % 1001 == 5));
    let array = Array::new([2, 3, 150_000], wide).unwrap().with_mask(missing).unwrap();
    let mut builder = Builder::new();
    builder.field("wide", Field::new(array).with_dimensions(["t", "y", "x"]));
    builder.write(&ds, OutputOptions::default()).unwrap();
    let expected = tables(wharf::open(&ds).unwrap().as_ref());
    for kind in [Kind::Classic, Kind::Hdf5] {
        let output = OutputOptions::default().with_overwrite(Overwrite::Replace);
        let options = WriteOptions::default().with_output(output).with_kind(Some(kind));
        from_ds(&dsfmt::Reader::open(&ds).unwrap(), &nc, &options).unwrap();
        assert!(tables(wharf::open(&nc).unwrap().as_ref()) == expected, "{kind:?}");
    }
}
