//! The body of one variable: mask, lengths, values.

use container_core::Result;

use crate::array::{Array, Mask, Strings, Values, each_kind};
use crate::types::{Element, Endian};
use crate::write::bits::Packer;
use crate::write::put::Put;

/// Bytes that are brought into shape before they are put.
const CHUNK: usize = 64 << 10;

/// The mask of an array where an element is missing: one of which none is does as if there were no mask.
pub(crate) fn mask_of<'m>(array: &'m Array<'_>) -> Option<&'m Mask<'m>> {
    array.mask().filter(|mask| mask.missing() > 0)
}

/// All of an array.
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

/// The stored values: without those that are missing, and without the lengths of strings.
pub(crate) fn values(
    values: &Values<'_>,
    mask: Option<&Mask<'_>>,
    endian: Endian,
    packer: &mut Packer,
    out: &mut dyn Put,
) -> Result<()> {
    each_kind!(values,
        found => numbers(found, mask, endian != Endian::NATIVE, out),
        found => match mask {
            None => packer.bools(found, out),
            Some(mask) => stored(found, mask, |chunk| packer.bools(chunk, out)),
        },
        found => strings(found, mask, out)
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
            let most = CHUNK / size_of::<T>();
            let mut scratch = Vec::with_capacity(most.min(numbers.len()));
            for chunk in numbers.chunks(most) {
                scratch.clear();
                scratch.extend_from_slice(chunk);
                put_swapped(&mut scratch)?;
            }
            Ok(())
        }
        None => out.put(bytemuck::cast_slice(numbers)),
    }
}

/// Gathers what is not missing and hands it on, chunk by chunk.
fn stored<T: Copy>(values: &[T], mask: &Mask<'_>, mut hand_on: impl FnMut(&mut [T]) -> Result<()>) -> Result<()> {
    let most = CHUNK / size_of::<T>().max(1);
    let mut chunk: Vec<T> = Vec::with_capacity(most.min(values.len()));
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
        if chunk.len() + 8 > most {
            hand_on(&mut chunk)?;
            chunk.clear();
        }
    }
    hand_on(&mut chunk)
}

/// The strings that are not missing.
fn kept<'s>(strings: &'s Strings<'_>, mask: Option<&'s Mask<'_>>) -> impl Iterator<Item = &'s [u8]> {
    let missing = move |index| mask.is_some_and(|mask| mask.is_missing(index));
    strings.iter().enumerate().filter(move |(index, _)| !missing(*index)).map(|(_, string)| string)
}

/// Bytes of the strings that are not missing, without their lengths.
pub(crate) fn total(strings: &Strings<'_>, mask: Option<&Mask<'_>>) -> u64 {
    match mask {
        None => strings.as_bytes().len() as u64,
        Some(_) => kept(strings, mask).map(|string| string.len() as u64).sum(),
    }
}

/// The lengths, in this machine's byte order as Python writes them.
pub(crate) fn lengths(strings: &Strings<'_>, mask: Option<&Mask<'_>>, out: &mut dyn Put) -> Result<()> {
    let mut chunk: Vec<u64> = Vec::with_capacity((CHUNK / 8).min(strings.len()));
    for string in kept(strings, mask) {
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
        Some(_) => kept(strings, mask).try_for_each(|string| out.put(string)),
    }
}
