//! Offsets and counts beyond 32 bits, in virtual files.

use std::io;

use container_core::{ReadAt, Scan, Source};
use idv::{OpenOptions, Reader, Values};

/// A file of zeros except for some parts.
struct Sparse {
    len: u64,
    parts: Vec<(u64, Vec<u8>)>,
}

impl ReadAt for Sparse {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset + buffer.len() as u64;
        assert!(end <= self.len, "read past the end");
        assert!(buffer.len() < 1 << 20, "a read of {} bytes", buffer.len());
        buffer.fill(0);
        for (start, part) in &self.parts {
            let (from, to) = (offset.max(*start), end.min(start + part.len() as u64));
            if from < to {
                let source = &part[(from - start) as usize..(to - start) as usize];
                buffer[(from - offset) as usize..(to - offset) as usize].copy_from_slice(source);
            }
        }
        Ok(())
    }
}

const BASE: u64 = 600 << 30;
const ROWS_PER_BLOCK: u64 = 8192;
/// More rows than 32 bits count.
const ROWS: u64 = (1 << 33) + 5;

/// One uncompressed column of bytes. All blocks but two share an offset; the lookup table has 16 MiB.
fn sparse() -> Source {
    let blocks = ROWS.div_ceil(ROWS_PER_BLOCK);
    let (shared, last, special) = (BASE, BASE + 10_000, BASE + 20_000);
    let lookup_at = BASE + 30_000;
    let mut lookup = Vec::new();
    for block in 0..blocks {
        let (offset, len) = match block {
            b if b == blocks - 1 => (last, 5u32),
            1_000_000 => (special, 8192),
            _ => (shared, 8192),
        };
        lookup.extend(offset.to_le_bytes());
        lookup.extend(len.to_le_bytes());
        lookup.extend(len.to_le_bytes());
    }
    let toc_at = lookup_at + lookup.len() as u64;
    let mut toc = b"\x01b\x04Byte\x00\x00\x80\x40".to_vec();
    toc.extend(lookup_at.to_le_bytes());
    toc.extend(0u64.to_le_bytes());
    let tail_at = toc_at + toc.len() as u64;
    let mut header = b"CML\0DVB\0".to_vec();
    for field in [0x0001_0001_0001_0006, 0x0001_0001_0001_0006, toc_at, tail_at, ROWS, 1] {
        header.extend(u64::to_le_bytes(field));
    }
    header.resize(256, 0);
    let parts = vec![
        (0, header),
        (last, vec![1, 2, 3, 4, 5]),
        (special, vec![7; 8192]),
        (lookup_at, lookup),
        (toc_at, toc),
        (tail_at, b"\0BVD\0LMC".to_vec()),
    ];
    Source::new(Sparse { len: tail_at + 8, parts })
}

#[test]
fn supports_rows_and_offsets_beyond_32_bits() {
    let reader = Reader::from_source(sparse(), OpenOptions::default()).unwrap();
    assert_eq!(reader.row_count(), ROWS);
    assert_eq!(reader.columns()[0].block_count(), (1 << 20) + 1);
    assert_eq!(reader.block_of_row(0, ROWS - 1).unwrap(), 1 << 20);

    let mut rows = reader.rows(&Scan::default().with_rows(ROWS - 7..u64::MAX)).unwrap();
    let mut found = Vec::new();
    while let Some(row) = rows.try_next().unwrap() {
        found.push((row.index(), serde_json::to_string(&row).unwrap()));
    }
    let expected = [0, 0, 1, 2, 3, 4, 5].map(|byte| format!("{{\"b\":{byte}}}"));
    assert_eq!(found, (ROWS - 7..ROWS).zip(expected).collect::<Vec<_>>());

    let (mut values, mut scratch) = Default::default();
    let range = reader.read_block(0, 1_000_000, &mut values, &mut scratch).unwrap();
    assert_eq!(range.start, 1_000_000 * ROWS_PER_BLOCK);
    assert_eq!(values, Values::Byte(vec![7; 8192]));
}

#[test]
fn rejects_range_past_the_end() {
    let reader = Reader::from_source(sparse(), OpenOptions::default()).unwrap();
    let error = reader.rows(&Scan::default().with_rows(ROWS + 1..ROWS + 2)).err().unwrap();
    assert_eq!(
        error.to_string(),
        format!("idv: row range {}..{} is out of bounds for {ROWS} rows", ROWS + 1, ROWS + 2)
    );
    let mut rows = reader.rows(&Scan::default().with_rows(ROWS..ROWS + 2)).unwrap();
    assert!(rows.try_next().unwrap().is_none());
}
