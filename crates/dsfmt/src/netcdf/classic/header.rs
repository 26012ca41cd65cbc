//! The header of a classic file: everything but the values.

use std::collections::HashSet;

use container_core::{Cursor, Error, Limits, Result};

use super::numbers;
use crate::netcdf::model::{Attribute, AttributeValue, Dimension, Kind, NcType, Place, Variable, product};
use crate::types::DataType;

/// Tags of the three lists.
pub(crate) const DIMENSIONS: u32 = 10;
pub(crate) const VARIABLES: u32 = 11;
pub(crate) const ATTRIBUTES: u32 = 12;

/// A header, parsed.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) dimensions: Vec<Dimension>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) variables: Vec<Variable>,
}

/// The kind that a file's first bytes state; `None` when it is no classic file.
pub(crate) fn kind(head: &[u8]) -> Option<Result<Kind>> {
    let version = head.strip_prefix(b"CDF")?.first()?;
    Some(match version {
        1 => Ok(Kind::Classic),
        2 => Ok(Kind::Offset64),
        5 => Ok(Kind::Data64),
        other => {
            Err(Error::unsupported(format!("the version is CDF-{other}; CDF-1, CDF-2, CDF-5 and NetCDF-4 are read"))
                .at(3))
        }
    })
}

/// The code of a type in the file, and back.
pub(crate) const CODES: [(u32, NcType); 11] = [
    (1, NcType::Number(DataType::Int8)),
    (2, NcType::Char),
    (3, NcType::Number(DataType::Int16)),
    (4, NcType::Number(DataType::Int32)),
    (5, NcType::Number(DataType::Float32)),
    (6, NcType::Number(DataType::Float64)),
    (7, NcType::Number(DataType::Uint8)),
    (8, NcType::Number(DataType::Uint16)),
    (9, NcType::Number(DataType::Uint32)),
    (10, NcType::Number(DataType::Int64)),
    (11, NcType::Number(DataType::Uint64)),
];

/// The greatest code that CDF-1 and CDF-2 have.
const LAST_OF_CLASSIC: u32 = 6;

struct Parser<'a> {
    cursor: Cursor<'a>,
    kind: Kind,
}

impl Header {
    /// Parses the beginning of a file that has `len` bytes. [`Truncated`](container_core::ErrorKind::Truncated) when there is too little of it.
    pub(crate) fn parse(bytes: &[u8], len: u64, limits: &Limits) -> Result<Self> {
        let kind = kind(bytes).unwrap_or_else(|| Err(Error::invalid("it does not begin with \"CDF\"").at(0)))?;
        let mut parser = Parser { cursor: Cursor::new(bytes), kind };
        parser.cursor.take(4, "the version")?;
        let records = parser.size("the number of records")?;
        // All ones: the file was written as a stream, its length tells.
        let streamed = records == if kind == Kind::Data64 { u64::MAX } else { u64::from(u32::MAX) };
        let mut dimensions = parser.dimensions(limits)?;
        let attributes = parser.attributes()?;
        let mut variables = parser.variables(&dimensions, limits)?;
        let stride = stride(&variables)?;
        let records = if streamed { streamed_records(&variables, stride, len) } else { records };
        for dimension in dimensions.iter_mut().filter(|dimension| dimension.unlimited) {
            dimension.size = records;
        }
        for variable in &mut variables {
            if let (Place::Records { stride: slot, .. }, Some(rows)) = (&mut variable.place, variable.shape.first_mut())
            {
                (*slot, *rows) = (stride, records);
            }
            if variable.problem.is_none() {
                variable.problem = misplaced(variable, len);
            }
        }
        Ok(Self { kind, dimensions, attributes, variables })
    }
}

/// Bytes from one record to the next.
fn stride(variables: &[Variable]) -> Result<u64> {
    let of_records = || variables.iter().filter(|variable| matches!(variable.place, Place::Records { .. }));
    // A record that holds one variable only is not padded.
    if let (Some(only), 1) = (of_records().next(), of_records().count()) {
        return Ok(row_bytes(only).unwrap_or(0));
    }
    of_records()
        .try_fold(0u64, |all, variable| {
            row_bytes(variable).unwrap_or(0).checked_next_multiple_of(4).and_then(|padded| all.checked_add(padded))
        })
        .ok_or_else(|| Error::invalid("a record takes more than 2^64 bytes"))
}

/// Bytes of one row, unpadded; `None` for what has a problem or exceeds 2^64.
pub(crate) fn row_bytes(variable: &Variable) -> Option<u64> {
    variable.row_elements()?.checked_mul(variable.nc_type.width()? as u64)
}

/// So many records does a file of this length hold.
fn streamed_records(variables: &[Variable], stride: u64, len: u64) -> u64 {
    let first = variables.iter().filter_map(|variable| match variable.place {
        Place::Records { begin, .. } => Some(begin),
        _ => None,
    });
    first.min().map_or(0, |begin| len.saturating_sub(begin).checked_div(stride).unwrap_or(0))
}

/// What is wrong with the place of a variable's values.
fn misplaced(variable: &Variable, len: u64) -> Option<String> {
    let too_large = || Some(format!("its sizes {:?} make more than 2^64 bytes", variable.shape));
    let Some(row) = row_bytes(variable) else { return too_large() };
    let (begin, bytes) = match variable.place {
        Place::Fixed { begin } => (begin, row.checked_mul(variable.rows())),
        Place::Records { begin, stride } => match variable.rows() {
            0 => (begin, Some(0)),
            rows => (begin, stride.checked_mul(rows - 1).and_then(|all| all.checked_add(row))),
        },
        Place::Hdf5(_) => return None,
    };
    let Some(bytes) = bytes else { return too_large() };
    match begin.checked_add(bytes) {
        Some(end) if end <= len || bytes == 0 => None,
        _ => Some(format!("its values take {bytes} bytes from byte {begin} on, the file has {len}")),
    }
}

impl<'a> Parser<'a> {
    /// A count or a length: 32 bits, in CDF-5 64.
    fn size(&mut self, what: &'static str) -> Result<u64> {
        match self.kind {
            Kind::Data64 => self.cursor.u64_be(what),
            _ => self.cursor.u32_be(what).map(u64::from),
        }
    }

    /// A position in the file: 32 bits only in CDF-1.
    fn position(&mut self) -> Result<u64> {
        match self.kind {
            Kind::Classic => self.cursor.u32_be("where a variable begins").map(u64::from),
            _ => self.cursor.u64_be("where a variable begins"),
        }
    }

    fn name(&mut self, what: &'static str) -> Result<String> {
        let at = self.cursor.offset();
        let len = self.size(what)?;
        let bytes = self.padded(len, what)?;
        match std::str::from_utf8(bytes) {
            Ok("") => Err(Error::invalid(format!("{what} is empty")).at(at)),
            Ok(name) => Ok(name.to_owned()),
            Err(_) => Err(Error::invalid(format!("{what} is not UTF-8")).at(at)),
        }
    }

    /// Bytes, and those up to the next multiple of four.
    fn padded(&mut self, len: u64, what: &'static str) -> Result<&'a [u8]> {
        let bytes = self.cursor.take_u64(len, what)?;
        self.cursor.take_u64(len.wrapping_neg() % 4, what)?;
        Ok(bytes)
    }

    /// How many elements a list has; none when it is absent.
    fn list(&mut self, tag: u32, what: &'static str) -> Result<u64> {
        let at = self.cursor.offset();
        let found = self.cursor.u32_be(what)?;
        let count = self.size(what)?;
        match found {
            _ if found == tag => Ok(count),
            0 if count == 0 => Ok(0),
            0 => Err(Error::invalid(format!("{what}: the list is absent and has {count} elements")).at(at)),
            _ => Err(Error::invalid(format!("{what}: the tag is {found}; {tag} or 0 is allowed")).at(at)),
        }
    }

    fn dimensions(&mut self, limits: &Limits) -> Result<Vec<Dimension>> {
        let (mut all, mut names) = (Vec::new(), HashSet::new());
        for index in 0..self.list(DIMENSIONS, "the dimensions")? {
            limits.check_columns("the number of dimensions", index + 1)?;
            let at = self.cursor.offset();
            let name = self.name("the name of a dimension")?;
            let size = self.size("the size of a dimension")?;
            if !names.insert(name.clone()) {
                return Err(Error::invalid(format!("two dimensions are called {name:?}")).at(at));
            }
            if size == 0 && all.iter().any(|dimension: &Dimension| dimension.unlimited) {
                return Err(Error::invalid(format!("{name:?} is the second dimension without a size")).at(at));
            }
            all.push(Dimension { name, size, unlimited: size == 0 });
        }
        Ok(all)
    }

    fn nc_type(&mut self, what: &'static str) -> Result<NcType> {
        let at = self.cursor.offset();
        let code = self.cursor.u32_be(what)?;
        let last = if self.kind == Kind::Data64 { u32::MAX } else { LAST_OF_CLASSIC };
        let found = CODES.into_iter().find(|(known, _)| *known == code && code <= last);
        found.map(|(_, found)| found).ok_or_else(|| {
            let last = if self.kind == Kind::Data64 { 11 } else { LAST_OF_CLASSIC };
            Error::invalid(format!("{what} is {code}; 1 to {last} are allowed")).at(at)
        })
    }

    fn attributes(&mut self) -> Result<Vec<Attribute>> {
        let mut all = Vec::new();
        for _ in 0..self.list(ATTRIBUTES, "the attributes")? {
            let name = self.name("the name of an attribute")?;
            let nc_type = self.nc_type("the type of an attribute")?;
            let at = self.cursor.offset();
            let count = self.size("the length of an attribute")?;
            let width = nc_type.width().unwrap_or(1) as u64;
            let len = count.checked_mul(width).ok_or_else(|| {
                Error::invalid(format!("an attribute has {count} elements, more than 2^64 bytes")).at(at)
            })?;
            let bytes = self.padded(len, "the values of an attribute")?;
            let value = match nc_type {
                NcType::Number(number) => AttributeValue::Numbers(numbers(number, [bytes])?),
                _ => AttributeValue::text(bytes),
            };
            all.push(Attribute { name, value });
        }
        Ok(all)
    }

    fn variables(&mut self, dimensions: &[Dimension], limits: &Limits) -> Result<Vec<Variable>> {
        let (mut all, mut names) = (Vec::new(), HashSet::new());
        for index in 0..self.list(VARIABLES, "the variables")? {
            limits.check_columns("the number of variables", index + 1)?;
            let at = self.cursor.offset();
            let variable = self.variable(dimensions)?;
            if !names.insert(variable.name.clone()) {
                return Err(Error::invalid(format!("two variables are called {:?}", variable.name)).at(at));
            }
            all.push(variable);
        }
        Ok(all)
    }

    fn variable(&mut self, dimensions: &[Dimension]) -> Result<Variable> {
        let name = self.name("the name of a variable")?;
        self.named(name.clone(), dimensions).map_err(|error| error.in_column(name))
    }

    /// What follows the name of a variable.
    fn named(&mut self, name: String, dimensions: &[Dimension]) -> Result<Variable> {
        let (mut places, mut shape, mut problem) = (Vec::new(), Vec::new(), None);
        for axis in 0..self.size("the number of a variable's dimensions")? {
            let place = self.size("a dimension of a variable")?;
            let found = usize::try_from(place).ok().and_then(|place| Some((place, dimensions.get(place)?)));
            let Some((place, dimension)) = found else {
                problem = Some(format!("its dimension {axis} is number {place}, the file has {}", dimensions.len()));
                continue;
            };
            if dimension.unlimited && axis > 0 {
                problem = Some(format!("its dimension {axis} is that of the records, which can only be the first"));
            }
            places.push(place);
            shape.push(dimension.size);
        }
        let attributes = self.attributes()?;
        let nc_type = self.nc_type("the type of a variable")?;
        self.size("the bytes of a variable")?; // which follow from its sizes, and overflow in large files
        let begin = self.position()?;
        let first = places.first().and_then(|place| dimensions.get(*place));
        let of_records = problem.is_none() && first.is_some_and(|dimension| dimension.unlimited);
        if problem.is_none() && product(shape.get(usize::from(of_records)..).unwrap_or_default()).is_none() {
            problem = Some(format!("its sizes {shape:?} make more than 2^64 elements"));
        }
        let place = if of_records { Place::Records { begin, stride: 0 } } else { Place::Fixed { begin } };
        Ok(Variable {
            name,
            dimensions: places,
            shape,
            nc_type,
            attributes,
            chunks: None,
            big_endian: true,
            problem,
            no_fill: false,
            place,
        })
    }
}
