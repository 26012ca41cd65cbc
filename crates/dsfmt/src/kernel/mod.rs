//! Loops over many elements: no I/O, written so that the compiler vectorizes them.

mod bits;
mod expand;
mod load;

pub(crate) use bits::{copy_bits, count_ones, count_ones_in, shifted, unpack, unpacked};
pub(crate) use expand::{expand, expand_numbers};
pub(crate) use load::load;
