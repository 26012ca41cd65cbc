//! Converts ds to NetCDF, and checks the losses.

use std::path::Path;

use dsfmt::netcdf::{Attribute, Converted, Kind, ReadOptions, Reader, WriteOptions, ds_view, from_ds, to_ds};
use dsfmt::{
    Array, Builder, DataType, Field, JsonBuf, Mask, MergeOptions, OutputOptions, Overwrite, Region, Values, merge,
};

const KINDS: [Kind; 4] = [Kind::Classic, Kind::Offset64, Kind::Data64, Kind::Hdf5];

/// Converts a dataset, and reads the result back.
fn converted(builder: &Builder<'_>, options: &WriteOptions) -> dsfmt::Result<(Converted, Reader)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ds");
    builder.write(&path, OutputOptions::default()).unwrap();
    let out = folder.path().join("a.nc");
    let done = from_ds(&dsfmt::Reader::open(&path)?, &out, options)?;
    assert_eq!(done.written.bytes, std::fs::metadata(&out).unwrap().len());
    Ok((done, Reader::open(&out)?))
}

fn read(reader: &Reader, name: &str) -> Array<'static> {
    let variable = reader.variable(name).unwrap();
    reader.read(variable, 0..variable.rows(), &ReadOptions::default()).unwrap()
}

/// Present values.
fn numbers<T: dsfmt::Element>(array: &Array<'_>) -> Vec<Option<T>> {
    let missing = |index| array.mask().is_some_and(|mask| mask.is_missing(index));
    let all = array.values().as_slice::<T>().unwrap().iter().enumerate();
    all.map(|(index, value)| (!missing(index)).then_some(*value)).collect()
}

#[test]
fn golden_files_round_trip() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/netcdf");
    let folder = tempfile::tempdir().unwrap();
    let mut files = 0;
    for name in ["basic-cdf1", "basic-cdf5", "basic-nc4", "odd-records-cdf2", "no-records-cdf1", "no-records-nc4"] {
        let original = Reader::open(golden.join(format!("{name}.nc"))).unwrap();
        let path = folder.path().join(format!("{name}.ds"));
        to_ds(&original, &path, &ReadOptions::default(), OutputOptions::default()).unwrap();
        for kind in KINDS.map(Some).into_iter().chain([None]) {
            for unlimited in [None, original.dimensions().iter().find(|dimension| dimension.unlimited)] {
                let unlimited = unlimited.map(|dimension| dimension.name.clone());
                let out = folder.path().join(format!("{name}-{kind:?}-{}.nc", unlimited.is_some()));
                let options = WriteOptions::default().with_kind(kind).with_unlimited(unlimited);
                let done = from_ds(&dsfmt::Reader::open(&path).unwrap(), &out, &options);
                let large = ["basic-cdf5", "basic-nc4"].contains(&name);
                if large && matches!(kind, Some(Kind::Classic | Kind::Offset64)) {
                    let error = done.unwrap_err().to_string();
                    assert!(error.ends_with("of type int64; CDF-5 and NetCDF-4 can"), "{error}");
                    continue;
                }
                assert_eq!(done.unwrap().losses, [], "{name} {kind:?}");
                let again = Reader::open(&out).unwrap();
                let smallest = if large { Kind::Data64 } else { Kind::Classic };
                assert_eq!(again.kind(), kind.unwrap_or(smallest));
                for variable in original.variables() {
                    let what = format!("{name} {kind:?} {}", variable.name);
                    let found = again.variable(&variable.name).unwrap();
                    assert_eq!((&found.shape, &found.nc_type), (&variable.shape, &variable.nc_type), "{what}");
                    let (a, b) = (read(&original, &variable.name), read(&again, &variable.name));
                    assert_eq!(a.mask(), b.mask(), "{what}");
                    assert_eq!(shown(&a), shown(&b), "{what}");
                    for attribute in &variable.attributes {
                        let value = found.attribute(&attribute.name).unwrap();
                        assert_eq!(untyped(value), untyped(&attribute.value), "{what} {}", attribute.name);
                    }
                }
                files += 1;
            }
        }
    }
    assert_eq!(files, 6 * 10 - 2 * 4);
}

/// Copies without JSON in between.
#[test]
fn copies_keep_the_types_of_attributes() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/netcdf");
    let folder = tempfile::tempdir().unwrap();
    let mut others = 0;
    for name in ["basic-cdf1", "basic-cdf5", "basic-nc4", "odd-records-cdf2", "many-attributes"] {
        let open = || Reader::open(golden.join(format!("{name}.nc"))).unwrap();
        let original = open();
        let (view, _) = ds_view(open(), &ReadOptions::default(), name.to_owned()).unwrap();
        let cut = Region::new().apply(ds_view(open(), &ReadOptions::default(), name.to_owned()).unwrap().0).unwrap();
        let time = original.dimensions().first().unwrap().name.clone();
        let joined = merge(&[&view], &time, MergeOptions::default()).unwrap();
        let joined = joined.into_reader(folder.path().join("joined.nc")).unwrap();
        for (way, reader) in [("copy", &view), ("cut", &cut), ("merge", &joined)] {
            for kind in [Kind::Data64, Kind::Hdf5] {
                let out = folder.path().join("out.nc");
                let options = OutputOptions::default().with_overwrite(Overwrite::Replace);
                from_ds(reader, &out, &WriteOptions::default().with_kind(Some(kind)).with_output(options)).unwrap();
                let again = Reader::open(&out).unwrap();
                let same = |found: &[Attribute], expected: &[Attribute]| {
                    for attribute in expected.iter().filter(|attribute| attribute.value.as_numbers().is_some()) {
                        let what = format!("{name} {way} {kind:?} {}", attribute.name);
                        let found = found.iter().find(|found| found.name == attribute.name).expect(&what);
                        assert_eq!(format!("{:?}", found.value), format!("{:?}", attribute.value), "{what}");
                    }
                    expected.len()
                };
                others += same(again.attributes(), original.attributes());
                for variable in original.variables() {
                    if let Ok(found) = again.variable(&variable.name) {
                        others += same(&found.attributes, &variable.attributes);
                    }
                }
            }
        }
    }
    assert!(others > 300, "{others}");
}

/// The value without its type: JSON does not distinguish integer widths.
fn untyped(value: &dsfmt::netcdf::AttributeValue) -> String {
    let text = format!("{value:?}");
    text.split_once('[').map_or(text.clone(), |(_, numbers)| numbers.to_owned())
}

/// Present elements.
fn shown(array: &Array<'_>) -> String {
    let missing: Vec<bool> = array.mask().map_or_else(|| vec![false; array.len()], |mask| mask.iter().collect());
    macro_rules! there {
        ($($name:ident)*) => {
            match array.values() {
                $(Values::$name(all) => format!("{:?}", all.iter().zip(missing).filter(|(_, gone)| !gone).collect::<Vec<_>>()),)*
                other => format!("{other:?}"),
            }
        };
    }
    there!(Float32 Float64 Int8 Int16 Int32 Int64 Uint8 Uint16 Uint32 Uint64)
}

fn one(name: &str, field: Field<'static>) -> Builder<'static> {
    let mut builder = Builder::new();
    builder.field(name, field);
    builder
}

#[test]
fn chooses_unused_fill_value() {
    let masked = |values: Vec<f32>, missing: Vec<bool>| {
        let array = Array::new([values.len() as u64], values).unwrap().with_mask(Mask::from_bools(missing)).unwrap();
        Field::new(array).with_dimensions(["x"])
    };
    let default = f32::from_bits(0x7cf0_0000);
    for kind in KINDS {
        let options = WriteOptions::default().with_kind(Some(kind));
        // The variable's own.
        let field = masked(vec![1.0, 0.0, 3.0], vec![false, true, false]).with_attribute("_FillValue", -99.0f32);
        let (done, reader) = converted(&one("v", field), &options).unwrap();
        assert_eq!(done.losses, []);
        assert_eq!(numbers::<f32>(&read(&reader, "v")), [Some(1.0), None, Some(3.0)]);
        let fill = reader.variable("v").unwrap().attribute("_FillValue").unwrap();
        assert_eq!(fill.as_numbers(), Some(&vec![-99.0f32].into()));
        // Also a present value: another one is chosen and reported.
        let field = masked(vec![1.0, 0.0, -99.0], vec![false, true, false]).with_attribute("_FillValue", -99.0f32);
        let (done, reader) = converted(&one("v", field), &options).unwrap();
        assert_eq!(done.losses.len(), 1);
        assert_eq!(numbers::<f32>(&read(&reader, "v")), [Some(1.0), None, Some(-99.0)]);
        // The default occurs and nothing is missing: an unused value must be declared.
        let field = masked(vec![1.0, default, 3.0], vec![false; 3]);
        let (_, reader) = converted(&one("v", field), &options).unwrap();
        assert_eq!(numbers::<f32>(&read(&reader, "v")), [Some(1.0), Some(default), Some(3.0)]);
        // A fill value of another type is left out.
        let bytes = Array::new([2], vec![1i8, 2]).unwrap().with_mask(Mask::from_bools([false, true])).unwrap();
        let field = Field::new(bytes).with_attribute("_FillValue", 1000);
        let (done, reader) = converted(&one("v", field), &options).unwrap();
        assert_eq!(done.losses.len(), 1);
        assert_eq!(numbers::<i8>(&read(&reader, "v")), [Some(1), None]);
    }
    let options = WriteOptions::default();
    let field = masked(vec![1.0, 2.0], vec![true, false]).with_attribute("missing_value", 2.0f32);
    let (done, reader) = converted(&one("v", field), &options).unwrap();
    let loss = done.losses[0].to_string();
    let expected =
        "attribute \"missing_value\" of variable \"v\" left out: present elements would be read as missing (once)";
    assert_eq!(loss, expected);
    assert_eq!(numbers::<f32>(&read(&reader, "v")), [None, Some(2.0)]);
    // All bytes but one occur, then all.
    let every: Vec<i8> = (0..=255u8).map(|byte| byte as i8).collect();
    for (last, works) in [(7i8, true), (127, false)] {
        let mut values = every.clone();
        values[127] = last;
        let mut missing = vec![false; 256];
        values.push(0);
        missing.push(true);
        let array = Array::new([257], values.clone()).unwrap().with_mask(Mask::from_bools(missing)).unwrap();
        let found = converted(&one("v", Field::new(array)), &options);
        match found {
            Ok((_, reader)) if works => {
                let found = numbers::<i8>(&read(&reader, "v"));
                assert_eq!(found[256], None);
                assert!(found[..256].iter().zip(&values).all(|(found, value)| *found == Some(*value)));
            }
            Err(error) if !works => {
                let expected =
                    "netcdf: no fill value left: present elements have every value of the type (column \"v\")";
                assert_eq!(error.to_string(), expected);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// What is present in ds, where attributes mask nothing, is present in NetCDF.
#[test]
fn leaves_out_attributes_that_would_mask_present_elements() {
    let field = |values: Values<'static>, attributes: &[(&str, &str)]| {
        let missing = (0..values.len()).map(|index| index == 0);
        let array = Array::new([values.len() as u64], values).unwrap().with_mask(Mask::from_bools(missing)).unwrap();
        let add = |field: Field<'static>, (name, json): &(&str, &str)| {
            field.with_attribute(name, JsonBuf::parse(json).unwrap())
        };
        attributes.iter().fold(Field::new(array), add)
    };
    let integers: Values<'static> = vec![0i32, 5, 50].into();
    let bytes: Values<'static> = vec![0i8, 5, -6].into();
    let unsigned = ("_Unsigned", r#""true""#);
    for (values, attributes, left_out) in [
        (&integers, vec![("valid_range", "[0, 100]")], vec![]),
        (&integers, vec![("valid_range", "[0, 10]")], vec!["valid_range"]),
        (&integers, vec![("valid_min", "0"), ("valid_max", "10")], vec!["valid_min", "valid_max"]),
        // Without the range, the maximum would count.
        (&integers, vec![("valid_range", "[10, 100]"), ("valid_max", "10")], vec!["valid_range", "valid_max"]),
        (&integers, vec![("missing_value", "[7, 50]")], vec!["missing_value"]),
        (&integers, vec![("missing_value", "[7, 8]"), ("valid_range", "[6, 100]")], vec!["valid_range"]),
        (&bytes, vec![unsigned, ("valid_range", "[0, -2]")], vec![]),
        (&bytes, vec![unsigned, ("valid_range", "[0, -7]")], vec!["valid_range"]),
        (&bytes, vec![("valid_range", "[0, -2]")], vec!["valid_range"]),
    ] {
        let (done, reader) = converted(&one("v", field(values.clone(), &attributes)), &Default::default()).unwrap();
        let losses: Vec<_> = done.losses.iter().map(|loss| loss.what.clone()).collect();
        let loss =
            |name| format!("attribute {name:?} of variable \"v\" left out: present elements would be read as missing");
        assert_eq!(losses, left_out.iter().map(loss).collect::<Vec<_>>(), "{attributes:?}");
        let missing: Vec<bool> = read(&reader, "v").mask().unwrap().iter().collect();
        assert_eq!(missing, [true, false, false], "{attributes:?}");
    }
}

/// Wide types, too, have a value that no element has.
#[test]
fn finds_fill_values_of_wide_types() {
    fn check<T: dsfmt::Element>(mut values: Vec<T>)
    where
        Values<'static>: From<Vec<T>>,
    {
        let count = values.len();
        values.push(values[0]);
        let array = Array::new([values.len() as u64], values.clone()).unwrap();
        let array = array.with_mask(Mask::from_bools((0..=count).map(|index| index == count))).unwrap();
        let (done, reader) = converted(&one("v", Field::new(array)), &Default::default()).unwrap();
        assert_eq!(done.losses, []);
        let found = numbers::<T>(&read(&reader, "v"));
        let expected: Vec<Option<T>> = values[..count].iter().copied().map(Some).chain([None]).collect();
        assert_eq!(found, expected);
    }
    check(vec![0u32, u32::MAX, u32::MAX - 1]);
    check(vec![0u64, u64::MAX, u64::MAX - 1, u64::MAX - 2]);
    check(vec![i32::MIN, i32::MAX, i32::MIN + 1, -9999]);
    check(vec![i64::MIN, i64::MAX, i64::MIN + 2, -9999]);
    let default = f32::from_bits(0x7cf0_0000);
    check(vec![default, f32::MAX, f32::MIN, -9999.0]);
}

/// `NC_STRING` is a C string; characters keep what is inside.
#[test]
fn strings_with_nul_characters_are_reported() {
    let texts = || ["a\0b", "c\0de", "f\0", "g"].into_iter().collect::<Values<'static>>();
    for kind in KINDS {
        let builder = one("s", Field::new(Array::new([4], texts()).unwrap()).with_dimensions(["n"]));
        let (done, reader) = converted(&builder, &WriteOptions::default().with_kind(Some(kind))).unwrap();
        let mut losses: Vec<(String, u64)> =
            done.losses.iter().map(|loss| (loss.what.to_string(), loss.count)).collect();
        assert_eq!(losses.pop().unwrap(), ("trailing NUL characters of strings of \"s\" dropped".to_owned(), 1));
        let is_cut = kind == Kind::Hdf5;
        let expected = is_cut.then(|| ("strings of \"s\" end at their first NUL character".to_owned(), 2));
        assert_eq!(losses.pop(), expected);
        let found = read(&reader, "s");
        let found: Vec<_> = found.values().as_strings().unwrap().iter().map(<[u8]>::to_vec).collect();
        let kept: [&[u8]; 4] = if is_cut { [b"a", b"c", b"f", b"g"] } else { [b"a\0b", b"c\0de", b"f", b"g"] };
        assert_eq!(found, kept);
    }
}

#[test]
fn converts_strings_and_bools() {
    let texts = |all: &[&str]| Array::new([all.len() as u64], all.iter().copied().collect::<Values<'_>>()).unwrap();
    let mut builder = Builder::new();
    builder.field("t", Field::new(texts(&["", "Grüße", "x"])).with_dimensions(["n"]));
    let bytes: Values<'static> = [&b"ab"[..], b"\xff"].into_iter().collect();
    builder.field("b", Field::new(Array::new([2], bytes).unwrap()).with_dimensions(["m"]));
    builder.field("flag", Field::new(Array::new([3], vec![true, false, true]).unwrap()).with_dimensions(["n"]));
    builder.field("gone", Field::empty().with_type(Some(DataType::Int16)));
    builder.field("when", Field::new(Array::new([], vec![2_451_545.5f64]).unwrap()).with_time(true));
    builder.attribute("list", JsonBuf::list(["a".into(), "b".into()])).attribute("a/b", 1);
    for kind in KINDS {
        let (done, reader) = converted(&builder, &WriteOptions::default().with_kind(Some(kind))).unwrap();
        let losses: Vec<String> = done.losses.iter().map(ToString::to_string).collect();
        assert!(losses.iter().any(|loss| loss.starts_with("booleans of \"flag\" written as bytes")), "{losses:?}");
        assert!(losses.iter().any(|loss| loss.starts_with("attribute \"a/b\" left out")), "{losses:?}");
        assert_eq!(losses.len(), if kind == Kind::Hdf5 { 2 } else { 3 }, "{losses:?}");
        let found = read(&reader, "t");
        let strings: Vec<_> = found.values().as_strings().unwrap().iter().map(<[u8]>::to_vec).collect();
        assert_eq!((found.data_type(), found.shape()), (DataType::Unicode, &[3][..]), "{kind}");
        assert_eq!(strings, ["".as_bytes(), "Grüße".as_bytes(), b"x"]);
        let joined = ReadOptions::default().with_characters(dsfmt::netcdf::Characters::Joined);
        let found = reader.read(reader.variable("b").unwrap(), 0..2, &joined).unwrap();
        assert_eq!(found.values().as_strings().unwrap().iter().collect::<Vec<_>>(), [&b"ab"[..], b"\xff"]);
        assert_eq!(numbers::<i8>(&read(&reader, "flag")), [Some(1), Some(0), Some(1)]);
        assert_eq!(read(&reader, "gone").missing(), 1);
        let units = reader.variable("when").unwrap().attribute("units").unwrap();
        assert_eq!(units.as_text(), Some("days since -4713-11-24 12:00 UTC"));
    }
}

#[test]
fn rejects_what_netcdf_cannot_hold() {
    let error = |builder: &Builder<'_>, options: &WriteOptions| converted(builder, options).unwrap_err().to_string();
    let long = one("n", Field::new(Array::new([1], vec![1i64]).unwrap()));
    assert_eq!(
        error(&long, &WriteOptions::default().with_kind(Some(Kind::Classic))),
        "netcdf: CDF-1 cannot hold variable \"n\" of type int64; CDF-5 and NetCDF-4 can"
    );
    let spaced = one("a ", Field::new(Array::new([1], vec![1i8]).unwrap()).with_dimensions(["x"]));
    assert_eq!(error(&spaced, &WriteOptions::default()), "netcdf: invalid NetCDF variable name \"a \"");
    let options = WriteOptions::default().with_unlimited(Some("t".into()));
    assert_eq!(error(&long, &options), "netcdf: unknown unlimited dimension \"t\"");
    let flat = one("v", Field::new(Array::new([2, 3], vec![1i8; 6]).unwrap()).with_dimensions(["x", "t"]));
    assert_eq!(
        error(&flat, &options.clone().with_kind(Some(Kind::Classic))),
        "netcdf: CDF-1 holds an unlimited or empty dimension only as the first of a variable, found \"t\" later (column \"v\")"
    );
    // NetCDF-4 does, and is the default then.
    for kind in [Some(Kind::Hdf5), None] {
        let (_, reader) = converted(&flat, &options.clone().with_kind(kind)).unwrap();
        assert_eq!(reader.kind(), Kind::Hdf5);
        assert!(reader.dimensions().iter().any(|dimension| dimension.name == "t" && dimension.unlimited));
    }
    let empty = one("v", Field::new(Array::new([0, 0], Vec::<i8>::new()).unwrap()).with_dimensions(["x", "y"]));
    assert_eq!(
        error(&empty, &WriteOptions::default().with_kind(Some(Kind::Classic))),
        "netcdf: CDF-1 holds one unlimited or empty dimension, found \"x\" and \"y\""
    );
    assert_eq!(converted(&empty, &WriteOptions::default()).unwrap().1.kind(), Kind::Hdf5);
    // As do 64-bit numbers, which a classic kind holds otherwise.
    let long = one("v", Field::new(Array::new([2, 0], Vec::<i64>::new()).unwrap()).with_dimensions(["x", "y"]));
    assert_eq!(converted(&long, &WriteOptions::default()).unwrap().1.kind(), Kind::Hdf5);
}

#[test]
fn compresses_on_request() {
    let values: Vec<i32> = (0..300_000).map(|n| n / 1000).collect();
    let builder = one("v", Field::new(Array::new([300, 1000], values.clone()).unwrap()).with_dimensions(["t", "x"]));
    let options =
        WriteOptions::default().with_kind(Some(Kind::Hdf5)).with_deflate(Some(4)).with_unlimited(Some("t".into()));
    let (done, reader) = converted(&builder, &options).unwrap();
    assert!(done.written.bytes < 60_000, "{}", done.written.bytes);
    assert_eq!(read(&reader, "v").values().as_slice::<i32>().unwrap(), values);
    assert_eq!(reader.variable("v").unwrap().chunks.as_deref(), Some(&[262, 1000][..]));
}
