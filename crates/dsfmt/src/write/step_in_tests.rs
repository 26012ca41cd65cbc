//! Failure injection point before each write, controlled by tests.

pub(super) use super::tests::step;
