//! Describes a NetCDF-4 file: converts dimensions, attributes and variables from `netcdf-reader`.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use container_core::{Limits, Loss, Position, Result};
use hdf5_reader::group::Group;
use hdf5_reader::messages::datatype::Datatype;
use hdf5_reader::{ByteOrder, Dataset, Hdf5File};
use netcdf_reader::{NcAttrValue, NcFile, NcVariable};

use super::order::Order;
use super::storage::BoundedStorage;
use super::walk::Findings;
use super::{Datasets, Opened, library_error};
use crate::netcdf::model::{Attribute, AttributeValue, Dimension, Location, NcType, Variable, product};
use crate::types::DataType;

/// netCDF's prefix of a dataset that is named like a dimension but is not its coordinate variable.
pub(crate) const NOT_AN_AXIS: &str = "_nc4_non_coord_";

/// Prefix of the attribute `NAME` of a dimension without a variable.
const SCALE_ONLY: &str = "This is a netCDF dimension but not a netCDF variable";

/// Attributes that netCDF uses internally.
pub(super) const INTERNAL: [&str; 8] = [
    "_NCProperties",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
    "_nc3_strict",
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "CLASS",
    "NAME",
];

pub(super) fn describe(
    file: &Hdf5File,
    storage: Arc<BoundedStorage>,
    nc: &NcFile,
    findings: &Findings,
    limits: &Limits,
) -> Result<Opened> {
    let mut losses = Vec::new();
    let global = nc.global_attributes().map_err(library_error)?;
    let mut attributes = attributes(global, None, &mut losses);
    let root = file.root_group().map_err(library_error)?;
    report_hidden(root.address(), None, findings, &mut losses);
    let mut order = Order::new(file.storage());
    order.sort(&mut attributes, root.address());
    let read: HashSet<&str> = global.iter().map(|attribute| attribute.name.as_str()).collect();
    for attribute in root.attributes().map_err(library_error)? {
        if !read.contains(attribute.name.as_str()) && !INTERNAL.contains(&attribute.name.as_str()) {
            losses.push(loss(format!("attribute {:?} left out: unreadable", attribute.name)));
        }
    }
    let dimensions = nc.dimensions().map_err(library_error)?.iter();
    let mut dimensions: Vec<Dimension> = dimensions
        .map(|dimension| Dimension {
            name: dimension.name.clone(),
            size: dimension.size,
            unlimited: dimension.is_unlimited,
        })
        .collect();
    let (groups, all) = root.members().map_err(library_error)?;
    let mut datasets = HashMap::with_capacity(all.len());
    for dataset in &all {
        // The first of links with equal names wins.
        datasets.entry(leaf(dataset.name()).to_owned()).or_insert_with(|| dataset.clone());
    }
    let nc_variables = nc.variables().map_err(library_error)?;
    limits.check_columns("number of variables", nc_variables.len() as u64)?;
    let mut variables = Vec::new();
    let mut known: HashSet<&str> = HashSet::new();
    let mut indices = HashMap::with_capacity(dimensions.len());
    for (index, dimension) in dimensions.iter().enumerate() {
        indices.entry((dimension.name.clone(), dimension.size)).or_insert(index);
    }
    for nc_variable in nc_variables {
        known.insert(&nc_variable.name);
        let dataset = datasets.get(&nc_variable.name);
        variables.push(variable(
            dataset,
            &mut order,
            nc_variable,
            (&mut dimensions, &mut indices),
            findings,
            &mut losses,
        ));
    }
    let names: HashSet<&str> = dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
    for dataset in &all {
        let name = leaf(dataset.name());
        let axis_only = dataset.attribute("CLASS").is_ok() && names.contains(name);
        if !known.contains(name) && !axis_only {
            losses.push(loss(format!("variable {name:?} left out: not a NetCDF-4 type")));
        }
    }
    losses.extend(group_losses(&root, groups, limits)?);
    Ok(Opened {
        datasets: Datasets { by_name: datasets, file: file.clone(), storage },
        dimensions,
        attributes,
        variables,
        losses,
    })
}

fn loss(what: String) -> Loss {
    Loss::new(what, 1, Position::default())
}

/// The last component of a path.
fn leaf(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// One loss per group in the root. Links may be cyclic, so each group is counted once.
fn group_losses(root: &Group, groups: Vec<Group>, limits: &Limits) -> Result<Vec<Loss>> {
    let mut losses = Vec::new();
    let mut visited = HashMap::from([(root.address(), String::from("/"))]);
    for group in groups {
        let name = leaf(group.name()).to_owned();
        if let Some(first) = visited.get(&group.address()) {
            losses.push(loss(format!("group {name:?} left out: it is group {first:?} by another name")));
            continue;
        }
        visited.insert(group.address(), name.clone());
        let (mut open, mut count) = (vec![group], 0);
        while let Some(group) = open.pop() {
            let (inner, datasets) = group.members().map_err(library_error)?;
            count += datasets.iter().filter(|dataset| is_variable(dataset)).count();
            for group in inner {
                if let Entry::Vacant(new) = visited.entry(group.address()) {
                    new.insert(leaf(group.name()).to_owned());
                    open.push(group);
                }
            }
            limits.check_columns("number of groups", visited.len() as u64)?;
        }
        losses.push(loss(format!("group {name:?} with {count} variables left out: ds has no groups")));
    }
    Ok(losses)
}

/// True for a variable, as opposed to a mere dimension scale.
fn is_variable(dataset: &Dataset) -> bool {
    let text = |name| dataset.attribute(name).and_then(|attribute| attribute.read_string());
    let is_scale = text("CLASS").is_ok_and(|class| class == "DIMENSION_SCALE");
    let is_scale_only = is_scale && text("NAME").is_ok_and(|name| name.starts_with(SCALE_ONLY));
    !is_scale_only && netcdf_reader::nc4::types::hdf5_to_nc_type(dataset.dtype()).is_ok()
}

/// Reports attributes that were hidden from the library.
fn report_hidden(address: u64, variable: Option<&str>, findings: &Findings, losses: &mut Vec<Loss>) {
    for name in findings.hidden.get(&address).into_iter().flatten() {
        losses.push(unsupported_attribute(name, variable));
    }
    let of = variable.map(|name| format!(" of variable {name:?}")).unwrap_or_default();
    match findings.unreadable.get(&address) {
        None => {}
        Some(0) => losses.push(loss(format!("attributes{of} left out: their index is damaged"))),
        Some(1) => losses.push(loss(format!("an attribute{of} left out: unreadable"))),
        Some(count) => {
            let what = format!("{count} attributes{of} left out: unreadable");
            losses.push(Loss::new(what, *count, Position::default()));
        }
    }
}

fn variable(
    dataset: Option<&Dataset>,
    order: &mut Order<'_>,
    nc_variable: &NcVariable,
    (dimensions, known): (&mut Vec<Dimension>, &mut HashMap<(String, u64), usize>),
    findings: &Findings,
    losses: &mut Vec<Loss>,
) -> Variable {
    let name = nc_variable.name.strip_prefix(NOT_AN_AXIS).unwrap_or(&nc_variable.name).to_owned();
    let mut indices = Vec::new();
    for dimension in &nc_variable.dimensions {
        indices.push(*known.entry((dimension.name.clone(), dimension.size)).or_insert_with(|| {
            dimensions.push(Dimension {
                name: dimension.name.clone(),
                size: dimension.size,
                unlimited: dimension.is_unlimited,
            });
            dimensions.len() - 1
        }));
    }
    let mut variable = Variable {
        attributes: attributes(&nc_variable.attributes, Some(&name), losses),
        dimensions: indices,
        shape: nc_variable.dimensions.iter().map(|dimension| dimension.size).collect(),
        nc_type: nc_type(&nc_variable.dtype),
        chunks: None,
        big_endian: false,
        problem: None,
        no_fill: false,
        location: Location::Hdf5(nc_variable.name.clone()),
        name,
    };
    match dataset {
        Some(dataset) => {
            order.sort(&mut variable.attributes, dataset.address());
            report_hidden(dataset.address(), Some(&variable.name), findings, losses);
            variable.chunks = dataset.chunks().map(|sizes| sizes.into_iter().map(u64::from).collect());
            variable.big_endian = is_big_endian(dataset.dtype());
            variable.no_fill = dataset.fill_value().is_none_or(|fill| fill.value.is_none());
            variable.problem = findings.problems.get(&dataset.address()).cloned();
            let read: HashSet<&str> = nc_variable.attributes.iter().map(|attribute| attribute.name.as_str()).collect();
            for attribute in dataset.attributes() {
                if !read.contains(attribute.name.as_str()) && !INTERNAL.contains(&attribute.name.as_str()) {
                    losses.push(unsupported_attribute(&attribute.name, Some(&variable.name)));
                }
            }
        }
        None => variable.problem = Some("its dataset cannot be opened".to_owned()),
    }
    if product(&variable.shape).is_none() {
        variable.problem = Some(format!("its sizes {:?} exceed 2^64 elements", variable.shape));
    }
    if let NcType::Enum { members, .. } = &variable.nc_type {
        let named: Vec<String> = members.iter().map(|(name, number)| format!("{number} {name}")).collect();
        let what = format!("names of the enumeration ({}) of variable {:?} left out", named.join(", "), variable.name);
        losses.push(Loss::new(what, 1, Position::default()));
    }
    variable
}

fn unsupported_attribute(attribute: &str, variable: Option<&str>) -> Loss {
    let of = variable.map(|name| format!(" of variable {name:?}")).unwrap_or_default();
    Loss::new(format!("attribute {attribute:?}{of} left out: unsupported type"), 1, Position::default())
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
            NcAttrValue::Chars(text) => AttributeValue::from_text(text.as_bytes()),
            NcAttrValue::Strings(texts) => match texts.as_slice() {
                // An empty string.
                [] => AttributeValue::from_text(b""),
                [text] => AttributeValue::from_text(text.as_bytes()),
                texts => AttributeValue::Texts(texts.to_vec()),
            },
            NcAttrValue::UserDefined { .. } => {
                losses.push(unsupported_attribute(&attribute.name, variable));
                continue;
            }
        };
        out.push(Attribute { name: attribute.name.clone(), value });
    }
    out
}

fn number(nc_type: &netcdf_reader::NcType) -> Option<DataType> {
    use netcdf_reader::NcType as Type;
    Some(match nc_type {
        Type::Byte => DataType::Int8,
        Type::Short => DataType::Int16,
        Type::Int => DataType::Int32,
        Type::Float => DataType::Float32,
        Type::Double => DataType::Float64,
        Type::UByte => DataType::Uint8,
        Type::UShort => DataType::Uint16,
        Type::UInt => DataType::Uint32,
        Type::Int64 => DataType::Int64,
        Type::UInt64 => DataType::Uint64,
        _ => return None,
    })
}

fn nc_type(nc_type: &netcdf_reader::NcType) -> NcType {
    use netcdf_reader::NcType as Type;
    match nc_type {
        Type::Char => NcType::Char,
        Type::String => NcType::String,
        Type::Enum { base, members } => match number(base) {
            Some(base) => {
                let members = members.iter();
                NcType::Enum {
                    base,
                    members: members.map(|one| (one.name.clone(), one.value.as_i128().unwrap_or_default())).collect(),
                }
            }
            None => NcType::Other("enumeration of a non-integer type".to_owned()),
        },
        Type::Compound { fields, .. } => NcType::Other(format!("compound of {} fields", fields.len())),
        Type::Opaque { size, .. } => NcType::Other(format!("opaque of {size} bytes")),
        Type::Array { .. } => NcType::Other("array".to_owned()),
        Type::VLen { .. } => NcType::Other("variable-length list".to_owned()),
        other => number(other).map_or_else(|| NcType::Other("unknown".to_owned()), NcType::Number),
    }
}

fn is_big_endian(datatype: &Datatype) -> bool {
    match datatype {
        Datatype::FixedPoint { byte_order, .. } | Datatype::FloatingPoint { byte_order, .. } => {
            *byte_order == ByteOrder::BigEndian
        }
        Datatype::Enum { base, .. } => is_big_endian(base),
        _ => false,
    }
}
