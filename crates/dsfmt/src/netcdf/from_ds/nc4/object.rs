//! Writes object headers, and links variables with dimensions.

use std::collections::HashSet;

use container_core::{Error, Result};

use super::heap::{self, Heap};
use super::wire::{self, Bytes, MAX_MESSAGE, Space, UNDEFINED};
use super::{Links, Out};
use crate::array::Values;
use crate::netcdf::from_ds::plan::Plan;
use crate::netcdf::from_ds::put_bytes;
use crate::netcdf::model::{self, AttributeValue, Dimension};
use crate::types::{DataType, Endian};

/// Bytes of an attribute message other than name and value.
const ATTRIBUTE_OVERHEAD: usize = 128;

/// A dataset without its address.
pub(super) struct Object {
    /// Types and bodies of messages before the attributes.
    pub(super) messages: Vec<(u8, Vec<u8>)>,
    pub(super) attributes: Vec<Attribute>,
}

/// An attribute.
pub(super) struct Attribute {
    name: String,
    data_type: Vec<u8>,
    space: Space,
    data: Data,
}

/// An attribute's value.
pub(super) enum Data {
    Bytes(Vec<u8>),
    /// References to these objects, starting at index `first` of those in the heap.
    Scales {
        objects: Vec<usize>,
        first: usize,
    },
    /// References to these objects, each with an axis number.
    Users(Vec<(usize, u32)>),
}

impl Attribute {
    fn bytes(name: &str, data_type: Vec<u8>, space: Space, bytes: Vec<u8>) -> Self {
        Self { name: name.to_owned(), data_type, space, data: Data::Bytes(bytes) }
    }

    /// A NUL-terminated string, as the dimension scale library requires.
    fn nul_terminated(name: &str, text: &str) -> Self {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        Self::bytes(name, wire::text(len, !text.is_ascii()), Space::Scalar, bytes)
    }

    /// 32-bit integers.
    fn integers(name: &str, numbers: Vec<i32>, space: Space) -> Self {
        let mut bytes = Vec::new();
        put_bytes(&Values::from(numbers), Endian::Little, &mut bytes);
        Self::bytes(name, wire::number(DataType::Int32), space, bytes)
    }
}

impl Object {
    /// A dimension without a coordinate variable: a dataset without values.
    pub(super) fn dimension(dimension: &Dimension) -> Result<Self> {
        let bytes = dimension.size.checked_mul(4).filter(|bytes| *bytes < i64::MAX.unsigned_abs());
        let bytes = bytes.ok_or_else(|| {
            Error::usage(format!("NetCDF-4 cannot hold dimension {:?} of {}", dimension.name, dimension.size))
        })?;
        let layout = match dimension.unlimited {
            true => wire::chunked(UNDEFINED, &[1], 4),
            false => wire::contiguous(UNDEFINED, bytes),
        };
        let messages = vec![
            (wire::DATASPACE, Space::Simple(vec![(dimension.size, dimension.unlimited)]).message()?),
            (wire::DATATYPE, wire::number(DataType::Float32)),
            (wire::FILL, wire::fill(None, dimension.unlimited)),
            (wire::LAYOUT, layout),
        ];
        Ok(Self { messages, attributes: Vec::new() })
    }
}

/// Converts attributes. Long strings go to the heap.
pub(super) fn attributes(all: &[model::Attribute], heap: &mut Heap, out: &mut Out) -> Result<Vec<Attribute>> {
    all.iter().map(|attribute| convert(attribute, heap, out)).collect()
}

fn convert(attribute: &model::Attribute, heap: &mut Heap, out: &mut Out) -> Result<Attribute> {
    let name = attribute.name.as_str();
    let max = MAX_MESSAGE - ATTRIBUTE_OVERHEAD - name.len().min(MAX_MESSAGE - ATTRIBUTE_OVERHEAD);
    let check_len = |bytes: usize| match bytes <= max {
        true => Ok(()),
        false => Err(Error::usage(format!(
            "attribute {name:?} takes {bytes} bytes, more than the limit {max} in NetCDF-4; CDF-5 can hold it"
        ))),
    };
    Ok(match &attribute.value {
        // A string type needs at least one byte; Python's netCDF4 writes the same.
        AttributeValue::Text(text) if text.is_empty() => {
            Attribute::bytes(name, wire::text(1, false), Space::Scalar, vec![0])
        }
        AttributeValue::Text(text) => match u32::try_from(text.len()) {
            Ok(len) if text.len() <= max => {
                Attribute::bytes(name, wire::text(len, !text.is_ascii()), Space::Scalar, text.as_bytes().to_vec())
            }
            // Too long for a header: a variable-length string.
            _ => Attribute::bytes(name, wire::variable_text(), Space::Scalar, heap.put(text.as_bytes(), out)?.to_vec()),
        },
        AttributeValue::Json(_) => return Err(Error::usage("NetCDF has no attributes of JSON")),
        AttributeValue::Texts(texts) => {
            check_len(texts.len().saturating_mul(16))?;
            let mut bytes = Vec::new();
            for text in texts {
                bytes.extend_from_slice(&heap.put(text.as_bytes(), out)?);
            }
            Attribute::bytes(name, wire::variable_text(), Space::list(texts.len()), bytes)
        }
        AttributeValue::Numbers(numbers) => {
            let mut bytes = Vec::new();
            put_bytes(numbers, Endian::Little, &mut bytes);
            check_len(bytes.len())?;
            Attribute::bytes(name, wire::number(numbers.data_type()), Space::list(numbers.len()), bytes)
        }
    })
}

/// Links variables with dimensions, and writes all headers, the root's last. Returns the end of the file and the root's address.
pub(super) fn write(
    plan: &Plan<'_>,
    links: &Links,
    mut objects: Vec<Object>,
    root: Vec<Attribute>,
    out: &mut Out,
) -> Result<(u64, u64)> {
    let references = link_scales(plan, links, &mut objects)?;
    out.align()?;
    // Headers refer to each other: compute their lengths first, which do not depend on addresses.
    let mut addresses = Addresses { heap: out.at, objects: vec![0; objects.len()] };
    let mut at = out.at + heap::references_len(references.len());
    let mut object_addresses = Vec::with_capacity(objects.len());
    for (object, name) in objects.iter().zip(&links.names) {
        object_addresses.push(at);
        let header = header(&object.messages, &object.attributes, &addresses);
        at += (header.map_err(|error| error.in_column(name.clone()))?.len() as u64).next_multiple_of(8);
    }
    addresses.objects = object_addresses;
    let targets: Vec<u64> = references.iter().map(|object| addresses.object(*object)).collect();
    out.write(&heap::references(&targets))?;
    for object in &objects {
        out.write(&header(&object.messages, &object.attributes, &addresses)?)?;
        out.align()?;
    }
    let mut messages = vec![(wire::LINK_INFO, wire::link_info(links.names.len())), (wire::GROUP_INFO, vec![0, 0])];
    for (order, name) in links.names.iter().enumerate() {
        messages.push((wire::LINK, wire::link(name, order, addresses.object(order))?));
    }
    let address = out.at;
    out.write(&header(&messages, &root, &addresses)?)?;
    out.align()?;
    Ok((out.at, address))
}

/// Addresses of referenced objects.
struct Addresses {
    /// The references in the heap.
    heap: u64,
    objects: Vec<u64>,
}

impl Addresses {
    fn object(&self, object: usize) -> u64 {
        self.objects.get(object).copied().unwrap_or(UNDEFINED)
    }
}

fn header(messages: &[(u8, Vec<u8>)], attributes: &[Attribute], addresses: &Addresses) -> Result<Vec<u8>> {
    let mut all = messages.to_vec();
    all.push((wire::ATTRIBUTE_INFO, wire::attribute_info(attributes.len())?));
    for attribute in attributes {
        let encoded;
        let data = match &attribute.data {
            Data::Bytes(bytes) => bytes,
            Data::Scales { objects, first } => {
                encoded =
                    (*first..*first + objects.len()).flat_map(|index| heap::reference(addresses.heap, index)).collect();
                &encoded
            }
            Data::Users(users) => {
                let mut bytes = Bytes::default();
                for (object, axis) in users {
                    bytes.u64(addresses.object(*object)).u32(*axis).u32(0);
                }
                encoded = bytes.0;
                &encoded
            }
        };
        all.push((wire::ATTRIBUTE, wire::attribute(&attribute.name, &attribute.data_type, &attribute.space, data)?));
    }
    wire::header(&all)
}

/// Adds the attributes of dimension scales, and the lists of scales of the other variables. Returns the objects that the heap refers to.
fn link_scales(plan: &Plan<'_>, links: &Links, objects: &mut [Object]) -> Result<Vec<usize>> {
    let first_variable = links.names.len() - plan.variables.len();
    let mut references = Vec::new();
    let mut users: Vec<Vec<(usize, u32)>> = vec![Vec::new(); plan.dimensions.len()];
    let axes: HashSet<usize> = links.axes.iter().copied().flatten().collect();
    for (index, variable) in plan.variables.iter().enumerate() {
        let is_axis = axes.contains(&index);
        let Some(object) = objects.get_mut(first_variable + index) else { continue };
        if variable.dimensions.is_empty() || is_axis {
            continue;
        }
        let scales: Vec<usize> =
            variable.dimensions.iter().filter_map(|dimension| links.scales.get(*dimension).copied()).collect();
        for (axis, dimension) in (0u32..).zip(&variable.dimensions) {
            users.get_mut(*dimension).into_iter().for_each(|users| users.push((first_variable + index, axis)));
        }
        let first = references.len();
        references.extend_from_slice(&scales);
        let space = Space::list(scales.len());
        let data = Data::Scales { objects: scales, first };
        let list = Attribute { name: "DIMENSION_LIST".to_owned(), data_type: wire::references(), space, data };
        object.attributes.insert(0, list);
    }
    for (index, (dimension, users)) in plan.dimensions.iter().zip(users).enumerate() {
        let axis = links.axes.get(index).copied().flatten().and_then(|index| plan.variables.get(index));
        let number = |index: usize| {
            i32::try_from(index).map_err(|_| Error::usage(format!("NetCDF-4 cannot hold {index} dimensions")))
        };
        let name = match axis {
            Some(_) => dimension.name.clone(),
            None => format!("This is a netCDF dimension but not a netCDF variable.{:10}", dimension.size),
        };
        let mut own =
            vec![Attribute::nul_terminated("CLASS", "DIMENSION_SCALE"), Attribute::nul_terminated("NAME", &name)];
        own.push(Attribute::integers("_Netcdf4Dimid", vec![number(index)?], Space::Scalar));
        if let Some(variable) = axis.filter(|variable| variable.dimensions.len() > 1) {
            let all: Vec<i32> =
                variable.dimensions.iter().map(|dimension| number(*dimension)).collect::<Result<_>>()?;
            let space = Space::list(all.len());
            own.push(Attribute::integers("_Netcdf4Coordinates", all, space));
        }
        // Optional for readers, and too long for a header if thousands of variables share the dimension.
        if !users.is_empty() && users.len() * 16 <= MAX_MESSAGE - ATTRIBUTE_OVERHEAD {
            let space = Space::list(users.len());
            let data = Data::Users(users);
            own.push(Attribute { name: "REFERENCE_LIST".to_owned(), data_type: wire::users(), space, data });
        }
        if let Some(object) = links.scales.get(index).and_then(|object| objects.get_mut(*object)) {
            object.attributes.splice(0..0, own);
        }
    }
    Ok(references)
}
