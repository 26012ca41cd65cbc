//! A step of writing, which fails when a test says so.

pub(super) use super::tests::step;
