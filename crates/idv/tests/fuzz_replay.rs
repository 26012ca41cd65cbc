//! Every seed of the fuzz targets, and every input that once failed, in the bodies of the targets: no fuzzer needed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test code fails by panicking"
)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "tests make their data with casts"
)]
#![allow(dead_code, reason = "shared with other tests and with the fuzz targets")]
#![allow(unexpected_cfgs, reason = "the fuzzer's builds have a cfg of their own")]
#![allow(unreachable_pub, reason = "shared with other tests and with the fuzz targets")]

#[path = "support/cells.rs"]
mod cells;
#[path = "../../../fuzz/src/dice.rs"]
mod dice;
#[path = "support/forge.rs"]
mod forge;
#[path = "../../../fuzz/src/forged.rs"]
mod forged;
#[path = "../../../fuzz/src/inflate.rs"]
mod inflate;
#[path = "../../../fuzz/src/leb.rs"]
mod leb;
#[path = "../../../fuzz/src/reader.rs"]
mod reader;
#[path = "../../../fuzz/src/recover.rs"]
mod recover;
#[path = "support/table.rs"]
mod table;
#[path = "support/values.rs"]
mod values;
#[path = "../../../fuzz/src/wire.rs"]
mod wire;
#[path = "../../../fuzz/src/written.rs"]
mod written;

use std::fs;
use std::path::Path;

/// All inputs of a target.
fn replay(name: &str, run: fn(&[u8])) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let mut count = 0;
    for directory in ["seeds", "regressions"] {
        let Ok(entries) = fs::read_dir(root.join(directory).join(name)) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            // Shown when the test fails.
            println!("{}", path.display());
            run(&fs::read(path).unwrap());
            count += 1;
        }
    }
    assert!(count > 0, "no input for {name}");
}

#[test]
fn idv_forged() {
    replay("idv_forged", forged::idv_forged);
}

#[test]
fn idv_inflate() {
    replay("idv_inflate", inflate::idv_inflate);
}

#[test]
fn idv_reader() {
    replay("idv_reader", reader::idv_reader);
}

#[test]
fn idv_recover() {
    replay("idv_recover", recover::idv_recover);
}

#[test]
fn idv_wire() {
    replay("idv_wire", wire::idv_wire);
}

#[test]
fn idv_written() {
    replay("idv_written", written::idv_written);
}

#[test]
fn leb128() {
    replay("leb128", leb::leb128);
}

/// No target is left out, but for the one that takes a module of this crate by itself, tests and all, which `cargo xtask fuzz` replays,
/// and those of other formats, which are replayed beside them.
#[test]
fn all_targets_are_replayed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/fuzz_targets");
    let names = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path().file_stem().unwrap().to_owned());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.starts_with("idv") || name.starts_with("leb128"));
    names.sort();
    assert_eq!(
        names,
        ["idv_deflate", "idv_forged", "idv_inflate", "idv_reader", "idv_recover", "idv_wire", "idv_written", "leb128"]
    );
}
