//! Files as batches.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{DurationMicrosecondType, Int16Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::DataType;
use arrow_schema::extension::FixedShapeTensor;
use container_arrow::{BatchReader, BatchScan, Mapping, Sparse, Times, from_arrow};
use container_core::{ErrorKind, Loss, Scan, Table};
use idv::{
    ColumnSchema, ColumnSlice, Compression, DateTimeOffsets, IdvContainer, ItemType, OpenOptions, Reader, Schema, Type,
    Values, Vectors, Writer, WriterOptions,
};
use tempfile::NamedTempFile;

use super::show::{batches, same};
use crate::support::forge::{Codec, Column, DEFLATE, Forge, NONE};
use crate::support::{golden, open, says, three_numbers};

pub(crate) fn ticks(sparse: Sparse) -> BatchScan {
    BatchScan::default().with_mapping(Mapping::default().with_times(Times::Ticks).with_sparse(sparse))
}

#[test]
fn golden_rows_and_batches_agree() {
    for path in golden() {
        let reader = Reader::open(&path).unwrap();
        for (sparse, filled) in [(Sparse::Lists, true), (Sparse::Structs, false)] {
            for (missing, rows, threads) in [(false, 1 << 16, 0), (true, 5, 1)] {
                let mut scan = ticks(sparse).with_batch_rows(rows);
                scan.scan = Scan::default().with_missing_as_null(missing).with_threads(threads);
                same(&reader, &scan, filled);
            }
        }
    }
}

/// A file with a column of each of these values, uncompressed or not.
fn file(columns: Vec<(Type, Values)>, compression: Compression, rows_per_block: u64) -> NamedTempFile {
    let schemas = columns.iter().enumerate().map(|(i, (kind, _))| ColumnSchema::new(format!("c{i}"), kind.clone()));
    let options = WriterOptions::default().with_compression(compression).with_rows_per_block(rows_per_block);
    let file = NamedTempFile::new().unwrap();
    let mut writer = Writer::new(file.as_file(), Schema::new(schemas), options).unwrap();
    let slices: Vec<_> = columns.iter().map(|(_, values)| ColumnSlice::from(values)).collect();
    writer.append_columns(&slices).unwrap();
    writer.into_inner().unwrap();
    file
}

fn tensors(rows: usize) -> Values {
    let mut vectors = Vectors::of(ItemType::Single);
    for row in 0..rows {
        if let Values::Single(items) = vectors.items_mut() {
            items.extend([row as f32, -1.0, 0.5, 7.0]);
        }
        vectors.close_dense().unwrap();
    }
    Values::Vector(Box::new(vectors))
}

#[test]
fn numbers_of_a_mapped_file_are_zero_copy() {
    let rows = 20_000;
    let numbers = || {
        vec![
            (Type::Item(ItemType::Double), Values::Double((0..rows).map(|x| x as f64).collect())),
            (Type::Item(ItemType::Single), Values::Single((0..rows).map(|x| x as f32).collect())),
            (Type::Item(ItemType::RowId), Values::RowId((0..rows as u128).collect())),
            (Type::Item(ItemType::Boolean), Values::Boolean((0..rows).map(|x| x % 3 == 0).collect())),
        ]
    };
    let vectors = || vec![(Type::Vector { item: ItemType::Single, dimensions: vec![2, 2] }, tensors(rows))];
    for (columns, compression, shared) in [
        (numbers(), Compression::None, true),
        (vectors(), Compression::None, true),
        (numbers(), Compression::Deflate, false),
        (vectors(), Compression::Deflate, false),
    ] {
        let file = file(columns, compression, 8192);
        let reader =
            Reader::open_with(file.path(), OpenOptions::default().with_access(container_core::testkit::mapped()))
                .unwrap();
        let mapping = reader.source().as_slice().unwrap().as_ptr_range();
        let batches = same(&reader, &BatchScan::default(), true);
        assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [8192, 8192, rows - 2 * 8192]);
        for column in batches.iter().flat_map(RecordBatch::columns) {
            let data = column.to_data();
            let data = data.child_data().first().cloned().unwrap_or(data);
            assert_eq!(mapping.contains(&data.buffers()[0].as_ptr()), shared, "{compression}, {}", data.data_type());
        }
    }
}

#[test]
fn multidimensional_tensors_have_the_extension_type() {
    let file =
        file(vec![(Type::Vector { item: ItemType::Single, dimensions: vec![2, 2] }, tensors(3))], Compression::None, 8);
    let reader = Reader::open(file.path()).unwrap();
    let schema = reader.arrow_schema(&BatchScan::default()).unwrap();
    let tensor: FixedShapeTensor = schema.field(0).extension_type();
    assert_eq!(tensor, FixedShapeTensor::try_new(DataType::Float32, [2, 2], None, None).unwrap());
}

#[test]
fn batches_obey_row_and_byte_limits() {
    let columns = || vec![(Type::Vector { item: ItemType::Single, dimensions: vec![4] }, tensors(5000))];
    // Large blocks are cut, small ones joined.
    let lengths = |per_block, scan: &BatchScan| {
        let file = file(columns(), Compression::Deflate, per_block);
        let batches = same(&Reader::open(file.path()).unwrap(), scan, true);
        batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>()
    };
    let scan = BatchScan::default;
    assert_eq!(lengths(5000, &scan()), [5000]);
    assert_eq!(lengths(5000, &scan().with_batch_rows(2000)), [2000, 2000, 1000]);
    assert_eq!(lengths(5000, &scan().with_batch_bytes(1600 * 16)), [1600, 1600, 1600, 200]);
    assert_eq!(lengths(5000, &scan().with_batch_bytes(0).with_batch_rows(1 << 20)), [1; 5000]);
    assert_eq!(lengths(1, &scan().with_batch_rows(8000)), [1000; 5]);
    assert_eq!(lengths(1, &scan().with_batch_bytes(8 * 16 * 100)), [100; 50]);
    assert_eq!(lengths(300, &scan().with_batch_rows(2400)), [[300; 16].as_slice(), &[200]].concat());
    assert_eq!(lengths(300, &scan().with_batch_rows(2408)), [[600; 8].as_slice(), &[200]].concat());
}

#[test]
fn number_of_threads_does_not_change_output() {
    for path in golden() {
        let reader = Reader::open(&path).unwrap();
        let read = |threads| {
            let mut scan = ticks(Sparse::Lists).with_batch_rows(50);
            scan.scan = Scan::default().with_threads(threads);
            batches(&reader, &scan).0
        };
        let one = read(1);
        for threads in [0, 2, 7] {
            assert_eq!(read(threads), one, "{}", path.display());
        }
    }
}

/// The error of reading a file, which ends it.
fn error_of(reader: &Reader, scan: &BatchScan) -> String {
    let mut record_batches = reader.record_batches(scan).unwrap();
    let error = loop {
        match record_batches.try_next() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("no error"),
            Err(error) => break error,
        }
    };
    assert!(record_batches.next().is_none() && record_batches.next().is_none());
    format!("{:?} {error}", error.kind())
}

#[test]
fn too_precise_times_are_errors_or_losses() {
    let day = 864_000_000_000;
    let mut zoned = DateTimeOffsets::default();
    zoned.ticks = vec![621_355_968_000_000_000 + 36_000_000_000, i64::MIN, 637_000_000_000_000_007];
    zoned.minutes = vec![60, i16::MIN, -90];
    let columns = || {
        vec![
            (Type::Item(ItemType::DateTime), Values::DateTime(vec![0, i64::MIN, 637_000_000_000_000_001])),
            (Type::Item(ItemType::TimeSpan), Values::TimeSpan(vec![day, -10, -11])),
            (Type::Item(ItemType::DateTimeOffset), Values::DateTimeOffset(zoned.clone())),
        ]
    };
    let file = file(columns(), Compression::None, 8);
    let reader = Reader::open(file.path()).unwrap();
    let scan = |column: usize, times| {
        BatchScan::from(Scan::default().with_columns([column])).with_mapping(Mapping::default().with_times(times))
    };
    let options = "times floor, nanoseconds or ticks accepts it";
    let texts = ["2019-07-29T12:26:40.0000001", "-PT0.0000011S", "2019-07-29T13:56:40.0000007"];
    for (column, text) in texts.into_iter().enumerate() {
        let expected = format!(
            "Invalid idv: {text} is more precise than a microsecond; {options} (block 0, row 2, column \"c{column}\")"
        );
        assert_eq!(error_of(&reader, &scan(column, Times::Exact)), expected);
        // Unselected rows are not converted.
        let mut fewer = scan(column, Times::Exact);
        fewer.scan = fewer.scan.with_rows(0..2);
        assert_eq!(batches(&reader, &fewer).0[0].num_rows(), 2);
        // Rounded down and reported.
        let mut record_batches = reader.record_batches(&scan(column, Times::Floor)).unwrap();
        record_batches.try_next().unwrap().unwrap();
        let reported = format!("time truncated to the microsecond (row 2, column \"c{column}\")");
        assert_eq!(record_batches.losses().iter().map(ToString::to_string).collect::<Vec<_>>(), [reported]);
    }
    let truncated = |column| {
        let batch = reader.record_batches(&scan(column, Times::Floor)).unwrap().try_next().unwrap().unwrap();
        Arc::clone(batch.column(0))
    };
    let times = truncated(0);
    assert_eq!(times.as_primitive::<TimestampMicrosecondType>().value(0), -62_135_596_800_000_000);
    assert!(times.is_null(1));
    assert_eq!(truncated(1).as_primitive::<DurationMicrosecondType>().values()[..], [86_400_000_000, -1, -2]);
    let zoned = truncated(2);
    assert!(zoned.is_null(1));
    let parts = zoned.as_struct();
    assert_eq!(parts.column(0).as_primitive::<TimestampMicrosecondType>().value(0), 0);
    assert_eq!(parts.column(1).as_primitive::<Int16Type>().values()[..], [60, 0, -90]);
    assert_eq!(
        error_of(&reader, &scan(0, Times::Nanoseconds)),
        "Invalid idv: 0001-01-01T00:00:00 is out of the range of nanoseconds, 1677-09-21 to 2262-04-11; \
         times floor or ticks accepts it (block 0, row 0, column \"c0\")"
    );
    same(&reader, &scan(1, Times::Nanoseconds), true);
    same(&reader, &scan(2, Times::Nanoseconds), true);
}

#[test]
fn keys_above_their_count_are_counted() {
    let path = golden().into_iter().find(|path| path.file_stem().unwrap() == "key-above-count").unwrap();
    let reader = Reader::open(path).unwrap();
    let mut rows = reader.rows(&Scan::default()).unwrap();
    while rows.advance().unwrap() {}
    let mut record_batches = reader.record_batches(&BatchScan::default()).unwrap();
    while record_batches.try_next().unwrap().is_some() {}
    let reported = |losses: Vec<Loss>| losses.iter().map(|loss| (loss.count, loss.first.clone())).collect::<Vec<_>>();
    assert!(!rows.losses().is_empty());
    assert_eq!(reported(record_batches.losses()), reported(rows.losses()));
    assert!(record_batches.losses()[0].to_string().starts_with("key above its count shown as null ("));
}

#[test]
fn unreadable_columns_are_left_out_unless_selected() {
    let mut forge = three_numbers();
    forge.columns.push(Column::new("odd", Codec::plain("Novel"), NONE, 3).block(vec![1, 2, 3]));
    let reader = open(forge.bytes()).unwrap();
    let mut record_batches = reader.record_batches(&BatchScan::default()).unwrap();
    assert_eq!(record_batches.try_next().unwrap().unwrap().num_columns(), 1);
    let losses = record_batches.losses();
    assert_eq!(losses.len(), 1);
    assert!(losses[0].what.starts_with("column left out (unknown codec \"Novel\""), "{}", losses[0]);
    let error = reader.record_batches(&BatchScan::from(Scan::default().with_columns([1]))).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let error = reader.record_batches(&BatchScan::from(Scan::default().with_columns([2]))).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    let schema = reader.arrow_schema(&BatchScan::default()).unwrap();
    let error = reader.arrow_schema(&BatchScan::default().with_schema(schema)).unwrap_err();
    says(&error, "usage", "idv: IDV columns have fixed types: a schema cannot be declared");
}

#[test]
fn damaged_block_ends_the_scan_after_intact_rows() {
    let mut column = Column::new("numbers", Codec::plain("Int32"), DEFLATE, 3);
    for block in 0..5i32 {
        let bytes: Vec<u8> = (0..3).flat_map(|row| (block * 3 + row).to_le_bytes()).collect();
        column = column.block(if block == 3 { bytes[..11].to_vec() } else { bytes });
    }
    let reader = open(Forge::new(6, 15).column(column).bytes()).unwrap();
    for threads in [1, 0] {
        for rows in [1 << 16, 3, 2] {
            let mut scan = BatchScan::default().with_batch_rows(rows);
            scan.scan = Scan::default().with_threads(threads);
            let mut record_batches = reader.record_batches(&scan).unwrap();
            let mut row_count = 0;
            let error = loop {
                match record_batches.next().unwrap() {
                    Ok(batch) => row_count += batch.num_rows(),
                    Err(error) => break from_arrow(error),
                }
            };
            assert_eq!(row_count, 9, "{threads} threads");
            let position = error.position();
            assert_eq!((position.block, position.column.as_deref()), (Some(3), Some("numbers")));
            assert!(position.byte.is_some() && matches!(error.kind(), ErrorKind::Truncated { .. }), "{error}");
            assert!(record_batches.next().is_none() && record_batches.next().is_none());
        }
    }
}

#[test]
fn long_sparse_vectors_take_bounded_memory() {
    let mut vectors = Vectors::of(ItemType::Single);
    for _ in 0..3 {
        if let Values::Single(items) = vectors.items_mut() {
            items.push(1.5);
        }
        vectors.close_sparse(0x7FFF_FFFF, &[5]).unwrap();
    }
    let columns =
        vec![(Type::Vector { item: ItemType::Single, dimensions: vec![0] }, Values::Vector(Box::new(vectors)))];
    let file = file(columns, Compression::None, 8);
    let reader = Reader::open(file.path()).unwrap();
    assert_eq!(
        error_of(&reader, &BatchScan::default()),
        "Limit { asked: 8589934592, limit: 40265318 } idv: bytes of a row with its sparse vectors made dense \
         8589934592 exceeds the limit 40265318 (row 0, column \"c0\")"
    );
    same(&reader, &ticks(Sparse::Structs), false);
}

#[test]
fn container_batches_can_move_between_threads() {
    fn is_sent<T: Send + 'static>(value: T) -> T {
        value
    }
    let reader = open(three_numbers().bytes()).unwrap();
    let record_batches = is_sent(reader.record_batches(&BatchScan::default()).unwrap());
    drop(reader);
    assert_eq!(
        std::thread::spawn(move || record_batches.map(|batch| batch.unwrap().num_rows()).sum::<usize>())
            .join()
            .unwrap(),
        3
    );
    let container = IdvContainer::new(open(three_numbers().bytes()).unwrap());
    let table = container.arrow().unwrap();
    let mut record_batches = table.batches(&BatchScan::default()).unwrap();
    assert_eq!(record_batches.schema(), table.schema(&BatchScan::default()).unwrap());
    assert_eq!(record_batches.try_next().unwrap().unwrap().num_rows(), 3);
}
