//! Inconsistent files, with the exact error messages.

mod blocks;
mod header;
mod metadata;
mod numbers;
mod table_of_contents;
mod text;
mod vectors;
