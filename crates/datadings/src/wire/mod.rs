//! The on-disk layouts of a dataset's files: parsing and emitting, no I/O.

pub(crate) mod emit;
pub(crate) mod keys;
pub(crate) mod legacy;
pub(crate) mod md5_file;
mod names;
pub(crate) mod offsets;
mod token;

pub use names::Part;

pub(crate) use emit::{
    put_array_header, put_bin, put_bool, put_ext, put_f32, put_f64, put_int, put_map_header, put_nil, put_str, put_uint,
};
pub(crate) use names::FileSet;
pub(crate) use token::{Token, Tokens, utf8};
