//! Decompresses Blosc, the usual compression of stores of version 2: a header, then blocks, which are split by the bytes of elements and compressed.

use std::io::Read;

/// Bytes of the header.
const HEADER: usize = 16;

/// Elements of up to this many bytes are split into streams.
const MAX_SPLITS: usize = 16;

/// Minimum elements of a block that is split.
const MIN_SPLIT: usize = 128;

/// Flags of the header.
const SHUFFLED: u8 = 1;
const STORED: u8 = 2;
const BIT_SHUFFLED: u8 = 4;
const NOT_SPLIT: u8 = 16;

/// Decompresses a chunk of up to `limit` bytes.
///
/// # Errors
/// Words for a chunk that is damaged, too long, or compressed in a way that is not known.
pub(super) fn decompress(bytes: &[u8], limit: u64) -> Result<Vec<u8>, String> {
    let damaged = || "the header is damaged".to_owned();
    let header = bytes.get(..HEADER).ok_or_else(damaged)?;
    let [_, _, flags, size, ..] = *header else { return Err(damaged()) };
    let len = number(header, 4).ok_or_else(damaged)?;
    let block = number(header, 8).ok_or_else(damaged)?;
    if len as u64 > limit {
        return Err(format!("it holds {len} bytes, more than the {limit} of the chunk"));
    }
    if flags & STORED != 0 {
        let stored = HEADER.checked_add(len).and_then(|end| bytes.get(HEADER..end));
        return stored.map(<[u8]>::to_vec).ok_or_else(|| "the chunk is cut off".to_owned());
    }
    if len == 0 {
        return Ok(Vec::new());
    }
    let size = usize::from(size);
    if size == 0 || block == 0 {
        return Err(damaged());
    }
    // The index of blocks bounds their number before anything is allocated.
    let blocks = len.div_ceil(block);
    let index = blocks.checked_mul(4).and_then(|length| bytes.get(HEADER..HEADER.checked_add(length)?));
    index.ok_or_else(|| "the index of blocks is cut off".to_owned())?;
    let mut out = Vec::with_capacity(len);
    let mut scratch = Vec::new();
    for number_of_block in 0..blocks {
        let whole = block.min(len - out.len());
        let is_last = whole < block;
        let start = number(bytes, HEADER + 4 * number_of_block).ok_or_else(damaged)?;
        let splits = match flags & NOT_SPLIT == 0 && size <= MAX_SPLITS && block / size >= MIN_SPLIT && !is_last {
            true => size,
            false => 1,
        };
        if !whole.is_multiple_of(splits) {
            return Err(format!("blocks of {whole} bytes cannot be split into {splits} streams"));
        }
        scratch.clear();
        scratch.resize(whole, 0);
        let mut at = start;
        let part = whole / splits;
        for target in scratch.chunks_exact_mut(part.max(1)).take(splits) {
            let packed = number(bytes, at).ok_or_else(damaged)?;
            let stream = at.checked_add(4).and_then(|from| bytes.get(from..from.checked_add(packed)?));
            let stream = stream.ok_or_else(|| "a block is cut off".to_owned())?;
            match packed == target.len() {
                true => target.copy_from_slice(stream),
                false => stream_into(flags >> 5, stream, target)?,
            }
            at = at.saturating_add(4).saturating_add(packed);
        }
        if flags & SHUFFLED != 0 && size > 1 {
            unshuffle(&scratch, size, &mut out);
        } else if flags & BIT_SHUFFLED != 0 {
            unshuffle_bits(&scratch, size, &mut out);
        } else {
            out.extend_from_slice(&scratch);
        }
    }
    Ok(out)
}

/// A 32-bit integer, as a length or an offset.
fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    let value = i32::from_le_bytes(four.try_into().ok()?);
    usize::try_from(value).ok()
}

/// Decompresses a stream, which must fill `target`.
fn stream_into(format: u8, stream: &[u8], target: &mut [u8]) -> Result<(), String> {
    let read = |mut reader: Box<dyn Read + '_>, target: &mut [u8]| {
        reader.read_exact(target).map_err(|error| error.to_string())
    };
    match format {
        0 => blosclz(stream, target).ok_or_else(|| "a block of BloscLZ is damaged".to_owned()),
        1 => match lz4_flex::block::decompress_into(stream, target) {
            Ok(length) if length == target.len() => Ok(()),
            Ok(length) => Err(format!("expected {} bytes of LZ4, found {length}", target.len())),
            Err(error) => Err(error.to_string()),
        },
        3 => read(Box::new(flate2::read::ZlibDecoder::new(stream)), target),
        4 => {
            read(Box::new(zstd::stream::read::Decoder::with_buffer(stream).map_err(|error| error.to_string())?), target)
        }
        2 => Err("unsupported compression snappy (known: blosclz, lz4, zlib, zstd)".to_owned()),
        other => Err(format!("unknown compression {other}")),
    }
}

/// Decompresses BloscLZ, a variant of FastLZ; `None` if it is damaged or does not fill `out`.
fn blosclz(stream: &[u8], out: &mut [u8]) -> Option<()> {
    /// Distances from here on have 16 bits of their own.
    const FAR: usize = 8191;
    let mut input = stream.iter().copied();
    let (mut at, mut control) = (0usize, usize::from(input.next()? & 31));
    loop {
        if control < 32 {
            for _ in 0..=control {
                *out.get_mut(at)? = input.next()?;
                at += 1;
            }
        } else {
            let mut length = (control >> 5) - 1;
            let high = (control & 31) << 8;
            if length == 6 {
                loop {
                    let more = input.next()?;
                    length += usize::from(more);
                    if more != 255 {
                        break;
                    }
                }
            }
            let low = usize::from(input.next()?);
            let distance = match (low, high) {
                (255, 7936) => (usize::from(input.next()?) << 8) + usize::from(input.next()?) + FAR,
                _ => high + low,
            };
            let mut from = at.checked_sub(distance.checked_add(1)?)?;
            for _ in 0..length + 3 {
                let byte = *out.get(from)?;
                *out.get_mut(at)? = byte;
                (from, at) = (from + 1, at + 1);
            }
        }
        match input.next() {
            Some(next) => control = usize::from(next),
            None => break,
        }
    }
    (at == out.len()).then_some(())
}

/// Puts the bytes of elements together again: all first bytes come first, then all second ones.
fn unshuffle(bytes: &[u8], size: usize, out: &mut Vec<u8>) {
    let count = bytes.len() / size;
    for element in 0..count {
        out.extend((0..size).filter_map(|byte| bytes.get(byte * count + element)));
    }
    out.extend_from_slice(bytes.get(count * size..).unwrap_or_default());
}

/// Puts the bits of elements together again: all first bits come first. Only of multiples of 8 elements.
fn unshuffle_bits(bytes: &[u8], size: usize, out: &mut Vec<u8>) {
    let count = bytes.len() / size;
    if !count.is_multiple_of(8) {
        out.extend_from_slice(bytes);
        return;
    }
    let row = count / 8;
    for element in 0..count {
        for byte in 0..size {
            let bit = |bit: usize| {
                let packed = bytes.get((byte * 8 + bit) * row + element / 8).copied().unwrap_or(0);
                (packed >> (element % 8) & 1) << bit
            };
            out.push((0..8).map(bit).fold(0, |all, bit| all | bit));
        }
    }
    out.extend_from_slice(bytes.get(count * size..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chunk of one block of stored streams.
    fn chunk(size: u8, block: usize, streams: &[Vec<u8>]) -> Vec<u8> {
        let word = |number: usize| i32::try_from(number).unwrap().to_le_bytes();
        let mut chunk = [&[2, 1, 0, size][..], &word(block), &word(block), &word(0), &word(HEADER + 4)].concat();
        for stream in streams {
            chunk.extend(word(stream.len()));
            chunk.extend(stream);
        }
        chunk
    }

    #[test]
    fn every_byte_of_a_block_is_in_a_stream() {
        let streams = |len| vec![vec![7; len], vec![8; len]];
        let found = decompress(&chunk(2, 512, &streams(256)), 1 << 20);
        assert_eq!(found, Ok([vec![7; 256], vec![8; 256]].concat()));
        let found = decompress(&chunk(2, 513, &streams(256)), 1 << 20);
        assert_eq!(found, Err("blocks of 513 bytes cannot be split into 2 streams".to_owned()));
        assert_eq!(
            decompress(&chunk(2, 512, &streams(256)), 511).unwrap_err(),
            "it holds 512 bytes, more than the 511 of the chunk"
        );
    }
}
