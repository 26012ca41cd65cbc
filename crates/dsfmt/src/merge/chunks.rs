//! Chunk sizes.

/// Approximate number of elements compared or copied at once.
pub(super) const CHUNK_ELEMENTS: u64 = 256 << 10;

/// Number of rows that make about one chunk.
pub(super) fn rows_at_once(shape: &[u64]) -> u64 {
    let row_len = shape.iter().skip(1).fold(1u64, |all, size| all.saturating_mul(*size));
    (CHUNK_ELEMENTS / row_len.max(1)).max(1)
}
