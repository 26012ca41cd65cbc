//! Files made by hand, independent of the writer.
#![allow(dead_code, unreachable_pub, reason = "each test takes what it needs")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "tests fail by panicking"
)]

#[cfg(feature = "netcdf")]
pub mod hdf5_file;

use dsfmt::{DataType, Element, Endian, Reader};

/// Builds a file variable by variable.
#[derive(Default)]
pub struct File {
    members: Vec<String>,
    pub body: Vec<u8>,
}

/// Values of a variable, one per element, including missing ones.
pub enum Data {
    /// Big-endian bytes of each element.
    Numbers(Vec<Vec<u8>>),
    Bools(Vec<bool>),
    Texts(Vec<Vec<u8>>),
}

impl Data {
    pub fn of<T: Element>(numbers: &[T]) -> Self {
        let big = |n: &T| {
            let n = if cfg!(target_endian = "little") { n.swapped() } else { *n };
            bytemuck::bytes_of(&n).to_vec()
        };
        Self::Numbers(numbers.iter().map(big).collect())
    }

    pub fn texts(texts: &[&str]) -> Self {
        Self::Texts(texts.iter().map(|text| text.as_bytes().to_vec()).collect())
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(all) | Self::Texts(all) => all.len(),
            Self::Bools(all) => all.len(),
        }
    }
}

pub fn bits(all: impl IntoIterator<Item = bool>) -> Vec<u8> {
    let mut out = Vec::new();
    for (n, bit) in all.into_iter().enumerate() {
        if n % 8 == 0 {
            out.push(0);
        }
        *out.last_mut().unwrap() |= u8::from(bit) << (7 - n % 8);
    }
    out
}

/// The body of a variable.
pub fn bytes(data: &Data, endian: Endian, missing: Option<&[bool]>) -> Vec<u8> {
    let mut out = missing.map_or_else(Vec::new, |missing| bits(missing.iter().copied()));
    let there = |n: &usize| missing.is_none_or(|missing| !missing[*n]);
    let turned = |mut raw: Vec<u8>| {
        if endian == Endian::Little {
            raw.reverse();
        }
        raw
    };
    let kept = (0..data.len()).filter(there);
    match data {
        Data::Numbers(all) => kept.for_each(|n| out.extend(turned(all[n].clone()))),
        Data::Bools(all) => out.extend(bits(kept.map(|n| all[n]))),
        Data::Texts(all) => {
            kept.clone().for_each(|n| out.extend(turned((all[n].len() as u64).to_be_bytes().to_vec())));
            kept.for_each(|n| out.extend(&all[n]));
        }
    }
    out
}

impl File {
    /// Adds a variable.
    pub fn add(
        &mut self,
        name: &str,
        data_type: DataType,
        endian: Endian,
        sizes: &[u64],
        data: &Data,
        missing: Option<&[bool]>,
    ) -> &mut Self {
        let bytes = bytes(data, endian, missing);
        self.add_bytes(name, data_type, endian, sizes, &bytes, missing.is_some(), bytes.len() as u64)
    }

    /// Adds a variable with these bytes and a declared `.len`.
    #[allow(clippy::too_many_arguments, reason = "all that a header says")]
    pub fn add_bytes(
        &mut self,
        name: &str,
        data_type: DataType,
        endian: Endian,
        sizes: &[u64],
        bytes: &[u8],
        masked: bool,
        declared: u64,
    ) -> &mut Self {
        let dims: Vec<String> = (0..sizes.len()).map(|n| format!("\"{}\"", char::from(b'i' + n as u8))).collect();
        self.members.push(format!(
            "\"{name}\": {{\".dims\": [{}], \".size\": {sizes:?}, \".type\": \"{data_type}\", \".offset\": {}, \".len\": {declared}, \
             \".endian\": \"{}\", \".missing\": {masked}}}",
            dims.join(", "),
            self.body.len(),
            endian.name()
        ));
        self.body.extend_from_slice(bytes);
        self
    }

    /// The file, padded with spaces so that the body starts at `shift` modulo 8.
    pub fn bytes(&self, shift: usize) -> Vec<u8> {
        let mut out = format!("ds-1.0\n{{{}}}", self.members.join(", ")).into_bytes();
        while (out.len() + 1) % 8 != shift % 8 {
            out.push(b' ');
        }
        out.push(b'\n');
        out.extend(&self.body);
        out
    }

    pub fn reader(&self) -> Reader {
        Reader::from_source(self.bytes(0).into(), Default::default()).unwrap()
    }
}

/// Which of `count` elements are missing: none, all, or some, depending on `seed`.
pub fn missing(count: usize, seed: u64) -> Vec<bool> {
    // splitmix64: neighboring inputs have unrelated outputs.
    let next = |n: u64| {
        let x = n.wrapping_add(seed << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 33
    };
    (0..count as u64)
        .map(|n| match seed % 5 {
            0 => false,
            1 => true,
            2 => next(n).is_multiple_of(2),
            3 => next(n / 24).is_multiple_of(2), // whole bytes of the mask
            _ => next(n).is_multiple_of(30),
        })
        .collect()
}
