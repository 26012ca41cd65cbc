//! Encodes IDV files of every version, valid or with any field falsified, independently of the tested code.
//!
//! Set variable-length fields (names, LEB128 numbers, blocks) before [`Forge::build`]; overwrite fixed-width fields in the result, at its
//! [offsets](Forged).

use std::io::Write;
use std::ops::Range;

pub const HEADER: usize = 256;
pub const SIGNATURE: &[u8; 8] = b"CML\0DVB\0";
pub const TAIL: &[u8; 8] = b"\0BVD\0LMC";

/// Header fields, by their byte.
pub const VERSION: usize = 8;
pub const COMPATIBLE: usize = 16;
pub const TOC_OFFSET: usize = 24;
pub const TAIL_OFFSET: usize = 32;
pub const ROWS: usize = 40;
pub const COLUMNS: usize = 48;

pub const NONE: u8 = 0;
pub const DEFLATE: u8 = 1;
pub const ZLIB: u8 = 2;

/// `1.1.1.last` as it is stored.
pub const fn version(last: u64) -> u64 {
    0x0001_0001_0001_0000 | last
}

/// An unsigned LEB128 number.
pub fn leb(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push((value & 0x7F) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// A string as the format has it: length, then bytes (which need not be UTF-8).
pub fn string(bytes: &[u8]) -> Vec<u8> {
    [&leb(bytes.len() as u64)[..], bytes].concat()
}

pub fn compress(kind: u8, raw: &[u8]) -> Vec<u8> {
    let level = flate2::Compression::new(6);
    match kind {
        DEFLATE => {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), level);
            encoder.write_all(raw).unwrap();
            encoder.finish().unwrap()
        }
        ZLIB => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(raw).unwrap();
            encoder.finish().unwrap()
        }
        _ => raw.to_vec(),
    }
}

/// The same without squeezing: DEFLATE blocks that hold the bytes as they are. Fast, and plain to a fuzzer.
pub fn store(kind: u8, raw: &[u8]) -> Vec<u8> {
    let mut out = if kind == ZLIB { vec![0x78, 0x01] } else { Vec::new() };
    let mut pieces = raw.chunks(0xFFFF).peekable();
    loop {
        let piece = pieces.next().unwrap_or_default();
        let len = piece.len() as u16;
        out.push(u8::from(pieces.peek().is_none()));
        out.extend([len.to_le_bytes(), (!len).to_le_bytes()].concat());
        out.extend(piece);
        if pieces.peek().is_none() {
            break;
        }
    }
    if kind == ZLIB {
        out.extend(adler(raw));
    }
    if kind == DEFLATE || kind == ZLIB { out } else { raw.to_vec() }
}

/// The checksum at the end of zlib's data.
pub fn adler(raw: &[u8]) -> [u8; 4] {
    let (a, b) = raw.iter().fold((1u32, 0u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    (b << 16 | a).to_be_bytes()
}

/// A codec's definition: name and parameters.
#[derive(Debug, Clone, Default)]
pub struct Codec {
    pub name: Vec<u8>,
    pub parameters: Vec<u8>,
    /// Written as the parameters' length instead of the true one.
    pub length: Option<Vec<u8>>,
}

impl Codec {
    pub fn new(name: &str, parameters: Vec<u8>) -> Self {
        Self { name: name.as_bytes().to_vec(), parameters, length: None }
    }

    pub fn plain(name: &str) -> Self {
        Self::new(name, Vec::new())
    }

    pub fn bytes(&self) -> Vec<u8> {
        let length = self.length.clone().unwrap_or_else(|| leb(self.parameters.len() as u64));
        [string(&self.name), length, self.parameters.clone()].concat()
    }

    /// `Key2` over a number codec.
    pub fn key(number: &str, count: u64) -> Self {
        Self::new("Key2", [Self::plain(number).bytes(), count.to_le_bytes().to_vec()].concat())
    }

    /// `Key`, as it was before version 1.1.1.6.
    pub fn old_key(number: &str, contiguous: u8, min: u64, count: i32) -> Self {
        let number = Self::plain(number).bytes();
        Self::new("Key", [&number[..], &[contiguous], &min.to_le_bytes(), &count.to_le_bytes()].concat())
    }

    /// `VBuffer` over an item codec.
    pub fn vector(item: &Self, dimensions: &[i32]) -> Self {
        let mut parameters = [item.bytes(), (dimensions.len() as i32).to_le_bytes().to_vec()].concat();
        parameters.extend(dimensions.iter().flat_map(|d| d.to_le_bytes()));
        Self::new("VBuffer", parameters)
    }
}

/// A block: its content, and what the file declares.
#[derive(Debug, Clone, Default)]
pub struct Block {
    /// Decompressed.
    pub raw: Vec<u8>,
    /// Written instead of what `raw` compresses to.
    pub packed: Option<Vec<u8>>,
    /// Declared as the decompressed length instead of the true one.
    pub declared: Option<i32>,
}

impl From<Vec<u8>> for Block {
    fn from(raw: Vec<u8>) -> Self {
        Self { raw, packed: None, declared: None }
    }
}

/// One item of metadata.
#[derive(Debug, Clone, Default)]
pub struct Meta {
    pub kind: Vec<u8>,
    pub codec: Codec,
    pub compression: u8,
    pub raw: Vec<u8>,
    /// Written instead of what `raw` compresses to.
    pub packed: Option<Vec<u8>>,
    /// Written as the block's length instead of the true one.
    pub length: Option<Vec<u8>>,
}

impl Meta {
    pub fn new(kind: &str, codec: Codec, compression: u8, raw: Vec<u8>) -> Self {
        Self { kind: kind.as_bytes().to_vec(), codec, compression, raw, ..Self::default() }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Column {
    pub name: Vec<u8>,
    pub codec: Codec,
    pub compression: u8,
    pub rows_per_block: u64,
    /// Written as rows per block instead.
    pub rows_per_block_leb: Option<Vec<u8>>,
    pub blocks: Vec<Block>,
    /// Written in version 1.1.1.3 when there are any.
    pub slot_names: Vec<(i32, Vec<u8>)>,
    /// Written from version 1.1.1.4 on when there are any.
    pub metadata: Vec<Meta>,
    /// Written as the number of metadata items instead.
    pub metadata_count: Option<Vec<u8>>,
}

impl Column {
    pub fn new(name: &str, codec: Codec, compression: u8, rows_per_block: u64) -> Self {
        Self { name: name.as_bytes().to_vec(), codec, compression, rows_per_block, ..Self::default() }
    }

    pub fn block(mut self, block: impl Into<Block>) -> Self {
        self.blocks.push(block.into());
        self
    }

    pub fn meta(mut self, meta: Meta) -> Self {
        self.metadata.push(meta);
        self
    }
}

/// The order of blocks in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Column after column.
    #[default]
    Straight,
    /// The last block of the last column first.
    Backwards,
    /// A block of each column, then the next of each: but mixed up.
    Mixed,
}

/// A file to be.
#[derive(Debug, Clone)]
pub struct Forge {
    pub version: u64,
    pub compatible: u64,
    pub rows: i64,
    pub columns: Vec<Column>,
    pub order: Order,
    /// So many bytes of nothing before every block.
    pub gap: usize,
    /// Tables and metadata before the blocks.
    pub tables_first: bool,
    /// Compressed blocks hold their bytes [as they are](store).
    pub stored: bool,
}

impl Forge {
    pub fn new(last: u64, rows: i64) -> Self {
        Self {
            version: version(last),
            compatible: version(last),
            rows,
            columns: Vec::new(),
            order: Order::Straight,
            gap: 0,
            tables_first: false,
            stored: false,
        }
    }

    pub fn column(mut self, column: Column) -> Self {
        self.columns.push(column);
        self
    }

    /// Lays the file out.
    pub fn build(&self) -> Forged {
        let mut out = Forged { bytes: vec![0; HEADER], columns: Vec::new(), toc: 0, tail: 0 };
        let placed = |column: &Column| Placed { blocks: vec![0..0; column.blocks.len()], ..Placed::default() };
        out.columns = self.columns.iter().map(placed).collect();
        if self.tables_first {
            // Block offsets depend on the tables' sizes: lay the file out twice.
            let mut trial = out.clone();
            self.tables(&mut trial);
            let shift = trial.bytes.len();
            out.bytes.resize(shift, 0);
            self.blocks(&mut out);
            let blocks = out.bytes.split_off(HEADER).split_off(shift - HEADER);
            self.tables(&mut out);
            out.bytes.extend(blocks);
        } else {
            self.blocks(&mut out);
            self.tables(&mut out);
        }
        self.toc(&mut out);
        out.tail = out.bytes.len();
        out.bytes.extend(TAIL);
        out.set(0, SIGNATURE);
        out.set(VERSION, &self.version.to_le_bytes());
        out.set(COMPATIBLE, &self.compatible.to_le_bytes());
        out.set(TOC_OFFSET, &(out.toc as i64).to_le_bytes());
        out.set(TAIL_OFFSET, &(out.tail as i64).to_le_bytes());
        out.set(ROWS, &self.rows.to_le_bytes());
        out.set(COLUMNS, &(self.columns.len() as i32).to_le_bytes());
        out
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.build().bytes
    }

    fn pack(&self, kind: u8, raw: &[u8]) -> Vec<u8> {
        if self.stored { store(kind, raw) } else { compress(kind, raw) }
    }

    fn blocks(&self, out: &mut Forged) {
        let mut order: Vec<(usize, usize)> = Vec::new();
        for (c, column) in self.columns.iter().enumerate() {
            order.extend((0..column.blocks.len()).map(|b| (c, b)));
        }
        match self.order {
            Order::Straight => {}
            Order::Backwards => order.reverse(),
            Order::Mixed => order.sort_by_key(|&(c, b)| ((b * 7 + 3) % 5, b, c)),
        }
        for (c, b) in order {
            out.bytes.extend(std::iter::repeat_n(0xEE, self.gap));
            let (column, start) = (&self.columns[c], out.bytes.len());
            let block = &column.blocks[b];
            match &block.packed {
                Some(packed) => out.bytes.extend(packed),
                None => out.bytes.extend(self.pack(column.compression, &block.raw)),
            }
            out.columns[c].blocks[b] = start..out.bytes.len();
        }
    }

    /// Lookup tables, slot names and metadata.
    fn tables(&self, out: &mut Forged) {
        for (c, column) in self.columns.iter().enumerate() {
            out.columns[c].lookup = out.bytes.len();
            for (block, place) in column.blocks.iter().zip(out.columns[c].blocks.clone()) {
                out.bytes.extend((place.start as i64).to_le_bytes());
                out.bytes.extend((place.len() as i32).to_le_bytes());
                out.bytes.extend(block.declared.unwrap_or(block.raw.len() as i32).to_le_bytes());
            }
            if self.version == version(3) && !column.slot_names.is_empty() {
                let start = out.bytes.len();
                for (slot, name) in &column.slot_names {
                    out.bytes.extend(slot.to_le_bytes());
                    out.bytes.extend(string(name));
                }
                out.columns[c].slot_names = start..out.bytes.len();
            }
            if self.version >= version(4) && !column.metadata.is_empty() {
                self.metadata(c, out);
            }
        }
    }

    fn metadata(&self, c: usize, out: &mut Forged) {
        let column = &self.columns[c];
        let mut places = Vec::new();
        for meta in &column.metadata {
            let start = out.bytes.len();
            out.bytes.extend(meta.packed.clone().unwrap_or_else(|| self.pack(meta.compression, &meta.raw)));
            places.push(start..out.bytes.len());
        }
        out.columns[c].metadata_toc = out.bytes.len();
        let count = column.metadata_count.clone().unwrap_or_else(|| leb(column.metadata.len() as u64));
        out.bytes.extend(count);
        let mut placed = Vec::new();
        for (meta, block) in column.metadata.iter().zip(places) {
            let entry = out.bytes.len();
            out.bytes.extend(string(&meta.kind));
            out.bytes.extend(meta.codec.bytes());
            out.bytes.push(meta.compression);
            let offset = out.bytes.len();
            out.bytes.extend((block.start as i64).to_le_bytes());
            let length = out.bytes.len();
            out.bytes.extend(meta.length.clone().unwrap_or_else(|| leb(block.len() as u64)));
            placed.push(PlacedMeta { entry, offset, length, block });
        }
        out.columns[c].metadata = placed;
    }

    fn toc(&self, out: &mut Forged) {
        out.toc = out.bytes.len();
        for (c, column) in self.columns.iter().enumerate() {
            let mut placed = out.columns[c].clone();
            placed.entry = out.bytes.len();
            out.bytes.extend(string(&column.name));
            placed.codec = out.bytes.len();
            out.bytes.extend(column.codec.bytes());
            placed.parameters = out.bytes.len() - column.codec.parameters.len();
            placed.compression = out.bytes.len();
            out.bytes.push(column.compression);
            placed.rows_per_block = out.bytes.len();
            let rows_per_block = column.rows_per_block_leb.clone().unwrap_or_else(|| leb(column.rows_per_block));
            out.bytes.extend(rows_per_block);
            placed.lookup_field = out.bytes.len();
            out.bytes.extend((placed.lookup as i64).to_le_bytes());
            if self.version >= version(4) {
                placed.metadata_field = out.bytes.len();
                out.bytes.extend((placed.metadata_toc as i64).to_le_bytes());
            } else if self.version >= version(2) {
                placed.slot_names_field = out.bytes.len();
                out.bytes.extend((placed.slot_names.start as i64).to_le_bytes());
                if self.version == version(3) && placed.slot_names.start > 0 {
                    out.bytes.extend((placed.slot_names.len() as i64).to_le_bytes());
                    out.bytes.extend((column.slot_names.len() as i32).to_le_bytes());
                }
            }
            out.columns[c] = placed;
        }
    }
}

/// A finished file and its offsets.
#[derive(Debug, Clone)]
pub struct Forged {
    pub bytes: Vec<u8>,
    pub columns: Vec<Placed>,
    pub toc: usize,
    pub tail: usize,
}

/// Offsets of the parts of a column.
#[derive(Debug, Clone, Default)]
pub struct Placed {
    /// Its entry in the table of contents, and the fields there.
    pub entry: usize,
    pub codec: usize,
    pub parameters: usize,
    pub compression: usize,
    pub rows_per_block: usize,
    pub lookup_field: usize,
    /// Offset; size and count follow at 8 and 16 bytes.
    pub slot_names_field: usize,
    pub metadata_field: usize,
    /// The lookup table: 16 bytes a block.
    pub lookup: usize,
    pub blocks: Vec<Range<usize>>,
    pub slot_names: Range<usize>,
    pub metadata_toc: usize,
    pub metadata: Vec<PlacedMeta>,
}

#[derive(Debug, Clone)]
pub struct PlacedMeta {
    pub entry: usize,
    /// The field with the block's offset.
    pub offset: usize,
    /// The LEB with the block's length.
    pub length: usize,
    pub block: Range<usize>,
}

impl Placed {
    /// Offset of a block's lookup entry: block offset, at 8 the length, at 12 the declared length.
    pub fn lookup_entry(&self, block: usize) -> usize {
        self.lookup + 16 * block
    }
}

impl Forged {
    pub fn set(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// The same file with some bytes overwritten.
    pub fn with(&self, at: usize, bytes: &[u8]) -> Vec<u8> {
        let mut copy = self.clone();
        copy.set(at, bytes);
        copy.bytes
    }
}
