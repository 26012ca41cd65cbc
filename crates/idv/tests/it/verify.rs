//! `verify` reports all findings in a fixed order, in bounded time for inconsistent files.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use container_core::testkit::Stopwatch;
use container_core::{Progress, Unit, VerifyOptions};

use crate::support::cells::{Cell, Item, Kind, text_block};
use crate::support::forge::{Block, Codec, Column, DEFLATE, Forge, Meta, NONE, leb};
use crate::support::table::TableColumn;
use crate::support::{block, findings, golden, open, verify};

#[test]
fn golden_files_verify() {
    for path in golden() {
        let reader = idv::Reader::open(&path).unwrap();
        let found = findings(&reader, 0);
        // What ML.NET itself wrote: a key beyond its count, and blocks of a batch that held no rows.
        let allowed = |text: &String| text.contains("is above its key count") || text.starts_with("warning");
        assert!(found.iter().all(allowed), "{}: {found:?}", path.display());
    }
}

/// A file with every kind of defect: all are reported, columns in order, then the layout; intact parts stay readable.
#[test]
fn reports_all_findings_in_order() {
    let bytes = |name: &str| Column::new(name, Codec::plain("Byte"), NONE, 2);
    let keys = [Cell::Key(1), Cell::Key(9), Cell::Key(9), Cell::Key(2)].to_vec();
    let mut keys = TableColumn::new("keys", Kind::Item(Item::Key2(1, 3)), NONE, 2, keys).forge();
    keys.metadata = vec![
        Meta::new("Odd", Codec::plain("Half"), NONE, vec![1, 2]),
        Meta::new("Bad", Codec::plain("Int32"), NONE, vec![1, 2, 3]),
        Meta::new("Good", Codec::plain("Byte"), NONE, vec![1]),
    ];
    let text = Column::new("text", Codec::plain("TextSpan"), NONE, 2)
        .block(text_block(2, &[2, 1], b"ab"))
        .block(text_block(2, &[1, 2], b"a\xFF"));
    let packed = Column::new("packed", Codec::plain("Byte"), DEFLATE, 2)
        .block(Block { declared: Some(5), ..vec![1, 2].into() })
        .block(vec![3, 4]);
    let mut nothing = bytes("nothing").block(vec![5, 6]).block(vec![7, 8]);
    nothing.metadata = vec![Meta::new("M", Codec::plain("Byte"), NONE, vec![1])];
    nothing.metadata_count = Some(leb(0));
    let forge = Forge::new(6, 4)
        .column(bytes("good").block(vec![1, 2]).block(vec![3, 4]))
        .column(keys)
        .column(text)
        .column(Column::new("unknown", Codec::plain("Half"), NONE, 2).block(vec![0; 4]).block(vec![0; 4]))
        .column(Column::new("size", Codec::vector(&Codec::plain("Byte"), &[-1]), NONE, 2))
        .column(packed)
        .column(nothing);
    let mut file = forge.build();
    // The second block of the last column is where the first one of the first column is.
    let entry = file.columns[6].lookup_entry(1);
    let first = file.columns[0].blocks[0].start as i64;
    file.set(entry, &first.to_le_bytes());
    let mut bytes = file.bytes.clone();
    bytes.extend([0; 3]);

    let place = |column: usize, block: usize| file.columns[column].blocks[block].start;
    let meta = |index: usize| file.columns[1].metadata[index].block.start;
    let lost = file.columns[6].blocks[1].clone();
    let not_utf8 = "invalid utf-8 sequence of 1 bytes from index 1";
    let expected = [
        format!("warning: idv: 3 bytes follow the tail (byte {})", file.tail + 8),
        format!("warning: idv: metadata \"Odd\": unknown codec \"Half\" (byte {}, column \"keys\")", meta(0)),
        format!("error: idv: metadata \"Bad\": values: needs 4 bytes, 3 available (byte {}, column \"keys\")", meta(1)),
        "error: idv: key 9 is above its key count 3 (block 0, row 1, column \"keys\")".to_owned(),
        "error: idv: key 9 is above its key count 3 (block 1, row 2, column \"keys\")".to_owned(),
        format!(
            "error: idv: boundary 1 of text 1 is below the previous one, 2 (byte {}, block 0, column \"text\")",
            place(2, 0) + 8
        ),
        format!(
            "error: idv: the joined text is not UTF-8: {not_utf8} (byte {}, block 1, column \"text\")",
            place(2, 1) + 14
        ),
        format!("warning: idv: unknown codec \"Half\" (byte {}, column \"unknown\")", file.columns[3].parameters),
        format!(
            "error: idv: dimension -1 is negative (byte {}, column \"size\")",
            file.columns[4].parameters + Codec::plain("Byte").bytes().len() + 4
        ),
        format!(
            "error: idv: the block inflates to 2 bytes, declared are 5 (byte {}, block 0, column \"packed\")",
            place(5, 0)
        ),
        format!(
            "error: idv: the metadata table has 0 entries (byte {}, column \"nothing\")",
            file.columns[6].metadata_toc
        ),
        format!(
            "error: idv: block 1 of column \"nothing\" overlaps block 0 of column \"good\" (bytes 256 to 258) (byte {first})"
        ),
        format!(
            "warning: idv: {} unused bytes before the lookup table of column \"good\" (byte {})",
            lost.len(),
            lost.start
        ),
        // The metadata of a table that says it has none.
        format!(
            "warning: idv: {} unused bytes before the table of contents (byte {})",
            file.toc - file.columns[6].lookup_entry(2),
            file.columns[6].lookup_entry(2)
        ),
    ];
    assert_eq!(verify(bytes.clone()), expected);

    let reader = open(bytes).unwrap();
    assert_eq!(block(&reader, 0, 1).unwrap().as_slice::<u8>().unwrap(), [3, 4]);
    assert_eq!(block(&reader, 5, 1).unwrap().as_slice::<u8>().unwrap(), [3, 4]);
    assert_eq!(block(&reader, 6, 0).unwrap().as_slice::<u8>().unwrap(), [5, 6]);
    assert_eq!(block(&reader, 1, 0).unwrap().as_slice::<u8>().unwrap(), [1, 9]);
    let metadata = reader.metadata(1).unwrap();
    assert_eq!(reader.metadata_value(1, &metadata[2]).unwrap(), idv::Values::Byte(vec![1]));
}

/// Two thousand columns sharing a lookup table: the overlap is reported, the rest skipped.
#[test]
fn overlapping_parts_take_bounded_time() {
    const N: usize = 2000;
    let columns = |n: usize| {
        let mut forge = Forge::new(6, N as i64);
        for index in 0..n {
            let mut column = Column::new("x", Codec::plain("Byte"), NONE, 1);
            if index == 0 {
                column.blocks = (0..N).map(|_| vec![1].into()).collect();
                column.metadata = (0..500).map(|_| Meta::new("", Codec::plain("Byte"), NONE, vec![1])).collect();
            }
            forge.columns.push(column);
        }
        forge
    };
    let mut cases = Vec::new();

    let mut shared = columns(N).build();
    let lookup = (shared.columns[0].lookup as i64).to_le_bytes();
    for at in shared.columns.iter().map(|placed| placed.lookup_field).collect::<Vec<_>>() {
        shared.set(at, &lookup);
    }
    cases.push(("lookup tables", shared.bytes));

    // Every block is the greater part of the file.
    let mut shared = columns(1).build();
    for entry in (0..N).map(|block| shared.columns[0].lookup_entry(block)).collect::<Vec<_>>() {
        shared.set(entry, &256i64.to_le_bytes());
        let len = (shared.tail as i32 - 256).to_le_bytes();
        shared.set(entry + 8, &len);
        shared.set(entry + 12, &len);
    }
    cases.push(("blocks", shared.bytes));

    let mut shared = columns(N).build();
    let metadata = (shared.columns[0].metadata_toc as i64).to_le_bytes();
    for at in shared.columns.iter().map(|placed| placed.metadata_field).collect::<Vec<_>>() {
        shared.set(at, &metadata);
    }
    cases.push(("metadata", shared.bytes.clone()));
    let last = shared.columns[0].metadata[499].length;
    shared.set(last, &[0xFF]);
    cases.push(("metadata that break off", shared.bytes));

    for (what, bytes) in cases {
        let reader = open(bytes).unwrap();
        let begin = Stopwatch::start();
        let found = findings(&reader, 1);
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(5), "{what}: {took:?}");
        let end = "the parts so far take more bytes than the file has: the rest is not checked";
        assert_eq!(
            found.iter().filter(|text| text.contains(end)).count(),
            1,
            "{what}: {:?}",
            &found[..found.len().min(9)]
        );
    }
}

/// Three thousand key columns sharing a metadata table of two thousand entries: read once.
#[test]
fn shared_labels_take_bounded_time() {
    const N: usize = 3000;
    let mut forge = Forge::new(6, 1);
    for index in 0..N {
        let mut column = Column::new(&format!("k{index}"), Codec::key("Byte", 2), NONE, 1).block(vec![1]);
        if index == 0 {
            column.metadata =
                (0..2000).map(|n| Meta::new(&format!("kind {n}"), Codec::plain("Byte"), NONE, vec![1])).collect();
            let labels = [1i32, 2, -1, 0].map(i32::to_le_bytes).concat();
            let labels = [labels, text_block(2, &[1, 2], b"ab")].concat();
            let codec = Codec::vector(&Codec::plain("TextSpan"), &[2]);
            column.metadata.push(Meta::new("KeyValues", codec, NONE, labels));
        }
        forge.columns.push(column);
    }
    let mut shared = forge.build();
    let table = (shared.columns[0].metadata_toc as i64).to_le_bytes();
    for at in shared.columns.iter().map(|placed| placed.metadata_field).collect::<Vec<_>>() {
        shared.set(at, &table);
    }
    let reader = open(shared.bytes).unwrap();
    let begin = Stopwatch::start();
    let mut rows = reader.rows(&container_core::Scan::default()).unwrap();
    let row = rows.try_next().unwrap().unwrap();
    let mut line = Vec::new();
    row.json(&mut line).unwrap();
    assert!(line.ends_with(br#""k2998":"a","k2999":"a"}"#));
    assert!(begin.elapsed() < Duration::from_millis(500), "{:?}", begin.elapsed());
}

#[test]
fn progress_reaches_the_total() {
    #[derive(Default)]
    struct Sum {
        total: AtomicU64,
        done: AtomicU64,
    }
    impl Progress for Sum {
        fn begin(&self, unit: Unit, total: Option<u64>) {
            assert_eq!(unit, Unit::Bytes);
            self.total.store(total.unwrap(), Relaxed);
        }
        fn advance(&self, done: u64) -> idv::Result<()> {
            self.done.fetch_add(done, Relaxed);
            Ok(())
        }
    }
    let path = golden().into_iter().find(|path| path.ends_with("real-adult.idv")).unwrap();
    let reader = idv::Reader::open(path).unwrap();
    let sum = Arc::new(Sum::default());
    reader.verify(&VerifyOptions::default().with_progress(sum.clone()), &mut |_| {}).unwrap();
    let (total, done) = (sum.total.load(Relaxed), sum.done.load(Relaxed));
    assert!(done <= total && done * 2 > total, "{done} of {total}");
}
