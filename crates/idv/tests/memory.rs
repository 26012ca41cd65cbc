//! What a file can make a reader allocate: an allocator that counts stands under all of it.
//!
//! A program of its own: its allocator counts for the whole process.

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

/// Three numbers, and eight megabytes behind the tables that lies could point into.
fn with_ballast(last: u64) -> Forge {
    let mut forge = support::three_numbers();
    forge.version = support::forge::version(last);
    forge.compatible = forge.version;
    forge.tables_first = true;
    forge.columns.push(Column::new("ballast", Codec::plain("Byte"), NONE, 3).block(vec![0; 8 * MIB]));
    forge
}

/// One test, so that no other thread allocates meanwhile.
#[test]
fn nothing_is_allocated_that_was_only_declared() {
    counts();
    declared_lengths();
    bombs();
    values();
    walks();
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
    // Sparse vectors of the greatest length, of which nothing is stored.
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

fn walks() {
    // A hundred blocks of 64 KiB: a walk holds few of them, and the same ones.
    let mut column = Column::new("x", Codec::plain("Int64"), DEFLATE, 8192);
    column.blocks =
        (0..100u64).map(|i| (0..8192u64).flat_map(|j| (i * j).to_le_bytes()).collect::<Vec<_>>().into()).collect();
    let reader = open(Forge::new(6, 819_200).column(column).bytes()).unwrap();
    bounded("a walk of one thread", 512 * KIB, || {
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
