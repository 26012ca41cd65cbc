//! Allocations that a file can cause, measured by a counting allocator.
//!
//! A separate test binary, as its allocator counts for the whole process.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "test code fails by panicking")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "tests make their data with casts"
)]
#![allow(dead_code, unreachable_pub, reason = "shared with other tests")]

#[path = "../../../tests/support/counting.rs"]
mod counting;
#[path = "it/support/mod.rs"]
mod support;

use container_core::{Limits, Scan};
use counting::{KIB, MIB, bounded};
use idv::{Scratch, Values};
use support::cells::{text_block, vector_block};
use support::forge::{Block, COLUMNS, Codec, Column, DEFLATE, Forge, Meta, NONE, ZLIB, compress, leb};
use support::{block, open, open_with};

/// Three numbers, and eight megabytes after the tables as a target for false offsets.
fn with_ballast(last: u64) -> Forge {
    let mut forge = support::three_numbers();
    forge.version = support::forge::version(last);
    forge.compatible = forge.version;
    forge.tables_first = true;
    forge.columns.push(Column::new("ballast", Codec::plain("Byte"), NONE, 3).block(vec![0; 8 * MIB]));
    forge
}

/// A single test, so that no other thread allocates concurrently.
#[test]
fn declared_sizes_are_not_allocated_unchecked() {
    counts();
    declared_lengths();
    bombs();
    values();
    scans();
    shared_blocks();
    long_metadata();
    labels();
    wide_rows();
    recovery();
    #[cfg(feature = "arrow")]
    arrow::batches();
}

fn counts() {
    let file = with_ballast(6).build();
    let columns = (1i32 << 20).to_le_bytes();
    // The table of contents moved before the ballast, which then are entries of nothing.
    let mut lying = file.clone();
    let entries = file.bytes[file.toc..file.tail].to_vec();
    let ballast = file.columns[1].blocks[0].start;
    lying.set(ballast, &entries);
    lying.set(support::forge::TOC_OFFSET, &(ballast as i64).to_le_bytes());
    lying.set(COLUMNS, &columns);
    let bytes = lying.bytes.clone();
    // Entries of 13 zero bytes are entries: what they take is in proportion to the bytes there are.
    bounded("a table of contents of zeros", 40 * bytes.len(), || drop(open(bytes)));
    let mut bytes = lying.bytes.clone();
    bytes[ballast + entries.len()..ballast + entries.len() + 10].fill(0xFF);
    bounded("a column count", bytes.len() + 64 * KIB, || assert!(open(bytes).is_err()));

    let mut forge = with_ballast(6);
    forge.columns[0].metadata = vec![Meta::new("M", Codec::plain("Byte"), NONE, vec![1])];
    forge.columns[0].metadata_count = Some([&[0xFF; 2][..], &[0x3F]].concat());
    let reader = open(forge.bytes()).unwrap();
    bounded("a metadata table of zeros", 40 * forge.bytes().len(), || {
        reader.metadata(0).map(|list| list.len()).unwrap_err()
    });
    forge.columns[0].metadata_count = Some(leb(u64::MAX));
    let reader = open(forge.bytes()).unwrap();
    bounded("a metadata count of 2^64 - 1", 16 * KIB, || assert!(reader.metadata(0).is_err()));

    let mut forge = with_ballast(3);
    forge.columns[0].codec = Codec::vector(&Codec::plain("Byte"), &[0]);
    forge.columns[0].slot_names = vec![(0, b"a".to_vec())];
    let file = forge.build();
    let field = file.columns[0].slot_names_field;
    let mut bytes = file.with(field + 16, &i32::MAX.to_le_bytes());
    bytes[field + 8..field + 16].copy_from_slice(&(8 * MIB as i64).to_le_bytes());
    let reader = open(bytes).unwrap();
    let metadata = reader.metadata(0).unwrap();
    bounded("a count of slot names", 512 * KIB, || assert!(reader.metadata_value(0, &metadata[0]).is_err()));

    let forge = Forge::new(6, i64::MAX).column(Column::new("x", Codec::plain("Byte"), NONE, 1));
    let bytes = forge.bytes();
    bounded("a row count", 64 * KIB, || {
        let reader = open(bytes).unwrap();
        assert!(reader.columns()[0].kind().is_err());
        support::findings(&reader, 1).len()
    });
}

fn declared_lengths() {
    // 2^31 - 1 bytes declared for a few compressed ones.
    for compression in [DEFLATE, ZLIB] {
        let forged = Block { declared: Some(i32::MAX), ..vec![0; 1000].into() };
        let forge = Forge::new(6, 1000).column(Column::new("x", Codec::plain("Byte"), compression, 1000).block(forged));
        let bytes = forge.bytes();
        for limit in [1 << 30, u64::MAX] {
            let reader = open_with(bytes.clone(), Limits::default().with_block_bytes(limit)).unwrap();
            bounded("a declared length", 64 * KIB, || assert!(block(&reader, 0, 0).is_err()));
        }
    }
    // 8 MiB declared, within what the compressed bytes could hold: at most that.
    let packed = compress(DEFLATE, &vec![0; 8 * MIB]);
    let cut = packed[..packed.len() - 9].to_vec();
    let rows = 8 * MIB as i64;
    let forged = Block { packed: Some(cut), ..vec![0; 8 * MIB].into() };
    let column = Column::new("x", Codec::plain("Byte"), DEFLATE, rows as u64).block(forged);
    let reader = open(Forge::new(6, rows).column(column).bytes()).unwrap();
    bounded("a stream that ends early", 8 * MIB + 256 * KIB, || assert!(block(&reader, 0, 0).is_err()));

    let lie = |raw: Vec<u8>, dimensions: &[i32], what: &str| {
        let codec = Codec::vector(&Codec::plain("Double"), dimensions);
        let reader = open(Forge::new(6, 2).column(Column::new("v", codec, NONE, 2).block(raw)).bytes()).unwrap();
        bounded(what, 64 * KIB, || assert!(block(&reader, 0, 0).is_err()));
    };
    lie(vector_block(2, i32::MAX, &[], &[-1, -1], 0, &[], &[0; 64]), &[0], "a vector length");
    lie(vector_block(2, 0, &[i32::MAX; 2], &[-1, -1], 0, &[], &[0; 64]), &[0], "lengths of vectors");
    lie(vector_block(2, i32::MAX, &[], &[i32::MAX - 1, -1], i32::MAX - 1, &[], &[0; 64]), &[i32::MAX], "indices");
    let text = |raw: Vec<u8>, what: &str| {
        let column = Column::new("t", Codec::plain("TextSpan"), NONE, u64::MAX).block(raw);
        let reader = open(Forge::new(6, i32::MAX.into()).column(column).bytes()).unwrap();
        bounded(what, 64 * KIB, || assert!(block(&reader, 0, 0).is_err()));
    };
    text(text_block(i32::MAX, &[1, 2, 3], b"abc"), "a number of texts");
}

fn bombs() {
    // 64 MiB of zeros in 64 KiB.
    let packed = compress(DEFLATE, &vec![0; 64 * MIB]);
    assert!(packed.len() < 70 * KIB);
    let forged = Block { packed: Some(packed.clone()), ..vec![0; 1000].into() };
    let column = Column::new("x", Codec::plain("Byte"), DEFLATE, 1000).block(forged);
    let reader = open(Forge::new(6, 1000).column(column).bytes()).unwrap();
    bounded("a block that inflates to more", 256 * KIB, || {
        let text = block(&reader, 0, 0).unwrap_err().to_string();
        assert!(text.contains("inflates to more than the 1000 bytes declared"), "{text}");
    });

    let mut meta = Meta::new("M", Codec::plain("TextSpan"), DEFLATE, Vec::new());
    meta.packed = Some(packed);
    let mut forge = support::three_numbers();
    forge.columns[0].metadata = vec![meta];
    let reader = open_with(forge.bytes(), Limits::default().with_metadata_bytes(MIB as u64)).unwrap();
    let metadata = reader.metadata(0).unwrap();
    bounded("metadata that inflate to more", 3 * MIB + 512 * KIB, || {
        assert_eq!(reader.metadata_value(0, &metadata[0]).unwrap_err().kind().name(), "limit");
    });

    // Bits become bytes: eight for one, within the limit.
    let raw = vec![0; MIB];
    let rows = 8 * MIB as i64;
    let column = Column::new("x", Codec::plain("Boolean"), DEFLATE, rows as u64).block(raw);
    let bytes = Forge::new(6, rows).column(column).bytes();
    let reader = open(bytes.clone()).unwrap();
    bounded("bools", 9 * MIB + 512 * KIB, || assert!(block(&reader, 0, 0).is_ok()));
    let reader = open_with(bytes, Limits::default().with_block_bytes(4 * MIB as u64)).unwrap();
    bounded("bools above the limit", 2 * MIB, || {
        assert_eq!(block(&reader, 0, 0).unwrap_err().kind().name(), "limit");
    });
}

fn values() {
    // Sparse vectors of maximum length without stored items.
    let rows = 10_000;
    let raw = vector_block(rows, i32::MAX, &[], &vec![0; rows as usize], 0, &[], &[]);
    let codec = Codec::vector(&Codec::plain("TextSpan"), &[i32::MAX]);
    let raw = [raw, text_block(0, &[], b"")].concat();
    let column = Column::new("v", codec, NONE, rows as u64).block(raw);
    let reader = open(Forge::new(6, rows.into()).column(column).bytes()).unwrap();
    bounded("sparse vectors of nothing", MIB, || {
        let mut rows = reader.rows(&Scan::default().with_threads(1)).unwrap();
        let mut line = Vec::new();
        while let Some(row) = rows.try_next().unwrap() {
            line.clear();
            row.json(&mut line).unwrap();
        }
    });
    // Pairs split at every boundary.
    let n = 50_000;
    let ends: Vec<u32> = (1..=2 * n as u32).collect();
    let raw = text_block(2 * n, &ends, "😀".repeat(n as usize).as_bytes());
    let len = raw.len();
    let column = Column::new("t", Codec::plain("TextSpan"), NONE, 1 << 40).block(raw);
    let reader = open(Forge::new(6, (2 * n).into()).column(column).bytes()).unwrap();
    bounded("split pairs", 3 * len, || assert!(block(&reader, 0, 0).is_ok()));
}

fn scans() {
    // A hundred blocks of 64 KiB: a scan holds few of them, reused.
    let mut column = Column::new("x", Codec::plain("Int64"), DEFLATE, 8192);
    column.blocks =
        (0..100u64).map(|i| (0..8192u64).flat_map(|j| (i * j).to_le_bytes()).collect::<Vec<_>>().into()).collect();
    let reader = open(Forge::new(6, 819_200).column(column).bytes()).unwrap();
    bounded("a single-threaded scan", 512 * KIB, || {
        let mut batches = reader.batches(&Scan::default().with_threads(1)).unwrap();
        while batches.try_next().unwrap().is_some() {}
    });
    let (mut values, mut scratch) = (Values::default(), Scratch::default());
    reader.read_block(0, 0, &mut values, &mut scratch).unwrap();
    bounded("blocks into the same buffers", 4 * KIB, || {
        for block in 1..100 {
            reader.read_block(0, block, &mut values, &mut scratch).unwrap();
        }
    });
    bounded("verify", 512 * KIB, || assert!(support::findings(&reader, 1).is_empty()));
}

/// Limits with 4 MiB of memory per operation.
fn small() -> Limits {
    Limits::default().with_memory_bytes(4 * MIB as u64)
}

/// A file of columns that share the block of the first.
fn sharing(columns: usize, codec: &Codec, rows: i64, raw: &[u8]) -> Vec<u8> {
    let packed = compress(DEFLATE, raw);
    let mut forge = Forge::new(6, rows);
    for index in 0..columns {
        let packed = if index == 0 { packed.clone() } else { Vec::new() };
        let block = Block { raw: Vec::new(), packed: Some(packed), declared: Some(raw.len() as i32) };
        forge.columns.push(Column::new(&format!("c{index}"), codec.clone(), DEFLATE, rows as u64).block(block));
    }
    let mut file = forge.build();
    let entry = file.columns[0].lookup_entry(0);
    let entry = file.bytes[entry..entry + 16].to_vec();
    for column in 1..columns {
        file.set(file.columns[column].lookup_entry(0), &entry);
    }
    file.bytes
}

fn scan(threads: usize) -> Scan {
    Scan::default().with_threads(threads)
}

fn shared_blocks() {
    const COUNT: usize = 50;
    let rows = MIB / 8;
    let wide = sharing(COUNT, &Codec::plain("Int64"), rows as i64, &vec![0; MIB]);
    assert!(wide.len() < 8 * KIB, "{} bytes", wide.len());
    let reader = open_with(wide.clone(), small()).unwrap();
    for threads in [1, 0] {
        bounded("the first row of columns that share a block", 512 * KIB, || {
            let mut rows = reader.rows(&scan(threads).with_rows(0..1)).unwrap();
            assert!(rows.try_next().unwrap().is_some());
            assert!(rows.try_next().unwrap().is_none());
        });
        bounded("some rows of them", 3 * MIB, || {
            let mut rows = reader.rows(&scan(threads).with_rows(900..1000)).unwrap();
            let mut count = 0;
            while let Some(row) = rows.try_next().unwrap() {
                assert_eq!(row.get(COUNT - 1), Some(idv::Value::Int64(0)));
                count += 1;
            }
            assert_eq!(count, 100);
        });
        bounded("all rows of them", 4 * MIB + 512 * KIB, || {
            let mut batches = reader.batches(&scan(threads)).unwrap();
            let error = batches.try_next().map(|_| ()).unwrap_err();
            assert_eq!(
                error.to_string(),
                "idv: memory for the decoded blocks of the same rows 5242880 exceeds the limit 4194304 \
                 (block 0, column \"c3\")"
            );
            assert!(batches.try_next().unwrap().is_none());
        });
        bounded("verify them", 5 * MIB, || {
            let found = support::findings(&reader, threads);
            assert!(found.iter().any(|finding| finding.contains("overlaps")), "{found:?}");
        });
    }
    // Within the memory, all of it is used and none of it is missing.
    let reader = open_with(sharing(3, &Codec::plain("Int64"), rows as i64, &vec![0; MIB]), small()).unwrap();
    for threads in [1, 0] {
        bounded("as many as fit", 4 * MIB + 512 * KIB, || {
            let mut batches = reader.batches(&scan(threads)).unwrap();
            assert_eq!(batches.try_next().unwrap().unwrap().row_count(), rows);
        });
    }
    // Text and vectors cannot be decoded from a prefix.
    let n = MIB / 16;
    let ends = vec![0; n];
    for (codec, raw) in [
        (Codec::plain("TextSpan"), text_block(n as i32, &ends, b"")),
        (Codec::vector(&Codec::plain("Byte"), &[0]), vector_block(n as i32, 0, &vec![0; n], &vec![-1; n], 0, &[], &[])),
        (Codec::plain("DateTimeOffset"), vec![0; 10 * n]),
    ] {
        let reader = open_with(sharing(COUNT, &codec, n as i64, &raw), small()).unwrap();
        for threads in [1, 0] {
            bounded("other blocks", 4 * MIB + 512 * KIB, || {
                let mut batches = reader.batches(&scan(threads).with_rows(0..1)).unwrap();
                let error = batches.try_next().map(|_| ()).unwrap_err();
                assert_eq!(error.kind().name(), "limit", "{error}");
                assert!(error.to_string().contains("block 0"), "{error}");
            });
        }
    }
    // A block that is too large by itself.
    let reader = open_with(sharing(1, &Codec::plain("Int64"), rows as i64, &vec![0; MIB]), small()).unwrap();
    assert!(block(&reader, 0, 0).is_ok());
    let reader = open_with(wide, Limits::default().with_memory_bytes(MIB as u64)).unwrap();
    bounded("a block beyond the memory", 64 * KIB, || {
        let error = block(&reader, 7, 0).unwrap_err();
        assert!(error.to_string().contains("memory for a decoded block 2097152 exceeds the limit 1048576"), "{error}");
    });
    assert_eq!(reader.block_bytes(7, 0).unwrap().len(), MIB);
}

/// One vector of zero bytes.
fn bytes_vector(len: usize) -> Vec<u8> {
    vector_block(1, len as i32, &[], &[-1], 0, &[], &vec![0; len])
}

fn long_metadata() {
    use container_core::Table;
    let file = |value: Vec<u8>, codec: Codec, compression| {
        let mut forge = support::three_numbers();
        forge.columns[0].metadata = vec![Meta::new("M", codec, compression, value)];
        forge.bytes()
    };
    let n = 4 * MIB;
    let text = "x".repeat(n);
    let ends: Vec<u32> = (1..=100_000).map(|i| i * 2).collect();
    let many = text_block(100_000, &ends, "é€".repeat(50_000).get(..).map_or(&[][..], str::as_bytes));
    let cases = [
        (bytes_vector(n), Codec::vector(&Codec::plain("Byte"), &[0]), "[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]", n),
        (text_block(1, &[n as u32], text.as_bytes()), Codec::plain("TextSpan"), "\"xxx", n),
        (
            [vector_block(1, 100_000, &[], &[-1], 0, &[], &[]), many].concat(),
            Codec::vector(&Codec::plain("TextSpan"), &[0]),
            "[\"é€\",\"é€\"",
            100_000,
        ),
    ];
    for (value, codec, beginning, count) in cases {
        for compression in [NONE, DEFLATE, ZLIB] {
            let reader = open_with(file(value.clone(), codec.clone(), compression), small()).unwrap();
            let container = idv::IdvContainer::new(reader.clone());
            let details =
                bounded("the description of long metadata", 512 * KIB, || container.column_details(0).unwrap());
            let shown = &details["metadata"]["M"]["$beginning"];
            assert_eq!(shown["count"], count);
            assert!(shown["value"].to_string().starts_with(beginning), "{shown}");
            // The schema reports what it lacks.
            let column = serde_json::json!([{"name": "n", "type": "Int32", "metadata": details["metadata"]}]);
            let (schema, left_out) = idv::Schema::from_json(&column).unwrap();
            assert!(schema.columns[0].metadata.is_empty());
            assert!(left_out[0].to_string().contains("only a preview is given"), "{left_out:?}");
        }
    }
    let reader =
        open_with(file(bytes_vector(n), Codec::vector(&Codec::plain("Byte"), &[0]), DEFLATE), small()).unwrap();
    let metadata = reader.metadata(0).unwrap();
    let all: [(&str, &dyn Fn() -> String); 3] = [
        ("the value", &|| reader.metadata_value(0, &metadata[0]).unwrap_err().to_string()),
        ("the schema", &|| reader.schema(None).unwrap_err().to_string()),
        ("verify", &|| support::findings(&reader, 1).concat()),
    ];
    for (what, work) in all {
        let text = bounded(what, 512 * KIB, work);
        assert!(text.contains("metadata \"M\": memory for metadata"), "{what}: {text}");
        assert!(text.contains("exceeds the limit 4194304"), "{what}: {text}");
    }
}

/// Key columns with separate metadata tables that share one block of labels.
fn labels() {
    let value = compress(DEFLATE, &bytes_vector(MIB));
    let labels = |i: usize| {
        let codec = Codec::vector(&Codec::plain("Byte"), &[0]);
        let packed = if i == 0 { value.clone() } else { Vec::new() };
        let (packed, length) = (Some(packed), Some(leb(value.len() as u64)));
        Meta { packed, length, ..Meta::new("KeyValues", codec, DEFLATE, Vec::new()) }
    };
    let mut forge = Forge::new(6, 1);
    for i in 0..20 {
        let column = Column::new(&format!("k{i}"), Codec::key("UInt32", MIB as u64), NONE, 1);
        forge.columns.push(column.block(1u32.to_le_bytes().to_vec()).meta(labels(i)));
    }
    let mut file = forge.build();
    let first = file.columns[0].metadata[0].clone();
    for i in 1..20 {
        let place = file.columns[i].metadata[0].offset;
        let offset = file.bytes[first.offset..first.offset + 8].to_vec();
        file.set(place, &offset);
    }
    let reader = open_with(file.bytes, small()).unwrap();
    bounded("labels of many columns", 4 * MIB + 512 * KIB, || {
        let error = reader.rows(&scan(1)).map(drop).unwrap_err();
        assert_eq!(error.kind().name(), "limit", "{error}");
        assert!(error.to_string().contains("metadata \"KeyValues\": memory for metadata"), "{error}");
    });
}

/// The output of a row is a multiple of its size.
fn wide_rows() {
    let len = MIB;
    let raw = vector_block(2, 0, &[1, len as i32], &[-1, -1], 0, &[], &vec![0; len + 1]);
    let column = Column::new("v", Codec::vector(&Codec::plain("Byte"), &[0]), DEFLATE, 2).block(raw);
    let reader = open_with(Forge::new(6, 2).column(column).bytes(), small()).unwrap();
    let mut rows = reader.rows(&scan(1)).unwrap();
    assert!(rows.try_next().unwrap().is_some());
    let error = rows.try_next().map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "idv: bytes of a row 1048576 exceeds the limit 419430 (row 1, column \"v\")");
    assert!(rows.try_next().unwrap().is_none());
}

fn recovery() {
    let rows = MIB / 8;
    let file = sharing(50, &Codec::plain("Int64"), rows as i64, &vec![0; MIB]);
    let limits = idv::OpenOptions::default().with_limits(small());
    let mut options = idv::RecoverOptions::default().with_threads(1);
    options.open = limits;
    bounded("recovery", 5 * MIB, || {
        let source = container_core::Source::from(file);
        let recovery = idv::Recovery::survey(source, &options);
        let written =
            recovery.and_then(|recovery| recovery.write(std::io::Cursor::new(Vec::new()), Default::default()));
        assert!(written.is_err());
    });
}

#[cfg(feature = "arrow")]
mod arrow {
    use container_arrow::BatchScan;

    use super::*;

    pub(super) fn batches() {
        let rows = MIB / 8;
        let reader = open_with(sharing(50, &Codec::plain("Int64"), rows as i64, &vec![0; MIB]), small()).unwrap();
        for threads in [1, 0] {
            let some = BatchScan::from(scan(threads).with_rows(0..1));
            bounded("the first row as a batch", 512 * KIB, || {
                let mut batches = reader.record_batches(&some).unwrap();
                assert_eq!(batches.next().unwrap().unwrap().num_rows(), 1);
            });
            let all = BatchScan::from(scan(threads));
            bounded("batches of columns that share a block", 3 * MIB, || {
                let error = reader.record_batches(&all).unwrap().next().unwrap().unwrap_err();
                assert!(error.to_string().contains("exceeds the limit 2097152"), "{error}");
            });
        }
        // Sparse vectors without stored items: many short rows are divided into batches, a long one is rejected.
        for (length, count) in [(10_000, 100), (100_000_000, 1)] {
            let raw = vector_block(count, length, &[], &vec![0; count as usize], 0, &[], &[]);
            for (item, empty) in
                [("Single", Vec::new()), ("Boolean", Vec::new()), ("TextSpan", text_block(0, &[], b""))]
            {
                let codec = Codec::vector(&Codec::plain(item), &[length]);
                let raw = [raw.clone(), empty].concat();
                let column = Column::new("v", codec, NONE, count as u64).block(raw);
                let reader = open_with(Forge::new(6, count.into()).column(column).bytes(), small()).unwrap();
                bounded("sparse vectors with all their slots", 4 * MIB, || {
                    let mut batches = reader.record_batches(&BatchScan::default()).unwrap();
                    let found: Result<usize, _> = batches.by_ref().map(|batch| batch.map(|b| b.num_rows())).sum();
                    if length == 10_000 {
                        assert_eq!(found.unwrap(), 100);
                    } else {
                        let text = found.unwrap_err().to_string();
                        assert!(text.contains("bytes of a row with its sparse vectors made dense"), "{text}");
                        assert!(text.contains("exceeds the limit 419430 (row 0, column \"v\")"), "{text}");
                    }
                });
            }
        }
    }
}
