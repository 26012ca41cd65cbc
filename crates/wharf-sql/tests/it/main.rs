//! Queries over files of every format, statements that write, and the program.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "tests fail by panicking")]

mod answers;
mod filters;
mod program;
mod statements;
mod support;
mod tpch;
mod values;
