//! Runs all seeds and regressions of the fuzz targets, without a fuzzer.
#![allow(dead_code, reason = "shared with the fuzz targets")]
#![allow(unreachable_pub, reason = "shared with the fuzz targets")]

#[path = "../../../../fuzz/src/choices.rs"]
mod choices;
#[path = "../../../../fuzz/src/replay.rs"]
mod replay;
#[path = "../../../../fuzz/src/zdx_archive.rs"]
mod zdx_archive;
#[path = "../../../../fuzz/src/zdx_collection.rs"]
mod zdx_collection;
#[path = "../../../../fuzz/src/zdx_id.rs"]
mod zdx_id;
#[path = "../../../../fuzz/src/zdx_index.rs"]
mod zdx_index;
#[path = "../../../../fuzz/src/zdx_parts.rs"]
mod zdx_parts;
#[path = "../../../../fuzz/src/zdx_store.rs"]
mod zdx_store;

use std::path::Path;

const TARGETS: [replay::Target; 5] = [
    ("zdx_archive", zdx_archive::zdx_archive),
    ("zdx_collection", zdx_collection::zdx_collection),
    ("zdx_id", zdx_id::zdx_id),
    ("zdx_index", zdx_index::zdx_index),
    ("zdx_store", zdx_store::zdx_store),
];

#[test]
fn seeds_and_regressions_pass() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    replay::replay(&fuzz, &TARGETS, &["zdx_"], &["zdx_arrow"]);
}
