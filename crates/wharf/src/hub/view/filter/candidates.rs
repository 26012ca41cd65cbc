//! Which rows can match, as statistics say.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use container_arrow::predicate::{Comparison, Condition, Constant};
use container_arrow::{ArrowTable, ColumnBounds, Predicate};
use container_core::Result;

/// Stretches of rows outside of which the condition is not true, in ascending order; `None` for all rows. `schema` has the columns as they are
/// compared.
pub(crate) fn candidates(
    table: &dyn ArrowTable,
    condition: &Condition,
    schema: &Schema,
) -> Result<Option<Vec<Range<u64>>>> {
    let compared = Compared { table, schema };
    let Some(Stretches { rows, can_match }) = compared.stretches(condition)? else { return Ok(None) };
    if can_match.iter().all(|can| *can) {
        return Ok(None);
    }
    Ok(Some(merged(rows.into_iter().zip(can_match).filter_map(|(range, can)| can.then_some(range)))))
}

/// Ascending ranges, those that touch as one.
fn merged(ranges: impl Iterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => merged.push(range),
        }
    }
    merged
}

/// The values of a column outside of which the condition is not true; `None` for all.
pub(crate) fn keys<'c>(condition: &'c Condition, column: &str) -> Option<BTreeSet<&'c str>> {
    match condition {
        Condition::All(all) => all
            .iter()
            .filter_map(|one| keys(one, column))
            .reduce(|one, other| if one.len() <= other.len() { one } else { other }),
        Condition::Any(all) => {
            let mut found = BTreeSet::new();
            for one in all {
                found.extend(keys(one, column)?);
            }
            Some(found)
        }
        Condition::Compare { path, comparison: Comparison::Eq, value: Constant::Text(text) } if *path == [column] => {
            Some(BTreeSet::from([text.as_str()]))
        }
        _ => None,
    }
}

/// The rows with these keys, as ranges.
pub(crate) fn rows_of(table: &dyn ArrowTable, keys: &BTreeSet<&str>) -> Result<Vec<Range<u64>>> {
    let mut rows = Vec::new();
    for key in keys {
        rows.extend(table.find(key)?);
    }
    rows.sort_unstable();
    rows.dedup();
    Ok(merged(rows.into_iter().map(|row| row..row.saturating_add(1))))
}

/// What a condition is about.
struct Compared<'a> {
    table: &'a dyn ArrowTable,
    schema: &'a Schema,
}

/// Stretches of rows, and whether a row in each of them can match.
struct Stretches {
    rows: Vec<Range<u64>>,
    can_match: Vec<bool>,
}

impl Compared<'_> {
    /// `None` where nothing is known.
    fn stretches(&self, condition: &Condition) -> Result<Option<Stretches>> {
        match condition {
            Condition::All(all) => {
                let mut known: Option<Stretches> = None;
                for one in all {
                    known = match (known, self.stretches(one)?) {
                        (Some(one), Some(other)) => Some(combined(one, &other, |a, b| a && b)),
                        (one, other) => one.or(other),
                    };
                }
                Ok(known)
            }
            Condition::Any(all) => {
                let mut known: Option<Stretches> = None;
                for one in all {
                    let Some(next) = self.stretches(one)? else { return Ok(None) };
                    known = Some(match known {
                        None => next,
                        Some(known) => combined(known, &next, |a, b| a || b),
                    });
                }
                Ok(known)
            }
            Condition::Compare { path, comparison, value } => {
                let [name] = path.as_slice() else { return Ok(None) };
                let index = self.table.columns().iter().position(|column| column.name == *name);
                let (Some(index), Ok(field)) = (index, self.schema.field_with_name(name)) else { return Ok(None) };
                let Some(bounds) = self.table.bounds(index)? else { return Ok(None) };
                let is_alike = is_alike(bounds.min.data_type(), field.data_type());
                Ok(if is_alike { compared(bounds, *comparison, value) } else { None })
            }
            _ => Ok(None),
        }
    }
}

/// Whether values of two types compare alike.
fn is_alike(one: &DataType, other: &DataType) -> bool {
    let plain = |data_type: &DataType| match data_type {
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        other => other.clone(),
    };
    let (one, other) = (plain(one), plain(other));
    one == other || (one.is_string() && other.is_string())
}

/// Divides the rows at the ends of the stretches of both. If these do not cover the same rows, only the first are known.
fn combined(one: Stretches, other: &Stretches, both: fn(bool, bool) -> bool) -> Stretches {
    let span = |rows: &[Range<u64>]| {
        let is_whole = rows.windows(2).all(|pair| matches!(pair, [before, after] if before.end == after.start));
        Some(rows.first()?.start..rows.last()?.end).filter(|_| is_whole)
    };
    let is_same = span(&one.rows).is_some_and(|rows| Some(rows) == span(&other.rows));
    if !is_same {
        let unknown = vec![true; one.rows.len()];
        return Stretches { rows: one.rows, can_match: unknown };
    }
    let mut combined = Stretches { rows: Vec::new(), can_match: Vec::new() };
    let (mut ours, mut theirs) = (one.rows.iter().zip(&one.can_match), other.rows.iter().zip(&other.can_match));
    let (mut our, mut their) = (ours.next(), theirs.next());
    while let (Some((a, can_a)), Some((b, can_b))) = (our, their) {
        let rows = a.start.max(b.start)..a.end.min(b.end);
        if !rows.is_empty() {
            combined.can_match.push(both(*can_a, *can_b));
            combined.rows.push(rows.clone());
        }
        if a.end == rows.end {
            our = ours.next();
        }
        if b.end == rows.end {
            their = theirs.next();
        }
    }
    combined
}

/// Whether a value within the bounds can compare so.
fn compared(bounds: ColumnBounds, comparison: Comparison, value: &Constant) -> Option<Stretches> {
    // NaN is not within the bounds: it is greater than all values.
    let is_float = bounds.max.data_type().is_floating();
    let of_min = |comparison| can_hold(&bounds.min, comparison, value);
    let of_max = |comparison| if is_float { None } else { can_hold(&bounds.max, comparison, value) };
    let can_match = match comparison {
        Comparison::Less | Comparison::LessEq => of_min(comparison)?,
        Comparison::Greater | Comparison::GreaterEq => of_max(comparison)?,
        Comparison::Eq => {
            let above = of_min(Comparison::LessEq)?;
            // What equals a number is no NaN.
            let below = match value {
                Constant::Text(_) if is_float => return None,
                _ => can_hold(&bounds.max, Comparison::GreaterEq, value)?,
            };
            above.into_iter().zip(below).map(|(above, below)| above && below).collect()
        }
        Comparison::NotEq => return None,
    };
    Some(Stretches { rows: bounds.rows, can_match })
}

/// Whether the comparison holds for each bound, or the bound is unknown; `None` if it cannot be compared, which reading the rows reports.
fn can_hold(bounds: &ArrayRef, comparison: Comparison, value: &Constant) -> Option<Vec<bool>> {
    let schema = Arc::new(Schema::new(vec![Field::new("bound", bounds.data_type().clone(), true)]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::clone(bounds)]).ok()?;
    let filter = Predicate::compare("bound", comparison, value).bind(&schema).ok()?;
    let holds: BooleanArray = filter.mask(&batch).ok()?;
    let nulls = bounds.logical_nulls();
    let is_unknown = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    Some(holds.values().iter().enumerate().map(|(row, holds)| holds || is_unknown(row)).collect())
}

#[cfg(test)]
mod tests {
    use arrow_array::{Float64Array, StringArray, UInt64Array};

    use super::*;

    #[test]
    fn stretches_are_divided_where_either_ends() {
        let stretches =
            |rows: &[Range<u64>], can_match: &[bool]| Stretches { rows: rows.to_vec(), can_match: can_match.to_vec() };
        let one = || stretches(&[0..4, 4..4, 4..10], &[true, true, false]);
        let other = stretches(&[0..2, 2..7, 7..10], &[false, true, true]);
        let both = combined(one(), &other, |a, b| a && b);
        assert_eq!((both.rows, both.can_match), (vec![0..2, 2..4, 4..7, 7..10], vec![false, true, false, false]));
        let either = combined(one(), &other, |a, b| a || b);
        assert_eq!(either.can_match, [true, true, true, true]);
        // Other rows, or rows in between that are missing.
        for (rows, can_match) in
            [(&[0..4, 4..9][..], &[false, false][..]), (&[0..4, 5..10], &[false, false]), (&[], &[])]
        {
            let unknown = combined(one(), &stretches(rows, can_match), |a, b| a && b);
            assert_eq!((unknown.rows, unknown.can_match), (one().rows, vec![true; 3]));
        }
    }

    #[test]
    fn bounds_exclude_only_what_cannot_match() {
        let bounds = |min: ArrayRef, max: ArrayRef| ColumnBounds { rows: vec![0..2, 2..4, 4..6], min, max };
        let unsigned = bounds(
            Arc::new(UInt64Array::from(vec![Some(0), Some(5), None])),
            Arc::new(UInt64Array::from(vec![Some(4), Some(u64::MAX), None])),
        );
        let floats = bounds(
            Arc::new(Float64Array::from(vec![Some(0.0), Some(5.0), None])),
            Arc::new(Float64Array::from(vec![Some(-0.0), Some(7.0), None])),
        );
        let texts = bounds(
            Arc::new(StringArray::from(vec![Some("a"), Some("b"), None])),
            Arc::new(StringArray::from(vec![Some("az"), Some("zz"), None])),
        );
        let number = |digits: &str| Constant::Number(digits.to_owned());
        use Comparison::{Eq, Greater, GreaterEq, Less, LessEq, NotEq};
        for (bounds, comparison, value, expected) in [
            (&unsigned, Greater, number("4"), Some([false, true, true])),
            (&unsigned, Greater, number("-1"), Some([true, true, true])),
            (&unsigned, GreaterEq, number("9223372036854775808"), Some([false, true, true])),
            (&unsigned, Eq, number("4.5"), Some([false, false, true])),
            (&unsigned, Less, number("5"), Some([true, false, true])),
            (&unsigned, NotEq, number("5"), None),
            (&unsigned, Eq, Constant::Text("5".to_owned()), None),
            // A row of NaN is not in the bounds.
            (&floats, Greater, number("100"), None),
            (&floats, Eq, Constant::Text("NaN".to_owned()), None),
            (&floats, Eq, number("-0.0"), Some([true, false, true])),
            (&floats, LessEq, number("4"), Some([true, false, true])),
            (&texts, Eq, Constant::Text("azz".to_owned()), Some([false, false, true])),
            (&texts, Less, Constant::Text("b".to_owned()), Some([true, false, true])),
        ] {
            let found = compared(bounds.clone(), comparison, &value).map(|stretches| stretches.can_match);
            assert_eq!(found.as_deref(), expected.as_ref().map(|expected| &expected[..]), "{comparison:?} {value:?}");
        }
    }

    #[test]
    fn conditions_limit_keys() {
        let found = |text: &str| {
            let condition = Predicate::parse(text).unwrap().condition();
            keys(&condition, "k").map(|keys| keys.into_iter().collect::<Vec<_>>().join(" "))
        };
        for (text, expected) in [
            ("k = 'a'", Some("a")),
            ("'a' = k", Some("a")),
            ("k in ('c', 'a', 'c')", Some("a c")),
            ("k = 'a' or (k = 'b' and x > 1)", Some("a b")),
            ("x > 1 and k in ('a', 'b') and k = 'c'", Some("c")),
            ("not (k <> 'a')", Some("a")),
            ("k = 'a' or x > 1", None),
            ("k > 'a'", None),
            ("k <> 'a'", None),
            ("k.f = 'a'", None),
            ("x = 'a'", None),
            ("k = 1", None),
            ("lower(k) = 'a'", None),
        ] {
            assert_eq!(found(text).as_deref(), expected, "{text}");
        }
    }
}
