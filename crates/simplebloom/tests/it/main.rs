//! Integration tests, one module for each part of the crate, in a single binary.
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

mod golden;
mod hostile;
mod properties;
