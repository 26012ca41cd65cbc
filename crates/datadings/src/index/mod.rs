//! Finds samples by key: keys in order, key hashes, and the hash table.

mod batch;
mod hashes;
mod keys;
mod table;

pub(crate) use batch::KeyBatch;
pub(crate) use hashes::{KeyHashes, choose_salt, hash_key, salt_of_attempt};
pub(crate) use keys::{KeyIter, KeyList, STRIDE, declared_count};
pub(crate) use table::{KeyTable, in_parallel, same_hash};
