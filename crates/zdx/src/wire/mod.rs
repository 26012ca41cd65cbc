//! What lies on disk, as pure functions over bytes: an index, its older form of text, lines, tokens, ids.
//!
//! To write an index, and to read it:
//!
//! ```
//! use zdx::wire::index::{Entry, Index, head, put};
//! use zdx::wire::json;
//!
//! let line = br#"{"name":"oak","_id":"tree-1"}"#;
//! let id = json::scan(line)?.into_id().ok_or("no _id")?; // the document's own, wherever it stands
//! let mut file = head(1).to_vec();
//! // The line feed counts.
//! put(&Entry { id: id.as_bytes(), offset: 0, length: u32::try_from(line.len())? + 1 }, &mut file)?;
//!
//! let index = Index::parse(&file)?;
//! assert_eq!(index.len(), 1);
//! for entry in index.entries() {
//!     assert_eq!(entry?.id, b"tree-1");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod id;
pub mod index;
pub mod json;
pub mod lines;
#[cfg(feature = "nom")]
#[cfg_attr(docsrs, doc(cfg(feature = "nom")))]
pub mod nom;
pub mod text_index;
pub mod value;
