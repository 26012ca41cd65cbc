//! Every seed of the fuzz targets, and every input that once failed, in the bodies of the targets: no fuzzer needed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test code fails by panicking"
)]
#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "tests make their data with casts")]
#![allow(dead_code, reason = "shared with the fuzz targets")]
#![allow(unreachable_pub, reason = "shared with the fuzz targets")]

#[path = "../../../fuzz/src/dice.rs"]
mod dice;
#[path = "../../../fuzz/src/ds_model.rs"]
mod ds_model;
#[path = "../../../fuzz/src/ds_read.rs"]
mod ds_read;
#[path = "../../../fuzz/src/ds_written.rs"]
mod ds_written;

use std::fs;
use std::path::Path;

type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 4] = [
    ("ds_header", ds_read::ds_header),
    ("ds_select", ds_read::ds_select),
    ("ds_variable", ds_read::ds_variable),
    ("ds_write_read", ds_written::ds_write_read),
];

#[test]
fn seeds_and_regressions_pass() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let names = fs::read_dir(root.join("fuzz_targets")).unwrap();
    let names = names.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("ds_")).collect();
    names.sort();
    assert_eq!(names, TARGETS.map(|(name, _)| name), "no target is left out");
    for (name, run) in TARGETS {
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
}
