//! One compressed block: what is read must be what flate2 makes of it, or an error where it is not what was declared.

use flate2::{Decompress, FlushDecompress, Status};

use crate::forge::{Block, Codec, Column, DEFLATE, Forge, ZLIB, compress};
use crate::reader::open;

/// More than this is not inflated: the reader's limit, too.
const MOST: usize = 1 << 16;

/// The first bytes say which compression, whether the rest is packed or still to be packed, and how much is declared.
pub fn idv_inflate(data: &[u8]) {
    let Some((&[how, low, high], rest)) = data.split_first_chunk::<3>() else { return };
    let compression = if how & 1 == 0 { DEFLATE } else { ZLIB };
    let packed = if how & 2 == 0 {
        rest.to_vec()
    } else {
        // Sound data with a few bytes changed: deeper than what a fuzzer makes up soon.
        let mut packed = compress(compression, rest);
        for change in 0..how >> 6 {
            let at = usize::from(u16::from_le_bytes([low, high])) + usize::from(change);
            let len = packed.len();
            packed[at % len] ^= 1 << (how >> 3 & 7);
        }
        packed
    };
    let expected = inflate(compression, &packed);
    let declared = match (&expected, how & 4) {
        (Some(bytes), 0) => bytes.len(),
        _ => usize::from(u16::from_le_bytes([low, high])),
    };
    let block = Block { raw: Vec::new(), packed: Some(packed.clone()), declared: Some(declared as i32) };
    let rows = declared.max(1);
    let column = Column::new("x", Codec::plain("Byte"), compression, rows as u64).block(block);
    let Some(reader) = open(Forge::new(6, rows as i64).column(column).bytes()) else {
        panic!("the file itself is sound")
    };
    let found = reader.block_bytes(0, 0);
    match (&expected, &found) {
        (Some(bytes), Ok(found)) => assert_eq!(bytes[..], found[..], "other bytes than flate2"),
        (Some(bytes), Err(error)) => assert_ne!(bytes.len(), declared, "flate2 reads it: {error}"),
        (None, Ok(_)) => panic!("flate2 does not read it"),
        (None, Err(_)) => {}
    }
    if let Ok(found) = found {
        assert_eq!(found.len(), declared);
    }
    metadata(compression, &packed, &expected);
}

/// The same where nothing declares a size: a text whose only block this is fails in its codec, not in its length.
fn metadata(compression: u8, packed: &[u8], expected: &Option<Vec<u8>>) {
    let mut meta = crate::forge::Meta::new("M", Codec::plain("Byte"), compression, Vec::new());
    meta.packed = Some(packed.to_vec());
    let column = Column::new("x", Codec::plain("Byte"), 0, 1).block(vec![1]).meta(meta);
    let Some(reader) = open(Forge::new(6, 1).column(column).bytes()) else { panic!("the file itself is sound") };
    let list = reader.metadata(0).unwrap();
    match (expected.as_deref(), reader.metadata_value(0, &list[0])) {
        (Some([one]), Ok(found)) => assert_eq!(found, idv::Values::Byte(vec![*one])),
        (Some([_]), Err(error)) => panic!("flate2 reads it: {error}"),
        (_, Ok(_)) => panic!("flate2 does not read one byte in it"),
        (_, Err(_)) => {}
    }
}

/// All of the data, if they are whole and not too long.
fn inflate(compression: u8, packed: &[u8]) -> Option<Vec<u8>> {
    let mut state = Decompress::new(compression == ZLIB);
    let mut out = Vec::with_capacity(MOST + 1);
    loop {
        let (read, made) = (state.total_in(), out.len());
        let rest = &packed[read as usize..];
        let status = state.decompress_vec(rest, &mut out, FlushDecompress::None).ok()?;
        if out.len() > MOST {
            return None;
        }
        match status {
            Status::StreamEnd => return Some(out),
            _ if state.total_in() == read && out.len() == made => return None,
            _ => {}
        }
    }
}
