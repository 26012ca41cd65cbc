//! One compressed block of IDV: the result must be that of flate2, or an error if the declared length differs.

use std::io::Write;

use flate2::{Decompress, FlushDecompress, Status};

use super::choices::Choices;
use super::forge::{Block, Codec, Column, DEFLATE, Forge, ZLIB, adler};
use super::reader::open;

/// Maximum bytes that are inflated; also the reader's limit.
const MOST: usize = 1 << 16;

/// The first bytes select the compression, the declared length, and whether the rest is compressed data, data to compress, or a recipe for such.
pub fn idv_inflate(data: &[u8]) {
    let Some((&[how, more, low, high], rest)) = data.split_first_chunk::<4>() else { return };
    let compression = if how & 1 == 0 { DEFLATE } else { ZLIB };
    let number = u16::from_le_bytes([low, high]);
    let packed = if how & 2 == 0 {
        rest.to_vec()
    } else {
        let text = if more & 1 == 0 { rest.to_vec() } else { expand(rest) };
        let mut packed = pack(compression, &text, [0, 1, 6, 9][usize::from(more >> 1 & 3)]);
        // Valid data with a few changed bytes, which a fuzzer would take long to generate.
        for change in 0..how >> 6 {
            let at = usize::from(number) + usize::from(change);
            let len = packed.len();
            packed[at % len] ^= 1 << (how >> 3 & 7);
        }
        packed
    };
    let Some(expected) = inflate(compression, &packed) else { return };
    let declared = match (&expected, how & 4) {
        (Some(bytes), 0) => bytes.len(),
        _ => usize::from(number),
    };
    let block = Block { raw: Vec::new(), packed: Some(packed.clone()), declared: Some(declared as i32) };
    let rows = declared.max(1);
    let column = Column::new("x", Codec::plain("Byte"), compression, rows as u64).block(block);
    let Some(reader) = open(Forge::new(6, rows as i64).column(column).bytes()) else {
        panic!("the file itself is sound")
    };
    let found = reader.block_bytes(0, 0);
    match (&expected, &found) {
        (Some(bytes), Ok(found)) => assert_eq!(bytes[..], found[..], "differs from flate2"),
        (Some(bytes), Err(error)) => assert_ne!(bytes.len(), declared, "flate2 reads it: {error}"),
        (None, Ok(_)) => panic!("flate2 does not read it"),
        (None, Err(_)) => {}
    }
    if let Ok(found) = found {
        assert_eq!(found.len(), declared);
    }
    metadata(compression, &packed, &expected);
}

/// The same without a declared length: metadata of a number as wide as the data.
fn metadata(compression: u8, packed: &[u8], expected: &Option<Vec<u8>>) {
    let len = expected.as_ref().map_or(8, Vec::len);
    let codec =
        [(1, "Byte"), (2, "UInt16"), (4, "UInt32"), (16, "DataViewRowId")].iter().find(|(width, _)| *width == len);
    let mut meta =
        super::forge::Meta::new("M", Codec::plain(codec.map_or("UInt64", |(_, name)| name)), compression, Vec::new());
    meta.packed = Some(packed.to_vec());
    let column = Column::new("x", Codec::plain("Byte"), 0, 1).block(vec![1]).meta(meta);
    let Some(reader) = open(Forge::new(6, 1).column(column).bytes()) else { panic!("the file itself is sound") };
    let list = reader.metadata(0).unwrap();
    let found = reader.metadata_value(0, &list[0]);
    match expected {
        Some(bytes) if codec.is_some() || len == 8 => {
            let mut wide = [0; 16];
            wide[..len].copy_from_slice(bytes);
            let number = match found {
                Ok(idv::Values::RowId(ids)) => ids[0],
                Ok(values) => values.stored_key(0).unwrap().into(),
                Err(error) => panic!("flate2 reads it: {error}"),
            };
            assert_eq!(number, u128::from_le_bytes(wide));
        }
        _ => assert!(found.is_err(), "flate2 does not read a number in it"),
    }
}

/// Expands a recipe to thousands of bytes: runs, copies, and noise over alphabets of all sizes.
fn expand(recipe: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut choices = Choices::new(recipe);
    let mut noise = 0x9E37_79B9_7F4A_7C15_u64;
    while !choices.is_empty() && text.len() < MOST - (1 << 13) {
        let (what, len) = (choices.byte(), usize::from(choices.byte()) << (choices.byte() & 5));
        match what {
            0..32 => text.extend(std::iter::repeat_n(choices.byte(), len)),
            32..96 => {
                let back = 1 + usize::from(choices.byte()) * usize::from(choices.byte());
                for _ in 0..len {
                    let byte = text.len().checked_sub(back).map_or(0, |at| text[at]);
                    text.push(byte);
                }
            }
            _ => {
                let (first, letters) = (choices.byte(), u64::from(what) * u64::from(what) / 256);
                for _ in 0..len {
                    noise ^= noise << 13;
                    noise ^= noise >> 7;
                    noise ^= noise << 17;
                    // Low letters are more frequent, so codes differ in length.
                    let letter = (noise >> 40) % letters * ((noise >> 20) % letters) / letters;
                    text.push(first.wrapping_add(letter as u8));
                }
            }
        }
    }
    text
}

fn pack(compression: u8, text: &[u8], level: u32) -> Vec<u8> {
    let level = flate2::Compression::new(level);
    if compression == ZLIB {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    } else {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), level);
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }
}

/// The content of a valid stream that is not too long, else `Some(None)`. In one call, because only then does the library detect every distance
/// before the first byte. `None` if the result is unknown: built for fuzzing, the library ignores checksums, here and in the reader.
fn inflate(compression: u8, packed: &[u8]) -> Option<Option<Vec<u8>>> {
    let mut state = Decompress::new(compression == ZLIB);
    let mut out = Vec::with_capacity(MOST + 1);
    let status = state.decompress_vec(packed, &mut out, FlushDecompress::Finish);
    if !matches!(status, Ok(Status::StreamEnd)) || out.len() > MOST {
        return Some(None);
    }
    let sum = packed.get(..state.total_in() as usize).and_then(<[u8]>::last_chunk::<4>);
    match compression == ZLIB && sum != Some(&adler(&out)) {
        false => Some(Some(out)),
        true if cfg!(fuzzing) => None,
        true => Some(None),
    }
}
