//! Replacing invalid values by missing ones.

use container_core::{Loss, Position, Result};

use crate::check::{self, describe_invalid};
use crate::codec::Values;
use crate::read::ColumnSlice;
use crate::wire::Type;

/// Counts invalid values of a column written as missing.
#[derive(Default)]
pub(super) struct RepairedValues {
    count: u64,
    first: Option<(u64, String)>,
}

impl RepairedValues {
    /// A copy of the slice with invalid values set to missing; `None` if there are none.
    pub(super) fn repair(&mut self, kind: &Type, slice: &ColumnSlice<'_>, first_row: u64) -> Result<Option<Values>> {
        let Err(invalid) = check::validate(kind, slice.values, slice.range.clone()) else { return Ok(None) };
        let row = first_row + (invalid.index - slice.range.start) as u64;
        self.first.get_or_insert((row, invalid.detail));
        let mut repaired = Values::of(kind);
        repaired.extend_from(slice.values, slice.range.clone())?;
        let items = match &mut repaired {
            Values::Vector(vectors) => vectors.items_mut(),
            values => values,
        };
        for index in 0..items.len() {
            if describe_invalid(kind.item(), items, index).is_some() {
                items.set_missing(index);
                self.count += 1;
            }
        }
        Ok(Some(repaired))
    }

    pub(super) fn loss(self, name: &str) -> Option<Loss> {
        let (row, detail) = self.first?;
        let first = Position::of_column(name.to_owned()).in_row(row);
        Some(Loss::new(format!("invalid value written as missing ({detail})"), self.count, first))
    }
}
