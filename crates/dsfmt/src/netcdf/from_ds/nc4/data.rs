//! Writes values: contiguous, or in chunks indexed by a B-tree.

use std::io::Write;

use container_core::{Error, Result};
use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::Out;
use super::heap::Heap;
use super::wire::{self, Bytes, UNDEFINED};
use crate::netcdf::model::product;

/// Children per B-tree node: twice the C library's default.
const CHILDREN: usize = 64;

/// Storage of a variable's values.
#[derive(Debug)]
pub(super) enum Sink {
    /// Contiguous from an offset.
    Contiguous { begin: u64, bytes: u64 },
    /// In chunks.
    Chunked(ChunkWriter),
}

/// Header messages that describe stored values.
pub(super) struct Stored {
    pub(super) layout: Vec<u8>,
    pub(super) filters: Option<Vec<u8>>,
}

/// Splits values into chunks. Each spans the last axes, part of one axis, and a single step of those before it: so its bytes are contiguous in the
/// values.
#[derive(Debug)]
pub(super) struct ChunkWriter {
    sizes: Vec<u64>,
    chunk: Vec<u64>,
    width: usize,
    deflate: Option<u8>,
    /// The fill value of one element.
    fill: Vec<u8>,
    /// Along the axis that is split: bytes per step, steps per chunk, number of steps, and steps done.
    unit: usize,
    steps: u64,
    axis: u64,
    done: u64,
    buffer: Vec<u8>,
    chunks: Vec<Chunk>,
    /// Describe the only chunk as contiguous values.
    contiguous: bool,
}

#[derive(Debug, Clone, Copy)]
struct Chunk {
    bytes: u32,
    address: u64,
}

/// How values are stored.
pub(super) struct StorageOptions {
    /// The variable may grow, which requires chunks.
    pub(super) growing: bool,
    pub(super) deflate: Option<u8>,
    /// Values refer to heap objects, which are written between chunks.
    pub(super) has_references: bool,
    /// Approximate bytes per chunk.
    pub(super) chunk_bytes: u64,
}

impl Sink {
    pub(super) fn new(
        sizes: &[u64],
        width: usize,
        fill: Vec<u8>,
        options: &StorageOptions,
        out: &mut Out,
    ) -> Result<Self> {
        let bytes = product(sizes).and_then(|count| count.checked_mul(width as u64));
        let bytes = bytes.filter(|bytes| *bytes < i64::MAX.unsigned_abs());
        let bytes = bytes.ok_or_else(|| Error::usage("its values exceed 2^63 bytes"))?;
        let deflate = options.deflate.filter(|_| !sizes.is_empty() && bytes > 0);
        let chunked = options.growing || deflate.is_some() || (options.has_references && bytes > options.chunk_bytes);
        if !chunked && !options.has_references {
            out.align()?;
            return Ok(Self::Contiguous { begin: if bytes == 0 { UNDEFINED } else { out.at }, bytes });
        }
        let chunk = chunk_sizes(sizes, width as u64, options.chunk_bytes);
        let axis = (0..sizes.len()).rev().find(|axis| chunk.get(*axis) != sizes.get(*axis)).unwrap_or(0);
        let steps = chunk.get(axis).copied().unwrap_or(1);
        let unit = product(chunk.get(axis + 1..).unwrap_or_default()).unwrap_or(0).saturating_mul(width as u64);
        Ok(Self::Chunked(ChunkWriter {
            axis: sizes.get(axis).copied().unwrap_or(1),
            sizes: sizes.to_vec(),
            chunk,
            width,
            deflate,
            fill,
            unit: usize::try_from(unit).unwrap_or(usize::MAX),
            steps,
            done: 0,
            buffer: Vec::new(),
            chunks: Vec::new(),
            contiguous: !chunked,
        }))
    }

    pub(super) fn push(&mut self, bytes: &[u8], heap: &mut Heap, out: &mut Out) -> Result<()> {
        match self {
            Self::Contiguous { .. } => out.write(bytes),
            Self::Chunked(writer) => writer.push(bytes, heap, out),
        }
    }

    /// Writes the chunk index.
    pub(super) fn finish(self, out: &mut Out) -> Result<Stored> {
        match self {
            Self::Contiguous { begin, bytes } => {
                if begin != UNDEFINED && out.at - begin != bytes {
                    return Err(Error::invalid(format!("expected {bytes} bytes of values, found {}", out.at - begin)));
                }
                Ok(Stored { layout: wire::contiguous(begin, bytes), filters: None })
            }
            Self::Chunked(writer) => writer.finish(out),
        }
    }
}

/// Chunk sizes: whole along the last axes, as much as fits along the one before them.
fn chunk_sizes(sizes: &[u64], width: u64, chunk_bytes: u64) -> Vec<u64> {
    let mut elements = (chunk_bytes / width).max(1);
    let mut out: Vec<u64> = sizes
        .iter()
        .rev()
        .map(|size| {
            let size_in_chunk = elements.min(*size).max(1);
            elements = if size_in_chunk == *size { (elements / size_in_chunk).max(1) } else { 1 };
            size_in_chunk
        })
        .collect();
    out.reverse();
    out
}

impl ChunkWriter {
    fn push(&mut self, mut bytes: &[u8], heap: &mut Heap, out: &mut Out) -> Result<()> {
        while !bytes.is_empty() {
            let steps = self.steps.min(self.axis - self.done);
            let len = usize::try_from(steps).unwrap_or(usize::MAX).saturating_mul(self.unit);
            let (head, tail) = bytes.split_at(bytes.len().min(len.saturating_sub(self.buffer.len())));
            self.buffer.extend_from_slice(head);
            bytes = tail;
            if self.buffer.len() >= len {
                self.emit(heap, out)?;
                self.done = if self.done + steps == self.axis { 0 } else { self.done + steps };
            }
        }
        Ok(())
    }

    fn emit(&mut self, heap: &mut Heap, out: &mut Out) -> Result<()> {
        heap.flush(out)?;
        // Chunks at the edge have full size.
        let whole = usize::try_from(self.steps).unwrap_or(usize::MAX).saturating_mul(self.unit);
        while !self.contiguous && self.buffer.len() < whole {
            match self.fill.as_slice() {
                [] => self.buffer.resize(whole, 0),
                fill => self.buffer.extend_from_slice(fill),
            }
        }
        out.align()?;
        let address = out.at;
        let packed;
        let bytes = match self.deflate {
            Some(level) => {
                packed = deflated(&self.buffer, self.width, level)?;
                &packed
            }
            None => &self.buffer,
        };
        out.write(bytes)?;
        let bytes = u32::try_from(bytes.len()).map_err(|_| Error::usage("a chunk of its values exceeds 4 GiB"))?;
        self.chunks.push(Chunk { bytes, address });
        self.buffer.clear();
        Ok(())
    }

    fn finish(self, out: &mut Out) -> Result<Stored> {
        let grid: Vec<u64> = self.sizes.iter().zip(&self.chunk).map(|(size, step)| size.div_ceil(*step)).collect();
        let count = product(&grid).unwrap_or(u64::MAX);
        if !self.buffer.is_empty() || self.chunks.len() as u64 != count {
            return Err(Error::invalid(format!("expected {count} chunks of values, found {}", self.chunks.len())));
        }
        if self.contiguous {
            let only = self.chunks.first().map_or((UNDEFINED, 0), |chunk| (chunk.address, chunk.bytes.into()));
            return Ok(Stored { layout: wire::contiguous(only.0, only.1), filters: None });
        }
        let tree = self.tree(&grid, out)?;
        let width = u32::try_from(self.width).unwrap_or(u32::MAX);
        let sizes: Vec<u32> = self.chunk.iter().map(|size| u32::try_from(*size).unwrap_or(u32::MAX)).collect();
        Ok(Stored {
            layout: wire::chunked(tree, &sizes, width),
            filters: self.deflate.map(|level| wire::filters(width, level)),
        })
    }

    /// Writes the B-tree (version 1) from the leaves up, the root last. Returns the root's address.
    fn tree(&self, grid: &[u64], out: &mut Out) -> Result<u64> {
        let mut children: Vec<(usize, u64)> =
            self.chunks.iter().enumerate().map(|(index, chunk)| (index, chunk.address)).collect();
        let mut level = 0u8;
        while children.len() > 1 || (level == 0 && !children.is_empty()) {
            out.align()?;
            let base = out.at;
            let node = 24 + CHILDREN * 8 + (CHILDREN + 1) * (16 + grid.len() * 8);
            let address = |index: usize| base + (index * node) as u64;
            let count = children.len().div_ceil(CHILDREN);
            let mut above = Vec::with_capacity(count);
            for (index, all) in children.chunks(CHILDREN).enumerate() {
                let mut bytes = Bytes::default();
                bytes.raw(b"TREE").u8(1).u8(level).u16(u16::try_from(all.len()).unwrap_or(0));
                bytes.u64(index.checked_sub(1).map_or(UNDEFINED, address));
                bytes.u64(if index + 1 < count { address(index + 1) } else { UNDEFINED });
                for (first, child) in all {
                    self.key(*first, grid, &mut bytes);
                    bytes.u64(*child);
                }
                let next = children.get((index + 1) * CHILDREN).map_or(self.chunks.len(), |(first, _)| *first);
                self.key(next, grid, &mut bytes);
                bytes.0.resize(node, 0);
                above.push((all.first().map_or(0, |(first, _)| *first), address(index)));
                out.write(&bytes.0)?;
            }
            children = above;
            level += 1;
        }
        Ok(children.first().map_or(UNDEFINED, |(_, address)| *address))
    }

    /// The key of a chunk: its bytes, and its offsets along each axis in elements. The key past the last chunk lies beyond all.
    fn key(&self, index: usize, grid: &[u64], out: &mut Bytes) {
        let bytes = self.chunks.get(index).map_or(0, |chunk| chunk.bytes);
        out.u32(bytes).u32(0);
        let mut offsets = Vec::with_capacity(grid.len());
        let mut rest = index as u64;
        for (axis, (count, step)) in grid.iter().zip(&self.chunk).enumerate().rev() {
            let at = if axis == 0 { rest } else { rest % count };
            rest /= (*count).max(1);
            offsets.push(at * step);
        }
        offsets.iter().rev().for_each(|offset| {
            out.u64(*offset);
        });
        out.u64(0);
    }
}

/// Shuffles bytes (all first bytes of elements, then all second bytes, and so on), then deflates.
fn deflated(bytes: &[u8], width: usize, level: u8) -> Result<Vec<u8>> {
    let mut shuffled = Vec::with_capacity(bytes.len());
    for byte in 0..width {
        shuffled.extend(bytes.iter().skip(byte).step_by(width));
    }
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(level.into()));
    encoder.write_all(&shuffled).and_then(|()| encoder.finish()).map_err(|cause| Error::io("cannot deflate", cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_contiguous() {
        let of = |sizes: &[u64], width| chunk_sizes(sizes, width, 1 << 20);
        assert_eq!(of(&[300, 1000], 4), [262, 1000]);
        assert_eq!(of(&[7, 1 << 20, 3], 8), [1, 43690, 3]);
        assert_eq!(of(&[5, 7, 1 << 21], 1), [1, 1, 1 << 20]);
        assert_eq!(of(&[0, 4], 2), [1, 4]);
    }
}
