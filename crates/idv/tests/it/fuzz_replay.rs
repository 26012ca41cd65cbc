//! Replays all seeds and regressions of the fuzz targets without a fuzzer.
#![allow(dead_code, reason = "shared with other tests and with the fuzz targets")]
#![allow(unexpected_cfgs, reason = "the fuzzer's builds have a cfg of their own")]
#![allow(unreachable_pub, reason = "shared with other tests and with the fuzz targets")]

#[path = "../../../../fuzz/src/choices.rs"]
mod choices;
#[path = "../../../../fuzz/src/forged.rs"]
mod forged;
#[path = "../../../../fuzz/src/inflate.rs"]
mod inflate;
#[path = "../../../../fuzz/src/leb.rs"]
mod leb;
#[path = "../../../../fuzz/src/reader.rs"]
mod reader;
#[path = "../../../../fuzz/src/recover.rs"]
mod recover;
#[path = "../../../../fuzz/src/replay.rs"]
mod replay;
#[path = "../../../../fuzz/src/wire.rs"]
mod wire;
#[path = "../../../../fuzz/src/written.rs"]
mod written;

use std::path::Path;

// The modules above expect these as siblings, as in the fuzz crate.
use crate::support::{cells, forge, table, values};

const TARGETS: [replay::Target; 7] = [
    ("idv_forged", forged::idv_forged),
    ("idv_inflate", inflate::idv_inflate),
    ("idv_reader", reader::idv_reader),
    ("idv_recover", recover::idv_recover),
    ("idv_wire", wire::idv_wire),
    ("idv_written", written::idv_written),
    ("leb128", leb::leb128),
];

/// Those that are replayed elsewhere take a feature of this crate, or a module of it by itself, tests and all: `cargo xtask fuzz` does it.
#[test]
fn seeds_and_regressions_pass() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    replay::replay(&fuzz, &TARGETS, &["idv", "leb128"], &["idv_arrow", "idv_model"]);
}
