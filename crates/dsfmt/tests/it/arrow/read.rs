//! Reads batches.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array as _, RecordBatch};
use arrow_schema::DataType as ArrowType;
use container_arrow::BatchScan;
use container_core::{Access, Container, ErrorKind, OpenOptions, Scan, Source};
use dsfmt::container::DsContainer;
use dsfmt::{Array, Builder, DataType, Endian, Field, JsonBuf, Mask, Reader, Values};

use super::rows_json::{batches, bytes, json_rows, open, rows, shape};

pub fn goldens() -> Vec<(String, std::path::PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/ds");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ds"));
    paths.sort();
    assert!(paths.len() >= 20);
    paths.into_iter().map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path)).collect()
}

#[test]
fn golden_batches_match_rows() {
    let mut compared = 0;
    for (name, path) in goldens() {
        for access in [container_core::testkit::mapped(), Access::Positional] {
            let reader = Reader::open_with(&path, OpenOptions::default().with_access(access)).unwrap();
            let container = DsContainer::new(reader);
            for table in container.tables() {
                let mut readable = Vec::new();
                for index in 0..table.columns().len() {
                    // One file has a displaced variable: both ways fail.
                    let scan = Scan::default().with_columns([index]);
                    match batches(table, &scan.clone().into()) {
                        Ok(found) => {
                            assert_eq!(rows(&found), json_rows(table, &scan), "{name} {}", table.columns()[index].name);
                            readable.push(index);
                        }
                        Err(error) => {
                            assert_eq!(name, "texts-masked-before", "{error}");
                            assert!(error.position().column.is_some(), "{error}");
                        }
                    }
                }
                for (at_most, bytes) in [(1, 1 << 20), (3, 1 << 20), (1000, 1), (1000, 40)] {
                    let scan = Scan::default().with_columns(readable.clone());
                    let expected = json_rows(table, &scan);
                    let scan = BatchScan::from(scan).with_batch_rows(at_most).with_batch_bytes(bytes);
                    assert_eq!(rows(&batches(table, &scan).unwrap()), expected, "{name} {}", table.name());
                    compared += expected.len();
                }
            }
        }
    }
    assert!(compared > 500, "{compared}");
}

fn field(shape: &[u64], values: impl Into<Values<'static>>, dimensions: &[&str]) -> Field<'static> {
    Field::new(Array::new(shape, values.into()).unwrap()).with_dimensions(dimensions.iter().copied())
}

#[test]
fn metadata_describes_the_variable() {
    let mut builder = Builder::new();
    builder.attribute("title", "\u{fc}").attribute("big", JsonBuf::parse("123456789012345678901234567890").unwrap());
    let values = field(&[2, 1, 3], vec![1i16; 6], &["t", "y", "x"]).with_endian(Endian::Big);
    let values = values.with_attribute("_FillValue", f64::NAN).with_attribute("units", "m");
    builder.field("a", values.with_attribute("own", JsonBuf::parse(r#"{"$ds": 1}"#).unwrap()));
    builder.field("e", Field::empty().with_type(Some(DataType::Int8)));
    builder.field("n", Field::empty());
    builder.field("s", field(&[], ["x"].into_iter().collect::<Values<'_>>(), &[]));
    let container = open(bytes(&builder));
    let tables = container.tables();
    let arrow = tables[0].arrow().unwrap();
    let schema = arrow.schema(&BatchScan::default()).unwrap();
    assert_eq!(
        schema.metadata()["ds"],
        r#"{"attributes": {"title": "\u00fc", "big": 123456789012345678901234567890}}"#
    );
    let a = schema.field(0);
    assert_eq!(a.data_type().to_string(), "FixedSizeList(3 x non-null Int16)");
    assert!(!a.is_nullable());
    assert_eq!(shape(a), [1, 3]);
    assert_eq!(a.metadata()["ARROW:extension:metadata"], r#"{"shape": [1, 3], "dim_names": ["y", "x"]}"#);
    let expected = concat!(
        r#"{"type": "int16", "endian": "b", "dimensions": ["t", "y", "x"], "attributes": "#,
        r#"{"_FillValue": {"$ds": "NaN"}, "units": "m", "own": {"$ds": "{\"$ds\": 1}"}}}"#
    );
    assert_eq!(a.metadata()["ds"], expected);
    let scalars = tables[1].arrow().unwrap().schema(&BatchScan::default()).unwrap();
    let types: Vec<String> =
        scalars.fields().iter().map(|field| format!("{} {}", field.data_type(), field.is_nullable())).collect();
    assert_eq!(types, ["Int8 true", "Null true", "Utf8 false"]);
    assert_eq!(
        scalars.field(0).metadata()["ds"],
        r#"{"type": "int8", "dimensions": [], "empty": true, "attributes": {}}"#
    );
    assert_eq!(
        scalars.field(1).metadata()["ds"],
        r#"{"type": null, "dimensions": [], "empty": true, "attributes": {}}"#
    );
}

/// A file whose body is aligned to 64 bytes, and its variables.
fn aligned(endian: Endian, masked: bool) -> (tempfile::TempPath, Vec<f32>) {
    let numbers: Vec<f32> = (0..60_000u16).map(f32::from).collect();
    let mut array = Array::new([20_000, 3], numbers.clone()).unwrap();
    if masked {
        array = array.with_mask(Mask::from_bools((0..60_000).map(|n| n % 7 == 0))).unwrap();
    }
    let mut builder = Builder::new();
    builder.field("x", Field::new(array).with_dimensions(["i", "j"]).with_endian(endian));
    let file = bytes(&builder);
    let body = file.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0;
    // Trailing spaces in the header only move the body.
    let mut padded = file[..body].to_vec();
    padded.resize((body + 1).next_multiple_of(64) - 1, b' ');
    padded.extend(&file[body..]);
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    std::fs::write(&path, padded).unwrap();
    (path, numbers)
}

fn floats(batch: &RecordBatch) -> &arrow_array::Float32Array {
    batch.column(0).as_fixed_size_list().values().as_primitive::<Float32Type>()
}

#[test]
fn native_numbers_are_zero_copy() {
    let (path, numbers) = aligned(Endian::NATIVE, false);
    let reader =
        Reader::open_with(&path, OpenOptions::default().with_access(container_core::testkit::mapped())).unwrap();
    let source = reader.source().clone();
    let mapping = source.as_slice().unwrap().as_ptr_range();
    let body = reader.body_offset() as usize;
    let container = DsContainer::new(reader);
    let mut found = Vec::new();
    let all = batches(container.tables()[0], &BatchScan::default().with_batch_rows(7000)).unwrap();
    for batch in &all {
        let values = floats(batch).values();
        assert!(mapping.contains(&values.as_ptr().cast()));
        assert_eq!(values.as_ptr().addr() - mapping.start.addr(), body + 4 * found.len());
        found.extend_from_slice(values);
    }
    assert_eq!((found, all.len()), (numbers.clone(), 3));
    // Batches outlive their table and its file.
    drop((container, source));
    path.close().unwrap();
    assert_eq!(floats(&all[2]).value(17_999), numbers[59_999]);
    for (endian, masked) in [(Endian::Big, false), (Endian::NATIVE, true), (Endian::Big, true)] {
        let (path, numbers) = aligned(endian, masked);
        let container = open(Source::open_with(&path, container_core::testkit::mapped()).unwrap());
        let slice = container.reader().source().as_slice().unwrap().as_ptr_range();
        let batch = batches(container.tables()[0], &BatchScan::default()).unwrap().remove(0);
        let values = floats(&batch);
        assert!(!slice.contains(&values.values().as_ptr().cast()));
        assert_eq!(values.null_count(), if masked { 60_000usize.div_ceil(7) } else { 0 });
        let expected = numbers.iter().enumerate().map(|(n, number)| (!masked || n % 7 > 0).then_some(*number));
        assert!(values.iter().eq(expected));
    }
}

#[test]
fn strings_are_zero_copy() {
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    let texts: Values<'_> = ["a", "", "\u{fc}bc"].into_iter().collect();
    let mut builder = Builder::new();
    builder.field("x", field(&[3], texts, &["i"]));
    std::fs::write(&path, bytes(&builder)).unwrap();
    let container = open(Source::open_with(&path, container_core::testkit::mapped()).unwrap());
    let mapping = container.reader().source().as_slice().unwrap().as_ptr_range();
    let batch = batches(container.tables()[0], &BatchScan::default()).unwrap().remove(0);
    let texts = batch.column(0).as_string::<i32>();
    assert!(mapping.contains(&texts.values().as_ptr()));
    assert_eq!(texts.iter().flatten().collect::<Vec<_>>(), ["a", "", "\u{fc}bc"]);
}

fn sample() -> DsContainer {
    let missing = |count: usize| Mask::from_bools((0..count).map(|n| n % 5 == 2 || n > 90 && n < 120));
    let mut builder = Builder::new();
    let bools = Array::new([150, 3], (0..450).map(|n| n % 3 == 0).collect::<Vec<_>>()).unwrap();
    builder.field("bool", Field::new(bools.clone()).with_dimensions(["i", "k"]));
    builder.field("bool-masked", Field::new(bools.with_mask(missing(450)).unwrap()).with_dimensions(["i", "k"]));
    let texts: Vec<String> = (0..150).map(|n| "\u{e4}".repeat(n % 40)).collect();
    let texts: Values<'_> = texts.iter().map(String::as_str).collect();
    builder.field("text", Field::new(Array::new([150], texts.clone()).unwrap()).with_dimensions(["i"]));
    let masked = Array::new([150], texts).unwrap().with_mask(missing(150)).unwrap();
    builder.field("text-masked", Field::new(masked).with_dimensions(["i"]));
    let numbers = Array::new([150, 2], (0..300u64).map(|n| n << 40).collect::<Vec<_>>()).unwrap();
    builder.field("number", Field::new(numbers.clone()).with_dimensions(["i", "j"]).with_endian(Endian::Big));
    builder.field("number-masked", Field::new(numbers.with_mask(missing(300)).unwrap()).with_dimensions(["i", "j"]));
    builder.field("nothing", field(&[150, 2, 0], Vec::<i8>::new(), &["i", "j", "o"]));
    let floats: Vec<f32> = (0..150u8).map(|n| if n % 4 == 0 { f32::NAN } else { n.into() }).collect();
    let floats = Array::new([150], floats).unwrap().with_mask(missing(150)).unwrap();
    builder.field("float", Field::new(floats).with_dimensions(["i"]));
    open(bytes(&builder))
}

#[test]
fn ranges_and_projections_match_rows() {
    let container = sample();
    let table = container.tables()[0];
    let count = table.columns().len();
    for range in [0..u64::MAX, 0..0, 150..150, 149..200, 7..8, 3..100, 88..131] {
        for columns in
            [None, Some(vec![]), Some(vec![count - 1, 0]), Some(vec![3, 3]), Some((0..count).rev().collect())]
        {
            for missing_as_null in [false, true] {
                for threads in [0, 1, 3] {
                    let mut scan = Scan::default().with_rows(range.clone()).with_missing_as_null(missing_as_null);
                    scan.columns = columns.clone();
                    let expected = json_rows(table, &scan);
                    for at_most in [1, 13, 64, 1000] {
                        let scan = BatchScan::from(scan.clone().with_threads(threads)).with_batch_rows(at_most);
                        let found = batches(table, &scan).unwrap();
                        assert_eq!(found.len(), expected.len().div_ceil(at_most));
                        assert_eq!(rows(&found), expected);
                    }
                }
            }
        }
    }
    let error = |scan: Scan| batches(table, &scan.into()).unwrap_err();
    let past = error(Scan::default().with_rows(151..160));
    assert_eq!(
        (past.kind(), past.to_string()),
        (ErrorKind::Usage, "ds: row 151 is out of range: the table has 150 rows".to_owned())
    );
    assert_eq!(error(Scan::default().with_columns([count])).kind(), ErrorKind::Usage);
}

#[test]
fn batches_respect_byte_limit() {
    let container = sample();
    let table = container.tables()[0];
    let text = table.columns().iter().position(|column| column.name == "text").unwrap();
    let masked = table.columns().iter().position(|column| column.name == "text-masked").unwrap();
    for most in [1usize, 50, 200, 777, 5000] {
        let scan = Scan::default().with_columns([text, masked]);
        let expected = json_rows(table, &scan);
        let found = batches(table, &BatchScan::from(scan).with_batch_bytes(most)).unwrap();
        assert_eq!(rows(&found), expected);
        let taken = |batch: &RecordBatch, rows: usize| -> usize {
            let texts = batch.columns().iter().map(|column| {
                let texts = column.as_string::<i32>().slice(0, rows);
                (texts.value_offsets()[rows] - texts.value_offsets()[0]) as usize
            });
            // An end for each, and a bit of the mask.
            texts.sum::<usize>() + rows * 65usize.div_ceil(8)
        };
        for (batch, next) in found.iter().zip(found.iter().skip(1).map(Some).chain([None])) {
            let rows = batch.num_rows();
            assert!(rows == 1 || taken(batch, rows) <= most, "{most}");
            // One more row exceeds the limit.
            if let Some(next) = next {
                assert!(taken(batch, rows) + taken(next, 1) > most, "{most}");
            }
        }
    }
    let numbers = table.columns().iter().position(|column| column.name == "number").unwrap();
    let scan = BatchScan::from(Scan::default().with_columns([numbers])).with_batch_bytes(16 * 40 + 15);
    let lengths: Vec<_> = batches(table, &scan).unwrap().iter().map(RecordBatch::num_rows).collect();
    assert_eq!(lengths, [40, 40, 40, 30]);
}

fn table_of(header: &str, body: &[u8]) -> DsContainer {
    open([b"ds-1.0\n", header.as_bytes(), b"\n", body].concat())
}

#[test]
fn contradictions_end_the_scan_with_a_position() {
    let of = |header: &str, body: &[u8]| {
        let container = table_of(header, body);
        let scan = BatchScan::default().with_batch_rows(2);
        let error = batches(container.tables()[0], &scan).unwrap_err();
        assert_eq!(error.position().column.as_deref(), Some("x"), "{error}");
        error.to_string()
    };
    // A mask that leaves more values than stored.
    let header = r#"{"x":{".size":[9],".dims":["i"],".type":"int16",".missing":true,".len":6}}"#;
    let error = of(header, &[0xff, 0, 1, 2, 3, 4]);
    assert!(error.contains("expected 2 bytes for the 1 of 9 elements that its mask leaves, found 4"), "{error}");
    // Strings beyond the body, and others.
    let texts = r#"{"x":{".size":[2],".dims":["i"],".type":"unicode",".endian":"b",".len":20}}"#;
    let lengths = |one: u64, two: u64| [one.to_be_bytes(), two.to_be_bytes()].concat();
    let error = of(texts, &[lengths(3, 2), b"abcd".to_vec()].concat());
    assert!(error.contains("a string of 2 bytes at offset 3 exceeds the 4 bytes of all strings"), "{error}");
    assert!(of(texts, &[lengths(u64::MAX, 2), b"abcd".to_vec()].concat()).contains("a string of 18446744073709551615"));
    let error = of(texts, &[lengths(1, 3), b"a\xff\xffb".to_vec()].concat());
    let at = b"ds-1.0\n".len() + texts.len() + 1 + 17;
    assert!(error.ends_with(&format!("element 1 is not valid UTF-8 at byte 0 (byte {at}, column \"x\")")), "{error}");
    // A character split by the end of a string.
    let error = of(texts, &[lengths(1, 3), "\u{fc}ab".as_bytes().to_vec()].concat());
    assert!(error.contains("element 0 is not valid UTF-8"), "{error}");
    // A truncated body: one variable is unreadable, the others are not.
    let header = r#"{"x":{".size":[4],".dims":["i"],".type":"int16"},"y":{".size":[4],".dims":["i"],".type":"int8"}}"#;
    let container = table_of(header, &[1, 2, 3, 4, 5]);
    let table = container.tables().into_iter().find(|table| table.name() == "i").unwrap();
    let found = batches(table, &BatchScan::default()).unwrap();
    assert_eq!(rows(&found).len(), 4);
    assert!(!table.arrow().unwrap().batches(&BatchScan::default()).unwrap().losses().is_empty());
}

#[test]
fn error_ends_the_scan() {
    let texts = r#"{"x":{".size":[4],".dims":["i"],".type":"unicode",".endian":"b",".len":36}}"#;
    let lengths: Vec<u8> = [1u64, 1, 1, 1].iter().flat_map(|len| len.to_be_bytes()).collect();
    let container = table_of(texts, &[lengths, b"ab\xffd".to_vec()].concat());
    let mut reader = container.tables()[0].arrow().unwrap().batches(&BatchScan::default().with_batch_rows(1)).unwrap();
    assert!(reader.try_next().unwrap().is_some() && reader.try_next().unwrap().is_some());
    let error = reader.try_next().unwrap_err();
    assert!(error.to_string().contains("element 2 is not valid UTF-8"), "{error}");
    assert!(reader.try_next().unwrap().is_none());
}

#[test]
fn bounds_declared_sizes() {
    let header = r#"{"x":{".size":[1152921504606846976,0],".dims":["i","j"],".type":"int8"}}"#;
    let container = table_of(header, b"");
    let table = container.tables()[0];
    let error = batches(table, &BatchScan::default()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
    let found = batches(table, &Scan::default().with_rows(5..1000).into()).unwrap();
    assert_eq!((found.len(), found[0].num_rows()), (1, 995));
    assert_eq!(found[0].column(0).data_type().to_string(), "FixedSizeList(0 x non-null Int8)");
    // More elements per row than an Arrow list can have.
    let header =
        r#"{"x":{".size":[1,17179869184],".dims":["i","j"],".type":"bool",".missing":true,".len":2147483648}}"#;
    let container = table_of(header, b"");
    assert!(container.tables().iter().all(|table| batches(*table, &BatchScan::default()).is_ok()), "it is unreadable");
    let header = r#"{"x":{".size":[0,4294967296],".dims":["i","j"],".type":"int8"}}"#;
    let container = table_of(header, b"");
    let error = batches(container.tables()[0], &BatchScan::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert_eq!(error.position().column.as_deref(), Some("x"));
    // All variables share the same bytes.
    let member = |n: usize| format!("\"{n}\":{{\".size\":[4096],\".dims\":[\"t\"]}}");
    let header = format!("{{{}}}", (0..1000).map(member).collect::<Vec<_>>().join(","));
    let container = table_of(&header, &[0; 32 << 10]);
    let error = batches(container.tables()[0], &BatchScan::default()).unwrap_err().to_string();
    assert!(error.contains("total declared bytes of the variables"), "{error}");
}

#[test]
fn types_match_documentation() {
    let container = sample();
    let schema = container.tables()[0].arrow().unwrap().schema(&BatchScan::default()).unwrap();
    let expected = |name: &str| schema.field_with_name(name).unwrap().data_type().clone();
    assert_eq!(expected("text"), ArrowType::Utf8);
    assert_eq!(expected("bool-masked").to_string(), "FixedSizeList(3 x Boolean)");
    assert_eq!(expected("number-masked").to_string(), "FixedSizeList(2 x UInt64)");
    assert!(schema.field_with_name("text-masked").unwrap().is_nullable());
}

/// A large source of zeros that is not stored anywhere.
struct Zeros(Vec<u8>, u64);

impl container_core::ReadAt for Zeros {
    fn len(&self) -> u64 {
        self.0.len() as u64 + self.1
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        for (byte, at) in buffer.iter_mut().zip(offset..) {
            *byte = usize::try_from(at).ok().and_then(|at| self.0.get(at)).copied().unwrap_or(0);
        }
        Ok(())
    }
}

#[test]
fn strings_beyond_2_gib_have_large_offsets() {
    for (len, expected) in [(i32::MAX as u64, ArrowType::Binary), (i32::MAX as u64 + 1, ArrowType::LargeBinary)] {
        let header =
            format!("ds-1.0\n{{\"x\":{{\".size\":[2],\".dims\":[\"i\"],\".type\":\"str\",\".len\":{len}}}}}\n");
        let container = open(Source::new(Zeros(header.into_bytes(), len)));
        let schema = container.tables()[0].arrow().unwrap().schema(&BatchScan::default()).unwrap();
        assert_eq!(*schema.field(0).data_type(), expected);
    }
    // Strings shorter than declared, detected from their lengths.
    let header = r#"ds-1.0
{"x":{".size":[2],".dims":["i"],".type":"unicode",".endian":"b",".missing":true,".len":2147483657}}
"#;
    let mut file = header.as_bytes().to_vec();
    file.push(0x40);
    file.extend((i32::MAX as u64).to_be_bytes());
    let container = open(Source::new(Zeros(file, i32::MAX as u64 + 1)));
    let scan = BatchScan::from(Scan::default().with_rows(1..2));
    let found = batches(container.tables()[0], &scan);
    assert!(found.unwrap_err().to_string().contains("for its 1 strings and their lengths"));
}

#[test]
fn tolerates_damage() {
    let mut builder = Builder::new();
    let mask = || Mask::from_bools((0..20).map(|n| n % 3 == 0));
    let numbers = Array::new([10, 2], (0..20i16).collect::<Vec<_>>()).unwrap().with_mask(mask()).unwrap();
    builder
        .field("n", Field::new(numbers).with_dimensions(["i", "j"]).with_attribute("units", "days since 1970-01-01"));
    let bools = Array::new([10, 2], vec![true; 20]).unwrap().with_mask(mask()).unwrap();
    builder.field("b", Field::new(bools).with_dimensions(["i", "j"]));
    builder.field(
        "t",
        field(
            &[10],
            ["", "\u{fc}b", "c", "d", "e", "f", "g", "h", "i", "j"].into_iter().collect::<Values<'_>>(),
            &["i"],
        ),
    );
    builder.field("e", Field::empty());
    let full = bytes(&builder);
    let everything = |source: Source| -> container_core::Result<String> {
        let reader = Reader::from_source(source, OpenOptions::default())?;
        let container = DsContainer::new(reader).with_times(dsfmt::container::TimeForm::Iso);
        let mut all = String::new();
        for table in container.tables() {
            let mut scan = BatchScan::from(Scan::default().with_rows(0..20)).with_batch_rows(3);
            for column in (0..table.columns().len()).map(Some).chain([None]) {
                scan.scan.columns = column.map(|column| vec![column]);
                all.push_str(&match batches(table, &scan) {
                    Ok(found) => format!("{:?}", rows_or_times(&found)),
                    Err(error) => error.to_string(),
                });
            }
        }
        Ok(all)
    };
    container_core::testkit::every_source_agrees(&full, everything);
    let flips = container_core::testkit::every_bit_flip_is_handled(&full, |bytes| {
        everything(Source::from(bytes.to_vec())).map(drop)
    });
    assert!(flips > 0);
    for end in 0..full.len() {
        let _ = everything(Source::from(full[..end].to_vec()));
    }
}

fn rows_or_times(batches: &[RecordBatch]) -> Vec<String> {
    // Types as texts have their metadata in the order of keys, the schema's debug output has not.
    let types = |batch: &RecordBatch| ArrowType::Struct(batch.schema().fields().clone());
    batches.iter().map(|batch| format!("{} {:?}", types(batch), batch.columns())).collect()
}
