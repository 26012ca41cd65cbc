//! Decompression of one block, never beyond the size that was declared for it.

use container_core::{Error, Result};
use flate2::{Decompress, FlushDecompress, Status};

use crate::wire::Compression;

/// DEFLATE cannot make more than this many bytes of one: a length of 258 in two bits.
const MAX_RATIO: u64 = 1032;

/// The state of an inflater, kept from block to block.
#[derive(Default)]
pub(crate) struct Inflater {
    raw: Option<Decompress>,
    zlib: Option<Decompress>,
}

impl Inflater {
    fn state(&mut self, compression: Compression) -> &mut Decompress {
        let zlib = compression == Compression::Zlib;
        let slot = if zlib { &mut self.zlib } else { &mut self.raw };
        let state = slot.get_or_insert_with(|| Decompress::new(zlib));
        state.reset(zlib);
        state
    }

    /// Inflates `packed` into all of `out`. More or fewer bytes than that are an error, found without making them.
    pub(crate) fn inflate(&mut self, compression: Compression, packed: &[u8], out: &mut [u8]) -> Result<()> {
        let state = self.state(compression);
        // In one go, which backends have a faster way for.
        let status = state.decompress(packed, out, FlushDecompress::Finish);
        if matches!(status, Ok(Status::StreamEnd)) && state.total_out() == out.len() as u64 {
            return Ok(());
        }
        self.inflate_in_steps(compression, packed, out)
    }

    /// The same step by step, so that it can be told what is wrong.
    #[cold]
    fn inflate_in_steps(&mut self, compression: Compression, packed: &[u8], out: &mut [u8]) -> Result<()> {
        let state = self.state(compression);
        let declared = out.len() as u64;
        let mut spare = [0; 1];
        loop {
            let (read, made) = (state.total_in(), state.total_out());
            let rest = packed.get(usize::try_from(read).unwrap_or(usize::MAX)..).unwrap_or_default();
            let room = usize::try_from(made).ok().and_then(|made| out.get_mut(made..)).filter(|room| !room.is_empty());
            // When the room is used up, a byte beside it shows whether the data end here too.
            let status = state.decompress(rest, room.unwrap_or(&mut spare), FlushDecompress::None);
            if state.total_out() > declared {
                return Err(Error::invalid(format!("the block inflates to more than the {declared} bytes declared")));
            }
            let status = status.map_err(|error| Error::invalid("the compressed data are damaged").caused_by(error))?;
            let moved = state.total_in() > read || state.total_out() > made;
            match status {
                Status::StreamEnd if state.total_out() == declared => return Ok(()),
                Status::StreamEnd => {
                    let made = state.total_out();
                    return Err(Error::invalid(format!("the block inflates to {made} bytes, {declared} are declared")));
                }
                Status::Ok | Status::BufError if moved => {}
                Status::Ok | Status::BufError => {
                    let made = state.total_out();
                    return Err(Error::invalid(format!("the compressed data end after {made} of {declared} bytes")));
                }
            }
        }
    }

    /// Inflates `packed`, whose size is declared nowhere, into `out`; more than `limit` bytes are an error.
    pub(crate) fn inflate_unsized(
        &mut self,
        compression: Compression,
        packed: &[u8],
        out: &mut Vec<u8>,
        limit: u64,
    ) -> Result<()> {
        let limit = limit.min(most(packed.len() as u64));
        let state = self.state(compression);
        out.clear();
        loop {
            let (read, made) = (state.total_in(), out.len() as u64);
            if out.len() == out.capacity() {
                let room = (made.max(128)).min(limit.saturating_sub(made).saturating_add(1));
                out.reserve(usize::try_from(room).unwrap_or(0));
            }
            let rest = packed.get(usize::try_from(read).unwrap_or(usize::MAX)..).unwrap_or_default();
            let status = state.decompress_vec(rest, out, FlushDecompress::None);
            let status = status.map_err(|error| Error::invalid("the compressed data are damaged").caused_by(error))?;
            if out.len() as u64 > limit {
                return Err(Error::limit("decompressed metadata bytes", out.len() as u64, limit));
            }
            let moved = state.total_in() > read || out.len() as u64 > made;
            match status {
                Status::StreamEnd => return Ok(()),
                Status::Ok | Status::BufError if moved => {}
                Status::Ok | Status::BufError => {
                    return Err(Error::invalid(format!("the compressed data end after {} bytes", out.len())));
                }
            }
        }
    }
}

/// The most that so many compressed bytes can inflate to.
pub(crate) fn most(packed: u64) -> u64 {
    packed.saturating_mul(MAX_RATIO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn deflate(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn inflate(packed: &[u8], declared: usize) -> Result<Vec<u8>, String> {
        let mut out = vec![0; declared];
        let mut inflater = Inflater::default();
        inflater.inflate(Compression::Deflate, packed, &mut out).map(|()| out).map_err(|error| error.to_string())
    }

    #[test]
    fn exactly_what_was_declared() {
        for len in [0, 1, 100, 70_000] {
            let bytes: Vec<u8> = (0..len).map(|i: u32| (i.wrapping_mul(i) >> 3) as u8).collect();
            let packed = deflate(&bytes);
            assert_eq!(inflate(&packed, bytes.len()).unwrap(), bytes);
            let more = inflate(&packed, bytes.len() + 1).unwrap_err();
            assert_eq!(more, format!("the block inflates to {len} bytes, {} are declared", len + 1));
            if len > 0 {
                let fewer = inflate(&packed, bytes.len() - 1).unwrap_err();
                assert_eq!(fewer, format!("the block inflates to more than the {} bytes declared", len - 1));
                let cut = inflate(&packed[..packed.len() - 1], bytes.len());
                assert!(cut.is_err(), "a stream without its end");
            }
        }
    }

    #[test]
    fn the_state_survives_damage() {
        let packed = deflate(b"hello hello hello");
        let mut inflater = Inflater::default();
        let mut out = [0; 17];
        assert!(inflater.inflate(Compression::Deflate, &[0xFF; 9], &mut out).is_err());
        inflater.inflate(Compression::Deflate, &packed, &mut out).unwrap();
        assert_eq!(&out, b"hello hello hello");
        assert!(inflater.inflate(Compression::Zlib, &packed, &mut out).is_err());
    }

    #[test]
    fn without_a_declared_size_the_limit_holds() {
        let packed = deflate(&[7; 100_000]);
        let (mut inflater, mut out) = (Inflater::default(), Vec::new());
        inflater.inflate_unsized(Compression::Deflate, &packed, &mut out, 100_000).unwrap();
        assert_eq!(out, [7; 100_000]);
        let error = inflater.inflate_unsized(Compression::Deflate, &packed, &mut Vec::new(), 99_999).unwrap_err();
        assert!(error.to_string().contains("exceeds the limit 99999"), "{error}");
        let cut = &packed[..packed.len() - 3];
        let error = inflater.inflate_unsized(Compression::Deflate, cut, &mut out, 100_000).unwrap_err();
        assert!(error.to_string().starts_with("the compressed data end after"), "{error}");
    }

    #[test]
    fn the_ratio_is_what_deflate_can_do() {
        let packed = deflate(&vec![0; 10_000_000]);
        assert!(most(packed.len() as u64) >= 10_000_000);
    }
}
