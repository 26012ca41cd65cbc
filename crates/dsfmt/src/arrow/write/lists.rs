//! List levels: the dimensions after that of the rows.
//!
//! List lengths are run-length encoded. Missing elements are not stored, so only the mask depends on the final sizes; it is built at the end.

use arrow_array::cast::AsArray;
use arrow_array::{Array as _, ArrayRef, BooleanArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType as ArrowType;
use arrow_select::filter::filter;
use container_arrow::from_arrow;
use container_core::{Error, Result};

use super::Ragged;
use crate::write::bits::Packer;
use crate::write::put::Put;
use crate::write::spool::Spool;
use crate::write::spool::reader::SectionReader;

/// Represents a null list in the encoded lengths.
const NULL_LIST: u64 = u64::MAX;

/// Mask bits per write.
const CHUNK: usize = 64 << 10;

/// The lists of one nesting level.
#[derive(Debug)]
pub(super) struct Level {
    /// Shape of a list, if its type defines one.
    pub(super) shape: Option<Vec<u64>>,
    /// Names of its dimensions, if known.
    pub(super) names: Option<Vec<String>>,
    /// Length and row of the first list.
    first: Option<(u64, u64)>,
    max_len: u64,
    min_len: u64,
    pub(super) nulls: u64,
    /// The current run, and the section with the previous ones.
    run: (u64, u64),
    runs: usize,
}

/// Maps the items of a batch to their lists.
pub(super) struct Parents {
    nulls: Option<NullBuffer>,
    ends: Ends,
}

enum Ends {
    Fixed(usize),
    Offsets(Vec<usize>),
}

impl Level {
    pub(super) fn new(shape: Option<Vec<u64>>, names: Option<Vec<String>>, spool: &mut Spool) -> Self {
        let runs = spool.section();
        Self { shape, names, first: None, max_len: 0, min_len: u64::MAX, nulls: 0, run: (0, 0), runs }
    }

    /// Elements per list; `None` when no list was seen and the type does not define it.
    pub(super) fn size(&self) -> Option<u64> {
        match &self.shape {
            Some(shape) => Some(shape.iter().product()),
            None => self.first.map(|_| self.max_len),
        }
    }

    /// True when no list is null and all have the same length.
    fn is_regular(&self) -> bool {
        self.nulls == 0 && (self.first.is_none() || self.min_len == self.max_len)
    }

    fn push(&mut self, len: u64, count: u64, spool: &mut Spool) -> Result<()> {
        if self.run.0 == len || self.run.1 == 0 {
            self.run = (len, self.run.1 + count);
            return Ok(());
        }
        let (len_before, count_before) = std::mem::replace(&mut self.run, (len, count));
        let mut tail = spool.tail(self.runs);
        tail.put(&len_before.to_le_bytes())?;
        tail.put(&count_before.to_le_bytes())
    }

    /// Appends the lists of a batch; returns the concatenated items of those that are not null.
    ///
    /// # Errors
    /// A list of another length, with its row by `row_of`.
    pub(super) fn take(
        &mut self,
        lists: &ArrayRef,
        nulls: Option<NullBuffer>,
        ragged: Ragged,
        row_of: impl Fn(&Parents, usize) -> u64,
        spool: &mut Spool,
    ) -> Result<(ArrayRef, Parents)> {
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        let valid = dense(lists, nulls.as_ref())?;
        self.nulls += nulls.as_ref().map_or(0, |nulls| nulls.null_count() as u64);
        let (items, ends) = match valid.data_type() {
            ArrowType::FixedSizeList(_, size) => {
                let size = usize::try_from(*size).unwrap_or(0);
                (valid.as_fixed_size_list().values().slice(0, valid.len() * size), Ends::Fixed(size))
            }
            ArrowType::LargeList(_) => {
                let lists = valid.as_list::<i64>();
                offsets(lists.values(), lists.value_offsets().iter().map(|end| usize::try_from(*end).unwrap_or(0)))
            }
            _ => {
                let lists = valid.as_list::<i32>();
                offsets(lists.values(), lists.value_offsets().iter().map(|end| usize::try_from(*end).unwrap_or(0)))
            }
        };
        let parents = Parents { nulls, ends };
        let mut next = 0;
        let mut index = 0;
        // Null lists are counted before each valid one.
        let gaps = parents.nulls.as_ref().map(|nulls| nulls.valid_indices());
        let mut gaps = gaps.into_iter().flatten();
        match &parents.ends {
            Ends::Fixed(size) if parents.nulls.is_none() => {
                self.check_len(*size as u64, ragged, || row_of(&parents, 0))?;
                self.push(*size as u64, valid.len() as u64, spool)?;
            }
            ends => {
                for len in ends.lengths(valid.len()) {
                    if parents.nulls.is_some() {
                        let position = gaps.next().unwrap_or(next);
                        if position > next {
                            self.push(NULL_LIST, (position - next) as u64, spool)?;
                        }
                        next = position + 1;
                    }
                    self.check_len(len as u64, ragged, || row_of(&parents, index))?;
                    self.push(len as u64, 1, spool)?;
                    index += 1;
                }
                if lists.len() > next && parents.nulls.is_some() {
                    self.push(NULL_LIST, (lists.len() - next) as u64, spool)?;
                }
            }
        }
        drop(gaps);
        Ok((items, parents))
    }

    fn check_len(&mut self, len: u64, ragged: Ragged, row: impl Fn() -> u64) -> Result<()> {
        match self.first {
            _ if self.shape.is_some() => {}
            None => self.first = Some((len, row())),
            Some((expected, first)) if expected != len && ragged == Ragged::Refuse => {
                let detail = format!(
                    "expected a list of {expected} items as in row {first}, found {len}: a variable has one size"
                );
                let advice = "{ragged} pad adds missing elements";
                return Err(Error::invalid(detail).advising(advice).in_row(row()));
            }
            Some(_) => {}
        }
        (self.max_len, self.min_len) = (self.max_len.max(len), self.min_len.min(len));
        Ok(())
    }

    /// The run-length encoded lengths, in order.
    fn runs<'s>(&self, spool: &'s Spool) -> Result<Runs<'s>> {
        Ok(Runs { reader: spool.reader(self.runs)?, last: Some(self.run), run: (0, 0) })
    }

    /// Number of lists shorter than the longest.
    pub(super) fn short_lists(&self, spool: &Spool) -> Result<u64> {
        if self.min_len >= self.max_len {
            return Ok(0);
        }
        let (mut runs, mut all) = (self.runs(spool)?, 0u64);
        while let Some((len, count)) = runs.next_run()? {
            if len < self.max_len {
                all += count;
            }
        }
        Ok(all)
    }
}

impl Ends {
    fn lengths(&self, count: usize) -> impl Iterator<Item = usize> + '_ {
        (0..count).map(move |index| match self {
            Self::Fixed(size) => *size,
            Self::Offsets(ends) => {
                let at = |index: usize| ends.get(index).copied().unwrap_or(0);
                at(index + 1).saturating_sub(at(index))
            }
        })
    }
}

impl Parents {
    /// Index of an item's list among all lists.
    pub(super) fn parent(&self, item: usize) -> usize {
        let valid = match &self.ends {
            Ends::Fixed(size) => item / (*size).max(1),
            Ends::Offsets(ends) => ends.partition_point(|end| *end <= item).saturating_sub(1),
        };
        self.list(valid)
    }

    /// Index of a valid list among all lists.
    pub(super) fn list(&self, valid: usize) -> usize {
        nth_valid(self.nulls.as_ref(), valid)
    }
}

/// Index of the `n`th valid value among all values.
pub(super) fn nth_valid(nulls: Option<&NullBuffer>, n: usize) -> usize {
    nulls.map_or(n, |nulls| nulls.valid_indices().nth(n).unwrap_or(n))
}

/// The items between the first and last offset, with offsets relative to the first.
fn offsets(values: &ArrayRef, offsets: impl Iterator<Item = usize>) -> (ArrayRef, Ends) {
    let mut ends: Vec<usize> = offsets.collect();
    let (first, last) = (ends.first().copied().unwrap_or(0), ends.last().copied().unwrap_or(0));
    ends.iter_mut().for_each(|end| *end -= first);
    (values.slice(first, last - first), Ends::Offsets(ends))
}

/// The values that are not null.
pub(super) fn dense(array: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
    match nulls.filter(|nulls| nulls.null_count() > 0) {
        None => Ok(array.clone()),
        Some(nulls) => filter(array, &BooleanArray::new(nulls.inner().clone(), None)).map_err(from_arrow),
    }
}

/// Decodes runs of list lengths.
struct Runs<'s> {
    reader: SectionReader<'s>,
    last: Option<(u64, u64)>,
    run: (u64, u64),
}

impl Runs<'_> {
    fn next_run(&mut self) -> Result<Option<(u64, u64)>> {
        match (self.reader.number()?, self.reader.number()?) {
            (Some(len), Some(count)) => Ok(Some((len, count))),
            _ => Ok(self.last.take()),
        }
    }

    /// Length of the next list.
    fn next(&mut self) -> Result<u64> {
        while self.run.1 == 0 {
            self.run = self.next_run()?.ok_or_else(|| Error::truncated("temporary file", 16, 0))?;
        }
        self.run.1 -= 1;
        Ok(self.run.0)
    }
}

/// True when the mask needs no padding.
pub(super) fn is_regular(levels: &[Level]) -> bool {
    levels.iter().all(Level::is_regular)
}

/// Writes the mask of irregular lists, row by row.
pub(super) struct MaskWriter<'s> {
    runs: Vec<Runs<'s>>,
    /// Elements per list, by level.
    sizes: Vec<u64>,
    /// Elements per item of a list, by level.
    items: Vec<u64>,
    /// Mask of the received items; `None` when all are equal.
    bits: Option<SectionReader<'s>>,
    /// Then whether all are null.
    all_null: bool,
    byte: (u8, u32),
    out: Vec<bool>,
    packer: Packer,
}

impl<'s> MaskWriter<'s> {
    /// `bits` is the section with the mask of the innermost items; without it all of them are null, or none, by `all_null`.
    pub(super) fn new(levels: &[Level], bits: Option<usize>, all_null: bool, spool: &'s Spool) -> Result<Self> {
        let sizes: Vec<u64> = levels.iter().map(|level| level.size().unwrap_or(0)).collect();
        let mut items = vec![1u64; sizes.len()];
        for index in (1..sizes.len()).rev() {
            let inner = items.get(index).zip(sizes.get(index)).map_or(0, |(item, size)| item.saturating_mul(*size));
            if let Some(item) = items.get_mut(index - 1) {
                *item = inner;
            }
        }
        let runs = levels.iter().map(|level| level.runs(spool)).collect::<Result<_>>()?;
        let bits = bits.map(|section| spool.reader(section)).transpose()?;
        Ok(Self { runs, sizes, items, bits, all_null, byte: (0, 0), out: Vec::new(), packer: Packer::default() })
    }

    /// Writes the mask of `rows` rows.
    pub(super) fn put(mut self, rows: u64, out: &mut dyn Put) -> Result<()> {
        for _ in 0..rows {
            self.list(0, out)?;
        }
        self.packer.bools(&self.out, out)?;
        self.packer.end(out)
    }

    fn list(&mut self, depth: usize, out: &mut dyn Put) -> Result<()> {
        let (size, item) = (self.sizes.get(depth).copied().unwrap_or(0), self.items.get(depth).copied().unwrap_or(1));
        // Without list levels a row is a single item.
        let Some(runs) = self.runs.get_mut(depth) else { return self.push(self.all_null, out) };
        let len = match runs.next()? {
            NULL_LIST => 0,
            len => len,
        };
        let deepest = depth + 1 == self.sizes.len();
        for _ in 0..len {
            if deepest {
                let bit = self.bit()?;
                self.push(bit, out)?;
            } else {
                self.list(depth + 1, out)?;
            }
        }
        for _ in 0..size.saturating_sub(len).saturating_mul(item) {
            self.push(true, out)?;
        }
        Ok(())
    }

    fn bit(&mut self) -> Result<bool> {
        let Some(bits) = &mut self.bits else { return Ok(self.all_null) };
        if self.byte.1 == 0 {
            self.byte = (bits.byte()?.unwrap_or(0), 8);
        }
        let bit = self.byte.0 & 0x80 != 0;
        self.byte = (self.byte.0 << 1, self.byte.1 - 1);
        Ok(bit)
    }

    fn push(&mut self, bit: bool, out: &mut dyn Put) -> Result<()> {
        self.out.push(bit);
        if self.out.len() >= CHUNK {
            self.packer.bools(&self.out, out)?;
            self.out.clear();
        }
        Ok(())
    }
}
