//! Conversions of generated files: types, refusals and losses, selected rows and columns.

use std::fs;

use container_core::{OutputOptions, Scan};
use dsfmt::{Array, Builder, DataType, Field, Mask};
use idv::{Cell, ColumnSchema, ColumnSlice, ItemType, KeyType, KeyWidth, Schema, Type, Values, Vectors};
use tempfile::TempDir;

use super::{idv_columns, path};
use crate::common::{self, run};

/// A ds file with these variables.
fn ds(folder: &TempDir, name: &str, fields: Vec<(&str, Field<'_>)>) -> String {
    let file = path(folder, name);
    let mut builder = Builder::new();
    for (name, field) in fields {
        builder.field(name, field);
    }
    let _ = fs::remove_file(&file);
    builder.write(&file, OutputOptions::default()).unwrap();
    file
}

fn along<'a>(values: impl Into<dsfmt::Values<'a>>) -> Field<'a> {
    let values = values.into();
    Field::new(Array::new([values.len() as u64], values).unwrap()).with_dimensions(["t"])
}

fn masked<'a>(values: impl Into<dsfmt::Values<'a>>, missing: &[bool]) -> Field<'a> {
    let values = values.into();
    let mask = Mask::from_bools(missing.iter().copied());
    Field::new(Array::new([values.len() as u64], values).unwrap().with_mask(mask).unwrap()).with_dimensions(["t"])
}

/// An IDV file with one column.
fn idv(folder: &TempDir, name: &str, column: ColumnSchema, values: &Values) -> String {
    let file = path(folder, name);
    let options = OutputOptions::default().with_overwrite(container_core::Overwrite::Replace);
    let mut writer = idv::Writer::create(&file, options, Schema::new([column]), idv::WriterOptions::default()).unwrap();
    writer.append_columns(&[ColumnSlice::from(values)]).unwrap();
    writer.finish().unwrap();
    file
}

#[test]
fn maps_types() {
    let folder = tempfile::tempdir().unwrap();
    let strings: dsfmt::Values<'_> = [&b"ab"[..], b"\xc3\xbc"].into_iter().collect();
    let file = ds(
        &folder,
        "x.ds",
        vec![
            ("a", along(vec![1i8, -2])),
            ("b", along(vec![true, false])),
            ("c", along(strings)),
            ("d", masked(["x", ""].into_iter().collect::<dsfmt::Values<'_>>(), &[false, true])),
            ("e", masked(vec![1.5f32, 0.0], &[false, true])),
            ("f", masked(vec![true, true], &[true, false])),
            (
                "g",
                Field::new(Array::new([2, 2, 3], (0..12u16).collect::<Vec<_>>()).unwrap())
                    .with_dimensions(["t", "y", "x"]),
            ),
            ("h", masked(vec![7u64, 8], &[false, false])),
            ("i", masked(vec![9i32, 8], &[false, true])),
            ("j", Field::new(Array::new([2, 0], Vec::<f64>::new()).unwrap()).with_dimensions(["t", "none"])),
        ],
    );
    let out = path(&folder, "x.idv");
    let ran = run(["convert", &file, &out]);
    let expected =
        format!("warning: {file}: null integer written as NaN, and its column as Double (row 1, column \"i\")\n");
    assert_eq!((ran.code(), ran.err()), (3, expected.as_str()));
    let reader = idv::Reader::open(&out).unwrap();
    let kinds: Vec<_> = reader.columns().iter().map(|column| column.kind().unwrap().to_string()).collect();
    let expected = [
        "SByte",
        "Boolean",
        "Text",
        "Text",
        "Single",
        "Boolean",
        "Vector<UInt16, 2, 3>",
        "UInt64",
        "Double",
        "Vector<Double>",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(reader.columns()[5].kind().unwrap(), &Type::Item(ItemType::DvBool));
    let cat = run(["cat", &out, "--json"]);
    let rows = "{\"a\":1,\"b\":true,\"c\":\"ab\",\"d\":\"x\",\"e\":1.5,\"f\":null,\"g\":[0,1,2,3,4,5],\"h\":7,\"i\":9.0,\"j\":[]}
{\"a\":-2,\"b\":false,\"c\":\"\u{fc}\",\"d\":null,\"e\":\"NaN\",\"f\":true,\"g\":[6,7,8,9,10,11],\"h\":8,\"i\":\"NaN\",\"j\":[]}
";
    assert_eq!(cat.ok(), rows);
    // And back, byte for byte.
    let back = path(&folder, "back.ds");
    assert_eq!(run(["convert", &out, &back]).ok(), "");
    assert_eq!(fs::read(&back).unwrap(), fs::read(&file).unwrap());
    let piped = run(["convert", &out, "-", "--to", "ds"]);
    assert_eq!(piped.0.stdout, fs::read(&file).unwrap());
    let piped = run(["convert", &file, "-", "--to", "idv"]);
    assert_eq!(piped.0.stdout, fs::read(&out).unwrap());
}

#[test]
fn refuses_or_reports_what_idv_cannot_store() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(&folder, "x.idv");
    let check = |fields: Vec<(&str, Field<'_>)>, more: &[&str], code: i32, expected: &str| {
        let file = ds(&folder, "x.ds", fields);
        let mut command = vec!["convert", &file, &out, "--force"];
        command.extend(more);
        let ran = run(command);
        assert_eq!(ran.code(), code, "{expected}: {}", ran.err());
        assert!(ran.err().contains(expected), "{expected}: {}", ran.err());
    };
    let bytes: dsfmt::Values<'_> = [&b"a"[..], b"b\xff"].into_iter().collect();
    check(
        vec![("s", along(bytes.clone()))],
        &[],
        1,
        "invalid UTF-8 at byte 1 of a byte string, and IDV has only text: JSON lines keep",
    );
    check(vec![("s", along(bytes.clone()))], &[], 1, "(row 1, column \"s\")");
    check(vec![("s", along(bytes)), ("x", along(vec![1u8, 2]))], &["--columns", "x"], 0, "");
    let nan = || masked(vec![f32::NAN, 1.0, 2.0], &[false, false, true]);
    check(vec![("f", nan())], &[], 1, "NaN in row 0 and a missing element in row 2");
    check(vec![("f", nan())], &["--rows", "..2"], 0, "");
    check(vec![("f", nan())], &["--rows", "1.."], 0, "");
    let large = || masked(vec![1i64, (1 << 53) + 1, 3], &[true, false, false]);
    check(vec![("i", large())], &[], 1, "the integer 9007199254740993 has no exact Double");
    check(vec![("i", large())], &[], 1, "(row 1, column \"i\")");
    check(vec![("i", large())], &["--rows", "1.."], 0, "");
    let empty = || Field::empty().with_type(Some(DataType::Float64));
    let one = || Field::new(Array::new([], vec![1.0f64]).unwrap());
    check(
        vec![("e", empty()), ("x", one())],
        &[],
        3,
        "empty variable left out: an IDV column needs values (column \"e\")",
    );
    check(vec![("e", empty())], &["--columns", "e"], 2, "variable is empty: an IDV column needs values");
    check(
        vec![("x", one().with_attribute("a", 1).with_attribute("n", dsfmt::JsonBuf::null()))],
        &[],
        3,
        "attribute left out, IDV metadata cannot hold it: \"n\" (column \"x\")",
    );
    let lists = dsfmt::JsonBuf::parse("[[1, 2], [[3], [4]]]").unwrap();
    check(vec![("x", one().with_attribute("deep", lists))], &[], 3, "IDV metadata cannot hold it: \"deep\"");
    let wide = || Field::new(Array::new([0, 1 << 31], Vec::<u8>::new()).unwrap()).with_dimensions(["t", "wide"]);
    check(vec![("w", wide())], &[], 1, "a row has 2147483648 elements, more than the limit 2147483647 of Arrow lists");
    let none = |rows: u64| {
        vec![("z", Field::new(Array::new([rows, 0], Vec::<u8>::new()).unwrap()).with_dimensions(["t", "none"]))]
    };
    check(none(1 << 50), &[], 1, "rows and lists without elements");
    check(none(1 << 50), &["--rows", "7..9"], 0, "");
    check(none(100_000), &[], 0, "");
    check(vec![("", one())], &[], 2, "empty name");
    let two = || vec![("x", along(vec![1u8])), ("y", one())];
    check(two(), &[], 2, "the input has several tables: \"t\", \"scalars\"; --table selects one");
    check(two(), &["--table", "t"], 0, "");
    check(two(), &["--table", "t", "--rows", "2"], 2, "no row 2: the input has 1 row");
    check(two(), &["--table", "t", "--schema", "x.json"], 2, "--schema does not go with inputs that are ds");
    check(two(), &["--table", "t", "--missing-as-null"], 2, "IDV has its own missing values");
    check(two(), &["--table", "t", "--dim", "q"], 2, "--dim is an option of ds, netcdf and zarr");
    let said = |text: &str, kind: &str| {
        vec![("x", along([text].into_iter().collect::<dsfmt::Values<'_>>()).with_attribute("idv_type", kind))]
    };
    check(said("2020-02-30", "DateTime"), &[], 1, "day 30 is not between 1 and 29");
    check(said("2020-02-30", "DateTime"), &[], 1, "(the metadata declare type DateTime) (row 0, column \"x\")");
    check(said("2020-02-30", "Single"), &[], 0, "");
    check(said("a", "Key<Byte, 3>"), &[], 1, "which has no labels (KeyValues)");
    let mut builder = Builder::new();
    builder.attribute("title", "x").attribute("more", 1).field("x", one());
    let file = path(&folder, "said.ds");
    builder.write(&file, OutputOptions::default()).unwrap();
    let ran = run(["convert", &file, &out, "--force"]);
    let expected =
        format!("warning: {file}: attribute of the dataset left out, IDV has no place for it: \"title\", \"more\"\n");
    assert_eq!((ran.code(), ran.err()), (3, expected.as_str()));
}

#[test]
fn refuses_or_reports_what_ds_cannot_store() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(&folder, "x.ds");
    let check = |file: &str, code: i32, expected: &str| {
        let ran = run(["convert", file, &out, "--force"]);
        assert_eq!(ran.code(), code, "{}", ran.err());
        assert!(ran.err().contains(expected), "{expected}: {}", ran.err());
    };
    // A small file with a large row.
    let mut vectors = Vectors::of(ItemType::Double);
    vectors.items_mut().push_cell(&Type::Item(ItemType::Double), None, Cell::Double(1.0)).unwrap();
    vectors.close_sparse(0x7FFF_FFFF, &[5]).unwrap();
    let kind = Type::Vector { item: ItemType::Double, dimensions: vec![0x7FFF_FFFF] };
    let column = ColumnSchema::new("v", kind);
    let file = idv(&folder, "wide.idv", column, &Values::Vector(Box::new(vectors)));
    check(&file, 1, "bytes of a row with its sparse vectors made dense");
    // A key without a label in a column with labels.
    let key = Type::Item(ItemType::Key(KeyType::new(KeyWidth::Byte, 3).unwrap()));
    let column = || ColumnSchema::new("k", key.clone()).with_key_values(["a", "b"]).unwrap();
    let file = idv(&folder, "k.idv", column(), &Values::Byte(vec![1, 3, 0]));
    check(&file, 1, "key value 2 has no label while others have: a variable has one type");
    check(&file, 1, "(row 1, column \"k\")");
    let file = idv(&folder, "k.idv", column(), &Values::Byte(vec![1, 2, 0]));
    check(&file, 0, "");
    assert_eq!(run(["cat", &out, "--json"]).ok(), "{\"k\":\"a\"}\n{\"k\":\"b\"}\n{\"k\":null}\n");
    // Duplicate labels.
    let shared = ColumnSchema::new("k", key.clone()).with_key_values(["a", "b", "a"]).unwrap();
    let file = idv(&folder, "k.idv", shared, &Values::Byte(vec![1, 2, 3]));
    check(&file, 3, "keys with a duplicate or missing label cannot be told apart by it (column \"k\")");
    // Names reserved by the header.
    let said = ColumnSchema::new("x", Type::Item(ItemType::Byte)).with_metadata(
        ".size",
        Type::Item(ItemType::Byte),
        Values::Byte(vec![1]),
    );
    let file = idv(&folder, "x.idv", said, &Values::Byte(vec![1]));
    check(&file, 3, "metadata \".size\" left out (the name is reserved) (column \"x\")");
}

#[test]
fn keys_and_times_keep_their_types() {
    let folder = tempfile::tempdir().unwrap();
    let day = 637_134_336_000_000_000; // 2020-01-01
    let column = || ColumnSchema::new("t", Type::Item(ItemType::DateTime));
    let whole = idv(&folder, "whole.idv", column(), &Values::DateTime(vec![day + 10, i64::MIN, 0]));
    let odd = idv(&folder, "odd.idv", column(), &Values::DateTime(vec![day + 11, i64::MIN]));
    let out = path(&folder, "x.ds");
    assert_eq!(run(["convert", &whole, &out]).ok(), "");
    let reader = dsfmt::Reader::open(&out).unwrap();
    let times = reader.variable("t").unwrap();
    let values = times.read().unwrap();
    assert_eq!(values.values().as_slice::<i64>().unwrap(), [63_713_433_600_000_001, 0, 0]);
    assert_eq!(values.mask().unwrap().iter().collect::<Vec<_>>(), [false, true, false]);
    let shown = "{\"t\":\"2020-01-01T00:00:00.000001\"}\n{\"t\":null}\n{\"t\":\"0001-01-01T00:00:00\"}\n";
    assert_eq!(run(["cat", &out, "--time", "iso", "--json"]).ok(), shown);
    // Times finer than a microsecond make the column text, in all inputs.
    assert_eq!(run(["convert", &whole, &odd, &out, "--force"]).ok(), "");
    let all = format!("{shown}{{\"t\":\"2020-01-01T00:00:00.0000011\"}}\n{{\"t\":null}}\n");
    assert_eq!(run(["cat", &out, "--json"]).ok(), all);
    let back = path(&folder, "back.idv");
    assert_eq!(run(["convert", &out, &back]).ok(), "");
    let found = idv::Reader::open(&back).unwrap();
    assert_eq!(found.columns()[0].kind().unwrap(), &Type::Item(ItemType::DateTime));
    assert_eq!(run(["cat", &back, "--json"]).ok(), all);
    // A key without labels is an integer of the same width.
    let key = Type::Item(ItemType::Key(KeyType::new(KeyWidth::UInt16, 300).unwrap()));
    let file = idv(&folder, "k.idv", ColumnSchema::new("k", key.clone()), &Values::UInt16(vec![300, 0, 1]));
    assert_eq!(run(["convert", &file, &out, "--force"]).ok(), "");
    let reader = dsfmt::Reader::open(&out).unwrap();
    assert_eq!(reader.variable("k").unwrap().data_type(), Some(DataType::Uint16));
    assert_eq!(run(["cat", &out, "--json"]).ok(), "{\"k\":299}\n{\"k\":null}\n{\"k\":0}\n");
    assert_eq!(run(["convert", &out, &back, "--force"]).ok(), "");
    assert_eq!(idv_columns(&back), idv_columns(&file));
}

#[test]
fn rows_columns_and_several_files() {
    let folder = tempfile::tempdir().unwrap();
    let square =
        |n: u64| Field::new(Array::new([n, n], (0..n * n).collect::<Vec<_>>()).unwrap()).with_dimensions(["t", "t"]);
    let numbers = |n: u64| along((0..n).map(|x| x as f32).collect::<Vec<_>>()).with_attribute("units", "m");
    let one = ds(&folder, "1.ds", vec![("a", numbers(5)), ("b", along((0..5u8).collect::<Vec<_>>()))]);
    let two = ds(&folder, "2.ds", vec![("a", numbers(20_000)), ("b", along(vec![7u8; 20_000]))]);
    let out = path(&folder, "x.idv");
    let same = |ran: &common::Ran, file: &str, first: usize, count: usize| {
        assert_eq!((ran.code(), ran.err()), (0, ""));
        let all: Vec<f32> = (0..5u16).chain(0..20_000).map(f32::from).skip(first).take(count).collect();
        let reader = idv::Reader::open(file).unwrap();
        assert_eq!(reader.row_count(), all.len() as u64);
        let index = reader.column("a").unwrap().index();
        let (mut batches, mut found) = (reader.batches(&Scan::default().with_columns([index])).unwrap(), Vec::new());
        while let Some(batch) = batches.try_next().unwrap() {
            let slice = batch.column(0).unwrap();
            found.extend_from_slice(&slice.values.as_slice::<f32>().unwrap()[slice.range]);
        }
        assert_eq!(found, all);
    };
    same(&run(["convert", &one, &two, &out]), &out, 0, 20_005);
    same(&run(["convert", &one, &two, &out, "--force", "--rows", "3..9000"]), &out, 3, 8997);
    same(
        &run(["convert", &one, &two, &out, "--force", "--rows", "7..", "-n", "12000", "--columns", "a"]),
        &out,
        7,
        12_000,
    );
    // Both inputs, and back in one file.
    let (first, second, back) = (path(&folder, "1.idv"), path(&folder, "2.idv"), path(&folder, "back.ds"));
    assert_eq!(run(["convert", &one, &first]).ok(), "");
    assert_eq!(run(["convert", &two, &second, "--rows-per-block", "777"]).ok(), "");
    assert_eq!(run(["convert", &first, &second, &back, "--rows", "4..11000", "--columns", "b,a"]).ok(), "");
    let reader = dsfmt::Reader::open(&back).unwrap();
    let a = reader.variable("a").unwrap();
    let all: Vec<f32> = (0..5u16).chain(0..20_000).map(f32::from).skip(4).take(10_996).collect();
    assert_eq!(a.values::<f32>().unwrap().as_ref(), all);
    assert_eq!((a.dimensions(), a.attributes().get("units").unwrap().as_text()), (&["t".to_owned()][..], "\"m\""));
    assert_eq!(run(["convert", &first, &back, "--dim", "q", "--force"]).ok(), "");
    assert_eq!(dsfmt::Reader::open(&back).unwrap().variable("b").unwrap().dimensions(), ["q"]);
    // Options that conflict.
    let other = ds(&folder, "3.ds", vec![("a", numbers(5)), ("b", along(vec![1i8; 5]))]);
    let ran = run(["convert", &one, &other, &out, "--force"]);
    assert_eq!(ran.code(), 1);
    assert!(ran.err().contains("Int8 here, UInt8 there (column \"b\")"), "{}", ran.err());
    let ran = run(["convert", &one, &one, &out, "--columns", "a,c", "--force"]);
    assert_eq!((ran.code(), ran.err().contains("no column \"c\"")), (2, true));
    assert_eq!(run(["convert", &other, &second, "--force"]).ok(), "");
    let ran = run(["convert", &first, &second, &back, "--force"]);
    assert_eq!(ran.code(), 1);
    assert!(ran.err().contains("Int8 here, UInt8 there (column \"b\")"), "{}", ran.err());
    let kilometers = numbers(2).with_attribute("units", "km");
    let other = ds(&folder, "3.ds", vec![("a", kilometers), ("b", along(vec![1u8; 2]))]);
    let ran = run(["convert", &one, &other, &out, "--force"]);
    assert_eq!((ran.code(), ran.err().contains("units")), (1, true), "{}", ran.err());
    let noted = numbers(2).with_attribute("units", "m").with_attribute("note", "of another file");
    let noted = ds(&folder, "4.ds", vec![("a", noted), ("b", along(vec![1u8; 2]))]);
    let ran = run(["convert", &one, &noted, &out, "--force"]);
    assert_eq!(ran.code(), 3);
    assert!(ran.err().contains("metadata \"note\" left out: not the same as in"), "{}", ran.err());
    // A dimension name with two sizes gets a second name.
    let file = ds(&folder, "5.ds", vec![("s", square(3))]);
    assert_eq!(run(["convert", &file, &out, "--force"]).ok(), "");
    assert_eq!(run(["convert", &out, &back, "--force"]).ok(), "");
    assert_eq!(fs::read(&back).unwrap(), fs::read(&file).unwrap());
    let ran = run(["convert", &out, &back, "--force", "--rows", "..2"]);
    assert_eq!(ran.code(), 3);
    assert!(
        ran.err().contains("dimension renamed: another dimension of this name has another size (column \"s\")"),
        "{}",
        ran.err()
    );
    assert_eq!(dsfmt::Reader::open(&back).unwrap().variable("s").unwrap().dimensions(), ["t", "s_2"]);
}

#[test]
fn refuses_inputs_with_different_meaning() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(&folder, "x.ds");
    let numbers = Values::Int64(vec![5]);
    let number = idv(&folder, "n.idv", ColumnSchema::new("t", Type::Item(ItemType::Int64)), &numbers);
    let times = Values::DateTime(vec![637_134_336_000_000_000]);
    let time = idv(&folder, "t.idv", ColumnSchema::new("t", Type::Item(ItemType::DateTime)), &times);
    for inputs in [[&number, &time], [&time, &number]] {
        let ran = run(["convert", inputs[0], inputs[1], &out, "--force"]);
        assert_eq!((ran.code(), ran.err().contains("column \"t\"")), (1, true), "{}", ran.err());
    }
    // Values with different units are not joined.
    let [meters, feet] = ["m", "ft"].map(|unit| {
        let variable = along(vec![1i64]).with_attribute("units", unit);
        let (file, table) = (ds(&folder, &format!("{unit}.ds"), vec![("t", variable)]), path(&folder, unit));
        assert_eq!(run(["convert", &file, &table, "--to", "idv"]).ok(), "");
        table
    });
    assert_eq!(run(["cat", &meters, &meters, "--json"]).lines().len(), 2);
    for to in ["jsonl", "csv", "parquet", "ds", "idv"] {
        let ran = run(["convert", &meters, &feet, &out, "--force", "--to", to]);
        assert_eq!((ran.code(), ran.err().contains("units")), (1, true), "{to}: {}", ran.err());
    }
    let ran = run(["cat", &meters, &feet, "--json"]);
    assert_eq!((ran.code(), ran.err().contains("units")), (1, true), "{}", ran.err());
    // Joined keys have the larger count.
    let key = |name: &str, count, stored| {
        let kind = Type::Item(ItemType::Key(KeyType::new(KeyWidth::UInt16, count).unwrap()));
        idv(&folder, name, ColumnSchema::new("k", kind), &Values::UInt16(vec![stored]))
    };
    let (few, many) = (key("few.idv", 5, 5), key("many.idv", 300, 300));
    assert_eq!(run(["convert", &few, &many, &out, "--force"]).ok(), "");
    let reader = dsfmt::Reader::open(&out).unwrap();
    let attributes = reader.variable("k").unwrap();
    assert_eq!(attributes.attributes().get("idv_type").unwrap().as_text(), "\"Key<UInt16, 300>\"");
    let back = path(&folder, "back.idv");
    assert_eq!(run(["convert", &out, &back]).ok(), "");
    assert_eq!(idv_columns(&back)["k"].0, "Key<UInt16, 300>");
    // Elements may be missing in one of the inputs.
    let pairs = |values: Vec<i32>, missing: &[bool]| {
        let array = Array::new([values.len() as u64 / 2, 2], values).unwrap();
        let array = array.with_mask(Mask::from_bools(missing.iter().copied())).unwrap();
        Field::new(array).with_dimensions(["t", "p"])
    };
    let whole = ds(&folder, "1.ds", vec![("p", pairs(vec![1, 2], &[false; 2])), ("q", along(vec![1u8]))]);
    let gaps = vec![("p", pairs(vec![3, 4], &[false, true])), ("q", masked(vec![2u8], &[true]))];
    let gaps = ds(&folder, "2.ds", gaps);
    let ran = run(["convert", &whole, &gaps, &back, "--force"]);
    let told = |column: &str| {
        format!("warning: {gaps}: null integer written as NaN, and its column as Double (row 0, column {column:?})\n")
    };
    assert_eq!((ran.code(), ran.err()), (3, format!("{}{}", told("p"), told("q")).as_str()));
    let rows = "{\"p\":[1.0,2.0],\"q\":1.0}\n{\"p\":[3.0,\"NaN\"],\"q\":\"NaN\"}\n";
    assert_eq!(run(["cat", &back, "--json"]).ok(), rows);
}

#[test]
fn ragged_pad_fills_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let mut vectors = Vectors::of(ItemType::Int32);
    for length in [2, 0, 1] {
        for item in 0..length {
            vectors.items_mut().push_cell(&Type::Item(ItemType::Int32), None, Cell::Int(item)).unwrap();
        }
        vectors.close_dense().unwrap();
    }
    let kind = Type::Vector { item: ItemType::Int32, dimensions: vec![0] };
    let file = idv(&folder, "v.idv", ColumnSchema::new("v", kind), &Values::Vector(Box::new(vectors)));
    let out = path(&folder, "v.ds");
    assert_eq!(run(["convert", &file, &out]).code(), 1);
    let ran = run(["convert", &file, &out, "--ragged", "pad"]);
    assert_eq!((ran.code(), ran.err().contains("list padded with missing elements")), (3, true), "{}", ran.err());
    let rows = "{\"v\":[0,1]}\n{\"v\":[null,null]}\n{\"v\":[0,null]}\n";
    assert_eq!(run(["cat", &out, "--json"]).ok(), rows);
}

#[test]
fn reports_unreadable_columns_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/ds/texts-masked-before.ds");
    for out in ["x.idv", "x.arrow"] {
        let ran = run(["convert", file, &path(&folder, out), "--table", "scalars"]);
        assert_eq!((ran.code(), ran.err().matches("column left out").count()), (3, 1), "{out}: {}", ran.err());
    }
}
