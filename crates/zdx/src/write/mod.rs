//! Writing: a store, its collections, their documents.

mod collection;
mod compact;
mod disk;
mod flush;
mod ids;
mod load;
mod lock;
mod members;
mod metadata;
mod options;
mod part;
mod put;
mod schema;
mod store;
#[cfg(test)]
mod tests;
mod time;

pub use collection::CollectionWriter;
pub use compact::Compacted;
pub use options::{Durability, LoadOptions, Loaded, OnDuplicate, WriterOptions};
pub use store::StoreWriter;
