//! What a NetCDF-4 file holds: dimensions, attributes and variables, out of what `netcdf-reader` finds.

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
use super::{Datasets, Opened, library};
use crate::netcdf::model::{Attribute, AttributeValue, Dimension, NcType, Place, Variable, product};
use crate::types::DataType;

/// netCDF's prefix of a dataset that has the name of a dimension and is not its axis.
pub(crate) const NOT_AN_AXIS: &str = "_nc4_non_coord_";

/// How netCDF begins the attribute `NAME` of a dimension that has no variable.
const SCALE_ONLY: &str = "This is a netCDF dimension but not a netCDF variable";

/// Attributes in which netCDF keeps its own affairs.
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

pub(super) fn converted(
    file: &Hdf5File,
    storage: Arc<BoundedStorage>,
    nc: &NcFile,
    findings: &Findings,
    limits: &Limits,
) -> Result<Opened> {
    let mut losses = Vec::new();
    let found = nc.global_attributes().map_err(library)?;
    let mut attributes = attributes(found, None, &mut losses);
    let root = file.root_group().map_err(library)?;
    hidden(root.address(), None, findings, &mut losses);
    let mut order = Order::new(file.storage());
    order.sort(&mut attributes, root.address());
    let kept: HashSet<&str> = found.iter().map(|attribute| attribute.name.as_str()).collect();
    for attribute in root.attributes().map_err(library)? {
        if !kept.contains(attribute.name.as_str()) && !INTERNAL.contains(&attribute.name.as_str()) {
            losses.push(lost(format!("the attribute {:?} cannot be read", attribute.name)));
        }
    }
    let dimensions = nc.dimensions().map_err(library)?.iter();
    let mut dimensions: Vec<Dimension> = dimensions
        .map(|dimension| Dimension {
            name: dimension.name.clone(),
            size: dimension.size,
            unlimited: dimension.is_unlimited,
        })
        .collect();
    let (groups, all) = root.members().map_err(library)?;
    let mut datasets = HashMap::with_capacity(all.len());
    for dataset in &all {
        // Of links with the same name the first counts.
        datasets.entry(leaf(dataset.name()).to_owned()).or_insert_with(|| dataset.clone());
    }
    let found = nc.variables().map_err(library)?;
    limits.check_columns("the number of variables", found.len() as u64)?;
    let mut variables = Vec::new();
    let mut known: HashSet<&str> = HashSet::new();
    let mut places = HashMap::with_capacity(dimensions.len());
    for (place, dimension) in dimensions.iter().enumerate() {
        places.entry((dimension.name.clone(), dimension.size)).or_insert(place);
    }
    for found in found {
        known.insert(&found.name);
        let dataset = datasets.get(&found.name);
        variables.push(variable(dataset, &mut order, found, (&mut dimensions, &mut places), findings, &mut losses));
    }
    let names: HashSet<&str> = dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
    for dataset in &all {
        let name = leaf(dataset.name());
        let axis_only = dataset.attribute("CLASS").is_ok() && names.contains(name);
        if !known.contains(name) && !axis_only {
            losses
                .push(lost(format!("the variable {name:?} is of a kind that NetCDF-4 does not have: it is left out")));
        }
    }
    losses.extend(groups_below(&root, groups, limits)?);
    Ok(Opened {
        datasets: Datasets { by_name: datasets, file: file.clone(), storage },
        dimensions,
        attributes,
        variables,
        losses,
    })
}

fn lost(what: String) -> Loss {
    Loss::new(what, 1, Position::default())
}

/// The last part of a path.
fn leaf(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A loss for each group in the root. A group that several links lead to is counted once: links may go in a circle.
fn groups_below(root: &Group, groups: Vec<Group>, limits: &Limits) -> Result<Vec<Loss>> {
    let mut losses = Vec::new();
    let mut seen = HashMap::from([(root.address(), String::from("/"))]);
    for group in groups {
        let name = leaf(group.name()).to_owned();
        if let Some(first) = seen.get(&group.address()) {
            losses.push(lost(format!("the group {name:?} is left out: it is the group {first:?} by another name")));
            continue;
        }
        seen.insert(group.address(), name.clone());
        let (mut open, mut count) = (vec![group], 0);
        while let Some(group) = open.pop() {
            let (inner, datasets) = group.members().map_err(library)?;
            count += datasets.iter().filter(|dataset| is_variable(dataset)).count();
            for group in inner {
                if let Entry::Vacant(new) = seen.entry(group.address()) {
                    new.insert(leaf(group.name()).to_owned());
                    open.push(group);
                }
            }
            limits.check_columns("the number of groups", seen.len() as u64)?;
        }
        losses.push(lost(format!("the group {name:?} with {count} variables is left out: ds has no groups")));
    }
    Ok(losses)
}

/// Is the dataset a variable, not only the scale of a dimension?
fn is_variable(dataset: &Dataset) -> bool {
    let text = |name| dataset.attribute(name).and_then(|attribute| attribute.read_string());
    let is_scale = text("CLASS").is_ok_and(|class| class == "DIMENSION_SCALE");
    let is_scale_only = is_scale && text("NAME").is_ok_and(|name| name.starts_with(SCALE_ONLY));
    !is_scale_only && netcdf_reader::nc4::types::hdf5_to_nc_type(dataset.dtype()).is_ok()
}

/// Losses for the attributes of an object that the library was not shown.
fn hidden(address: u64, variable: Option<&str>, findings: &Findings, losses: &mut Vec<Loss>) {
    for name in findings.hidden.get(&address).into_iter().flatten() {
        losses.push(unread(name, variable));
    }
    let of = variable.map(|name| format!(" of variable {name:?}")).unwrap_or_default();
    match findings.unreadable.get(&address) {
        None => {}
        Some(0) => losses.push(lost(format!("the attributes{of} cannot be read: their index is damaged"))),
        Some(1) => losses.push(lost(format!("an attribute{of} cannot be read: it is left out"))),
        Some(count) => {
            let what = format!("{count} attributes{of} cannot be read: they are left out");
            losses.push(Loss::new(what, *count, Position::default()));
        }
    }
}

fn variable(
    dataset: Option<&Dataset>,
    order: &mut Order<'_>,
    found: &NcVariable,
    (dimensions, known): (&mut Vec<Dimension>, &mut HashMap<(String, u64), usize>),
    findings: &Findings,
    losses: &mut Vec<Loss>,
) -> Variable {
    let name = found.name.strip_prefix(NOT_AN_AXIS).unwrap_or(&found.name).to_owned();
    let mut places = Vec::new();
    for dimension in &found.dimensions {
        places.push(*known.entry((dimension.name.clone(), dimension.size)).or_insert_with(|| {
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
    match dataset {
        Some(dataset) => {
            order.sort(&mut variable.attributes, dataset.address());
            hidden(dataset.address(), Some(&variable.name), findings, losses);
            variable.chunks = dataset.chunks().map(|sizes| sizes.into_iter().map(u64::from).collect());
            variable.big_endian = is_big_endian(dataset.dtype());
            variable.no_fill = dataset.fill_value().is_none_or(|fill| fill.value.is_none());
            variable.problem = findings.problems.get(&dataset.address()).cloned();
            let kept: HashSet<&str> = found.attributes.iter().map(|attribute| attribute.name.as_str()).collect();
            for attribute in dataset.attributes() {
                if !kept.contains(attribute.name.as_str()) && !INTERNAL.contains(&attribute.name.as_str()) {
                    losses.push(unread(&attribute.name, Some(&variable.name)));
                }
            }
        }
        None => variable.problem = Some("its dataset cannot be opened".to_owned()),
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
                // An empty string.
                [] => AttributeValue::text(b""),
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
