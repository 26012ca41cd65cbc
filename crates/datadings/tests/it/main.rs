//! Integration tests, one module per area, in a single program to speed up linking.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking, and create data with casts"
)]

#[cfg(feature = "arrow")]
mod arrow;
#[cfg(feature = "arrow")]
mod arrow_write;
#[cfg(feature = "arrow")]
mod arrow_write_rows;
mod attacks;
mod container;
#[cfg(unix)]
mod crash;
mod fuzz_replay;
mod json;
mod numpy;
mod order;
mod recover;
mod serde;
mod set;
mod shards;
mod verify;
