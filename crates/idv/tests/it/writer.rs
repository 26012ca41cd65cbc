//! What the writer does with what it is given: layout, limits, refusals.

use std::io::Cursor;

use container_core::{ErrorKind, Limits, Scan, Source};
use idv::{
    ColumnSchema, ColumnSlice, ItemType, KeyType, KeyWidth, OpenOptions, Reader, Schema, Type, Values, Vectors, Writer,
    WriterOptions,
};

type Memory = Cursor<Vec<u8>>;

fn writer(columns: impl IntoIterator<Item = ColumnSchema>, options: WriterOptions) -> Writer<Memory> {
    Writer::new(Cursor::new(Vec::new()), Schema::new(columns), options).unwrap()
}

fn finished(writer: Writer<Memory>) -> Reader {
    Reader::from_source(Source::from(writer.into_inner().unwrap().into_inner()), OpenOptions::default()).unwrap()
}

fn item(name: &str, item: ItemType) -> ColumnSchema {
    ColumnSchema::new(name, Type::Item(item))
}

fn vector(name: &str, item: ItemType, dimensions: &[u32]) -> ColumnSchema {
    ColumnSchema::new(name, Type::Vector { item, dimensions: dimensions.to_vec() })
}

fn texts(all: &[&str]) -> Values {
    let mut values = Values::of(&Type::Item(ItemType::Text));
    let Values::Text(texts) = &mut values else { unreachable!("it was made of texts") };
    all.iter().for_each(|text| texts.push(text).unwrap());
    values
}

fn singles(lengths: &[usize]) -> Values {
    let mut vectors = Vectors::of(ItemType::Single);
    for &length in lengths {
        let Values::Single(items) = vectors.items_mut() else { unreachable!("it was made of floats") };
        items.extend(std::iter::repeat_n(0.5, length));
        vectors.close_dense().unwrap();
    }
    Values::Vector(Box::new(vectors))
}

#[test]
fn block_has_at_most_8192_rows() {
    for (rows, expected) in [(0, 1), (1, 1), (100, 100), (8192, 8192), (8193, 8192), (30_000, 8192)] {
        let mut writer = writer([item("n", ItemType::Int32)], WriterOptions::default());
        writer.append_columns(&[(&Values::Int32((0..rows).collect())).into()]).unwrap();
        let reader = finished(writer);
        assert_eq!(reader.columns()[0].rows_per_block(), expected, "{rows} rows");
        assert_eq!(reader.row_count(), u64::try_from(rows).unwrap());
    }
}

#[test]
fn large_rows_reduce_rows_per_block() {
    // 10,000 floats a row, 40,004 bytes: 80 MiB hold 2096 of them, less the block's 16 bytes.
    let mut writer = writer(
        [vector("v", ItemType::Single, &[10_000]), item("n", ItemType::Byte)],
        WriterOptions::default().with_level(1),
    );
    let (vectors, numbers) = (singles(&[10_000; 500]), Values::Byte(vec![1; 500]));
    for _ in 0..5 {
        writer.append_columns(&[(&vectors).into(), (&numbers).into()]).unwrap();
    }
    let reader = finished(writer);
    assert_eq!(reader.columns()[0].rows_per_block(), (80 << 20) / 40_005);
    assert_eq!(reader.columns()[1].rows_per_block(), (80 << 20) / 40_005);
    assert_eq!(reader.row_count(), 2500);
}

#[test]
fn division_into_calls_does_not_change_bytes() {
    let columns = || [item("n", ItemType::Int64), item("t", ItemType::Text), vector("v", ItemType::Single, &[0])];
    let count = 3000;
    let numbers = Values::Int64((0..count).collect());
    let all: Vec<String> = (0..count).map(|n| "x".repeat(usize::try_from(n % 97).unwrap())).collect();
    let texts = texts(&all.iter().map(String::as_str).collect::<Vec<_>>());
    let vectors = singles(&(0..usize::try_from(count).unwrap()).map(|n| n % 5).collect::<Vec<_>>());
    for options in [
        WriterOptions::default().with_rows_per_block(100),
        WriterOptions::default().with_bytes_per_block(20_000),
        WriterOptions::default(),
    ] {
        let write = |piece: usize| {
            let mut writer = writer(columns(), options.clone());
            for start in (0..3000).step_by(piece) {
                let range = start..3000.min(start + piece);
                let slice = |values| ColumnSlice::new(values, range.clone());
                writer.append_columns(&[slice(&numbers), slice(&texts), slice(&vectors)]).unwrap();
            }
            writer.into_inner().unwrap().into_inner()
        };
        let whole = write(3000);
        for piece in [1, 7, 99, 100, 101, 1024] {
            assert!(write(piece) == whole, "{piece} rows a call, {options:?}");
        }
    }
}

#[test]
fn columns_can_be_appended_one_after_the_other() {
    let mut writer = writer([item("a", ItemType::Int32), item("b", ItemType::Double)], WriterOptions::default());
    writer.append_column(0, &(&Values::Int32((0..20_000).collect())).into()).unwrap();
    writer.append_column(1, &(&Values::Double((0..12_000).map(f64::from).collect())).into()).unwrap();
    assert_eq!(writer.row_count(), 12_000);
    writer.append_column(1, &(&Values::Double((12_000..20_000).map(f64::from).collect())).into()).unwrap();
    let reader = finished(writer);
    let mut rows = reader.rows(&Scan::default().with_rows(19_999..20_000)).unwrap();
    let row = rows.try_next().unwrap().unwrap();
    assert_eq!(row.get(0), Some(idv::Value::Int32(19_999)));
    assert_eq!(row.get(1), Some(idv::Value::Double(19_999.0)));
}

#[test]
fn rejects_columns_of_different_length() {
    let mut writer = writer([item("a", ItemType::Byte), item("b", ItemType::Byte)], WriterOptions::default());
    writer.append_column(0, &(&Values::Byte(vec![1, 2, 3])).into()).unwrap();
    let error = writer.into_inner().err().unwrap();
    assert_eq!(error.to_string(), "idv: expected 3 rows as in column \"a\", found 0 (column \"b\")");
}

#[test]
fn invalid_rows_are_not_written() {
    let key = ItemType::Key(KeyType::new(KeyWidth::UInt16, 3).unwrap());
    let columns = [
        item("n", ItemType::Byte),
        item("k", key),
        vector("v", ItemType::Single, &[2]),
        item("d", ItemType::DateTime),
        vector("kv", key, &[0]),
    ];
    let mut writer = writer(columns, WriterOptions::default());
    let kv = |stored: &[u16]| {
        let mut vectors = Vectors::of(key);
        for &stored in stored {
            let Values::UInt16(items) = vectors.items_mut() else { unreachable!("keys of this width") };
            items.push(stored);
            vectors.close_sparse(9, &[4]).unwrap();
        }
        Values::Vector(Box::new(vectors))
    };
    let good = [
        Values::Byte(vec![1, 2]),
        Values::UInt16(vec![0, 3]),
        singles(&[2, 2]),
        Values::DateTime(vec![0, i64::MIN]),
        kv(&[3, 0]),
    ];
    let mut append = |place: usize, values: Option<Values>| {
        let mut all = good.clone();
        if let Some(values) = values {
            all[place] = values;
        }
        let slices: Vec<ColumnSlice<'_>> = all.iter().map(ColumnSlice::from).collect();
        writer.append_columns(&slices).map_err(|error| {
            assert_eq!(error.kind(), ErrorKind::Usage);
            error.to_string()
        })
    };
    append(0, None).unwrap();
    for (place, values, expected) in [
        (1, Values::UInt16(vec![3, 4]), "idv: key 4 is above its key count 3 (row 3, column \"k\")"),
        (2, singles(&[2, 3]), "idv: expected a vector of 2 items, found 3 (row 3, column \"v\")"),
        (
            3,
            Values::DateTime(vec![-1, 0]),
            "idv: time of -1 ticks is not between 0 and 3155378975999999999 (row 2, column \"d\")",
        ),
        (4, kv(&[1, 9]), "idv: slot 4: key 9 is above its key count 3 (row 3, column \"kv\")"),
        (0, Values::SByte(vec![1, 2]), "idv: expected Byte values, found SByte (column \"n\")"),
        (0, Values::Byte(vec![1]), "idv: expected 1 rows as in the first column, found 2 (column \"k\")"),
    ] {
        assert_eq!(append(place, Some(values)), Err(expected.to_owned()));
    }
    append(0, None).unwrap();
    assert_eq!(writer.append_columns(&[]).unwrap_err().to_string(), "idv: expected 5 columns, found 0");
    let reader = finished(writer);
    assert_eq!(reader.row_count(), 4);
}

#[test]
fn checks_range_of_times_with_offset_in_utc() {
    let mut writer = writer([item("t", ItemType::DateTimeOffset)], WriterOptions::default());
    let time = |ticks: i64, minutes: i16| {
        let mut values = Values::of(&Type::Item(ItemType::DateTimeOffset));
        let Values::DateTimeOffset(both) = &mut values else { unreachable!("it was made of times with offset") };
        both.ticks.push(ticks);
        both.minutes.push(minutes);
        values
    };
    for good in [(0, 0), (0, -840), (600_000_000, 1), (i64::MIN, i16::MIN), (3_155_378_975_999_999_999, 840)] {
        writer.append_columns(&[(&time(good.0, good.1)).into()]).unwrap();
    }
    let error = writer.append_columns(&[(&time(0, 1)).into()]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "idv: time of 0 ticks and 1 minutes is -600000000 ticks in UTC, not between 0 and 3155378975999999999 (row 5, \
         column \"t\")"
    );
    let error = writer.append_columns(&[(&time(0, 841)).into()]).unwrap_err();
    assert_eq!(error.to_string(), "idv: offset of 841 minutes is not between -840 and 840 (row 5, column \"t\")");
    assert_eq!(finished(writer).row_count(), 5);
}

#[test]
fn blocks_obey_the_limits() {
    let limits = Limits::default().with_block_bytes(1000);
    let options = WriterOptions::default().with_limits(limits).with_rows_per_block(1_000_000);
    // The first rows decide: 125 of eight bytes.
    let mut first = writer([item("n", ItemType::Int64)], options.clone());
    first.append_columns(&[(&Values::Int64(vec![7; 1000])).into()]).unwrap();
    let reader = finished(first);
    assert_eq!(reader.columns()[0].rows_per_block(), 125);
    // Later ones cannot any more.
    let mut late = writer([item("t", ItemType::Text)], options.clone());
    late.append_columns(&[(&texts(&["abc"; 300])).into()]).unwrap();
    let long = "x".repeat(500);
    let error =
        late.append_columns(&[(&texts(&[&long, &long, &long])).into()]).and_then(|()| late.into_inner()).err().unwrap();
    assert_eq!(
        error.to_string(),
        "idv: 19 rows per block are too many, about 17 fit (the number applies to the whole file): bytes of the \
         block 1630 exceeds the limit 1000 (row 284, column \"t\")"
    );
    // One row alone is too much.
    let mut one = writer([item("t", ItemType::Text)], options);
    let error =
        one.append_columns(&[(&texts(&[&"x".repeat(2000)])).into()]).and_then(|()| one.into_inner()).err().unwrap();
    assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
}

#[test]
fn rejects_invalid_options_and_schemas() {
    let refused = |columns: Vec<ColumnSchema>, options: WriterOptions| {
        Writer::new(Cursor::new(Vec::new()), Schema::new(columns), options).err().unwrap().to_string()
    };
    let byte = || item("n", ItemType::Byte);
    assert_eq!(
        refused(vec![byte()], WriterOptions::default().with_level(10)),
        "idv: compression level 10 is not between 0 and 9"
    );
    assert_eq!(
        refused(vec![byte()], WriterOptions::default().with_rows_per_block(0)),
        "idv: rows per block: expected at least 1, found 0"
    );
    assert_eq!(
        refused(vec![byte()], WriterOptions::default().with_rows_per_block(1 << 31)),
        "idv: rows per block: expected at most 2147483647 (the limit of ML.NET), found 2147483648"
    );
    let default = WriterOptions::default;
    assert_eq!(
        refused(vec![byte(), item("", ItemType::Byte)], default()),
        "idv: column 1 (counted from 0) has an empty name, which ML.NET rejects"
    );
    assert_eq!(
        refused(vec![vector("v", ItemType::Byte, &[])], default()),
        "idv: a vector type has no dimensions; use 0 for an unknown one (column \"v\")"
    );
    assert_eq!(
        refused(vec![vector("v", ItemType::Byte, &[65_536, 65_536])], default()),
        "idv: the product of the dimensions [65536, 65536] exceeds 2147483647 (column \"v\")"
    );
    let boolean = Type::Item(ItemType::Boolean);
    let with = |kind: &str, value: Values| byte().with_metadata(kind, boolean.clone(), value);
    assert_eq!(
        refused(vec![with("M", Values::Boolean(vec![]))], default()),
        "idv: metadata \"M\": expected one Boolean, found 0 values (Boolean) (column \"n\")"
    );
    assert_eq!(
        refused(vec![with("", Values::Boolean(vec![true]))], default()),
        "idv: metadata with an empty kind, which ML.NET rejects (column \"n\")"
    );
    let twice = with("M", Values::Boolean(vec![true])).with_metadata("M", boolean.clone(), Values::Boolean(vec![true]));
    assert_eq!(refused(vec![twice], default()), "idv: metadata \"M\": duplicate kind (column \"n\")");
    let names = vector("v", ItemType::Byte, &[2]).with_metadata(
        "SlotNames",
        Type::Vector { item: ItemType::Single, dimensions: vec![3] },
        singles(&[2]),
    );
    assert_eq!(
        refused(vec![names], default()),
        "idv: metadata \"SlotNames\": expected Vector<Single, 3>, found a vector of 2 items (column \"v\")"
    );
    let time = byte().with_metadata("T", Type::Item(ItemType::DateTime), Values::DateTime(vec![-1]));
    assert_eq!(
        refused(vec![time], default()),
        "idv: metadata \"T\": time of -1 ticks is not between 0 and 3155378975999999999 (column \"n\")"
    );
    assert!(KeyType::new(KeyWidth::Byte, 256).is_err() && KeyType::new(KeyWidth::Byte, 0).is_err());
    let limits = Limits::default().with_columns(1);
    assert_eq!(
        refused(vec![byte(), item("m", ItemType::Byte)], default().with_limits(limits)),
        "idv: columns 2 exceeds the limit 1"
    );
}

#[test]
fn failed_sink_is_not_written_again() {
    struct Full(u64);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len() as u64;
            if self.0 > 300 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(bytes.len()) }
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    impl std::io::Seek for Full {
        fn seek(&mut self, _: std::io::SeekFrom) -> std::io::Result<u64> {
            Ok(0)
        }
    }
    let options = WriterOptions::default().with_rows_per_block(10).with_threads(1);
    let mut writer = Writer::new(Full(0), Schema::new([item("n", ItemType::UInt64)]), options).unwrap();
    let values = Values::UInt64((0..100).map(|n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect());
    let error = writer.append_columns(&[(&values).into()]).unwrap_err();
    assert!(error.to_string().starts_with("idv: cannot write"), "{error}");
    let error = writer.append_columns(&[(&values).into()]).unwrap_err();
    assert_eq!(error.to_string(), "idv: the file is incomplete: an earlier write failed");
    assert!(writer.into_inner().is_err());
}

#[test]
fn rejects_invalid_sparse_slots() {
    let mut vectors = Vectors::of(ItemType::Byte);
    let push = |vectors: &mut Vectors, items: &[u8]| {
        let Values::Byte(all) = vectors.items_mut() else { unreachable!("it was made of bytes") };
        all.extend_from_slice(items);
    };
    push(&mut vectors, &[1, 2]);
    vectors.close_dense().unwrap();
    push(&mut vectors, &[3]);
    assert_eq!(vectors.close_sparse(5, &[]).unwrap_err().to_string(), "a sparse vector has 1 items for 0 slots");
    for (length, slots, expected) in [
        (5, vec![5], "slot 5 is not between 0 and 5 (not included)"),
        (5, vec![2, 2], "slot 2 is not between 3 and 5 (not included)"),
    ] {
        push(&mut vectors, &vec![9; slots.len()]);
        assert_eq!(vectors.close_sparse(length, &slots).unwrap_err().to_string(), expected);
    }
    push(&mut vectors, &[7]);
    vectors.close_sparse(3, &[1]).unwrap();
    push(&mut vectors, &[8, 9]);
    vectors.close_sparse(2, &[0, 1]).unwrap();
    vectors.close_sparse(0, &[]).unwrap();
    let shown: Vec<_> = vectors.iter().map(|v| (v.length, v.indices.map(<[u32]>::to_vec), v.range)).collect();
    assert_eq!(shown, [(2, None, 0..2), (3, Some(vec![1]), 2..3), (2, None, 3..5), (0, None, 5..5)]);
}
