use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, ScalarBuffer};
use container_core::Bytes;

/// Converts bytes in native byte order to an Arrow buffer: zero-copy if they are aligned, a copy otherwise. Trailing bytes that are not a whole
/// number are ignored.
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
        _ => Buffer::from(&*bytes), // copied to an aligned buffer
    };
    ScalarBuffer::from(buffer)
}

/// Packs bytes into an Arrow bitmap: 0 is false, anything else true.
#[must_use]
pub fn booleans(bytes: &[u8]) -> BooleanBuffer {
    BooleanBuffer::collect_bool(bytes.len(), |at| bytes.get(at).is_some_and(|byte| *byte != 0))
}
