//! Loops over many elements: pure, no I/O, written so that the compiler can use wide registers.

mod bits;
mod expand;
mod load;

pub(crate) use bits::{copy_bits, missing, missing_in, shifted, unpack, unpacked};
pub(crate) use expand::{expand, expand_numbers};
pub(crate) use load::load;
