//! What lies on disk: the index in its two forms, lines, ids. Pure: no files are touched here.

pub mod id;
pub mod index;
pub mod json;
pub mod lines;
pub mod text_index;
