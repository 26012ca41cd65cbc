//! Views of a dataset: readers whose variables are computed from those of another reader when they are read, block by block.
//!
//! Everything that takes a [`Reader`] takes a view: tables, Arrow batches, statistics, copies to ds and NetCDF.

mod coordinate;
mod parse;
mod region;
mod tidy;

pub use coordinate::Coordinate;
pub use region::Region;
pub use tidy::Tidy;

use std::ops::Range;

use container_core::{OpenOptions, Result};

use crate::array::{Mask, Values};
use crate::json::Object;
use crate::read::foreign::ForeignSource;
use crate::read::{Reader, Variable};
use crate::types::DataType;
use crate::wire::bit_bytes;
use crate::write::field::Field;
use crate::write::layout::{Slot, count, header};

/// Values and their mask.
type Part = (Values<'static>, Option<Mask<'static>>);

/// A variable of a view.
struct ViewVariable {
    name: String,
    field: Field<'static>,
    /// Whether elements may be missing.
    masked: bool,
    /// Length in a ds file; an upper bound for strings.
    len: u64,
    /// Why it cannot be read.
    problem: Option<String>,
}

impl ViewVariable {
    /// A variable with the metadata of another, and other sizes. `dimensions` replaces its names.
    fn new(variable: &Variable<'_>, dimensions: Option<&[String]>, sizes: &[u64]) -> Result<Self> {
        let data_type = variable.data_type().filter(|_| variable.shape().is_some());
        let mut field = match data_type {
            Some(data_type) => Field::stream(data_type, sizes),
            None => Field::empty(),
        };
        field = field.with_metadata_of(variable);
        if let Some(names) = dimensions {
            field = field.with_dimensions(names);
        }
        let masked = variable.is_masked() && data_type.is_some();
        let count = count(sizes)?;
        let values = match data_type {
            Some(text) if text.is_text() && count == 0 => 0,
            Some(text) if text.is_text() => count.saturating_mul(8).max(variable.stored_bytes()),
            Some(DataType::Bool) => bit_bytes(count),
            Some(number) => count.saturating_mul(number.width().unwrap_or(1) as u64),
            None => 0,
        };
        let len = values.saturating_add(if masked { bit_bytes(count) } else { 0 });
        Ok(Self { name: variable.name().to_owned(), field, masked, len, problem: None })
    }

    /// A variable that cannot be read, in the table of a dimension if it is known.
    fn unreadable(variable: &Variable<'_>, problem: String, along: Option<(&str, u64)>) -> Self {
        let (name, problem) = (variable.name().to_owned(), Some(problem));
        let field = match along {
            Some((dimension, size)) => Field::stream(DataType::Uint8, [size]).with_dimensions([dimension]),
            None => Field::empty(),
        };
        Self { name, field, masked: false, len: 0, problem }
    }
}

/// The header of a view, and why some of its variables cannot be read.
struct ViewHeader {
    text: String,
    problems: Vec<Option<String>>,
}

impl ViewHeader {
    /// A header of these variables with the attributes of another dataset.
    fn new(of: &Reader, variables: Vec<ViewVariable>) -> Result<Self> {
        let attributes = of.header.attributes().map(Object::from_json).unwrap_or_default();
        let (mut fields, mut slots, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        let mut sum = 0u64;
        for (index, variable) in variables.into_iter().enumerate() {
            // The offsets are not read, but must not overflow.
            let len = variable.len.min(u64::MAX - sum);
            sum += len;
            slots.push(Slot { field: index, masked: variable.masked, len: Some(len) });
            fields.push((variable.name, variable.field));
            problems.push(variable.problem);
        }
        let (text, _) = header(&attributes, &fields, &slots)?;
        Ok(Self { text, problems })
    }

    /// A reader with this header.
    fn reader(self, options: OpenOptions, values: Box<dyn ForeignSource>) -> Result<Reader> {
        Reader::from_foreign(&self.text, options, values, |index| self.problems.get(index).cloned().flatten())
    }
}

/// Reads an element range of a variable into owned memory.
fn read_owned(variable: &Variable<'_>, elements: Range<u64>) -> Result<Part> {
    variable.with_layout(|layout| {
        let (values, mask) = variable.elements(layout, elements)?;
        Ok((values.into_owned(), mask.map(Mask::into_owned)))
    })
}
