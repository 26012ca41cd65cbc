//! Integration tests of this crate, in one binary with a module per area.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking, and make their data with casts"
)]

#[cfg(feature = "arrow")]
mod arrow;
mod cells;
mod conform;
mod crash;
mod fuzz_replay;
mod hostile;
#[cfg(feature = "model")]
mod hostile_model;
mod large;
mod merge;
mod older;
mod property;
mod ranges;
mod recover;
mod recover_hostile;
mod rewrite;
mod support;
mod verify;
mod writer;
mod writer_misuse;
mod written_property;
