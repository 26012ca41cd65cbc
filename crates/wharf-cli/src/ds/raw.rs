//! `wharf get FILE VARIABLE --raw`: prints the stored bytes of values.

use std::io::{BufWriter, Write};

use container_core::{Error, Result};
use dsfmt::{Array, DataType, Endian, Mask, Reader, Values};

use super::SliceOptions;
use crate::Outcome;
use crate::env::Env;

/// Elements read at once. A multiple of 8, so that packed booleans of a chunk end at a byte.
const CHUNK: u64 = 64 << 10;

/// Prints the stored values of a variable or a part of it, without mask. Missing elements are not stored, so they are omitted.
pub(crate) fn raw(reader: &Reader, name: &str, slice: &SliceOptions, env: &mut Env<'_>) -> Result<Outcome> {
    let variable = reader.variable(name)?;
    if let Some(problem) = variable.problem() {
        return Err(problem);
    }
    let selection = slice.selection(reader)?;
    let Some(data_type) = variable.data_type().filter(|_| variable.shape().is_some()) else {
        return Ok(Outcome::Done); // no values, no bytes
    };
    if env.stdout.terminal.is_some() && data_type != DataType::Unicode {
        return Err(Error::usage("cannot write binary data to a terminal; use a file or a pipe"));
    }
    let mut out = RawWriter {
        out: BufWriter::with_capacity(256 << 10, &mut env.stdout),
        swap: variable.endian() != Endian::NATIVE,
        bits: 0,
        bit_count: 0,
    };
    let mut strings = 0;
    let mut write = |array: &Array<'_>| -> Result<()> {
        strings += if data_type.is_text() { array.len() - array.missing() } else { 0 };
        if strings > 1 {
            let detail = "--raw prints a single string, but the selection has several; select one with --sel";
            return Err(Error::usage(detail).in_column(name.to_owned()));
        }
        out.put(array).map_err(|cause| Error::io("cannot write to standard output", cause))
    };
    if slice.is_all() {
        let (mut at, all) = (0, variable.len());
        let step = if data_type.is_text() { 2 } else { CHUNK };
        while at < all {
            let end = all.min(at + step);
            write(&variable.read_elements(at..end)?)?;
            at = end;
        }
    } else {
        variable.select_chunks(&selection, CHUNK, |array| write(&array))?;
    }
    out.finish().map_err(|cause| Error::io("cannot write to standard output", cause))?;
    Ok(Outcome::Done)
}

/// Writes values in the file's byte order.
struct RawWriter<W: Write> {
    out: W,
    swap: bool,
    /// Booleans of an incomplete byte, from the most significant bit.
    bits: u8,
    bit_count: u32,
}

macro_rules! numbers {
    ($raw:ident, $all:ident, $mask:ident) => {
        for (index, number) in $all.iter().enumerate() {
            if $mask.is_none_or(|mask: &Mask<'_>| !mask.is_missing(index)) {
                let mut bytes = number.to_ne_bytes();
                if $raw.swap {
                    bytes.reverse();
                }
                $raw.out.write_all(&bytes)?;
            }
        }
    };
}

impl<W: Write> RawWriter<W> {
    fn put(&mut self, array: &Array<'_>) -> std::io::Result<()> {
        let mask = array.mask();
        match array.values() {
            Values::Float32(all) => numbers!(self, all, mask),
            Values::Float64(all) => numbers!(self, all, mask),
            Values::Int8(all) => numbers!(self, all, mask),
            Values::Int16(all) => numbers!(self, all, mask),
            Values::Int32(all) => numbers!(self, all, mask),
            Values::Int64(all) => numbers!(self, all, mask),
            Values::Uint8(all) => numbers!(self, all, mask),
            Values::Uint16(all) => numbers!(self, all, mask),
            Values::Uint32(all) => numbers!(self, all, mask),
            Values::Uint64(all) => numbers!(self, all, mask),
            Values::Bool(all) => {
                for (index, truth) in all.iter().enumerate() {
                    if mask.is_some_and(|mask| mask.is_missing(index)) {
                        continue;
                    }
                    self.bits |= u8::from(*truth) << (7 - self.bit_count);
                    self.bit_count += 1;
                    if self.bit_count == 8 {
                        self.out.write_all(&[self.bits])?;
                        (self.bits, self.bit_count) = (0, 0);
                    }
                }
            }
            // Missing strings are empty.
            Values::Str(all) | Values::Unicode(all) => self.out.write_all(all.as_bytes())?,
        }
        Ok(())
    }

    fn finish(mut self) -> std::io::Result<()> {
        if self.bit_count > 0 {
            self.out.write_all(&[self.bits])?;
        }
        self.out.flush()
    }
}
