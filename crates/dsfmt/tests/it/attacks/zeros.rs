//! Sizes of 0 next to huge ones: a tiny header declares any number of empty rows.

use container_core::{Container, ErrorKind, OutputOptions, Overwrite, Result, Scan};
use dsfmt::container::DsContainer;
use dsfmt::{Builder, Field, MergeOptions, Reader, merge};

use super::open;

/// More than a million million rows.
const MANY: u64 = 1_000_000_000_000_000;

/// A variable at the start of the body.
fn member(name: &str, data_type: &str, dims: &[&str], sizes: &[u64], more: &str) -> String {
    format!(r#""{name}": {{".dims": {dims:?}, ".size": {sizes:?}, ".type": "{data_type}"{more}}}"#)
}

fn of(members: &[String], body: &[u8]) -> Reader {
    open(&format!("{{{}}}", members.join(", ")), body)
}

/// The first table as JSON lines.
fn lines(container: &DsContainer, scan: &Scan) -> Result<Vec<String>> {
    let mut rows = container.tables()[0].rows(scan)?;
    let mut all = Vec::new();
    while rows.advance()? {
        let mut line = Vec::new();
        rows.json(&mut line)?;
        all.push(String::from_utf8(line).unwrap());
    }
    Ok(all)
}

#[test]
fn limits_empty_rows() {
    for (data_type, more) in [
        ("float64", ""),
        ("int8", r#", ".missing": true"#),
        ("bool", ""),
        ("bool", r#", ".missing": true"#),
        ("str", ""),
        ("unicode", r#", ".missing": true"#),
    ] {
        let [x, s] = [member("x", data_type, &["n", "m"], &[MANY, 0], more), member("s", "int8", &[], &[], "")];
        let container = DsContainer::new(of(&[s.clone(), x], b"\x05"));
        let error = lines(&container, &Scan::default()).unwrap_err();
        let place = 7 + 1 + s.len() + 2 + r#""x": "#.len();
        assert_eq!(
            error.to_string(),
            format!(
                "ds: rows and lists without elements in table \"n\" {MANY} exceeds the limit 1048576 \
                 (byte {place}, column \"x\")"
            )
        );
        assert!(matches!(error.kind(), ErrorKind::Limit { .. }));
        // A part of them can be read, at any position.
        for start in [0, MANY - 2] {
            let some = Scan::default().with_rows(start..start + 2);
            assert_eq!(lines(&container, &some).unwrap(), [r#"{"x":[]}"#; 2]);
        }
        assert_eq!(lines(&container, &Scan::default().with_rows(MANY..MANY)).unwrap(), [""; 0]);
        let mut none = Scan::default();
        none.columns = Some(Vec::new());
        assert!(matches!(lines(&container, &none).unwrap_err().kind(), ErrorKind::Limit { .. }));
    }
}

#[test]
fn limits_empty_lists() {
    let rows = |sizes: &[u64]| {
        let dims = ["a", "b", "c"];
        let container = DsContainer::new(of(&[member("x", "int8", &dims[..sizes.len()], sizes, "")], b""));
        lines(&container, &Scan::default()).map(|lines| lines.len()).map_err(|error| error.detail().to_owned())
    };
    assert_eq!(rows(&[1 << 20, 0]), Ok(1 << 20));
    assert!(rows(&[(1 << 20) + 1, 0]).is_err());
    assert_eq!(rows(&[16, 1 << 16, 0]), Ok(16));
    let what = "rows and lists without elements in table \"a\"";
    assert_eq!(rows(&[17, 1 << 16, 0]).unwrap_err(), what);
    // Beyond the limit, empty lists are shown as one.
    assert_eq!(rows(&[17, MANY, 0]), Ok(17));
    assert_eq!(rows(&[1 << 60, 0, 3]).unwrap_err(), what);
    // Next to elements more are allowed, in proportion.
    let beside = |wide: u64| {
        let sizes = [1 << 17, wide, 0];
        let all = [member("w", "bool", &["a"], &[1 << 17], ""), member("x", "int8", &["a", "b", "c"], &sizes, "")];
        lines(&DsContainer::new(of(&all, &vec![0; 1 << 14])), &Scan::default()).map(|lines| lines.len())
    };
    assert_eq!(beside(16).unwrap(), 1 << 17);
    assert!(beside(17).is_err());
}

#[test]
fn merges_empty_datasets_quickly() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.ds");
    let joined = |one: &Reader, other: &Reader, dimension: &str, new: Option<&str>| -> Result<Vec<u64>> {
        let options =
            MergeOptions::default().with_new_dimension(new.map(str::to_owned)).with_names(vec!["a".into(), "b".into()]);
        merge(&[one, other], dimension, options)?
            .write(&path, OutputOptions::default().with_overwrite(Overwrite::Replace))?;
        Ok(Reader::open(&path)?.variable("x")?.shape().unwrap_or_default().to_vec())
    };
    for (data_type, more) in [("float64", ""), ("bool", r#", ".missing": true"#), ("unicode", "")] {
        let of_sizes = |dims: &[&str], sizes: &[u64]| of(&[member("x", data_type, dims, sizes, more)], b"");
        let last = of_sizes(&["n", "m"], &[MANY, 0]);
        assert_eq!(joined(&last, &last, "n", None).unwrap(), [2 * MANY, 0]);
        assert_eq!(joined(&last, &last, "m", None).unwrap(), [MANY, 0]);
        assert_eq!(joined(&last, &last, "q", None).unwrap(), [2, MANY, 0]);
        assert_eq!(joined(&last, &last, "n", Some("q")).unwrap(), [2 * MANY, 0]);
        let middle = of_sizes(&["a", "m", "n"], &[1 << 20, 0, 1 << 40]);
        assert_eq!(joined(&middle, &middle, "n", None).unwrap(), [1 << 20, 0, 1 << 41]);
        assert_eq!(joined(&middle, &middle, "a", None).unwrap(), [1 << 21, 0, 1 << 40]);
        // A dataset without the variable adds missing elements, too many here.
        let axis = of(&[member("y", "int8", &["m"], &[3], "")], b"\x01\x02\x03");
        let rows = of(&[member("x", "int32", &["n"], &[2], "")], &[0; 8]);
        let huge = of(&[member("q", "int8", &["n", "m"], &[MANY, 0], "")], b"");
        for (one, other, dimension, bits, lacks) in [
            (&last, &axis, "m", 3 * MANY, "b"),
            (&axis, &last, "m", 3 * MANY, "a"),
            (&rows, &huge, "n", MANY, "b"),
            (&huge, &rows, "n", MANY, "a"),
        ] {
            let error = joined(one, other, dimension, None).unwrap_err().to_string();
            let bytes = bits / 8;
            assert_eq!(
                error,
                format!(
                    "ds: {lacks}: mask of missing elements in bytes {bytes} exceeds the limit 1073741824 (column \"x\")"
                )
            );
        }
        assert_eq!(
            joined(&rows, &of(&[member("q", "int8", &["n", "m"], &[70_000, 0], "")], b""), "n", None).unwrap(),
            [70_002]
        );
    }
}

#[cfg(feature = "netcdf")]
#[test]
fn converts_empty_rows_to_netcdf_or_reports() {
    use dsfmt::netcdf::{Kind, WriteOptions, from_ds};
    let folder = tempfile::tempdir().unwrap();
    let write = |reader: &Reader, kind: Kind| {
        let options = WriteOptions::default()
            .with_kind(Some(kind))
            .with_output(OutputOptions::default().with_overwrite(Overwrite::Replace));
        let done = from_ds(reader, folder.path().join("out.nc"), &options);
        done.map(|done| done.written.bytes < 20_000).map_err(|error| error.to_string())
    };
    for data_type in ["float64", "bool", "unicode"] {
        let first = of(&[member("x", data_type, &["m", "n"], &[0, MANY], "")], b"");
        let last = of(&[member("x", data_type, &["n", "m"], &[MANY, 0], "")], b"");
        assert_eq!(write(&first, Kind::Data64), Ok(true));
        assert!(write(&last, Kind::Data64).unwrap_err().contains("found \"m\" later"));
        for reader in [&first, &last] {
            assert_eq!(write(reader, Kind::Hdf5), Ok(true));
            let again = dsfmt::netcdf::Reader::open(folder.path().join("out.nc")).unwrap();
            assert_eq!(Some(again.variable("x").unwrap().shape.as_slice()), reader.variable("x").unwrap().shape());
        }
        assert_eq!(write(&of(&[member("x", data_type, &["n", "m"], &[1000, 0], "")], b""), Kind::Hdf5), Ok(true));
    }
    let few = of(&[member("x", "int8", &["n", "m"], &[3, 0], "")], b"");
    let options = WriteOptions::default().with_kind(Some(Kind::Hdf5)).with_unlimited(Some("n".into()));
    let path = folder.path().join("few.nc");
    assert_eq!(from_ds(&few, &path, &options).unwrap().losses, []);
    let again = dsfmt::netcdf::Reader::open(&path).unwrap();
    assert_eq!(again.variable("x").unwrap().shape, [3, 0]);
    // Beyond any file.
    let most = of(&[member("x", "int8", &["n", "m"], &[u64::MAX, 0], "")], b"");
    assert_eq!(
        write(&most, Kind::Hdf5).unwrap_err(),
        "netcdf: NetCDF-4 cannot hold dimension \"n\" of 18446744073709551615"
    );
}

#[test]
fn zero_sizes_with_huge_others() {
    for (size, problem) in [
        ("[0, 1000000000000, 10000000]", false),
        ("[1000000000000, 0]", false),
        ("[18446744073709551615, 0]", false),
        ("[18446744073709551615, 0, 2]", true),
    ] {
        for data_type in ["float64", "bool", "unicode", "str"] {
            for missing in [true, false] {
                let header = format!(
                    r#"{{"x": {{".size": {size}, ".type": "{data_type}", ".missing": {missing}, ".offset": 99}}}}"#
                );
                let reader = open(&header, b"");
                let x = reader.variable("x").unwrap();
                assert_eq!(x.problem().is_some(), problem, "{size}");
                if problem {
                    continue;
                }
                let array = x.read().unwrap();
                assert_eq!((array.len(), array.shape()), (0, x.shape().unwrap()));
                assert_eq!(x.read_rows(0..0).unwrap().len(), 0);
                let rows = x.shape().unwrap()[0];
                assert_eq!(x.read_rows(rows / 2..rows).unwrap().shape()[0], rows - rows / 2);
                assert_eq!(x.read_rows(0..rows.saturating_add(1)).is_err(), rows < u64::MAX);
                let mut copy = Builder::new();
                copy.field("x", Field::copy(&x)).field("y", Field::new(array).with_dimensions(x.dimensions()));
                copy.write_to(&mut std::io::sink()).unwrap();
            }
        }
    }
}
