//! Recovery of truncated and damaged files.

#![allow(clippy::single_range_in_vec_init, reason = "lists of ranges")]

use std::fs;
use std::io::Cursor;
use std::ops::Range;

use container_core::{Loss, Scan, Severity, Source, VerifyOptions};
use idv::{ItemType, KeyType, KeyWidth, OpenOptions, Reader, RecoverOptions, Recovery, Type, WriterOptions};

fn golden(name: &str) -> Vec<u8> {
    fs::read(format!("{}/../../tests/golden/idv/{name}.idv", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn opened(bytes: &[u8]) -> Reader {
    Reader::from_source(Source::from(bytes.to_vec()), OpenOptions::default()).unwrap()
}

fn survey(bytes: &[u8]) -> Recovery {
    Recovery::survey(Source::from(bytes.to_vec()), &RecoverOptions::default()).unwrap()
}

/// Writes the intact part and verifies the new file.
#[track_caller]
fn written(recovery: &Recovery) -> (Reader, Vec<String>) {
    let (out, losses) = recovery.write(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
    let reader = opened(out.get_ref());
    let mut errors = Vec::new();
    let report = &mut |finding: container_core::Finding| {
        if finding.severity == Severity::Error {
            errors.push(finding.error.to_string());
        }
    };
    reader.verify(&VerifyOptions::default(), report).unwrap();
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!(reader.row_count(), recovery.row_count());
    (reader, losses.iter().map(Loss::to_string).collect())
}

/// Rows as JSON, of these columns.
fn lines(reader: &Reader, names: &[&str], rows: &[Range<u64>]) -> Vec<String> {
    let columns: Vec<_> = names.iter().map(|name| reader.column(name).unwrap().index()).collect();
    let mut lines = Vec::new();
    for range in rows {
        let scan = Scan::default().with_columns(columns.clone()).with_rows(range.clone());
        let mut rows = reader.rows(&scan).unwrap();
        while let Some(row) = rows.try_next().unwrap() {
            let mut line = Vec::new();
            row.json(&mut line).unwrap();
            lines.push(String::from_utf8(line).unwrap());
        }
    }
    lines
}

/// The offset of a column's block in an ML.NET file, which has the blocks of the same rows consecutively.
fn block_of(bytes: &[u8], column: usize, block: u64) -> Range<usize> {
    let number = |at: usize| i64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    // The lookup tables follow the last block, in column order.
    let reader = opened(bytes);
    let blocks = reader.columns()[column].block_count();
    let ends: Vec<_> = (0..reader.columns().len()).map(|index| reader.columns()[index].block_count() * 16).collect();
    let before: u64 = ends[..column].iter().sum();
    assert!(block < blocks);
    let first = lookup_start(bytes);
    let entry = first + usize::try_from(before + block * 16).unwrap();
    let start = usize::try_from(number(entry)).unwrap();
    let len = i32::from_le_bytes(bytes[entry + 8..entry + 12].try_into().unwrap());
    start..start + usize::try_from(len).unwrap()
}

/// Offset of the lookup tables: the first entry is that of the first block, right after the header.
fn lookup_start(bytes: &[u8]) -> usize {
    (256..bytes.len() - 16).find(|&at| bytes[at..at + 8] == 256_i64.to_le_bytes()).unwrap()
}

#[test]
fn recovers_intact_file_completely() {
    for name in
        ["real-adult", "scalar-mixed-none", "block-rows-7", "empty-rows", "annotation-vectors", "key-above-count"]
    {
        let bytes = golden(name);
        let recovery = survey(&bytes);
        let (reader, losses) = written(&recovery);
        let source = opened(&bytes);
        assert!(recovery.findings().is_empty(), "{name}");
        if name == "key-above-count" {
            assert!(losses.iter().all(|loss| loss.contains("invalid value written as missing (")), "{losses:?}");
            assert!(!losses.is_empty());
            continue;
        }
        assert_eq!(losses, Vec::<String>::new(), "{name}");
        let names = recovery.column_names();
        assert_eq!(lines(&reader, &names, &[0..reader.row_count()]), lines(&source, &names, recovery.rows()), "{name}");
        assert!(reader.schema(None).unwrap() == source.schema(None).unwrap(), "{name}");
    }
}

#[test]
fn drops_rows_when_that_loses_least() {
    // 14 columns with blocks of 200, 200 and 100 rows: three damaged columns of the last block.
    let mut bytes = golden("real-adult");
    let source = opened(&bytes);
    for column in [1, 2, 13] {
        let at = block_of(&bytes, column, 2).start;
        bytes[at..at + 8].fill(0xFF);
    }
    let recovery = survey(&bytes);
    assert_eq!(recovery.rows(), [0..400]);
    let (reader, losses) = written(&recovery);
    let names = recovery.column_names();
    assert_eq!(names.len(), 14);
    assert_eq!(lines(&reader, &names, &[0..400]), lines(&source, &names, &[0..400]));
    assert_eq!(losses.len(), 3);
    assert!(losses[0].starts_with("rows of 1 damaged block lost (byte "), "{losses:?}");
    assert!(losses[0].ends_with("(100 times, first row 400, column \"occupation\")"), "{losses:?}");
}

#[test]
fn drops_column_when_that_loses_least_unless_selected() {
    let mut bytes = golden("real-adult");
    let source = opened(&bytes);
    let at = block_of(&bytes, 13, 0).start;
    bytes[at..at + 8].fill(0xFF);
    let recovery = survey(&bytes);
    assert_eq!((recovery.column_names().len(), recovery.rows()), (13, &[0..500][..]));
    let (_, losses) = written(&recovery);
    assert!(losses[0].starts_with("column left out: 200 of its 500 rows are damaged (byte "), "{losses:?}");

    let options = RecoverOptions::default().with_columns(["Features", "Label"]);
    let recovery = Recovery::survey(Source::from(bytes.clone()), &options).unwrap();
    assert_eq!((recovery.column_names(), recovery.rows()), (vec!["Features", "Label"], &[200..500][..]));
    let (reader, _) = written(&recovery);
    let names = ["Features", "Label"];
    assert_eq!(lines(&reader, &names, &[0..300]), lines(&source, &names, &[200..500]));
    let error = Recovery::survey(Source::from(bytes), &RecoverOptions::default().with_columns(["x"])).err().unwrap();
    assert_eq!(error.to_string(), "idv: unknown column \"x\"");
    let options = RecoverOptions::default().with_columns(["Label", "Label"]);
    let error = Recovery::survey(Source::from(golden("real-adult")), &options).err().unwrap();
    assert_eq!(error.to_string(), "idv: column \"Label\" is selected twice");
}

#[test]
fn recovers_file_truncated_after_the_table_of_contents() {
    let bytes = golden("real-adult");
    let whole = opened(&bytes);
    let tail = bytes.len() - 8;
    for len in tail..bytes.len() {
        let recovery = survey(&bytes[..len]);
        let (reader, losses) = written(&recovery);
        assert_eq!((reader.row_count(), losses.len()), (500, 0));
        let finding = recovery.findings()[0].to_string();
        assert_eq!(
            finding,
            format!(
                "idv: the file is truncated: its tail should be at byte {tail}, the file has {len} bytes (byte 32)"
            )
        );
    }
    assert_eq!(whole.row_count(), 500);
}

#[test]
fn truncated_table_of_contents_loses_columns() {
    let bytes = golden("real-adult");
    let recovery = survey(&bytes[..bytes.len() - 100]);
    let (reader, losses) = written(&recovery);
    assert_eq!((reader.columns().len(), reader.row_count()), (12, 500));
    assert_eq!(losses, Vec::<String>::new());
    let findings: Vec<_> = recovery.findings().iter().map(ToString::to_string).collect();
    assert_eq!(findings.len(), 2, "{findings:?}");
    assert!(findings[1].contains("the table of contents is damaged: the last 2 columns of 14"), "{findings:?}");
}

#[test]
fn lost_table_of_contents_is_fatal() {
    let bytes = golden("real-adult");
    let error = Recovery::survey(Source::from(bytes[..12_000].to_vec()), &RecoverOptions::default()).err().unwrap();
    assert_eq!(
        error.to_string(),
        "idv: the table of contents is lost (at byte 15391 of 12000), and with it column names, types and block locations \
         (byte 24)"
    );
    let error = Recovery::survey(Source::from(vec![0; 1000]), &RecoverOptions::default()).err().unwrap();
    assert!(error.to_string().contains("the signature is"), "{error}");
    let error = Recovery::survey(Source::from(vec![1; 10]), &RecoverOptions::default()).err().unwrap();
    assert_eq!(error.to_string(), "idv: the header: needs 256 bytes, 10 available (byte 0)");
}

#[test]
fn reports_damaged_metadata_and_keeps_the_rest() {
    let mut bytes = golden("real-adult");
    // The block of KeyValues of the third column.
    bytes[13_393..13_400].fill(0xFF);
    let recovery = survey(&bytes);
    let (reader, losses) = written(&recovery);
    assert_eq!(reader.row_count(), 500);
    assert_eq!(losses.len(), 1);
    assert!(losses[0].starts_with("metadata lost (metadata \"KeyValues\": "), "{losses:?}");
    assert!(reader.metadata(2).unwrap().is_empty());
    assert_eq!(reader.metadata(3).unwrap().len(), 1);
}

#[test]
fn recovered_files_are_valid_after_any_damage() {
    for name in ["block-rows-7", "scalar-mixed-none", "vector-varying-blocks", "annotation-some"] {
        let bytes = golden(name);
        for len in (0..bytes.len()).step_by(7) {
            if let Ok(recovery) = Recovery::survey(Source::from(bytes[..len].to_vec()), &RecoverOptions::default()) {
                written(&recovery);
            }
        }
        let mut changed = bytes.clone();
        for at in 0..bytes.len() {
            for bit in [0x01, 0x80] {
                changed[at] ^= bit;
                let options = RecoverOptions::default().with_threads(1);
                let survey = Recovery::survey(Source::from(changed.clone()), &options);
                let write = WriterOptions::default().with_threads(1);
                if let Ok((out, _)) = survey.and_then(|recovery| recovery.write(Cursor::new(Vec::new()), write)) {
                    opened(out.get_ref());
                }
                changed[at] ^= bit;
            }
        }
    }
}

#[test]
fn schema_replaces_lost_table_of_contents() {
    for name in ["real-adult", "vector-varying-blocks", "text-unicode", "block-rows-7"] {
        let bytes = golden(name);
        let source = opened(&bytes);
        let schema = source.schema(None).unwrap();
        let options = RecoverOptions::default().with_schema(schema.clone());
        let toc = usize::try_from(source.header().toc_offset).unwrap();
        let mut best = 0;
        for len in (256..toc).step_by(37).chain([toc]) {
            let Ok(recovery) = Recovery::survey(Source::from(bytes[..len].to_vec()), &options) else { continue };
            let (reader, losses) = written(&recovery);
            let rows = reader.row_count();
            assert_eq!(
                lines(&reader, &recovery.column_names(), &[0..rows]),
                lines(&source, &recovery.column_names(), &[0..rows])
            );
            assert!(reader.schema(None).unwrap() == schema, "{name}");
            assert_eq!(losses.len(), usize::from(rows < source.row_count()), "{losses:?}");
            assert!(rows >= best, "{name}: fewer rows of more bytes");
            best = rows;
        }
        assert_eq!(best, source.row_count(), "{name}");
    }
}

#[test]
fn rejects_blocks_not_matching_the_schema() {
    let bytes = golden("real-adult");
    let mut schema = opened(&bytes).schema(None).unwrap();
    schema.columns.swap(1, 2);
    let options = RecoverOptions::default().with_schema(schema.clone());
    let error = Recovery::survey(Source::from(bytes[..12_000].to_vec()), &options).err().unwrap();
    assert!(error.to_string().contains("the blocks are not in the order of rows and columns"), "{error}");
    schema.columns.pop();
    let options = RecoverOptions::default().with_schema(schema);
    let error = Recovery::survey(Source::from(bytes[..12_000].to_vec()), &options).err().unwrap();
    assert_eq!(error.to_string(), "idv: the schema has 13 columns, the header 14 (byte 48)");
    let numbers = golden("scalar-integers-none");
    let schema = opened(&numbers).schema(None).unwrap();
    let options = RecoverOptions::default().with_schema(schema);
    let error = Recovery::survey(Source::from(numbers[..500].to_vec()), &options).err().unwrap();
    assert!(error.to_string().contains("the rows per block cannot be determined"), "{error}");
}

#[test]
fn rejects_schema_without_enough_information() {
    let bytes = golden("real-adult");
    let mut schema = opened(&bytes).schema(None).unwrap();
    // An unwritten header declares no rows: nothing to recover.
    let mut unfinished = bytes[..12_000].to_vec();
    unfinished[40..48].fill(0);
    let options = RecoverOptions::default().with_schema(schema.clone());
    let error = Recovery::survey(Source::from(unfinished), &options).err().unwrap();
    assert!(error.to_string().starts_with("idv: the table of contents is lost"), "{error}");
    // Keys above the count that the schema gives belong to another column, or to another schema.
    let occupation = &mut schema.columns[2];
    occupation.kind = Type::Item(ItemType::Key(KeyType::new(KeyWidth::UInt32, 2).unwrap()));
    let options = RecoverOptions::default().with_schema(schema);
    let error = Recovery::survey(Source::from(bytes[..12_000].to_vec()), &options).err().unwrap();
    assert!(error.to_string().contains("is above its key count 2"), "{error}");
}

#[test]
fn rows_past_the_lookup_tables_are_lost() {
    let bytes = golden("block-rows-7");
    let source = opened(&bytes);
    let (rows, toc) = (source.row_count(), usize::try_from(source.header().toc_offset).unwrap());
    // So many rows that the last tables would reach beyond the end.
    let mut more = bytes.clone();
    let declared = rows + 7 * 100_000;
    more[40..48].copy_from_slice(&declared.to_le_bytes());
    let recovery = survey(&more);
    assert_eq!(recovery.rows_declared(), declared);
    assert!(recovery.row_count() <= rows, "{} of {rows}", recovery.row_count());
    let (_, losses) = written(&recovery);
    assert!(losses.iter().any(|loss| loss.contains("damaged blocks lost")), "{losses:?}");
    assert!(toc < bytes.len());
}
