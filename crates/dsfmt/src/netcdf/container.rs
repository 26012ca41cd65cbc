//! NetCDF as a container: exposes the tables of the equivalent ds file, reading values on demand.

use std::sync::Arc;

use container_core::{
    ColumnInfo, Container, Error, ErrorKind, Finding, Format, Input, OpenOptions, Probe, Recognition, Result, Rows,
    Scan, Table, Unit, VerifyOptions,
};
use serde_json::{Map, Value};

use super::model::{Kind, NcType, Variable};
use super::reader::{ReadOptions, Reader};
use super::to_ds::{check_declared_bytes, for_each_chunk};
use super::view::{columns, read_as_ds};
use super::{FORMAT_NAME, display};
use crate::container::{DsContainer, DsTable, TimeForm};

/// The NetCDF format, with times as stored, and packed numbers as the values they mean.
pub const FORMAT: &dyn Format = &Netcdf { times: TimeForm::Stored, packed: false };

struct Netcdf {
    times: TimeForm,
    /// Packed numbers stay packed.
    packed: bool,
}

impl TimeForm {
    /// The NetCDF format with this representation of times. Packed numbers are the values they mean, by `scale_factor` and `add_offset`, unless
    /// they stay `packed`.
    #[must_use]
    pub fn netcdf(self, packed: bool) -> &'static dyn Format {
        const fn format(times: TimeForm, packed: bool) -> Netcdf {
            Netcdf { times, packed }
        }
        match (self, packed) {
            (Self::Stored, false) => FORMAT,
            (Self::Stored, true) => const { &format(Self::Stored, true) },
            (Self::Iso, false) => const { &format(Self::Iso, false) },
            (Self::Iso, true) => const { &format(Self::Iso, true) },
            (Self::Julian, false) => const { &format(Self::Julian, false) },
            (Self::Julian, true) => const { &format(Self::Julian, true) },
        }
    }
}

impl Format for Netcdf {
    fn name(&self) -> &'static str {
        FORMAT_NAME
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["nc", "nc4", "cdf"]
    }

    /// Recognizes any HDF5 file; opening it shows whether it is NetCDF-4.
    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let magic = [&b"CDF\x01"[..], b"CDF\x02", b"CDF\x05", b"\x89HDF\r\n\x1a\n"];
        probe.by_content_or_name(magic.iter().any(|magic| probe.head.starts_with(magic)), self.extensions())
    }

    fn open(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
        let Some(source) = input.source() else {
            return Err(Error::usage("expected a file, found a directory").in_format(FORMAT_NAME));
        };
        let reader = Reader::from_source(source.clone(), *options)?;
        let reading = ReadOptions::default().with_scaled(!self.packed).with_names(!self.packed);
        Ok(Box::new(NetcdfContainer::new(reader, *options, &reading)?.with_times(self.times)))
    }
}

/// A [`Reader`] as a [`Container`]. Tables, rows and columns are those of the ds file that [`to_ds`](super::to_ds) writes with the same [`ReadOptions`],
/// except that elements of any variable of numbers or characters may be missing, because NetCDF has implicit fill values.
///
/// Variables of types that ds does not have are unreadable columns. Caches up to 64 MiB of NetCDF-4 chunks.
pub struct NetcdfContainer {
    reader: Arc<Reader>,
    inner: DsContainer,
    tables: Vec<NetcdfTable>,
    /// The variable in the file of each variable of the ds header.
    columns: Arc<[usize]>,
}

struct NetcdfTable {
    columns: Arc<[usize]>,
    reader: Arc<Reader>,
    inner: Arc<DsTable>,
}

impl NetcdfContainer {
    /// Wraps a reader.
    ///
    /// # Errors
    /// [`Limit`](ErrorKind::Limit) when the header of the equivalent ds file exceeds the limits.
    pub fn new(reader: Reader, options: OpenOptions, reading: &ReadOptions) -> Result<Self> {
        let reader = Arc::new(reader);
        let inner = read_as_ds(&reader, options, reading)?;
        let columns = columns(&reader).into_iter().map(|(variable, _)| variable).collect();
        let container = Self { tables: Vec::new(), inner: DsContainer::new(inner), reader, columns };
        Ok(container.with_times(TimeForm::Stored))
    }

    /// Sets the representation of times.
    #[must_use]
    pub fn with_times(mut self, form: TimeForm) -> Self {
        self.inner = self.inner.with_times(form);
        let table = |table| NetcdfTable {
            columns: Arc::clone(&self.columns),
            reader: Arc::clone(&self.reader),
            inner: Arc::clone(table),
        };
        self.tables = self.inner.tables.iter().map(table).collect();
        self
    }

    /// The wrapped reader.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }
}

impl Container for NetcdfContainer {
    fn format(&self) -> &'static str {
        self.reader.kind().format()
    }

    /// The number of the CDF version, or 4; that of the Zarr specification.
    fn version(&self) -> String {
        match self.reader.kind() {
            Kind::Classic => "1",
            Kind::Offset64 => "2",
            Kind::Data64 => "5",
            Kind::Hdf5 => "4",
            Kind::Zarr if self.reader.store().is_some_and(|store| store.version() == 2) => "2",
            Kind::Zarr => "3",
        }
        .to_owned()
    }

    fn details(&self) -> Map<String, Value> {
        let dimensions = self.reader.dimensions();
        let mut details = Map::new();
        details.insert("kind".to_owned(), self.reader.kind().name().into());
        details.insert("bytes".to_owned(), self.reader.stored_bytes(u64::MAX).into());
        let sizes = dimensions.iter().map(|dimension| (dimension.name.clone(), dimension.size.into()));
        details.insert("dimensions".to_owned(), Value::Object(sizes.collect()));
        let unlimited = dimensions.iter().filter(|dimension| dimension.unlimited);
        details.insert("unlimited".to_owned(), unlimited.map(|dimension| dimension.name.as_str()).collect());
        details.insert("attributes".to_owned(), display::attributes(self.reader.attributes()).into());
        if !self.reader.losses().is_empty() {
            let losses = self.reader.losses().iter().map(|loss| loss.what.as_str());
            details.insert("not_in_ds".to_owned(), losses.collect());
        }
        details
    }

    fn tables(&self) -> Vec<&dyn Table> {
        self.tables.iter().map(|table| -> &dyn Table { table }).collect()
    }

    /// Reads all values. Reports unreadable variables as errors, and what ds has no type for as warnings.
    fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        let variables = self.reader.variables();
        let progress = options.progress.as_deref();
        if let Some(progress) = progress {
            progress.begin(Unit::Rows, Some(variables.iter().map(Variable::rows).fold(0, u64::saturating_add)));
        }
        for loss in self.reader.losses() {
            report(Finding::warning(Error::unsupported(loss.what.clone()).in_format(self.format())));
        }
        let reading = ReadOptions::default();
        if let Err(error) = check_declared_bytes(&self.reader, &reading) {
            report(Finding::error(error));
            return Ok(());
        }
        let is_read = |variable: &&Variable| variable.problem.is_some() || variable.unsupported().is_none();
        for variable in variables.iter().filter(is_read) {
            let read = match &variable.problem {
                Some(problem) => Err(variable.error(Error::invalid(problem.clone()))),
                None => for_each_chunk(&self.reader, variable, &reading, |_| Ok(())),
            };
            match read {
                Err(error) if error.kind() == ErrorKind::Io => return Err(error),
                Err(error) => report(Finding::error(error)),
                Ok(()) => {}
            }
            if let Some(progress) = progress {
                progress.advance(variable.rows())?;
            }
        }
        Ok(())
    }
}

impl NetcdfTable {
    fn variable(&self, column: usize) -> Result<&Variable> {
        let unknown = || Error::usage(format!("unknown column {column}")).in_format(self.reader.kind().format());
        let index = self.inner.header_index(column).ok_or_else(unknown)?;
        let variable = self.columns.get(index).and_then(|variable| self.reader.variables().get(*variable));
        variable.ok_or_else(unknown)
    }
}

/// Header data of a variable other than name and type.
fn summary(reader: &Reader, variable: &Variable) -> Map<String, Value> {
    let names: Vec<&str> = reader.dimension_names(variable).collect();
    let stored = variable.nc_type.data_type();
    let mut details = Map::new();
    if let Some(store) = reader.store() {
        details.append(&mut store.summary(variable));
    }
    if !variable.is_zarr() {
        details.insert("nc_type".to_owned(), variable.nc_type.to_string().into());
    }
    details.insert("dimensions".to_owned(), names.into());
    details.insert("shape".to_owned(), variable.shape.as_slice().into());
    if stored.and_then(|stored| stored.width()) > Some(1) && !variable.is_zarr() {
        details.insert("endian".to_owned(), if variable.big_endian { "b" } else { "l" }.into());
    }
    if let Some(chunks) = &variable.chunks {
        details.insert("chunks".to_owned(), chunks.as_slice().into());
    }
    if let NcType::Enum { members, .. } = &variable.nc_type {
        let number = |number: i128| {
            let signed = i64::try_from(number).map(Value::from);
            signed.or_else(|_| u64::try_from(number).map(Value::from)).unwrap_or_default()
        };
        let members = members.iter().map(|(name, value)| (name.clone(), number(*value)));
        details.insert("members".to_owned(), Value::Object(members.collect()));
    }
    details
}

impl Table for NetcdfTable {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn columns(&self) -> &[ColumnInfo] {
        self.inner.columns()
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        self.variable(index).map(|variable| summary(&self.reader, variable)).unwrap_or_default()
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        let variable = self.variable(index)?;
        let mut details = Map::new();
        if !variable.attributes.is_empty() {
            details.insert("attributes".to_owned(), display::attributes(&variable.attributes).into());
        }
        Ok(details)
    }

    fn len(&self) -> Option<u64> {
        self.inner.len()
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        self.inner.rows(scan)
    }

    fn find(&self, _: &str) -> Result<Option<u64>> {
        Err(Error::usage("rows have no keys: use the row number").in_format(self.reader.kind().format()))
    }

    #[cfg(feature = "arrow")]
    fn arrow(&self) -> Option<&dyn container_arrow::ArrowTable> {
        self.inner.arrow()
    }
}

impl std::fmt::Debug for NetcdfContainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NetcdfContainer").field("reader", &self.reader).finish_non_exhaustive()
    }
}
