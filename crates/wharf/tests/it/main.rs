//! The integration tests of this crate, a module for each part of it: one program to build and to link.
#![cfg(feature = "cli")]
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

#[cfg(all(feature = "parquet", feature = "idv", feature = "datadings", feature = "ds", feature = "zds"))]
mod bad_columns;
mod common;
#[cfg(all(feature = "parquet", feature = "idv", feature = "datadings", feature = "zds"))]
mod convert_columns;
#[cfg(feature = "idv")]
mod convert_idv;
#[cfg(all(feature = "idv", feature = "datadings", feature = "ds", feature = "zds", feature = "parquet"))]
mod cross;
#[cfg(feature = "datadings")]
mod datadings_files;
#[cfg(feature = "datadings")]
mod datadings_import;
#[cfg(feature = "datadings")]
mod datadings_open;
#[cfg(feature = "datadings")]
mod datadings_place;
#[cfg(feature = "datadings")]
mod datadings_repair;
#[cfg(feature = "datadings")]
mod datadings_verbs;
#[cfg(feature = "datadings")]
mod datasets;
#[cfg(feature = "ds")]
mod ds;
#[cfg(feature = "ds")]
mod ds_convert;
#[cfg(all(feature = "ds", feature = "idv"))]
mod ds_idv;
#[cfg(feature = "netcdf")]
mod ds_netcdf;
#[cfg(feature = "ds")]
mod ds_verbs;
#[cfg(feature = "ds")]
mod ds_zeros;
#[cfg(all(unix, feature = "zds", feature = "datadings"))]
mod ending;
#[cfg(feature = "idv")]
mod golden;
#[cfg(all(unix, feature = "datadings"))]
mod hostile_files;
#[cfg(all(feature = "idv", feature = "datadings", feature = "ds", feature = "zds", feature = "parquet"))]
mod idv_limits;
#[cfg(feature = "idv")]
mod interface;
#[cfg(all(feature = "parquet", feature = "idv", feature = "ds"))]
mod joining;
#[cfg(feature = "idv")]
mod merge_recover;
#[cfg(feature = "idv")]
mod model;
#[cfg(all(unix, feature = "idv", feature = "datadings", feature = "ds", feature = "zds", feature = "parquet"))]
mod overlap;
#[cfg(all(feature = "parquet", feature = "idv"))]
mod parquet;
#[cfg(feature = "zds")]
mod stores;
#[cfg(feature = "idv")]
mod streams;
#[cfg(all(unix, feature = "parquet", feature = "idv", feature = "ds", feature = "datadings", feature = "zds"))]
mod wide;
#[cfg(feature = "zds")]
mod zds;
#[cfg(feature = "zds")]
mod zds_verbs;
#[cfg(feature = "zds")]
mod zds_whole;
