//! Containers that show another one differently.

pub(crate) mod change;
pub(crate) mod filter;
