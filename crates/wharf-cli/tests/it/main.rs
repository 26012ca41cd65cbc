//! The integration tests of this crate, as one program, which builds faster than several.
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

mod bad_columns;
mod changes;
mod common;
mod convert_columns;
mod convert_idv;
mod cross;
mod datadings_files;
mod datadings_import;
mod datadings_open;
mod datadings_repair;
mod datadings_verbs;
mod dataset_folder;
mod datasets;
mod ds;
mod ds_convert;
mod ds_idv;
mod ds_netcdf;
mod ds_verbs;
mod ds_zero_sized;
mod external;
mod golden;
#[cfg(unix)]
mod hostile_files;
mod idv_limits;
mod interface;
mod joining;
#[cfg(unix)]
mod kill;
#[cfg(unix)]
mod many_columns;
mod merge_recover;
mod model;
#[cfg(unix)]
mod overlap;
mod parquet;
mod region;
mod routes;
mod stores;
mod streams;
mod zarr;
mod zds;
mod zds_verbs;
mod zds_whole;
