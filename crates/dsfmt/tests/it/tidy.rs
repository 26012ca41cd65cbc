//! Long rows, compared with the data frames of xarray by `tests/reference/python/ds_region.py`.

use container_core::{Container, Scan};
use dsfmt::container::DsContainer;
use dsfmt::{Array, Builder, Field, Reader, Tidy, Values};
use serde_json::Value;

use crate::region::{asked, cases, dataset, open, same, values};

/// A variable along a dimension without coordinates.
fn bare() -> Reader {
    let mut builder = Builder::new();
    let times = Array::new([12], (0..12).map(|n| n * 6).collect::<Vec<i64>>()).unwrap();
    builder.field("time", Field::new(times).with_dimensions(["time"]));
    let values = Array::new([12, 3], (0..36).map(f64::from).collect::<Vec<_>>()).unwrap();
    builder.field("bare", Field::new(values).with_dimensions(["time", "n"]));
    open(&builder)
}

#[test]
fn rows_are_those_of_xarray() {
    let cases = cases("tidy");
    assert_eq!(cases.len(), 7);
    for case in cases {
        let names: Vec<&str> =
            case["variables"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        let reader = if names == ["bare"] { bare() } else { dataset(case["lon"].as_str().unwrap()) };
        let rows = Tidy::new().with_variables(names.clone()).apply(asked(&case).apply(reader).unwrap()).unwrap();
        let expected = case["expected"].as_object().unwrap();
        let mut found: Vec<&str> = rows.variables().map(|variable| variable.name()).collect();
        found.sort_unstable();
        let mut known: Vec<&str> = expected.keys().map(String::as_str).collect();
        known.sort_unstable();
        assert_eq!(found, known);
        for variable in rows.variables() {
            let (found, expected) = (values(&variable.read().unwrap()), expected[variable.name()].as_array().unwrap());
            assert!(same(&found, expected), "{names:?} {}: {found:?}\n{expected:?}", variable.name());
            for step in [1, 7, 100] {
                let mut blocks: Vec<Value> = Vec::new();
                for start in (0..variable.len()).step_by(step) {
                    blocks.extend(values(&variable.read_rows(start..variable.len().min(start + step as u64)).unwrap()));
                }
                assert_eq!(blocks, found, "{names:?} {} by {step}", variable.name());
            }
        }
    }
}

#[test]
fn columns_are_coordinates_and_then_variables() {
    let rows = Tidy::new().with_variables(["height", "t"]).apply(dataset("east")).unwrap();
    let container = DsContainer::new(rows);
    let tables = container.tables();
    let [table] = tables.as_slice() else { panic!("{} tables", tables.len()) };
    let names: Vec<&str> = table.columns().iter().map(|column| column.name.as_str()).collect();
    assert_eq!((table.name(), table.len(), names), ("row", Some(864), vec!["time", "lat", "lon", "height", "t"]));
    let mut rows = table.rows(&Scan::default().with_rows(3..4)).unwrap();
    assert!(rows.advance().unwrap());
    let mut line = Vec::new();
    rows.json(&mut line).unwrap();
    assert_eq!(String::from_utf8(line).unwrap(), r#"{"time":0,"lat":75.0,"lon":90.0,"height":3.5,"t":null}"#);
    let bare = Tidy::new().apply(bare()).unwrap();
    assert_eq!(bare.variables().map(|variable| variable.name().to_owned()).collect::<Vec<_>>(), ["time", "n", "bare"]);
}

#[test]
fn variables_in_another_order_of_dimensions_and_larger_than_memory_allows() {
    // 1200 x 1000: more than is read at once, and too large to be kept when there are several.
    let (a, b) = (1200u64, 1000u64);
    let mut builder = Builder::new();
    let numbers: Vec<i32> = (0..(a * b) as i32).collect();
    let array = |shape: [u64; 2]| Array::new(shape, numbers.clone()).unwrap();
    builder.field("straight", Field::new(array([a, b])).with_dimensions(["a", "b"]));
    for n in 0..15 {
        builder.field(format!("turned{n}"), Field::new(array([b, a])).with_dimensions(["b", "a"]));
    }
    let rows = Tidy::new().apply(open(&builder)).unwrap();
    for name in ["turned0", "turned14"] {
        for (start, end) in [(0, 10), (b - 3, b + 3), (a * b - 5, a * b)] {
            let found = rows.variable(name).unwrap().read_rows(start..end).unwrap();
            let expected: Vec<i32> = (start..end).map(|row| (row % b * a + row / b) as i32).collect();
            assert_eq!(found.values().as_slice::<i32>().unwrap(), expected, "{name} {start}..{end}");
        }
    }
}

#[test]
fn variables_that_share_no_dimensions_are_refused() {
    let error = Tidy::new().apply(dataset("east")).err().unwrap().to_string();
    assert!(
        error.contains(
            r#"variables do not share their dimensions: "t" has (time=12, lat=6, lon=12), "elevation" (station=4)"#
        ),
        "{error}"
    );
    let error = Tidy::new().with_variables(["t", "wrong"]).apply(dataset("east")).err().unwrap().to_string();
    assert!(error.contains("unknown variable \"wrong\""), "{error}");
    let error = Tidy::new().with_variables(["t", "t"]).apply(dataset("east")).err().unwrap().to_string();
    assert_eq!(error, "ds: column \"t\" is selected twice");
    let mut builder = Builder::new();
    let twice = Array::new([2, 2], vec![1u8, 2, 3, 4]).unwrap();
    builder.field("twice", Field::new(twice).with_dimensions(["x", "x"]));
    let error = Tidy::new().apply(open(&builder)).err().unwrap().to_string();
    assert_eq!(error, "ds: the dimension \"x\" occurs twice (column \"twice\")");
}

#[test]
fn empty_variables_are_reported_and_scalars_are_one_row() {
    let mut builder = Builder::new();
    builder.field("nothing", Field::empty());
    builder.field("one", Field::new(Array::new([], Values::from(vec![3u8])).unwrap()).with_dimensions::<String>([]));
    let container = DsContainer::new(Tidy::new().apply(open(&builder)).unwrap());
    let tables = container.tables();
    let rows = tables[0].rows(&Scan::default()).unwrap();
    assert_eq!(tables[0].len(), Some(1));
    assert_eq!(rows.losses().len(), 1);
    assert!(rows.losses()[0].to_string().contains("the variable is empty"), "{}", rows.losses()[0]);
}

#[test]
fn texts_of_no_rows_stay_a_column() {
    let mut builder = Builder::new();
    let texts = Array::new([3], ["a", "b", "c"].into_iter().collect::<Values<'static>>()).unwrap();
    builder.field("x", Field::new(texts).with_dimensions(["x"]));
    builder.field("v", Field::new(Array::new([0, 3], Vec::<f64>::new()).unwrap()).with_dimensions(["t", "x"]));
    let rows = Tidy::new().with_variables(["v"]).apply(open(&builder)).unwrap();
    let texts = rows.variable("x").unwrap();
    assert_eq!((texts.problem().map(|problem| problem.to_string()), texts.len()), (None, 0));
    assert_eq!(texts.read().unwrap().len(), 0);
}

#[test]
fn hostile_dimensions_are_no_overflow_and_take_no_time() {
    let open = |dimensions: &[String], sizes: &[u64]| {
        let variables = serde_json::json!({
            "x": {".dims": dimensions, ".size": sizes, ".type": "int8", ".offset": 0, ".len": 0},
            "y": {".dims": &dimensions[..1], ".size": &sizes[..1], ".type": "int8", ".offset": 0, ".len": 0},
        });
        let text = format!("ds-1.0\n{variables}\n");
        Reader::from_source(text.into_bytes().into(), dsfmt::OpenOptions::default()).unwrap()
    };
    let names = |count: usize| (0..count).map(|n| format!("d{n}")).collect::<Vec<_>>();
    // The sizes after the first multiply to 2^120.
    let rows = Tidy::new().apply(open(&names(4), &[0, 1 << 40, 1 << 40, 1 << 40])).unwrap();
    assert!(rows.variables().all(|variable| variable.problem().is_some() || variable.is_empty()));
    let error = Tidy::new().with_variables(["x"]).apply(open(&names(100_000), &vec![0; 100_000])).unwrap_err();
    assert_eq!(error.to_string(), "ds: it has 100000 dimensions, more than the limit 128 (column \"x\")");
}
