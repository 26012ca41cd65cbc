//! Reading: a store, its collections, their documents.

mod collection;
mod condition;
mod document;
mod documents;
mod fields;
mod files;
mod first;
pub(crate) mod home;
pub(crate) mod line;
mod many;
mod map;
mod once;
pub(crate) mod places;
pub(crate) mod plain;
pub(crate) mod rebuild;
pub(crate) mod resolve;
pub(crate) mod run;
mod store;
pub(crate) mod table;
#[cfg(test)]
mod tests;

pub use collection::Collection;
pub use condition::{Condition, IndexState};
pub use document::Document;
pub use documents::Documents;
pub use fields::{Fields, Filter, Predicate};
pub use many::Many;
pub use store::Store;
