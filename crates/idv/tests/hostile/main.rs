//! Files that lie, each with the exact words in which it is refused.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "test code fails by panicking")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "tests make their data with casts"
)]

#[path = "../support/mod.rs"]
mod support;

mod blocks;
mod header;
mod metadata;
mod numbers;
mod table_of_contents;
mod text;
mod vectors;
