//! Writes the body of one variable: mask, string lengths, values.

use container_core::Result;

use crate::array::{Array, Mask, Strings, Values, each_kind};
use crate::types::{Element, Endian};
use crate::write::bits::Packer;
use crate::write::put::Put;

/// Bytes converted per write.
const CHUNK: usize = 64 << 10;

/// The array's mask, if any element is missing: an all-clear mask is not written.
pub(crate) fn mask_of<'m>(array: &'m Array<'_>) -> Option<&'m Mask<'m>> {
    array.mask().filter(|mask| mask.missing() > 0)
}

/// Writes a whole array.
pub(crate) fn array(array: &Array<'_>, endian: Endian, out: &mut dyn Put) -> Result<()> {
    let mask = mask_of(array);
    if let Some(mask) = mask {
        out.put(mask.as_bits())?;
    }
    if let Some(strings) = array.values().as_strings() {
        lengths(strings, mask, out)?;
    }
    let mut packer = Packer::default();
    values(array.values(), mask, endian, &mut packer, out)?;
    packer.end(out)
}

/// Writes the stored values, without missing ones and without string lengths.
pub(crate) fn values(
    values: &Values<'_>,
    mask: Option<&Mask<'_>>,
    endian: Endian,
    packer: &mut Packer,
    out: &mut dyn Put,
) -> Result<()> {
    each_kind!(values,
    values => numbers(values, mask, endian != Endian::NATIVE, out),
    bools => match mask {
    None => packer.bools(bools, out),
    Some(mask) => stored(bools, mask, |chunk| packer.bools(chunk, out)),
    },
    values => strings(values, mask, out)
        )
}

fn numbers<T: Element>(numbers: &[T], mask: Option<&Mask<'_>>, swap: bool, out: &mut dyn Put) -> Result<()> {
    let mut put_swapped = |chunk: &mut [T]| {
        if swap {
            chunk.iter_mut().for_each(|number| *number = number.swapped());
        }
        out.put(bytemuck::cast_slice(chunk))
    };
    match mask {
        Some(mask) => stored(numbers, mask, put_swapped),
        None if swap && size_of::<T>() > 1 => {
            let chunk_len = CHUNK / size_of::<T>();
            let mut scratch = Vec::with_capacity(chunk_len.min(numbers.len()));
            for chunk in numbers.chunks(chunk_len) {
                scratch.clear();
                scratch.extend_from_slice(chunk);
                put_swapped(&mut scratch)?;
            }
            Ok(())
        }
        None => out.put(bytemuck::cast_slice(numbers)),
    }
}

/// Passes the present values to `take`, chunk by chunk.
fn stored<T: Copy>(values: &[T], mask: &Mask<'_>, mut take: impl FnMut(&mut [T]) -> Result<()>) -> Result<()> {
    let max = CHUNK / size_of::<T>().max(1);
    let mut chunk: Vec<T> = Vec::with_capacity(max.min(values.len()));
    for (group, bits) in values.chunks(8).zip(mask.as_bits()) {
        match *bits {
            0 => chunk.extend_from_slice(group),
            0xff => {}
            mut bits => {
                for value in group {
                    if bits & 0x80 == 0 {
                        chunk.push(*value);
                    }
                    bits <<= 1;
                }
            }
        }
        if chunk.len() + 8 > max {
            take(&mut chunk)?;
            chunk.clear();
        }
    }
    take(&mut chunk)
}

/// The strings that are not missing.
fn present<'s>(strings: &'s Strings<'_>, mask: Option<&'s Mask<'_>>) -> impl Iterator<Item = &'s [u8]> {
    let missing = move |index| mask.is_some_and(|mask| mask.is_missing(index));
    strings.iter().enumerate().filter(move |(index, _)| !missing(*index)).map(|(_, string)| string)
}

/// Total bytes of the strings that are not missing.
pub(crate) fn total(strings: &Strings<'_>, mask: Option<&Mask<'_>>) -> u64 {
    match mask {
        None => strings.as_bytes().len() as u64,
        Some(_) => present(strings, mask).map(|string| string.len() as u64).sum(),
    }
}

/// Writes the string lengths, in native byte order as Python does.
pub(crate) fn lengths(strings: &Strings<'_>, mask: Option<&Mask<'_>>, out: &mut dyn Put) -> Result<()> {
    let mut chunk: Vec<u64> = Vec::with_capacity((CHUNK / 8).min(strings.len()));
    for string in present(strings, mask) {
        chunk.push(string.len() as u64);
        if chunk.len() >= CHUNK / 8 {
            out.put(bytemuck::cast_slice(&chunk))?;
            chunk.clear();
        }
    }
    out.put(bytemuck::cast_slice(&chunk))
}

fn strings(strings: &Strings<'_>, mask: Option<&Mask<'_>>, out: &mut dyn Put) -> Result<()> {
    match mask {
        None => out.put(strings.as_bytes()),
        Some(_) => present(strings, mask).try_for_each(|string| out.put(string)),
    }
}
