//! Gathers the values of many element runs.

use std::ops::Range;

use container_core::{Error, Result};

use crate::array::{Mask, Strings, Values};
use crate::kernel;
use crate::read::fill::{too_many, try_zeroed};
use crate::read::index::{MASK_BLOCK, TEXT_BLOCK, length};
use crate::read::layout::{Layout, slice};
use crate::read::select::fetch::fetch;
use crate::read::select::plan::{Part, Run};
use crate::read::strings::check_utf8;
use crate::read::values::by_number;
use crate::read::variable::Variable;
use crate::types::{DataType, Element};
use crate::wire::bit_bytes;

/// Elements gathered at once: fits the CPU cache, and a multiple of 8.
const BATCH: u64 = 32 << 10;

/// A part of the selection: element runs, the stored values behind them, and their mask.
#[derive(Default)]
struct Batch {
    /// Element runs, in selection order.
    runs: Vec<Run>,
    /// Runs of stored values, in the same order.
    stored: Vec<Run>,
    /// Mask bits of the batch, from the first bit on.
    mask: Vec<u8>,
    /// Number of elements.
    len: u64,
    /// File ranges to read; scratch buffer.
    ranges: Vec<Range<u64>>,
    buffer: Vec<u8>,
}

impl Variable<'_> {
    /// Reads the values and the mask of a selection.
    pub(crate) fn gather(&self, layout: &Layout, plan: Part<'_>) -> Result<(Values<'static>, Option<Mask<'static>>)> {
        self.check_growth(plan.total, layout)?;
        if self.reader.foreign.is_some() {
            return self.gather_foreign(layout, plan);
        }
        let mut mask = layout.mask.as_ref().map(|_| Vec::new());
        let values = by_number!(layout.data_type,
            Number => self.gather_numbers::<Number>(layout, plan, &mut mask)?.into(),
            DataType::Bool => self.gather_bools(layout, plan, &mut mask)?.into(),
            DataType::Str => Values::Str(self.gather_strings(layout, plan, &mut mask)?),
            DataType::Unicode => Values::Unicode(self.gather_strings(layout, plan, &mut mask)?)
        );
        let len = usize::try_from(plan.total).map_err(|_| too_many(plan.total))?;
        let mask = mask.map(|bits| Mask::from_bits(bits, len)).transpose()?;
        Ok((values, mask))
    }

    /// Reads a selection from a foreign source. Runs that are close to each other are read together: such a source may decode whole rows for
    /// each element.
    fn gather_foreign(&self, layout: &Layout, plan: Part<'_>) -> Result<(Values<'static>, Option<Mask<'static>>)> {
        let mut all = Values::with_capacity(layout.data_type, 0);
        let mut missing: Option<Vec<bool>> = None;
        let max_span = self.reader.foreign.as_ref().map_or(0, |foreign| foreign.max_span());
        let mut runs = plan.runs().peekable();
        let mut group: Vec<Run> = Vec::new();
        while let Some(first) = runs.next() {
            let (mut start, mut end) = (first.start, first.start + first.len);
            group.clear();
            group.push(first);
            while let Some(next) = runs.peek() {
                let span = start.min(next.start)..end.max(next.start + next.len);
                if span.end - span.start > max_span {
                    break;
                }
                (start, end) = (span.start, span.end);
                group.extend(runs.next());
            }
            let (values, mask) = self.elements(layout, start..end)?;
            if mask.is_some() {
                missing.get_or_insert_with(|| vec![false; all.len()]);
            }
            for run in &group {
                // The span is in memory, so the indices fit.
                let at = usize::try_from(run.start - start).unwrap_or(usize::MAX);
                let range = at..at.saturating_add(usize::try_from(run.len).unwrap_or(usize::MAX));
                if let Some(missing) = &mut missing {
                    missing.extend(range.clone().map(|index| mask.as_ref().is_some_and(|mask| mask.is_missing(index))));
                }
                all.extend(&values, range);
            }
        }
        Ok((all, missing.map(Mask::from_bools)))
    }

    /// Splits the plan into batches of `BATCH` elements, with a smaller last one, and locates the stored values of each.
    fn batches(
        &self,
        layout: &Layout,
        plan: Part<'_>,
        mask: &mut Option<Vec<u8>>,
        mut each: impl FnMut(&mut Batch) -> Result<()>,
    ) -> Result<()> {
        let mut batch = Batch::default();
        let mut finish = |batch: &mut Batch| -> Result<()> {
            self.locate_stored(layout, batch)?;
            if let Some(mask) = mask {
                mask.extend_from_slice(&batch.mask);
            }
            each(batch)?;
            batch.runs.clear();
            batch.len = 0;
            Ok(())
        };
        for mut run in plan.runs() {
            while run.len > 0 {
                let len = run.len.min(BATCH - batch.len);
                batch.runs.push(Run { start: run.start, len });
                batch.len += len;
                (run.start, run.len) = (run.start + len, run.len - len);
                if batch.len == BATCH {
                    finish(&mut batch)?;
                }
            }
        }
        if batch.len > 0 { finish(&mut batch) } else { Ok(()) }
    }

    /// Locates the stored values of the batch's elements.
    fn locate_stored(&self, layout: &Layout, batch: &mut Batch) -> Result<()> {
        let Batch { runs, stored, mask, len, ranges, buffer } = batch;
        stored.clear();
        let Some(bits) = &layout.mask else {
            stored.extend_from_slice(runs);
            return Ok(());
        };
        let index = self.mask_index(layout)?;
        mask.clear();
        mask.resize(usize::try_from(bit_bytes(*len)).map_err(|_| too_many(*len))?, 0);
        // Rank of a run: the sum before its block, plus the stored values before it within the block.
        const BLOCK: u64 = MASK_BLOCK as u64 * 8;
        ranges.clear();
        ranges.extend(runs.iter().map(|run| {
            let block = run.start / BLOCK * MASK_BLOCK as u64;
            bits.start + block..bits.start + bit_bytes(run.start + run.len)
        }));
        let (starts, _) = prefix_sums(runs.iter().map(|run| run.len));
        stored.resize(runs.len(), Run { start: 0, len: 0 });
        // End of the previous run and its rank: the next run often continues in the same block.
        let mut last = (0, 0);
        fetch(&self.reader.source, ranges, buffer, |number, bytes| {
            let (Some(run), Some(out), Some(to)) = (runs.get(number), stored.get_mut(number), starts.get(number))
            else {
                return;
            };
            let block = run.start / BLOCK;
            let base = block * BLOCK;
            let known = if last.0 >= base && last.0 <= run.start { last } else { (base, index.before(block)) };
            let between = kernel::count_ones_in(bytes, known.0 - base, run.start - base);
            let start = known.1 + (run.start - known.0) - between;
            let missing = kernel::copy_bits(bytes, run.start - base, run.len, mask, *to as u64);
            *out = Run { start, len: run.len - missing };
            last = (run.start + run.len, start + out.len);
        })?;
        stored.retain(|run| run.len > 0);
        // Runs separated only by missing elements are adjacent now.
        stored.dedup_by(|next, run| {
            let touch = run.start + run.len == next.start;
            run.len += if touch { next.len } else { 0 };
            touch
        });
        Ok(())
    }

    fn gather_numbers<T: Element>(
        &self,
        layout: &Layout,
        plan: Part<'_>,
        mask: &mut Option<Vec<u8>>,
    ) -> Result<Vec<T>> {
        let width = size_of::<T>() as u64;
        let (mut out, swap) = (try_zeroed(plan.total)?, layout.swap());
        if let (Some(all), None) = (self.reader.source.as_slice(), &mask) {
            // Unmasked and in memory: copy run by run.
            let (mut rest, base) = (out.as_mut_slice(), layout.data.start);
            for run in plan.runs() {
                let bytes = slice(all, &(base + run.start * width..base + (run.start + run.len) * width));
                let count = usize::try_from(run.len).unwrap_or(usize::MAX);
                let (now, later) = rest.split_at_mut_checked(count).unwrap_or_default();
                kernel::load(bytes.unwrap_or_default(), now, swap);
                rest = later;
            }
            return Ok(out);
        }
        let (masked, mut scratch, mut done) = (mask.is_some(), Vec::new(), 0);
        self.batches(layout, plan, mask, |batch| {
            let end = done + usize::try_from(batch.len).unwrap_or(usize::MAX);
            let out = out.get_mut(done..end).unwrap_or_default();
            done = end;
            let (starts, count) = prefix_sums(batch.stored.iter().map(|run| run.len));
            let target = if masked {
                scratch.resize(scratch.len().max(out.len()), T::default());
                scratch.get_mut(..count).unwrap_or_default()
            } else {
                &mut *out
            };
            let ranges = &mut batch.ranges;
            ranges.clear();
            ranges.extend(batch.stored.iter().map(|run| {
                let start = layout.data.start + run.start * width;
                start..start + run.len * width
            }));
            fetch(&self.reader.source, ranges, &mut batch.buffer, |number, bytes| {
                if let Some(out) = starts.get(number).and_then(|to| target.get_mut(*to..)) {
                    kernel::load(bytes, out, swap);
                }
            })?;
            if masked {
                let values: &[u8] = bytemuck::cast_slice(scratch.get(..count).unwrap_or_default());
                kernel::expand_numbers(&batch.mask, values, out, T::default(), false);
            }
            Ok(())
        })?;
        Ok(out)
    }

    fn gather_bools(&self, layout: &Layout, plan: Part<'_>, mask: &mut Option<Vec<u8>>) -> Result<Vec<bool>> {
        let mut out = try_zeroed(plan.total)?;
        let (masked, mut bits, mut scratch, mut done) = (mask.is_some(), Vec::new(), Vec::new(), 0);
        self.batches(layout, plan, mask, |batch| {
            let end = done + usize::try_from(batch.len).unwrap_or(usize::MAX);
            let out = out.get_mut(done..end).unwrap_or_default();
            done = end;
            let ranges = &mut batch.ranges;
            ranges.clear();
            ranges.extend(
                batch
                    .stored
                    .iter()
                    .map(|run| layout.data.start + run.start / 8..layout.data.start + bit_bytes(run.start + run.len)),
            );
            let (starts, count) = prefix_sums(batch.stored.iter().map(|run| run.len));
            bits.clear();
            bits.resize(out.len().div_ceil(8), 0);
            let stored = &batch.stored;
            fetch(&self.reader.source, ranges, &mut batch.buffer, |number, bytes| {
                if let (Some(run), Some(to)) = (stored.get(number), starts.get(number)) {
                    kernel::copy_bits(bytes, run.start % 8, run.len, &mut bits, *to as u64);
                }
            })?;
            if masked {
                scratch.resize(bits.len() * 8, false);
                kernel::unpack(&bits, &mut scratch);
                let values = scratch.get(..count).unwrap_or_default();
                kernel::expand(&batch.mask, values, out, false, |value| value);
            } else {
                kernel::unpack(&bits, out);
            }
            Ok(())
        })?;
        Ok(out)
    }

    fn gather_strings(&self, layout: &Layout, plan: Part<'_>, mask: &mut Option<Vec<u8>>) -> Result<Strings<'static>> {
        let stored = self.stored(layout)?;
        let index = self.text_index(layout)?;
        let base = layout.data.start + stored * 8;
        let limits = self.reader.options.limits;
        let masked = mask.is_some();
        let (mut ends, mut done) = (try_zeroed::<usize>(plan.total)?, 0);
        let (mut all, mut lengths, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
        self.batches(layout, plan, mask, |batch| {
            let Batch { stored, ranges, buffer, mask, len, .. } = batch;
            // Lengths, starting at the block, where the prefix sum is known.
            ranges.clear();
            ranges.extend(stored.iter().map(|run| {
                let block = run.start / TEXT_BLOCK as u64 * TEXT_BLOCK as u64;
                layout.data.start + block * 8..layout.data.start + (run.start + run.len) * 8
            }));
            let (starts, count) = prefix_sums(stored.iter().map(|run| run.len));
            lengths.clear();
            lengths.resize(count, 0u64);
            let mut spans = vec![0..0; stored.len()];
            fetch(&self.reader.source, ranges, buffer, |number, bytes| {
                let (Some(run), Some(to), Some(span)) = (stored.get(number), starts.get(number), spans.get_mut(number))
                else {
                    return;
                };
                let block = run.start / TEXT_BLOCK as u64;
                let before = usize::try_from(run.start % TEXT_BLOCK as u64).unwrap_or(0);
                let (before, here) = bytes.as_chunks().0.split_at_checked(before).unwrap_or_default();
                let decode = |raw: &[u8; 8]| length(*raw, layout.endian);
                // The total was within the file; a length that changed since must not wrap around.
                let start = before.iter().fold(index.before(block), |sum, raw| sum.saturating_add(decode(raw)));
                let mut end = start;
                for (out, raw) in lengths.iter_mut().skip(*to).zip(here) {
                    *out = decode(raw);
                    end = end.saturating_add(*out);
                }
                *span = start.min(index.bytes)..end.min(index.bytes);
            })?;
            // The string bytes.
            let sum = spans.iter().fold(all.len() as u64, |sum, span| sum.saturating_add(span.end - span.start));
            if sum > self.entry.len {
                limits.check_block("size of its strings in memory", sum)?;
            }
            let at = all.len();
            all.resize(usize::try_from(sum).map_err(|_| too_many(sum))?, 0u8);
            let (starts, _) = prefix_sums(spans.iter().map(|span| span.end - span.start));
            ranges.clear();
            ranges.extend(spans.iter().map(|span| base + span.start..base + span.end));
            fetch(&self.reader.source, ranges, buffer, |number, bytes| {
                let place = starts.get(number).and_then(|to| all.get_mut(at + to..at + to + bytes.len()));
                if let Some(place) = place {
                    place.copy_from_slice(bytes);
                }
            })?;
            // The end of each string; missing ones are empty.
            let end = done + usize::try_from(*len).unwrap_or(usize::MAX);
            let out = ends.get_mut(done..end).unwrap_or_default();
            done = end;
            if masked {
                scratch.resize(out.len(), 0);
                kernel::expand(mask, &lengths, &mut scratch, 0, |len| len);
            } else {
                std::mem::swap(&mut scratch, &mut lengths);
            }
            let mut sum = at;
            for (out, len) in out.iter_mut().zip(&scratch) {
                sum = usize::try_from(*len)
                    .ok()
                    .and_then(|len| sum.checked_add(len))
                    .filter(|sum| *sum <= all.len())
                    .ok_or_else(changed)?;
                *out = sum;
            }
            if sum == all.len() { Ok(()) } else { Err(changed()) }
        })?;
        if layout.data_type == DataType::Unicode
            && let Err(error) = check_utf8(&all, &ends)
        {
            let element = plan.element(error.index as u64);
            return Err(error.at(element, base + self.text_start(layout, self.rank(layout, element)?)?));
        }
        Ok(Strings::from_ends(all.into(), ends))
    }
}

/// Exclusive prefix sums of `counts`, and their total.
fn prefix_sums(counts: impl Iterator<Item = u64>) -> (Vec<usize>, usize) {
    let mut sum = 0usize;
    let starts = counts.map(|count| {
        let start = sum;
        sum = sum.saturating_add(usize::try_from(count).unwrap_or(usize::MAX));
        start
    });
    (starts.collect(), sum)
}

/// The lengths no longer match the index.
#[cold]
fn changed() -> Error {
    Error::invalid("the lengths of its strings changed while they were read")
}
