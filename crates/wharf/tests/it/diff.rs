//! Differences between inputs of any formats.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, Float32Builder, ListBuilder};
use arrow_array::types::Int16Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, DurationSecondArray, Float32Array,
    Float64Array, Int8Array, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch, StringArray, StringViewArray,
    StructArray, TimestampMicrosecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt32Array, UInt64Array,
};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema};
use container_core::testkit::cases;
use proptest::prelude::*;
use wharf::diff::{ColumnDifferenceKind, Differences};
use wharf::{Convert, Diff, ErrorKind, Overwrite, Registry};

fn write(path: &Path, columns: &[(&str, ArrayRef)]) {
    let fields = columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true));
    write_fields(path, fields.collect(), columns.iter().map(|(_, array)| Arc::clone(array)).collect());
}

fn write_fields(path: &Path, fields: Vec<Field>, arrays: Vec<ArrayRef>) {
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).unwrap();
    let mut writer = FileWriter::try_new(File::create(path).unwrap(), &schema).unwrap();
    // Batches of other sizes in each file.
    let size = if path.ends_with("b.arrow") { 7 } else { 10 };
    let len = batch.num_rows();
    (0..len).step_by(size).for_each(|at| writer.write(&batch.slice(at, size.min(len - at))).unwrap());
    writer.finish().unwrap();
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn diff(&self, one: &[(&str, ArrayRef)], other: &[(&str, ArrayRef)]) -> Diff {
        let [a, b] = ["a.arrow", "b.arrow"].map(|name| self.0.path().join(name));
        write(&a, one);
        write(&b, other);
        Diff::new(a, b)
    }

    fn compare(&self, one: ArrayRef, other: ArrayRef) -> Differences {
        self.diff(&[("x", one)], &[("x", other)]).compare(&Registry::builtin()).unwrap()
    }
}

/// Two arrays of the same values.
fn equal_pairs() -> Vec<(ArrayRef, ArrayRef)> {
    let text = ["a", "", "ä"];
    let texts = [
        Arc::new(StringArray::from(text.to_vec())) as ArrayRef,
        Arc::new(LargeStringArray::from(text.to_vec())),
        Arc::new(StringViewArray::from(text.to_vec())),
        Arc::new(DictionaryArray::<Int16Type>::from_iter(text)),
    ];
    let mut pairs: Vec<(ArrayRef, ArrayRef)> = Vec::new();
    for one in &texts {
        pairs.extend(texts.iter().map(|other| (Arc::clone(one), Arc::clone(other))));
    }
    let mut fixed = FixedSizeListBuilder::new(Float32Builder::new(), 2);
    let mut list = ListBuilder::new(Float32Builder::new());
    for pair in [[1.0, f32::NAN], [0.5, -2.0]] {
        pair.iter().for_each(|number| fixed.values().append_value(*number));
        fixed.append(true);
        list.append_value(pair.map(Some));
    }
    let member = |array: ArrayRef| Arc::new(Field::new("m", array.data_type().clone(), true));
    let (narrow, wide): (ArrayRef, ArrayRef) =
        (Arc::new(Int8Array::from(vec![Some(1), None])), Arc::new(Int64Array::from(vec![Some(1), None])));
    let structs = [&narrow, &wide].map(|array| StructArray::from(vec![(member(Arc::clone(array)), Arc::clone(array))]));
    let [one, other] = structs;
    let decimal = |number: i128, scale| {
        Arc::new(Decimal128Array::from(vec![number]).with_precision_and_scale(38, scale).unwrap()) as ArrayRef
    };
    let utc = TimestampMicrosecondArray::from(vec![0, 1_000_000]).with_timezone("UTC");
    let zoned = TimestampSecondArray::from(vec![0, 1]).with_timezone("+02:00");
    pairs.extend([
        (narrow, wide),
        (
            Arc::new(UInt64Array::from(vec![7, u64::from(u32::MAX)])) as _,
            Arc::new(UInt32Array::from(vec![7, u32::MAX])) as _,
        ),
        (Arc::new(Int64Array::from(vec![1, -2])) as _, Arc::new(Float64Array::from(vec![1.0, -2.0])) as _),
        // The shortest digits of 32-bit floats, as CSV has them; and the same number.
        (
            Arc::new(Float32Array::from(vec![0.1, 0.1])) as _,
            Arc::new(Float64Array::from(vec![0.1, f64::from(0.1_f32)])) as _,
        ),
        (
            Arc::new(Float64Array::from(vec![f64::NAN, 0.0])) as _,
            Arc::new(Float64Array::from(vec![-f64::NAN, -0.0])) as _,
        ),
        (
            Arc::new(TimestampSecondArray::from(vec![-5])) as _,
            Arc::new(TimestampNanosecondArray::from(vec![-5_000_000_000])) as _,
        ),
        (Arc::new(utc) as _, Arc::new(zoned) as _),
        (Arc::new(Date32Array::from(vec![1])) as _, Arc::new(TimestampSecondArray::from(vec![86_400])) as _),
        (decimal(150, 2), decimal(15, 1)),
        (Arc::new(fixed.finish()) as _, Arc::new(list.finish()) as _),
        (Arc::new(one) as _, Arc::new(other) as _),
        (
            Arc::new(LargeBinaryArray::from_vec(vec![b"\x00", b""])) as _,
            Arc::new(arrow_array::BinaryArray::from_vec(vec![b"\x00", b""])) as _,
        ),
        (Arc::new(arrow_array::NullArray::new(1)) as _, Arc::new(Int64Array::from(vec![None])) as _),
    ]);
    pairs
}

#[test]
fn same_values_in_other_types_are_equal() {
    let folder = Folder::new();
    for (one, other) in equal_pairs() {
        let (types, differ) =
            ((one.data_type().clone(), other.data_type().clone()), one.data_type() != other.data_type());
        for [one, other] in [[&one, &other], [&other, &one]] {
            let differences = folder.compare(Arc::clone(one), Arc::clone(other));
            assert!(differences.is_same(), "{types:?}: {differences:?}");
            let mut exact = folder.diff(&[("x", Arc::clone(one))], &[("x", Arc::clone(other))]);
            exact.exact_types = true;
            assert_eq!(exact.compare(&Registry::builtin()).unwrap().is_same(), !differ, "{types:?}");
        }
    }
}

#[test]
fn values_of_other_meaning_differ() {
    let folder = Folder::new();
    let pairs: [(ArrayRef, ArrayRef); 8] = [
        (Arc::new(Int64Array::from(vec![i64::MAX])), Arc::new(Float64Array::from(vec![i64::MAX as f64]))),
        (Arc::new(UInt64Array::from(vec![1 << 53 | 1])), Arc::new(Int64Array::from(vec![1_i64 << 53]))),
        (Arc::new(Float32Array::from(vec![0.1])), Arc::new(Float64Array::from(vec![0.100_000_001]))),
        (Arc::new(Float64Array::from(vec![f64::NAN])), Arc::new(Float64Array::from(vec![None]))),
        (Arc::new(TimestampSecondArray::from(vec![1])), Arc::new(TimestampNanosecondArray::from(vec![1_000_000_001]))),
        (Arc::new(StringArray::from(vec![""])), Arc::new(StringArray::from(vec![None::<&str>]))),
        (Arc::new(Float64Array::from(vec![f64::INFINITY])), Arc::new(Float64Array::from(vec![f64::MAX]))),
        (Arc::new(BooleanArray::from(vec![true])), Arc::new(BooleanArray::from(vec![false]))),
    ];
    for (one, other) in pairs {
        let differences = folder.compare(Arc::clone(&one), Arc::clone(&other));
        assert_eq!((differences.is_same(), differences.differing_rows), (false, 1), "{one:?} {other:?}");
        assert_eq!(differences.counts, [("x".to_owned(), 1)]);
    }
    // Types that cannot be compared.
    let differences = folder.compare(Arc::new(StringArray::from(vec!["1"])), Arc::new(Int64Array::from(vec![1])));
    assert!(!differences.is_same() && differences.differing_rows == 0);
    assert_eq!(differences.columns[0].kind, ColumnDifferenceKind::Type);
    let utc = TimestampSecondArray::from(vec![1]).with_timezone("UTC");
    assert!(!folder.compare(Arc::new(utc), Arc::new(TimestampSecondArray::from(vec![1]))).is_same());
    let duration = folder.compare(Arc::new(DurationSecondArray::from(vec![1])), Arc::new(Int64Array::from(vec![1])));
    assert!(!duration.is_same());
}

#[test]
fn tolerances_apply_to_floats() {
    let folder = Folder::new();
    let one: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 100.0, f64::INFINITY, 0.0]));
    let other: ArrayRef = Arc::new(Float64Array::from(vec![1.01, 101.0, 1.0, -0.0]));
    let rows = |absolute, relative, signed_zero| {
        let mut diff = folder.diff(&[("x", Arc::clone(&one))], &[("x", Arc::clone(&other))]);
        (diff.tolerance.absolute, diff.tolerance.relative, diff.tolerance.signed_zero) =
            (absolute, relative, signed_zero);
        let first = diff.compare(&Registry::builtin()).unwrap().first;
        first.iter().map(|difference| difference.rows[0].unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(rows(0.0, 0.0, false), [0, 1, 2]);
    assert_eq!(rows(0.0, 0.0, true), [0, 1, 2, 3]);
    assert_eq!(rows(0.1, 0.0, false), [1, 2]);
    assert_eq!(rows(0.0, 0.01, false), [2]);
}

/// Columns of 25 rows.
fn table() -> Vec<(&'static str, ArrayRef)> {
    let lists = ListBuilder::new(Float32Builder::new());
    let lists = (0..25_u16).fold(lists, |mut lists, row| {
        lists.append_value((0..row % 4).map(|at| Some(f32::from(row * at))));
        lists
    });
    let mut lists = lists;
    vec![
        ("id", Arc::new(Int64Array::from_iter_values(100..125)) as ArrayRef),
        ("n", Arc::new(Int64Array::from_iter((0..25).map(|row| (row % 3 > 0).then_some(row * row))))),
        ("f", Arc::new(Float64Array::from_iter_values((0..25).map(|row| f64::from(row) / 7.0)))),
        ("w", Arc::new(StringArray::from_iter_values((0..25).map(|row| format!("w{row}"))))),
        ("k", Arc::new(DictionaryArray::<Int16Type>::from_iter((0..25).map(|row| Some(["x", "y", "z"][row % 3]))))),
        ("l", Arc::new(lists.finish())),
    ]
}

/// The column with the value of another row, which differs.
fn mutated(array: &ArrayRef, row: usize) -> ArrayRef {
    let other =
        (0..array.len()).find(|other| array.slice(*other, 1).to_data() != array.slice(row, 1).to_data()).unwrap();
    let at: UInt32Array = (0..array.len()).map(|at| if at == row { other as u32 } else { at as u32 }).collect();
    arrow_select::take::take(array, &at, None).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(40, 1000)))]

    #[test]
    fn each_mutation_is_found_and_nothing_else(row in 0..25_usize, column in 1..6_usize, keyed: bool) {
        let folder = Folder::new();
        let one = table();
        let mut other = table();
        other[column].1 = mutated(&other[column].1, row);
        if keyed {
            // Rows in another order, without one that is not mutated.
            let left_out = (row + 1) % 25;
            let at: UInt32Array = (0..25_u32).rev().filter(|at| *at as usize != left_out).collect();
            other.iter_mut().for_each(|(_, array)| *array = arrow_select::take::take(array, &at, None).unwrap());
        }
        let mut diff = folder.diff(&one, &other);
        diff.key = keyed.then(|| "id".to_owned());
        let differences = diff.compare(&Registry::builtin()).unwrap();
        prop_assert_eq!(&differences.counts, &[(one[column].0.to_owned(), 1)]);
        prop_assert_eq!(differences.differing_rows, 1);
        prop_assert_eq!(differences.only, [u64::from(keyed), 0]);
        let [found] = &differences.first.iter().filter(|found| found.column.is_some()).collect::<Vec<_>>()[..] else {
            panic!("{differences:?}")
        };
        prop_assert_eq!(found.rows[0], Some(row as u64));
        prop_assert_eq!(found.column.as_deref(), Some(one[column].0));
        if keyed {
            prop_assert_eq!(found.key.as_ref().unwrap().get(), (100 + row).to_string());
        }
        let same = if keyed { folder.diff(&one, &table()).with_key("id") } else { folder.diff(&one, &table()) };
        prop_assert!(same.compare(&Registry::builtin()).unwrap().is_same());
    }
}

#[test]
fn rows_and_columns_of_one_input_differ() {
    let folder = Folder::new();
    let long: ArrayRef = Arc::new(Int64Array::from_iter_values(0..25));
    let short = folder.compare(Arc::clone(&long), long.slice(0, 20));
    assert_eq!((short.rows, short.only, short.is_same()), ([25, 20], [5, 0], false));
    let columns = folder.diff(
        &[("x", Arc::clone(&long)), ("y", Arc::clone(&long))],
        &[("z", Arc::clone(&long)), ("x", Arc::clone(&long))],
    );
    let columns = columns.compare(&Registry::builtin()).unwrap();
    let found: Vec<_> = columns.columns.iter().map(|found| (&*found.column, found.kind, found.one.is_some())).collect();
    let missing = ColumnDifferenceKind::Missing;
    assert_eq!(found, [("y", missing, true), ("z", missing, false)]);
    let order =
        folder.diff(&[("x", Arc::clone(&long)), ("y", Arc::clone(&long))], &[("y", Arc::clone(&long)), ("x", long)]);
    let order = order.compare(&Registry::builtin()).unwrap();
    assert!(order.is_same() && order.columns[0].kind == ColumnDifferenceKind::Order, "{order:?}");
}

#[test]
fn rows_have_their_numbers_in_the_input() {
    let folder = Folder::new();
    let [one, other] = [0, 1]
        .map(|shift| Arc::new(Int64Array::from_iter_values((0..25).map(|row| row + shift * (row / 17)))) as ArrayRef);
    for key in [None, Some("k")] {
        let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(0..25));
        let mut diff = folder
            .diff(&[("k", Arc::clone(&keys)), ("x", Arc::clone(&one))], &[("k", keys), ("x", Arc::clone(&other))]);
        (diff.one, diff.other) = (diff.one.with_rows(12..20), diff.other.with_rows(12..20));
        diff.key = key.map(str::to_owned);
        let found = diff.compare(&Registry::builtin()).unwrap();
        assert_eq!((found.rows, found.differing_rows, found.first[0].rows), ([8, 8], 3, [Some(17), Some(17)]));
    }
}

#[test]
fn units_and_slot_names_are_compared() {
    let folder = Folder::new();
    let [a, b] = ["a.arrow", "b.arrow"].map(|name| folder.0.path().join(name));
    let field = |units: &str| {
        let metadata = format!("{{\"attributes\":{{\"units\":\"{units}\"}}}}");
        Field::new("x", DataType::Int64, true).with_metadata([("ds".to_owned(), metadata)].into())
    };
    let array: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    write_fields(&a, vec![field("m")], vec![Arc::clone(&array)]);
    for (units, is_same) in [("m", true), ("km", false)] {
        write_fields(&b, vec![field(units)], vec![Arc::clone(&array)]);
        let differences = Diff::new(&a, &b).compare(&Registry::builtin()).unwrap();
        assert_eq!(differences.is_same(), is_same, "{differences:?}");
    }
    // Without metadata nothing says that units differ.
    write(&b, &[("x", array)]);
    let differences = Diff::new(&a, &b).compare(&Registry::builtin()).unwrap();
    assert!(differences.is_same() && differences.columns[0].is_note, "{differences:?}");
}

#[test]
fn keys_are_unique_and_fit_into_memory() {
    let folder = Folder::new();
    let (unique, twice): (ArrayRef, ArrayRef) =
        (Arc::new(Int64Array::from(vec![1, 2, 3])), Arc::new(Int64Array::from(vec![1, 2, 1])));
    let missing: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(2)]));
    for (one, other, which) in [(&unique, &twice, "other"), (&twice, &unique, "first")] {
        let diff = folder.diff(&[("x", Arc::clone(one))], &[("x", Arc::clone(other))]).with_key("x");
        let error = diff.compare(&Registry::builtin()).unwrap_err().to_string();
        assert!(error.contains(&format!("the key 1 occurs twice in the {which} input")), "{error}");
    }
    let error = |diff: Diff| diff.compare(&Registry::builtin()).unwrap_err();
    let null = error(folder.diff(&[("x", Arc::clone(&unique))], &[("x", missing)]).with_key("x"));
    assert!(null.to_string().contains("the key is null in the other input"), "{null}");
    let mut small = folder.diff(&[("x", Arc::clone(&unique))], &[("x", Arc::clone(&unique))]).with_key("x");
    small.max_bytes = 100;
    assert!(matches!(error(small).kind(), ErrorKind::Limit { .. }));
    let unknown = error(folder.diff(&[("x", Arc::clone(&unique))], &[("y", Arc::clone(&unique))]).with_key("x"));
    assert_eq!(unknown.kind(), ErrorKind::Usage);
    // Keys of other types with the same values.
    let floats: ArrayRef = Arc::new(Float32Array::from(vec![3.0, 2.0, 1.0]));
    assert!(
        folder.diff(&[("x", unique)], &[("x", floats)]).with_key("x").compare(&Registry::builtin()).unwrap().is_same()
    );
    // 64-bit keys with the digits of 32-bit ones, and those with their values.
    let narrow: ArrayRef = Arc::new(Float32Array::from(vec![0.1, 2.5, f32::NAN, 0.3]));
    let wide: ArrayRef = Arc::new(Float64Array::from(vec![2.5, f64::from(0.3_f32), 0.1, f64::NAN]));
    for (one, other) in [(&narrow, &wide), (&wide, &narrow)] {
        let diff = folder.diff(&[("x", Arc::clone(one))], &[("x", Arc::clone(other))]).with_key("x");
        let differences = diff.compare(&Registry::builtin()).unwrap();
        assert!(differences.is_same(), "{differences:?}");
    }
}

/// A conversion has the same values.
#[test]
fn conversions_have_no_differences() {
    let folder = Folder::new();
    let source = folder.0.path().join("a.arrow");
    let mut columns = table();
    columns.pop();
    columns.push(("key", Arc::new(StringArray::from_iter_values((0..25).map(|row| format!("row {row}"))))));
    write(&source, &columns);
    let registry = Registry::builtin();
    for extension in ["csv", "jsonl", "parquet", "idv", "msgpack", "zds"] {
        let path = folder.0.path().join("x").with_extension(extension);
        // IDV has no nullable integers.
        let names =
            if extension == "idv" { &["key", "id", "f", "w", "k"][..] } else { &["key", "id", "f", "w", "k", "n"] };
        let names = || names.iter().copied();
        Convert::new([&source]).with_columns(names()).write(&path, Overwrite::Refuse, &registry).unwrap();
        let mut diff = Diff::new(&source, &path);
        (diff.one, diff.other) = (diff.one.with_columns(names()), diff.other.with_columns(names()));
        let differences = diff.compare(&registry).unwrap();
        assert!(differences.is_same() && differences.rows == [25, 25], "{extension}: {differences:?}");
    }
}
