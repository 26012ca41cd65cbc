//! The reader.

mod find;
mod look_up;
mod offsets;
mod open;
mod parts;
mod reader;
mod sample;
mod samples;

pub(crate) use offsets::Offsets;
pub(crate) use open::set_of;
pub use reader::Reader;
pub use sample::Sample;
pub use samples::{Keys, Samples};
