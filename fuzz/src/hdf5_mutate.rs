//! Damaged HDF5 files with valid checksums, so that a reader does not stop at the first one.
//!
//! Without dependencies, so tests and chores can include it by `#[path]`:
//!
//! ```ignore
//! let sample = hdf5_mutate::Sample::new(std::fs::read("a.nc")?);   // a valid file; takes milliseconds per 100 kB
//! for seed in 0..1000 {
//!     let mutant: Vec<u8> = sample.mutant(seed);                   // the same seed gives the same bytes
//! }
//! let mutant = sample.mutant_by(|| next_number());                 // or with numbers from a fuzzer
//! ```
//!
//! A mutant has one to four changes: the address of another block, a field of 1 to 8 bytes overwritten with a likely limit, a flipped bit, or
//! bytes copied from elsewhere. Most changes are in metadata blocks, not in values. Then the checksum of each block is updated.

/// Signatures of blocks. Those of the first list end with a checksum, a direct heap block contains it, the last ones have none.
const CHECKED: [&[u8; 4]; 15] = [
    b"OHDR", b"OCHK", b"BTHD", b"BTIN", b"BTLF", b"FRHP", b"FHIB", b"FAHD", b"FADB", b"EAHD", b"EAIB", b"EASB",
    b"EADB", b"FSHD", b"SMTB",
];
const HEAP_BLOCK: &[u8; 4] = b"FHDB";
const UNCHECKED: [&[u8; 4]; 4] = [b"TREE", b"SNOD", b"HEAP", b"GCOL"];
const SUPERBLOCK: &[u8; 8] = b"\x89HDF\r\n\x1a\n";

/// Maximum bytes to search for the end of a block, and the length of one without checksum.
const LONGEST: usize = 8 << 10;
const UNCHECKED_LEN: usize = 256;

/// A block of metadata.
struct Block {
    start: usize,
    end: usize,
    /// The offset of its checksum.
    checksum: Option<usize>,
}

/// A valid file and the offsets of its blocks.
pub struct Sample {
    bytes: Vec<u8>,
    blocks: Vec<Block>,
    /// Addresses of blocks, and the offsets where they are stored.
    addresses: Vec<u64>,
    pointers: Vec<usize>,
}

impl Sample {
    /// Finds the blocks of a valid file.
    pub fn new(bytes: Vec<u8>) -> Self {
        let mut blocks = Vec::new();
        for start in 0..bytes.len() {
            blocks.extend(block(&bytes, start));
        }
        // Object headers of version 1, which links refer to, have no signature. Version, reserved, number of messages, of references.
        let version_1 = |at: &usize| matches!(bytes.get(*at..*at + 8), Some([1, 0, _, 0, 1..=4, 0, 0, 0]));
        blocks.extend((0..bytes.len()).step_by(8).filter(version_1).map(|start| Block {
            start,
            end: (start + UNCHECKED_LEN).min(bytes.len()),
            checksum: None,
        }));
        let addresses: Vec<u64> = blocks.iter().map(|block| block.start as u64).filter(|at| *at > 0).collect();
        let is_pointer = |at: &usize| {
            let word = bytes.get(*at..*at + 8).and_then(|word| word.try_into().ok()).map(u64::from_le_bytes);
            word.is_some_and(|word| addresses.contains(&word))
        };
        let pointers = (0..bytes.len()).filter(is_pointer).collect();
        Self { blocks, addresses, pointers, bytes }
    }

    /// A mutant; the same for the same seed.
    pub fn mutant(&self, seed: u64) -> Vec<u8> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d;
        self.mutant_by(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
        })
    }

    /// A mutant from the numbers of `next`.
    pub fn mutant_by(&self, mut next: impl FnMut() -> u64) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        if bytes.is_empty() {
            return bytes;
        }
        for _ in 0..1 + next() % 4 {
            let way = next() % 8;
            let at = self.place(next().is_multiple_of(8), next(), next());
            match way {
                0..=2 if !self.pointers.is_empty() && !self.addresses.is_empty() => {
                    let pointer = self.pointers[below(next(), self.pointers.len())];
                    let address = self.addresses[below(next(), self.addresses.len())];
                    put(&mut bytes, pointer, &address.to_le_bytes());
                }
                3 | 4 => {
                    let width = 1 << (next() % 4);
                    let number = self.number(next(), next()).to_le_bytes();
                    put(&mut bytes, at, &number[..width]);
                }
                5 => bytes[at] ^= 1 << (next() % 8),
                6 => {
                    let (from, len) = (self.place(false, next(), next()), below(next(), 64) + 1);
                    let copy = self.bytes[from..(from + len).min(self.bytes.len())].to_vec();
                    put(&mut bytes, at, &copy);
                }
                _ => bytes[at] = next() as u8,
            }
        }
        self.repair(&mut bytes);
        bytes
    }

    /// An offset in a block, or in the whole file.
    fn place(&self, anywhere: bool, first: u64, second: u64) -> usize {
        match self.blocks.get(below(first, self.blocks.len().max(1))) {
            Some(block) if !anywhere => block.start + below(second, block.end - block.start),
            _ => below(second, self.bytes.len()),
        }
    }

    /// A number that is likely to be a limit: near a power of two, near zero, an address, the length of the file, or any.
    fn number(&self, kind: u64, any: u64) -> u64 {
        match kind % 6 {
            0 => any % 4,
            1 => (1u64 << (any % 64)).wrapping_sub(any >> 6 & 1),
            2 => u64::MAX - any % 2,
            3 => self.bytes.len() as u64 - any % 2,
            4 if !self.addresses.is_empty() => self.addresses[below(any, self.addresses.len())],
            _ => any,
        }
    }

    /// Updates the checksum of each block.
    fn repair(&self, bytes: &mut [u8]) {
        for block in &self.blocks {
            let Some(at) = block.checksum else { continue };
            if at + 4 < block.end {
                put(bytes, at, &[0; 4]);
                let sum = lookup3(&bytes[block.start..block.end]);
                put(bytes, at, &sum.to_le_bytes());
                continue;
            }
            let sum = lookup3(&bytes[block.start..at]);
            put(bytes, at, &sum.to_le_bytes());
            // The length of the header was changed.
            if let Some(at) = header_end(bytes, block.start).filter(|end| *end != at && end + 4 <= bytes.len()) {
                let sum = lookup3(&bytes[block.start..at]);
                put(bytes, at, &sum.to_le_bytes());
            }
        }
    }
}

fn below(number: u64, n: usize) -> usize {
    (number % n as u64) as usize
}

fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    bytes.iter_mut().skip(at).zip(new).for_each(|(byte, new)| *byte = *new);
}

/// The block at this offset; it ends where its checksum matches.
fn block(bytes: &[u8], start: usize) -> Option<Block> {
    let rest = &bytes[start..];
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let found = |end: usize, checksum| Some(Block { start, end, checksum });
    if rest.starts_with(SUPERBLOCK) {
        let is_checked = rest.get(8).is_some_and(|version| *version >= 2);
        let checksum = start + 44;
        return match is_checked && word(checksum)? == lookup3(&bytes[start..checksum]) {
            true => found(checksum + 4, Some(checksum)),
            false => found((start + 96).min(bytes.len()), None),
        };
    }
    let signature = rest.first_chunk::<4>()?;
    if UNCHECKED.contains(&signature) {
        return found((start + UNCHECKED_LEN).min(bytes.len()), None);
    }
    if signature == HEAP_BLOCK {
        for len in (9..=16).map(|bits| 1 << bits).filter(|len| start + len <= bytes.len()) {
            for at in start + 13..=start + 21 {
                let mut copy = bytes[start..start + len].to_vec();
                put(&mut copy, at - start, &[0; 4]);
                if word(at)? == lookup3(&copy) {
                    return found(start + len, Some(at));
                }
            }
        }
        return None;
    }
    if !CHECKED.contains(&signature) {
        return None;
    }
    let ends = start + 6..(start + LONGEST).min(bytes.len().saturating_sub(3));
    let end = header_end(bytes, start)
        .into_iter()
        .chain(ends)
        .find(|end| word(*end) == Some(lookup3(&bytes[start..*end])))?;
    found(end + 4, Some(end))
}

/// The offset of the checksum of a header's first part, from its stored length.
fn header_end(bytes: &[u8], start: usize) -> Option<usize> {
    let head = bytes.get(start..start + 6).filter(|head| head.starts_with(b"OHDR"))?;
    let (times, phases) = (if head[5] & 0x20 == 0 { 0 } else { 16 }, if head[5] & 0x10 == 0 { 0 } else { 4 });
    let (at, width) = (start + 6 + times + phases, 1 << (head[5] & 3));
    let mut len = [0; 8];
    put(&mut len, 0, bytes.get(at..at + width)?);
    usize::try_from(u64::from_le_bytes(len)).ok()?.checked_add(at + width).filter(|end| *end <= bytes.len())
}

/// Bob Jenkins's lookup3 checksum of 2006.
pub fn lookup3(bytes: &[u8]) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32);
    let (mut a, mut b, mut c) = (start, start, start);
    let mut rest = bytes;
    let word = |bytes: &[u8], at: usize| {
        let mut word = [0; 4];
        put(&mut word, 0, bytes.get(at..).unwrap_or_default());
        u32::from_le_bytes(word)
    };
    while rest.len() > 12 {
        a = a.wrapping_add(word(rest, 0));
        b = b.wrapping_add(word(rest, 4));
        c = c.wrapping_add(word(rest, 8));
        (a, c) = (a.wrapping_sub(c) ^ c.rotate_left(4), c.wrapping_add(b));
        (b, a) = (b.wrapping_sub(a) ^ a.rotate_left(6), a.wrapping_add(c));
        (c, b) = (c.wrapping_sub(b) ^ b.rotate_left(8), b.wrapping_add(a));
        (a, c) = (a.wrapping_sub(c) ^ c.rotate_left(16), c.wrapping_add(b));
        (b, a) = (b.wrapping_sub(a) ^ a.rotate_left(19), a.wrapping_add(c));
        (c, b) = (c.wrapping_sub(b) ^ b.rotate_left(4), b.wrapping_add(a));
        rest = &rest[12..];
    }
    if rest.is_empty() {
        return c;
    }
    a = a.wrapping_add(word(rest, 0));
    b = b.wrapping_add(word(rest, 4));
    c = c.wrapping_add(word(rest, 8));
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}
