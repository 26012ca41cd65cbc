//! Integration tests, in one program to save linking.
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

mod archive;
mod attacks;
mod beside;
mod fuzz_replay;
mod golden;
#[cfg(unix)]
mod kill;
mod limits;
mod properties;
mod reads;
mod write;
