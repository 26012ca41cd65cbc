//! Decompression of one block, never beyond its declared size.
//!
//! [`deflate_lanes`] inflates complete blocks of declared size. flate2 handles prefixes, data of unknown size, and whatever
//! `deflate_lanes` rejects, to diagnose it.

use container_core::{Error, Result};
use deflate_lanes::Format;
use flate2::{Decompress, FlushDecompress, Status};

use crate::wire::Compression;

/// Decompression state, reused from block to block.
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

    /// Inflates `packed` into all of `out`. More or fewer bytes are an error; excess bytes are not produced.
    pub(crate) fn inflate(&mut self, compression: Compression, packed: &[u8], out: &mut [u8]) -> Result<()> {
        let format = if compression == Compression::Zlib { Format::Zlib } else { Format::Raw };
        if self.lanes.inflate(format, packed, out).is_ok() {
            return Ok(());
        }
        self.inflate_with_library(compression, packed, out)
    }

    /// Inflates the first bytes of `packed` into all of `out`. The rest is not checked.
    pub(crate) fn inflate_prefix(&mut self, compression: Compression, packed: &[u8], out: &mut [u8]) -> Result<()> {
        let state = self.state(compression);
        // In one call, which detects distances that reach before the first byte.
        let status = state.decompress(packed, out, FlushDecompress::Finish);
        status.map_err(|error| Error::invalid("corrupt compressed data").caused_by(error))?;
        let (produced, expected) = (state.total_out(), out.len());
        if produced == expected as u64 {
            return Ok(());
        }
        Err(Error::invalid(format!("the compressed data end after {produced} of {expected} bytes")))
    }

    /// Inflates with flate2: in one call, which checks most; if that fails, again in steps to find the reason.
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
        // Inflating in steps can miss distances that reach before the first byte.
        Err(Error::invalid("corrupt compressed data"))
    }

    /// Inflates in steps to diagnose corrupt data.
    fn inflate_in_steps(&mut self, compression: Compression, packed: &[u8], out: &mut [u8]) -> Result<()> {
        let state = self.state(compression);
        let declared = out.len() as u64;
        let mut spare = [0; 1];
        loop {
            let (read, produced) = (state.total_in(), state.total_out());
            let rest = packed.get(usize::try_from(read).unwrap_or(usize::MAX)..).unwrap_or_default();
            let room = usize::try_from(produced)
                .ok()
                .and_then(|produced| out.get_mut(produced..))
                .filter(|room| !room.is_empty());
            // Once `out` is full, a spare byte shows whether the data end here.
            let status = state.decompress(rest, room.unwrap_or(&mut spare), FlushDecompress::None);
            if state.total_out() > declared {
                return Err(Error::invalid(format!("the block inflates to more than the {declared} bytes declared")));
            }
            let status = status.map_err(|error| Error::invalid("corrupt compressed data").caused_by(error))?;
            let progressed = state.total_in() > read || state.total_out() > produced;
            match status {
                Status::StreamEnd if state.total_out() == declared => return Ok(()),
                Status::StreamEnd => {
                    let produced = state.total_out();
                    return Err(Error::invalid(format!(
                        "the block inflates to {produced} bytes, declared are {declared}"
                    )));
                }
                Status::Ok | Status::BufError if progressed => {}
                Status::Ok | Status::BufError => {
                    let produced = state.total_out();
                    return Err(Error::invalid(format!(
                        "the compressed data end after {produced} of {declared} bytes"
                    )));
                }
            }
        }
    }

    /// Number of bytes `packed` inflates to, when no size is declared; more than `limit` is an error.
    pub(crate) fn measure(&mut self, compression: Compression, packed: &[u8], limit: u64) -> Result<u64> {
        /// Bytes inflated and discarded at a time.
        const STEP: usize = 32 << 10;
        let state = self.state(compression);
        let mut out = vec![0; STEP];
        loop {
            let (read, produced) = (state.total_in(), state.total_out());
            let rest = packed.get(usize::try_from(read).unwrap_or(usize::MAX)..).unwrap_or_default();
            let status = state.decompress(rest, &mut out, FlushDecompress::None);
            let status = status.map_err(|error| Error::invalid("corrupt compressed data").caused_by(error))?;
            if state.total_out() > limit {
                return Err(Error::limit("decompressed metadata bytes", state.total_out(), limit));
            }
            let progressed = state.total_in() > read || state.total_out() > produced;
            match status {
                Status::StreamEnd => return Ok(state.total_out()),
                Status::Ok | Status::BufError if progressed => {}
                Status::Ok | Status::BufError => {
                    return Err(Error::invalid(format!("the compressed data end after {} bytes", state.total_out())));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
