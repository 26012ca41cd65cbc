//! Runs the fuzz targets on all seeds and regressions, without a fuzzer.
#![allow(clippy::cast_precision_loss, reason = "tests create data with casts")]
#![allow(dead_code, reason = "shared with the fuzz targets")]
#![allow(unexpected_cfgs, reason = "fuzzing builds set their own cfg")]
#![allow(unreachable_pub, reason = "shared with the fuzz targets")]

#[path = "../../../../fuzz/src/bloom.rs"]
mod bloom;
#[path = "../../../../fuzz/src/choices.rs"]
mod choices;
#[path = "../../../../fuzz/src/dataset.rs"]
mod dataset;
#[path = "../../../../fuzz/src/numpy.rs"]
mod numpy;
#[path = "../../../../fuzz/src/replay.rs"]
mod replay;
#[path = "../../../../fuzz/src/sample.rs"]
mod sample;

use std::path::Path;

const TARGETS: [replay::Target; 6] = [
    ("datadings_index", dataset::datadings_index),
    ("datadings_numpy", numpy::datadings_numpy),
    ("datadings_recover", dataset::datadings_recover),
    ("datadings_sample", sample::datadings_sample),
    ("datadings_written", dataset::datadings_written),
    ("simplebloom_filter", bloom::simplebloom_filter),
];

#[test]
fn seeds_and_regressions_pass() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    replay::replay(&fuzz, &TARGETS, &["datadings", "simplebloom"], &["datadings_arrow"]);
}
