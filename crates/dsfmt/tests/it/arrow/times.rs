//! Times as Arrow timestamps.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array as _, RecordBatch};
use container_arrow::{BatchScan, Mapping, Times};
use container_core::Container;
use dsfmt::container::{DsContainer, TimeForm};
use dsfmt::{Array, Builder, Field, Mask, Reader, Values};

use super::rows_json::{batches, bytes};

pub fn field(values: impl Into<Values<'static>>, units: &str, calendar: &str) -> Field<'static> {
    let values = values.into();
    let array = Array::new([values.len() as u64], values).unwrap();
    Field::new(array).with_dimensions(["t"]).with_attribute("units", units).with_attribute("calendar", calendar)
}

pub fn with_times(builder: &Builder<'_>, form: TimeForm) -> DsContainer {
    DsContainer::new(Reader::from_source(bytes(builder).into(), Default::default()).unwrap()).with_times(form)
}

fn one(container: &DsContainer, scan: &BatchScan) -> (RecordBatch, Vec<String>) {
    let table = container.tables()[0];
    let batch = batches(table, scan).unwrap().remove(0);
    let mut reader = table.arrow().unwrap().batches(scan).unwrap();
    while reader.try_next().unwrap().is_some() {}
    (batch, reader.losses().iter().map(ToString::to_string).collect())
}

fn sample() -> Builder<'static> {
    let mut builder = Builder::new();
    builder.field("a", field(vec![0i32, 25, -1], "hours since 1970-01-01 00:00 +01:00", "standard"));
    builder.field("b", field(vec![0.1f64, 1.5, 1e5 + 0.3], "days since 2000-01-01", "proleptic_gregorian"));
    let masked = Array::new([3], vec![1.5f32, f32::NAN, 2.0]).unwrap();
    let masked = masked.with_mask(Mask::from_bools([false, true, false])).unwrap();
    builder.field("c", Field::new(masked).with_dimensions(["t"]).with_attribute("units", "days since 1970-01-01"));
    builder.field("d", field(vec![59i32, 60, 89], "days since 2001-01-01", "360_day"));
    builder.field("e", field(vec![0.0f64, f64::NAN, 1.0], "seconds since 1970-01-01", "standard"));
    builder.field("f", field(vec![0.0f64, 1e-9, 2.5], "seconds since 1970-01-01", "standard"));
    builder.field("g", field(vec![0i64, i64::MAX / 10, 1], "days since 1970-01-01", "standard"));
    builder.field("h", field(vec![1u8, 2, 3], "furlongs", "standard"));
    builder.field(
        "i",
        Field::new(Array::new([3], vec![2440587.5f64, 2440588.0, 2440588.0000004]).unwrap())
            .with_dimensions(["t"])
            .with_time(true),
    );
    builder
}

fn micros(batch: &RecordBatch, name: &str) -> Vec<Option<i64>> {
    batch.column_by_name(name).unwrap().as_primitive::<TimestampMicrosecondType>().iter().collect()
}

fn types(batch: &RecordBatch) -> Vec<String> {
    batch.columns().iter().map(|column| column.data_type().to_string()).collect()
}

const HOUR: i64 = 3_600_000_000;

#[test]
fn times_are_numbers_by_default() {
    let (batch, losses) = one(&with_times(&sample(), TimeForm::Stored), &BatchScan::default());
    let expected = ["Int32", "Float64", "Float32", "Int32", "Float64", "Float64", "Int64", "UInt8", "Float64"];
    assert_eq!((types(&batch), losses.len()), (expected.map(String::from).to_vec(), 0));
    let scan = BatchScan::default().with_mapping(Mapping::default().with_times(Times::Ticks));
    assert_eq!(one(&with_times(&sample(), TimeForm::Iso), &scan).0.columns(), batch.columns());
}

#[test]
fn exact_times_are_timestamps() {
    let (batch, losses) = one(&with_times(&sample(), TimeForm::Iso), &BatchScan::default());
    let time = "Timestamp(µs)";
    assert_eq!(types(&batch), [time, time, time, "Int32", "Float64", "Float64", "Int64", "UInt8", time]);
    assert_eq!(micros(&batch, "a"), [Some(-HOUR), Some(24 * HOUR), Some(-2 * HOUR)]);
    let day = 24 * HOUR;
    let since = 10_957 * day;
    assert_eq!(
        micros(&batch, "b"),
        [since + day / 10, since + 3 * day / 2, since + 100_000 * day + 3 * day / 10].map(Some)
    );
    assert_eq!(micros(&batch, "c"), [Some(3 * day / 2), None, Some(2 * day)]);
    let julian = micros(&batch, "i");
    assert_eq!(julian[..2], [Some(0), Some(day / 2)]);
    assert!((julian[2].unwrap() - day / 2 - 34_560).abs() < 30, "{julian:?}");
    assert_eq!(
        losses,
        [
            "times kept as stored numbers (calendar 360_day has no real days) (column \"d\")",
            "times kept as stored numbers (a number exceeds the range of 64-bit times) (row 1, column \"e\")",
            "times kept as stored numbers (a time is finer than a microsecond) (row 1, column \"f\")",
            "times kept as stored numbers (a number exceeds the range of 64-bit times) (row 1, column \"g\")",
        ]
    );
}

#[test]
fn other_mappings_of_times() {
    let of = |times, missing_as_null| {
        let mut scan = BatchScan::default().with_mapping(Mapping::default().with_times(times));
        scan.scan.missing_as_null = missing_as_null;
        one(&with_times(&sample(), TimeForm::Iso), &scan)
    };
    let (batch, losses) = of(Times::Floor, true);
    assert_eq!(micros(&batch, "f"), [Some(0), Some(0), Some(2_500_000)]);
    assert_eq!(micros(&batch, "e"), [Some(0), None, Some(1_000_000)]);
    assert!(losses.contains(&"time truncated to microseconds (row 1, column \"f\")".to_owned()), "{losses:?}");
    let (batch, _) = of(Times::Nanoseconds, false);
    let nanos = batch.column_by_name("a").unwrap().as_primitive::<TimestampNanosecondType>();
    assert_eq!(nanos.value(1), 24 * HOUR * 1000);
    // 2273 exceeds the range of nanoseconds.
    assert_eq!(batch.column_by_name("b").unwrap().data_type().to_string(), "Float64");
}

#[test]
fn julian_dates_are_floats() {
    let container = with_times(&sample(), TimeForm::Julian);
    let (batch, losses) = one(&container, &BatchScan::default());
    let floats = |name: &str| batch.column_by_name(name).unwrap().as_primitive::<Float64Type>().clone();
    assert_eq!(floats("a").value(1), 2_440_588.5);
    assert_eq!(floats("i").value(0), 2_440_587.5);
    assert!(floats("c").is_null(1) && floats("e").value(1).is_nan());
    // 30 February does not exist.
    assert!(floats("d").is_null(0) && floats("d").is_valid(1));
    assert_eq!(losses, ["time without a Gregorian day shown as null (row 0, column \"d\")"]);
    let schema = batch.schema();
    let metadata = &schema.field_with_name("a").unwrap().metadata()["ds"];
    assert_eq!(metadata, r#"{"type": "float64", "endian": "l", "dimensions": ["t"], "time": true, "attributes": {}}"#);
}

/// Their timestamps would be of other units, and a copy of them would get the attributes of packed numbers.
#[test]
fn packed_times_stay_numbers() {
    let mut builder = Builder::new();
    builder.field("a", field(vec![0i16, 10], "hours since 2000-01-01", "standard").with_attribute("scale_factor", 0.1));
    builder.field("b", field(vec![-1i8, 1], "hours since 2000-01-01", "standard").with_attribute("_Unsigned", "true"));
    // ds-format unpacks to floats, and keeps the attributes.
    builder
        .field("c", field(vec![0.0f64, 1.0], "hours since 1970-01-01", "standard").with_attribute("scale_factor", 2));
    let why = "times kept as stored numbers (the numbers are packed with scale_factor, add_offset or _Unsigned)";
    let expected = [format!("{why} (column \"a\")"), format!("{why} (column \"b\")")];
    for (form, unpacked) in [(TimeForm::Iso, "Timestamp(µs)"), (TimeForm::Julian, "Float64")] {
        let (batch, losses) = one(&with_times(&builder, form), &BatchScan::default());
        assert_eq!(types(&batch), ["Int16", "Int8", unpacked]);
        assert_eq!(losses, expected);
    }
}

/// In any table, and in any selection of its columns.
#[test]
fn bounds_have_the_units_of_their_times() {
    let mut builder = Builder::new();
    let bounds = |attributes: &[(&str, &str)]| {
        let field = Field::new(Array::new([2, 2], vec![0.0, 24.0, 24.0, 48.0]).unwrap()).with_dimensions(["t", "nv"]);
        attributes.iter().fold(field, |field, (name, value)| field.with_attribute(name, *value))
    };
    let units = "hours since 1970-01-01";
    builder.field("a", field(vec![12.0, 36.0], units, "proleptic_gregorian").with_attribute("bounds", "b"));
    builder.field("b", bounds(&[]));
    builder.field("c", field(vec![12.0, 36.0], units, "noleap").with_attribute("climatology", "d"));
    builder.field("d", bounds(&[("units", "days since 1970-01-01")]));
    builder.field("e", bounds(&[]));
    let (batch, _) = one(&with_times(&builder, TimeForm::Iso), &BatchScan::default());
    let day = 24 * HOUR;
    let lists = batch.column_by_name("b").unwrap().as_fixed_size_list();
    let found = lists.values().as_primitive::<TimestampMicrosecondType>();
    assert_eq!(found.values().as_ref(), [0, day, day, 2 * day]);
    let (batch, _) = one(&with_times(&builder, TimeForm::Stored), &BatchScan::default());
    let attributes = |name: &str| {
        let schema = batch.schema();
        let text = schema.field_with_name(name).unwrap().metadata()["ds"].clone();
        let metadata: serde_json::Value = serde_json::from_str(&text).unwrap();
        metadata["attributes"].clone()
    };
    assert_eq!(
        attributes("b"),
        serde_json::json!({"units": "hours since 1970-01-01", "calendar": "proleptic_gregorian"})
    );
    assert_eq!(attributes("d"), serde_json::json!({"units": "days since 1970-01-01", "calendar": "noleap"}));
    assert_eq!(attributes("e"), serde_json::json!({}));
}
