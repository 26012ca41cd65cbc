//! Every golden file converted to the other format and back.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use container_core::{Container, Table};
use dsfmt::container::DsContainer;
use dsfmt::{Array, DataType};

use super::{idv_columns, path};
use crate::common::run;

fn goldens(folder: &str, extension: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(folder);
    let all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = all.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    files.sort();
    files
}

fn stem(path: &Path) -> &str {
    path.file_stem().unwrap().to_str().unwrap()
}

/// The metadata of columns, with values as printed and numbers as numbers.
fn idv_said(path: impl AsRef<Path>) -> BTreeMap<(String, String), String> {
    let container = idv::IdvContainer::new(idv::Reader::open(path).unwrap());
    let mut said = BTreeMap::new();
    for (index, column) in container.columns().iter().enumerate() {
        let details = container.column_details(index).unwrap();
        let Some(metadata) = details.get("metadata").and_then(|all| all.as_object()) else { continue };
        for (kind, value) in metadata.iter().filter(|(kind, _)| !kind.starts_with('.')) {
            said.insert((column.name.clone(), kind.clone()), value.to_string());
        }
    }
    said
}

/// Files that cannot be converted because a column, named here, has vectors of different lengths.
const VARYING: [(&str, &str); 18] = [
    ("block-bytes-1", "Vector"),
    ("block-bytes-64", "Vector"),
    ("block-rows-1", "Vector"),
    ("block-rows-23", "Vector"),
    ("block-rows-24", "Vector"),
    ("block-rows-7", "Vector"),
    ("block-rows-7-none", "Vector"),
    ("key-vectors", "KeyByte-varying"),
    ("sparse-varying", "SByte"),
    ("transform-words", "Tokens"),
    ("vector-dimensions", "Single-0x3"),
    ("vector-varying", "SByte"),
    ("vector-varying-blocks", "Single"),
    ("version-1-zlib", "vector"),
    ("version-2-none", "vector"),
    ("version-3-deflate", "vector"),
    ("version-4-none", "vector"),
    ("version-5-zlib", "vector"),
];

#[test]
fn every_idv_file_round_trips() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = goldens("idv", "idv");
    files.extend(goldens("idv-older", "idv"));
    let mut whole = 0;
    for file in &files {
        let (ds, back) = (path(&folder, "x.ds"), path(&folder, "x.idv"));
        let name = stem(file);
        let mut there = vec!["convert".to_owned(), file.display().to_string(), ds.clone(), "--force".to_owned()];
        let mut columns = idv_columns(file);
        if let Some((_, column)) = VARYING.iter().find(|(varying, _)| *varying == name) {
            let ran = run(&there);
            assert_eq!(ran.code(), 1, "{name}");
            let expected = ["items as in row 0", "a variable has one size", column];
            assert!(expected.iter().all(|part| ran.err().contains(part)), "{name}: {}", ran.err());
            // All other values are restored.
            columns.retain(|_, (kind, values)| {
                let lengths = |value: &String| value.split(", ").filter(|item| !item.is_empty()).count();
                !kind.starts_with("Vector") || values.iter().all(|value| lengths(value) == lengths(&values[0]))
            });
            // Times whose UTC value is out of range for .NET are not written.
            columns.retain(|column, _| !name.starts_with("version") || column != "time");
            if columns.is_empty() {
                continue;
            }
            let names = columns.keys().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(",");
            there.extend(["--columns".to_owned(), names]);
        }
        let lossy = match name {
            // Keys above the count and duplicate labels are not restored.
            "key-above-count" | "key-values-sparse" | "transform-categories" | "empty-columns-rows" => 3,
            _ => 0,
        };
        let ran = run(&there);
        assert_eq!(ran.code(), lossy, "{name}: {}", ran.err());
        assert_eq!(run(["verify", &ds]).code(), 0, "{name}");
        let ran = run(["convert", &ds, &back, "--force"]);
        assert_eq!((ran.code(), ran.err()), (0, ""), "{name}");
        assert_eq!(run(["verify", &back]).code(), 0, "{name}");
        let found = idv_columns(&back);
        assert_eq!(found.keys().collect::<Vec<_>>(), columns.keys().collect::<Vec<_>>(), "{name}");
        for (column, (kind, values)) in &columns {
            let (found_kind, found_values) = &found[column];
            let shared =
                name == "key-values-sparse" || (name, column.as_str()) == ("transform-categories", "ColourHash");
            if shared {
                assert_eq!(found_kind, "Text");
                let texts = |value: &String| value.strip_prefix("label ").unwrap_or(value).to_owned();
                assert_eq!(found_values, &values.iter().map(texts).collect::<Vec<_>>(), "{name} {column}");
                continue;
            }
            if kind.contains("Vector") && !values.is_empty() && idv_length_is_open(file, column) {
                assert!(found_kind.starts_with(kind.split(['>', ',']).next().unwrap()), "{name} {column}");
            } else {
                assert_eq!(found_kind, kind, "{name} {column}");
            }
            assert_eq!(found_values, values, "{name} {column}");
        }
        if lossy == 0 && !VARYING.iter().any(|(varying, _)| *varying == name) {
            let (said, found) = (idv_said(file), idv_said(&back));
            assert_eq!(found.keys().collect::<Vec<_>>(), said.keys().collect::<Vec<_>>(), "{name}");
            whole += 1;
        }
    }
    assert!(whole > 35, "{whole} of {}", files.len());
}

fn idv_length_is_open(file: &Path, column: &str) -> bool {
    idv::Reader::open(file).unwrap().column(column).unwrap().kind().unwrap().size() == 0
}

/// The bits of the elements of an array, without missing ones.
fn elements(array: &Array<'_>) -> Vec<Option<String>> {
    let missing = |place: usize| array.mask().is_some_and(|mask| mask.is_missing(place));
    macro_rules! all {
        ($slice:expr, $one:expr) => {
            $slice.iter().map($one).collect()
        };
    }
    let values = array.values();
    let all: Vec<String> = match array.data_type() {
        DataType::Float32 => all!(values.as_slice::<f32>().unwrap(), |x| format!("{:08x}", x.to_bits())),
        DataType::Float64 => all!(values.as_slice::<f64>().unwrap(), |x| format!("{:016x}", x.to_bits())),
        DataType::Int8 => all!(values.as_slice::<i8>().unwrap(), i8::to_string),
        DataType::Int16 => all!(values.as_slice::<i16>().unwrap(), i16::to_string),
        DataType::Int32 => all!(values.as_slice::<i32>().unwrap(), i32::to_string),
        DataType::Int64 => all!(values.as_slice::<i64>().unwrap(), i64::to_string),
        DataType::Uint8 => all!(values.as_slice::<u8>().unwrap(), u8::to_string),
        DataType::Uint16 => all!(values.as_slice::<u16>().unwrap(), u16::to_string),
        DataType::Uint32 => all!(values.as_slice::<u32>().unwrap(), u32::to_string),
        DataType::Uint64 => all!(values.as_slice::<u64>().unwrap(), u64::to_string),
        DataType::Bool => all!(values.as_bools().unwrap(), bool::to_string),
        DataType::Str | DataType::Unicode => {
            values.as_strings().unwrap().iter().map(|text| format!("{text:?}")).collect()
        }
    };
    all.into_iter().enumerate().map(|(place, text)| (!missing(place)).then_some(text)).collect()
}

#[test]
fn every_ds_variable_round_trips() {
    let folder = tempfile::tempdir().unwrap();
    let (mut back_again, mut refused) = (0, Vec::new());
    for file in goldens("ds", "ds") {
        let container = DsContainer::new(dsfmt::Reader::open(&file).unwrap());
        for table in container.tables() {
            for column in table.columns().iter().filter(|column| column.unreadable.is_none()) {
                let variable = container.reader().variable(&column.name).unwrap();
                if variable.shape().is_none() {
                    continue;
                }
                let (idv, ds) = (path(&folder, "x.idv"), path(&folder, "x.ds"));
                let named = format!("\"{}\"", column.name.replace('"', "\"\""));
                let file = file.to_str().unwrap();
                let ran = run(["convert", file, &idv, "--force", "--table", table.name(), "--columns", &named]);
                let about = format!("{file} {}: {}", column.name, ran.err());
                if ran.code() == 1 {
                    let last = ran.err().lines().last().unwrap().to_owned();
                    assert!(last.contains(&format!("column {:?}", column.name)), "{about}");
                    refused.push(column.name.clone());
                    continue;
                }
                assert_eq!(run(["verify", &idv]).code(), 0, "{about}");
                assert_eq!(run(["convert", &idv, &ds, "--force"]).ok(), "", "{about}");
                assert_eq!(run(["verify", &ds]).code(), 0, "{about}");
                let reader = dsfmt::Reader::open(&ds).unwrap();
                let found = reader.variable(&column.name).unwrap();
                assert_eq!(found.data_type(), variable.data_type(), "{about}");
                assert_eq!(found.shape(), variable.shape(), "{about}");
                assert_eq!(found.dimensions(), variable.dimensions(), "{about}");
                assert_eq!(found.is_time(), variable.is_time(), "{about}");
                assert_eq!(elements(&found.read().unwrap()), elements(&variable.read().unwrap()), "{about}");
                for (name, value) in found.attributes() {
                    assert_eq!(Some(value.as_text()), variable.attributes().get(&name).map(|json| json.as_text()));
                }
                let kept = found.attributes().count();
                let lost = ran.err().contains("attribute left out, IDV metadata cannot hold it");
                assert_eq!(kept < variable.attributes().count(), lost, "{about}");
                back_again += 1;
            }
        }
    }
    refused.sort();
    refused.dedup();
    let known = [
        "float32_some",
        "float64_some",
        "int64_matrix",
        "int64_some",
        "str",
        "str_scalar",
        "uint64_matrix",
        "uint64_some",
    ];
    assert_eq!(refused, known);
    assert!(back_again > 120, "{back_again}");
}
