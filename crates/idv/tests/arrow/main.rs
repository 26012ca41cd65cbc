//! Record batches out of files and into them.
#![cfg(feature = "arrow")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "test code fails by panicking")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "tests make their data with casts"
)]

#[path = "../support/mod.rs"]
mod support;

mod property;
mod reading;
mod show;
mod writing;
