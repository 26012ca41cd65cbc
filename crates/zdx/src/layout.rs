//! Names of the files and directories of a store.

use container_core::{Error, Result};

/// Directory of the collections, in the store's root.
pub const COLLECTIONS: &str = "collections";

/// Metadata of the store, in its root.
pub const STORE_METADATA: &str = "zds.json";

/// Directory of the lock file, in the store's root.
pub const LOCK_FOLDER: &str = ".zds";
/// Lock file, held by the store's writer.
pub const LOCK: &str = ".zds_write.lock";

/// Directory of a collection's data, index and metadata.
pub const META: &str = "meta";
/// Directory of a collection's file-per-document documents.
pub const DOCS: &str = "docs";
/// File name suffix of a document in [`DOCS`].
pub const DOCUMENT: &str = ".json";

/// Documents, one JSON object per line.
pub const DATA: &str = "data.jsonl";
/// The ZDX index.
pub const INDEX: &str = "index.bin";
/// Metadata of the collection.
pub const MANIFEST: &str = "manifest.json";
/// Order of the documents in [`DOCS`], one id per line.
pub const ORDER: &str = "order.ids";
/// The reference's list of the documents in [`DOCS`], one JSON object per line. Nothing here depends on it.
pub const DOCUMENT_LIST: &str = "doc_index.jsonl";
/// This crate's journal of changes since the index was written. Removed when the writer finishes.
pub const JOURNAL: &str = "wharf.journal";

/// Checks a collection name, which is also a directory name.
///
/// # Errors
/// [`Usage`](container_core::ErrorKind::Usage) for a name that is empty, longer than 255 bytes, starts with a dot, or contains a slash, a
/// backslash, a colon or a control character.
pub fn check_collection(name: &str) -> Result<()> {
    let is_forbidden = |c: char| matches!(c, '/' | '\\' | ':') || c.is_control();
    let problem = if name.is_empty() {
        "it is empty".to_owned()
    } else if name.len() > 255 {
        format!("expected at most 255 bytes, found {}", name.len())
    } else if name.starts_with('.') {
        "it starts with a dot".to_owned()
    } else if let Some(found) = name.chars().find(|c| is_forbidden(*c)) {
        format!("it contains {found:?}")
    } else {
        return Ok(());
    };
    Err(Error::usage(format!("invalid collection name {name:?}: {problem}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_collection_names() {
        for good in ["train", "a b", "\u{e9}", "x.y"] {
            assert!(check_collection(good).is_ok(), "{good}");
        }
        for (bad, why) in [
            ("", "it is empty"),
            ("..", "it starts with a dot"),
            ("a/b", "it contains '/'"),
            ("a\\b", "it contains '\\\\'"),
            ("C:", "it contains ':'"),
            ("a\nb", "it contains '\\n'"),
        ] {
            let error = check_collection(bad).unwrap_err().to_string();
            assert!(error.ends_with(why), "{error}");
        }
        assert!(check_collection(&"x".repeat(256)).is_err());
    }
}
