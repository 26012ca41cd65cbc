//! Decompression of one block, never beyond the size that was declared for it.
//!
//! A whole block with a declared size is inflated by [`deflate_lanes`]. What that does not take, and what has no
//! declared size, goes through flate2, which also tells what is wrong.

use container_core::{Error, Result};
use deflate_lanes::Format;
use flate2::{Decompress, FlushDecompress, Status};

use crate::wire::Compression;

/// The state of an inflater, kept from block to block.
#[derive(Default)]
pub(crate) struct Inflater {
    raw: Option<Decompress>,
    zlib: Option<Decompress>,
    lanes: deflate_lanes::Inflater,
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
        let format = if compression == Compression::Zlib { Format::Zlib } else { Format::Raw };
        if self.lanes.inflate(format, packed, out).is_ok() {
            return Ok(());
        }
        self.inflate_with_library(compression, packed, out)
    }

    /// Inflates the first bytes of what `packed` holds into all of `out`. What follows is not looked at.
    pub(crate) fn inflate_beginning(&mut self, compression: Compression, packed: &[u8], out: &mut [u8]) -> Result<()> {
        let state = self.state(compression);
        // In one go, where distances to before the first byte are found.
        let status = state.decompress(packed, out, FlushDecompress::Finish);
        status.map_err(|error| Error::invalid("the compressed data are damaged").caused_by(error))?;
        let (made, wanted) = (state.total_out(), out.len());
        if made == wanted as u64 {
            return Ok(());
        }
        Err(Error::invalid(format!("the compressed data end after {made} bytes, {wanted} are needed")))
    }

    /// Inflates all of it with the library: in one go, where it checks best, and if that fails once more to find out why.
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

    /// How many bytes `packed` inflates to, whose size is declared nowhere; more than `limit` are an error.
    pub(crate) fn measure(&mut self, compression: Compression, packed: &[u8], limit: u64) -> Result<u64> {
        /// Bytes that are made at a time, and forgotten.
        const STEP: usize = 32 << 10;
        let state = self.state(compression);
        let mut out = vec![0; STEP];
        loop {
            let (read, made) = (state.total_in(), state.total_out());
            let rest = packed.get(usize::try_from(read).unwrap_or(usize::MAX)..).unwrap_or_default();
            let status = state.decompress(rest, &mut out, FlushDecompress::None);
            let status = status.map_err(|error| Error::invalid("the compressed data are damaged").caused_by(error))?;
            if state.total_out() > limit {
                return Err(Error::limit("decompressed metadata bytes", state.total_out(), limit));
            }
            let moved = state.total_in() > read || state.total_out() > made;
            match status {
                Status::StreamEnd => return Ok(state.total_out()),
                Status::Ok | Status::BufError if moved => {}
                Status::Ok | Status::BufError => {
                    return Err(Error::invalid(format!("the compressed data end after {} bytes", state.total_out())));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
