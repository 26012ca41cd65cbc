//! The integration tests of this crate in one binary, a module per topic.
#![cfg(feature = "convert")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking, and build their data with casts"
)]

mod change;
mod diff;
mod extract;
mod files;
mod filters;
mod formats;
mod input_table;
mod netcdf;
mod open_container;
mod own_target;
mod routes;
mod stats;
mod subset;
mod untyped;
