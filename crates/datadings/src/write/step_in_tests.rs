//! A step of a commit, at which tests inject failures.

pub(super) use super::tests::step;
