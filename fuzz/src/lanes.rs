//! deflate-lanes compared with miniz_oxide, zlib-rs and zune-inflate.

use deflate_lanes::{Deflater, Format, Inflater};
use flate2::{Decompress, FlushDecompress, Status};

use super::choices::Choices;

/// Maximum bytes that are compressed or inflated.
const MOST: usize = 1 << 16;

/// The first byte selects format and level; the second, whether the rest is the data or a recipe for it.
pub fn deflate_lanes(data: &[u8]) {
    let Some((&[how, made], rest)) = data.split_first_chunk::<2>() else { return };
    let mut raw = if made & 1 == 0 { rest.to_vec() } else { make(rest) };
    raw.truncate(MOST);
    let format = if how & 1 == 0 { Format::Raw } else { Format::Zlib };
    let level = (how >> 1) % 10;

    let mut deflater = Deflater::default();
    let mut packed = vec![made];
    deflater.deflate(format, level, &raw, &mut packed);
    assert_eq!(packed.remove(0), made, "what was there stays");
    assert!(packed.len() <= raw.len() + 5 * raw.len().div_ceil(65_535).max(1) + 6, "{} of {}", packed.len(), raw.len());

    // The result does not depend on earlier blocks.
    let other: Vec<u8> = raw.iter().rev().copied().collect();
    deflater.deflate(Format::Raw, how >> 5, &other, &mut Vec::new());
    let mut again = Vec::new();
    deflater.deflate(format, level, &raw, &mut again);
    assert_eq!(again, packed, "other bytes than the first time");

    let mut out = vec![0; raw.len()];
    Inflater::default().inflate(format, &packed, &mut out).unwrap();
    assert!(out == raw, "other bytes from our inflate");
    let body = if format == Format::Raw { &packed[..] } else { &packed[2..packed.len() - 4] };
    assert_eq!(miniz(body, raw.len()).as_ref(), Some(&raw), "miniz_oxide");
    assert_eq!(zlib_rs(body, raw.len()).as_ref(), Some(&raw), "zlib-rs");
    assert_eq!(zune(body, raw.len()).as_ref(), Some(&raw), "zune-inflate");
}

/// A raw stream after three bytes. The first two are the declared length if the third is odd, else the length is miniz_oxide's. The third
/// also selects a bit to flip.
pub fn inflate_lanes(data: &[u8]) {
    let Some((&[low, high, how], rest)) = data.split_first_chunk::<3>() else { return };
    let mut packed = rest.to_vec();
    let number = usize::from(u16::from_le_bytes([low, high]));
    if how & 2 != 0 && !packed.is_empty() {
        let at = number % packed.len();
        packed[at] ^= 1 << (how >> 5);
    }
    let whole = all(&packed);
    let declared = match &whole {
        Some(bytes) if how & 1 == 0 => bytes.len(),
        _ => number,
    };
    let mut out = vec![0xA5; declared];
    let ours = Inflater::default().inflate(Format::Raw, &packed, &mut out).ok().map(|()| out);
    let expected = whole.filter(|bytes| bytes.len() == declared);
    assert!(
        ours == expected,
        "ours: {:?}, miniz_oxide: {:?}",
        ours.map(|ours| ours.len()),
        expected.map(|all| all.len())
    );
    // These accept some invalid streams, such as incomplete codes.
    if let Some(bytes) = ours {
        assert_eq!(zlib_rs(&packed, declared).as_ref(), Some(&bytes), "zlib-rs");
        // It also rejects valid streams, which zlib accepts.
        assert!(zune(&packed, declared).is_none_or(|theirs| theirs == bytes), "zune-inflate");
    }
}

/// The content of the stream, at most [`MOST`] bytes. In one call, because only then does miniz_oxide detect every distance before the first byte.
fn all(packed: &[u8]) -> Option<Vec<u8>> {
    let mut state = Decompress::new(false);
    let mut out = Vec::with_capacity(MOST + 1);
    let status = state.decompress_vec(packed, &mut out, FlushDecompress::Finish);
    (matches!(status, Ok(Status::StreamEnd)) && out.len() <= MOST).then_some(out)
}

fn miniz(packed: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(len + 1);
    let mut state = Decompress::new(false);
    let status = state.decompress_vec(packed, &mut out, FlushDecompress::Finish);
    (matches!(status, Ok(Status::StreamEnd)) && state.total_in() == packed.len() as u64).then_some(out)
}

fn zlib_rs(packed: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut out = vec![0; len + 1];
    let mut state = zlib_rs::Inflate::new(false, 15);
    let status = state.decompress(packed, &mut out, zlib_rs::InflateFlush::Finish);
    out.truncate(usize::try_from(state.total_out()).ok()?);
    matches!(status, Ok(zlib_rs::Status::StreamEnd)).then_some(out)
}

fn zune(packed: &[u8], len: usize) -> Option<Vec<u8>> {
    let options = zune_inflate::DeflateOptions::default().set_size_hint(len + 1).set_limit(2 * MOST);
    zune_inflate::DeflateDecoder::new_with_options(packed, options).decode_deflate().ok()
}

/// Expands a recipe to runs, near and far copies, noise over alphabets of all sizes, and counters.
fn make(recipe: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut choices = Choices::new(recipe);
    let mut noise = 0x9E37_79B9_7F4A_7C15_u64;
    while !choices.is_empty() && text.len() < MOST {
        let (what, len) = (choices.byte(), (usize::from(choices.byte()) + 1) << (choices.byte() & 7));
        let (first, second) = (choices.byte(), choices.byte());
        let start = text.len();
        for i in 0..len {
            noise = noise.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(u64::from(first) << 1 | 1);
            let byte = match what & 3 {
                0 => first,
                1 => {
                    let back = 1 + usize::from(first) + (usize::from(second) << 8);
                    text.len().checked_sub(back).map_or(second, |at: usize| text[at])
                }
                2 => first.wrapping_add((((noise >> 48) as u8 as u16 * (u16::from(second) + 1)) >> 8) as u8),
                _ => ((start + i) >> (8 * (i % (1 + usize::from(second) % 8)))) as u8,
            };
            text.push(byte);
        }
    }
    text
}
