//! Compares this crate with files and query results of the reference: `agree DIRECTORY`. Run by `cargo xtask interop
//! simplebloom`; `tests/reference/python/simplebloom_interop.py` writes the directory.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a check that fails by panicking")]

use std::fs;
use std::path::PathBuf;

use simplebloom::BloomFilter;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        hex.chars().filter_map(|digit| digit.to_digit(16)).map(|digit| digit.try_into().unwrap()).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn main() {
    let directory = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| panic!("missing argument: DIRECTORY")));
    let mut paths: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    let mut queries = 0;
    for path in &paths {
        let text = fs::read_to_string(path).unwrap();
        let mut lines = text.lines();
        let (elements, probability) = lines.next().unwrap().split_once(' ').unwrap();
        let elements = elements.parse().unwrap();
        let mut made = match probability {
            "-" => BloomFilter::new(elements).unwrap(),
            hex => {
                BloomFilter::with_probability(elements, f64::from_bits(u64::from_str_radix(hex, 16).unwrap())).unwrap()
            }
        };
        let (mut inserted, mut queried, mut expected) = (Vec::new(), Vec::new(), Vec::new());
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            let key = String::from_utf8(bytes(words[1])).unwrap();
            match words[0] {
                "i" => inserted.push(key),
                _ => {
                    queried.push(key);
                    expected.push(words[2] == "1");
                }
            }
        }
        made.insert_many(&inserted);
        let theirs = fs::read(path.with_extension("filter")).unwrap();
        assert!(made.as_bytes() == theirs, "{}: bytes differ", path.display());
        let opened = BloomFilter::from_bytes(&theirs[..]).unwrap();
        let mut results = vec![false; queried.len()];
        opened.contains_many(&queried, &mut results).unwrap();
        assert_eq!(results, expected, "{}: results differ", path.display());
        for (key, expected) in queried.iter().zip(&expected) {
            assert_eq!(opened.contains(key), *expected, "{}: result differs", path.display());
        }
        assert!(opened.contains_all(&inserted), "{}: key missing", path.display());
        queries += queried.len() + inserted.len();
        fs::write(path.with_extension("ours"), made.as_bytes()).unwrap();
    }
    println!("{} filters, {queries} queries", paths.len());
}
