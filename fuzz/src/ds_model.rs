//! A simple model of ds variables, which readers are compared with.

use container_core::ReadAt;
use dsfmt::{Array, DataType, Element, Endian, Mask, Values};

use super::choices::Choices;

/// An element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    Missing,
    /// The bits of a number, because NaN is not equal to itself.
    Number(u64),
    Bool(bool),
    Text(Vec<u8>),
}

/// The elements of an array.
pub fn cells(array: &Array<'_>) -> Vec<Cell> {
    fn bits<T: Element>(values: &[T]) -> Vec<Cell> {
        let number = |value: &T| {
            let mut wide = [0; 8];
            let bytes = bytemuck::bytes_of(value);
            wide[..bytes.len()].copy_from_slice(bytes);
            if cfg!(target_endian = "big") {
                wide[..bytes.len()].reverse();
            }
            Cell::Number(u64::from_le_bytes(wide))
        };
        values.iter().map(number).collect()
    }
    let mut cells = match array.values() {
        Values::Float32(values) => bits(values),
        Values::Float64(values) => bits(values),
        Values::Int8(values) => bits(values),
        Values::Int16(values) => bits(values),
        Values::Int32(values) => bits(values),
        Values::Int64(values) => bits(values),
        Values::Uint8(values) => bits(values),
        Values::Uint16(values) => bits(values),
        Values::Uint32(values) => bits(values),
        Values::Uint64(values) => bits(values),
        Values::Bool(values) => values.iter().copied().map(Cell::Bool).collect(),
        Values::Str(strings) | Values::Unicode(strings) => {
            strings.iter().map(|string| Cell::Text(string.to_vec())).collect()
        }
    };
    if let Some(mask) = array.mask() {
        assert_eq!(mask.len(), cells.len());
        for (cell, missing) in cells.iter_mut().zip(mask.iter()) {
            if missing {
                *cell = Cell::Missing;
            }
        }
    }
    cells
}

/// Packs booleans, most significant bit of a byte first.
fn pack(bits: impl Iterator<Item = bool>) -> Vec<u8> {
    let mut out = Vec::new();
    for (n, bit) in bits.enumerate() {
        if n % 8 == 0 {
            out.push(0);
        }
        out[n / 8] |= u8::from(bit) << (7 - n % 8);
    }
    out
}

fn bit(bytes: &[u8], n: usize) -> bool {
    bytes[n / 8] >> (7 - n % 8) & 1 == 1
}

fn turned(mut bytes: Vec<u8>, endian: Endian) -> Vec<u8> {
    if endian == Endian::Big {
        bytes.reverse();
    }
    bytes
}

/// The body of a variable.
pub fn encode(cells: &[Cell], data_type: DataType, endian: Endian, masked: bool) -> Vec<u8> {
    let mut out = Vec::new();
    if masked {
        out = pack(cells.iter().map(|cell| *cell == Cell::Missing));
    }
    let (mut bools, mut texts) = (Vec::new(), Vec::new());
    for cell in cells {
        match cell {
            Cell::Missing => {}
            Cell::Number(bits) => {
                let width = data_type.width().unwrap();
                out.extend(turned(bits.to_le_bytes()[..width].to_vec(), endian));
            }
            Cell::Bool(truth) => bools.push(*truth),
            Cell::Text(text) => {
                out.extend(turned((text.len() as u64).to_le_bytes().to_vec(), endian));
                texts.extend_from_slice(text);
            }
        }
    }
    out.extend(pack(bools.into_iter()));
    out.extend(texts);
    out
}

/// The first `count` elements of a variable's body and their length in bytes; `None` if the body is too short.
pub fn decode(
    bytes: &[u8],
    count: usize,
    data_type: DataType,
    endian: Endian,
    masked: bool,
) -> Option<(Vec<Cell>, usize)> {
    let mask = if masked { bytes.get(..count.div_ceil(8))? } else { &[] };
    let missing = |n: usize| masked && bit(mask, n);
    let stored = (0..count).filter(|n| !missing(*n)).count();
    let mut at = mask.len();
    let mut take = |len: usize| {
        let taken = bytes.get(at..at.checked_add(len)?)?;
        at += len;
        Some(taken)
    };
    let number = |bytes: &[u8]| {
        let mut wide = turned(bytes.to_vec(), endian);
        wide.resize(8, 0);
        u64::from_le_bytes(wide.try_into().unwrap())
    };
    let mut found = Vec::new();
    match data_type.width() {
        Some(width) => {
            for _ in 0..stored {
                found.push(Cell::Number(number(take(width)?)));
            }
        }
        None if data_type == DataType::Bool => {
            let bits = take(stored.div_ceil(8))?;
            found.extend((0..stored).map(|n| Cell::Bool(bit(bits, n))));
        }
        None => {
            let mut lengths = Vec::new();
            for _ in 0..stored {
                lengths.push(number(take(8)?));
            }
            for len in lengths {
                found.push(Cell::Text(take(usize::try_from(len).ok()?)?.to_vec()));
            }
        }
    }
    let mut found = found.into_iter();
    let all = (0..count).map(|n| if missing(n) { Cell::Missing } else { found.next().unwrap() }).collect();
    Some((all, at))
}

/// Elements from choices.
pub fn some_cells(choices: &mut Choices<'_>, count: usize, data_type: DataType, masked: bool) -> Vec<Cell> {
    // Runs, so that some bytes of a mask are all ones or zeros.
    let (mut left, mut missing) = (0, false);
    (0..count)
        .map(|_| {
            if left == 0 {
                left = 1 + if choices.below(2) == 1 { choices.below(20) } else { 0 };
                missing = masked && choices.below(2) == 1;
            }
            left -= 1;
            match data_type.width() {
                _ if missing => Cell::Missing,
                Some(8) => Cell::Number(choices.word()),
                Some(width) => Cell::Number(choices.word() & ((1 << (8 * width)) - 1)),
                None if data_type == DataType::Bool => Cell::Bool(choices.below(2) == 1),
                None => {
                    let text = ["", "a", "\u{e4}", "b'\"\n", "\u{1f600}c", "0123456789abcdef"][choices.below(6)];
                    let mut text = text.as_bytes().to_vec();
                    if data_type == DataType::Str && choices.below(3) == 1 {
                        text.push(choices.byte());
                    }
                    Cell::Text(text)
                }
            }
        })
        .collect()
}

/// The elements as an array; a masked number is stored as zero.
pub fn array(cells: &[Cell], shape: &[u64], data_type: DataType, masked: bool) -> Array<'static> {
    fn numbers<T: Element>(cells: &[Cell]) -> Vec<T> {
        let number = |cell: &Cell| match cell {
            Cell::Number(bits) => {
                let mut bytes = bits.to_le_bytes();
                let bytes = &mut bytes[..size_of::<T>()];
                if cfg!(target_endian = "big") {
                    bytes.reverse();
                }
                bytemuck::pod_read_unaligned(bytes)
            }
            _ => T::default(),
        };
        cells.iter().map(number).collect()
    }
    fn text(cell: &Cell) -> &[u8] {
        if let Cell::Text(text) = cell { text } else { b"" }
    }
    let values: Values<'static> = match data_type {
        DataType::Float32 => numbers::<f32>(cells).into(),
        DataType::Float64 => numbers::<f64>(cells).into(),
        DataType::Int8 => numbers::<i8>(cells).into(),
        DataType::Int16 => numbers::<i16>(cells).into(),
        DataType::Int32 => numbers::<i32>(cells).into(),
        DataType::Int64 => numbers::<i64>(cells).into(),
        DataType::Uint8 => numbers::<u8>(cells).into(),
        DataType::Uint16 => numbers::<u16>(cells).into(),
        DataType::Uint32 => numbers::<u32>(cells).into(),
        DataType::Uint64 => numbers::<u64>(cells).into(),
        DataType::Bool => cells.iter().map(|cell| *cell == Cell::Bool(true)).collect::<Vec<bool>>().into(),
        DataType::Str => cells.iter().map(text).collect(),
        DataType::Unicode => cells.iter().map(|cell| std::str::from_utf8(text(cell)).unwrap()).collect(),
    };
    let array = Array::new(shape, values).unwrap();
    let mask = Mask::from_bools(cells.iter().map(|cell| *cell == Cell::Missing));
    if masked { array.with_mask(mask).unwrap() } else { array }
}

/// A medium that serves ranges, and rejects those out of bounds.
pub struct Medium(pub Vec<u8>);

impl ReadAt for Medium {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        let start = usize::try_from(offset).unwrap();
        buffer.copy_from_slice(&self.0[start..start + buffer.len()]);
        Ok(())
    }
}
