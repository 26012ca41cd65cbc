//! Reads many byte ranges with few calls.

use std::ops::Range;

use container_core::{Result, Source};

/// Gap in bytes up to which two ranges are read with one call.
const GAP: u64 = 4 << 10;

/// Bytes read with one call, unless a single range is longer.
const MAX_READ: u64 = 4 << 20;

/// Calls `take` with the index and bytes of each range: in order if the source is in memory, otherwise in file order.
pub(crate) fn fetch(
    source: &Source,
    ranges: &[Range<u64>],
    buffer: &mut Vec<u8>,
    mut take: impl FnMut(usize, &[u8]),
) -> Result<()> {
    if source.as_slice().is_some() {
        for (number, range) in ranges.iter().enumerate() {
            take(number, source.view(range.clone(), buffer)?);
        }
        return Ok(());
    }
    let mut order: Vec<(usize, &Range<u64>)> =
        ranges.iter().enumerate().filter(|(_, range)| !range.is_empty()).collect();
    order.sort_by_key(|(_, range)| range.start);
    let mut left = order.as_slice();
    while let Some((_, first)) = left.first() {
        let (start, mut end, mut count) = (first.start, first.end, 1);
        for (_, range) in left.iter().skip(1) {
            if range.start > end.saturating_add(GAP) || range.end.max(end) - start > MAX_READ {
                break;
            }
            (end, count) = (end.max(range.end), count + 1);
        }
        let bytes = source.view(start..end, buffer)?;
        let (now, later) = left.split_at(count);
        left = later;
        for (number, range) in now {
            let within = crate::read::layout::slice(bytes, &(range.start - start..range.end - start));
            take(*number, within.unwrap_or_default());
        }
    }
    Ok(())
}
