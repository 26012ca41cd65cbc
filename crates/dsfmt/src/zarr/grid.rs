//! Boxes of elements: ranges of elements as boxes, boxes in chunks, and copies between arrays of different shapes.

use std::ops::Range;

/// A box: its first element and its sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) start: Vec<u64>,
    pub(super) sizes: Vec<u64>,
}

/// Product of sizes that are known to be in memory, or to be the number of elements of an array.
fn count(sizes: &[u64]) -> u64 {
    sizes.iter().fold(1, |all: u64, size| all.saturating_mul(*size))
}

impl Block {
    /// Number of elements.
    pub(super) fn len(&self) -> u64 {
        count(&self.sizes)
    }

    /// The boxes of a range of elements of an array, in order: whole rows are one box.
    pub(super) fn of_range(shape: &[u64], elements: Range<u64>) -> Vec<Self> {
        let mut boxes = Vec::new();
        let mut at = elements.start;
        while at < elements.end {
            let start = coordinates(shape, at);
            let left = elements.end - at;
            // The outermost dimension of which whole parts can be taken.
            let (mut inner, mut taken) = (1u64, Self { start: start.clone(), sizes: vec![1; shape.len()] });
            let mut sizes = taken.sizes.clone();
            for dimension in (0..shape.len()).rev() {
                let (first, size) = (at_index(&start, dimension), at_index(shape, dimension));
                let whole = (left / inner.max(1)).min(size - first);
                if whole == 0 {
                    break;
                }
                let mut candidate = sizes.clone();
                put(&mut candidate, dimension, whole);
                taken.sizes = candidate;
                if first != 0 {
                    break; // the rows of this dimension do not begin at its start
                }
                put(&mut sizes, dimension, size);
                inner = inner.saturating_mul(size);
            }
            at = at.saturating_add(taken.len().max(1));
            boxes.push(taken);
        }
        boxes
    }

    /// The indices of the chunks that the box meets, in order.
    pub(super) fn chunks(&self, chunk: &[u64]) -> impl Iterator<Item = Vec<u64>> + use<> {
        let first: Vec<u64> = self.start.iter().zip(chunk).map(|(start, chunk)| start / chunk).collect();
        let end = self.start.iter().zip(&self.sizes).zip(chunk);
        let counts: Vec<u64> =
            end.zip(&first).map(|(((start, size), chunk), first)| (start + size).div_ceil(*chunk) - first).collect();
        (0..count(&counts)).map(move |number| {
            coordinates(&counts, number).iter().zip(&first).map(|(index, first)| index + first).collect()
        })
    }

    /// The part of the box in a chunk.
    pub(super) fn within(&self, index: &[u64], chunk: &[u64]) -> Self {
        let (mut start, mut sizes) = (Vec::with_capacity(index.len()), Vec::with_capacity(index.len()));
        for (((own, size), index), chunk) in self.start.iter().zip(&self.sizes).zip(index).zip(chunk) {
            let (from, to) = (index.saturating_mul(*chunk), index.saturating_add(1).saturating_mul(*chunk));
            let from = from.max(*own);
            start.push(from);
            sizes.push(to.min(own + size).saturating_sub(from));
        }
        Self { start, sizes }
    }

    /// The same box relative to another start.
    pub(super) fn relative_to(&self, origin: &[u64]) -> Self {
        let start = self.start.iter().zip(origin).map(|(start, origin)| start.saturating_sub(*origin)).collect();
        Self { start, sizes: self.sizes.clone() }
    }

    /// Calls `run` with source, target and length of each run of elements, when this box is copied from an array of the shape `source`, where it
    /// begins at `from`, to one of the shape `target`, where it begins at `to`. All are in memory.
    pub(super) fn for_each_run(
        &self,
        (source, from): (&[u64], &[u64]),
        (target, to): (&[u64], &[u64]),
        mut run: impl FnMut(usize, usize, usize),
    ) {
        let rows = self.sizes.split_last().map_or(&[][..], |(_, rows)| rows);
        let length = self.sizes.last().copied().unwrap_or(1);
        let position = |shape: &[u64], start: &[u64], row: &[u64]| {
            let row = row.iter().copied().chain(std::iter::once(0));
            let element = shape.iter().zip(start).zip(row).fold(0u64, |all, ((size, start), index)| {
                all.saturating_mul(*size).saturating_add(start.saturating_add(index))
            });
            usize::try_from(element).unwrap_or(usize::MAX)
        };
        if length == 0 {
            return;
        }
        for number in 0..count(rows) {
            let row = coordinates(rows, number);
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            run(position(source, from, &row), position(target, to, &row), length);
        }
    }
}

/// The coordinates of an element.
pub(super) fn coordinates(shape: &[u64], mut element: u64) -> Vec<u64> {
    let mut all = vec![0; shape.len()];
    for (coordinate, size) in all.iter_mut().zip(shape).rev() {
        *coordinate = element % (*size).max(1);
        element /= (*size).max(1);
    }
    all
}

fn at_index(sizes: &[u64], index: usize) -> u64 {
    sizes.get(index).copied().unwrap_or(0)
}

fn put(sizes: &mut [u64], index: usize, size: u64) {
    if let Some(place) = sizes.get_mut(index) {
        *place = size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn boxes_are_the_elements_of_a_range(shape in prop::collection::vec(1u64..5, 0..4), a in 0u64..200, b in 0u64..200) {
            let all = count(&shape);
            let (a, b) = (a.min(all), b.min(all));
            let range = a.min(b)..a.max(b);
            let mut elements = Vec::new();
            for block in Block::of_range(&shape, range.clone()) {
                block.for_each_run((&shape, &block.start), (&block.sizes, &vec![0; shape.len()]), |from, _, length| {
                    elements.extend(from as u64..(from + length) as u64);
                });
            }
            prop_assert_eq!(elements, range.collect::<Vec<_>>());
        }

        #[test]
        fn chunks_cover_a_box_once(
            sizes in prop::collection::vec((1u64..5, 0u64..4, 1u64..4), 1..4),
        ) {
            let block = Block {
                start: sizes.iter().map(|(_, start, _)| *start).collect(),
                sizes: sizes.iter().map(|(size, _, _)| *size).collect(),
            };
            let chunk: Vec<u64> = sizes.iter().map(|(_, _, chunk)| *chunk).collect();
            let zero = vec![0; sizes.len()];
            let mut seen = vec![0; block.len() as usize];
            for index in block.chunks(&chunk) {
                let part = block.within(&index, &chunk);
                prop_assert!(part.len() > 0);
                let to = part.relative_to(&block.start);
                part.for_each_run((&part.sizes, &zero), (&block.sizes, &to.start), |_, target, length| {
                    seen[target..target + length].iter_mut().for_each(|count| *count += 1);
                });
            }
            prop_assert!(seen.iter().all(|count| *count == 1));
        }
    }

    #[test]
    fn whole_rows_are_one_box() {
        let block = |start: &[u64], sizes: &[u64]| Block { start: start.to_vec(), sizes: sizes.to_vec() };
        assert_eq!(Block::of_range(&[4, 3, 2], 6..18), [block(&[1, 0, 0], &[2, 3, 2])]);
        assert_eq!(Block::of_range(&[4, 3, 2], 7..9), [block(&[1, 0, 1], &[1, 1, 1]), block(&[1, 1, 0], &[1, 1, 1])]);
        assert_eq!(Block::of_range(&[], 0..1), [block(&[], &[])]);
    }
}
