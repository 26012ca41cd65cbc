//! Writers with inconsistent values, calls in any order, and very many columns.

use std::io::Cursor;
use std::time::{Duration, Instant};

use container_core::{Limits, Source};
use idv::{
    ColumnSchema, ColumnSlice, Compression, DateTimeOffsets, ItemType, KeyType, KeyWidth, OpenOptions, Reader, Schema,
    Type, Values, Vectors, Writer, WriterOptions,
};

type Memory = Cursor<Vec<u8>>;

fn writer(kinds: impl IntoIterator<Item = Type>, options: WriterOptions) -> Writer<Memory> {
    let columns = kinds.into_iter().enumerate().map(|(index, kind)| ColumnSchema::new(format!("c{index}"), kind));
    Writer::new(Cursor::new(Vec::new()), Schema::new(columns), options).unwrap()
}

fn finished(writer: Writer<Memory>) -> Reader {
    Reader::from_source(Source::from(writer.into_inner().unwrap().into_inner()), OpenOptions::default()).unwrap()
}

const NUMBER: Type = Type::Item(ItemType::Int32);

fn times(ticks: usize, minutes: usize) -> Values {
    let mut both = DateTimeOffsets::default();
    (both.ticks, both.minutes) = (vec![10; ticks], vec![0; minutes]);
    Values::DateTimeOffset(both)
}

fn vectors(change: impl Fn(&mut Values)) -> Values {
    let mut vectors = Vectors::of(ItemType::Int32);
    for n in [1, 2] {
        vectors.items_mut().extend_from(&Values::Int32(vec![n; 2]), 0..2).unwrap();
        vectors.close_dense().unwrap();
    }
    change(vectors.items_mut());
    Values::Vector(Box::new(vectors))
}

/// Inconsistent values are rejected and the writer stays usable.
#[test]
fn rejects_inconsistent_values() {
    let vector = || Type::Vector { item: ItemType::Int32, dimensions: vec![0] };
    let time = || Type::Item(ItemType::DateTimeOffset);
    let whole = "idv: arrays of the values have different lengths (column \"c1\")";
    let other = "idv: expected Vector<Int32> values, found Vector (column \"c1\")";
    let cases: [(Type, Values, &str); 6] = [
        (time(), times(2, 1), whole),
        (time(), times(2, 3), whole),
        (vector(), vectors(|items| items.truncate(3)), whole),
        (vector(), vectors(|items| *items = Values::Int32(Vec::new())), whole),
        (vector(), vectors(|items| *items = Values::Text(Default::default())), whole),
        (vector(), vectors(|items| *items = Values::Byte(vec![0; 4])), other),
    ];
    let numbers = Values::Int32(vec![1, 2]);
    for (kind, broken, expected) in cases {
        let sound = if matches!(kind, Type::Item(_)) { times(2, 2) } else { vectors(|_| {}) };
        let mut writer = writer([NUMBER, kind], WriterOptions::default());
        for _ in 0..2 {
            let error = writer.append_columns(&[(&numbers).into(), (&broken).into()]).unwrap_err();
            assert_eq!(error.to_string(), expected);
            assert_eq!(writer.append_column(1, &(&broken).into()).unwrap_err().to_string(), expected);
            writer.append_columns(&[(&numbers).into(), (&sound).into()]).unwrap();
        }
        assert_eq!(finished(writer).row_count(), 4);
    }
    let metadata = ColumnSchema::new("n", NUMBER).with_metadata("m", time(), times(1, 0));
    let error = Schema::new([metadata]).check().unwrap_err();
    assert!(error.to_string().contains("metadata \"m\": arrays of the value have different lengths"), "{error}");
}

/// Slices may start anywhere; errors have the row in the file.
#[test]
fn checks_slices_in_their_range() {
    let key = Type::Item(ItemType::Key(KeyType::new(KeyWidth::Byte, 3).unwrap()));
    let mut writer = writer([key], WriterOptions::default());
    let keys = Values::Byte(vec![9, 1, 2, 9]);
    writer.append_columns(&[ColumnSlice::new(&keys, 1..3)]).unwrap();
    let error = writer.append_columns(&[ColumnSlice::new(&keys, 1..4)]).unwrap_err();
    assert_eq!(error.to_string(), "idv: key 9 is above its key count 3 (row 4, column \"c0\")");
    #[allow(clippy::reversed_empty_ranges, reason = "the rejected ranges")]
    for (range, shown) in [(2..1, "2..1"), (2..5, "2..5"), (5..5, "5..5")] {
        let error = writer.append_column(0, &ColumnSlice::new(&keys, range)).unwrap_err();
        assert_eq!(error.to_string(), format!("idv: values {shown} are out of bounds for 4 (column \"c0\")"));
    }
    assert_eq!(finished(writer).row_count(), 2);
}

/// Nothing is written that a reader with the same limits would reject.
#[test]
fn tables_obey_the_limits() {
    let wide = |name: usize, metadata: usize| {
        let limits = Limits::default().with_metadata_bytes(200);
        let mut column = ColumnSchema::new("n".repeat(name), NUMBER);
        for kind in 0..metadata {
            column = column.with_metadata(format!("{kind:030}"), NUMBER, Values::Int32(vec![1]));
        }
        let options = WriterOptions::default().with_limits(limits);
        let writer = Writer::new(Cursor::new(Vec::new()), Schema::new([column]), options).unwrap();
        writer.into_inner().map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(wide(100, 1), Ok(()));
    assert_eq!(wide(200, 0).unwrap_err(), "idv: bytes of the table of contents 227 exceeds the limit 200");
    assert!(wide(1, 6).unwrap_err().starts_with("idv: bytes of the table of metadata "));
    let column = ColumnSchema::new("n", NUMBER).with_key_values(["x".repeat(300)]).unwrap();
    let options = WriterOptions::default().with_limits(Limits::default().with_metadata_bytes(200));
    let writer = Writer::new(Cursor::new(Vec::new()), Schema::new([column]), options).unwrap();
    let error = writer.into_inner().err().unwrap().to_string();
    assert!(error.starts_with("idv: bytes of metadata "), "{error}");
}

/// Also of vectors that all have one length.
#[test]
fn rejects_vectors_of_wrong_length() {
    let kind = Type::Vector { item: ItemType::Int32, dimensions: vec![3] };
    let mut writer = writer([kind], WriterOptions::default());
    let error = writer.append_columns(&[(&vectors(|_| {})).into()]).unwrap_err();
    assert_eq!(error.to_string(), "idv: expected a vector of 3 items, found 2 (row 0, column \"c0\")");
}

/// Items after the last closed vector are not written.
#[test]
fn open_vector_is_not_written() {
    let kind = Type::Vector { item: ItemType::Int32, dimensions: vec![0] };
    let mut writer = writer([kind], WriterOptions::default());
    let open = vectors(|items| items.extend_from(&Values::Int32(vec![9]), 0..1).unwrap());
    writer.append_columns(&[(&open).into()]).unwrap();
    writer.append_columns(&[(&open).into()]).unwrap();
    assert_eq!(finished(writer).row_count(), 4);
    let mut both = open.clone();
    both.extend_from(&open, 0..2).unwrap();
    let Values::Vector(both) = both else { panic!("no vectors") };
    assert_eq!(*both.values(), Values::Int32(vec![1, 1, 2, 2, 1, 1, 2, 2]));
}

/// The work per call does not grow with the number of columns.
#[test]
fn many_columns_appended_one_at_a_time() {
    let (start, count) = (Instant::now(), 100_000);
    let options = WriterOptions::default().with_compression(Compression::None);
    let mut writer = writer((0..count).map(|_| NUMBER), options);
    let numbers = Values::Int32(vec![1]);
    for index in 0..count {
        writer.append_column(index, &(&numbers).into()).unwrap();
    }
    let reader = finished(writer);
    assert_eq!((reader.columns().len(), reader.row_count()), (count, 1));
    // Looking at all columns in each call takes minutes.
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

/// Row numbers count all kinds of appends.
#[test]
fn error_rows_count_all_kinds_of_appends() {
    let mut writer = writer([NUMBER], WriterOptions::default().with_rows_per_block(2));
    let numbers = Values::Int32(vec![1, 2, 3]);
    let row = |error: container_core::Error| error.position().row;
    assert_eq!(row(writer.append_row(&("x",)).unwrap_err()), Some(0));
    writer.append_columns(&[(&numbers).into()]).unwrap();
    assert_eq!(row(writer.append_row(&("x",)).unwrap_err()), Some(3));
    writer.append_row(&(4,)).unwrap();
    assert_eq!(row(writer.append_row(&("x",)).unwrap_err()), Some(4));
    writer.append_column(0, &(&numbers).into()).unwrap();
    assert_eq!(row(writer.append_row(&("x",)).unwrap_err()), Some(7));
    assert_eq!(writer.row_count(), 7);
    assert_eq!(finished(writer).row_count(), 7);
}

/// Small uncompressed blocks are encoded inline and keep their order.
#[test]
fn small_blocks_stay_in_order_among_large_ones() {
    let columns = [Compression::None, Compression::Deflate, Compression::None]
        .map(|compression| ColumnSchema::new("n", NUMBER).with_compression(compression));
    let written = |threads| {
        let options = WriterOptions::default().with_rows_per_block(3000).with_threads(threads);
        let mut writer = Writer::new(Cursor::new(Vec::new()), Schema::new(columns.clone()), options).unwrap();
        let numbers = Values::Int32((0..70_000).map(|n: i32| n.wrapping_mul(0x1E37_79B1)).collect());
        writer.append_columns(&[(&numbers).into(), (&numbers).into(), (&numbers).into()]).unwrap();
        writer.into_inner().unwrap().into_inner()
    };
    let one = written(1);
    assert!(one == written(0), "other bytes with threads");
    assert!(Reader::from_source(Source::from(one), OpenOptions::default()).is_ok());
}
