//! Golden IDV files: the values are those that ML.NET reads.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use idv::{OpenOptions, Reader};
use wharf_tests::idv_canonical;

fn golden() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/idv");
    let mut files: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "idv"))
        .collect();
    files.sort();
    files
}

#[test]
fn reads_values_as_mlnet_does() {
    let mut values = 0;
    for path in golden() {
        let expected = BufReader::new(File::open(path.with_extension("expected.jsonl")).unwrap());
        let reader = Reader::open(&path).unwrap();
        match idv_canonical::compare(&reader, expected) {
            Ok(equal) => values += equal,
            Err(error) => panic!("{}: {error}", path.display()),
        }
    }
    assert_eq!((golden().len(), values), (64, 26_377));
}

#[test]
fn all_access_modes_read_the_same() {
    for path in golden() {
        let schema = |access| {
            let reader = Reader::open_with(&path, OpenOptions::default().with_access(access)).unwrap();
            idv_canonical::schema(&reader).unwrap()
        };
        assert_eq!(schema(container_core::testkit::mapped()), schema(container_core::Access::Positional));
    }
}
