//! Cross-format tests, golden files and what they share.
