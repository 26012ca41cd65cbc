//! The writer: a dataset put together, then a file that is whole or not there.

mod bits;
mod builder;
mod emit;
mod field;
mod layout;
mod put;

#[cfg(test)]
mod tests;

pub use builder::{Builder, Written};
pub use field::Field;
