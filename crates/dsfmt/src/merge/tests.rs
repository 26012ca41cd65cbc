use container_core::{OpenOptions, Source};

use super::*;
use crate::{Array, DataType, Edit, Field, JsonBuf, Mask, Values};

fn open(builder: &Builder<'_>) -> Reader {
    let mut bytes = Vec::new();
    builder.write_to(&mut bytes).unwrap();
    Reader::from_source(Source::from(bytes), OpenOptions::default()).unwrap()
}

fn array<'a>(shape: &[u64], values: impl Into<Values<'a>>) -> Array<'a> {
    Array::new(shape, values).unwrap()
}

fn texts(all: &[&str]) -> Values<'static> {
    all.iter().copied().collect()
}

fn first() -> Reader {
    let mut builder = Builder::new();
    builder.attribute("title", "one").attribute("n", 1);
    let mask = Mask::from_bools([false, true, false, false, false, false]);
    let y = array(&[3, 2], vec![1i16, 2, 3, 4, 5, 6]).with_mask(mask).unwrap();
    let t = Field::new(array(&[2], vec![1.0, 2.25])).with_dimensions(["time"]);
    builder
        .field("t", t.with_attribute("units", "days since 2000-01-01"))
        .field(
            "x",
            Field::new(array(&[2, 3], vec![1f32, 2., 3., 4., 5., 6.]))
                .with_dimensions(["time", "lon"])
                .with_attribute("k", 1),
        )
        .field("y", Field::new(y).with_dimensions(["lon", "time"]))
        .field("s", Field::new(array(&[2], texts(&["a", "bc"]))).with_dimensions(["time"]))
        .field("c", Field::new(array(&[], vec![5.0])).with_dimensions([""; 0]).with_attribute("u", "m"))
        .field("b", Field::new(array(&[2], vec![true, false])).with_dimensions(["time"]))
        .field("only1", Field::new(array(&[2], vec![7u8, 8])).with_dimensions(["time"]));
    open(&builder)
}

fn second() -> Reader {
    let mut builder = Builder::new();
    builder.attribute("title", "two").attribute("m", 2);
    let t = Field::new(array(&[3], vec![24.0, 48.0, 72.5])).with_dimensions(["time"]);
    let x: Vec<f32> = (7u8..16).map(f32::from).collect();
    builder
        .field("t", t.with_attribute("units", "hours since 2000-01-01"))
        .field(
            "x",
            Field::new(array(&[3, 3], x))
                .with_dimensions(["time", "lon"])
                .with_attribute("k", 2)
                .with_attribute("l", 3),
        )
        .field(
            "y",
            Field::new(array(&[3, 3], vec![10i16, 20, 30, 40, 50, 60, 70, 80, 90])).with_dimensions(["lon", "time"]),
        )
        .field("s", Field::new(array(&[3], texts(&["", "\u{fc}", "z"]))).with_dimensions(["time"]))
        .field("c", Field::new(array(&[], vec![6.0])).with_dimensions([""; 0]).with_attribute("u", "n"))
        .field("b", Field::new(array(&[3], vec![true, true, false])).with_dimensions(["time"]));
    open(&builder)
}

fn merged(readers: &[&Reader], dimension: &str, options: MergeOptions) -> (Vec<u8>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.ds");
    let unwritten = merge(readers, dimension, options.clone()).unwrap().into_reader(&path).unwrap();
    let merge = merge(readers, dimension, options).unwrap();
    let losses = merge.losses().iter().map(ToString::to_string).collect();
    merge.write(&path, OutputOptions::default()).unwrap();
    let file = std::fs::read(&path).unwrap();
    assert!(unwritten.source().read(0..unwritten.source().len()).unwrap() == file);
    (file, losses)
}

fn read(bytes: Vec<u8>) -> Reader {
    Reader::from_source(Source::from(bytes), OpenOptions::default()).unwrap()
}

#[cfg(target_endian = "little")]
#[test]
fn merges_along_existing_dimension_like_reference() {
    let (one, two) = (first(), second());
    let (bytes, losses) = merged(&[&one, &two], "time", MergeOptions::default());
    // What ds-format 5.0.2 writes for these files, except for the times, which it converts to Julian dates.
    let expected = concat!(
        r#"{"b": {".dims": ["time"], ".size": [5], ".offset": 0, ".len": 1, ".type": "bool", ".missing": false}, "#,
        r#""c": {".dims": [], "u": "m", ".size": [], ".offset": 1, ".len": 8, ".type": "float64", ".missing": false, ".endian": "l"}, "#,
        r#""only1": {".dims": ["time"], ".size": [5], ".offset": 9, ".len": 3, ".type": "uint8", ".missing": true, ".endian": "b"}, "#,
        r#""s": {".dims": ["time"], ".size": [5], ".offset": 12, ".len": 46, ".type": "unicode", ".missing": false, ".endian": "l"}, "#,
        r#""t": {".dims": ["time"], "units": "days since 2000-01-01", ".size": [5], ".offset": 58, ".len": 40, "#,
        r#"".type": "float64", ".missing": false, ".endian": "l"}, "#,
        r#""x": {".dims": ["time", "lon"], "k": 2, ".size": [5, 3], ".offset": 98, ".len": 60, ".type": "float32", "#,
        r#"".missing": false, ".endian": "l", "l": 3}, "#,
        r#""y": {".dims": ["lon", "time"], ".size": [3, 5], ".offset": 158, ".len": 30, ".type": "int16", ".missing": true, "#,
        r#"".endian": "l"}, ".": {"title": "two", "n": 1, "m": 2}}"#
    );
    let header = bytes.split(|byte| *byte == b'\n').nth(1).unwrap();
    assert_eq!(std::str::from_utf8(header).unwrap(), expected);
    assert_eq!(
        losses,
        [
            "attribute of the dataset differs: the last value is kept (once)",
            "dataset with other values in a variable that is not merged: the first values are kept (column \"c\")",
            "attribute differs: the last value is kept (column \"x\")",
        ]
    );
    let file = read(bytes);
    let values = |name: &str| file.variable(name).unwrap().read().unwrap();
    assert_eq!(values("b").values().as_bools().unwrap(), [true, false, true, true, false]);
    assert_eq!(values("only1").mask().unwrap(), &Mask::from_bools([false, false, true, true, true]));
    assert_eq!(values("s").values(), &texts(&["a", "bc", "", "\u{fc}", "z"]));
    let times = [1.0, 2.25, 1.0, 2.0, 72.5 / 24.0];
    assert_eq!(values("t").values().as_slice::<f64>().unwrap(), times);
    let x: Vec<f32> = (1u8..16).map(f32::from).collect();
    assert_eq!(values("x").values().as_slice::<f32>().unwrap(), x);
    let y = values("y");
    assert_eq!(y.values().as_slice::<i16>().unwrap(), [1, 0, 10, 20, 30, 3, 4, 40, 50, 60, 5, 6, 70, 80, 90]);
    assert_eq!((y.missing(), y.mask().unwrap().is_missing(1)), (1, true));
}

/// 28000 with a factor of 0.01 is 280 K; with a factor of 0.0075 it is 210 K.
#[test]
fn rejects_different_meanings() {
    let with = |attribute: Option<(&str, f64)>, units: &str| {
        let field = Field::new(array(&[1], vec![28_000i16])).with_dimensions(["time"]).with_attribute("units", units);
        let field = attribute.into_iter().fold(field, |field, (name, value)| field.with_attribute(name, value));
        let mut builder = Builder::new();
        builder.field("x", field);
        open(&builder)
    };
    let one = with(Some(("scale_factor", 0.01)), "K");
    for (other, expected) in [
        (
            with(Some(("scale_factor", 0.0075)), "K"),
            r#"attribute "scale_factor": expected 0.01 as in an earlier dataset, found 0.0075"#,
        ),
        (with(None, "K"), r#"attribute "scale_factor": expected 0.01 as in an earlier dataset, found missing"#),
        (
            with(Some(("scale_factor", 0.01)), "celsius"),
            r#"attribute "units": expected "K" as in an earlier dataset, found "celsius""#,
        ),
    ] {
        for dimension in ["time", "run"] {
            let error = merge(&[&one, &other], dimension, MergeOptions::default()).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(error.position().column.as_deref(), Some("x"));
        }
    }
    let days = with(None, "days since 2000-01-01");
    for units in ["hours since 2000-01-01", "days since 2000-1-1"] {
        let both = [&with(None, units), &days];
        assert!(merge(&both, "time", MergeOptions::default()).is_ok());
        assert!(merge(&both, "time", MergeOptions::default().with_keep_times(true)).is_ok());
    }
}

#[test]
fn merges_along_new_dimension() {
    let (one, two) = (first(), second());
    let (bytes, _) = merged(&[&one, &two], "time", MergeOptions::default().with_new_dimension(Some("run".to_owned())));
    let file = read(bytes);
    let c = file.variable("c").unwrap();
    assert_eq!((c.dimensions(), c.attributes().get("u").unwrap().as_text()), (&["run".to_owned()][..], "\"n\""));
    assert_eq!(c.read().unwrap().values().as_slice::<f64>().unwrap(), [5.0, 6.0]);
    // Selected variables only; all others are copied from the first dataset, byte for byte.
    let options = MergeOptions::default().with_variables(Some(vec!["c".to_owned()]));
    let (bytes, losses) = merged(&[&one, &two], "run", options);
    let file = read(bytes);
    assert_eq!(file.variable("c").unwrap().shape(), Some(&[2][..]));
    let bytes = |file: &Reader, name: &str| {
        let variable = file.variable(name).unwrap();
        let start = file.body_offset() + variable.offset();
        file.source().read(start..start + variable.stored_bytes()).unwrap()
    };
    for name in ["b", "only1", "s", "t", "x", "y"] {
        assert_eq!(bytes(&file, name), bytes(&one, name), "{name}");
    }
    assert_eq!(losses.len(), 7, "{losses:?}");
    // Variables that a dataset lacks are missing there.
    let mut edit = Edit::new(&one);
    edit.remove_dimension("time").unwrap();
    edit.set_values("z", array(&[1], texts(&["q"]))).set_dimensions("z", ["p"]).unwrap();
    let other = open(&edit.into_builder());
    let mut edit = Edit::new(&other);
    edit.remove_variable("c").unwrap();
    let third = open(&edit.into_builder());
    let mut edit = Edit::new(&other);
    edit.remove_variable("z").unwrap();
    let fourth = open(&edit.into_builder());
    let (bytes, losses) = merged(&[&fourth, &third], "run", MergeOptions::default());
    let file = read(bytes);
    let (c, z) = (file.variable("c").unwrap().read().unwrap(), file.variable("z").unwrap());
    assert_eq!((c.values().as_slice::<f64>().unwrap()[0], c.mask().unwrap().as_bits()), (5.0, &[0x40][..]));
    assert_eq!((z.dimensions(), z.shape()), (&["run".to_owned(), "p".to_owned()][..], Some(&[2, 1][..])));
    assert_eq!(z.read().unwrap().mask().unwrap().as_bits(), [0x80]);
    assert!(losses.is_empty(), "{losses:?}");
}

#[test]
fn widens_types_or_rejects() {
    let one = |values: Values<'static>| {
        let mut builder = Builder::new();
        let len = values.len() as u64;
        builder.field("v", Field::new(Array::new([len], values).unwrap()).with_dimensions(["n"]));
        open(&builder)
    };
    let (narrow, wide) = (one(vec![-1i32].into()), one(vec![1i64 << 40].into()));
    let file = read(merged(&[&narrow, &wide], "n", MergeOptions::default()).0);
    assert_eq!(file.variable("v").unwrap().read().unwrap().values().as_slice::<i64>().unwrap(), [-1, 1 << 40]);
    let error = |other: &Reader, dimension: &str| {
        let names = vec!["a.ds".to_owned(), "b.ds".to_owned()];
        merge(&[&wide, other], dimension, MergeOptions::default().with_names(names)).unwrap_err().to_string()
    };
    assert_eq!(
        error(&one(vec![0.5f64].into()), "n"),
        "ds: b.ds: no type holds both float64 and int64 of earlier datasets (column \"v\")"
    );
    assert_eq!(
        error(&one(vec![1u8, 2].into()), "m"),
        "ds: b.ds: sizes [2] do not match [1] of an earlier dataset for a merge along a new dimension (column \"v\")"
    );
    let mut edit = Edit::new(&narrow);
    edit.rename_dimensions([("n", "o")]).unwrap();
    assert_eq!(
        error(&open(&edit.into_builder()), "n"),
        "ds: b.ds: expected dimensions [\"n\"] as in an earlier dataset, found [\"o\"] (column \"v\")"
    );
    assert!(merge(&[], "n", MergeOptions::default()).is_err());
    let unknown = MergeOptions::default().with_variables(Some(vec!["w".to_owned()]));
    assert_eq!(merge(&[&wide], "n", unknown).unwrap_err().to_string(), "ds: unknown variable \"w\" in all datasets");
    let old = MergeOptions::default().with_new_dimension(Some("n".to_owned()));
    assert_eq!(merge(&[&wide], "n", old).unwrap_err().to_string(), "ds: dimension \"n\" is not new: a dataset has it");
}

#[test]
fn chunked_merge_matches_whole() {
    // More than a chunk, along the first, second and third dimension.
    let shape = [70u64, 60, 90];
    let count = shape.iter().product::<u64>();
    let numbers = |add: u64| (0..count).map(|n| (n * 7 + add) as u32).collect::<Vec<u32>>();
    let mask = Mask::from_bools((0..count).map(|n| n % 11 == 3));
    for axis in 0..3usize {
        let part = |add: u64, size: u64, masked: bool| {
            let (mut sizes, mut dims) = (shape, ["a", "b", "c"]);
            sizes[axis] = size;
            dims[axis] = "along";
            let len = sizes.iter().product::<u64>() as usize;
            let whole = Array::new(sizes, numbers(add)[..len].to_vec()).unwrap();
            let whole = if masked { whole.with_mask(Mask::from_bools(mask.iter().take(len))).unwrap() } else { whole };
            let mut builder = Builder::new();
            builder.field("v", Field::new(whole.clone()).with_dimensions(dims)).attribute("x", JsonBuf::null());
            (open(&builder), whole)
        };
        let parts = [part(1, 30, false), part(2, shape[axis], true), part(3, 1, false)];
        let readers: Vec<&Reader> = parts.iter().map(|(reader, _)| reader).collect();
        let file = read(merged(&readers, "along", MergeOptions::default()).0);
        let v = file.variable("v").unwrap().read().unwrap();
        assert_eq!((v.shape()[axis], v.data_type()), (30 + shape[axis] + 1, DataType::Uint32));
        let (values, sizes) = (v.values().as_slice::<u32>().unwrap(), v.shape().to_vec());
        for index in 0..v.len() as u64 {
            let place = [index / (sizes[1] * sizes[2]), index / sizes[2] % sizes[1], index % sizes[2]];
            let (mut part, mut inner) = (0, place);
            while inner[axis] >= parts[part].1.shape()[axis] {
                inner[axis] -= parts[part].1.shape()[axis];
                part += 1;
            }
            let of = &parts[part].1;
            let at = ((inner[0] * of.shape()[1] + inner[1]) * of.shape()[2] + inner[2]) as usize;
            let missing = of.mask().is_some_and(|mask| mask.is_missing(at));
            assert_eq!(v.mask().unwrap().is_missing(index as usize), missing, "{place:?}");
            assert!(missing || values[index as usize] == of.values().as_slice::<u32>().unwrap()[at], "{place:?}");
        }
    }
}

/// A dataset of times with these units, and a `calendar` attribute if given.
fn times<'a>(values: impl Into<Values<'a>>, units: &str, calendar: Option<&str>) -> Reader {
    let values = values.into();
    let field = Field::new(array(&[values.len() as u64], values)).with_dimensions(["time"]);
    let field = field.with_attribute("units", units);
    let mut builder = Builder::new();
    builder.field("t", calendar.into_iter().fold(field, |field, name| field.with_attribute("calendar", name)));
    open(&builder)
}

#[test]
fn converts_times_exactly() {
    let join = |one: &Reader, other: &Reader| {
        let (bytes, losses) = merged(&[one, other], "time", MergeOptions::default());
        assert!(losses.is_empty(), "{losses:?}");
        let file = read(bytes);
        let variable = file.variable("t").unwrap();
        let attribute = |name| variable.attributes().get(name).map(|value| value.as_text().to_owned());
        let shown = (attribute("units"), attribute("calendar"), variable.is_time());
        (variable.read().unwrap().into_parts().1.into_owned(), shown)
    };
    // Exact to the microsecond.
    let one = times(vec![1i64], "microseconds since 2000-01-01", None);
    let other = times(vec![86_400_000_001i64, -1], "microseconds since 1999-12-31", None);
    let units = (Some(r#""microseconds since 2000-01-01""#.to_owned()), None, false);
    assert_eq!(join(&one, &other), (Values::from(vec![1i64, 1, -86_400_000_001]), units));
    // Integers are widened as far as necessary.
    let seconds = times(vec![1i16], "seconds since 2000-01-01", Some("noleap"));
    let units = || (Some(r#""seconds since 2000-01-01""#.to_owned()), Some(r#""noleap""#.to_owned()), false);
    let hours = |number: i16| times(vec![number], "hours since 2000-01-01", Some("365_day"));
    assert_eq!(join(&seconds, &hours(-9)), (Values::from(vec![1i16, -32_400]), units()));
    assert_eq!(join(&seconds, &hours(10)), (Values::from(vec![1i32, 36_000]), units()));
    let days = times(vec![30_000i32], "days since 2000-01-01", Some("noleap"));
    assert_eq!(join(&seconds, &days), (Values::from(vec![1i64, 2_592_000_000]), units()));
    let unsigned = times(vec![1u8], "seconds since 2000-01-01", Some("noleap"));
    assert_eq!(join(&unsigned, &hours(-1)), (Values::from(vec![1i16, -3600]), units()));
    // Floats stay floats; non-finite values stay.
    let float = times(vec![f64::NAN, f64::INFINITY, 36.0], "hours since 2000-01-01", None);
    let (values, _) = join(&times(vec![0.5f32], "days since 2000-01-01", None), &float);
    let values = values.as_slice::<f64>().unwrap();
    assert!(values[1].is_nan());
    assert_eq!([values[0], values[2], values[3]], [0.5, f64::INFINITY, 1.5]);
}

#[test]
fn rejects_inexact_times() {
    let days = times(vec![1i32], "days since 2000-01-01", None);
    for (one, other, expected) in [
        (
            &days,
            times(vec![24i32, 5], "hours since 2000-01-01", None),
            "5 hours since 2000-01-01T00:00:00 (standard) has no exact integer in days since 2000-01-01T00:00:00 (standard)",
        ),
        (
            &times(vec![1i64], "microseconds since 2000-01-01", None),
            times(vec![i64::MAX], "days since 2000-01-01", None),
            "9223372036854775807 days since 2000-01-01T00:00:00 (standard) has no exact integer in microseconds since",
        ),
        (
            &times(vec![1i32], "days since 2000-01-01", Some("noleap")),
            times(vec![59i32], "days since 2000-01-01", None),
            "59 days since 2000-01-01T00:00:00 (standard) has no exact integer in days since 2000-01-01T00:00:00 (noleap)",
        ),
    ] {
        let error = merge(&[one, &other], "time", MergeOptions::default()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(error.position().column.as_deref(), Some("t"));
        merge(&[one, &other], "time", MergeOptions::default().with_keep_times(true)).unwrap();
    }
    // Missing elements are not converted.
    let mask = Mask::from_bools([false, true]);
    let hours = array(&[2], vec![24i32, 5]).with_mask(mask).unwrap();
    let mut builder = Builder::new();
    builder.field("t", Field::new(hours).with_dimensions(["time"]).with_attribute("units", "hours since 2000-01-01"));
    let (bytes, _) = merged(&[&days, &open(&builder)], "time", MergeOptions::default());
    let merged = read(bytes).variable("t").unwrap().read().map(|array| (array.missing(), array.len())).unwrap();
    assert_eq!(merged, (1, 3));
}

/// A dataset of these fields along `time`.
fn along_time(fields: impl IntoIterator<Item = (&'static str, Field<'static>)>) -> Reader {
    let mut builder = Builder::new();
    for (name, field) in fields {
        builder.field(name, field);
    }
    open(&builder)
}

fn field(shape: &[u64], values: impl Into<Values<'static>>, attributes: &[(&str, &str)]) -> Field<'static> {
    let names = ["time", "nv"].iter().take(shape.len());
    let field = Field::new(array(shape, values)).with_dimensions(names.copied());
    attributes.iter().fold(field, |field, (name, json)| field.with_attribute(name, JsonBuf::parse(json).unwrap()))
}

fn text(file: &Reader, variable: &str, attribute: &str) -> Option<String> {
    file.variable(variable).unwrap().attributes().get(attribute).map(|value| value.as_text().to_owned())
}

const DAYS: (&str, &str) = ("units", r#""days since 2000-01-01""#);
const HOURS: (&str, &str) = ("units", r#""hours since 2000-01-01""#);

#[test]
fn times_have_the_units_and_calendar_of_the_first() {
    let with = |values: Vec<f64>, attributes: &[(&str, &str)]| along_time([("t", field(&[2], values, attributes))]);
    let standard = with(vec![60.0, 61.0], &[DAYS]);
    // 62 without leap days is 3 March, as is 62 with the one of February 2000, so that the next day's number is one larger.
    let no_leap = with(vec![62.0, 63.0], &[DAYS, ("calendar", r#""noleap""#)]);
    let join = |readers: &[&Reader]| {
        let (bytes, losses) = merged(readers, "time", MergeOptions::default());
        assert!(losses.is_empty(), "{losses:?}");
        let file = read(bytes);
        let values = file.variable("t").unwrap().read().unwrap().into_parts().1.into_owned();
        (values, text(&file, "t", "units"), text(&file, "t", "calendar"))
    };
    let days = Some(DAYS.1.to_owned());
    assert_eq!(join(&[&standard, &no_leap]), (vec![60.0, 61.0, 63.0, 64.0].into(), days.clone(), None));
    let calendar = Some(r#""noleap""#.to_owned());
    assert_eq!(join(&[&no_leap, &standard]), (vec![62.0, 63.0, 59.0, 60.0].into(), days.clone(), calendar));
    // Other spellings.
    let same = with(vec![1.0, 2.0], &[("units", r#""days since 2000-01-01 00:00""#), ("calendar", r#""gregorian""#)]);
    assert_eq!(join(&[&standard, &same]), (vec![60.0, 61.0, 1.0, 2.0].into(), days, None));
}

#[test]
fn bounds_are_converted_like_their_times() {
    let bounds = ("bounds", r#""time_bnds""#);
    let dataset = |time: &[(&str, &str)], times: Vec<f64>, of_bounds: &[(&str, &str)]| {
        let pairs = times.iter().flat_map(|time| [*time, 2.0 * time]).collect::<Vec<_>>();
        along_time([("time_bnds", field(&[2, 2], pairs, of_bounds)), ("time", field(&[2], times, time))])
    };
    let days = dataset(&[DAYS, bounds], vec![0.0, 1.0], &[]);
    let all = |readers: &[&Reader], dimension: &str| {
        let file = read(merged(readers, dimension, MergeOptions::default()).0);
        let values = file.variable("time_bnds").unwrap().read().unwrap();
        (values.values().as_slice::<f64>().unwrap().to_vec(), text(&file, "time_bnds", "units"))
    };
    let expected = vec![0.0, 0.0, 1.0, 2.0, 2.0, 4.0, 3.0, 6.0];
    for (time, of_bounds) in [(vec![HOURS, bounds], vec![]), (vec![HOURS], vec![]), (vec![HOURS, bounds], vec![HOURS])]
    {
        let hours = dataset(&time, vec![48.0, 72.0], &of_bounds);
        assert_eq!(all(&[&days, &hours], "time"), (expected.clone(), None));
        assert_eq!(all(&[&days, &hours], "run").0, expected);
    }
    let climatology = ("climatology", r#""time_bnds""#);
    let [one, other] = [(DAYS, vec![0.0, 1.0]), (HOURS, vec![48.0, 72.0])]
        .map(|(units, times)| dataset(&[units, climatology], times, &[]));
    assert_eq!(all(&[&one, &other], "time"), (expected.clone(), None));
    // The calendar of the times is that of bounds with units, too.
    let noleap = ("calendar", r#""noleap""#);
    let model = dataset(&[DAYS, bounds, noleap], vec![59.0, 60.0], &[DAYS]);
    let hours = dataset(&[HOURS, bounds, noleap], vec![48.0, 72.0], &[HOURS]);
    assert_eq!(all(&[&model, &hours], "time").0, [59.0, 118.0, 60.0, 120.0, 2.0, 4.0, 3.0, 6.0]);
    // Bounds without the times that they belong to.
    let lone = along_time([("time_bnds", field(&[1, 2], vec![48.0, 72.0], &[]))]);
    let error = merge(&[&days, &lone], "time", MergeOptions::default()).unwrap_err().to_string();
    assert!(error.contains("found numbers without known units"), "{error}");
}

#[test]
fn packed_numbers_keep_their_meaning() {
    let with = |values: Values<'static>, attributes: &[(&str, &str)]| {
        along_time([("v", field(&[values.len() as u64], values, attributes))])
    };
    let unsigned = ("_Unsigned", r#""true""#);
    let bytes = with(vec![-6i8].into(), &[unsigned]);
    let scale = ("scale_factor", "0.5");
    let days = with(vec![2i32].into(), &[DAYS, scale]);
    for (one, other, expected) in [
        (
            &bytes,
            with(vec![250u8].into(), &[]),
            r#"attribute "_Unsigned": expected "true" as in an earlier dataset, found missing"#,
        ),
        (
            &with(vec![-6i8].into(), &[]),
            with(vec![-6i8].into(), &[unsigned]),
            "attribute \"_Unsigned\": expected missing",
        ),
        (
            &bytes,
            with(vec![-6i16].into(), &[unsigned]),
            "integers with the attribute \"_Unsigned\" cannot be widened: expected one type, found int8 and int16",
        ),
        (
            &with(vec![2i16].into(), &[scale]),
            with(vec![1.0f32].into(), &[scale]),
            "expected packed numbers as in an earlier dataset, found unpacked ones of type float32",
        ),
        (
            &days,
            with(vec![48i32].into(), &[HOURS, scale]),
            "packed times cannot be converted: expected the same time units in all datasets, found others",
        ),
    ] {
        for dimension in ["time", "run"] {
            let error = merge(&[one, &other], dimension, MergeOptions::default()).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(error.position().column.as_deref(), Some("v"));
        }
    }
    merge(&[&days, &days], "time", MergeOptions::default()).unwrap();
    merge(&[&bytes, &bytes], "time", MergeOptions::default()).unwrap();
}

#[test]
fn ranges_of_values_are_those_of_all_datasets() {
    let range = |text: &'static str| ("valid_range", text);
    let with = |attributes: &[(&str, &str)]| along_time([("v", field(&[2], vec![5i32, 50], attributes))]);
    let join = |one: &[(&str, &str)], other: &[(&str, &str)]| {
        let (bytes, losses) = merged(&[&with(one), &with(other)], "time", MergeOptions::default());
        (text(&read(bytes), "v", "valid_range"), losses)
    };
    assert_eq!(join(&[range("[0, 100]")], &[range("[0, 100]")]), (Some("[0, 100]".to_owned()), vec![]));
    let lost = "attribute \"valid_range\" left out: it is not the same in all datasets (column \"v\")";
    for (one, other) in [(vec![], vec![range("[0, 10]")]), (vec![range("[0, 10]")], vec![range("[0, 100]")])] {
        assert_eq!(join(&one, &other), (None, vec![lost.to_owned()]));
    }
    let lost = "attribute \"valid_range\" left out: the times are in other units (column \"v\")";
    let (kept, losses) =
        join(&[DAYS, range("[0, 100]")], &[("units", r#""days since 2001-01-01""#), range("[0, 100]")]);
    assert_eq!((kept, losses), (None, vec![lost.to_owned()]));
}

#[test]
fn reports_other_meanings_of_variables_that_are_not_merged() {
    let with = |units| along_time([("t", field(&[1], vec![1.0], &[units])), ("z", Field::new(array(&[1], vec![1])))]);
    let (_, losses) = merged(&[&with(DAYS), &with(HOURS)], "z_1", MergeOptions::default());
    let expected =
        "dataset with other values in a variable that is not merged: the first values are kept (column \"t\")";
    assert_eq!(losses, [expected]);
}
