//! Merging: which blocks are copied, and that values do not change.

use std::io::Cursor;

use container_core::{Scan, Severity, Source, VerifyOptions};
use idv::{
    ColumnSchema, Compression, ItemType, KeyType, KeyWidth, OpenOptions, Reader, Schema, Type, Values, Writer,
    WriterOptions, merge,
};

fn opened(bytes: Vec<u8>) -> Reader {
    Reader::from_source(Source::from(bytes), OpenOptions::default()).unwrap()
}

fn schema() -> Schema {
    let key = ItemType::Key(KeyType::new(KeyWidth::Byte, 3).unwrap());
    Schema::new([
        ColumnSchema::new("n", Type::Item(ItemType::Int64)),
        ColumnSchema::new("t", Type::Item(ItemType::Text)),
        ColumnSchema::new("k", Type::Item(key)).with_key_values(["a", "b", "c"]).unwrap(),
    ])
}

/// Rows from `first` on, in blocks of `per_block`.
fn file(first: i64, rows: i64, per_block: u64) -> Reader {
    file_with(schema(), first, rows, WriterOptions::default().with_rows_per_block(per_block))
}

fn file_with(schema: Schema, first: i64, rows: i64, options: WriterOptions) -> Reader {
    let mut writer = Writer::new(Cursor::new(Vec::new()), schema, options).unwrap();
    let numbers = Values::Int64((first..first + rows).collect());
    let mut texts = Values::of(&Type::Item(ItemType::Text));
    let mut keys = Vec::new();
    for n in first..first + rows {
        let Values::Text(texts) = &mut texts else { unreachable!("it was made of texts") };
        texts.push(&format!("text {n}")).unwrap();
        keys.push(u8::try_from(n.rem_euclid(4)).unwrap());
    }
    writer.append_columns(&[(&numbers).into(), (&texts).into(), (&Values::Byte(keys)).into()]).unwrap();
    opened(writer.into_inner().unwrap().into_inner())
}

fn numbers(reader: &Reader) -> Vec<i64> {
    let mut all = Vec::new();
    let mut rows = reader.rows(&Scan::default()).unwrap();
    while let Some(row) = rows.try_next().unwrap() {
        let idv::Value::Int64(n) = row.get(0).unwrap() else { panic!("no Int64") };
        let idv::Value::Text(text) = row.get(1).unwrap() else { panic!("no text") };
        assert_eq!(text, format!("text {n}"));
        all.push(n);
    }
    all
}

/// Merges, checks the result, and returns the numbers of copied and re-encoded blocks.
#[track_caller]
fn merged(files: &[Reader], options: WriterOptions) -> (Reader, u64, u64) {
    let (out, copied) = merge(files, Cursor::new(Vec::new()), options).unwrap();
    let reader = opened(out.into_inner());
    let mut errors = Vec::new();
    let report = &mut |finding: container_core::Finding| {
        if finding.severity == Severity::Error {
            errors.push(finding.error.to_string());
        }
    };
    reader.verify(&VerifyOptions::default(), report).unwrap();
    assert_eq!(errors, Vec::<String>::new());
    let expected: Vec<i64> = files.iter().flat_map(numbers).collect();
    assert_eq!(numbers(&reader), expected);
    (reader, copied.copied, copied.reencoded)
}

#[test]
fn full_blocks_are_copied() {
    let files = [file(0, 300, 100), file(300, 200, 100), file(500, 250, 100)];
    let (reader, copied_blocks, reencoded) = merged(&files, WriterOptions::default());
    assert_eq!((copied_blocks, reencoded), (3 * (3 + 2 + 2), 3));
    assert_eq!(reader.columns()[0].rows_per_block(), 100);
    assert_eq!(reader.columns()[2].kind(), files[0].columns()[2].kind());
    assert!(reader.schema(None).unwrap() == files[0].schema(None).unwrap());
}

#[test]
fn reencodes_after_a_partial_block() {
    let files = [file(0, 200, 100), file(200, 150, 100), file(350, 300, 100)];
    let (_, copied_blocks, reencoded) = merged(&files, WriterOptions::default());
    assert_eq!((copied_blocks, reencoded), (3 * (2 + 1), 3 * (1 + 3)));
    // Aligned again by chance: copied again.
    let files = [file(0, 150, 100), file(150, 150, 100), file(300, 100, 100)];
    let (_, copied_blocks, reencoded) = merged(&files, WriterOptions::default());
    assert_eq!((copied_blocks, reencoded), (3 * (1 + 1), 3 * (1 + 2)));
}

#[test]
fn keeps_single_blocks_of_equal_length() {
    let files: Vec<_> = (0..4).map(|n| file(n * 600, 600, 8192)).collect();
    let (reader, copied_blocks, reencoded) = merged(&files, WriterOptions::default());
    assert_eq!((copied_blocks, reencoded, reader.columns()[0].rows_per_block()), (12, 0, 600));
    // Short ones would make bad blocks.
    let files: Vec<_> = (0..4).map(|n| file(n * 60, 60, 8192)).collect();
    let (reader, _, _) = merged(&files, WriterOptions::default());
    assert_eq!(reader.columns()[0].block_count(), 4);
    let options = WriterOptions::default().with_rows_per_block(8192);
    let (reader, copied_blocks, reencoded) = merged(&files, options);
    assert_eq!((copied_blocks, reencoded, reader.columns()[0].block_count()), (0, 12, 1));
}

#[test]
fn reencodes_other_compression_or_block_size() {
    let mut stored = schema();
    stored.columns[1].compression = Some(Compression::None);
    let options = WriterOptions::default().with_rows_per_block(100);
    let files = [file(0, 200, 100), file_with(stored, 200, 200, options)];
    let (reader, copied_blocks, reencoded) = merged(&files, WriterOptions::default());
    assert_eq!((copied_blocks, reencoded), (3 * 2 + 2 * 2, 2));
    assert_eq!(reader.columns()[1].compression(), Some(Compression::Deflate));
    let files = [file(0, 200, 100), file(200, 200, 50)];
    let (_, copied_blocks, reencoded) = merged(&files, WriterOptions::default());
    assert_eq!((copied_blocks, reencoded), (6, 12));
}

#[test]
fn merges_empty_files_and_a_single_file() {
    let files = [file(0, 0, 100), file(0, 200, 100), file(200, 0, 100), file(200, 100, 100)];
    let (_, copied_blocks, reencoded) = merged(&files, WriterOptions::default());
    assert_eq!((copied_blocks, reencoded), (9, 0));
    let (reader, _, _) = merged(&files[..1], WriterOptions::default());
    assert_eq!(reader.row_count(), 0);
    let one = [file(0, 250, 100)];
    let (reader, copied_blocks, reencoded) = merged(&one, WriterOptions::default());
    assert_eq!((copied_blocks, reencoded), (6, 3));
    assert_eq!(reader.source().as_slice(), one[0].source().as_slice(), "a file alone is the same file");
    let error = merge(&[], Cursor::new(Vec::new()), WriterOptions::default()).err().unwrap();
    assert_eq!(error.to_string(), "idv: no files to merge");
}

#[test]
fn rejects_different_schemas_with_difference() {
    let check = |change: &dyn Fn(&mut Schema), expected: &str| {
        let mut other = schema();
        change(&mut other);
        let difference = schema().difference(&other).map(|difference| difference.to_string());
        assert_eq!(difference.as_deref(), Some(expected));
    };
    check(&|s| s.columns[0].kind = Type::Item(ItemType::Int32), "column \"n\": expected type Int64, found Int32");
    check(&|s| s.columns[1].name = "x".into(), "column \"t\" is missing, column \"x\" is unexpected");
    check(&|s| drop(s.columns.pop()), "column \"k\" is missing");
    check(
        &|s| s.columns.swap(0, 1),
        "the columns are in a different order: expected column \"n\" at index 0, found \"t\"",
    );
    check(&|s| s.columns[2].metadata.clear(), "column \"k\": metadata \"KeyValues\": missing");
    check(
        &|s| {
            let column = ColumnSchema::new("k", s.columns[2].kind.clone());
            s.columns[2] = column.with_key_values(["a", "B", "c"]).unwrap();
        },
        "column \"k\": metadata \"KeyValues\": item 1: expected \"b\", found \"B\"",
    );
    check(
        &|s| {
            let column = s.columns[0].clone();
            s.columns[0] =
                column.with_metadata("IsNormalized", Type::Item(ItemType::Boolean), Values::Boolean(vec![true]));
        },
        "column \"n\": metadata \"IsNormalized\": unexpected",
    );
    check(
        &|s| s.columns.iter_mut().for_each(|column| column.name = "x".into()),
        "columns \"n\", \"t\", \"k\" are missing, columns \"x\", \"x\", \"x\" are unexpected",
    );
    assert_eq!(schema().difference(&schema()), None);

    let mut other = schema();
    other.columns[2].metadata.clear();
    let files = [file(0, 10, 100), file_with(other, 0, 10, WriterOptions::default())];
    let error = merge(&files, Cursor::new(Vec::new()), WriterOptions::default()).err().unwrap();
    assert_eq!(error.to_string(), "idv: file 1: the schema differs: metadata \"KeyValues\": missing (column \"k\")");
}

#[test]
fn chooses_block_size_for_few_rows() {
    let files = [file(0, 60, 100), file(60, 30, 100)];
    let (reader, copied_blocks, _) = merged(&files, WriterOptions::default().with_rows_per_block(8192));
    assert_eq!((copied_blocks, reader.columns()[0].rows_per_block()), (0, 90));
}

#[test]
fn number_of_threads_does_not_change_output() {
    let files = [file(0, 5000, 64), file(5000, 777, 64), file(5777, 3000, 64)];
    let with = |threads| {
        let options = WriterOptions::default().with_threads(threads);
        merge(&files, Cursor::new(Vec::new()), options).unwrap().0.into_inner()
    };
    assert!(with(1) == with(3) && with(1) == with(0));
}

#[test]
fn rejects_overlapping_blocks() {
    let one = file(0, 500, 100);
    let mut bytes = one.source().as_slice().unwrap().to_vec();
    let toc = usize::try_from(one.header().toc_offset).unwrap();
    // The lookup tables end where the metadata of the last column begin: the first five entries are of the first column.
    let first = (256..toc).find(|&at| bytes[at..at + 8] == 256_i64.to_le_bytes()).unwrap();
    // All blocks of texts become the longest stretch there is.
    for entry in 5..10 {
        let at = first + 16 * entry;
        bytes[at..at + 8].copy_from_slice(&256_i64.to_le_bytes());
        let len = i32::try_from(first - 256).unwrap();
        bytes[at + 8..at + 12].copy_from_slice(&len.to_le_bytes());
    }
    let error = merge(&[opened(bytes)], Cursor::new(Vec::new()), WriterOptions::default()).err().unwrap();
    assert!(error.to_string().contains("blocks or lookup tables overlap"), "{error}");
}

/// Overlapping lookup tables count like blocks: otherwise empty blocks could be listed without end.
#[test]
fn rejects_overlapping_lookup_tables() {
    let one = Reader::from_source(Source::from(shared_tables(2000, 2000)), OpenOptions::default()).unwrap();
    let error = merge(&[one], Cursor::new(Vec::new()), WriterOptions::default()).err().unwrap();
    assert!(error.to_string().contains("blocks or lookup tables overlap"), "{error}");
}

/// A file of columns sharing a lookup table of empty blocks.
fn shared_tables(columns: usize, blocks: usize) -> Vec<u8> {
    let options = WriterOptions::default().with_compression(Compression::None).with_rows_per_block(1);
    let columns = (0..columns).map(|n| ColumnSchema::new(n.to_string(), Type::Item(ItemType::Byte)));
    let mut writer = Writer::new(Cursor::new(Vec::new()), Schema::new(columns), options).unwrap();
    let values = Values::Byte(vec![0]);
    writer.append_columns(&vec![(&values).into(); writer.schema().columns.len()]).unwrap();
    let bytes = writer.into_inner().unwrap().into_inner();
    // The table goes before everything that is copied from the sound file, from its table of contents on.
    let toc = usize::try_from(opened(bytes.clone()).header().toc_offset).unwrap();
    let mut out = bytes[..256].to_vec();
    for _ in 0..blocks {
        out.extend([256_i64.to_le_bytes().as_slice(), &[0; 8]].concat());
    }
    let new_toc = out.len();
    out.extend(&bytes[toc..]);
    // Each entry ends with the offsets of its table and of its metadata.
    let mut at = new_toc;
    let tail = out.len() - 8;
    while at < tail {
        let name = 1 + usize::from(out[at]);
        let codec = 1 + usize::from(out[at + name]);
        let place = at + name + codec + 3;
        out[place..place + 8].copy_from_slice(&256_i64.to_le_bytes());
        at = place + 16;
    }
    for (at, value) in [(24, new_toc), (32, tail), (40, blocks)] {
        out[at..at + 8].copy_from_slice(&i64::try_from(value).unwrap().to_le_bytes());
    }
    out
}

/// A single block may declare any number of rows; written files declare at most what ML.NET reads.
#[test]
fn rows_per_block_obey_the_mlnet_limit() {
    let sound = file(0, 3, 0x7FFF_FFFF);
    let mut bytes = sound.source().as_slice().unwrap().to_vec();
    let mut at = usize::try_from(sound.header().toc_offset).unwrap();
    for _ in 0..3 {
        // Compression, rows per block, and a table offset below 65,536.
        at += (at..).find(|&at| bytes[at..at + 2] == [1, 3] && bytes[at + 4..at + 10] == [0; 6]).unwrap() - at + 1;
        bytes.splice(at..=at, [0xFF, 0xFF, 0xFF, 0xFF, 0x7F]);
    }
    let tail = i64::try_from(bytes.len() - 8).unwrap();
    bytes[32..40].copy_from_slice(&tail.to_le_bytes());
    let one = || opened(bytes.clone());
    assert_eq!(one().columns()[0].rows_per_block(), 0x7_FFFF_FFFF);
    let (reader, copied_blocks, _) = merged(&[one()], WriterOptions::default());
    assert_eq!((reader.columns()[0].rows_per_block(), copied_blocks), (3, 3));
    let (reader, ..) = merged(&[one(), one()], WriterOptions::default());
    assert!(reader.columns()[0].rows_per_block() <= 0x7FFF_FFFF);
    let mut writer = Writer::new(Cursor::new(Vec::new()), schema(), WriterOptions::default()).unwrap();
    writer.append_blocks(&one(), None).unwrap();
    let reader = opened(writer.into_inner().unwrap().into_inner());
    assert_eq!((reader.columns()[0].rows_per_block(), numbers(&reader)), (3, vec![0, 1, 2]));
}

#[test]
fn single_block_files_at_the_size_limit() {
    // 512 rows are enough for blocks of their own, and the last may have as many.
    let (_, copied_blocks, reencoded) = merged(&[file(0, 512, 1000), file(512, 512, 1000)], WriterOptions::default());
    assert_eq!((copied_blocks, reencoded), (6, 0));
    // Equally many rows in more than one block each: only the first file's full ones.
    let (reader, copied_blocks, _) = merged(&[file(0, 700, 500), file(700, 700, 500)], WriterOptions::default());
    assert_eq!((reader.columns()[0].rows_per_block(), copied_blocks), (500, 3));
}

#[test]
fn requested_block_size_overrides_copying() {
    let options = WriterOptions::default().with_rows_per_block(500);
    let (reader, copied_blocks, reencoded) = merged(&[file(0, 500, 100)], options);
    assert_eq!((reader.columns()[0].rows_per_block(), copied_blocks, reencoded), (500, 0, 15));
    let options = WriterOptions::default().with_bytes_per_block(200);
    let (reader, copied_blocks, _) = merged(&[file(0, 500, 100)], options);
    assert!(reader.columns()[0].rows_per_block() < 20, "{:?}", reader.columns()[0].rows_per_block());
    assert_eq!(copied_blocks, 0);
}
