//! Properties of all datasets: what is written reads back, copies have the same bytes, selections match a naive reader, and no more bytes are
//! read than exist.
//!
//! The properties are those of the fuzz targets: bytes encode choices, so that failing cases shrink.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::fuzz_replay::{ds_read, ds_written};

/// Fragments of headers, valid and invalid.
fn header() -> impl Strategy<Value = Vec<u8>> {
    let value = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|truth| truth.to_string()),
        prop_oneof![0..20u64, any::<u64>()].prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| format!("{number:?}")),
        Just("-Infinity".to_owned()),
        "[a-z\u{e4}]{0,4}".prop_map(|text| format!("\"{text}\"")),
        Just("\"\\ud800\\u00e4\"".to_owned()),
        prop::sample::select(vec!["int8", "float32", "bool", "str", "unicode", "uint64", "b", "l"])
            .prop_map(|text| format!("\"{text}\"")),
        vec(0..5u64, 0..4).prop_map(|sizes| format!("{sizes:?}")),
        vec("[a-d]", 0..4).prop_map(|names| format!("{names:?}")),
    ];
    let name = prop::sample::select(vec![
        ".dims",
        ".size",
        ".type",
        ".offset",
        ".len",
        ".endian",
        ".missing",
        ".time",
        "units",
        ".x",
        "\\u002esize",
        "\\ud800",
    ]);
    let member = vec((name, value), 0..8).prop_map(|all| {
        let all: Vec<String> = all.into_iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
        format!("{{{}}}", all.join(", "))
    });
    let key = prop::sample::select(vec!["a", "b", ".", "\\\\.c", "\\\\d", "\\u00e4", ""]);
    (vec((key, member), 0..5), vec(any::<u8>(), 0..64)).prop_map(|(all, body)| {
        let all: Vec<String> = all.into_iter().map(|(key, member)| format!("\"{key}\": {member}")).collect();
        [format!("{{{}}}\n", all.join(", ")).as_bytes(), &body].concat()
    })
}

proptest! {
    #[test]
    fn datasets_are_written_and_read(decisions in vec(any::<u8>(), 0..2000)) {
        ds_written::ds_write_read(&decisions);
    }

    #[test]
    fn variables_are_what_a_naive_reader_finds(decisions in vec(any::<u8>(), 0..1000)) {
        ds_read::ds_variable(&decisions);
    }

    #[test]
    fn selections_are_what_a_naive_reader_takes(decisions in vec(any::<u8>(), 0..1000)) {
        ds_read::ds_select(&decisions);
    }

    #[test]
    fn headers_are_borne(bytes in header()) {
        ds_read::ds_header(&bytes);
    }
}
