//! The writer: a dataset put together, then a file that is whole or not there.

mod bits;
mod builder;
mod emit;
mod field;
mod layout;
mod put;
mod spool;
mod stream;

#[cfg(test)]
mod tests;

pub use builder::{Builder, Written};
pub use field::Field;
pub use stream::Writer;
