//! Fractal heaps, which hold attributes and links of objects with many of them.
//!
//! `hdf5-reader` supports them too, but fails for heaps of more than 512 KiB, which have nested indirect blocks.

use std::collections::HashMap;

use byteorder::{ByteOrder, LittleEndian};
use hdf5_reader::btree_v2::BTreeV2Header;
use hdf5_reader::checksum::jenkins_lookup3;
use hdf5_reader::fractal_heap::FractalHeap;
use hdf5_reader::io::Cursor;
use hdf5_reader::{Storage, StorageBuffer};

use super::header::Sizes;

/// Maximum nesting of indirect blocks, and of their rows.
const MAX_DEPTH: usize = 64;
const MAX_ROWS: u16 = 64;

/// Bytes of cached blocks, not counting the last one.
const MAX_CACHED: u64 = 16 << 20;

/// B-tree record type of uncompressed huge objects.
const HUGE_RECORDS: u8 = 1;

pub(super) struct Heap<'a> {
    storage: &'a dyn Storage,
    sizes: Sizes,
    heap: FractalHeap,
    /// Verified blocks; `None` for invalid ones.
    blocks: HashMap<u64, Option<StorageBuffer>>,
    cached: u64,
}

impl<'a> Heap<'a> {
    /// `None` when the heap is malformed.
    pub(super) fn read(storage: &'a dyn Storage, sizes: Sizes, address: u64) -> Option<Self> {
        let heap = FractalHeap::parse_at_storage(storage, address, sizes.offset, sizes.length).ok()?;
        Some(Self { storage, sizes, heap, blocks: HashMap::new(), cached: 0 })
    }

    /// True when objects are compressed.
    pub(super) fn is_compressed(&self) -> bool {
        self.heap.io_filters_len > 0
    }

    /// True when the library can read it.
    pub(super) fn is_flat(&self) -> bool {
        self.heap.current_rows_in_root_indirect <= self.direct_rows()
    }

    /// The object of an id; `None` when it cannot be read.
    pub(super) fn object(&mut self, id: &[u8]) -> Option<Vec<u8>> {
        match id.first()? >> 4 {
            0 => self.managed(id),
            1 => {
                let index = self.heap.btree_huge_objects_address;
                let direct = 1 + usize::from(self.sizes.offset) + usize::from(self.sizes.length);
                if id.len() < direct {
                    let Sizes { offset, length } = self.sizes;
                    let header = BTreeV2Header::parse_at_storage(self.storage, index, offset, length).ok()?;
                    (header.btree_type == HUGE_RECORDS).then_some(())?;
                }
                self.heap.get_object_storage(id, self.storage, self.sizes.offset, self.sizes.length).ok()
            }
            2 => self.heap.get_object_storage(id, self.storage, self.sizes.offset, self.sizes.length).ok(),
            _ => None,
        }
    }

    fn managed(&mut self, id: &[u8]) -> Option<Vec<u8>> {
        let mut fields = Cursor::new(id.get(1..)?);
        let offset = fields.read_uvar(self.offset_len().max(1)).ok()?;
        let longest = self.heap.max_direct_block_size.min(self.heap.max_managed_object_size);
        let len = fields.read_uvar(usize::try_from(longest.max(1).ilog2() / 8 + 1).ok()?).ok()?;
        if len == 0 {
            return Some(Vec::new());
        }
        let (address, block_len, inner) = self.locate(offset)?;
        let block = self.block(address, block_len)?;
        let start = usize::try_from(inner).ok()?;
        Some(block.get(start..start.checked_add(usize::try_from(len).ok()?)?)?.to_vec())
    }

    /// Locates an offset: address and length of its block, and offset in the block.
    fn locate(&self, offset: u64) -> Option<(u64, u64, u64)> {
        let width = u64::from(self.heap.table_width);
        let (mut address, mut rows, mut inner) =
            (self.heap.root_block_address, self.heap.current_rows_in_root_indirect, offset);
        if rows == 0 {
            return Some((address, self.heap.starting_block_size, inner));
        }
        let direct = u64::from(self.direct_rows()) * width;
        let entry_len = u64::from(self.sizes.offset);
        for _ in 0..MAX_DEPTH {
            if rows > MAX_ROWS || &*self.storage.read_range(address, 4).ok()? != b"FHIB" {
                return None;
            }
            let mut position = None;
            for row in 0..rows {
                let size = self.block_len(row)?;
                let row_len = size.checked_mul(width)?;
                if inner < row_len {
                    position = Some((u64::from(row) * width + inner.checked_div(size)?, size));
                    inner %= size;
                    break;
                }
                inner -= row_len;
            }
            let (entry, size) = position?;
            // Entries are addresses: direct blocks first, then indirect ones.
            let at = 5 + entry_len + self.offset_len() as u64 + entry * entry_len;
            let bytes = self.storage.read_range(address.checked_add(at)?, usize::from(self.sizes.offset)).ok()?;
            address = Cursor::new(&bytes).read_offset(self.sizes.offset).ok()?;
            if Cursor::is_undefined_offset(address, self.sizes.offset) {
                return None;
            }
            if entry < direct {
                return Some((address, size, inner));
            }
            rows = self.row_count(size)?;
        }
        None
    }

    fn offset_len(&self) -> usize {
        usize::from(self.heap.max_heap_size).div_ceil(8)
    }

    /// Length of the blocks in a row; `None` beyond 2^64.
    fn block_len(&self, row: u16) -> Option<u64> {
        let factor = 1u64.checked_shl(u32::from(row.saturating_sub(1)))?;
        self.heap.starting_block_size.checked_mul(factor)
    }

    /// Number of rows of direct blocks; later rows are indirect.
    fn direct_rows(&self) -> u16 {
        let is_direct = |row: &u16| self.block_len(*row).is_some_and(|len| len <= self.heap.max_direct_block_size);
        (0..MAX_ROWS).take_while(is_direct).count().try_into().unwrap_or(MAX_ROWS)
    }

    /// Number of rows of an indirect block that spans `span` bytes.
    fn row_count(&self, span: u64) -> Option<u16> {
        let (mut rows, mut all) = (0, 0u64);
        while rows < MAX_ROWS {
            all = all.checked_add(self.block_len(rows)?.checked_mul(self.heap.table_width.into())?)?;
            if all > span {
                break;
            }
            rows += 1;
        }
        Some(rows)
    }

    fn block(&mut self, address: u64, len: u64) -> Option<StorageBuffer> {
        if let Some(known) = self.blocks.get(&address) {
            return known.clone();
        }
        let block = self.verified(address, len);
        self.cached = self.cached.saturating_add(len);
        if self.cached > MAX_CACHED {
            self.blocks.clear();
            self.cached = len;
        }
        self.blocks.insert(address, block.clone());
        block
    }

    fn verified(&self, address: u64, len: u64) -> Option<StorageBuffer> {
        const CHECKSUMS: u8 = 0b10;
        let block = self.storage.read_range(address, usize::try_from(len).ok()?).ok()?;
        (block.get(..5)? == b"FHDB\0").then_some(())?;
        if self.heap.flags & CHECKSUMS != 0 {
            let at = 5 + usize::from(self.sizes.offset) + self.offset_len();
            let mut bytes = block.to_vec();
            let field = bytes.get_mut(at..at + 4)?;
            let stored = LittleEndian::read_u32(field);
            field.fill(0);
            (jenkins_lookup3(&bytes) == stored).then_some(())?;
        }
        Some(block)
    }
}
