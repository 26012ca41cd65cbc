//! Compares NetCDF files of the C library with what ds-format reads from them.

use std::path::{Path, PathBuf};

use dsfmt::netcdf::{Attribute, Converted, Kind, ReadOptions, Reader, WriteOptions, ds_view, from_ds, to_ds};
use dsfmt::{Array, Builder, Field, MergeOptions, OutputOptions, Values, Variable, merge};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/netcdf")
}

const FILES: [(&str, Kind); 14] = [
    ("basic-cdf1", Kind::Classic),
    ("basic-cdf2", Kind::Offset64),
    ("basic-cdf5", Kind::Data64),
    ("basic-nc4", Kind::Hdf5),
    ("odd-records-cdf1", Kind::Classic),
    ("odd-records-cdf2", Kind::Offset64),
    ("odd-records-cdf5", Kind::Data64),
    ("odd-records-nc4", Kind::Hdf5),
    ("no-records-cdf1", Kind::Classic),
    ("no-records-cdf2", Kind::Offset64),
    ("no-records-cdf5", Kind::Data64),
    ("no-records-nc4", Kind::Hdf5),
    ("rich", Kind::Hdf5),
    ("many-attributes", Kind::Hdf5),
];

/// Every element as exact text; a dash if missing.
fn shown(array: &Array<'_>) -> Vec<String> {
    let missing = |index| array.mask().is_some_and(|mask| mask.is_missing(index));
    let text = |index: usize| match array.values() {
        Values::Float32(all) => format!("{:?}", all[index]),
        Values::Float64(all) => format!("{:?}", all[index]),
        Values::Int8(all) => all[index].to_string(),
        Values::Int16(all) => all[index].to_string(),
        Values::Int32(all) => all[index].to_string(),
        Values::Int64(all) => all[index].to_string(),
        Values::Uint8(all) => all[index].to_string(),
        Values::Uint16(all) => all[index].to_string(),
        Values::Uint32(all) => all[index].to_string(),
        Values::Uint64(all) => all[index].to_string(),
        Values::Bool(all) => all[index].to_string(),
        Values::Str(all) | Values::Unicode(all) => format!("{:?}", all.get(index).unwrap()),
    };
    (0..array.len()).map(|index| if missing(index) { "-".to_owned() } else { text(index) }).collect()
}

/// What ds-format read, except that it compares packed integers as signed in spite of `_Unsigned`, and so loses 129, which is -127.
fn expected_values(variable: Variable<'_>, scaled: bool) -> Vec<String> {
    let mut values = shown(&variable.read().unwrap());
    if loses_values(&variable, scaled) {
        assert_eq!(values, ["1", "-2", "-"]);
        values[2] = "-127".to_owned();
    }
    values
}

fn loses_values(variable: &Variable<'_>, scaled: bool) -> bool {
    variable.name() == "unsigned" && !scaled && variable.attributes().any(|(name, _)| name == "_Unsigned")
}

/// Compares a variable with the ds file that ds-format wrote.
fn compare(name: &str, scaled: bool) {
    let reader = Reader::open(golden().join(format!("{name}.nc"))).unwrap();
    let expected =
        dsfmt::Reader::open(golden().join(format!("{name}{}.ds", if scaled { "" } else { ".raw" }))).unwrap();
    let options = ReadOptions::default().with_scaled(scaled);
    assert!(!expected.is_empty());
    for reference in expected.variables() {
        let what = format!("{name} {} scaled {scaled}", reference.name());
        let variable = reader.variable(reference.name()).unwrap();
        let names: Vec<&str> = reader.dimension_names(variable).collect();
        assert_eq!(names, reference.dimensions(), "{what}");
        let Some(shape) = reference.shape() else {
            assert_eq!(reader.read(variable, 0..1, &options).unwrap().missing(), 1, "{what}");
            continue;
        };
        assert_eq!(reader.data_type(variable, &options), reference.data_type(), "{what}");
        assert_eq!(reader.shape(variable, &options), shape, "{what}");
        let array = reader.read(variable, 0..variable.rows(), &options).unwrap();
        assert_eq!(array.shape(), shape, "{what}");
        let all = expected_values(reference, scaled);
        assert_eq!(shown(&array), all, "{what}");
        // And row by row.
        let mut rows = Vec::new();
        for row in 0..variable.rows() {
            rows.extend(shown(&reader.read(variable, row..row + 1, &options).unwrap()));
        }
        assert_eq!(rows, all, "{what}");
        if !shape.is_empty() {
            let error = reader.read(variable, 0..variable.rows() + 1, &options).unwrap_err().to_string();
            assert!(error.starts_with("netcdf: rows 0.."), "{error}");
        }
    }
}

#[test]
fn values_match_reference() {
    for (name, kind) in FILES {
        assert_eq!(Reader::open(golden().join(format!("{name}.nc"))).unwrap().kind(), kind);
        compare(name, true);
        compare(name, false);
    }
}

#[test]
fn reports_what_ds_does_not_have() {
    let reader = Reader::open(golden().join("rich.nc")).unwrap();
    let losses: Vec<String> = reader.losses().iter().map(ToString::to_string).collect();
    for expected in [
        "names of the enumeration (0 none, 1 some, 7 all) of variable \"enum\" left out",
        "variable \"compound\" left out: unsupported type compound of 2 fields",
        "variable \"vlen\" left out: unsupported type variable-length list",
    ] {
        assert!(losses.iter().any(|loss| loss.starts_with(expected)), "{expected}: {losses:#?}");
    }
    assert_eq!(losses.len(), 3, "{losses:#?}");
    let error = reader.read(reader.variable("vlen").unwrap(), 0..1, &ReadOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "netcdf: unsupported type variable-length list (column \"vlen\")");
    let unlimited: Vec<_> = reader
        .dimensions()
        .iter()
        .filter(|dimension| dimension.unlimited)
        .map(|dimension| dimension.name.as_str())
        .collect();
    assert_eq!(unlimited, ["t", "u"]);
    assert_eq!(reader.variable("chunked").unwrap().chunks.as_deref(), Some(&[4, 7][..]));
}

/// Name and text of each attribute that does not describe packed values.
fn attributes(variable: &Variable<'_>, scaled: bool) -> Vec<(String, String)> {
    let all = variable.attributes().map(|(name, value)| (name, value.as_text().to_owned()));
    let packing = ["scale_factor", "add_offset", "_Unsigned"];
    let is_packed = packing.iter().any(|name| variable.attributes().get(name).is_some());
    let of_stored = ["_FillValue", "missing_value", "valid_min", "valid_max", "valid_range"];
    all.filter(|(name, _)| !(scaled && is_packed && (packing.contains(&&**name) || of_stored.contains(&&**name))))
        .collect()
}

#[test]
fn attributes_keep_creation_order() {
    let reader = Reader::open(golden().join("many-attributes.nc")).unwrap();
    // More than a header holds.
    let many: Vec<String> = (0..12).map(|number| format!("a{:02}", number * 7 % 12)).collect();
    let names = |all: &[Attribute]| all.iter().map(|attribute| attribute.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(reader.attributes()), many);
    assert_eq!(names(&reader.variable("dense").unwrap().attributes), many);
    // In the header the order is another.
    assert_eq!(names(&reader.variable("gap").unwrap().attributes), ["c", "b", "a", "d", "z", "y"]);
}

/// A view has the variables and bytes of the converted file.
fn check_view(reader: Reader, options: &ReadOptions, path: &Path, converted: &Converted) {
    let (view, losses) = ds_view(reader, options, "x.nc".to_owned()).unwrap();
    assert_eq!(losses, converted.losses);
    let mut copies = Builder::new();
    copies.copy_attributes(&view);
    for variable in view.variables() {
        copies.field(variable.name(), Field::copy(&variable));
    }
    let copied = path.with_extension("copy");
    copies.clone().begin(&copied, OutputOptions::default()).unwrap().finish().unwrap();
    let file = std::fs::read(path).unwrap();
    assert!(std::fs::read(copied).unwrap() == file, "{}", path.display());
    let unwritten = copies.begin_unwritten(path).unwrap().into_reader().unwrap();
    assert!(unwritten.source().read(0..unwritten.source().len()).unwrap() == file);
}

#[test]
fn conversion_matches_reference() {
    let folder = tempfile::tempdir().unwrap();
    for (name, _) in FILES {
        for scaled in [false, true] {
            let reader = Reader::open(golden().join(format!("{name}.nc"))).unwrap();
            let path = folder.path().join(format!("{name}-{scaled}.ds"));
            let options = ReadOptions::default().with_scaled(scaled);
            let converted = to_ds(&reader, &path, &options, OutputOptions::default()).unwrap();
            assert_eq!(converted.losses.len(), reader.losses().len());
            check_view(reader, &options, &path, &converted);
            let ours = dsfmt::Reader::open(&path).unwrap();
            let theirs = golden().join(format!("{name}{}.ds", if scaled { "" } else { ".raw" }));
            let theirs = dsfmt::Reader::open(theirs).unwrap();
            // ds-format leaves out groups.
            let ungrouped = |name: &str| !name.contains('/');
            let ours_ungrouped = || ours.variables().filter(|variable| ungrouped(variable.name()));
            assert_eq!(converted.written.variables, ours.len(), "{name}");
            assert_eq!(ours_ungrouped().count(), theirs.len(), "{name}");
            let texts = |reader: &dsfmt::Reader| -> Vec<_> {
                let all = reader.attributes().filter(|(name, _)| ungrouped(name));
                all.map(|(name, value)| (name, value.as_text().to_owned())).collect()
            };
            assert_eq!(texts(&ours), texts(&theirs), "{name}");
            for (ours, theirs) in ours_ungrouped().zip(theirs.variables()) {
                let what = format!("{name} {} scaled {scaled}", theirs.name());
                assert_eq!(ours.name(), theirs.name(), "{what}");
                assert_eq!(attributes(&ours, scaled), attributes(&theirs, scaled), "{what}");
                assert_eq!(
                    (ours.dimensions(), ours.shape(), ours.data_type(), ours.endian(), ours.is_masked()),
                    (
                        theirs.dimensions(),
                        theirs.shape(),
                        theirs.data_type(),
                        theirs.endian(),
                        // NetCDF-4 is assumed to have missing elements.
                        theirs.is_masked() && (ours.is_masked() || !loses_values(&theirs, scaled))
                    ),
                    "{what}"
                );
                if ours.shape().is_some() {
                    assert_eq!(shown(&ours.read().unwrap()), expected_values(theirs, scaled), "{what}");
                }
            }
        }
    }
}

/// Elements beyond the valid range are missing, whatever their values.
#[test]
fn merge_ignores_values_of_missing_elements() {
    let folder = tempfile::tempdir().unwrap();
    let view = |name: &str, invalid: f64| {
        let (ds, nc) = (folder.path().join(format!("{name}.ds")), folder.path().join(format!("{name}.nc")));
        let mut builder = Builder::new();
        let height = Array::new([2], vec![1.0, invalid]).unwrap();
        builder
            .field("height", Field::new(height).with_dimensions(["x"]).with_attribute("valid_top", 3.0))
            .field("time", Field::new(Array::new([1], vec![invalid]).unwrap()).with_dimensions(["time"]));
        builder.write(&ds, OutputOptions::default()).unwrap();
        from_ds(&dsfmt::Reader::open(&ds).unwrap(), &nc, &WriteOptions::default()).unwrap();
        // An attribute that masks present elements would not be written.
        let mut file = std::fs::read(&nc).unwrap();
        let at = file.windows(9).position(|name| name == b"valid_top").unwrap();
        file[at..at + 9].copy_from_slice(b"valid_max");
        std::fs::write(&nc, file).unwrap();
        ds_view(Reader::open(&nc).unwrap(), &ReadOptions::default(), name.to_owned()).unwrap().0
    };
    let (one, other) = (view("one", 5.0), view("other", 7.0));
    let merged = merge(&[&one, &other], "time", MergeOptions::default()).unwrap();
    assert_eq!(merged.losses(), []);
    let merged = merged.into_reader(folder.path().join("out")).unwrap();
    let array = |name: &str| merged.variable(name).unwrap().read().unwrap();
    assert_eq!(array("time").values().as_slice::<f64>(), Some(&[5.0, 7.0][..]));
    assert_eq!((array("height").len(), array("height").missing()), (2, 1));
}
