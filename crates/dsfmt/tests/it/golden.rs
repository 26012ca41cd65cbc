//! The golden files: what the reference wrote is read value for value, and written again byte for byte.

use std::path::{Path, PathBuf};

use dsfmt::{Builder, Field, Reader};

use crate::described::Described;

/// Of these the reference states more bytes than it writes for texts: ours have other numbers in the header.
const MISSTATED: [&str; 5] =
    ["str-objects", "str-objects-masked", "texts-masked", "texts-masked-all", "texts-masked-before"];

struct Golden {
    name: String,
    path: PathBuf,
    described: Described,
}

impl Golden {
    fn misstated(&self) -> bool {
        MISSTATED.contains(&self.name.as_str())
    }

    /// Is it a variable that stands elsewhere than the header says?
    fn misplaced(&self, variable: &str) -> bool {
        self.name == "texts-masked-before" && variable != "a"
    }

    /// Holds what we wrote against what the reference wrote. The body is the same always.
    fn check(&self, written: &[u8], how: &str) {
        let wanted = std::fs::read(&self.path).unwrap();
        let name = &self.name;
        if self.misstated() {
            let (ours, theirs) = (lines(written), lines(&wanted));
            assert_eq!(numberless(ours.0), numberless(theirs.0), "{name}, {how}");
            assert_ne!(ours.0, theirs.0, "{name}, {how}: the reference is right by now");
            assert!(ours.1 == theirs.1, "{name}, {how}: the body");
            let reader = Reader::from_source(written.to_vec().into(), Default::default()).unwrap();
            self.described.compare(&reader, |_| false).unwrap_or_else(|error| panic!("{name}, {how}: {error}"));
            let all: u64 = reader.variables().map(|variable| variable.stored_bytes()).sum();
            assert_eq!(all, ours.1.len() as u64, "{name}, {how}: no more is stated than there is");
        } else {
            assert_eq!(lines(written).0, lines(&wanted).0, "{name}, {how}");
            assert!(written == wanted, "{name}, {how}: the body");
        }
    }
}

/// The two lines in front, and the body.
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
            let told = std::fs::read_to_string(path.with_extension("expected.json")).unwrap();
            let described = Described::parse(&told).unwrap_or_else(|error| panic!("{name}: {error}"));
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
fn every_value_is_the_one_that_was_written() {
    let mut elements = 0;
    for golden in all() {
        let reader = Reader::open(&golden.path).unwrap();
        let compared = golden.described.compare(&reader, |told| golden.misplaced(&told.name));
        elements += compared.unwrap_or_else(|error| panic!("{}: {error}", golden.name));
    }
    assert!(elements > 1700, "{elements} elements");
}

/// Texts have their lengths in the order of the machine that wrote them.
#[cfg(target_endian = "little")]
#[test]
fn from_what_is_told_the_same_bytes_are_written() {
    // Some were read from files, and written again: their metadata had members of the header already.
    for golden in all().iter().filter(|golden| !["again", "from-netcdf"].contains(&golden.name.as_str())) {
        golden.check(&bytes(&golden.described.builder().unwrap()), "told");
    }
}

#[cfg(target_endian = "little")]
#[test]
fn values_that_were_read_are_written_as_they_stood() {
    for golden in all() {
        let reader = Reader::open(&golden.path).unwrap();
        let mut builder = Builder::new();
        builder.copy_attributes(&reader);
        for variable in reader.variables() {
            let told = golden.described.variables.iter().find(|told| told.name == variable.name()).unwrap();
            let field = match variable.shape() {
                None => Field::empty(),
                Some(_) if golden.misplaced(variable.name()) => Field::new(told.array().unwrap().unwrap()),
                Some(_) => Field::new(variable.read().unwrap()),
            };
            builder.field(variable.name(), field.with_metadata_of(&variable));
        }
        golden.check(&bytes(&builder), "like");
    }
}

#[test]
fn copies_have_the_same_bytes() {
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
