//! Writes files from batches.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType as ArrowType, Field as ArrowField, Schema, SchemaRef};
use container_arrow::{BatchScan, BatchWriter};
use container_core::{Container, ErrorKind, Loss, OutputOptions, Overwrite, Result, Scan};
use dsfmt::arrow::{ArrowWriter, Ragged, Structs, WriterOptions};
use dsfmt::container::TimeForm;
use dsfmt::{Array as DsArray, Builder, DataType, Endian, Field, JsonBuf, Mask, Reader, Values, Variable};
use proptest::collection::vec;
use proptest::prelude::*;

use super::read::goldens;
use super::rows_json::{batches, bytes, open};
use super::times::{field, with_times};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("x.ds")
    }

    fn write(&self, schema: SchemaRef, all: &[RecordBatch], options: WriterOptions) -> Result<(Reader, Vec<Loss>)> {
        let options = options.with_output(OutputOptions::default().with_overwrite(Overwrite::Replace));
        let mut writer = Box::new(ArrowWriter::create(self.path(), schema.clone(), options.clone())?);
        let mut unwritten = ArrowWriter::unwritten(self.path(), schema, options)?;
        for batch in all {
            writer.write(batch)?;
            unwritten.write(batch)?;
        }
        let losses = writer.finish()?;
        let (reader, same_losses) = unwritten.into_reader()?;
        assert_eq!(same_losses, losses);
        let bytes = reader.source().read(0..reader.source().len())?;
        assert!(bytes == std::fs::read(self.path()).unwrap(), "unwritten");
        Ok((Reader::open(self.path()).unwrap(), losses))
    }
}

/// A file of one column.
fn column(array: ArrayRef, options: WriterOptions) -> Result<(Reader, Vec<Loss>)> {
    let batch = RecordBatch::try_from_iter_with_nullable([("x", array, true)]).unwrap();
    Folder::new().write(batch.schema(), &[batch], options)
}

fn whole(array: impl Array + 'static) -> Reader {
    let (reader, losses) = column(Arc::new(array), WriterOptions::default()).unwrap();
    assert!(losses.is_empty(), "{losses:?}");
    reader
}

fn attributes(variable: &Variable<'_>) -> Vec<(String, String)> {
    variable.attributes().map(|(name, value)| (name, value.as_text().to_owned())).collect()
}

/// Sizes, missing elements and values, as text.
fn describe(array: &DsArray<'_>) -> String {
    let (shape, values, mask) = array.clone().into_parts();
    let missing = mask.map(|mask| mask.iter().collect::<Vec<_>>()).filter(|all| all.contains(&true));
    // NaN is what it is.
    let values = format!("{values:?}");
    let present = serde_json::to_string(array).unwrap();
    match missing {
        Some(missing) => format!("{shape:?} {missing:?} {present}"),
        None => format!("{shape:?} {values} {present}"),
    }
}

fn same(found: &Variable<'_>, expected: &Variable<'_>, name: &str) {
    let metadata = |variable: &Variable<'_>| {
        let endian = variable.data_type().is_some_and(|t| t.width() > Some(1)).then(|| variable.endian());
        let names = variable.dimensions().to_vec();
        format!("{:?} {:?} {names:?} {endian:?} {}", variable.data_type(), variable.shape(), variable.is_time())
    };
    assert_eq!(metadata(found), metadata(expected), "{name} {}", expected.name());
    assert_eq!(attributes(found), attributes(expected), "{name} {}", expected.name());
    if expected.shape().is_some() {
        assert_eq!(describe(&found.read().unwrap()), describe(&expected.read().unwrap()), "{name} {}", expected.name());
    }
}

#[test]
fn goldens_round_trip() {
    let folder = Folder::new();
    let mut compared = 0;
    for (name, path) in goldens() {
        let reader = Reader::open(&path).unwrap();
        let container = dsfmt::container::DsContainer::new(Reader::open(&path).unwrap());
        for table in container.tables() {
            let readable = |index: &usize| batches(table, &Scan::default().with_columns([*index]).into()).is_ok();
            let columns: Vec<usize> = (0..table.columns().len()).filter(readable).collect();
            for rows in [1, 3, 1000] {
                let scan = BatchScan::from(Scan::default().with_columns(columns.clone())).with_batch_rows(rows);
                let schema = table.arrow().unwrap().schema(&scan).unwrap();
                let all = batches(table, &scan).unwrap();
                let (written, losses) = folder.write(schema, &all, WriterOptions::default()).unwrap();
                assert!(losses.is_empty(), "{name} {losses:?}");
                assert_eq!(written.len(), columns.len());
                for variable in written.variables() {
                    same(&variable, &reader.variable(variable.name()).unwrap(), &name);
                    compared += 1;
                }
                let texts = |reader: &Reader| {
                    reader.attributes().map(|(name, value)| (name, value.as_text().to_owned())).collect::<Vec<_>>()
                };
                assert_eq!(texts(&written), texts(&reader), "{name}");
                container_is_whole(&written);
            }
        }
    }
    assert!(compared > 300, "{compared}");
}

fn container_is_whole(reader: &Reader) {
    let mut found = Vec::new();
    reader.verify(&Default::default(), &mut |finding| found.push(finding.error.to_string())).unwrap();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn single_table_file_round_trips_byte_for_byte() {
    let mut builder = Builder::new();
    builder.attribute("title", "x").attribute("n", JsonBuf::parse("[1.50, NaN, {\"a\": \"\\ud800\"}]").unwrap());
    let mask = Mask::from_bools((0..30).map(|n| n % 4 == 1));
    let numbers = DsArray::new([10, 3], (0..30i16).collect::<Vec<_>>()).unwrap().with_mask(mask).unwrap();
    let numbers = Field::new(numbers).with_dimensions(["t", "y"]).with_attribute("_FillValue", f64::NAN);
    builder.field("a", numbers.with_endian(Endian::Big));
    let bools = DsArray::new([10], (0..10).map(|n| n % 3 == 0).collect::<Vec<_>>()).unwrap();
    builder.field("b", Field::new(bools).with_dimensions(["t"]));
    let texts: Values<'_> = ["", "\u{fc}", "b", "c", "d", "e", "f", "g", "h", "i"].into_iter().collect();
    builder.field(".c", Field::new(DsArray::new([10], texts).unwrap()).with_dimensions(["t"]));
    let file = bytes(&builder);
    let container = open(file.clone());
    let folder = Folder::new();
    for rows in [3, 100] {
        let scan = BatchScan::default().with_batch_rows(rows);
        let schema = container.tables()[0].arrow().unwrap().schema(&scan).unwrap();
        let all = batches(container.tables()[0], &scan).unwrap();
        folder.write(schema, &all, WriterOptions::default()).unwrap();
        assert_eq!(String::from_utf8_lossy(&std::fs::read(folder.path()).unwrap()), String::from_utf8_lossy(&file));
    }
}

#[test]
fn plain_columns_become_variables() {
    let check = |array: ArrayRef, data_type: DataType, expected: &str, attributes_json: &[(&str, &str)]| {
        let shown = format!("{}", array.data_type());
        let (reader, losses) = column(array, WriterOptions::default()).unwrap();
        assert!(losses.is_empty());
        let x = reader.variable("x").unwrap();
        assert_eq!((x.data_type(), x.dimensions()), (Some(data_type), &["row".to_owned()][..]), "{shown}");
        assert_eq!(serde_json::to_string(&x.read().unwrap()).unwrap(), expected, "{shown}");
        let attributes_json: Vec<_> =
            attributes_json.iter().map(|(name, text)| ((*name).to_owned(), format!("{text:?}"))).collect();
        assert_eq!(attributes(&x), attributes_json, "{shown}");
    };
    let date = |units| [("units", units), ("calendar", "proleptic_gregorian")];
    check(Arc::new(UInt64Array::from(vec![u64::MAX])), DataType::Uint64, "[18446744073709551615]", &[]);
    check(
        Arc::new(Float16Array::from(vec![<Float16Type as ArrowPrimitiveType>::Native::from_f32(0.5)])),
        DataType::Float32,
        "[0.5]",
        &[],
    );
    check(Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])), DataType::Bool, "[true,null,false]", &[]);
    check(Arc::new(StringArray::from(vec![Some("a"), None])), DataType::Unicode, "[\"a\",null]", &[]);
    check(Arc::new(LargeStringArray::from(vec!["a"])), DataType::Unicode, "[\"a\"]", &[]);
    check(
        Arc::new(StringViewArray::from(vec![Some("a longer text than twelve"), None])),
        DataType::Unicode,
        "[\"a longer text than twelve\",null]",
        &[],
    );
    let bytes = r#"[{"$bytes":"AQI="},null]"#;
    check(Arc::new(BinaryArray::from(vec![Some(&[1u8, 2][..]), None])), DataType::Str, bytes, &[]);
    check(Arc::new(BinaryViewArray::from(vec![Some(&[1u8, 2][..]), None])), DataType::Str, bytes, &[]);
    check(
        Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some([1u8, 2]), None].into_iter(), 2).unwrap()),
        DataType::Str,
        bytes,
        &[],
    );
    check(Arc::new(NullArray::new(2)), DataType::Float64, "[null,null]", &[]);
    check(Arc::new(Date32Array::from(vec![3])), DataType::Int32, "[3]", &date("days since 1970-01-01"));
    check(Arc::new(Date64Array::from(vec![3])), DataType::Int64, "[3]", &date("milliseconds since 1970-01-01"));
    check(Arc::new(TimestampSecondArray::from(vec![-3])), DataType::Int64, "[-3]", &date("seconds since 1970-01-01"));
    check(
        Arc::new(TimestampMicrosecondArray::from(vec![Some(3), None])),
        DataType::Int64,
        "[3,null]",
        &date("microseconds since 1970-01-01"),
    );
    check(
        Arc::new(TimestampNanosecondArray::from(vec![-3000])),
        DataType::Int64,
        "[-3]",
        &date("microseconds since 1970-01-01"),
    );
    check(Arc::new(Time32MillisecondArray::from(vec![7])), DataType::Int32, "[7]", &[("units", "milliseconds")]);
    check(Arc::new(DurationNanosecondArray::from(vec![7])), DataType::Int64, "[7]", &[("units", "nanoseconds")]);
    let decimals = Decimal128Array::from(vec![Some(110), None, Some(-5)]).with_precision_and_scale(38, 2).unwrap();
    check(Arc::new(decimals), DataType::Float64, "[1.1,null,-0.05]", &[]);
    let words: DictionaryArray<Int8Type> = [Some("a"), None, Some("b"), Some("a")].into_iter().collect();
    check(Arc::new(words), DataType::Unicode, r#"["a",null,"b","a"]"#, &[]);
    let keys = UInt16Array::from(vec![Some(1), Some(0), None, Some(1)]);
    let numbers = DictionaryArray::new(keys, Arc::new(Int64Array::from(vec![None, Some(5)])));
    check(Arc::new(numbers), DataType::Int64, "[5,null,null,5]", &[]);
    // Times read back as their original numbers.
    let reader = whole(TimestampMillisecondArray::from(vec![1500]));
    let x = reader.variable("x").unwrap();
    let units = dsfmt::time::of(&x).unwrap().unwrap();
    assert_eq!(units.date_of_integer(1500).unwrap().to_string(), "1970-01-01T00:00:01.5");
}

#[test]
fn options_set_names_and_byte_order() {
    let array: ArrayRef = Arc::new(Int16Array::from(vec![1, 2]));
    let options = WriterOptions::default().with_dimension("day").with_endian(Endian::Big);
    let (reader, _) = column(array, options).unwrap();
    let x = reader.variable("x").unwrap();
    assert_eq!((x.dimensions(), x.endian()), (&["day".to_owned()][..], Endian::Big));
    assert_eq!(x.read().unwrap().values().as_slice::<i16>(), Some(&[1, 2][..]));
    let zoned = TimestampSecondArray::from(vec![1]).with_timezone("+02:00");
    let (_, losses) = column(Arc::new(zoned), WriterOptions::default()).unwrap();
    assert_eq!(losses[0].to_string(), "time zone \"+02:00\" dropped: times are in UTC (column \"x\")");
}

#[test]
fn flattens_structs_on_request() {
    let a: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(2), None]));
    let inner = StructArray::from(vec![(Arc::new(ArrowField::new("b", ArrowType::Int32, true)), a.clone())]);
    let fields = vec![
        Arc::new(ArrowField::new("a", ArrowType::Int32, true)),
        Arc::new(ArrowField::new("s", inner.data_type().clone(), true)),
    ];
    let nulls = NullBuffer::from(vec![true, false, true]);
    let array: ArrayRef = Arc::new(StructArray::new(fields.into(), vec![a, Arc::new(inner)], Some(nulls)));
    let error = column(array.clone(), WriterOptions::default()).unwrap_err();
    assert_eq!((error.kind(), error.position().column.as_deref()), (ErrorKind::Unsupported, Some("x")));
    let (reader, _) = column(array, WriterOptions::default().with_structs(Structs::Flatten)).unwrap();
    let shown = |name: &str| serde_json::to_string(&reader.variable(name).unwrap().read().unwrap()).unwrap();
    assert_eq!((shown("x.a").as_str(), shown("x.s.b").as_str()), ("[1,null,null]", "[1,null,null]"));
}

fn lists(rows: &[Option<Vec<Option<i32>>>]) -> ListArray {
    ListArray::from_iter_primitive::<Int32Type, _, _>(rows.iter().cloned())
}

#[test]
fn equal_lists_become_a_dimension() {
    let row = |n: i32| Some(vec![Some(n), None]);
    let reader = whole(lists(&[row(1), row(2), row(3)]));
    let x = reader.variable("x").unwrap();
    assert_eq!((x.shape(), x.dimensions()), (Some(&[3, 2][..]), &["row".to_owned(), "x_2".to_owned()][..]));
    assert_eq!(serde_json::to_string(&x.read().unwrap()).unwrap(), "[[1,null],[2,null],[3,null]]");
    // A sliced list ignores items outside the slice.
    let reader = whole(lists(&[row(1), Some(vec![]), row(2), row(3), Some(vec![])]).slice(2, 2));
    assert_eq!(reader.variable("x").unwrap().shape(), Some(&[2, 2][..]));
    // Only nulls, and no rows.
    let (reader, losses) = column(Arc::new(lists(&[None, None])), WriterOptions::default()).unwrap();
    assert_eq!(serde_json::to_string(&reader.variable("x").unwrap().read().unwrap()).unwrap(), "[null,null]");
    assert_eq!(losses.len(), 1);
    assert_eq!(whole(lists(&[])).variable("x").unwrap().shape(), Some(&[0][..]));
    assert_eq!(whole(lists(&[Some(vec![]), Some(vec![])])).variable("x").unwrap().shape(), Some(&[2, 0][..]));
}

#[test]
fn rejects_ragged_lists_by_row() {
    let folder = Folder::new();
    let batch = |rows: &[Option<Vec<Option<i32>>>]| {
        RecordBatch::try_from_iter_with_nullable([("x", Arc::new(lists(rows)) as ArrayRef, true)]).unwrap()
    };
    let some = |count: usize| Some(vec![Some(7); count]);
    let all = [batch(&[None, some(2), some(2)]), batch(&[some(2), None, some(3), some(2)])];
    let error = folder.write(all[0].schema(), &all, WriterOptions::default()).unwrap_err();
    assert_eq!((error.kind(), error.position().row), (ErrorKind::Invalid, Some(5)));
    let error = error.to_string();
    assert!(error.contains("expected a list of 2 items as in row 1, found 3"), "{error}");
    assert!(error.contains("column \"x\"") && !folder.path().exists(), "{error}");
    let (reader, losses) =
        folder.write(all[0].schema(), &all, WriterOptions::default().with_ragged(Ragged::Pad)).unwrap();
    let x = serde_json::to_string(&reader.variable("x").unwrap().read().unwrap()).unwrap();
    let (pair, none) = ("[7,7,null]", "[null,null,null]");
    assert_eq!(x, format!("[{none},{pair},{pair},{pair},{none},[7,7,7],{pair}]"));
    let losses: Vec<String> = losses.iter().map(ToString::to_string).collect();
    assert_eq!(
        losses,
        [
            "null list written as missing elements (2 times, first column \"x\")",
            "list padded with missing elements (4 times, first column \"x\")"
        ]
    );
    // In nested lists the row is that of the outermost list.
    let mut builder = ListBuilder::new(ListBuilder::new(Int32Builder::new()));
    for row in [vec![1, 1], vec![], vec![1, 1], vec![1, 2]] {
        for len in &row {
            builder.values().append_value(vec![Some(1); *len]);
        }
        builder.append(!row.is_empty());
    }
    let error = column(Arc::new(builder.finish()), WriterOptions::default()).unwrap_err();
    assert_eq!(error.position().row, Some(3), "{error}");
}

#[test]
fn limits_mask_of_padded_lists() {
    // 2^17 rows, of which one has 2^17 items: the mask alone would take 2 GiB.
    let mut lengths = vec![0usize; 1 << 17];
    lengths[5] = 1 << 17;
    let items: ArrayRef = Arc::new(Int8Array::from(vec![1i8; 1 << 17]));
    let item = Arc::new(ArrowField::new_list_field(ArrowType::Int8, true));
    let array = ListArray::new(item, OffsetBuffer::from_lengths(lengths), items, None);
    let error = column(Arc::new(array), WriterOptions::default().with_ragged(Ragged::Pad)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
}

fn tensors(metadata: &str, count: usize) -> Result<(Reader, Vec<Loss>)> {
    let item = Arc::new(ArrowField::new_list_field(ArrowType::Int32, true));
    let values = Arc::new(Int32Array::from_iter_values(0..6 * count as i32));
    let array = FixedSizeListArray::new(item.clone(), 6, values, None);
    let metadata = [("ARROW:extension:name", "arrow.fixed_shape_tensor"), ("ARROW:extension:metadata", metadata)];
    let metadata = metadata.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned()));
    let field = ArrowField::new("x", ArrowType::FixedSizeList(item, 6), true)
        .with_metadata(metadata.collect::<std::collections::HashMap<_, _>>());
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(array)]).unwrap();
    Folder::new().write(schema, &[batch], WriterOptions::default())
}

#[test]
fn tensors_keep_shape_and_names() {
    let (reader, _) = tensors(r#"{"shape":[2,3],"dim_names":["y","z"],"permutation":[0,1]}"#, 2).unwrap();
    let x = reader.variable("x").unwrap();
    assert_eq!((x.shape(), x.dimensions()), (Some(&[2, 2, 3][..]), &["row", "y", "z"].map(str::to_owned)[..]));
    assert_eq!(serde_json::to_string(&x.read().unwrap()).unwrap(), "[[[0,1,2],[3,4,5]],[[6,7,8],[9,10,11]]]");
    let (reader, _) = tensors(r#"{"shape":[3,2],"dim_names":null}"#, 1).unwrap();
    assert_eq!(reader.variable("x").unwrap().dimensions(), ["row", "x_2", "x_3"]);
    // A dimension has one size per file.
    for (names, expected) in [(r#"["n","n"]"#, ["row", "n", "x_3"]), (r#"["row","n"]"#, ["row", "x_2", "n"])] {
        let (reader, losses) = tensors(&format!(r#"{{"shape":[2,3],"dim_names":{names}}}"#), 4).unwrap();
        assert_eq!(reader.variable("x").unwrap().dimensions(), expected);
        let losses: Vec<String> = losses.iter().map(ToString::to_string).collect();
        assert_eq!(losses, ["dimension renamed: another dimension of this name has another size (column \"x\")"]);
    }
    let (reader, losses) = tensors(r#"{"shape":[2,3],"dim_names":["row","n"]}"#, 2).unwrap();
    assert_eq!((reader.variable("x").unwrap().dimensions()[1].as_str(), losses.len()), ("row", 0));
    for (metadata, kind) in [
        (r#"{"shape":[2,3],"permutation":[1,0]}"#, ErrorKind::Unsupported),
        (r#"{"shape":[2,2]}"#, ErrorKind::Invalid),
        (r#"{"shape":[2,3],"dim_names":["a"]}"#, ErrorKind::Invalid),
        (r#"{"shape":[18446744073709551615,18446744073709551615]}"#, ErrorKind::Invalid),
        (r#"{"shape":"#, ErrorKind::Invalid),
        ("", ErrorKind::Invalid),
        ("{}", ErrorKind::Invalid),
    ] {
        let error = tensors(metadata, 1).unwrap_err();
        assert_eq!((error.kind(), error.position().column.as_deref()), (kind, Some("x")), "{metadata}: {error}");
    }
}

#[test]
fn rejects_unsupported_data() {
    let write_error = |array: ArrayRef| column(array, WriterOptions::default()).unwrap_err();
    let fine = write_error(Arc::new(TimestampNanosecondArray::from(vec![Some(1000), None, Some(1001)])));
    assert_eq!(
        (fine.kind(), fine.position().row, fine.position().column.as_deref()),
        (ErrorKind::Invalid, Some(2), Some("x"))
    );
    let decimal = Decimal128Array::from(vec![1, 12_345_678_901_234_567_891]).with_precision_and_scale(38, 3).unwrap();
    let error = write_error(Arc::new(decimal));
    assert_eq!(error.position().row, Some(1));
    assert!(error.to_string().contains("decimal 12345678901234567.891 has no exact float64"), "{error}");
    let month = write_error(Arc::new(IntervalYearMonthArray::from(vec![1])));
    assert_eq!((month.kind(), month.position().column.as_deref()), (ErrorKind::Unsupported, Some("x")));
    // Duplicate names.
    let field = ArrowField::new("x", ArrowType::Int8, true);
    let schema = Arc::new(Schema::new(vec![field.clone(), field.clone()]));
    let error = ArrowWriter::create(Folder::new().path(), schema, WriterOptions::default()).unwrap_err();
    assert!(error.to_string().contains("duplicate variable \"x\""), "{error}");
    // Invalid metadata, and reserved attribute names.
    for text in ["{", "[]", r#"{"attributes": {".size": 3}}"#] {
        let field = field.clone().with_metadata(
            [("ds".to_owned(), text.to_owned())].into_iter().collect::<std::collections::HashMap<_, _>>(),
        );
        let schema = Arc::new(Schema::new(vec![field]));
        let error = ArrowWriter::create(Folder::new().path(), schema, WriterOptions::default()).unwrap_err();
        assert_eq!(error.position().column.as_deref(), Some("x"), "{error}");
    }
    // Another schema, and an existing output.
    let folder = Folder::new();
    let schema = Arc::new(Schema::new(vec![field]));
    let mut writer = ArrowWriter::create(folder.path(), schema.clone(), WriterOptions::default()).unwrap();
    let other = RecordBatch::try_from_iter([("x", Arc::new(Int16Array::from(vec![1])) as ArrayRef)]).unwrap();
    assert_eq!(writer.write(&other).unwrap_err().kind(), ErrorKind::Usage);
    drop(writer);
    assert!(!folder.path().exists());
    std::fs::write(folder.path(), "old").unwrap();
    assert!(ArrowWriter::create(folder.path(), schema, WriterOptions::default()).is_err());
    assert_eq!(std::fs::read(folder.path()).unwrap(), b"old");
}

#[test]
fn times_round_trip_to_numbers() {
    let mut builder = Builder::new();
    builder.field("a", field(vec![0i16, 25, -1], "hours since 1970-01-01 00:00 +01:00", "standard"));
    builder.field("b", field(vec![0.1f64, 1.5, 1e5 + 0.3], "days since 2000-01-01", "proleptic_gregorian"));
    builder.field("c", field(vec![0.1f32, 1.5, 20_000.3], "days since 1970-01-01", "julian"));
    builder.field(
        "d",
        Field::new(DsArray::new([3], vec![2440587.5f64, 2440588.25, 2460000.0625]).unwrap())
            .with_dimensions(["t"])
            .with_time(true),
    );
    let container = with_times(&builder, TimeForm::Iso);
    let table = container.tables()[0];
    let all = batches(table, &BatchScan::default()).unwrap();
    assert!(all[0].columns().iter().all(|column| matches!(column.data_type(), ArrowType::Timestamp(..))));
    let (written, _) = Folder::new().write(all[0].schema(), &all, WriterOptions::default()).unwrap();
    for variable in written.variables() {
        same(&variable, &container.reader().variable(variable.name()).unwrap(), "times");
    }
    // A time that the original units cannot represent.
    let schema = Arc::new(Schema::new(vec![all[0].schema().field(0).clone()]));
    let batch =
        RecordBatch::try_new(schema.clone(), vec![Arc::new(TimestampMicrosecondArray::from(vec![0, 1]))]).unwrap();
    let error = Folder::new().write(schema, &[batch], WriterOptions::default()).unwrap_err();
    assert_eq!((error.kind(), error.position().row), (ErrorKind::Invalid, Some(1)));
    assert!(error.to_string().contains("time 1970-01-01T00:00:00.000001 has no exact"), "{error}");
}

#[test]
fn writes_more_than_the_buffers() {
    // More than is buffered, in many batches of few columns.
    let folder = Folder::new();
    let make = |at: u32| -> RecordBatch {
        let numbers: ArrayRef =
            Arc::new(UInt32Array::from_iter((0..50_000u32).map(|n| (n % 1000 > 0).then_some(n + at))));
        let texts: ArrayRef =
            Arc::new(StringArray::from_iter_values((0..50_000u32).map(|n| (n % 97 + at).to_string())));
        RecordBatch::try_from_iter_with_nullable([("n", numbers, true), ("t", texts, true)]).unwrap()
    };
    let mut writer = Box::new(ArrowWriter::create(folder.path(), make(0).schema(), WriterOptions::default()).unwrap());
    (0..100).for_each(|at| writer.write(&make(at)).unwrap());
    assert_eq!((writer.rows(), writer.finish().unwrap().len()), (5_000_000, 0));
    let reader = Reader::open(folder.path()).unwrap();
    container_is_whole(&reader);
    for at in [0u64, 57, 99] {
        let rows = at * 50_000..(at + 1) * 50_000;
        let numbers = reader.variable("n").unwrap().read_rows(rows.clone()).unwrap();
        let found = numbers.values().as_slice::<u32>().unwrap();
        for n in 0..50_000u32 {
            assert_eq!(numbers.mask().unwrap().is_missing(n as usize), n % 1000 == 0);
            assert!(n % 1000 == 0 || found[n as usize] == n + at as u32);
        }
        let texts = reader.variable("t").unwrap().read_rows(rows).unwrap();
        let texts = texts.values().as_strings().unwrap().clone();
        assert!(texts.iter().zip(0u32..).all(|(text, n)| text == (n % 97 + at as u32).to_string().as_bytes()));
    }
    assert_eq!(std::fs::read_dir(folder.path().parent().unwrap()).unwrap().count(), 1, "nothing is left behind");
}

type Row = Option<Vec<Option<Vec<Option<i32>>>>>;
type Deep = Vec<Row>;

/// Sizes and elements of padded lists.
fn padded(rows: &Deep) -> (Vec<u64>, Vec<Option<i32>>) {
    let lists = || rows.iter().flatten();
    let Some(outer) = lists().map(Vec::len).max() else { return (vec![rows.len() as u64], vec![None; rows.len()]) };
    let inner = lists().flatten().flatten().map(Vec::len).max();
    let mut all = Vec::new();
    for row in rows {
        for n in 0..outer {
            let list = row.as_ref().and_then(|row| row.get(n)).and_then(Option::as_ref);
            (0..inner.unwrap_or(1)).for_each(|n| all.push(list.and_then(|list| list.get(n)).copied().flatten()));
        }
    }
    ([rows.len(), outer].into_iter().chain(inner).map(|size| size as u64).collect(), all)
}

fn deep() -> impl Strategy<Value = Deep> {
    let item = prop_oneof![3 => any::<i32>().prop_map(Some), 1 => Just(None)];
    let list = prop_oneof![4 => vec(item, 0..4).prop_map(Some), 1 => Just(None)];
    vec(prop_oneof![4 => vec(list, 0..4).prop_map(Some), 1 => Just(None)], 0..12)
}

fn deep_array(rows: &[Row]) -> ArrayRef {
    let mut builder = ListBuilder::new(ListBuilder::new(Int32Builder::new()));
    for row in rows {
        for list in row.iter().flatten() {
            builder.values().append_option(list.clone());
        }
        builder.append(row.is_some());
    }
    Arc::new(builder.finish())
}

fn shape_and_elements(path: &Path) -> (Vec<u64>, Vec<Option<i32>>) {
    let reader = Reader::open(path).unwrap();
    let array = reader.variable("x").unwrap().read().unwrap();
    let numbers = array.values().as_slice::<i32>().unwrap();
    let missing = |at| array.mask().is_some_and(|mask| mask.is_missing(at));
    let elements = numbers.iter().enumerate().map(|(at, number)| (!missing(at)).then_some(*number)).collect();
    (array.shape().to_vec(), elements)
}

proptest! {
    #[test]
    fn lists_in_lists_are_filled_up(rows in deep(), step in 1..5usize) {
        let folder = Folder::new();
        let batches: Vec<RecordBatch> = rows.chunks(step)
            .map(|rows| RecordBatch::try_from_iter_with_nullable([("x", deep_array(rows), true)]).unwrap())
            .collect();
        let schema = RecordBatch::try_from_iter_with_nullable([("x", deep_array(&[]), true)]).unwrap().schema();
        folder.write(schema, &batches, WriterOptions::default().with_ragged(Ragged::Pad)).unwrap();
        prop_assert_eq!(shape_and_elements(&folder.path()), padded(&rows));
    }

    #[test]
    fn variables_come_back(
        data_type in 0..13usize,
        shape in vec(0..5u64, 1..4),
        seed in any::<u64>(),
        masked in 0..3u64,
        big in any::<bool>(),
        step in 1..7usize,
        start in 0..5u64,
    ) {
        let data_type = DataType::ALL[data_type];
        let count = shape.iter().product::<u64>() as usize;
        let next = |n: usize| (n as u64).wrapping_add(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7;
        macro_rules! numbers {
            ($number:ty) => { (0..count).map(|n| next(n) as $number).collect::<Vec<_>>().into() };
        }
        let texts: Vec<String> = (0..count).map(|n| "a\u{fc}\u{1f600}".repeat((next(n) % 4) as usize)).collect();
        let values: Values<'static> = match data_type {
            DataType::Float32 => numbers!(f32),
            DataType::Float64 => numbers!(f64),
            DataType::Int8 => numbers!(i8),
            DataType::Int16 => numbers!(i16),
            DataType::Int32 => numbers!(i32),
            DataType::Int64 => numbers!(i64),
            DataType::Uint8 => numbers!(u8),
            DataType::Uint16 => numbers!(u16),
            DataType::Uint32 => numbers!(u32),
            DataType::Uint64 => numbers!(u64),
            DataType::Bool => (0..count).map(|n| next(n) % 2 == 0).collect::<Vec<_>>().into(),
            DataType::Str => texts.iter().map(String::as_bytes).collect(),
            DataType::Unicode => texts.iter().map(String::as_str).collect(),
        };
        let mut array = DsArray::new(shape.clone(), values).unwrap();
        if masked > 0 {
            array = array.with_mask(Mask::from_bools((0..count).map(|n| next(n) % (masked * 3) == 0))).unwrap();
        }
        let names = ["t", "y", "x"].into_iter().take(shape.len());
        let endian = if big { Endian::Big } else { Endian::Little };
        let mut builder = Builder::new();
        builder.field("v", Field::new(array).with_dimensions(names).with_endian(endian));
        let container = open(bytes(&builder));
        let table = container.tables()[0];
        let start = start.min(shape[0]);
        let scan = BatchScan::from(Scan::default().with_rows(start..u64::MAX)).with_batch_rows(step);
        let schema = table.arrow().unwrap().schema(&scan).unwrap();
        let all = batches(table, &scan).unwrap();
        let (written, _) = Folder::new().write(schema, &all, WriterOptions::default()).unwrap();
        let found = written.variable("v").unwrap();
        if data_type.width() > Some(1) {
            prop_assert_eq!(found.endian(), endian);
        }
        let expected = container.reader().variable("v").unwrap().read_rows(start..shape[0]).unwrap();
        prop_assert_eq!(describe(&found.read().unwrap()), describe(&expected));
    }
}
