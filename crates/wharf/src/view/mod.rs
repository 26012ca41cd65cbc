//! Containers that show another one differently.

pub mod change;
