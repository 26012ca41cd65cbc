//! Values: in one piece, or in pieces that a tree finds.

use std::io::Write;

use container_core::{Error, Result};
use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::Out;
use super::heap::Heap;
use super::wire::{self, Bytes, UNDEFINED};
use crate::netcdf::model::product;

/// Children of a node of the tree: twice what the C library takes where nothing else is said.
const CHILDREN: usize = 64;

/// Where values go.
#[derive(Debug)]
pub(super) enum Sink {
    /// All one behind the other, from this byte on.
    Flat { begin: u64, bytes: u64 },
    /// Piece by piece.
    Cut(Cutter),
}

/// What an object's header says of its values.
pub(super) struct Stored {
    pub(super) layout: Vec<u8>,
    pub(super) filters: Option<Vec<u8>>,
}

/// Cuts values into pieces. Each is whole along the last axes, as much as fits along one, and one step along those before it: so its
/// bytes lie together in the values already.
#[derive(Debug)]
pub(super) struct Cutter {
    sizes: Vec<u64>,
    chunk: Vec<u64>,
    width: usize,
    deflate: Option<u8>,
    /// One element that was not written.
    fill: Vec<u8>,
    /// Bytes of one step along the axis that is cut, steps of a piece, steps along the axis and those that are done.
    unit: usize,
    steps: u64,
    axis: u64,
    done: u64,
    buffer: Vec<u8>,
    pieces: Vec<Piece>,
    /// The only piece is told as if it were not one.
    flat: bool,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    bytes: u32,
    address: u64,
}

/// How values are to be kept.
pub(super) struct Manner {
    /// They may grow: only pieces can.
    pub(super) growing: bool,
    pub(super) deflate: Option<u8>,
    /// Nothing may come between values, and what they refer to comes before them.
    pub(super) apart: bool,
    /// Bytes of a piece, about.
    pub(super) piece: u64,
}

impl Sink {
    pub(super) fn new(sizes: &[u64], width: usize, fill: Vec<u8>, manner: &Manner, out: &mut Out) -> Result<Self> {
        let bytes = product(sizes).and_then(|count| count.checked_mul(width as u64));
        let bytes = bytes.filter(|bytes| *bytes < i64::MAX.unsigned_abs());
        let bytes = bytes.ok_or_else(|| Error::usage("its values would have more than 2^63 bytes"))?;
        let deflate = manner.deflate.filter(|_| !sizes.is_empty() && bytes > 0);
        let cut = manner.growing || deflate.is_some() || (manner.apart && bytes > manner.piece);
        if !cut && !manner.apart {
            out.align()?;
            return Ok(Self::Flat { begin: if bytes == 0 { UNDEFINED } else { out.at }, bytes });
        }
        let chunk = chunks(sizes, width as u64, manner.piece);
        let axis = (0..sizes.len()).rev().find(|place| chunk.get(*place) != sizes.get(*place)).unwrap_or(0);
        let steps = chunk.get(axis).copied().unwrap_or(1);
        let unit = product(chunk.get(axis + 1..).unwrap_or_default()).unwrap_or(0).saturating_mul(width as u64);
        Ok(Self::Cut(Cutter {
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
            pieces: Vec::new(),
            flat: !cut,
        }))
    }

    pub(super) fn push(&mut self, bytes: &[u8], heap: &mut Heap, out: &mut Out) -> Result<()> {
        match self {
            Self::Flat { .. } => out.write(bytes),
            Self::Cut(cutter) => cutter.push(bytes, heap, out),
        }
    }

    /// Writes what finds the values.
    pub(super) fn finish(self, out: &mut Out) -> Result<Stored> {
        match self {
            Self::Flat { begin, bytes } => {
                if begin != UNDEFINED && out.at - begin != bytes {
                    return Err(Error::invalid(format!("{} bytes of values were read, not {bytes}", out.at - begin)));
                }
                Ok(Stored { layout: wire::contiguous(begin, bytes), filters: None })
            }
            Self::Cut(cutter) => cutter.finish(out),
        }
    }
}

/// The sizes of a piece: whole along the last axes, as much as fits of the one before them.
fn chunks(sizes: &[u64], width: u64, piece: u64) -> Vec<u64> {
    let mut room = (piece / width).max(1);
    let mut out: Vec<u64> = sizes
        .iter()
        .rev()
        .map(|size| {
            let taken = room.min(*size).max(1);
            room = if taken == *size { (room / taken).max(1) } else { 1 };
            taken
        })
        .collect();
    out.reverse();
    out
}

impl Cutter {
    fn push(&mut self, mut bytes: &[u8], heap: &mut Heap, out: &mut Out) -> Result<()> {
        while !bytes.is_empty() {
            let steps = self.steps.min(self.axis - self.done);
            let wanted = usize::try_from(steps).unwrap_or(usize::MAX).saturating_mul(self.unit);
            let (head, tail) = bytes.split_at(bytes.len().min(wanted.saturating_sub(self.buffer.len())));
            self.buffer.extend_from_slice(head);
            bytes = tail;
            if self.buffer.len() >= wanted {
                self.emit(heap, out)?;
                self.done = if self.done + steps == self.axis { 0 } else { self.done + steps };
            }
        }
        Ok(())
    }

    fn emit(&mut self, heap: &mut Heap, out: &mut Out) -> Result<()> {
        heap.flush(out)?;
        // A piece at the edge is as large as the others.
        let whole = usize::try_from(self.steps).unwrap_or(usize::MAX).saturating_mul(self.unit);
        while !self.flat && self.buffer.len() < whole {
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
        let bytes = u32::try_from(bytes.len()).map_err(|_| Error::usage("a piece of its values exceeds 4 GiB"))?;
        self.pieces.push(Piece { bytes, address });
        self.buffer.clear();
        Ok(())
    }

    fn finish(self, out: &mut Out) -> Result<Stored> {
        let grid: Vec<u64> = self.sizes.iter().zip(&self.chunk).map(|(size, step)| size.div_ceil(*step)).collect();
        let count = product(&grid).unwrap_or(u64::MAX);
        if !self.buffer.is_empty() || self.pieces.len() as u64 != count {
            return Err(Error::invalid(format!("{} pieces of values were read, not {count}", self.pieces.len())));
        }
        if self.flat {
            let only = self.pieces.first().map_or((UNDEFINED, 0), |piece| (piece.address, piece.bytes.into()));
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

    /// Writes the tree (version 1): leaves, then what is above them, the root last. Gives the root's address.
    fn tree(&self, grid: &[u64], out: &mut Out) -> Result<u64> {
        let mut children: Vec<(usize, u64)> =
            self.pieces.iter().enumerate().map(|(index, piece)| (index, piece.address)).collect();
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
                let next = children.get((index + 1) * CHILDREN).map_or(self.pieces.len(), |(first, _)| *first);
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

    /// What finds a piece: its bytes, and where it begins along each axis, in elements. One past the last lies behind all.
    fn key(&self, index: usize, grid: &[u64], out: &mut Bytes) {
        let bytes = self.pieces.get(index).map_or(0, |piece| piece.bytes);
        out.u32(bytes).u32(0);
        let mut offsets = Vec::with_capacity(grid.len());
        let mut rest = index as u64;
        for (place, (count, step)) in grid.iter().zip(&self.chunk).enumerate().rev() {
            let at = if place == 0 { rest } else { rest % count };
            rest /= (*count).max(1);
            offsets.push(at * step);
        }
        offsets.iter().rev().for_each(|offset| {
            out.u64(*offset);
        });
        out.u64(0);
    }
}

/// The first bytes of all elements, then the second ones, and so on; deflated.
fn deflated(bytes: &[u8], width: usize, level: u8) -> Result<Vec<u8>> {
    let mut shuffled = Vec::with_capacity(bytes.len());
    for place in 0..width {
        shuffled.extend(bytes.iter().skip(place).step_by(width));
    }
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(level.into()));
    encoder.write_all(&shuffled).and_then(|()| encoder.finish()).map_err(|cause| Error::io("cannot deflate", cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_lie_together() {
        let of = |sizes: &[u64], width| chunks(sizes, width, 1 << 20);
        assert_eq!(of(&[300, 1000], 4), [262, 1000]);
        assert_eq!(of(&[7, 1 << 20, 3], 8), [1, 43690, 3]);
        assert_eq!(of(&[5, 7, 1 << 21], 1), [1, 1, 1 << 20]);
        assert_eq!(of(&[0, 4], 2), [1, 4]);
    }
}
