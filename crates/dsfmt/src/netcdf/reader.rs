//! A NetCDF file, opened.

use std::ops::Range;
use std::path::Path;

use container_core::{Error, Limits, Loss, OpenOptions, Position, Result, Source};

use super::mask::mask;
use super::model::{Attribute, AttributeValue, Dimension, Kind, NcType, Variable, product};
use super::number::unsigned;
use super::scale::Scaling;
use super::{FORMAT_NAME, classic, hdf5};
use crate::array::{Array, Strings, Values};
use crate::types::DataType;

/// A NetCDF file of any kind, opened: dimensions, attributes and variables are known, of the values nothing was touched.
pub struct Reader {
    source: Source,
    limits: Limits,
    kind: Kind,
    dimensions: Vec<Dimension>,
    attributes: Vec<Attribute>,
    variables: Vec<Variable>,
    losses: Vec<Loss>,
    /// The datasets of a NetCDF-4 file.
    datasets: Option<hdf5::Datasets>,
}

/// How values are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Applies `scale_factor`, `add_offset` and `_Unsigned`, as Python's `netCDF4` and ds-format do; the type is then that of the result. Off:
    /// values as they are stored, and those three are attributes like any others.
    pub scaled: bool,
    /// What becomes of characters.
    pub characters: Characters,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { scaled: false, characters: Characters::Encoded }
    }
}

impl ReadOptions {
    /// Replaces [`scaled`](Self::scaled).
    #[must_use]
    pub const fn with_scaled(mut self, scaled: bool) -> Self {
        self.scaled = scaled;
        self
    }

    /// Replaces [`characters`](Self::characters).
    #[must_use]
    pub const fn with_characters(mut self, characters: Characters) -> Self {
        self.characters = characters;
        self
    }
}

/// What becomes of an array of characters (`NC_CHAR`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Characters {
    /// Each is a string of one byte, as Python's `netCDF4` and ds-format have it; but where the attribute `_Encoding` says that the last
    /// dimension holds texts they are joined.
    Encoded,
    /// Those along the last dimension are one string, NULs at its end cut off: of bytes, or texts where `_Encoding` names UTF-8 or ASCII.
    Joined,
    /// Each is a string of one byte, in every case.
    Single,
}

impl Reader {
    /// Opens a file with default options.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io); [`Unsupported`](container_core::ErrorKind::Unsupported) for another version of CDF;
    /// [`Invalid`](container_core::ErrorKind::Invalid), [`Truncated`](container_core::ErrorKind::Truncated) and
    /// [`Limit`](container_core::ErrorKind::Limit) for what is no NetCDF file, is damaged, or asks for too much.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, OpenOptions::default())
    }

    /// Opens a file.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let source = Source::open_with(path, options.access).map_err(|error| error.in_format(FORMAT_NAME))?;
        Self::from_source(source, options).map_err(|error| error.in_file(path.display().to_string()))
    }

    /// Opens bytes, wherever they are.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_source(source: Source, options: OpenOptions) -> Result<Self> {
        Self::parse(source, options.limits).map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn parse(source: Source, limits: Limits) -> Result<Self> {
        let head = source.read(0..source.len().min(8))?;
        let mut reader = if classic::header::kind(&head).is_some() {
            let header = classic::open(&source, &limits)?;
            Self {
                source,
                limits,
                kind: header.kind,
                dimensions: header.dimensions,
                attributes: header.attributes,
                variables: header.variables,
                losses: Vec::new(),
                datasets: None,
            }
        } else if hdf5::is_hdf5(&source) {
            let opened = hdf5::open(&source, &limits)?;
            Self {
                source,
                limits,
                kind: Kind::Hdf5,
                dimensions: opened.dimensions,
                attributes: opened.attributes,
                variables: opened.variables,
                losses: opened.losses,
                datasets: Some(opened.datasets),
            }
        } else {
            return Err(Error::invalid("it begins neither with \"CDF\" nor as an HDF5 file").at(0));
        };
        for variable in &reader.variables {
            if let NcType::Other(words) = &variable.nc_type {
                let what = format!("the variable {:?} is left out: its elements are {words}", variable.name);
                reader.losses.push(Loss::new(what, 1, Position::default()));
            }
        }
        Ok(reader)
    }

    /// Which kind of file it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The file's bytes.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The dimensions in the file's order.
    #[must_use]
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// The attributes of the file, in order.
    #[must_use]
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// The variables in the file's order, those that cannot be read among them.
    #[must_use]
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// What the file holds and is not given: groups, compound types, and the like. One entry each.
    #[must_use]
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// The variable of this name.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when there is none.
    pub fn variable(&self, name: &str) -> Result<&Variable> {
        self.variables
            .iter()
            .find(|variable| variable.name == name)
            .ok_or_else(|| Error::usage(format!("there is no variable {name:?}")).in_format(FORMAT_NAME))
    }

    /// The names of a variable's dimensions.
    pub fn dimension_names<'r>(&'r self, variable: &Variable) -> impl Iterator<Item = &'r str> {
        let places: Vec<usize> = variable.dimensions.clone();
        places.into_iter().filter_map(|place| self.dimensions.get(place)).map(|dimension| dimension.name.as_str())
    }

    /// The type of the values that [`read`](Self::read) gives; `None` for a variable that it does not read.
    #[must_use]
    pub fn data_type(&self, variable: &Variable, options: &ReadOptions) -> Option<DataType> {
        let stored = variable.nc_type.data_type()?;
        Some(match stored {
            DataType::Str if joined(variable, options) && is_text(variable) => DataType::Unicode,
            number if options.scaled && number.width().is_some() => Scaling::of(variable).data_type(number),
            other => other,
        })
    }

    /// The sizes of the values that [`read`](Self::read) gives: without the last where characters are joined.
    #[must_use]
    pub fn shape<'v>(&self, variable: &'v Variable, options: &ReadOptions) -> &'v [u64] {
        match variable.shape.split_last() {
            Some((_, others)) if joined(variable, options) => others,
            _ => &variable.shape,
        }
    }

    /// The values of some rows along the first dimension; a scalar has one row.
    ///
    /// What the variable's attributes declare missing, or NetCDF's default fill value, is masked: see the page of this module. Costs
    /// memory for the rows, of a NetCDF-4 file also for the pieces they lie in; texts, characters
    /// and enumerations of NetCDF-4 are read whole each time.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for rows past the last, [`Unsupported`](container_core::ErrorKind::Unsupported) for
    /// types that ds does not have, [`Invalid`](container_core::ErrorKind::Invalid) for a variable with a problem, and what
    /// [`Limits::block_bytes`] does not allow; each with the variable as column.
    pub fn read(&self, variable: &Variable, rows: Range<u64>, options: &ReadOptions) -> Result<Array<'static>> {
        self.read_rows(variable, rows, options).map_err(|error| variable.error(error))
    }

    fn read_rows(&self, variable: &Variable, rows: Range<u64>, options: &ReadOptions) -> Result<Array<'static>> {
        self.check(variable, &rows, options)?;
        let mut shape = variable.shape.clone();
        if let Some(first) = shape.first_mut() {
            *first = rows.end - rows.start;
        }
        let values = match &self.datasets {
            Some(datasets) => hdf5::read(datasets, variable, rows, &self.limits)?,
            None => classic::read(&self.source, variable, rows)?,
        };
        if let (Values::Str(characters), true) = (&values, joined(variable, options)) {
            let last = shape.pop().unwrap_or(1);
            return Array::new(shape.clone(), strings(variable, characters, last, &shape)?);
        }
        let scaling = if options.scaled { Scaling::of(variable) } else { Scaling::default() };
        let values = if scaling.unsigned { unsigned(values) } else { values };
        let missing = mask(variable, &values, scaling.unsigned);
        let mut array = Array::new(shape, values)?;
        if let Some(missing) = missing {
            array = array.with_mask(missing)?;
        }
        scaling.apply(array)
    }

    /// May these rows be read?
    fn check(&self, variable: &Variable, rows: &Range<u64>, options: &ReadOptions) -> Result<()> {
        if let Some(problem) = &variable.problem {
            return Err(Error::invalid(problem.clone()));
        }
        if let NcType::Other(words) = &variable.nc_type {
            return Err(Error::unsupported(format!("its elements are {words}")));
        }
        if rows.start > rows.end || rows.end > variable.rows() {
            let detail = format!("rows {} to {} are asked for, it has {}", rows.start, rows.end, variable.rows());
            return Err(Error::usage(detail));
        }
        let bytes = held_bytes(variable, rows.end - rows.start, options);
        self.limits.check_block("the bytes of the rows", bytes.unwrap_or(u64::MAX))
    }

    /// Rows of which so many bytes are read at once, at least one: whole pieces of a NetCDF-4 file.
    pub(crate) fn rows_at_once(&self, variable: &Variable, bytes: u64) -> u64 {
        let whole = variable.rows().max(1);
        let width = variable.nc_type.width().map_or(16, |width| width as u64);
        let row = variable.row_elements().and_then(|row| row.checked_mul(width)).unwrap_or(u64::MAX).max(1);
        let chunk = variable.chunks.as_deref().and_then(|sizes| sizes.first()).copied().unwrap_or(1).max(1);
        let wanted = (bytes / row).max(1);
        let step = match variable.nc_type {
            // Each read of these reads all.
            NcType::String | NcType::Char | NcType::Enum { .. } if self.datasets.is_some() => whole,
            // Pieces that are too large to be read at once are kept, whole, by the cache below.
            _ if chunk.saturating_mul(row) > self.limits.block_bytes / 4 => wanted,
            _ => wanted.next_multiple_of(chunk),
        };
        step.min(whole)
    }
}

/// What the values of so many rows take in memory, in bytes; `None` beyond 2^64.
pub(crate) fn held_bytes(variable: &Variable, rows: u64, options: &ReadOptions) -> Option<u64> {
    let of = |inner: &[u64]| product(inner).and_then(|row| row.checked_mul(rows));
    let inner = variable.shape.get(1..).unwrap_or_default();
    // A character becomes a string: its place is what it takes.
    let width = variable.nc_type.width().map_or(16, |width| if width == 1 { 9 } else { width as u64 });
    let bytes = of(inner)?.checked_mul(width)?;
    match inner.split_last() {
        // A text takes a place also where it has no characters.
        Some((0, others)) if joined(variable, options) => of(others)?.checked_mul(size_of::<usize>() as u64),
        _ => Some(bytes),
    }
}

/// Are the characters along the last dimension texts?
pub(crate) fn joined(variable: &Variable, options: &ReadOptions) -> bool {
    variable.nc_type == NcType::Char
        && !variable.shape.is_empty()
        && match options.characters {
            Characters::Joined => true,
            Characters::Encoded => variable.attribute("_Encoding").is_some(),
            Characters::Single => false,
        }
}

/// Is the encoding one that is UTF-8?
fn is_text(variable: &Variable) -> bool {
    let encoding = variable.attribute("_Encoding").and_then(AttributeValue::as_text).unwrap_or_default();
    ["utf-8", "utf8", "ascii", "us-ascii"].contains(&encoding.to_ascii_lowercase().replace('_', "-").as_str())
}

/// Characters along the last dimension, joined.
fn strings(variable: &Variable, characters: &Strings<'_>, last: u64, shape: &[u64]) -> Result<Values<'static>> {
    let last = usize::try_from(last).unwrap_or(usize::MAX);
    let count = product(shape).and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
    let mut all = Strings::default();
    let mut text = Vec::new();
    for index in 0..count {
        text.clear();
        for place in index * last..(index + 1) * last {
            // NUL is a string of no length here.
            text.push(characters.get(place).and_then(|found| found.first()).copied().unwrap_or(0));
        }
        let end = text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        all.push(text.get(..end).unwrap_or_default());
    }
    Ok(if is_text(variable) { Values::Unicode(all) } else { Values::Str(all) })
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("kind", &self.kind)
            .field("variables", &self.variables.len())
            .finish_non_exhaustive()
    }
}
