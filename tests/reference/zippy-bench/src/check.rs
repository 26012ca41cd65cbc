//! Checks that both read the same documents.

use std::path::Path;

use serde_json::Value;

use crate::reading::{ours, theirs};

pub(crate) fn run(directory: &Path) {
    for store in ["ordered", "hashed", "bare"] {
        let (ours, theirs) = (ours(&directory.join(store)), theirs(&directory.join(store)));
        assert_eq!(ours.len().expect("their number"), theirs.len() as u64, "{store}");
        let mut raw: Vec<Vec<u8>> = Vec::new();
        for document in ours.documents().expect("documents") {
            let document = document.expect("a document");
            let mut value = document.value().expect("an object");
            let own = value.as_object_mut().and_then(|members| members.remove("_id"));
            assert_eq!(own, Some(Value::from(document.id())), "{store}");
            assert_eq!(theirs.get(document.id()).expect("it is there"), value, "{store}");
            let found = ours.get(document.id()).expect("it is read").expect("it is there");
            assert_eq!(found.bytes(), document.bytes(), "{store}");
            raw.push(document.bytes().to_vec());
        }
        let mut other = theirs.scan_raw().expect("all documents");
        raw.sort_unstable();
        other.sort_unstable();
        assert!(raw == other, "{store}: lines differ");
        println!("{store}: {} documents are equal", raw.len());
    }
}
