//! Golden files of the reference: read value for value, and written again byte for byte.

use std::path::{Path, PathBuf};

use dsfmt::{Builder, Field, Reader};

use crate::described::Described;

/// Files for which the reference declares too many bytes for strings: our headers differ in numbers.
const MISSTATED: [&str; 5] =
    ["str-objects", "str-objects-masked", "texts-masked", "texts-masked-all", "texts-masked-before"];

struct Golden {
    name: String,
    path: PathBuf,
    described: Described,
}

impl Golden {
    fn declares_too_much(&self) -> bool {
        MISSTATED.contains(&self.name.as_str())
    }

    /// True for a displaced variable.
    fn misplaced(&self, variable: &str) -> bool {
        self.name == "texts-masked-before" && variable != "a"
    }

    /// Compares our output with the reference. The body is always equal.
    fn check(&self, written: &[u8], how: &str) {
        let expected = std::fs::read(&self.path).unwrap();
        let name = &self.name;
        if self.declares_too_much() {
            let (ours, theirs) = (lines(written), lines(&expected));
            assert_eq!(numberless(ours.0), numberless(theirs.0), "{name}, {how}");
            assert_ne!(ours.0, theirs.0, "{name}, {how}: the reference is right by now");
            assert!(ours.1 == theirs.1, "{name}, {how}: the body");
            let reader = Reader::from_source(written.to_vec().into(), Default::default()).unwrap();
            self.described.compare(&reader, |_| false).unwrap_or_else(|error| panic!("{name}, {how}: {error}"));
            let all: u64 = reader.variables().map(|variable| variable.stored_bytes()).sum();
            assert_eq!(all, ours.1.len() as u64, "{name}, {how}: declares no more than it has");
        } else {
            assert_eq!(lines(written).0, lines(&expected).0, "{name}, {how}");
            assert!(written == expected, "{name}, {how}: the body");
        }
    }
}

/// The header lines and the body.
fn lines(file: &[u8]) -> (&str, &[u8]) {
    let (at, _) = file.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap();
    (std::str::from_utf8(&file[..at]).unwrap(), &file[at + 1..])
}

/// A header without its numbers.
fn numberless(header: &str) -> String {
    header.chars().filter(|found| !found.is_ascii_digit()).collect()
}

fn all() -> Vec<Golden> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/ds");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "ds"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let text = std::fs::read_to_string(path.with_extension("expected.json")).unwrap();
            let described = Described::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            Golden { name, path, described }
        })
        .collect();
    all.sort_by(|one, two| one.name.cmp(&two.name));
    assert!(all.len() >= 20, "{} files", all.len());
    all
}

fn bytes(builder: &Builder<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    builder.write_to(&mut out).unwrap();
    out
}

#[test]
fn reads_golden_values() {
    let mut elements = 0;
    for golden in all() {
        let reader = Reader::open(&golden.path).unwrap();
        let compared = golden.described.compare(&reader, |described| golden.misplaced(&described.name));
        elements += compared.unwrap_or_else(|error| panic!("{}: {error}", golden.name));
    }
    assert!(elements > 1700, "{elements} elements");
}

/// String lengths are in the byte order of the writing machine.
#[cfg(target_endian = "little")]
#[test]
fn writes_golden_bytes_from_description() {
    // Some were read from files and written again: their metadata already had special keys.
    for golden in all().iter().filter(|golden| !["again", "from-netcdf"].contains(&golden.name.as_str())) {
        golden.check(&bytes(&golden.described.builder().unwrap()), "described");
    }
}

#[cfg(target_endian = "little")]
#[test]
fn rewrites_golden_values() {
    for golden in all() {
        let reader = Reader::open(&golden.path).unwrap();
        let mut builder = Builder::new();
        builder.copy_attributes(&reader);
        for variable in reader.variables() {
            let described =
                golden.described.variables.iter().find(|described| described.name == variable.name()).unwrap();
            let field = match variable.shape() {
                None => Field::empty(),
                Some(_) if golden.misplaced(variable.name()) => Field::new(described.array().unwrap().unwrap()),
                Some(_) => Field::new(variable.read().unwrap()),
            };
            builder.field(variable.name(), field.with_metadata_of(&variable));
        }
        golden.check(&bytes(&builder), "like");
    }
}

#[test]
fn copies_golden_bytes() {
    for golden in all().iter().filter(|golden| golden.name != "texts-masked-before") {
        let reader = Reader::open(&golden.path).unwrap();
        let mut builder = Builder::new();
        builder.copy_attributes(&reader);
        for variable in reader.variables() {
            builder.field(variable.name(), Field::copy(&variable));
        }
        golden.check(&bytes(&builder), "copy");
    }
}
