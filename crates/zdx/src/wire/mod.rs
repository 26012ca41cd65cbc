//! The on-disk structures as pure functions over bytes: the index, its older text form, lines, JSON tokens, ids.
//!
//! Writes and reads an index:
//!
//! ```
//! use zdx::wire::index::{Entry, Index, header, put};
//! use zdx::wire::json;
//!
//! let line = br#"{"name":"oak","_id":"tree-1"}"#;
//! let id = json::scan(line)?.into_id().ok_or("no _id")?; // the document's own, wherever it is
//! let mut file = header(1).to_vec();
//! // The length includes the line feed.
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
