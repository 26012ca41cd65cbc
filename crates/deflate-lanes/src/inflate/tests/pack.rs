//! Writes streams bit by bit, valid or not, and creates data to compress.

use std::io::Write;

use flate2::Compression as Level;

/// The minimum length and the extra bits of each symbol from 257 on.
const LENGTHS: [(usize, usize); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];

/// The minimum distance of each symbol; it has half its number, minus one, extra bits.
const DISTANCES: [usize; 30] = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
    8193, 12289, 16385, 24577,
];

pub(super) const END: usize = 256;

/// The code lengths of all symbols.
#[derive(Clone)]
pub(super) struct Codes {
    pub(super) litlens: Vec<u8>,
    pub(super) distances: Vec<u8>,
}

impl Codes {
    pub(super) fn fixed() -> Self {
        Self { litlens: [[8; 144].as_slice(), &[9; 112], &[7; 24], &[8; 8]].concat(), distances: vec![5; 32] }
    }

    /// Only these symbols, with these code lengths.
    pub(super) fn of(litlens: &[(usize, u8)], distances: &[(usize, u8)]) -> Self {
        let lens = |least: usize, given: &[(usize, u8)]| {
            let most = given.iter().map(|&(symbol, _)| symbol + 1).max().unwrap_or(0);
            let mut lens = vec![0; most.max(least)];
            given.iter().for_each(|&(symbol, len)| lens[symbol] = len);
            lens
        };
        Self { litlens: lens(257, litlens), distances: lens(1, distances) }
    }
}

/// Writes bits, least significant bit of a byte first.
#[derive(Default, Clone)]
pub(super) struct Pack {
    bytes: Vec<u8>,
    bits: usize,
}

impl Pack {
    /// Writes a number, lowest bit first.
    pub(super) fn number(&mut self, number: usize, bits: usize) -> &mut Self {
        for i in 0..bits as u32 {
            if self.bits.is_multiple_of(8) {
                self.bytes.push(0);
            }
            *self.bytes.last_mut().unwrap() |= (number.checked_shr(i).unwrap_or(0) as u8 & 1) << (self.bits % 8);
            self.bits += 1;
        }
        self
    }

    /// Writes a symbol in the code with these lengths, first bit first.
    pub(super) fn symbol(&mut self, lens: &[u8], symbol: usize) -> &mut Self {
        let len = lens[symbol];
        assert!(len > 0, "symbol {symbol} has no code");
        let before = |&(other, &other_len): &(usize, &u8)| other_len > 0 && (other_len, other) < (len, symbol);
        let code: usize = lens.iter().enumerate().filter(before).map(|(_, &other)| 1 << (len - other)).sum();
        for i in (0..len).rev() {
            self.number(code >> i & 1, 1);
        }
        self
    }

    pub(super) fn match_of(&mut self, codes: &Codes, length: usize, distance: usize) -> &mut Self {
        let symbol = LENGTHS.iter().rposition(|&(least, _)| least <= length).unwrap();
        let (least, extra) = LENGTHS[symbol];
        self.symbol(&codes.litlens, 257 + symbol).number(length - least, extra).distance(codes, distance)
    }

    pub(super) fn distance(&mut self, codes: &Codes, distance: usize) -> &mut Self {
        let symbol = DISTANCES.iter().rposition(|&least| least <= distance).unwrap();
        self.symbol(&codes.distances, symbol).number(distance - DISTANCES[symbol], (symbol / 2).saturating_sub(1))
    }

    /// Writes the header of a block with fixed codes.
    pub(super) fn fixed(&mut self, last: bool) -> &mut Self {
        self.number(last.into(), 1).number(1, 2)
    }

    /// Writes the header of a block with these codes, without repetitions.
    pub(super) fn codes(&mut self, last: bool, Codes { litlens, distances }: &Codes) -> &mut Self {
        // Lengths 0 to 15, of four bits each, in the order of the format.
        let code_lengths = [0, 0, 0, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4];
        self.code_lengths(last, litlens.len(), distances.len(), &code_lengths);
        for &len in litlens.iter().chain(distances) {
            self.symbol(&[4; 16], len.into());
        }
        self
    }

    /// Writes the header up to the code lengths of the code length code.
    pub(super) fn code_lengths(&mut self, last: bool, litlens: usize, distances: usize, lens: &[usize]) -> &mut Self {
        self.number(last.into(), 1).number(2, 2);
        self.number(litlens - 257, 5).number(distances - 1, 5).number(lens.len() - 4, 4);
        for &len in lens {
            self.number(len, 3);
        }
        self
    }

    pub(super) fn literals(&mut self, codes: &Codes, bytes: &[u8]) -> &mut Self {
        for &byte in bytes {
            self.symbol(&codes.litlens, byte.into());
        }
        self
    }

    pub(super) fn stored(&mut self, last: bool, bytes: &[u8]) -> &mut Self {
        self.number(last.into(), 1).number(0, 2);
        self.number(0, self.bits.wrapping_neg() % 8).number(bytes.len(), 16).number(!bytes.len(), 16);
        for &byte in bytes {
            self.number(byte.into(), 8);
        }
        self
    }

    pub(super) fn done(&self) -> Vec<u8> {
        self.bytes.clone()
    }
}

pub(super) fn deflate(bytes: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Level::new(level));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(super) fn zlib(bytes: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), Level::new(level));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Reproducible pseudo-random numbers.
pub(super) fn random(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    })
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Random,
    Text,
    Runs,
    Floats,
    Counters,
    Skewed,
}

impl Kind {
    pub(super) const ALL: [Self; 6] =
        [Self::Random, Self::Text, Self::Runs, Self::Floats, Self::Counters, Self::Skewed];

    pub(super) fn make(self, seed: u64, len: usize) -> Vec<u8> {
        let numbers = random(seed);
        let mut bytes: Vec<u8> = match self {
            Self::Random => numbers.take(len / 8 + 1).flat_map(u64::to_le_bytes).collect(),
            Self::Text => {
                let words = ["the", "cat", "sat", "on", "a", "mat", "and", "number", "of", "rows: "];
                numbers.take(len).flat_map(|n| format!("{} ", words[n as usize % 10]).into_bytes()).take(len).collect()
            }
            Self::Runs => {
                numbers.flat_map(|n| std::iter::repeat_n((n >> 32) as u8, 1 + (n % 400) as usize)).take(len).collect()
            }
            Self::Floats => {
                numbers.take(len / 4 + 1).flat_map(|n| ((n >> 40) as f32 / 16_777_216.0).to_le_bytes()).collect()
            }
            Self::Counters => (seed..).take(len / 8 + 1).flat_map(u64::to_le_bytes).collect(),
            // Each byte half as frequent as the previous one: codes of all lengths.
            Self::Skewed => numbers.take(len).map(|n| n.trailing_zeros() as u8).collect(),
        };
        bytes.truncate(len);
        bytes
    }
}
