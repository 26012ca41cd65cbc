//! The names of files and folders in a store.

use container_core::{Error, Result};

/// Where the collections are, in the root.
pub const COLLECTIONS: &str = "collections";

/// What is said of the whole store, in the root.
pub const STORE_METADATA: &str = "zds.json";

/// The folder of the lock, in the root, and the lock in it.
pub const LOCK_FOLDER: &str = ".zds";
/// The file that a writer of the store holds locked, in its folder.
pub const LOCK: &str = ".zds_write.lock";

/// The folder of everything but single documents, in a collection.
pub const META: &str = "meta";
/// The folder of documents that have a file each, in a collection.
pub const DOCS: &str = "docs";
/// What the name of such a file ends with.
pub const DOCUMENT: &str = ".json";

/// The documents, one in a line.
pub const DATA: &str = "data.jsonl";
/// Where each is: ZDX.
pub const INDEX: &str = "index.bin";
/// What is said of the collection.
pub const MANIFEST: &str = "manifest.json";
/// In which order the documents of [`DOCS`] come: an id in a line.
pub const ORDER: &str = "order.ids";
/// What the reference keeps of each document of [`DOCS`], an object in a line. Nothing here depends on it.
pub const DOCUMENT_LIST: &str = "doc_index.jsonl";
/// What this crate's writer did since the index was written; gone when it has ended.
pub const JOURNAL: &str = "wharf.journal";

/// Checks what is to be the name of a collection, which becomes a folder.
///
/// # Errors
/// [`Usage`](container_core::ErrorKind::Usage) for an empty one, one of more than 255 bytes, one that begins with a dot, and one that holds a
/// slash, a backslash, a colon or a control character.
pub fn check_collection(name: &str) -> Result<()> {
    let bad = |found: char| matches!(found, '/' | '\\' | ':') || found.is_control();
    let problem = if name.is_empty() {
        "it is empty".to_owned()
    } else if name.len() > 255 {
        format!("it has {} bytes, more than 255", name.len())
    } else if name.starts_with('.') {
        "it begins with a dot".to_owned()
    } else if let Some(found) = name.chars().find(|found| bad(*found)) {
        format!("it holds {found:?}")
    } else {
        return Ok(());
    };
    Err(Error::usage(format!("{name:?} cannot be the name of a collection: {problem}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_collections() {
        for good in ["train", "a b", "\u{e9}", "x.y"] {
            assert!(check_collection(good).is_ok(), "{good}");
        }
        for (bad, why) in [
            ("", "it is empty"),
            ("..", "it begins with a dot"),
            ("a/b", "it holds '/'"),
            ("a\\b", "it holds '\\\\'"),
            ("C:", "it holds ':'"),
            ("a\nb", "it holds '\\n'"),
        ] {
            let error = check_collection(bad).unwrap_err().to_string();
            assert!(error.ends_with(why), "{error}");
        }
        assert!(check_collection(&"x".repeat(256)).is_err());
    }
}
