//! Values of a column as arrays, some rows at a time.

use std::borrow::Cow;
use std::ops::Range;

use container_core::{Error, Loss, Result, Scan};
use dsfmt::{Array, DataType, Mask};
use idv::{Value, Values, VectorRef, Vectors};

use super::super::super::DS;
use super::File;
use super::column::{Becomes, Plan};
use super::held::Held;

/// Elements that are handed on together, about.
pub(super) const ELEMENTS: usize = 256 << 10;

type Append<'a> = dyn FnMut(&Array<'_>) -> Result<()> + 'a;

/// Hands on all values of a column of a file; what they lost.
pub(super) fn pour(
    plan: &Plan,
    file: &File<'_>,
    slot: usize,
    threads: usize,
    append: &mut Append<'_>,
) -> Result<Vec<Loss>> {
    let index = file.column(slot)?.index();
    let scan = Scan::default().with_columns([index]).with_rows(file.rows.clone()).with_threads(threads);
    match plan.becomes {
        Becomes::Same(_) => typed(plan, file, &scan, append).map(|()| Vec::new()),
        _ => shown(plan, file, &scan, append),
    }
}

/// An array of whole rows of numbers, of which the first is `row`.
fn numbers(plan: &Plan, rows: usize, values: dsfmt::Values<'_>, row: u64, append: &mut Append<'_>) -> Result<()> {
    if !plan.nan_is_missing {
        return append(&array(plan, rows, values, None)?);
    }
    let mask = match &values {
        dsfmt::Values::Float32(floats) => mask(floats, |float| float.is_nan()),
        dsfmt::Values::Float64(floats) => mask(floats, |float| float.is_nan()),
        _ => None,
    };
    let values = match values {
        dsfmt::Values::Float64(floats) if plan.data_type != DataType::Float64 => narrowed(&floats, plan.data_type)
            .map_err(|place| {
                let detail =
                    format!("{} is no {}, which the metadata say", floats.get(place).unwrap_or(&0.0), plan.data_type);
                let row = row + place as u64 / plan.wide().max(1);
                Error::invalid(detail).in_row(row).in_column(plan.name.clone()).in_format(DS)
            })?,
        values => values,
    };
    append(&array(plan, rows, values, mask)?)
}

/// Which elements are missing, where any is.
fn mask<T>(values: &[T], is_missing: impl Fn(&T) -> bool) -> Option<Mask<'static>> {
    values.iter().any(&is_missing).then(|| Mask::from_bools(values.iter().map(is_missing)))
}

/// Floats as the integers that they were; where one is none. NaN, which is missing, is 0.
fn narrowed(floats: &[f64], data_type: DataType) -> Result<dsfmt::Values<'static>, usize> {
    fn all<T: TryFrom<i128> + Default>(floats: &[f64]) -> Result<Vec<T>, usize> {
        let one = |(place, float): (usize, &f64)| {
            if float.is_nan() {
                return Ok(T::default());
            }
            #[expect(clippy::cast_possible_truncation, reason = "what is beyond 128 bits is beyond all integers here")]
            let number = *float as i128;
            T::try_from(number).ok().filter(|_| float.fract() == 0.0).ok_or(place)
        };
        floats.iter().enumerate().map(one).collect()
    }
    Ok(match data_type {
        DataType::Int8 => all::<i8>(floats)?.into(),
        DataType::Int16 => all::<i16>(floats)?.into(),
        DataType::Int32 => all::<i32>(floats)?.into(),
        DataType::Int64 => all::<i64>(floats)?.into(),
        DataType::Uint8 => all::<u8>(floats)?.into(),
        DataType::Uint16 => all::<u16>(floats)?.into(),
        DataType::Uint32 => all::<u32>(floats)?.into(),
        DataType::Uint64 => all::<u64>(floats)?.into(),
        _ => floats.to_vec().into(),
    })
}

/// An array of whole rows.
pub(super) fn array<'v>(
    plan: &Plan,
    rows: usize,
    values: dsfmt::Values<'v>,
    mask: Option<Mask<'v>>,
) -> Result<Array<'v>> {
    let mut shape = if plan.scalar { Vec::new() } else { vec![rows as u64] };
    shape.extend(&plan.inner);
    let array = Array::new(shape, values)?;
    match mask {
        Some(mask) => array.with_mask(mask),
        None => Ok(array),
    }
}

fn typed(plan: &Plan, file: &File<'_>, scan: &Scan, append: &mut Append<'_>) -> Result<()> {
    let named = |error: Error| error.in_file(file.name.to_owned());
    let mut batches = file.reader.batches(scan).map_err(named)?;
    let wide = usize::try_from(plan.wide()).unwrap_or(usize::MAX);
    let step = (ELEMENTS / wide.max(1)).max(1);
    while let Some(batch) = batches.try_next().map_err(named)? {
        let Some(slice) = batch.column(0) else { continue };
        let Values::Vector(vectors) = slice.values else {
            let values = borrowed(slice.values, slice.range.clone())?;
            numbers(plan, slice.range.len(), values, batch.rows().start, append)?;
            continue;
        };
        if vectors.dense_length().is_some_and(|length| u64::from(length) == plan.wide()) {
            let items = slice.range.start * wide..slice.range.end * wide;
            numbers(plan, slice.range.len(), borrowed(vectors.values(), items)?, batch.rows().start, append)?;
            continue;
        }
        let mut at = slice.range.start;
        while at < slice.range.end {
            let end = slice.range.end.min(at.saturating_add(step));
            let row = batch.rows().start + (at - slice.range.start) as u64;
            let values =
                dense(vectors, at..end, wide, row).map_err(|error| named(error.in_column(plan.name.clone())))?;
            numbers(plan, end - at, values, row, append)?;
            at = end;
        }
    }
    Ok(())
}

/// Runs the same for every variant of numbers and truth values: `$v` are those values, `$name` the variant of ds.
macro_rules! each {
    ($values:expr, $v:ident => $name:ident: $made:expr) => {
        match $values {
            Values::SByte($v) => each!(@ $name Int8 $made),
            Values::Byte($v) => each!(@ $name Uint8 $made),
            Values::Int16($v) => each!(@ $name Int16 $made),
            Values::UInt16($v) => each!(@ $name Uint16 $made),
            Values::Int32($v) => each!(@ $name Int32 $made),
            Values::UInt32($v) => each!(@ $name Uint32 $made),
            Values::Int64($v) => each!(@ $name Int64 $made),
            Values::UInt64($v) => each!(@ $name Uint64 $made),
            Values::Single($v) => each!(@ $name Float32 $made),
            Values::Double($v) => each!(@ $name Float64 $made),
            Values::Boolean($v) => each!(@ $name Bool $made),
            _ => Err(Error::usage("values of no number and no truth")),
        }
    };
    (@ $name:ident $variant:ident $made:expr) => {{
        let $name = dsfmt::Values::$variant;
        $made
    }};
}

/// Values where they lie.
fn borrowed(values: &Values, range: Range<usize>) -> Result<dsfmt::Values<'_>> {
    let outside = || Error::usage(format!("values {} to {} of {}", range.start, range.end, values.len()));
    each!(values, v => variant: v.get(range.clone()).map(|run| variant(Cow::Borrowed(run))).ok_or_else(outside))
}

/// Vectors of which some are sparse, all items of each.
fn dense(vectors: &Vectors, rows: Range<usize>, wide: usize, first: u64) -> Result<dsfmt::Values<'static>> {
    let start = rows.start;
    each!(vectors.values(), v => variant: {
        let mut all = vec![Default::default(); rows.len().saturating_mul(wide)];
        let mut room = all.as_mut_slice();
        for place in rows {
            let wrong = || Error::invalid(format!("a vector that is not of {wide} items")).in_row(first + (place - start) as u64);
            let (row, rest) = room.split_at_mut_checked(wide).ok_or_else(wrong)?;
            room = rest;
            let vector = vectors.get(place).filter(|vector| u64::from(vector.length) == wide as u64).ok_or_else(wrong)?;
            scatter(v, &vector, row).ok_or_else(wrong)?;
        }
        Ok(variant(Cow::Owned(all)))
    })
}

/// Puts the stored items where they belong.
fn scatter<T: Copy>(values: &[T], vector: &VectorRef<'_>, row: &mut [T]) -> Option<()> {
    let stored = values.get(vector.range.clone())?;
    match vector.indices {
        None => row.get_mut(..stored.len())?.copy_from_slice(stored),
        Some(indices) => {
            for (index, value) in indices.iter().zip(stored) {
                *row.get_mut(usize::try_from(*index).ok()?)? = *value;
            }
        }
    }
    Some(())
}

/// Values as rows show them: of texts, labels, keys, times.
fn shown(plan: &Plan, file: &File<'_>, scan: &Scan, append: &mut Append<'_>) -> Result<Vec<Loss>> {
    let named = |error: Error| error.in_file(file.name.to_owned());
    let mut rows = file.reader.rows(scan).map_err(named)?;
    let mut held = Held::new(plan.data_type);
    let mut count = 0;
    while let Some(row) = rows.try_next().map_err(named)? {
        let pushed = match row.get(0) {
            Some(Value::Vector(vector)) => {
                let wrong = || Err(Error::invalid(format!("a vector that is not of {} items", plan.wide())));
                match u64::from(vector.length()) == plan.wide() {
                    true => vector.items().try_for_each(|item| held.push(plan, &item)),
                    false => wrong(),
                }
            }
            Some(item) => held.push(plan, &item),
            None => Err(Error::usage("a row without a value")),
        };
        pushed.map_err(|error| {
            let error = error.in_row(row.index()).in_column(plan.name.clone());
            named(error.in_format(DS))
        })?;
        count += 1;
        if held.is_full() {
            append(&held.take(plan, count)?)?;
            count = 0;
        }
    }
    if count > 0 {
        append(&held.take(plan, count)?)?;
    }
    Ok(rows.losses())
}
