//! The bodies of the fuzz targets, one function each, of the target's name: what the fuzzer calls with what it made up, and
//! tests with what was found before.
//!
//! A body that returns has passed; a panic is a finding. The modules are also part of a test of crate `idv`, which replays
//! `seeds` and `regressions` without any of this crate's dependencies.
#![forbid(unsafe_code)]

#[allow(dead_code, reason = "shared with the tests of crate idv, which use more of it")]
#[path = "../../crates/idv/tests/it/support/cells.rs"]
mod cells;
#[allow(dead_code, reason = "shared with the tests of crate idv, which use more of it")]
#[path = "../../crates/idv/tests/it/support/forge.rs"]
mod forge;
#[allow(dead_code, reason = "shared with the tests of crate idv, which use more of it")]
#[path = "../../crates/idv/tests/it/support/table.rs"]
mod table;
#[allow(dead_code, reason = "shared with the tests of crate idv, which use more of it")]
#[path = "../../crates/idv/tests/it/support/values.rs"]
mod values;

mod arrow_batches;
mod arrow_columns;
mod arrow_files;
mod arrow_json;
mod bloom;
mod dataset;
mod dice;
mod ds_model;
mod ds_read;
mod ds_written;
mod forged;
#[allow(dead_code, reason = "shared with tests, which make mutants of seeds")]
mod hdf5_mutate;
mod inflate;
mod kernels;
mod lanes;
mod leb;
mod model;
mod netcdf;
mod numpy;
mod reader;
mod recover;
mod sample;
mod times;
mod wharf_batches;
mod wharf_import;
mod wharf_text;
mod wire;
mod written;
mod zdx_archive;
mod zdx_collection;
mod zdx_id;
mod zdx_index;
mod zdx_parts;
mod zdx_store;

pub use arrow_columns::arrow_columns;
pub use arrow_files::{datadings_arrow, ds_arrow, idv_arrow, zdx_arrow};
pub use arrow_json::arrow_json;
pub use bloom::simplebloom_filter;
pub use dataset::{datadings_index, datadings_recover, datadings_written};
pub use ds_read::{ds_header, ds_select, ds_variable};
pub use ds_written::ds_write_read;
pub use forged::idv_forged;
pub use inflate::idv_inflate;
pub use lanes::{deflate_lanes, inflate_lanes};
pub use model::idv_model;
pub use netcdf::netcdf_hdf5;
pub use numpy::datadings_numpy;
pub use reader::idv_reader;
pub use recover::idv_recover;
pub use sample::datadings_sample;
pub use times::ds_times;
pub use wharf_batches::wharf_batches;
pub use wharf_import::wharf_import;
pub use wharf_text::{wharf_csv, wharf_json_lines};
pub use wire::idv_wire;
pub use written::idv_written;
pub use zdx_archive::zdx_archive;
pub use zdx_collection::zdx_collection;
pub use zdx_id::zdx_id;
pub use zdx_index::zdx_index;
pub use zdx_store::zdx_store;

/// Values of LEB128, by every way to decode them, beside a decoder that does it by the book.
pub fn leb128(data: &[u8]) {
    leb::leb128(data);
    kernels::kernels(data);
}
