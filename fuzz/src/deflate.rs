//! Our own compression: what it makes must come back, by our inflate and by flate2.

#[allow(dead_code, reason = "the crate's own module, of which only the whole is called")]
#[path = "../../crates/idv/src/deflate/mod.rs"]
mod encoder;

#[path = "../../crates/idv/src/adler.rs"]
mod adler;

/// What the module uses of its crate.
mod wire {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Compression {
        None,
        Deflate,
        Zlib,
    }
}

use flate2::{Decompress, FlushDecompress, Status};

use self::encoder::Deflater;
use self::wire::Compression;
use super::dice::Dice;
use super::forge::{Block, Codec, Column, DEFLATE, Forge, ZLIB};
use super::reader::open;

/// No more than that is compressed: what the reader reads.
const MOST: usize = 1 << 16;

/// The first byte says which compression and level, the second whether the rest is compressed as it is or tells what to make.
pub fn idv_deflate(data: &[u8]) {
    let Some((&[how, made], rest)) = data.split_first_chunk::<2>() else { return };
    let mut raw = if made & 1 == 0 { rest.to_vec() } else { make(rest) };
    raw.truncate(MOST);
    let (compression, kind) = if how & 1 == 0 { (Compression::Deflate, DEFLATE) } else { (Compression::Zlib, ZLIB) };
    let level = (how >> 1) % 10;

    let mut deflater = Deflater::default();
    let mut packed = vec![made];
    deflater.deflate(compression, level, &raw, &mut packed);
    assert_eq!(packed.remove(0), made, "what was there stays");
    assert!(packed.len() <= raw.len() + 5 * raw.len().div_ceil(65_535).max(1) + 6, "{} of {}", packed.len(), raw.len());

    // What was compressed before makes no difference.
    let mut other = Vec::new();
    deflater.deflate(Compression::None, level, &raw, &mut other);
    assert_eq!(other, raw);
    other.reverse();
    deflater.deflate(Compression::Deflate, how >> 5, &other, &mut Vec::new());
    let mut again = Vec::new();
    deflater.deflate(compression, level, &raw, &mut again);
    assert_eq!(again, packed, "other bytes than the first time");

    let mut out = Vec::with_capacity(raw.len() + 1);
    let mut state = Decompress::new(compression == Compression::Zlib);
    let status = state.decompress_vec(&packed, &mut out, FlushDecompress::Finish);
    assert_eq!(status.unwrap(), Status::StreamEnd);
    assert_eq!(state.total_in(), packed.len() as u64);
    assert!(out == raw, "other bytes from flate2");

    if raw.is_empty() {
        return;
    }
    let block = Block { raw: Vec::new(), packed: Some(packed), declared: Some(raw.len() as i32) };
    let column = Column::new("x", Codec::plain("Byte"), kind, raw.len() as u64).block(block);
    let Some(reader) = open(Forge::new(6, raw.len() as i64).column(column).bytes()) else {
        panic!("the file itself is sound")
    };
    assert!(reader.block_bytes(0, 0).unwrap() == raw, "other bytes from our inflate");
}

/// Much out of little: runs, copies from near and far, noise over alphabets of all sizes, counters.
fn make(recipe: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut dice = Dice::new(recipe);
    let mut noise = 0x9E37_79B9_7F4A_7C15_u64;
    while !dice.is_empty() && text.len() < MOST {
        let (what, len) = (dice.byte(), (usize::from(dice.byte()) + 1) << (dice.byte() & 7));
        let (first, second) = (dice.byte(), dice.byte());
        let start = text.len();
        for i in 0..len {
            noise = noise.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(u64::from(first) << 1 | 1);
            let byte = match what & 3 {
                0 => first,
                1 => {
                    let back = 1 + usize::from(first) + (usize::from(second) << 8);
                    text.len().checked_sub(back).map_or(second, |at: usize| text[at])
                }
                2 => first.wrapping_add(((noise >> 48) as u8 as u16 * (u16::from(second) + 1) >> 8) as u8),
                _ => ((start + i) >> (8 * (i % (1 + usize::from(second) % 8)))) as u8,
            };
            text.push(byte);
        }
    }
    text
}
