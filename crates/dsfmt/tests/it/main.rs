//! Integration tests in a single program, one module per part of the crate.
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
mod attacks;
mod common;
mod container;
mod damage;
mod described;
mod fuzz_replay;
mod golden;
#[cfg(feature = "netcdf")]
mod netcdf;
#[cfg(feature = "netcdf")]
mod netcdf_groups;
#[cfg(feature = "netcdf")]
mod netcdf_hdf5;
#[cfg(feature = "netcdf")]
mod netcdf_hostile;
#[cfg(feature = "netcdf")]
mod netcdf_links;
#[cfg(feature = "netcdf")]
mod netcdf_types;
#[cfg(feature = "netcdf")]
mod netcdf_write;
mod properties;
mod read;
mod region;
mod select;
mod tidy;
mod time;
mod verify;
mod write;
#[cfg(feature = "zarr")]
mod zarr;
#[cfg(feature = "zarr")]
mod zarr_hostile;
