//! What the cross-format tests share.

pub mod datadings_lines;
pub mod idv_canonical;
pub mod zdx_dump;
