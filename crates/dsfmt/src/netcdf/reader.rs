//! Reads NetCDF files.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use container_core::{Error, Limits, Loss, OpenOptions, Position, Result, Source};
use serde_json::{Map, Value};

use super::mask::mask;
use super::model::{Attribute, AttributeValue, Described, Dimension, Kind, Location, NcType, Variable, product};
use super::number::{Number, unsigned};
use super::scale::Scaling;
use super::{FORMAT_NAME, classic, hdf5};
use crate::array::{Array, Strings, Values, each_kind};
use crate::types::DataType;

/// A NetCDF file of any kind, or a Zarr store, opened for reading. Dimensions, attributes and variables are loaded; values are untouched.
pub struct Reader {
    source: Source,
    limits: Limits,
    kind: Kind,
    described: Described,
    storage: Storage,
}

/// Where values come from.
enum Storage {
    /// A file of a classic kind.
    Classic,
    /// Datasets of a NetCDF-4 file.
    Hdf5(Box<hdf5::Datasets>),
    /// Arrays of a Zarr store.
    Zarr(Box<dyn Store>),
}

/// The arrays of a Zarr store. A trait, because this module does without the feature `zarr`.
pub(crate) trait Store: Send + Sync {
    /// The version of the Zarr specification.
    fn version(&self) -> u32;

    /// Bytes of the files, counted until they are `enough`.
    fn stored_bytes(&self, enough: u64) -> u64;

    /// Reads a range of elements of the array at `index`. The caller has checked that it is within the array, and its bytes.
    fn read(&self, index: usize, elements: Range<u64>) -> Result<Values<'static>>;

    /// What only Zarr has: type, codecs and fill value of an array.
    fn summary(&self, variable: &Variable) -> Map<String, Value>;
}

/// Options for reading values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Unpacks values with `scale_factor`, `add_offset` and `_Unsigned`, as Python's `netCDF4` and ds-format do; the type is that of the
    /// result. If false, values stay packed, and the three are ordinary attributes.
    pub scaled: bool,
    /// How characters become strings.
    pub characters: Characters,
    /// Enumerations are read as the names of their values; otherwise as integers. A value without a name is its number as text.
    pub names: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { scaled: false, characters: Characters::Encoded, names: false }
    }
}

impl ReadOptions {
    /// Replaces [`scaled`](Self::scaled).
    #[must_use]
    pub const fn with_scaled(mut self, scaled: bool) -> Self {
        self.scaled = scaled;
        self
    }

    /// Replaces [`names`](Self::names).
    #[must_use]
    pub const fn with_names(mut self, names: bool) -> Self {
        self.names = names;
        self
    }

    /// Replaces [`characters`](Self::characters).
    #[must_use]
    pub const fn with_characters(mut self, characters: Characters) -> Self {
        self.characters = characters;
        self
    }
}

/// How arrays of characters (`NC_CHAR`) become strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Characters {
    /// One string per byte, as in Python's `netCDF4` and ds-format; joined along the last dimension if the attribute `_Encoding` declares text.
    Encoded,
    /// One string along the last dimension, without trailing NULs: `unicode` if `_Encoding` names UTF-8 or ASCII, otherwise `str`.
    Joined,
    /// Always one string per byte.
    Single,
}

impl Reader {
    /// Opens a file with default options.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io); [`Unsupported`](container_core::ErrorKind::Unsupported) for an unknown CDF version;
    /// [`Invalid`](container_core::ErrorKind::Invalid), [`Truncated`](container_core::ErrorKind::Truncated) and
    /// [`Limit`](container_core::ErrorKind::Limit) for other formats, damaged files and excessive sizes.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, OpenOptions::default())
    }

    /// Opens a file with the given options.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let source = Source::open_with(path, options.access).map_err(|error| error.in_format(FORMAT_NAME))?;
        Self::from_source(source, options).map_err(|error| error.in_file(path.display().to_string()))
    }

    /// Opens any source of bytes.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_source(source: Source, options: OpenOptions) -> Result<Self> {
        Self::parse(source, options.limits).map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn parse(source: Source, limits: Limits) -> Result<Self> {
        let head = source.read(0..source.len().min(8))?;
        let reader = if classic::header::kind(&head).is_some() {
            let header = classic::open(&source, &limits)?;
            let described = Described {
                dimensions: header.dimensions,
                attributes: header.attributes,
                variables: header.variables,
                losses: Vec::new(),
            };
            Self { source, limits, kind: header.kind, described, storage: Storage::Classic }
        } else if hdf5::is_hdf5(&source) {
            let opened = hdf5::open(&source, &limits)?;
            let storage = Storage::Hdf5(Box::new(opened.datasets));
            Self { source, limits, kind: Kind::Hdf5, described: opened.described, storage }
        } else {
            return Err(Error::invalid("expected \"CDF\" or an HDF5 signature at the start").at(0));
        };
        Ok(reader.with_losses_of_types())
    }

    /// Reports the variables of types that ds does not have.
    fn with_losses_of_types(mut self) -> Self {
        let Described { variables, losses, .. } = &mut self.described;
        for variable in variables.iter() {
            if let Some(why) = variable.unsupported() {
                let why = variable.problem.as_ref().unwrap_or(&why);
                losses.push(Loss::new(format!("variable {:?} left out: {why}", variable.name), 1, Position::default()));
            }
        }
        self
    }

    pub(crate) fn from_store(described: Described, store: Box<dyn Store>, limits: Limits) -> Self {
        let (source, storage) = (Source::from(Vec::new()), Storage::Zarr(store));
        Self { source, limits, kind: Kind::Zarr, described, storage }.with_losses_of_types()
    }

    pub(crate) fn store(&self) -> Option<&dyn Store> {
        match &self.storage {
            Storage::Zarr(store) => Some(store.as_ref()),
            _ => None,
        }
    }

    /// Bytes of the file, or of all files of a Zarr store.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.stored_bytes(u64::MAX)
    }

    /// Bytes of the file, or of the files of a Zarr store, which are counted until they are `enough`.
    pub(crate) fn stored_bytes(&self, enough: u64) -> u64 {
        self.store().map_or(self.source.len(), |store| store.stored_bytes(enough))
    }

    /// The kind of the file.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The source of the file's bytes; empty for a Zarr store.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The dimensions, in file order.
    #[must_use]
    pub fn dimensions(&self) -> &[Dimension] {
        &self.described.dimensions
    }

    /// The attributes of the file, in order.
    #[must_use]
    pub fn attributes(&self) -> &[Attribute] {
        &self.described.attributes
    }

    /// The variables in file order, including unreadable ones.
    #[must_use]
    pub fn variables(&self) -> &[Variable] {
        &self.described.variables
    }

    /// What is in the file but not exposed, such as groups and compound types; one entry each.
    #[must_use]
    pub fn losses(&self) -> &[Loss] {
        &self.described.losses
    }

    /// The variable called `name`.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for an unknown name.
    pub fn variable(&self, name: &str) -> Result<&Variable> {
        self.described
            .variables
            .iter()
            .find(|variable| variable.name == name)
            .ok_or_else(|| Error::usage(format!("unknown variable {name:?}")).in_format(self.kind.format()))
    }

    /// Names of a variable's dimensions.
    pub fn dimension_names<'r>(&'r self, variable: &Variable) -> impl Iterator<Item = &'r str> {
        let indices: Vec<usize> = variable.dimensions.clone();
        indices
            .into_iter()
            .filter_map(|index| self.described.dimensions.get(index))
            .map(|dimension| dimension.name.as_str())
    }

    /// The type that [`read`](Self::read) returns; `None` for unsupported types.
    #[must_use]
    pub fn data_type(&self, variable: &Variable, options: &ReadOptions) -> Option<DataType> {
        let stored = variable.nc_type.data_type()?;
        if let (NcType::Enum { .. }, true) = (&variable.nc_type, options.names) {
            return Some(DataType::Unicode);
        }
        Some(match stored {
            DataType::Str if joins_characters(variable, options) && is_text(variable) => DataType::Unicode,
            number if options.scaled && number.width().is_some() => Scaling::new(variable).data_type(number),
            other => other,
        })
    }

    /// The shape that [`read`](Self::read) returns: without the last dimension if characters are joined.
    #[must_use]
    pub fn shape<'v>(&self, variable: &'v Variable, options: &ReadOptions) -> &'v [u64] {
        match variable.shape.split_last() {
            Some((_, others)) if joins_characters(variable, options) => others,
            _ => &variable.shape,
        }
    }

    /// Reads a row range along the first dimension; a scalar has one row.
    ///
    /// Elements that are missing by the variable's attributes or equal NetCDF's default fill value are masked: see the module page. Holds the
    /// rows in memory, for NetCDF-4 also the chunks that contain them; strings, characters and enumerations of NetCDF-4 are read whole each time.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for rows out of range, [`Unsupported`](container_core::ErrorKind::Unsupported) for types
    /// that ds does not have, [`Invalid`](container_core::ErrorKind::Invalid) for a variable with a problem, and
    /// [`Limit`](container_core::ErrorKind::Limit) beyond
    /// [`Limits::block_bytes`]; each names the variable as column.
    pub fn read(&self, variable: &Variable, rows: Range<u64>, options: &ReadOptions) -> Result<Array<'static>> {
        self.read_rows(variable, rows, options).map_err(|error| variable.error(error))
    }

    fn read_rows(&self, variable: &Variable, rows: Range<u64>, options: &ReadOptions) -> Result<Array<'static>> {
        self.check(variable, &rows, options)?;
        let mut shape = variable.shape.clone();
        if let Some(first) = shape.first_mut() {
            *first = rows.end - rows.start;
        }
        let values = match &self.storage {
            Storage::Hdf5(datasets) => hdf5::read(datasets, variable, rows, &self.limits)?,
            Storage::Classic => classic::read(&self.source, variable, rows)?,
            Storage::Zarr(store) => {
                let row = variable.row_elements().unwrap_or(u64::MAX);
                stored_values(store.as_ref(), variable, rows.start.saturating_mul(row)..rows.end.saturating_mul(row))?
            }
        };
        if let (Values::Str(characters), true) = (&values, joins_characters(variable, options)) {
            let last = shape.pop().unwrap_or(1);
            return Array::new(shape.clone(), join_characters(variable, characters, last, &shape)?);
        }
        finished(variable, shape, values, options)
    }

    /// Reads a member of a compound variable in a row range: as [`read`](Self::read), with the sizes of the member added to the shape. The whole
    /// variable is read each time, whatever the rows.
    pub(crate) fn read_member(
        &self,
        variable: &Variable,
        member: usize,
        rows: Range<u64>,
        options: &ReadOptions,
    ) -> Result<Array<'static>> {
        let read = || {
            let (NcType::Compound { size, members, .. }, Storage::Hdf5(datasets)) = (&variable.nc_type, &self.storage)
            else {
                return Err(Error::usage("the variable has no members"));
            };
            let member = members.get(member).ok_or_else(|| Error::usage("unknown member"))?;
            if rows.start > rows.end || rows.end > variable.rows() {
                return Err(Error::usage(format!("rows {}..{} are out of range", rows.start, rows.end)));
            }
            let values = hdf5::read_member(datasets, variable, (*size, member), rows.clone(), &self.limits)?;
            let values = match &member.nc_type {
                NcType::Enum { members, .. } if options.names => named(&values, members)?,
                _ => values,
            };
            let mut shape = variable.shape.clone();
            if let Some(first) = shape.first_mut() {
                *first = rows.end - rows.start;
            }
            shape.extend(&member.shape);
            Array::new(shape, values)
        };
        read().map_err(|error| variable.error(error))
    }

    /// Reads a range of elements of a Zarr array: only the chunks they are in. `None` for other kinds, whose rows are read.
    pub(crate) fn read_elements(
        &self,
        variable: &Variable,
        elements: Range<u64>,
        options: &ReadOptions,
    ) -> Option<Result<Array<'static>>> {
        let store = self.store()?;
        let read = || {
            self.check(variable, &(0..0), options)?;
            let count = elements.end.saturating_sub(elements.start);
            let width = variable.nc_type.width().map_or(16, |width| width as u64);
            self.limits.check_block("bytes of the elements", count.saturating_mul(width))?;
            let values = stored_values(store, variable, elements.clone())?;
            finished(variable, vec![count], values, options)
        };
        Some(read().map_err(|error| variable.error(error)))
    }

    /// Checks that the rows can be read.
    fn check(&self, variable: &Variable, rows: &Range<u64>, options: &ReadOptions) -> Result<()> {
        if let Some(problem) = &variable.problem {
            return Err(Error::invalid(problem.clone()));
        }
        if let Some(why) = variable.unsupported() {
            return Err(Error::unsupported(why));
        }
        if rows.start > rows.end || rows.end > variable.rows() {
            let detail = format!("rows {}..{} are out of range for {}", rows.start, rows.end, variable.rows());
            return Err(Error::usage(detail));
        }
        let bytes = memory_bytes(variable, rows.end - rows.start, options);
        self.limits.check_block("bytes of the rows", bytes.unwrap_or(u64::MAX))
    }

    /// Number of rows of about `bytes` bytes, at least one: whole chunks of a NetCDF-4 file.
    pub(crate) fn rows_at_once(&self, variable: &Variable, bytes: u64) -> u64 {
        let whole = variable.rows().max(1);
        let width = variable.nc_type.width().map_or(16, |width| width as u64);
        let row = variable.row_elements().and_then(|row| row.checked_mul(width)).unwrap_or(u64::MAX).max(1);
        let chunk = variable.chunks.as_deref().and_then(|sizes| sizes.first()).copied().unwrap_or(1).max(1);
        let rows = (bytes / row).max(1);
        let step = match variable.nc_type {
            // Every read of these types reads the whole variable.
            NcType::String | NcType::Char | NcType::Enum { .. } | NcType::Compound { .. }
                if self.kind == Kind::Hdf5 =>
            {
                whole
            }
            // Large chunks are cached whole by the HDF5 library.
            _ if chunk.saturating_mul(row) > self.limits.block_bytes / 4 => rows,
            _ => rows.next_multiple_of(chunk),
        };
        step.min(whole)
    }
}

fn stored_values(store: &dyn Store, variable: &Variable, elements: Range<u64>) -> Result<Values<'static>> {
    match variable.location {
        Location::Zarr(index) => store.read(index, elements),
        _ => Err(Error::invalid("expected an array")),
    }
}

/// Masks missing values, and unpacks them if that is asked for.
fn finished(
    variable: &Variable,
    shape: Vec<u64>,
    values: Values<'static>,
    options: &ReadOptions,
) -> Result<Array<'static>> {
    let scaling = if options.scaled { Scaling::new(variable) } else { Scaling::default() };
    let values = if scaling.unsigned { unsigned(values) } else { values };
    let missing = mask(variable, &values);
    let values = match &variable.nc_type {
        NcType::Enum { members, .. } if options.names => named(&values, members)?,
        _ => values,
    };
    let mut array = Array::new(shape, values)?;
    if let Some(missing) = missing {
        array = array.with_mask(missing)?;
    }
    scaling.apply(array)
}

/// The names of integers of an enumeration.
fn named(values: &Values<'_>, members: &[(String, i128)]) -> Result<Values<'static>> {
    // The first of several names of a value wins, as in ncdump.
    let names: HashMap<i128, &str> = members.iter().rev().map(|(name, value)| (*value, name.as_str())).collect();
    let mut out = Strings::default();
    let mut push = |value: i128| match names.get(&value) {
        Some(name) => {
            out.push(name.as_bytes());
            Ok(())
        }
        None => {
            let text = value.to_string();
            if members.iter().any(|(name, _)| *name == text) {
                return Err(Error::invalid(format!("value {text} has no name, and {text:?} is the name of another")));
            }
            out.push(text.as_bytes());
            Ok(())
        }
    };
    each_kind!(
        values,
        all => all.iter().try_for_each(|value| push(value.to_i128())),
        _bools => Ok(()),
        _strings => Ok(())
    )?;
    Ok(Values::Unicode(out))
}

/// Bytes in memory of the values of `rows` rows; `None` beyond 2^64.
pub(crate) fn memory_bytes(variable: &Variable, rows: u64, options: &ReadOptions) -> Option<u64> {
    let elements = |inner: &[u64]| product(inner).and_then(|row| row.checked_mul(rows));
    let inner = variable.shape.get(1..).unwrap_or_default();
    // A character becomes a string, with an end offset.
    let width = variable.nc_type.width().map_or(16, |width| if width == 1 { 9 } else { width as u64 });
    let bytes = elements(inner)?.checked_mul(width)?;
    match inner.split_last() {
        // Strings need end offsets even without characters.
        Some((0, others)) if joins_characters(variable, options) => {
            elements(others)?.checked_mul(size_of::<usize>() as u64)
        }
        _ => Some(bytes),
    }
}

/// True when characters along the last dimension are joined to strings.
pub(crate) fn joins_characters(variable: &Variable, options: &ReadOptions) -> bool {
    variable.nc_type == NcType::Char
        && !variable.shape.is_empty()
        && match options.characters {
            Characters::Joined => true,
            Characters::Encoded => variable.attribute("_Encoding").is_some(),
            Characters::Single => false,
        }
}

/// True when `_Encoding` is UTF-8 or a subset of it.
fn is_text(variable: &Variable) -> bool {
    let encoding = variable.attribute("_Encoding").and_then(AttributeValue::as_text).unwrap_or_default();
    ["utf-8", "utf8", "ascii", "us-ascii"].contains(&encoding.to_ascii_lowercase().replace('_', "-").as_str())
}

/// Joins characters along the last dimension.
fn join_characters(variable: &Variable, characters: &Strings<'_>, last: u64, shape: &[u64]) -> Result<Values<'static>> {
    let last = usize::try_from(last).unwrap_or(usize::MAX);
    let count = product(shape).and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
    let mut all = Strings::default();
    let mut text = Vec::new();
    for index in 0..count {
        text.clear();
        for character in index * last..(index + 1) * last {
            // NUL was read as an empty string.
            text.push(characters.get(character).and_then(|byte| byte.first()).copied().unwrap_or(0));
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
            .field("variables", &self.described.variables.len())
            .finish_non_exhaustive()
    }
}
