//! Tables as record batches, and files from them.
#![cfg(feature = "arrow")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests make their data with casts and fail by panicking"
)]
#![allow(unreachable_pub, reason = "shared among the files of the test")]

mod read;
mod shown;
mod times;
mod write;
