//! Converts ds to NetCDF.

mod classic;
mod fill;
mod nc4;
mod plan;

pub(crate) use {
    fill::{Fill, choose as choose_fill},
    plan::JULIAN,
};

use std::path::Path;

use container_core::{Error, OutputOptions, Result};

use super::FORMAT_NAME;
use super::model::Kind;
use super::to_ds::Converted;
use crate::array::{Array, Values, each_kind};
use crate::read::{Reader, Variable};
use crate::types::{Element, Endian};
use plan::{Plan, PlannedVariable};

/// Bytes of values processed at once.
const CHUNK_BYTES: u64 = 4 << 20;

/// Options for writing NetCDF.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// The kind of file. `None` chooses the first of CDF-1, CDF-2, CDF-5 and NetCDF-4 that holds the data.
    pub kind: Option<Kind>,
    /// Name of the unlimited dimension. In the classic kinds it must be the first of every variable that has it.
    pub unlimited: Option<String>,
    /// Compression level 1 to 9 for the values of a NetCDF-4 file, except variable-length strings; bytes are shuffled first.
    pub deflate: Option<u8>,
    /// How the output is created.
    pub output: OutputOptions,
}

impl WriteOptions {
    /// Replaces [`kind`](Self::kind).
    #[must_use]
    pub const fn with_kind(mut self, kind: Option<Kind>) -> Self {
        self.kind = kind;
        self
    }

    /// Replaces [`unlimited`](Self::unlimited).
    #[must_use]
    pub fn with_unlimited(mut self, name: Option<String>) -> Self {
        self.unlimited = name;
        self
    }

    /// Replaces [`deflate`](Self::deflate).
    #[must_use]
    pub const fn with_deflate(mut self, level: Option<u8>) -> Self {
        self.deflate = level;
        self
    }

    /// Replaces [`output`](Self::output).
    #[must_use]
    pub const fn with_output(mut self, output: OutputOptions) -> Self {
        self.output = output;
        self
    }
}

/// Converts ds to NetCDF: a file, a dataset [that is not written](crate::Writer::into_reader), or a [view](super::ds_view) of a NetCDF file. What
/// NetCDF cannot hold is reported as losses.
///
/// Reads each variable twice: for its fill value and string lengths, and for its values. Holds a chunk of 4 MiB, or a row, in memory.
///
/// # Errors
/// [`Usage`](container_core::ErrorKind::Usage) for what the requested kind cannot hold (64-bit integers in CDF-1, names that NetCDF does not
/// allow, two empty dimensions), and when a masked variable has no value left for missing elements; errors of reading with the variable as
/// column, and of
/// [`Output`](container_core::Output). A variable with a problem is an error.
pub fn from_ds(reader: &Reader, path: impl AsRef<Path>, options: &WriteOptions) -> Result<Converted> {
    let write = || -> Result<Converted> {
        let plan = Plan::new(reader, options)?;
        match plan.kind {
            Kind::Hdf5 => nc4::write(plan, path.as_ref(), options),
            Kind::Zarr => Err(Error::usage("Zarr is no kind of NetCDF file")),
            _ => classic::write(plan, path.as_ref(), options),
        }
    };
    write().map_err(|error| error.in_format(FORMAT_NAME))
}

/// Passes the values of a variable to `take` in chunks along the first dimension. An empty variable has none.
fn for_each_chunk(variable: &PlannedVariable<'_>, take: impl FnMut(Array<'_>) -> Result<()>) -> Result<()> {
    for_each_source_chunk(&variable.source, take)
}

/// [`for_each_chunk`] for a variable without a plan.
pub(crate) fn for_each_source_chunk(
    variable: &Variable<'_>,
    mut take: impl FnMut(Array<'_>) -> Result<()>,
) -> Result<()> {
    let Some(shape) = variable.shape() else { return Ok(()) };
    let rows = shape.first().copied().unwrap_or(1);
    let step = rows_at_once(variable, CHUNK_BYTES);
    let mut start = 0;
    while start < rows && !variable.is_empty() {
        let end = rows.min(start + step);
        take(variable.read_rows(start..end)?)?;
        start = end;
    }
    Ok(())
}

/// Number of rows that take about `bytes` bytes; at least one.
fn rows_at_once(variable: &Variable<'_>, bytes: u64) -> u64 {
    let rows = variable.shape().and_then(|shape| shape.first()).copied().unwrap_or(1).max(1);
    let width = variable.data_type().and_then(crate::DataType::width).unwrap_or(16) as u64;
    let row = (variable.len() / rows).saturating_mul(width).max(1);
    (bytes / row).clamp(1, rows)
}

/// Replaces missing values by the fill value; booleans become bytes.
fn filled(array: Array<'_>, fill: &Values<'_>) -> Result<Values<'static>> {
    fn put<T: Element>(values: &[T], mask: Option<&crate::Mask<'_>>, fill: &Values<'_>) -> Result<Vec<T>> {
        let mut values = values.to_vec();
        if let Some(mask) = mask {
            let fill = fill.as_slice::<T>().and_then(|all| all.first()).copied();
            let fill = fill.ok_or_else(|| Error::usage("no fill value of the type"))?;
            for (value, missing) in values.iter_mut().zip(mask.iter()) {
                if missing {
                    *value = fill;
                }
            }
        }
        Ok(values)
    }
    let (_, values, mask) = array.into_parts();
    let mask = mask.as_ref();
    Ok(match &values {
        Values::Float32(all) => put(all, mask, fill)?.into(),
        Values::Float64(all) => put(all, mask, fill)?.into(),
        Values::Int8(all) => put(all, mask, fill)?.into(),
        Values::Int16(all) => put(all, mask, fill)?.into(),
        Values::Int32(all) => put(all, mask, fill)?.into(),
        Values::Int64(all) => put(all, mask, fill)?.into(),
        Values::Uint8(all) => put(all, mask, fill)?.into(),
        Values::Uint16(all) => put(all, mask, fill)?.into(),
        Values::Uint32(all) => put(all, mask, fill)?.into(),
        Values::Uint64(all) => put(all, mask, fill)?.into(),
        Values::Bool(all) => {
            let bytes: Vec<i8> = all.iter().map(|value| i8::from(*value)).collect();
            put(&bytes, mask, fill)?.into()
        }
        Values::Str(_) | Values::Unicode(_) => return Err(Error::usage("strings have no fill value")),
    })
}

/// Encodes strings as characters of fixed width, in chunks; missing ones are empty.
fn characters(array: &Array<'_>, width: usize, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    /// A few long strings among many short ones need far more characters than bytes.
    const CHUNK: usize = 64 << 10;
    const NULS: [u8; 4096] = [0; 4096];
    let Some(strings) = array.values().as_strings() else { return Ok(()) };
    let mut out = Vec::new();
    for (index, string) in strings.iter().enumerate() {
        let string = if array.mask().is_some_and(|mask| mask.is_missing(index)) { &[] } else { string };
        let string = string.get(..width).unwrap_or(string);
        out.extend_from_slice(string);
        let mut left = width - string.len();
        while left > 0 {
            let nuls = NULS.get(..left).unwrap_or(&NULS);
            out.extend_from_slice(nuls);
            left -= nuls.len();
            if out.len() >= CHUNK {
                take(&out)?;
                out.clear();
            }
        }
        if out.len() >= CHUNK {
            take(&out)?;
            out.clear();
        }
    }
    take(&out)
}

/// Appends numbers in the given byte order. Generic over the element type, which the per-type functions of `byteorder` are not.
fn put_bytes(values: &Values<'_>, order: Endian, out: &mut Vec<u8>) {
    fn put<T: Element>(values: &[T], order: Endian, out: &mut Vec<u8>) {
        if order == Endian::NATIVE {
            out.extend_from_slice(bytemuck::cast_slice(values));
            return;
        }
        out.reserve(size_of_val(values));
        for value in values {
            out.extend_from_slice(bytemuck::bytes_of(&value.swapped()));
        }
    }
    each_kind!(values, numbers => put(numbers, order, out), _bools => (), _strings => ());
}
