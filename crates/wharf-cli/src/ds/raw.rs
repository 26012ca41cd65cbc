//! `wharf get FILE VARIABLE --raw`: values as they lie in the file.

use std::io::{BufWriter, Write};

use container_core::{Error, Result};
use dsfmt::{Array, DataType, Endian, Mask, Reader, Values};

use super::Part;
use crate::Outcome;
use crate::env::Env;

/// Elements that are taken at once: a multiple of 8.
const TOGETHER: u64 = 64 << 10;

/// Prints the stored values of a variable, or of a part of it: without a mask and without the elements that are missing, which no file has.
pub(crate) fn raw(reader: &Reader, name: &str, part: &Part, env: &mut Env<'_>) -> Result<Outcome> {
    let variable = reader.variable(name)?;
    if let Some(problem) = variable.problem() {
        return Err(problem);
    }
    let selection = part.selection(reader)?;
    let Some(data_type) = variable.data_type().filter(|_| variable.shape().is_some()) else {
        return Ok(Outcome::Done); // no values, no bytes
    };
    if env.stdout.terminal.is_some() && data_type != DataType::Unicode {
        return Err(Error::usage("bytes are not for a terminal: print them into a file, or a pipe"));
    }
    let mut out = Raw {
        out: BufWriter::with_capacity(256 << 10, &mut env.stdout),
        swap: variable.endian() != Endian::NATIVE,
        bits: 0,
        held: 0,
    };
    let mut strings = 0;
    let mut take = |array: &Array<'_>| -> Result<()> {
        strings += if data_type.is_text() { array.len() - array.missing() } else { 0 };
        if strings > 1 {
            let detail =
                "it has several strings, and nothing would tell where one ends: --raw prints one, which --sel chooses";
            return Err(Error::usage(detail).in_column(name.to_owned()));
        }
        out.put(array).map_err(|cause| Error::io("cannot write to standard output", cause))
    };
    if part.is_all() {
        let (mut at, all) = (0, variable.len());
        let step = if data_type.is_text() { 2 } else { TOGETHER };
        while at < all {
            let end = all.min(at + step);
            take(&variable.read_elements(at..end)?)?;
            at = end;
        }
    } else {
        variable.select_chunks(&selection, TOGETHER, |piece| take(&piece))?;
    }
    out.end().map_err(|cause| Error::io("cannot write to standard output", cause))?;
    Ok(Outcome::Done)
}

/// Values as bytes, in the order of the file.
struct Raw<W: Write> {
    out: W,
    swap: bool,
    /// Truth values that do not make a byte yet, from the most significant bit on, and how many.
    bits: u8,
    held: u32,
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

impl<W: Write> Raw<W> {
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
                    self.bits |= u8::from(*truth) << (7 - self.held);
                    self.held += 1;
                    if self.held == 8 {
                        self.out.write_all(&[self.bits])?;
                        (self.bits, self.held) = (0, 0);
                    }
                }
            }
            // A missing one is empty.
            Values::Str(all) | Values::Unicode(all) => self.out.write_all(all.as_bytes())?,
        }
        Ok(())
    }

    fn end(mut self) -> std::io::Result<()> {
        if self.held > 0 {
            self.out.write_all(&[self.bits])?;
        }
        self.out.flush()
    }
}
