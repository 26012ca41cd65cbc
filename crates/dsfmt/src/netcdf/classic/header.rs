//! Parses the header of classic files.

use std::collections::HashSet;

use container_core::{Cursor, Error, Limits, Result};

use super::numbers;
use crate::netcdf::model::{Attribute, AttributeValue, Dimension, Kind, Location, NcType, Variable, product};
use crate::types::DataType;

/// Tags of the three lists.
pub(crate) const DIMENSIONS: u32 = 10;
pub(crate) const VARIABLES: u32 = 11;
pub(crate) const ATTRIBUTES: u32 = 12;

/// A parsed header.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) dimensions: Vec<Dimension>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) variables: Vec<Variable>,
}

/// The kind by a file's first bytes; `None` for other formats.
pub(crate) fn kind(head: &[u8]) -> Option<Result<Kind>> {
    let version = head.strip_prefix(b"CDF")?.first()?;
    Some(match version {
        1 => Ok(Kind::Classic),
        2 => Ok(Kind::Offset64),
        5 => Ok(Kind::Data64),
        other => {
            Err(Error::unsupported(format!("unsupported version CDF-{other} (known: CDF-1, CDF-2, CDF-5, NetCDF-4)"))
                .at(3))
        }
    })
}

/// Type codes.
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

/// Largest type code in CDF-1 and CDF-2.
const MAX_CLASSIC_CODE: u32 = 6;

struct Parser<'a> {
    cursor: Cursor<'a>,
    kind: Kind,
}

impl Header {
    /// Parses the beginning of a file of `len` bytes. [`Truncated`](container_core::ErrorKind::Truncated) when more bytes are needed.
    pub(crate) fn parse(bytes: &[u8], len: u64, limits: &Limits) -> Result<Self> {
        let kind = kind(bytes).unwrap_or_else(|| Err(Error::invalid("expected \"CDF\" at the start").at(0)))?;
        let mut parser = Parser { cursor: Cursor::new(bytes), kind };
        parser.cursor.take(4, "version")?;
        let records = parser.size("number of records")?;
        // All ones: written as a stream; the file size gives the number.
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
            if let (Location::Records { stride: slot, .. }, Some(rows)) =
                (&mut variable.location, variable.shape.first_mut())
            {
                (*slot, *rows) = (stride, records);
            }
            if variable.problem.is_none() {
                variable.problem = location_problem(variable, len);
            }
        }
        Ok(Self { kind, dimensions, attributes, variables })
    }
}

/// Bytes from one record to the next.
fn stride(variables: &[Variable]) -> Result<u64> {
    let records = || variables.iter().filter(|variable| matches!(variable.location, Location::Records { .. }));
    // Records of a single variable are not padded.
    if let (Some(only), 1) = (records().next(), records().count()) {
        return Ok(row_bytes(only).unwrap_or(0));
    }
    records()
        .try_fold(0u64, |all, variable| {
            row_bytes(variable).unwrap_or(0).checked_next_multiple_of(4).and_then(|padded| all.checked_add(padded))
        })
        .ok_or_else(|| Error::invalid("a record exceeds 2^64 bytes"))
}

/// Bytes per row without padding; `None` for unsupported types and beyond 2^64.
pub(crate) fn row_bytes(variable: &Variable) -> Option<u64> {
    variable.row_elements()?.checked_mul(variable.nc_type.width()? as u64)
}

/// Number of records that fit in a file of `len` bytes.
fn streamed_records(variables: &[Variable], stride: u64, len: u64) -> u64 {
    let first = variables.iter().filter_map(|variable| match variable.location {
        Location::Records { begin, .. } => Some(begin),
        _ => None,
    });
    first.min().map_or(0, |begin| len.saturating_sub(begin).checked_div(stride).unwrap_or(0))
}

/// Checks a variable's location against the file size.
fn location_problem(variable: &Variable, len: u64) -> Option<String> {
    let too_large = || Some(format!("its sizes {:?} exceed 2^64 bytes", variable.shape));
    let Some(row) = row_bytes(variable) else { return too_large() };
    let (begin, bytes) = match variable.location {
        Location::Fixed { begin } => (begin, row.checked_mul(variable.rows())),
        Location::Records { begin, stride } => match variable.rows() {
            0 => (begin, Some(0)),
            rows => (begin, stride.checked_mul(rows - 1).and_then(|all| all.checked_add(row))),
        },
        _ => return None,
    };
    let Some(bytes) = bytes else { return too_large() };
    match begin.checked_add(bytes) {
        Some(end) if end <= len || bytes == 0 => None,
        _ => Some(format!("its {bytes} bytes at offset {begin} exceed the file of {len} bytes")),
    }
}

impl<'a> Parser<'a> {
    /// A count or length: 32 bits, 64 in CDF-5.
    fn size(&mut self, what: &'static str) -> Result<u64> {
        match self.kind {
            Kind::Data64 => self.cursor.u64_be(what),
            _ => self.cursor.u32_be(what).map(u64::from),
        }
    }

    /// A file offset: 64 bits, 32 in CDF-1.
    fn position(&mut self) -> Result<u64> {
        match self.kind {
            Kind::Classic => self.cursor.u32_be("offset of a variable").map(u64::from),
            _ => self.cursor.u64_be("offset of a variable"),
        }
    }

    fn name(&mut self, what: &'static str) -> Result<String> {
        let at = self.cursor.offset();
        let len = self.size(what)?;
        let bytes = self.padded(len, what)?;
        match std::str::from_utf8(bytes) {
            Ok("") => Err(Error::invalid(format!("{what} is empty")).at(at)),
            Ok(name) => Ok(name.to_owned()),
            Err(_) => Err(Error::invalid(format!("{what} is not valid UTF-8")).at(at)),
        }
    }

    /// `len` bytes and their padding to a multiple of four.
    fn padded(&mut self, len: u64, what: &'static str) -> Result<&'a [u8]> {
        let bytes = self.cursor.take_u64(len, what)?;
        self.cursor.take_u64(len.wrapping_neg() % 4, what)?;
        Ok(bytes)
    }

    /// The length of a list; 0 if absent.
    fn list(&mut self, tag: u32, what: &'static str) -> Result<u64> {
        let at = self.cursor.offset();
        let found = self.cursor.u32_be(what)?;
        let count = self.size(what)?;
        match found {
            _ if found == tag => Ok(count),
            0 if count == 0 => Ok(0),
            0 => {
                Err(Error::invalid(format!("{what}: expected an absent list to be empty, found {count} elements"))
                    .at(at))
            }
            _ => Err(Error::invalid(format!("{what}: expected tag {tag} or 0, found {found}")).at(at)),
        }
    }

    fn dimensions(&mut self, limits: &Limits) -> Result<Vec<Dimension>> {
        let (mut all, mut names) = (Vec::new(), HashSet::new());
        for index in 0..self.list(DIMENSIONS, "dimensions")? {
            limits.check_columns("number of dimensions", index + 1)?;
            let at = self.cursor.offset();
            let name = self.name("dimension name")?;
            let size = self.size("dimension size")?;
            if !names.insert(name.clone()) {
                return Err(Error::invalid(format!("duplicate dimension {name:?}")).at(at));
            }
            if size == 0 && all.iter().any(|dimension: &Dimension| dimension.unlimited) {
                return Err(Error::invalid(format!("second unlimited dimension {name:?}")).at(at));
            }
            all.push(Dimension { name, size, unlimited: size == 0 });
        }
        Ok(all)
    }

    fn nc_type(&mut self, what: &'static str) -> Result<NcType> {
        let at = self.cursor.offset();
        let code = self.cursor.u32_be(what)?;
        let last = if self.kind == Kind::Data64 { u32::MAX } else { MAX_CLASSIC_CODE };
        let known = CODES.into_iter().find(|(known, _)| *known == code && code <= last);
        known.map(|(_, nc_type)| nc_type).ok_or_else(|| {
            let last = if self.kind == Kind::Data64 { 11 } else { MAX_CLASSIC_CODE };
            Error::invalid(format!("{what}: expected 1 to {last}, found {code}")).at(at)
        })
    }

    fn attributes(&mut self) -> Result<Vec<Attribute>> {
        let mut all = Vec::new();
        for _ in 0..self.list(ATTRIBUTES, "attributes")? {
            let name = self.name("attribute name")?;
            let nc_type = self.nc_type("attribute type")?;
            let at = self.cursor.offset();
            let count = self.size("attribute length")?;
            let width = nc_type.width().unwrap_or(1) as u64;
            let len = count
                .checked_mul(width)
                .ok_or_else(|| Error::invalid(format!("an attribute of {count} elements exceeds 2^64 bytes")).at(at))?;
            let bytes = self.padded(len, "attribute values")?;
            let value = match nc_type {
                NcType::Number(number) => AttributeValue::Numbers(numbers(number, bytes)?),
                _ => AttributeValue::from_text(bytes),
            };
            all.push(Attribute { name, value });
        }
        Ok(all)
    }

    fn variables(&mut self, dimensions: &[Dimension], limits: &Limits) -> Result<Vec<Variable>> {
        let (mut all, mut names) = (Vec::new(), HashSet::new());
        for index in 0..self.list(VARIABLES, "variables")? {
            limits.check_columns("number of variables", index + 1)?;
            let at = self.cursor.offset();
            let variable = self.variable(dimensions)?;
            if !names.insert(variable.name.clone()) {
                return Err(Error::invalid(format!("duplicate variable {:?}", variable.name)).at(at));
            }
            all.push(variable);
        }
        Ok(all)
    }

    fn variable(&mut self, dimensions: &[Dimension]) -> Result<Variable> {
        let name = self.name("variable name")?;
        self.variable_body(name.clone(), dimensions).map_err(|error| error.in_column(name))
    }

    /// Parses what follows a variable's name.
    fn variable_body(&mut self, name: String, dimensions: &[Dimension]) -> Result<Variable> {
        let (mut indices, mut shape, mut problem) = (Vec::new(), Vec::new(), None);
        for axis in 0..self.size("number of dimensions of a variable")? {
            let index = self.size("dimension index of a variable")?;
            let known = usize::try_from(index).ok().and_then(|index| Some((index, dimensions.get(index)?)));
            let Some((index, dimension)) = known else {
                problem =
                    Some(format!("its dimension {axis} has index {index}, out of range for {}", dimensions.len()));
                continue;
            };
            if dimension.unlimited && axis > 0 {
                problem = Some(format!("its dimension {axis} is unlimited, which is allowed for the first only"));
            }
            indices.push(index);
            shape.push(dimension.size);
        }
        let attributes = self.attributes()?;
        let nc_type = self.nc_type("variable type")?;
        self.size("byte size of a variable")?; // redundant, and overflows in large files
        let begin = self.position()?;
        let first = indices.first().and_then(|index| dimensions.get(*index));
        let is_record = problem.is_none() && first.is_some_and(|dimension| dimension.unlimited);
        if problem.is_none() && product(shape.get(usize::from(is_record)..).unwrap_or_default()).is_none() {
            problem = Some(format!("its sizes {shape:?} exceed 2^64 elements"));
        }
        let location = if is_record { Location::Records { begin, stride: 0 } } else { Location::Fixed { begin } };
        Ok(Variable {
            name,
            dimensions: indices,
            shape,
            nc_type,
            attributes,
            chunks: None,
            big_endian: true,
            problem,
            no_fill: false,
            location,
        })
    }
}
