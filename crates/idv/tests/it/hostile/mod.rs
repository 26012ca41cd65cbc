//! Files that lie, each with the exact words in which it is refused.

mod blocks;
mod header;
mod metadata;
mod numbers;
mod table_of_contents;
mod text;
mod vectors;
