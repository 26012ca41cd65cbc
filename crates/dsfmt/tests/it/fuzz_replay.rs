//! Replays all seeds and past failures of the fuzz targets without a fuzzer.
#![allow(dead_code, reason = "shared with the fuzz targets")]
#![allow(unreachable_pub, reason = "shared with the fuzz targets")]

#[path = "../../../../fuzz/src/choices.rs"]
mod choices;
#[path = "../../../../fuzz/src/ds_model.rs"]
mod ds_model;
#[path = "../../../../fuzz/src/ds_read.rs"]
pub mod ds_read;
#[path = "../../../../fuzz/src/ds_written.rs"]
pub mod ds_written;
#[path = "../../../../fuzz/src/replay.rs"]
mod replay;

use std::path::Path;

const TARGETS: [replay::Target; 4] = [
    ("ds_header", ds_read::ds_header),
    ("ds_select", ds_read::ds_select),
    ("ds_variable", ds_read::ds_variable),
    ("ds_write_read", ds_written::ds_write_read),
];

/// One target needs a feature of this crate, and is replayed by `cargo xtask fuzz`.
#[test]
fn seeds_and_regressions_pass() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    replay::replay(&fuzz, &TARGETS, &["ds_"], &["ds_arrow", "ds_times"]);
}
