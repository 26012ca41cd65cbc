//! Runs every seed and every regression through its target.
#![allow(unreachable_pub, reason = "shared with tests of the crates")]

#[path = "../src/replay.rs"]
mod replay;

use std::path::Path;

const TARGETS: [replay::Target; 40] = [
    ("arrow_columns", wharf_fuzz::arrow_columns),
    ("arrow_json", wharf_fuzz::arrow_json),
    ("datadings_arrow", wharf_fuzz::datadings_arrow),
    ("datadings_index", wharf_fuzz::datadings_index),
    ("datadings_numpy", wharf_fuzz::datadings_numpy),
    ("datadings_recover", wharf_fuzz::datadings_recover),
    ("datadings_sample", wharf_fuzz::datadings_sample),
    ("datadings_written", wharf_fuzz::datadings_written),
    ("deflate_lanes", wharf_fuzz::deflate_lanes),
    ("ds_arrow", wharf_fuzz::ds_arrow),
    ("ds_header", wharf_fuzz::ds_header),
    ("ds_select", wharf_fuzz::ds_select),
    ("ds_times", wharf_fuzz::ds_times),
    ("ds_variable", wharf_fuzz::ds_variable),
    ("ds_write_read", wharf_fuzz::ds_write_read),
    ("idv_arrow", wharf_fuzz::idv_arrow),
    ("idv_forged", wharf_fuzz::idv_forged),
    ("idv_inflate", wharf_fuzz::idv_inflate),
    ("idv_model", wharf_fuzz::idv_model),
    ("idv_reader", wharf_fuzz::idv_reader),
    ("idv_recover", wharf_fuzz::idv_recover),
    ("idv_wire", wharf_fuzz::idv_wire),
    ("idv_written", wharf_fuzz::idv_written),
    ("inflate_lanes", wharf_fuzz::inflate_lanes),
    ("leb128", wharf_fuzz::leb128),
    ("netcdf_hdf5", wharf_fuzz::netcdf_hdf5),
    ("simplebloom_filter", wharf_fuzz::simplebloom_filter),
    ("wharf_batches", wharf_fuzz::wharf_batches),
    ("wharf_csv", wharf_fuzz::wharf_csv),
    ("wharf_import", wharf_fuzz::wharf_import),
    ("wharf_json_lines", wharf_fuzz::wharf_json_lines),
    ("wharf_predicate", wharf_fuzz::wharf_predicate),
    ("wharf_tar", wharf_fuzz::wharf_tar),
    ("zarr_metadata", wharf_fuzz::zarr_metadata),
    ("zdx_archive", wharf_fuzz::zdx_archive),
    ("zdx_arrow", wharf_fuzz::zdx_arrow),
    ("zdx_collection", wharf_fuzz::zdx_collection),
    ("zdx_id", wharf_fuzz::zdx_id),
    ("zdx_index", wharf_fuzz::zdx_index),
    ("zdx_store", wharf_fuzz::zdx_store),
];

#[test]
fn seeds_and_regressions_pass() {
    replay::replay(Path::new(env!("CARGO_MANIFEST_DIR")), &TARGETS, &[""], &[]);
}
