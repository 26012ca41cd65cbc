//! Archives: what is read out of them, and what no archive can do.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "test code fails by panicking")]
#![allow(clippy::cast_possible_truncation, reason = "archives made here are small")]

mod builder;
mod folders;
mod hostile;
mod reading;
