//! Shared by the cross-format tests and interop programs.

pub mod datadings_lines;
pub mod idv_canonical;
pub mod zdx_dump;
