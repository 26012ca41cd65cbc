//! Lists in lists: the dimensions behind that of the rows.
//!
//! Of each list its length is kept, runs of the same as one. Elements that are missing are not stored, so the mask alone depends on how long
//! the lists turn out to be: it is made at the end.

use arrow_array::cast::AsArray;
use arrow_array::{Array as _, ArrayRef, BooleanArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType as ArrowType;
use arrow_select::filter::filter;
use container_arrow::from_arrow;
use container_core::{Error, Result};

use super::Ragged;
use super::spool::{SectionReader, Spool};
use crate::write::bits::Packer;
use crate::write::put::Put;

/// What stands for the length of a list that is null.
const NULL: u64 = u64::MAX;

/// Bits of a mask that are gathered before they are put.
const CHUNK: usize = 64 << 10;

/// The lists of one depth.
#[derive(Debug)]
pub(super) struct Level {
    /// The sizes that a list stands for, where its type says that.
    pub(super) shape: Option<Vec<u64>>,
    /// The names of its dimensions, where they are known.
    pub(super) names: Option<Vec<String>>,
    /// The length of the first list and its row.
    first: Option<(u64, u64)>,
    most: u64,
    fewest: u64,
    pub(super) nulls: u64,
    /// The run that goes on, and those before it.
    run: (u64, u64),
    runs: usize,
}

/// Lists of a batch: which were null, and where the others end.
pub(super) struct Trail {
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
        Self { shape, names, first: None, most: 0, fewest: u64::MAX, nulls: 0, run: (0, 0), runs }
    }

    /// Elements of a list; `None` where there was none and the type does not say.
    pub(super) fn size(&self) -> Option<u64> {
        match &self.shape {
            Some(shape) => Some(shape.iter().product()),
            None => self.first.map(|_| self.most),
        }
    }

    /// All lists were there, and as long as each other.
    fn is_even(&self) -> bool {
        self.nulls == 0 && (self.first.is_none() || self.fewest == self.most)
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

    /// Takes the lists of a batch; returns the items of those that are not null, one behind the other.
    ///
    /// # Errors
    /// A list of another length, with its number among the lists of the batch that are not null; the caller knows its row.
    pub(super) fn take(
        &mut self,
        lists: &ArrayRef,
        nulls: Option<NullBuffer>,
        ragged: Ragged,
        row_of: impl Fn(&Trail, usize) -> u64,
        spool: &mut Spool,
    ) -> Result<(ArrayRef, Trail)> {
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        let there = dense(lists, nulls.as_ref())?;
        self.nulls += nulls.as_ref().map_or(0, |nulls| nulls.null_count() as u64);
        let (items, ends) = match there.data_type() {
            ArrowType::FixedSizeList(_, size) => {
                let size = usize::try_from(*size).unwrap_or(0);
                (there.as_fixed_size_list().values().slice(0, there.len() * size), Ends::Fixed(size))
            }
            ArrowType::LargeList(_) => {
                let lists = there.as_list::<i64>();
                offsets(lists.values(), lists.value_offsets().iter().map(|end| usize::try_from(*end).unwrap_or(0)))
            }
            _ => {
                let lists = there.as_list::<i32>();
                offsets(lists.values(), lists.value_offsets().iter().map(|end| usize::try_from(*end).unwrap_or(0)))
            }
        };
        let trail = Trail { nulls, ends };
        let mut next = 0;
        let mut index = 0;
        // Of lists that are null as many as stand before each that is not.
        let gaps = trail.nulls.as_ref().map(|nulls| nulls.valid_indices());
        let mut gaps = gaps.into_iter().flatten();
        match &trail.ends {
            Ends::Fixed(size) if trail.nulls.is_none() => {
                self.see(*size as u64, ragged, || row_of(&trail, 0))?;
                self.push(*size as u64, there.len() as u64, spool)?;
            }
            ends => {
                for len in ends.lengths(there.len()) {
                    if trail.nulls.is_some() {
                        let place = gaps.next().unwrap_or(next);
                        if place > next {
                            self.push(NULL, (place - next) as u64, spool)?;
                        }
                        next = place + 1;
                    }
                    self.see(len as u64, ragged, || row_of(&trail, index))?;
                    self.push(len as u64, 1, spool)?;
                    index += 1;
                }
                if lists.len() > next && trail.nulls.is_some() {
                    self.push(NULL, (lists.len() - next) as u64, spool)?;
                }
            }
        }
        drop(gaps);
        Ok((items, trail))
    }

    fn see(&mut self, len: u64, ragged: Ragged, row: impl Fn() -> u64) -> Result<()> {
        match self.first {
            _ if self.shape.is_some() => {}
            None => self.first = Some((len, row())),
            Some((known, first)) if known != len && ragged == Ragged::Refuse => {
                let detail =
                    format!("a list of {len} items where that of row {first} has {known}: a variable has one size");
                let advice = "{ragged} pad fills them up with missing elements";
                return Err(Error::invalid(detail).advising(advice).in_row(row()));
            }
            Some(_) => {}
        }
        (self.most, self.fewest) = (self.most.max(len), self.fewest.min(len));
        Ok(())
    }

    /// Its runs, in order.
    fn runs<'s>(&self, spool: &'s Spool) -> Result<Runs<'s>> {
        Ok(Runs { reader: spool.reader(self.runs)?, last: Some(self.run), run: (0, 0) })
    }

    /// The lists that are shorter than the longest.
    pub(super) fn shorter(&self, spool: &Spool) -> Result<u64> {
        if self.fewest >= self.most {
            return Ok(0);
        }
        let (mut runs, mut all) = (self.runs(spool)?, 0u64);
        while let Some((len, count)) = runs.next_run()? {
            if len < self.most {
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

impl Trail {
    /// Where the list of an item stands among all lists.
    pub(super) fn parent(&self, item: usize) -> usize {
        let there = match &self.ends {
            Ends::Fixed(size) => item / (*size).max(1),
            Ends::Offsets(ends) => ends.partition_point(|end| *end <= item).saturating_sub(1),
        };
        self.list(there)
    }

    /// Where a list that is not null stands among all lists.
    pub(super) fn list(&self, there: usize) -> usize {
        nth_valid(self.nulls.as_ref(), there)
    }
}

/// Where a value that is not null stands among all.
pub(super) fn nth_valid(nulls: Option<&NullBuffer>, there: usize) -> usize {
    nulls.map_or(there, |nulls| nulls.valid_indices().nth(there).unwrap_or(there))
}

/// Items from the first offset to the last, and the offsets from there.
fn offsets(values: &ArrayRef, offsets: impl Iterator<Item = usize>) -> (ArrayRef, Ends) {
    let mut ends: Vec<usize> = offsets.collect();
    let (first, last) = (ends.first().copied().unwrap_or(0), ends.last().copied().unwrap_or(0));
    ends.iter_mut().for_each(|end| *end -= first);
    (values.slice(first, last - first), Ends::Offsets(ends))
}

/// What is not null.
pub(super) fn dense(array: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
    match nulls.filter(|nulls| nulls.null_count() > 0) {
        None => Ok(array.clone()),
        Some(nulls) => filter(array, &BooleanArray::new(nulls.inner().clone(), None)).map_err(from_arrow),
    }
}

/// Lengths of lists and how many of each follow one another.
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

    /// The length of the next list.
    fn next(&mut self) -> Result<u64> {
        while self.run.1 == 0 {
            self.run = self.next_run()?.ok_or_else(|| Error::truncated("a temporary file", 16, 0))?;
        }
        self.run.1 -= 1;
        Ok(self.run.0)
    }
}

/// True where the mask is that of the elements that came.
pub(super) fn are_even(levels: &[Level]) -> bool {
    levels.iter().all(Level::is_even)
}

/// The mask of lists that are not even: walks over rows.
pub(super) struct Walk<'s> {
    runs: Vec<Runs<'s>>,
    /// Elements of a list of each depth.
    sizes: Vec<u64>,
    /// Elements of an item of a list of each depth.
    items: Vec<u64>,
    /// Which items that came were null; `None` where all are like each other.
    bits: Option<SectionReader<'s>>,
    /// Of that kind: null.
    null: bool,
    byte: (u8, u32),
    out: Vec<bool>,
    packer: Packer,
}

impl<'s> Walk<'s> {
    /// `bits` is the section of what was null among the items of the deepest lists; without, all of them were `null`, or none.
    pub(super) fn new(levels: &[Level], bits: Option<usize>, null: bool, spool: &'s Spool) -> Result<Self> {
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
        Ok(Self { runs, sizes, items, bits, null, byte: (0, 0), out: Vec::new(), packer: Packer::default() })
    }

    /// Puts the mask of so many rows.
    pub(super) fn put(mut self, rows: u64, out: &mut dyn Put) -> Result<()> {
        for _ in 0..rows {
            self.list(0, out)?;
        }
        self.packer.bools(&self.out, out)?;
        self.packer.end(out)
    }

    fn list(&mut self, depth: usize, out: &mut dyn Put) -> Result<()> {
        let (size, item) = (self.sizes.get(depth).copied().unwrap_or(0), self.items.get(depth).copied().unwrap_or(1));
        // Of no lists at all a row is one item.
        let Some(runs) = self.runs.get_mut(depth) else { return self.push(self.null, out) };
        let len = match runs.next()? {
            NULL => 0,
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
        let Some(bits) = &mut self.bits else { return Ok(self.null) };
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
