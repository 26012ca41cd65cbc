//! Every seed and every input that once failed, through its target.

use std::fs;
use std::path::Path;

type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 18] = [
    ("datadings_index", wharf_fuzz::datadings_index),
    ("datadings_numpy", wharf_fuzz::datadings_numpy),
    ("datadings_recover", wharf_fuzz::datadings_recover),
    ("datadings_sample", wharf_fuzz::datadings_sample),
    ("datadings_written", wharf_fuzz::datadings_written),
    ("ds_header", wharf_fuzz::ds_header),
    ("ds_select", wharf_fuzz::ds_select),
    ("ds_variable", wharf_fuzz::ds_variable),
    ("ds_write_read", wharf_fuzz::ds_write_read),
    ("idv_deflate", wharf_fuzz::idv_deflate),
    ("idv_forged", wharf_fuzz::idv_forged),
    ("idv_inflate", wharf_fuzz::idv_inflate),
    ("idv_reader", wharf_fuzz::idv_reader),
    ("idv_recover", wharf_fuzz::idv_recover),
    ("idv_wire", wharf_fuzz::idv_wire),
    ("idv_written", wharf_fuzz::idv_written),
    ("leb128", wharf_fuzz::leb128),
    ("simplebloom_filter", wharf_fuzz::simplebloom_filter),
];

#[test]
fn seeds_and_regressions_pass() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut targets: Vec<String> = fs::read_dir(root.join("fuzz_targets"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    targets.sort();
    assert_eq!(targets, TARGETS.map(|(name, _)| name));
    for (name, run) in TARGETS {
        let mut count = 0;
        for directory in ["seeds", "regressions"] {
            let Ok(entries) = fs::read_dir(root.join(directory).join(name)) else { continue };
            for entry in entries {
                let path = entry.unwrap().path();
                println!("{}", path.display());
                run(&fs::read(path).unwrap());
                count += 1;
            }
        }
        assert!(count > 0, "no input for {name}");
    }
}
