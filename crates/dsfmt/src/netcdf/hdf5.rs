//! NetCDF-4: an HDF5 file, read by the crates `netcdf-reader` (what dimensions and variables it holds) and `hdf5-reader` (values).

use std::any::Any;
use std::collections::HashSet;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use container_core::{Error, Limits, Loss, Position, Result, Source};
use hdf5_reader::messages::datatype::{Datatype, StringSize};
use hdf5_reader::{ByteOrder, Hdf5File, SliceInfo, SliceInfoElem, Storage, StorageBuffer};
use netcdf_reader::{NcAttrValue, NcFile, NcGroup, NcMetadataMode, NcOpenOptions, NcVariable};

use super::classic::{characters, decoded};
use super::model::{Attribute, AttributeValue, Dimension, NcType, Place, Variable, product};
use super::number::{Number, with_number};
use crate::array::{Strings, Values};
use crate::types::{DataType, Endian};

/// Decoded pieces of a file that are kept, in bytes.
const CACHE: usize = 32 << 20;

/// netCDF's prefix of a dataset that has the name of a dimension and is not its axis.
const NOT_AN_AXIS: &str = "_nc4_non_coord_";

/// Attributes in which netCDF keeps its own affairs.
const INTERNAL: [&str; 8] = [
    "_NCProperties",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
    "_nc3_strict",
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "CLASS",
    "NAME",
];

/// Does a file that begins so look like HDF5? A user block may stand before it.
pub(crate) fn is_hdf5(source: &Source) -> bool {
    const MAGIC: &[u8] = b"\x89HDF\r\n\x1a\n";
    let mut at = 0u64;
    while at + 8 <= source.len() {
        if source.read(at..at + 8).is_ok_and(|found| found == MAGIC) {
            return true;
        }
        at = (at * 2).max(512);
    }
    false
}

/// Our bytes for the library.
struct Shared(Source);

impl Storage for Shared {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_range(&self, offset: u64, len: usize) -> hdf5_reader::error::Result<StorageBuffer> {
        let end = offset.checked_add(len as u64).ok_or(hdf5_reader::error::Error::OffsetOutOfBounds(offset))?;
        let bytes = self.0.read(offset..end).map_err(|error| match error.kind() {
            container_core::ErrorKind::Io => hdf5_reader::error::Error::Io(std::io::Error::other(error.to_string())),
            _ => hdf5_reader::error::Error::UnexpectedEof {
                offset,
                needed: len as u64,
                available: self.0.len().saturating_sub(offset),
            },
        })?;
        StorageBuffer::from_shared_owner(Arc::new(bytes), 0, len)
    }
}

/// A file, opened.
pub(crate) struct Opened {
    pub(crate) file: Hdf5File,
    pub(crate) dimensions: Vec<Dimension>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) variables: Vec<Variable>,
    /// What is not read.
    pub(crate) losses: Vec<Loss>,
}

/// Runs the library, so that a panic in it becomes an error: it is not ours to trust on damaged files.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    // Nothing that was half changed is used again: what the library holds besides caches is read only.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic: Box<dyn Any + Send>| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
        Err(Error::invalid(format!("the file makes the HDF5 reader fail: {text}")))
    })
}

fn library(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::invalid("the HDF5 file cannot be read").caused_by(error)
}

pub(crate) fn open(source: &Source, limits: &Limits) -> Result<Opened> {
    guarded(|| {
        let bytes = usize::try_from(limits.block_bytes).unwrap_or(usize::MAX);
        let options = |metadata_mode| NcOpenOptions {
            chunk_cache_bytes: CACHE,
            metadata_mode,
            max_chunk_bytes: bytes,
            max_read_bytes: bytes,
            ..NcOpenOptions::default()
        };
        let shared: hdf5_reader::storage::DynStorage = Arc::new(Shared(source.clone()));
        let file = Hdf5File::from_storage_with_options(shared.clone(), options(NcMetadataMode::Strict).into());
        let file = file.map_err(library)?;
        let strict = NcFile::from_storage_with_options(shared.clone(), options(NcMetadataMode::Strict));
        let strict = strict.and_then(|found| found.root_group().cloned());
        // What is no NetCDF in one place is no reason to leave the rest.
        let group = strict.or_else(|_| {
            let lossy = NcFile::from_storage_with_options(shared, options(NcMetadataMode::Lossy))?;
            lossy.root_group().cloned()
        });
        converted(file, group.map_err(library)?, limits)
    })
}

fn converted(file: Hdf5File, group: NcGroup, limits: &Limits) -> Result<Opened> {
    let mut losses = Vec::new();
    let attributes = attributes(&group.attributes, None, &mut losses);
    let root = file.root_group().map_err(library)?;
    let lost = |what: String| Loss::new(what, 1, Position::default());
    let kept: HashSet<&str> = group.attributes.iter().map(|attribute| attribute.name.as_str()).collect();
    for attribute in root.attributes().map_err(library)? {
        if !kept.contains(attribute.name.as_str()) && !INTERNAL.contains(&attribute.name.as_str()) {
            losses.push(lost(format!("the attribute {:?} cannot be read", attribute.name)));
        }
    }
    let mut dimensions: Vec<Dimension> = group
        .dimensions
        .iter()
        .map(|dimension| Dimension {
            name: dimension.name.clone(),
            size: dimension.size,
            unlimited: dimension.is_unlimited,
        })
        .collect();
    limits.check_columns("the number of variables", group.variables.len() as u64)?;
    let mut variables = Vec::new();
    let mut known: HashSet<&str> = HashSet::new();
    for found in &group.variables {
        known.insert(&found.name);
        variables.push(variable(&file, found, &mut dimensions, &mut losses));
    }
    for dataset in root.datasets().map_err(library)? {
        let name = dataset.name().rsplit('/').next().unwrap_or_default().to_owned();
        let axis_only = dataset.attribute("CLASS").is_ok() && dimensions.iter().any(|dimension| dimension.name == name);
        if !known.contains(name.as_str()) && !axis_only {
            losses
                .push(lost(format!("the variable {name:?} is of a kind that NetCDF-4 does not have: it is left out")));
        }
    }
    for inner in &group.groups {
        let count = variables_below(inner);
        losses.push(Loss::new(
            format!("the group {:?} with {count} variables is left out: ds has no groups", inner.name),
            1,
            Position::default(),
        ));
    }
    Ok(Opened { file, dimensions, attributes, variables, losses })
}

/// Variables in a group and in those in it. The library bounds the depth.
fn variables_below(group: &NcGroup) -> usize {
    let mut open = vec![group];
    let mut count = 0;
    while let Some(group) = open.pop() {
        count += group.variables.len();
        open.extend(&group.groups);
    }
    count
}

fn variable(file: &Hdf5File, found: &NcVariable, dimensions: &mut Vec<Dimension>, losses: &mut Vec<Loss>) -> Variable {
    let name = found.name.strip_prefix(NOT_AN_AXIS).unwrap_or(&found.name).to_owned();
    let mut places = Vec::new();
    for dimension in &found.dimensions {
        let same = |known: &Dimension| known.name == dimension.name && known.size == dimension.size;
        places.push(dimensions.iter().position(same).unwrap_or_else(|| {
            dimensions.push(Dimension {
                name: dimension.name.clone(),
                size: dimension.size,
                unlimited: dimension.is_unlimited,
            });
            dimensions.len() - 1
        }));
    }
    let mut variable = Variable {
        attributes: attributes(&found.attributes, Some(&name), losses),
        dimensions: places,
        shape: found.dimensions.iter().map(|dimension| dimension.size).collect(),
        nc_type: nc_type(&found.dtype),
        chunks: None,
        big_endian: false,
        problem: None,
        no_fill: false,
        place: Place::Hdf5(found.name.clone()),
        name,
    };
    match file.dataset(&found.name) {
        Ok(dataset) => {
            variable.chunks = dataset.chunks().map(|sizes| sizes.into_iter().map(u64::from).collect());
            variable.big_endian = is_big_endian(dataset.dtype());
            variable.no_fill = dataset.fill_value().is_none_or(|fill| fill.value.is_none());
            let kept: HashSet<&str> = found.attributes.iter().map(|attribute| attribute.name.as_str()).collect();
            for attribute in dataset.attributes() {
                if !kept.contains(attribute.name.as_str()) && !INTERNAL.contains(&attribute.name.as_str()) {
                    losses.push(unread(&attribute.name, Some(&variable.name)));
                }
            }
        }
        Err(error) => variable.problem = Some(format!("its dataset cannot be opened: {error}")),
    }
    if product(&variable.shape).is_none() {
        variable.problem = Some(format!("its sizes {:?} make more than 2^64 elements", variable.shape));
    }
    if let NcType::Enum { members, .. } = &variable.nc_type {
        let named: Vec<String> = members.iter().map(|(name, number)| format!("{number} {name}")).collect();
        let what =
            format!("the names of the enumeration ({}) are left out of variable {:?}", named.join(", "), variable.name);
        losses.push(Loss::new(what, 1, Position::default()));
    }
    variable
}

fn unread(attribute: &str, variable: Option<&str>) -> Loss {
    let of = variable.map(|name| format!(" of variable {name:?}")).unwrap_or_default();
    Loss::new(
        format!("the attribute {attribute:?}{of} is of a type that ds does not have: it is left out"),
        1,
        Position::default(),
    )
}

fn attributes(all: &[netcdf_reader::NcAttribute], variable: Option<&str>, losses: &mut Vec<Loss>) -> Vec<Attribute> {
    let mut out = Vec::new();
    for attribute in all {
        let value = match &attribute.value {
            NcAttrValue::Bytes(all) => AttributeValue::Numbers(all.clone().into()),
            NcAttrValue::Shorts(all) => AttributeValue::Numbers(all.clone().into()),
            NcAttrValue::Ints(all) => AttributeValue::Numbers(all.clone().into()),
            NcAttrValue::Floats(all) => AttributeValue::Numbers(all.clone().into()),
            NcAttrValue::Doubles(all) => AttributeValue::Numbers(all.clone().into()),
            NcAttrValue::UBytes(all) => AttributeValue::Numbers(all.clone().into()),
            NcAttrValue::UShorts(all) => AttributeValue::Numbers(all.clone().into()),
            NcAttrValue::UInts(all) => AttributeValue::Numbers(all.clone().into()),
            NcAttrValue::Int64s(all) => AttributeValue::Numbers(all.clone().into()),
            NcAttrValue::UInt64s(all) => AttributeValue::Numbers(all.clone().into()),
            NcAttrValue::Chars(text) => AttributeValue::text(text.as_bytes()),
            NcAttrValue::Strings(texts) => match texts.as_slice() {
                [text] => AttributeValue::text(text.as_bytes()),
                texts => AttributeValue::Texts(texts.to_vec()),
            },
            NcAttrValue::UserDefined { .. } => {
                losses.push(unread(&attribute.name, variable));
                continue;
            }
        };
        out.push(Attribute { name: attribute.name.clone(), value });
    }
    out
}

fn number(found: &netcdf_reader::NcType) -> Option<DataType> {
    use netcdf_reader::NcType as Found;
    Some(match found {
        Found::Byte => DataType::Int8,
        Found::Short => DataType::Int16,
        Found::Int => DataType::Int32,
        Found::Float => DataType::Float32,
        Found::Double => DataType::Float64,
        Found::UByte => DataType::Uint8,
        Found::UShort => DataType::Uint16,
        Found::UInt => DataType::Uint32,
        Found::Int64 => DataType::Int64,
        Found::UInt64 => DataType::Uint64,
        _ => return None,
    })
}

fn nc_type(found: &netcdf_reader::NcType) -> NcType {
    use netcdf_reader::NcType as Found;
    match found {
        Found::Char => NcType::Char,
        Found::String => NcType::String,
        Found::Enum { base, members } => match number(base) {
            Some(base) => {
                let members = members.iter();
                NcType::Enum {
                    base,
                    members: members.map(|one| (one.name.clone(), one.value.as_i128().unwrap_or_default())).collect(),
                }
            }
            None => NcType::Other("an enumeration of no integers".to_owned()),
        },
        Found::Compound { fields, .. } => NcType::Other(format!("a compound of {} fields", fields.len())),
        Found::Opaque { size, .. } => NcType::Other(format!("opaque, {size} bytes each")),
        Found::Array { .. } => NcType::Other("an array in each element".to_owned()),
        Found::VLen { .. } => NcType::Other("a list of any length in each element".to_owned()),
        other => number(other).map_or_else(|| NcType::Other("of a type that is not known".to_owned()), NcType::Number),
    }
}

fn is_big_endian(found: &Datatype) -> bool {
    match found {
        Datatype::FixedPoint { byte_order, .. } | Datatype::FloatingPoint { byte_order, .. } => {
            *byte_order == ByteOrder::BigEndian
        }
        Datatype::Enum { base, .. } => is_big_endian(base),
        _ => false,
    }
}

/// The values of some rows, which were checked to be there; a scalar has one.
pub(crate) fn read(file: &Hdf5File, variable: &Variable, rows: Range<u64>, limits: &Limits) -> Result<Values<'static>> {
    let Place::Hdf5(path) = &variable.place else { return Err(Error::invalid("it is no dataset")) };
    guarded(|| {
        let dataset = file.dataset(path).map_err(library)?;
        let dataset = dataset.with_padded_shape(&variable.shape).map_err(library)?;
        match &variable.nc_type {
            // The library reads no enumeration as its numbers.
            NcType::Enum { base, .. } => {
                let all = dataset.read_raw_bytes().map_err(library)?;
                let wanted = part(&all, variable, &rows, base.width().unwrap_or(1))?;
                let order = if variable.big_endian { Endian::Big } else { Endian::Little };
                decoded(*base, [wanted], order)
            }
            NcType::Number(number) => {
                with_number!(*number, T => numbers::<T>(&dataset, variable, rows), Err(Error::invalid("it holds no numbers")))
            }
            NcType::Char => {
                let all = dataset.read_raw_bytes().map_err(library)?;
                let wanted = part(&all, variable, &rows, 1)?;
                Ok(Values::Str(characters(wanted.iter().copied())))
            }
            NcType::String => strings(&dataset, variable, &rows, limits).map(Values::Unicode),
            NcType::Other(words) => Err(Error::unsupported(format!("its elements are {words}"))),
        }
    })
}

fn numbers<T: Number + hdf5_reader::H5Type>(
    dataset: &hdf5_reader::Dataset,
    variable: &Variable,
    rows: Range<u64>,
) -> Result<Values<'static>> {
    let array = if variable.shape.is_empty() {
        dataset.read_array::<T>().map_err(library)?
    } else {
        let mut selections = vec![SliceInfoElem::Slice { start: 0, end: u64::MAX, step: 1 }; variable.shape.len()];
        if let Some(first) = selections.first_mut() {
            *first = SliceInfoElem::Slice { start: rows.start, end: rows.end, step: 1 };
        }
        dataset.read_slice::<T>(&SliceInfo { selections }).map_err(library)?
    };
    Ok(T::values(array.into_raw_vec_and_offset().0))
}

/// The bytes of some rows among those of all.
fn part<'b>(all: &'b [u8], variable: &Variable, rows: &Range<u64>, width: usize) -> Result<&'b [u8]> {
    let row = variable
        .row_elements()
        .and_then(|count| usize::try_from(count).ok())
        .and_then(|count| count.checked_mul(width));
    let bound = |row_number: u64| usize::try_from(row_number).ok()?.checked_mul(row?);
    let range = bound(rows.start).zip(bound(rows.end));
    range.and_then(|(start, end)| all.get(start..end)).ok_or_else(|| {
        Error::invalid(format!("it has {} bytes, fewer than its sizes {:?} ask for", all.len(), variable.shape))
    })
}

/// Texts. The whole dataset is read for them, whatever the rows; the bytes of the texts count against the limit of a block.
fn strings(
    dataset: &hdf5_reader::Dataset,
    variable: &Variable,
    rows: &Range<u64>,
    limits: &Limits,
) -> Result<Strings<'static>> {
    let all = dataset.read_raw_bytes().map_err(library)?;
    let width = dataset.raw_element_size().map_err(library)?;
    let fixed = matches!(dataset.dtype(), Datatype::String { size: StringSize::Fixed(_), .. });
    let mut strings = Strings::default();
    let mut total = 0u64;
    for element in part(&all, variable, rows, width)?.chunks_exact(width.max(1)) {
        let owned;
        let text = if fixed {
            element
        } else {
            owned = dataset.resolve_vlen_reference_bytes(element, 1).map_err(library)?;
            &owned
        };
        // Where C sees the end of it.
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        total += text.len() as u64;
        limits.check_block("the bytes of its texts", total)?;
        strings.push(text);
    }
    Ok(strings)
}
