//! How much is handed on at once.

/// Elements that are compared or handed on at once, about.
pub(super) const CHUNK: u64 = 256 << 10;

/// Rows that are about a chunk together.
pub(super) fn rows_at_once(shape: &[u64]) -> u64 {
    let wide = shape.iter().skip(1).fold(1u64, |all, size| all.saturating_mul(*size));
    (CHUNK / wide.max(1)).max(1)
}
