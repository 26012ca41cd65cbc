use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, ScalarBuffer};
use container_core::Bytes;

/// Numbers of this machine's byte order as an Arrow buffer: the same memory, a mapping for one, where they lie aligned, else a copy. Bytes
/// behind the last whole number are left out.
///
/// ```
/// use container_arrow::numbers;
/// use container_core::Bytes;
///
/// let bytes = Bytes::from(1.5f32.to_ne_bytes().to_vec());
/// assert_eq!(numbers::<f32>(bytes)[..], [1.5]);
/// ```
#[must_use]
pub fn numbers<T: ArrowNativeType>(bytes: Bytes) -> ScalarBuffer<T> {
    let width = size_of::<T>().max(1);
    let bytes = bytes.slice(..bytes.len() - bytes.len() % width);
    let buffer = match bytes.as_ptr().align_offset(align_of::<T>()) {
        0 => Buffer::from(bytes),
        _ => Buffer::from(&*bytes), // Arrow's allocations are aligned
    };
    ScalarBuffer::from(buffer)
}

/// Bytes that are 0 for false as Arrow's bits.
#[must_use]
pub fn booleans(bytes: &[u8]) -> BooleanBuffer {
    BooleanBuffer::collect_bool(bytes.len(), |at| bytes.get(at).is_some_and(|byte| *byte != 0))
}
