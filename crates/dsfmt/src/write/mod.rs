//! The writer: builds a dataset, then writes the file atomically.

pub(crate) mod assembly;
pub(crate) mod bits;
pub(crate) mod builder;
pub(crate) mod emit;
pub(crate) mod field;
pub(crate) mod layout;
pub(crate) mod put;
pub(crate) mod spool;
#[cfg_attr(test, path = "step_in_tests.rs")]
mod step;
mod stream;

#[cfg(test)]
mod tests;

pub use builder::{Builder, Written};
pub use field::Field;
pub use stream::Writer;
