//! What the cross-format tests share.

pub mod idv_canonical;
