//! Lookup entries and compressed blocks.

use container_core::{Limits, Scan};
use idv::{Scratch, Values};

use crate::support::forge::{Block, Codec, Column, DEFLATE, Forge, NONE, ZLIB, compress};
use crate::support::{block, block_fails, open, open_with, says, three_numbers, verify};

/// 1000 rows of `Byte` zeros in one block of this kind.
fn zeros(compression: u8, block: Block) -> Forge {
    Forge::new(6, 1000).column(Column::new("zeros", Codec::plain("Byte"), compression, 1000).block(block))
}

const PLACE: &str = "(byte 256, block 0, column \"zeros\")";

#[test]
fn rejects_lookup_entry_outside_the_file() {
    let file = three_numbers().build();
    let (entry, tail) = (file.columns[0].lookup_entry(0), file.tail);
    let place = format!("(byte {entry}, block 0, column \"numbers\")");
    for offset in [0, 255, tail as i64 - 11, i64::MAX - 11, i64::MAX] {
        let text = format!(
            "idv: a block of 12 bytes at byte {offset} is not between the header's end, 256, and the tail, {tail} {place}"
        );
        block_fails(file.with(entry, &offset.to_le_bytes()), "invalid", &text);
    }
    block_fails(
        file.with(entry, &(-1i64).to_le_bytes()),
        "invalid",
        &format!("idv: block offset -1 is negative {place}"),
    );
    let at = |plus: usize| format!("(byte {}, block 0, column \"numbers\")", entry + plus);
    block_fails(
        file.with(entry + 8, &(-2i32).to_le_bytes()),
        "invalid",
        &format!("idv: block length -2 is negative {}", at(8)),
    );
    block_fails(
        file.with(entry + 12, &(-3i32).to_le_bytes()),
        "invalid",
        &format!("idv: decompressed block length -3 is negative {}", at(12)),
    );
    let text = format!(
        "idv: a block of 2147483647 bytes at byte 256 is not between the header's end, 256, and the tail, {tail} {place}"
    );
    block_fails(file.with(entry + 8, &i32::MAX.to_le_bytes()), "invalid", &text);
}

#[test]
fn rejects_uncompressed_block_with_two_lengths() {
    let file = three_numbers().build();
    let entry = file.columns[0].lookup_entry(0);
    block_fails(
        file.with(entry + 12, &13i32.to_le_bytes()),
        "invalid",
        "idv: an uncompressed block declares 12 bytes in the file and 13 decompressed \
         (byte 256, block 0, column \"numbers\")",
    );
}

#[test]
fn rejects_block_of_wrong_length() {
    for (len, kind, text) in [
        (11usize, "truncated", "idv: values: needs 12 bytes, 11 available (byte 256, block 0, column \"numbers\")"),
        (0, "truncated", "idv: values: needs 12 bytes, 0 available (byte 256, block 0, column \"numbers\")"),
        (13, "invalid", "idv: the block: 1 unexpected trailing byte (byte 268, block 0, column \"numbers\")"),
    ] {
        let mut forge = three_numbers();
        forge.columns[0].blocks = vec![vec![1; len].into()];
        block_fails(forge.bytes(), kind, text);
    }
}

#[test]
fn rejects_compressed_block_of_wrong_length() {
    for compression in [DEFLATE, ZLIB] {
        let fails = |len: usize, kind: &str, text: &str| {
            block_fails(zeros(compression, vec![0; len].into()).bytes(), kind, &format!("idv: {text} {PLACE}"));
        };
        fails(999, "truncated", "the decompressed block: needs 1000 bytes, 999 available");
        fails(1001, "invalid", "the block: 1 unexpected trailing byte at byte 1000 of the decompressed block");
    }
}

#[test]
fn rejects_block_inflating_to_another_length() {
    for compression in [DEFLATE, ZLIB] {
        let fails = |len: usize, declared: i32, text: &str| {
            let block = Block { declared: Some(declared), ..vec![0; len].into() };
            block_fails(zeros(compression, block).bytes(), "invalid", &format!("idv: {text} {PLACE}"));
        };
        fails(1001, 1000, "the block inflates to more than the 1000 bytes declared");
        fails(999, 1000, "the block inflates to 999 bytes, declared are 1000");
        fails(0, 1000, "the block inflates to 0 bytes, declared are 1000");
        // A bomb: a megabyte in a thousand bytes, of which a thousand are declared.
        fails(1 << 20, 1000, "the block inflates to more than the 1000 bytes declared");
    }
}

#[test]
fn rejects_impossible_declared_length() {
    for compression in [DEFLATE, ZLIB] {
        let packed = compress(compression, &[0; 1000]);
        let len = packed.len();
        let block = Block { declared: Some(i32::MAX), ..vec![0; 1000].into() };
        let bytes = zeros(compression, block).bytes();
        let text = "idv: decompressed block length 2147483647 exceeds the limit 1073741824";
        block_fails(bytes.clone(), "limit", &format!("{text} {PLACE}"));
        let reader = open_with(bytes, Limits::default().with_block_bytes(1 << 40)).unwrap();
        says(
            &block_of(&reader),
            "invalid",
            &format!("idv: {len} compressed bytes cannot hold the 2147483647 declared {PLACE}"),
        );
    }
}

fn block_of(reader: &idv::Reader) -> container_core::Error {
    block(reader, 0, 0).unwrap_err()
}

#[test]
fn rejects_block_above_the_limit() {
    let bytes = zeros(DEFLATE, vec![0; 1000].into()).bytes();
    let limits = |bytes| Limits::default().with_block_bytes(bytes);
    assert!(block(&open_with(bytes.clone(), limits(1000)).unwrap(), 0, 0).is_ok());
    says(
        &block_of(&open_with(bytes, limits(999)).unwrap()),
        "limit",
        &format!("idv: decompressed block length 1000 exceeds the limit 999 {PLACE}"),
    );
}

/// Bits become bytes in memory: the limit holds for those.
#[test]
fn rejects_booleans_above_the_limit() {
    for (codec, len) in [("Boolean", 125), ("DvBool", 252)] {
        for compression in [NONE, DEFLATE] {
            let column = Column::new("zeros", Codec::plain(codec), compression, 1000).block(vec![0; len]);
            let bytes = Forge::new(6, 1000).column(column).bytes();
            let limits = |bytes| Limits::default().with_block_bytes(bytes);
            assert!(block(&open_with(bytes.clone(), limits(1000)).unwrap(), 0, 0).is_ok());
            let inside = if compression == NONE { "" } else { " at byte 0 of the decompressed block" };
            says(
                &block_of(&open_with(bytes, limits(999)).unwrap()),
                "limit",
                &format!("idv: bytes of decoded Booleans{inside} 1000 exceeds the limit 999 {PLACE}"),
            );
        }
    }
}

#[test]
fn rejects_truncated_compressed_data() {
    let numbers: Vec<u8> = (0..1000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for compression in [DEFLATE, ZLIB] {
        let packed = compress(compression, &numbers);
        for cut in [0, 1, 2, 10, packed.len() / 2, packed.len() - 1] {
            let block = Block { packed: Some(packed[..cut].to_vec()), ..numbers.clone().into() };
            let reader = open(zeros(compression, block).bytes()).unwrap();
            let error = block_of(&reader);
            let text = error.to_string();
            assert_eq!(error.kind().name(), "invalid", "{text}");
            let ends = text.starts_with("idv: the compressed data end after ") || text.contains("cannot hold the 1000");
            assert!(ends && text.ends_with(PLACE), "{compression} cut at {cut}: {text}");
        }
    }
}

#[test]
fn rejects_corrupt_compressed_data() {
    let (mut deflate, mut zlib) = (compress(DEFLATE, &[7; 1000]), compress(ZLIB, &[7; 1000]));
    // Block type 3 there is not; the checksum is the last thing of zlib.
    deflate[0] = 0x07;
    *zlib.last_mut().unwrap() ^= 1;
    for (compression, packed) in [(DEFLATE, deflate), (ZLIB, zlib)] {
        let block = Block { packed: Some(packed), ..vec![7; 1000].into() };
        let error = block_of(&open(zeros(compression, block).bytes()).unwrap());
        let text = error.to_string();
        assert_eq!(error.kind().name(), "invalid", "{text}");
        assert!(text.starts_with("idv: corrupt compressed data") && text.ends_with(PLACE), "{text}");
    }
    // DEFLATE where zlib is declared, and the other way round.
    for (declared, written) in [(DEFLATE, ZLIB), (ZLIB, DEFLATE)] {
        let false_kind = Block { packed: Some(compress(written, &[7; 1000])), ..vec![7; 1000].into() };
        assert!(block(&open(zeros(declared, false_kind).bytes()).unwrap(), 0, 0).is_err());
    }
}

/// A match that begins before the first byte: some decoders make zeros of it.
#[test]
fn rejects_distance_before_the_data() {
    // Fixed codes: a literal `h`, then six bytes from 33 back, and the end.
    let mut bits: Vec<u8> = vec![1, 1, 0];
    let mut code = |value: u32, width: u32| bits.extend((0..width).rev().map(|bit| (value >> bit & 1) as u8));
    code(0x30 + u32::from(b'h'), 8);
    code(260 - 256, 7);
    code(10, 5);
    code(0, 4);
    code(0, 7);
    let packed: Vec<u8> =
        bits.chunks(8).map(|bits| bits.iter().enumerate().fold(0, |byte, (at, bit)| byte | bit << at)).collect();
    let forged = Block { packed: Some(packed), ..vec![0; 7].into() };
    let column = Column::new("x", Codec::plain("Byte"), DEFLATE, 7).block(forged);
    let text = "idv: corrupt compressed data";
    let error = block_of(&open(Forge::new(6, 7).column(column).bytes()).unwrap()).to_string();
    assert!(error.starts_with(text), "{error}");
}

/// One damaged block, one damaged column: everything else reads.
#[test]
fn damage_does_not_affect_other_blocks() {
    let column = |name: &str| {
        let block = |i: u8| -> Block { vec![i; 2].into() };
        Column::new(name, Codec::plain("Byte"), DEFLATE, 2).block(block(1)).block(block(2)).block(block(3))
    };
    let file = Forge::new(6, 6).column(column("a")).column(column("b")).build();
    let mut bytes = file.bytes.clone();
    let hurt = file.columns[0].blocks[1].clone();
    bytes[hurt.clone()].fill(0xFF);
    let reader = open(bytes).unwrap();
    // Shared buffers: an error leaves no state in them.
    let (mut values, mut scratch) = (Values::default(), Scratch::default());
    for (column, block) in (0..2).flat_map(|column| (0..3).map(move |block| (column, block))) {
        let outcome = reader.read_block(column, block, &mut values, &mut scratch);
        if (column, block) == (0, 1) {
            let error = outcome.unwrap_err();
            let place = format!("(byte {}, block 1, column \"a\")", hurt.start);
            assert!(error.to_string().ends_with(&place), "{error}");
        } else {
            assert_eq!(outcome.unwrap(), block * 2..block * 2 + 2);
            assert_eq!(values.as_slice::<u8>().unwrap(), [block as u8 + 1; 2]);
        }
    }
    let count = |scan: Scan| {
        let mut rows = reader.rows(&scan).unwrap();
        let mut count = 0;
        loop {
            match rows.try_next() {
                Ok(Some(_)) => count += 1,
                Ok(None) => return (count, false),
                Err(_) => {
                    assert!(
                        rows.try_next().unwrap().is_none() && rows.current().is_none(),
                        "rows go on after an error"
                    );
                    return (count, true);
                }
            }
        }
    };
    for threads in [1, 0, 2] {
        let scan = || Scan::default().with_threads(threads);
        assert_eq!(count(scan()), (2, true));
        assert_eq!(count(scan().with_columns([1])), (6, false));
        assert_eq!(count(scan().with_rows(4..6)), (2, false));
        assert_eq!(count(scan().with_rows(3..6)), (0, true));
        assert_eq!(count(scan().with_rows(0..2)), (2, false));
    }
}

#[test]
fn verify_finds_overlapping_blocks() {
    let mut forge = three_numbers();
    forge.columns.push(forge.columns[0].clone());
    let file = forge.build();
    // The second column's block begins within the first's.
    let entry = file.columns[1].lookup_entry(0);
    let bytes = file.with(entry, &260i64.to_le_bytes());
    assert_eq!(
        verify(bytes),
        [
            "error: idv: block 0 of column \"numbers#2\" overlaps block 0 of column \"numbers\" (bytes 256 to 268) (byte 260)",
            "warning: idv: 8 unused bytes before the lookup table of column \"numbers\" (byte 272)",
        ]
    );
    // By a single byte: the last of the first column's.
    let found = verify(file.with(entry, &267i64.to_le_bytes()));
    assert_eq!(
        found[0],
        "error: idv: block 0 of column \"numbers#2\" overlaps block 0 of column \"numbers\" (bytes 256 to 268) (byte 267)"
    );
    // A block that is the lookup table itself.
    let lookup = file.columns[0].lookup;
    let found = verify(file.with(entry, &(lookup as i64).to_le_bytes()));
    assert!(found.iter().any(|text| text.starts_with("error: idv: ") && text.contains("overlaps")), "{found:?}");
}

#[test]
fn rejects_nonexistent_blocks_and_columns() {
    let reader = open(three_numbers().bytes()).unwrap();
    says(
        &block(&reader, 0, 1).unwrap_err(),
        "usage",
        "idv: block 1 is out of bounds for 1 blocks (column \"numbers\")",
    );
    says(&block(&reader, 1, 0).unwrap_err(), "usage", "idv: column 1 is out of bounds for 1 columns");
    says(&reader.block_of_row(0, 3).unwrap_err(), "usage", "idv: row 3 is out of bounds for 3 rows");
    let scan = Scan::default().with_rows(4..5);
    says(&reader.rows(&scan).map(|_| ()).unwrap_err(), "usage", "idv: row range 4..5 is out of bounds for 3 rows");
    let scan = Scan::default().with_columns([7]);
    says(&reader.rows(&scan).map(|_| ()).unwrap_err(), "usage", "idv: column 7 is out of bounds for 1 columns");
    assert_eq!(block(&reader, 0, u64::MAX).unwrap_err().kind().name(), "usage");
}
