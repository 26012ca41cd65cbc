//! Compares selections with a naive model, and counts the bytes read.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use container_core::testkit::cases;
use container_core::{ErrorKind, ReadAt, Source};
use dsfmt::{Array, DataType, Endian, Reader, Select, Selection, Values};
use proptest::prelude::*;

use crate::common::{Data, File, missing};

/// A positional source that counts bytes and calls.
struct Counted {
    bytes: Vec<u8>,
    log: Arc<Log>,
}

#[derive(Default)]
struct Log {
    read: AtomicU64,
    calls: Mutex<Vec<(u64, usize)>>,
}

impl Log {
    /// Bytes and calls since the previous call.
    fn taken(&self) -> (u64, usize) {
        let calls = std::mem::take(&mut *self.calls.lock().unwrap());
        (self.read.swap(0, Ordering::Relaxed), calls.len())
    }
}

impl ReadAt for Counted {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.log.read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        self.log.calls.lock().unwrap().push((offset, buffer.len()));
        buffer.copy_from_slice(&self.bytes[offset as usize..][..buffer.len()]);
        Ok(())
    }
}

fn counted(file: &File) -> (Reader, Arc<Log>) {
    let log = Arc::new(Log::default());
    let source = Source::new(Counted { bytes: file.bytes(0), log: Arc::clone(&log) });
    let reader = Reader::from_source(source, Default::default()).unwrap();
    log.taken();
    (reader, log)
}

/// A variable of `count` elements whose values are their indices.
fn data(kind: DataType, count: usize) -> Data {
    let all = 0..count as u64;
    match kind {
        DataType::Bool => Data::Bools(all.map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1).collect()),
        DataType::Str | DataType::Unicode => {
            Data::Texts(all.map(|n| if n % 5 == 2 { Vec::new() } else { format!("\u{e9}{n}").into_bytes() }).collect())
        }
        DataType::Uint8 => Data::of(&all.map(|n| n as u8).collect::<Vec<_>>()),
        DataType::Int16 => Data::of(&all.map(|n| n as i16).collect::<Vec<_>>()),
        DataType::Float32 => Data::of(&all.map(|n| n as f32).collect::<Vec<_>>()),
        _ => Data::of(&all.collect::<Vec<u64>>()),
    }
}

/// The selected elements of a dimension.
fn picks(size: u64, select: Option<&Select>) -> Vec<u64> {
    let real = |n: i64| if n < 0 { (size as i64 + n) as u64 } else { n as u64 };
    match select {
        None => (0..size).collect(),
        Some(Select::Index(one)) => vec![real(*one)],
        Some(Select::List(list)) => list.iter().map(|n| real(*n)).collect(),
        Some(Select::Range { start, stop, step }) => {
            // Enumerated here; slices have their own test.
            let (step, size) = (step.unwrap_or(1), size as i64);
            let (low, high) = if step > 0 { (0, size) } else { (-1, size - 1) };
            let end = |n: i64| if n < 0 { (n + size).max(low) } else { n.min(high) };
            let mut at = start.map_or(if step > 0 { low } else { high }, end);
            let stop = stop.map_or(if step > 0 { high } else { low }, end);
            let mut all = Vec::new();
            while (step > 0 && at < stop) || (step < 0 && at > stop) {
                all.push(at as u64);
                at += step;
            }
            all
        }
        Some(other) => panic!("{other:?} is not generated"),
    }
}

/// The selected elements, by index in the whole.
fn naive(shape: &[u64], selects: &[Option<Select>]) -> Vec<usize> {
    shape.iter().zip(selects).fold(vec![0], |all, (size, select)| {
        let picks = picks(*size, select.as_ref());
        all.iter().flat_map(|base| picks.iter().map(move |pick| base * *size as usize + *pick as usize)).collect()
    })
}

fn one(array: &Array<'_>, n: usize) -> Option<String> {
    if array.mask().is_some_and(|mask| mask.is_missing(n)) {
        return None;
    }
    Some(match array.values() {
        Values::Bool(all) => format!("{}", all[n]),
        Values::Str(all) | Values::Unicode(all) => format!("{:?}", all.get(n).unwrap()),
        Values::Uint8(all) => all[n].to_string(),
        Values::Int16(all) => all[n].to_string(),
        Values::Float32(all) => all[n].to_string(),
        Values::Uint64(all) => all[n].to_string(),
        other => panic!("{other:?} is not tested"),
    })
}

fn select_of(size: u64) -> BoxedStrategy<Option<Select>> {
    let size = size as i64;
    let end = proptest::option::of(-size - 2..=size + 2);
    let step = proptest::option::of(prop_oneof![1..4i64, -3..0i64]);
    let range = (end.clone(), end, step).prop_map(|(start, stop, step)| Some(Select::Range { start, stop, step }));
    if size == 0 {
        return prop_oneof![Just(None), range, Just(Some(Select::List(Vec::new())))].boxed();
    }
    let list = proptest::collection::vec(-size..size, 0..6).prop_map(|list| Some(Select::List(list)));
    prop_oneof![Just(None), range, list, (-size..size).prop_map(|index| Some(Select::Index(index)))].boxed()
}

fn shapes() -> impl Strategy<Value = (Vec<u64>, Vec<Option<Select>>)> {
    let size = prop_oneof![1 => Just(0u64), 8 => 1..12u64, 1 => 12..70u64];
    proptest::collection::vec(size, 0..=4)
        .prop_filter("not too many", |shape| shape.iter().product::<u64>() <= 60_000)
        .prop_flat_map(|shape| {
            let selects: Vec<_> = shape.iter().map(|size| select_of(*size)).collect();
            (Just(shape), selects)
        })
}

const KINDS: [DataType; 7] = [
    DataType::Uint8,
    DataType::Int16,
    DataType::Float32,
    DataType::Uint64,
    DataType::Bool,
    DataType::Str,
    DataType::Unicode,
];

fn check(kind: DataType, little: bool, mask: Option<u64>, shape: &[u64], selects: &[Option<Select>]) {
    let count = shape.iter().product::<u64>() as usize;
    let mask = mask.map(|seed| missing(count, seed));
    let endian = if little { Endian::Little } else { Endian::Big };
    let mut file = File::default();
    file.add("before", DataType::Bool, endian, &[9], &Data::Bools(vec![true; 9]), None);
    file.add("x", kind, endian, shape, &data(kind, count), mask.as_deref());
    file.add("behind", DataType::Uint8, endian, &[3], &Data::of(&[7u8; 3]), None);
    let mut selection = Selection::new();
    let names = ["i", "j", "k", "l"];
    for (name, select) in names.iter().zip(selects) {
        if let Some(select) = select {
            selection = selection.with(*name, select.clone());
        }
    }
    let expected = naive(shape, selects);
    for reader in [file.reader(), counted(&file).0] {
        let x = reader.variable("x").unwrap();
        let found = x.select(&selection).unwrap();
        let whole = x.read().unwrap();
        let kept = |n: &usize| !matches!(selects[*n], Some(Select::Index(_)));
        let sizes: Vec<u64> =
            (0..shape.len()).filter(kept).map(|n| picks(shape[n], selects[n].as_ref()).len() as u64).collect();
        assert_eq!(found.shape(), sizes);
        let dimensions: Vec<&str> = (0..shape.len()).filter(kept).map(|n| names[n]).collect();
        assert_eq!(x.selected_dimensions(&selection), dimensions);
        assert_eq!((found.len(), found.mask().is_some()), (expected.len(), mask.is_some()));
        for (n, element) in expected.iter().enumerate() {
            assert_eq!(one(&found, n), one(&whole, *element), "element {element}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_selection_is_what_a_naive_model_says(
        kind in 0..7usize, little: bool, mask in proptest::option::of(0..50u64), (shape, selects) in shapes()
    ) {
        check(KINDS[kind], little, mask, &shape, &selects);
    }
}

#[test]
fn selects_more_than_a_batch() {
    let range = |start, stop, step| Some(Select::Range { start, stop, step: Some(step) });
    for kind in KINDS {
        for &mask in cases(&[None, Some(3)][..], &[None, Some(2), Some(3), Some(4)]) {
            check(kind, false, mask, &[300, 400], &[range(None, Some(-1), 1), range(Some(1), None, 1)]);
            check(kind, true, mask, &[300, 400], &[range(None, None, -1), None]);
            check(kind, true, mask, &[120_000], &[range(Some(-3), None, -2)]);
            check(kind, true, mask, &[100_000], &[range(Some(17), Some(-9), 1)]);
        }
    }
}

#[test]
fn reads_only_selected_bytes() {
    // 400 x 100 x 50 doubles: 16 MB.
    let shape = [400, 100, 50];
    let count = 2_000_000;
    let mut file = File::default();
    file.add("x", DataType::Uint64, Endian::Big, &shape, &data(DataType::Uint64, count), None);
    let (reader, log) = counted(&file);
    let x = reader.variable("x").unwrap();
    let slab = Selection::new().with("i", Select::range(10, 13));
    assert_eq!(x.select(&slab).unwrap().len(), 15_000);
    assert_eq!(log.taken(), (120_000, 1));
    let row = Selection::new().with("i", Select::Index(7)).with("j", Select::Index(-1));
    assert_eq!(x.select(&row).unwrap().values().as_slice::<u64>().unwrap()[0], 7 * 5000 + 99 * 50);
    assert_eq!(log.taken(), (400, 1));
    // Runs 40 KB apart take one call each, except for the one that two batches share.
    let far = Selection::new().with("j", Select::range(3, 5));
    assert_eq!(x.select(&far).unwrap().len(), 40_000);
    assert_eq!(log.taken(), (320_000, 401));
    // Runs 400 bytes apart are read together, whatever their order.
    let near = Selection::new()
        .with("i", Select::Index(0))
        .with("j", Select::Range { start: None, stop: None, step: Some(-2) });
    let found = x.select(&near.with("k", Select::range(0, 5))).unwrap();
    assert_eq!((found.shape(), found.values().as_slice::<u64>().unwrap()[5]), (&[50, 5][..], 97 * 50));
    let (bytes, calls) = log.taken();
    assert!(bytes <= 40_000 && calls == 1, "{bytes} {calls}");
    assert_eq!(x.read_rows(399..400).unwrap().len(), 5000);
    assert_eq!(log.taken().0, 40_000);
    let all = Selection::new().with("k", Select::List(Vec::new()));
    assert_eq!((x.select(&all).unwrap().shape(), log.taken()), (&[400, 100, 0][..], (0, 0)));
}

#[test]
fn scans_mask_once() {
    let count = 800_000;
    let mask = missing(count, 2);
    let stored = mask.iter().filter(|missing| !**missing).count() as u64;
    let mut file = File::default();
    file.add("x", DataType::Uint64, Endian::Little, &[count as u64], &data(DataType::Uint64, count), Some(&mask));
    file.add("t", DataType::Str, Endian::Little, &[count as u64], &data(DataType::Str, count), Some(&mask));
    let (reader, log) = counted(&file);
    let (x, t) = (reader.variable("x").unwrap(), reader.variable("t").unwrap());
    let part = Selection::new().with("i", Select::range(500_000, 500_016));
    x.select(&part).unwrap();
    let (bytes, _) = log.taken();
    assert!((100_000..=100_000 + 700).contains(&bytes), "{bytes}");
    reader.variable("x").unwrap().select(&part).unwrap();
    let (bytes, calls) = log.taken();
    assert!(bytes <= 512 + 2 + 16 * 8 && calls == 2, "{bytes} {calls}");
    t.select(&part).unwrap();
    let (bytes, _) = log.taken();
    assert!((100_000 + stored * 8..100_000 + stored * 8 + 6000).contains(&bytes), "{bytes}");
    t.select(&part).unwrap();
    let (bytes, _) = log.taken();
    assert!(bytes <= 600 + 512 * 8 + 16 * 16, "{bytes}");
    t.read_rows(799_000..799_010).unwrap();
    let (bytes, _) = log.taken();
    assert!(bytes <= 4 * 600 + 2 * 512 * 8 + 16 * 16, "{bytes}");
}

#[test]
fn rejects_unknown_elements() {
    let mut file = File::default();
    file.add("x", DataType::Uint8, Endian::Big, &[2, 3], &data(DataType::Uint8, 6), None);
    file.add("y", DataType::Uint8, Endian::Big, &[2], &data(DataType::Uint8, 2), None);
    let reader = file.reader();
    let (x, y) = (reader.variable("x").unwrap(), reader.variable("y").unwrap());
    let error = |selection: Selection| {
        let error = x.select(&selection).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        error.to_string()
    };
    let index = Selection::new().with("j", Select::Index(3));
    assert_eq!(error(index.clone()), "ds: index 3 is out of range for dimension \"j\" of size 3 (column \"x\")");
    let list = Selection::new().with("i", Select::List(vec![1, -3]));
    assert_eq!(error(list), "ds: index -3 is out of range for dimension \"i\" of size 2 (column \"x\")");
    let step = Selection::new().with("j", Select::Range { start: None, stop: None, step: Some(0) });
    assert_eq!(error(step), "ds: step 0 for dimension \"j\" (column \"x\")");
    let name = Selection::new().with("time", Select::Index(0));
    assert_eq!(error(name), "ds: unknown dimension \"time\" (the variable has [\"i\", \"j\"]) (column \"x\")");
    // A dimension of another variable is no matter of this one.
    assert_eq!(y.select(&index).unwrap().shape(), [2]);
    let huge = Selection::new().with("i", Select::List(vec![0; 1 << 22])).with("j", Select::List(vec![0; 1 << 12]));
    assert_eq!(x.select(&huge).unwrap_err().kind(), ErrorKind::Limit { asked: 1 << 34, limit: 1 << 30 });
}

#[test]
fn reports_invalid_utf8_by_element() {
    let mut file = File::default();
    let texts = Data::Texts(vec![b"a".to_vec(), b"bc".to_vec(), b"d\xff".to_vec(), b"e".to_vec(), b"f".to_vec()]);
    let mask = [true, false, false, false, true];
    file.add("x", DataType::Unicode, Endian::Little, &[5], &texts, Some(&mask));
    for reader in [file.reader(), counted(&file).0] {
        let x = reader.variable("x").unwrap();
        let error = x.select(&Selection::new().with("i", Select::List(vec![0, 3, 2]))).unwrap_err();
        let place = reader.body_offset() + 1 + 24 + 3;
        let text = format!("ds: element 2 is not valid UTF-8 at byte 1 (byte {place}, column \"x\")");
        assert_eq!((error.to_string(), error.kind()), (text, ErrorKind::Invalid));
        assert_eq!(x.read().unwrap_err().position().byte, Some(place));
        assert!(x.select(&Selection::new().with("i", Select::List(vec![0, 3, 1]))).is_ok());
    }
}

fn axes() -> Reader {
    let mut file = File::default();
    let mask = [false, true, false, false, false];
    file.add(
        "f",
        DataType::Float32,
        Endian::Big,
        &[6],
        &Data::of(&[f32::NAN, 1.0, 3.0, 3.0, -2.0, f32::INFINITY]),
        None,
    );
    file.add("m", DataType::Float64, Endian::Little, &[5], &Data::of(&[1.0, 2.0, 3.0, 4.0, 5.0]), Some(&mask));
    let big = 1u64 << 53;
    file.add("u", DataType::Uint64, Endian::Little, &[4], &Data::of(&[big + 1, big, big + 2, u64::MAX]), None);
    file.add("i8", DataType::Int8, Endian::Little, &[4], &Data::of(&[-3i8, -1, 0, 7]), None);
    file.add("none", DataType::Float64, Endian::Little, &[3], &Data::of(&[0.0; 3]), Some(&[true; 3]));
    file.add("two", DataType::Uint8, Endian::Big, &[2, 1], &Data::of(&[1u8, 2]), None);
    file.add("b", DataType::Bool, Endian::Big, &[2], &Data::Bools(vec![true; 2]), None);
    file.reader()
}

#[test]
fn finds_nearest_elements() {
    let reader = axes();
    let near = |name, value| reader.nearest(name, value).unwrap();
    assert_eq!([near("f", 2.4), near("f", 2.0), near("f", 9e9), near("f", -7.0)], [2, 1, 2, 4]);
    assert_eq!([near("m", 2.1), near("m", 1.9), near("m", 2.0)], [2, 0, 0]);
    let big = (1u64 << 53) as f64;
    assert_eq!([near("u", big), near("u", big + 2.0), near("u", 2e19)], [1, 2, 3]);
    assert_eq!([near("i8", -2.0), near("i8", -1.9), near("i8", 3.5), near("i8", 3.6)], [0, 1, 2, 3]);
    let error = |name, value| reader.nearest(name, value).unwrap_err().to_string();
    assert_eq!(error("none", 1.0), "ds: no values to compare with 1 (column \"none\")");
    assert_eq!(error("f", f64::NAN), "ds: expected a finite value, found NaN (column \"f\")");
    assert_eq!(error("b", 1.0), "ds: expected numbers, found bool (column \"b\")");
    let two = "ds: expected one dimension to look up an element by value, found 2 [\"i\", \"j\"] (column \"two\")";
    assert_eq!(error("two", 1.0), two);
}

#[test]
fn finds_elements_between_values() {
    let reader = axes();
    let between = |name, from, to| reader.between(name, from, to).unwrap();
    assert_eq!(between("f", Some(1.0), Some(3.0)), [1]);
    assert_eq!(between("f", Some(1.0), None), [1, 2, 3, 5]);
    assert_eq!(between("f", None, Some(3.0)), [1, 4]);
    assert_eq!(between("f", None, None), [0, 1, 2, 3, 4, 5]);
    assert!(between("f", Some(f64::NAN), None).is_empty());
    assert_eq!(between("m", Some(1.5), Some(4.0)), [2]);
    let big = (1u64 << 53) as f64;
    assert_eq!(between("u", Some(big), Some(big + 2.0)), [0, 1]);
    assert_eq!(between("u", Some(1.8e19), None), [3]);
    assert_eq!(between("u", None, Some(1e300)), [0, 1, 2, 3]);
    assert_eq!(between("i8", Some(-2.5), Some(0.5)), [1, 2]);
    assert_eq!(between("i8", Some(-1.0), Some(0.0)), [1]);
    assert!(between("i8", Some(f64::NAN), Some(9.0)).is_empty());
    assert!(reader.between("b", None, None).is_err());
}

#[test]
fn selections_by_value_intersect() {
    // All these variables are along "i".
    let reader = axes();
    let selection = Selection::new().at(&reader, "i8", 6.0).unwrap();
    assert_eq!(selection.get("i"), Some(&Select::Index(3)));
    let both = selection.between(&reader, "m", Some(3.0), None).unwrap();
    assert_eq!(both.get("i"), Some(&Select::List(vec![3])));
    let selection = Selection::new().with("i", Select::Range { start: None, stop: None, step: Some(-2) });
    let selection = selection.between(&reader, "f", Some(-10.0), Some(3.5)).unwrap();
    assert_eq!(selection.get("i"), Some(&Select::List(vec![1, 3])));
    assert_eq!(reader.variable("f").unwrap().select(&selection).unwrap().values(), &Values::from(vec![1.0f32, 3.0]));
    let none = selection.at(&reader, "i8", 0.0).unwrap();
    assert_eq!(none.get("i"), Some(&Select::List(Vec::new())));
    let outside = Selection::new().with("i", Select::Index(5)).at(&reader, "i8", 0.0).unwrap_err().to_string();
    assert_eq!(outside, "ds: index 5 is out of range for dimension \"i\" of size 4 (column \"i8\")");
}

#[test]
fn chunks_concatenate_to_the_whole() {
    let mut builder = dsfmt::Builder::new();
    let mask = dsfmt::Mask::from_bools((0..60).map(|n| n % 7 == 3));
    let values = dsfmt::Array::new([3, 4, 5], (0..60i16).collect::<Vec<_>>()).unwrap().with_mask(mask).unwrap();
    builder.field("x", dsfmt::Field::new(values).with_dimensions(["a", "b", "c"]));
    builder.field("one", dsfmt::Field::new(dsfmt::Array::new([], vec![7i16]).unwrap()).with_dimensions([""; 0]));
    let mut file = Vec::new();
    builder.write_to(&mut file).unwrap();
    let reader =
        dsfmt::Reader::from_source(container_core::Source::from(file), container_core::OpenOptions::default()).unwrap();
    let shown = |array: &dsfmt::Array<'_>| -> Vec<Option<i16>> {
        let missing = |n: usize| array.mask().is_some_and(|mask| mask.is_missing(n));
        let all = array.values().as_slice::<i16>().unwrap();
        all.iter().enumerate().map(|(n, number)| (!missing(n)).then_some(*number)).collect()
    };
    let all = dsfmt::Selection::new();
    let selections = [
        all.clone(),
        all.clone().with("b", dsfmt::Select::List(vec![3, 0, 0])),
        all.clone().with("a", dsfmt::Select::Index(-1)).with("c", dsfmt::Select::range(1, 4)),
        all.clone().with("c", dsfmt::Select::Range { start: None, stop: None, step: Some(-2) }),
        all.clone().with("b", dsfmt::Select::range(2, 2)),
    ];
    for (name, selection) in selections.iter().map(|selection| ("x", selection)).chain([("one", &all)]) {
        let variable = reader.variable(name).unwrap();
        let expected = shown(&variable.select(selection).unwrap());
        for most in [0, 1, 2, 4, 5, 7, 19, 20, 21, 59, 60, 1000, u64::MAX] {
            let mut found = Vec::new();
            let pieces = variable.select_chunks(selection, most, |piece| {
                assert!((1..=most.max(1)).contains(&(piece.len() as u64)));
                found.extend(shown(&piece));
                Ok(())
            });
            pieces.unwrap();
            assert_eq!(found, expected, "{name} {selection:?} {most}");
        }
    }
}
