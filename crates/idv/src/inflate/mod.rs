//! Decompression of one block, never beyond the size that was declared for it.
//!
//! A whole block with a declared size is inflated by [`fast`]. What that does not take, and what has no
//! declared size, goes through the library, which also tells what is wrong.

mod bits;
mod fast;
mod lanes;
mod tables;

use container_core::{Error, Result};
use flate2::{Decompress, FlushDecompress, Status};

use self::fast::Fast;
use crate::wire::Compression;

/// DEFLATE cannot make more than this many bytes of one: a length of 258 in two bits.
const MAX_RATIO: u64 = 1032;

/// The state of an inflater, kept from block to block.
#[derive(Default)]
pub(crate) struct Inflater {
    raw: Option<Decompress>,
    zlib: Option<Decompress>,
    fast: Option<Box<Fast>>,
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
        let fast = self.fast.get_or_insert_default();
        if fast.inflate(compression == Compression::Zlib, packed, out).is_some() {
            return Ok(());
        }
        self.inflate_with_library(compression, packed, out)
    }

    /// The same with the library: in one go, where it checks best, and if that fails once more to find out why.
    #[cold]
    fn inflate_with_library(&mut self, compression: Compression, packed: &[u8], out: &mut [u8]) -> Result<()> {
        let state = self.state(compression);
        let status = state.decompress(packed, out, FlushDecompress::Finish);
        if matches!(status, Ok(Status::StreamEnd)) && state.total_out() == out.len() as u64 {
            return Ok(());
        }
        self.inflate_in_steps(compression, packed, out)?;
        if out.is_empty() {
            return Ok(());
        }
        // Step by step, distances to before the first byte can go unnoticed.
        Err(Error::invalid("the compressed data are damaged"))
    }

    /// The same step by step, so that it can be told what is wrong.
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
                Status::StreamEnd => break,
                Status::Ok | Status::BufError if moved => {}
                Status::Ok | Status::BufError => {
                    return Err(Error::invalid(format!("the compressed data end after {} bytes", out.len())));
                }
            }
        }
        // Step by step, distances to before the first byte can go unnoticed: now that the size is known, once more.
        self.inflate(compression, packed, out)
    }
}

/// The most that so many compressed bytes can inflate to.
pub(crate) fn most(packed: u64) -> u64 {
    packed.saturating_mul(MAX_RATIO)
}

#[cfg(test)]
mod tests;
