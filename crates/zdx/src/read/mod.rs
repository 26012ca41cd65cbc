//! Reading: stores, collections, documents.

mod batch_lookup;
mod cold_lookup;
mod collection;
mod condition;
mod document;
mod documents;
pub(crate) mod fast_line;
mod fields;
mod files;
mod filter;
pub(crate) mod line;
pub(crate) mod line_run;
mod map;
pub(crate) mod offsets;
mod once_cell;
pub(crate) mod paths;
pub(crate) mod rebuild;
pub(crate) mod resolve;
mod store;
pub(crate) mod table;
#[cfg(test)]
mod tests;
mod window;

pub use batch_lookup::BatchLookup;
pub use collection::Collection;
pub use condition::{Condition, IndexState};
pub use document::Document;
pub use documents::Documents;
pub use fields::Fields;
pub(crate) use files::without;
pub use filter::{Comparison, Filter, Predicate};
pub use store::Store;
