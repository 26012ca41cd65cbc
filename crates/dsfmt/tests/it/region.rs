//! Parts of a dataset: compared with xarray, by `tests/reference/python/ds_region.py`, and with a naive model.

use container_core::ErrorKind;
use dsfmt::{Array, Builder, DataType, Endian, Field, Mask, Reader, Region, Select, Values};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// The golden cases of this name.
pub(crate) fn cases(name: &str) -> Vec<Value> {
    let path = format!("{}/../../tests/golden/ds-region/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub(crate) fn open(builder: &Builder<'_>) -> Reader {
    let mut bytes = Vec::new();
    builder.write_to(&mut bytes).unwrap();
    Reader::from_source(bytes.into(), Default::default()).unwrap()
}

fn field(shape: &[u64], values: impl Into<Values<'static>>, dimensions: &[&str]) -> Field<'static> {
    Field::new(Array::new(shape, values).unwrap()).with_dimensions(dimensions.iter().copied())
}

/// The dataset of the script.
pub(crate) fn dataset(lon: &str) -> Reader {
    let lats = vec![75.0f32, 45.5, 15.1, 0.0, -30.3, -90.0];
    let lons: Vec<f64> = match lon {
        "east" => (0..12).map(|n| f64::from(n) * 30.0).collect(),
        "signed" => (-6..6).map(|n| f64::from(n) * 30.0).collect(),
        _ => (0..12).rev().map(|n| f64::from(n) * 30.0).collect(),
    };
    let count = 12 * 6 * 12;
    let values = Array::new([12, 6, 12], (0..count).map(f64::from).collect::<Vec<_>>()).unwrap();
    let values = values.with_mask(Mask::from_bools((0..count).map(|n| n % 7 == 3))).unwrap();
    let mut builder = Builder::new();
    builder
        .attribute("title", "a part")
        .field("t", Field::new(values).with_dimensions(["time", "lat", "lon"]).with_attribute("units", "K"))
        .field("height", field(&[6, 12], (0..72).map(|n| f64::from(n) + 0.5).collect::<Vec<_>>(), &["lat", "lon"]))
        .field("day", field(&[12], (0..12).map(|n| n / 4).collect::<Vec<i32>>(), &["time"]).with_endian(Endian::Big))
        .field("elevation", field(&[4], vec![12i16, 94, 8, 31], &["station"]))
        .field("scalar", field(&[], vec![7.25f64], &[]))
        .field(
            "time",
            field(&[12], (0..12).map(|n| n * 6).collect::<Vec<i64>>(), &["time"])
                .with_attribute("units", "hours since 2000-01-30"),
        )
        .field("lat", field(&[6], lats, &["lat"]).with_attribute("units", "degrees_north"))
        .field("lon", field(&[12], lons, &["lon"]).with_attribute("units", "degrees_east"))
        .field(
            "station",
            field(&[4], ["Bergen", "Oslo", "Tromsø", "Ørsta"].into_iter().collect::<Values<'_>>(), &["station"]),
        );
    open(&builder)
}

/// The region that a case asks for.
pub(crate) fn asked(case: &Value) -> Region {
    let mut region = Region::new();
    for part in case["asked"].as_array().unwrap() {
        let [what, name, value] = [&part[0], &part[1], &part[2]].map(|text| text.as_str().unwrap());
        let text = format!("{name}={value}");
        let parsed = match what {
            "sel" => region.parse_indexes(&text),
            "between" => region.parse_between(&text),
            "at" => region.parse_points(&text),
            _ => region.parse_tolerance(&text),
        };
        region = parsed.unwrap();
    }
    region
}

/// Values as JSON; missing ones are null.
pub(crate) fn values(array: &Array<'_>) -> Vec<Value> {
    let missing = |index: usize| array.mask().is_some_and(|mask| mask.is_missing(index));
    let value = |index: usize| match array.values() {
        Values::Float32(all) => json!(all[index]),
        Values::Float64(all) => json!(all[index]),
        Values::Uint8(all) => json!(all[index]),
        Values::Int16(all) => json!(all[index]),
        Values::Int32(all) => json!(all[index]),
        Values::Int64(all) => json!(all[index]),
        Values::Unicode(all) => json!(std::str::from_utf8(all.get(index).unwrap()).unwrap()),
        other => panic!("{other:?}"),
    };
    (0..array.len()).map(|index| if missing(index) { Value::Null } else { value(index) }).collect()
}

/// Numbers compare as `f64`.
pub(crate) fn same(found: &[Value], expected: &[Value]) -> bool {
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| {
            found == expected || found.as_f64().is_some() && found.as_f64() == expected.as_f64()
        })
}

fn dimensions(reader: &Reader, name: &str) -> Value {
    reader.variable(name).unwrap().dimensions().into()
}

#[test]
fn cuts_as_xarray_does() {
    let cases = cases("regions");
    assert_eq!(cases.len(), 33);
    for case in cases {
        let what = &case["asked"];
        let part = asked(&case).apply(dataset(case["lon"].as_str().unwrap())).unwrap_or_else(|e| panic!("{what}: {e}"));
        let expected: &Map<String, Value> = case["expected"].as_object().unwrap();
        assert_eq!(part.len(), expected.len(), "{what}");
        for (name, expected) in expected {
            let variable = part.variable(name).unwrap();
            assert_eq!(dimensions(&part, name), expected["dims"], "{what} {name}");
            let found = values(&variable.read().unwrap());
            let expected = expected["values"].as_array().unwrap();
            assert!(same(&found, expected), "{what} {name}: {found:?}\n{expected:?}");
            // In blocks, as copies and batches read.
            let mut blocks = Vec::new();
            for start in (0..variable.len()).step_by(5) {
                blocks.extend(values(&variable.read_elements(start..variable.len().min(start + 5)).unwrap()));
            }
            assert_eq!(blocks, found, "{what} {name}");
        }
    }
}

#[test]
fn metadata_stays() {
    let region = Region::new().between("lat", Some(-40.0), Some(50.0)).with("time", Select::Index(0));
    let part = region.apply(dataset("east")).unwrap();
    assert_eq!(part.attributes().get("title").unwrap().as_str().unwrap(), "a part");
    let (t, day) = (part.variable("t").unwrap(), part.variable("day").unwrap());
    assert_eq!((t.shape().unwrap(), t.is_masked(), t.data_type()), (&[4, 12][..], true, Some(DataType::Float64)));
    assert_eq!(t.attributes().get("units").unwrap().as_str().unwrap(), "K");
    assert_eq!((day.shape(), day.endian()), (Some(&[][..]), Endian::Big));
    let all: Vec<String> = part.variables().map(|variable| variable.name().to_owned()).collect();
    let before: Vec<String> = dataset("east").variables().map(|variable| variable.name().to_owned()).collect();
    assert_eq!(all, before);
}

/// A copy of a part is the file that holds the part's values.
#[test]
fn a_copy_of_a_part_reads_like_the_part() {
    for case in cases("regions") {
        let part = asked(&case).apply(dataset(case["lon"].as_str().unwrap())).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut builder = Builder::new();
        builder.copy_attributes(&part);
        for variable in part.variables() {
            builder.field(variable.name(), Field::copy(&variable));
        }
        builder.begin(folder.path().join("part.ds"), Default::default()).unwrap().finish().unwrap();
        let copy = Reader::open(folder.path().join("part.ds")).unwrap();
        copy.verify(&Default::default(), &mut |finding| panic!("{finding:?}")).unwrap();
        for variable in part.variables() {
            let copied = copy.variable(variable.name()).unwrap();
            assert_eq!(copied.dimensions(), variable.dimensions());
            assert_eq!(values(&copied.read().unwrap()), values(&variable.read().unwrap()), "{}", variable.name());
        }
    }
}

/// A dataset with a coordinate for each kind of trouble.
fn odd() -> Reader {
    let masked = |values: Vec<f64>, missing: [bool; 4]| {
        let array = Array::new([4], values).unwrap().with_mask(Mask::from_bools(missing)).unwrap();
        Field::new(array).with_dimensions(["x"])
    };
    let mut builder = Builder::new();
    builder
        .field("x", field(&[4], vec![10i32, 20, 30, 40], &["x"]))
        .field("gaps", masked(vec![0.0, 1.0, f64::NAN, 3.0], [true, false, false, false]))
        .field("none", masked(vec![0.0; 4], [true; 4]))
        .field("big", field(&[4], vec![i64::MAX - 3, i64::MAX - 2, i64::MAX - 1, i64::MAX], &["x"]))
        .field(
            "packed",
            field(&[4], vec![-900i16, -300, 300, 900], &["x"])
                .with_attribute("scale_factor", 0.1)
                .with_attribute("add_offset", 1.0),
        )
        .field("unpacked", field(&[4], vec![1.0, 2.0, 3.0, 4.0], &["x"]).with_attribute("scale_factor", 10.0))
        .field("down", field(&[4], vec![9i16, 3, -3, -9], &["x"]).with_attribute("scale_factor", -10.0))
        .field(
            "nanoseconds",
            field(
                &[4],
                vec![1_700_000_000_000_001i64, 1_700_000_000_000_002, 1_700_000_000_000_003, 1_700_000_000_000_004],
                &["x"],
            )
            .with_attribute("units", "microseconds since 1970-01-01"),
        )
        .field("flags", field(&[4], vec![true, false, true, false], &["x"]))
        .field("grid", field(&[4, 1], vec![1u8, 2, 3, 4], &["x", "y"]))
        .field("nothing", Field::empty());
    open(&builder)
}

fn x(region: Region) -> Vec<Value> {
    values(&region.apply(odd()).unwrap().variable("x").unwrap().read().unwrap())
}

#[test]
fn coordinates_of_any_kind() {
    let region = Region::new;
    assert_eq!(x(region().between("gaps", Some(0.0), Some(9.0))), [20, 40], "missing values and NaN never match");
    assert_eq!(x(region().at("gaps", 2.2).with_tolerance("gaps", f64::INFINITY)), [40]);
    // Not representable as floats.
    assert_eq!(x(region().at("big", "9223372036854775805")), [20]);
    assert_eq!(x(region().between("big", Some("9223372036854775806"), None)), [30, 40]);
    assert_eq!(x(region().at("nanoseconds", "2023-11-14T22:13:20.000003")), [30]);
    // Packed values are compared as what they mean: -89, -29, 31, 91.
    assert_eq!(x(region().between("packed", Some("-29"), Some("31"))), [20, 30]);
    assert_eq!(x(region().at("packed", 91.0)), [40]);
    assert_eq!(x(region().at("packed", 30.0).with_tolerance("packed", 1.0)), [30]);
    assert_eq!(x(region().at("unpacked", 3.0)), [30], "ds-format unpacks, and keeps the attributes");
    // A negative scale turns the order: -90, -30, 30, 90.
    assert_eq!(x(region().between("down", Some(-30.0), Some(100.0))), [20, 30, 40]);
    assert_eq!(x(region().between("down", None, Some(-30.0))), [10, 20]);
    // One after the other, each in what the former left.
    assert_eq!(x(region().between("x", Some(15.0), Some(45.0)).between("gaps", Some(2.0), None)), [40]);
    assert_eq!(
        x(region().with("x", Select::Range { start: None, stop: None, step: Some(-1) }).between("x", Some(15.0), None)),
        [40, 30, 20]
    );
}

/// A date as the end of a range stands for all it names, and for nothing of the next day, however the numbers are rounded.
#[test]
fn ranges_end_before_the_next_period() {
    let hours = || (0..9u32).map(|n| 6 * n);
    let float = |since: f64, unit: f64| hours().map(|n| since + f64::from(n) / unit).collect::<Vec<_>>();
    #[allow(clippy::cast_possible_truncation, reason = "rounding is intended")]
    let single = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect::<Vec<_>>();
    let packed = |values: Values<'static>, scale: f64, since: &str| {
        let field = field(&[9], values, &["time"]).with_attribute("units", format!("hours since {since}"));
        field.with_attribute("scale_factor", scale)
    };
    let plain = |values: Values<'static>, units: &str| field(&[9], values, &["time"]).with_attribute("units", units);
    // 2020-06-01 is day 62243 since 1850-01-01, day 737578 since 0001-01-01, and hour 1055544 since 1900-01-01.
    let axes = [
        plain(float(62_243.0, 24.0).into(), "days since 1850-01-01"),
        plain(float(737_578.0, 24.0).into(), "days since 0001-01-01"),
        plain(float(1_055_544.0, 1.0).into(), "hours since 1900-01-01"),
        plain(single(float(1_055_544.0, 1.0)).into(), "hours since 1900-01-01"),
        plain(single(float(0.0, 1.0)).into(), "hours since 2020-06-01"),
        plain(hours().collect::<Vec<_>>().into(), "hours since 2020-06-01"),
        packed(hours().map(|n| i16::try_from(n * 10).unwrap()).collect::<Vec<_>>().into(), 0.1, "2020-06-01"),
        packed(hours().map(|n| -10 * i16::try_from(n).unwrap()).collect::<Vec<_>>().into(), -0.1, "2020-06-01"),
    ];
    for (index, axis) in axes.into_iter().enumerate() {
        let mut builder = Builder::new();
        builder.field("time", axis).field("x", field(&[9], (0..9).collect::<Vec<i32>>(), &["time"]));
        let dataset = open(&builder);
        let x = |from: Option<&str>, to: Option<&str>| {
            let part = Region::new().between("time", from, to).apply(open(&builder)).unwrap();
            values(&part.variable("x").unwrap().read().unwrap())
        };
        assert_eq!(x(Some("2020-06-01"), Some("2020-06-01")), [0, 1, 2, 3], "{index}");
        assert_eq!(x(Some("2020-06-02"), Some("2020-06")), [4, 5, 6, 7, 8], "{index}");
        assert_eq!(x(Some("2020-06-01T06:00"), Some("2020-06-02T00:00:00")), [1, 2, 3, 4], "{index}");
        assert_eq!(x(None, Some("2020-06-02T06:00:00.0")), [0, 1, 2, 3, 4, 5], "{index}");
        let reversed = Region::new().between("time", Some("2020-06-02"), Some("2020-06-01")).apply(dataset).err();
        let reversed = reversed.unwrap().to_string();
        assert!(reversed.contains("the range ends at 2020-06-01, before its start 2020-06-02"), "{reversed}");
    }
}

#[test]
fn compares_unsigned_integers() {
    let axis = || field(&[3], vec![0i8, -56, 127], &["u"]).with_attribute("_Unsigned", "true");
    let mut builder = Builder::new();
    builder
        .field("u", axis())
        .field("scaled", axis().with_attribute("scale_factor", 0.5))
        .field("x", field(&[3], vec![0i32, 1, 2], &["u"]));
    let x =
        |region: Region| region.apply(open(&builder)).map(|part| values(&part.variable("x").unwrap().read().unwrap()));
    assert_eq!(x(Region::new().at("u", 200.0)).unwrap(), [1]);
    assert_eq!(x(Region::new().at("scaled", 100.0)).unwrap(), [1]);
    assert_eq!(x(Region::new().between("u", Some("100"), None)).unwrap(), [1, 2]);
    let error = x(Region::new().between("u", Some(-100.0), Some(-1.0))).unwrap_err().to_string();
    assert_eq!(error, "ds: no value from -100 to -1: its values are from 0 to 200 (column \"u\")");
}

#[test]
fn takes_the_equal_longitude_before_one_around_the_earth() {
    let mut builder = Builder::new();
    let lons = field(&[5], vec![360.0, 270.0, 180.0, 90.0, 0.0], &["lon"]).with_attribute("units", "degrees_east");
    builder.field("lon", lons);
    for (at, expected) in [(0.0, 0.0), (360.0, 360.0), (-90.0, 270.0), (720.0, 360.0)] {
        let part = Region::new().at("lon", at).apply(open(&builder)).unwrap();
        assert_eq!(values(&part.variable("lon").unwrap().read().unwrap()), [expected], "{at}");
    }
}

/// Both ends of an axis are the same longitude; a range of all of it does not turn it.
#[test]
fn a_range_of_the_whole_circle_keeps_the_axis() {
    let upward = [0.0_f64, 90.0, 180.0, 270.0, 360.0];
    let axes = [upward.to_vec(), upward.map(|lon| lon - 180.0).to_vec(), upward.map(|lon| 180.0 - lon).to_vec()];
    for lons in axes {
        let mut builder = Builder::new();
        builder.field("lon", field(&[5], lons.clone(), &["lon"]).with_attribute("units", "degrees_east"));
        let (first, last) = (lons[0].min(lons[4]), lons[0].max(lons[4]));
        let part = Region::new().between("lon", Some(first), Some(last)).apply(open(&builder)).unwrap();
        let expected: Vec<Value> = lons.into_iter().map(Value::from).collect();
        assert_eq!(values(&part.variable("lon").unwrap().read().unwrap()), expected);
    }
}

#[test]
fn errors_name_range_and_extent() {
    let error = |region: Region| {
        let error = region.apply(odd()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Usage);
        error.to_string()
    };
    let region = Region::new;
    for (region, expected) in [
        (
            region().between("x", Some(41.0), Some(50.0)),
            "ds: no value from 41 to 50: its values are from 10 to 40 (column \"x\")",
        ),
        (
            region().between("x", Some(21.0), Some(22.0)),
            "ds: no value from 21 to 22: its values are from 10 to 40 (column \"x\")",
        ),
        (region().between("x", None, Some(1.0)), "ds: no value up to 1: its values are from 10 to 40 (column \"x\")"),
        (
            region().between("packed", Some(92.0), None),
            "ds: no value from 92 on: its values are from -89 to 91 (column \"packed\")",
        ),
        (
            region().between("down", Some(92.0), None),
            "ds: no value from 92 on: its values are from -90 to 90 (column \"down\")",
        ),
        (region().between("none", Some(0.0), None), "ds: no value from 0 on: it has no values (column \"none\")"),
        (region().between("x", Some(30.0), Some(20.0)), "ds: the range ends at 20, before its start 30 (column \"x\")"),
        (region().at("none", 1.0), "ds: the variable is empty; it has no value 1 (column \"none\")"),
        (
            region().at("x", "2000-01-01"),
            "ds: expected a number, found \"2000-01-01\": only times are given as dates (column \"x\")",
        ),
        (region().at("x", f64::NAN), "ds: expected a number, found NaN (column \"x\")"),
        (region().at("x", f64::INFINITY), "ds: expected a finite value, found inf (column \"x\")"),
        (region().at("flags", 1.0), "ds: expected numbers or strings, found bool (column \"flags\")"),
        (region().at("nothing", 1.0), "ds: the variable is empty (column \"nothing\")"),
        (region().at("y", 1.0), "ds: dimension \"y\" has no coordinate variable: select by index"),
        (region().with("z", Select::Index(0)), "ds: unknown dimension \"z\"; the dimensions are [\"x\", \"y\"]"),
        (region().with("x", Select::Index(4)), "ds: index 4 is out of range for dimension \"x\" of size 4"),
        (region().with("x", Select::range(2, 2)), "ds: the indexes select nothing of dimension \"x\" of size 4"),
        (region().with("x", Select::Index(0)).with("x", Select::Index(0)), "ds: dimension \"x\" is selected twice"),
        (region().at("x", 10.0).at("x", 20.0), "ds: points are selected twice: give them together (column \"x\")"),
        (
            region().at("x", 10.0).at("big", 20.0),
            "ds: one element of dimension \"x\" is selected already (column \"big\")",
        ),
        (
            region().at("x", 10.0).with_tolerance("x", -1.0),
            "ds: expected a tolerance of 0 or more, found -1 (column \"x\")",
        ),
        (
            region().at("x", 10.0).with_tolerance("x", "6h"),
            "ds: expected a number as tolerance, found \"6h\": only times have durations (column \"x\")",
        ),
        (region().with_tolerance("x", 1.0), "ds: has a tolerance, but no point is selected along it (column \"x\")"),
    ] {
        assert_eq!(error(region.clone()), expected, "{region:?}");
    }
    let near = error(region().at("x", 21.0));
    assert!(near.starts_with("ds: no value 21: the nearest is 20, and its values are from 10 to 40"), "{near}");
    let grid = error(region().at("grid", 21.0));
    assert!(grid.contains("expected one dimension to look up an element by value, found 2"), "{grid}");
    let time = Region::new().between("time", Some("2001"), None).between("time", Some("2001-02"), None);
    let time = time.apply(dataset("east")).err().unwrap().to_string();
    assert!(time.contains("its values are from 2000-01-30T00:00:00 to 2000-02-01T18:00:00"), "{time}");
    let mut infinite = Builder::new();
    let times =
        field(&[3], vec![f64::NAN, f64::INFINITY, 1.5], &["t"]).with_attribute("units", "days since 2000-01-01");
    infinite.field("t", times);
    let error = Region::new().between("t", Some("1970"), Some("1971")).apply(open(&infinite)).err().unwrap();
    let expected = "its values are from 2000-01-02T12:00:00 to 2000-01-02T12:00:00 (column \"t\")";
    assert!(error.to_string().ends_with(expected), "{error}");
    let station = Region::new().at("station", "Paris").apply(dataset("east")).err().unwrap().to_string();
    assert_eq!(station, "ds: no value \"Paris\": its values are from \"Bergen\" to \"Ørsta\" (column \"station\")");
}

/// The elements of a naive model: of an axis of longitudes, those that an eastward range from `from` to `to` contains.
fn model(lons: &[i32], from: i32, to: i32) -> Vec<usize> {
    let to = if to < from { to + (from - to + 359) / 360 * 360 } else { to };
    let ascending = lons.len() < 2 || lons[1] > lons[0];
    let turns = |n: usize| {
        let all = (-4..=4).filter(|k| (from..=to).contains(&(lons[n] + 360 * k)));
        let outermost = if ascending { all.clone().min() } else { all.clone().max() };
        if all.clone().any(|turns| turns == 0) { Some(0) } else { outermost }
    };
    let mut found: Vec<(i32, usize)> = (0..lons.len()).filter_map(|n| Some((turns(n)?, n))).collect();
    found.sort_by_key(|(turns, n)| (if ascending { *turns } else { -turns }, *n));
    found.into_iter().map(|(_, n)| n).collect()
}

proptest! {
    /// Any regular axis, any range, and again on the result: the same, because it is a part of an axis.
    #[test]
    fn longitudes_wrap(step in 1i32..60, start in -360i32..360, back in any::<bool>(), from in -400i32..400, to in -400i32..400) {
        let count = (360 / step) as usize;
        let mut lons: Vec<i32> = (0..count as i32).map(|n| start + n * step).collect();
        if back {
            lons.reverse();
        }
        let mut builder = Builder::new();
        let floats: Vec<f64> = lons.iter().map(|lon| f64::from(*lon)).collect();
        builder.field("lon", field(&[count as u64], floats, &["lon"]));
        builder.field("n", field(&[count as u64], (0..count as i32).collect::<Vec<_>>(), &["lon"]));
        let region = Region::new().between("lon", Some(f64::from(from)), Some(f64::from(to)));
        let numbers = |reader: &Reader| values(&reader.variable("n").unwrap().read().unwrap());
        let expected = model(&lons, from, to);
        match region.apply(open(&builder)) {
            Err(error) => {
                prop_assert!(expected.is_empty(), "{error}");
                prop_assert!(error.to_string().contains("no value from"), "{error}");
            }
            Ok(part) => {
                prop_assert_eq!(numbers(&part), expected.iter().map(|n| json!(n)).collect::<Vec<_>>());
                // A part shorter than the axis has a direction of its own unless it is a single value.
                let again = region.apply(part).unwrap();
                if expected.len() > 2 && expected.len() < count / 2 {
                    prop_assert_eq!(numbers(&again), expected.iter().map(|n| json!(n)).collect::<Vec<_>>());
                }
            }
        }
    }

    /// A region of a region is the region that selects both.
    #[test]
    fn regions_nest(
        rows in proptest::collection::vec(0i64..12, 1..6), low in -95.0f64..80.0, high in -95.0f64..80.0, from in -200i32..200, to in -200i32..200,
    ) {
        let (low, high) = (low.min(high), low.max(high));
        let first = Region::new().with("time", Select::List(rows.clone()));
        let second = Region::new().between("lat", Some(low), Some(high));
        let third = Region::new().between("lon", Some(f64::from(from)), Some(f64::from(to)));
        let both = Region::new().with("time", Select::List(rows)).between("lat", Some(low), Some(high))
            .between("lon", Some(f64::from(from)), Some(f64::from(to)));
        let nested = first.apply(dataset("east")).and_then(|part| second.apply(part)).and_then(|part| third.apply(part));
        match (both.apply(dataset("east")), nested) {
            (Ok(both), Ok(nested)) => for variable in both.variables() {
                let other = nested.variable(variable.name()).unwrap();
                prop_assert_eq!(variable.dimensions(), other.dimensions());
                prop_assert_eq!(values(&variable.read().unwrap()), values(&other.read().unwrap()));
                for n in 0..variable.len() {
                    prop_assert_eq!(values(&variable.read_elements(n..n + 1).unwrap()), values(&other.read_elements(n..n + 1).unwrap()));
                }
            },
            (Err(both), Err(nested)) => prop_assert_eq!(both.to_string(), nested.to_string()),
            (both, nested) => prop_assert!(false, "{:?} {:?}", both.err(), nested.err()),
        }
    }
}
