//! The integration tests of this crate, a module for each part of it: one program to build and to link.
#![cfg(feature = "convert")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking, and make their data with casts"
)]

mod files;
mod formats;
mod netcdf;
mod routes;
mod subset;
mod untyped;
