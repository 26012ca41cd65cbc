//! The golden files of formats that need a shared helper: one program to build and to link.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "tests fail by panicking")]

mod datadings_golden;
mod idv_golden;
mod idv_model;
