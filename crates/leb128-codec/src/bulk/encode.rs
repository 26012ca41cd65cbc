use crate::error::EncodeError;
use crate::integer::Integer;
use crate::word::{self, CONTINUE};

/// Values that are encoded together.
const GROUP: usize = 8;

/// The longest encoding of a 64-bit value.
const LONGEST: usize = 10;

/// Encodes the values one after the other, each in its shortest form, and returns the number of bytes written.
///
/// ```
/// let mut bytes = [0; 8];
/// let used = leb128_codec::encode_slice(&[300_u32, 7, 128], &mut bytes)?;
/// assert_eq!(bytes[..used], [0xac, 0x02, 0x07, 0x80, 0x01]);
/// # Ok::<(), leb128_codec::EncodeError>(())
/// ```
///
/// [`encoded_len_slice`] is the room needed; `values.len() * T::MAX_LEN` is always enough. Bytes after the values are not
/// changed.
///
/// # Errors
/// [`EncodeError`] for the first value that the slice has no room for. The values before it are encoded; the bytes after
/// them are unspecified.
pub fn encode_slice<T: Integer>(values: &[T], out: &mut [u8]) -> Result<usize, EncodeError> {
    let (begun, mut used) = if T::BITS <= 64 { encode_words(values, out) } else { (0, 0) };
    for (index, value) in values.iter().enumerate().skip(begun) {
        let free = out.split_at_mut(used).1;
        used += value.encode_into(free).map_err(|e| EncodeError::new(index, used, e.needed(), e.available()))?;
    }
    Ok(used)
}

/// Encodes values while there is room for longest ones; returns the number of values and of bytes.
///
/// A value is written as a whole word, whose excess bytes the next value overwrites. So the last values are left to the
/// caller, which writes exact lengths.
fn encode_words<T: Integer>(values: &[T], out: &mut [u8]) -> (usize, usize) {
    let (mut begun, mut used) = (0, 0);
    let groups = values.len().saturating_sub(LONGEST) / GROUP;
    for group in values.as_chunks::<GROUP>().0.iter().take(groups) {
        let Some(free) = out.split_at_mut(used).1.first_chunk_mut::<{ GROUP * LONGEST }>() else { break };
        used += encode_group(group, free);
        begun += GROUP;
    }
    (begun, used)
}

#[inline(always)]
fn encode_group<T: Integer>(group: &[T; GROUP], free: &mut [u8; GROUP * LONGEST]) -> usize {
    // All values take one byte: below 128, or from -64 to 63.
    let least = if T::SIGNED { 64 } else { 0 };
    if group.iter().fold(0, |all, value| all | value.to_word().wrapping_add(least)) < 0x80 {
        for (byte, value) in free.iter_mut().zip(group) {
            let [low, ..] = value.to_word().to_le_bytes();
            *byte = low & 0x7f;
        }
        return GROUP;
    }
    let mut used = 0;
    for value in group {
        if let Some(free) = free.split_at_mut(used).1.first_chunk_mut() {
            used += encode_word::<T>(value.to_word(), free);
        }
    }
    used
}

/// Writes ten bytes that begin with the encoding, and returns its length.
#[inline(always)]
fn encode_word<T: Integer>(word: u64, free: &mut [u8; LONGEST]) -> usize {
    let [head @ .., ninth, tenth] = free;
    let payload = word::spread(word);
    // An unsigned value of the same encoded length.
    let size = if T::SIGNED { (word ^ sign(word)) << 1 } else { word };
    if size >> 56 == 0 {
        // The bit offset of the last byte, which has the highest set bit.
        let last = ((if T::SIGNED { word::spread(size) } else { payload }) | 1).ilog2() & !7;
        *head = (payload | CONTINUE & ((1 << last) - 1)).to_le_bytes();
        return last as usize / 8 + 1;
    }
    let more = if T::SIGNED { size >> 63 != 0 } else { word >> 63 != 0 };
    let [.., high] = word.to_le_bytes();
    *head = (payload | CONTINUE).to_le_bytes();
    *ninth = (high & 0x7f) | if more { 0x80 } else { 0 };
    let [.., extended] = sign(word).to_le_bytes();
    *tenth = if T::SIGNED { extended & 0x7f } else { high >> 7 };
    if more { 10 } else { 9 }
}

/// The highest bit in all bits.
#[inline(always)]
fn sign(word: u64) -> u64 {
    (word.cast_signed() >> 63).cast_unsigned()
}

/// The total length in bytes of the values, each in its shortest form.
#[must_use]
pub fn encoded_len_slice<T: Integer>(values: &[T]) -> usize {
    values.iter().map(|value| value.encoded_len()).sum()
}
