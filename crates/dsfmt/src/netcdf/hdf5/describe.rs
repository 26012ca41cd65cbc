//! Describes a NetCDF-4 file: converts dimensions, attributes and variables from `netcdf-reader`.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use container_core::{Limits, Loss, Position, Result};
use hdf5_reader::group::Group;
use hdf5_reader::messages::datatype::Datatype;
use hdf5_reader::{ByteOrder, Dataset, Hdf5File};
use netcdf_reader::{NcAttrValue, NcAttribute, NcDimension, NcFile, NcGroup, NcVariable};

use super::compound;
use super::order::Order;
use super::storage::BoundedStorage;
use super::walk::Findings;
use super::{Datasets, Opened, library_error};
use crate::netcdf::model::{Attribute, AttributeValue, Described, Dimension, Location, NcType, Variable, product};
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
    let root = file.root_group().map_err(library_error)?;
    let (groups, datasets) = root.members().map_err(library_error)?;
    let mut description = Description {
        order: Order::new(file.storage()),
        findings,
        limits,
        dimensions: Vec::new(),
        attributes: Vec::new(),
        variables: Vec::new(),
        datasets: HashMap::with_capacity(datasets.len()),
        losses: Vec::new(),
    };
    let global = nc.global_attributes().map_err(library_error)?;
    let read: HashSet<&str> = global.iter().map(|attribute| attribute.name.as_str()).collect();
    for attribute in root.attributes().map_err(library_error)? {
        if !read.contains(attribute.name.as_str()) && !INTERNAL.contains(&attribute.name.as_str()) {
            description.losses.push(loss(format!("attribute {:?} left out: unreadable", attribute.name)));
        }
    }
    let dimensions = nc.dimensions().map_err(library_error)?;
    let members = Members { dimensions, variables: nc.variables().map_err(library_error)?, attributes: global };
    let scope = description.group(root.address(), &datasets, &members, "", Scope::new())?;
    // The library reads all groups at once, and would never finish with a cyclic tree of them.
    let tree = match is_tree(&root, &groups, datasets.len(), limits)? {
        true => nc.root_group().ok(),
        false => None,
    };
    match tree {
        Some(tree) => description.groups(&groups, &tree.groups, "", &scope)?,
        None => description.losses.extend(group_losses(&root, groups, limits)?),
    }
    let Description { dimensions, attributes, variables, datasets, losses, .. } = description;
    let datasets = Datasets { by_name: datasets, file: file.clone(), storage };
    Ok(Opened { datasets, described: Described { dimensions, attributes, variables, losses } })
}

/// The dimensions that variables of a group may have, by name and size: their indexes.
type Scope = HashMap<(String, u64), usize>;

/// What the library found in a group.
struct Members<'n> {
    /// Those of the group itself.
    dimensions: &'n [NcDimension],
    variables: &'n [NcVariable],
    attributes: &'n [NcAttribute],
}

/// What was described so far. Names of what is in a group begin with its path: `group/variable`.
struct Description<'f> {
    order: Order<'f>,
    findings: &'f Findings,
    limits: &'f Limits,
    dimensions: Vec<Dimension>,
    attributes: Vec<Attribute>,
    variables: Vec<Variable>,
    /// By link name.
    datasets: HashMap<String, Dataset>,
    losses: Vec<Loss>,
}

impl Description<'_> {
    /// Describes what is in a group, without the groups in it. `prefix` is its path with a trailing slash; `scope` has the dimensions of the groups
    /// that it is in. Returns those that it shows to groups in it.
    fn group(
        &mut self,
        address: u64,
        datasets: &[Dataset],
        members: &Members<'_>,
        prefix: &str,
        mut scope: Scope,
    ) -> Result<Scope> {
        let mut attributes = attributes(members.attributes, None, &mut self.losses);
        report_hidden(address, None, self.findings, &mut self.losses);
        self.order.sort(&mut attributes, address);
        for attribute in &mut attributes {
            attribute.name.insert_str(0, prefix);
        }
        self.attributes.extend(attributes);
        for dimension in members.dimensions {
            let index = self.dimensions.len();
            self.dimensions.push(Dimension {
                name: format!("{prefix}{}", dimension.name),
                size: dimension.size,
                unlimited: dimension.is_unlimited,
            });
            let place = scope.entry((dimension.name.clone(), dimension.size));
            match place {
                // A dimension hides one of the same name outside of the group; the first of equal ones in a group wins.
                Entry::Occupied(mut known) if self.is_outside(*known.get(), prefix) => drop(known.insert(index)),
                Entry::Occupied(_) => {}
                Entry::Vacant(new) => drop(new.insert(index)),
            }
        }
        for dataset in datasets {
            // The first of links with equal names wins.
            let name = format!("{prefix}{}", leaf(dataset.name()));
            self.datasets.entry(name).or_insert_with(|| dataset.clone());
        }
        let all = self.variables.len().saturating_add(members.variables.len());
        self.limits.check_columns("number of variables", all as u64)?;
        let mut known: HashSet<&str> = HashSet::new();
        for nc_variable in members.variables {
            known.insert(&nc_variable.name);
            let variable = self.variable(nc_variable, prefix, &mut scope);
            self.variables.push(variable);
        }
        let names: HashSet<&str> = members.dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
        for dataset in datasets {
            let name = leaf(dataset.name());
            let axis_only = dataset.attribute("CLASS").is_ok() && names.contains(name);
            if !known.contains(name) && !axis_only {
                self.losses
                    .push(loss(format!("variable {:?} left out: not a NetCDF-4 type", format!("{prefix}{name}"))));
            }
        }
        Ok(scope)
    }

    /// Whether a dimension is of a group outside of the one of this path.
    fn is_outside(&self, index: usize, prefix: &str) -> bool {
        let name = self.dimensions.get(index).map_or("", |dimension| dimension.name.as_str());
        name.rfind('/').map_or(0, |slash| slash + 1) != prefix.len()
    }

    /// Describes groups and the groups in them.
    fn groups(&mut self, groups: &[Group], read: &[NcGroup], prefix: &str, scope: &Scope) -> Result<()> {
        for group in groups {
            let name = leaf(group.name());
            let Some(nc) = read.iter().find(|nc| nc.name == name) else {
                self.losses.push(loss(format!("group {:?} left out: unreadable", format!("{prefix}{name}"))));
                continue;
            };
            let (inner, datasets) = group.members().map_err(library_error)?;
            // The library lists the dimensions of the group itself first, one for each scale.
            let own = datasets.iter().filter(|dataset| is_scale(dataset)).count();
            let dimensions = nc.dimensions.get(..own).unwrap_or(&nc.dimensions);
            let members = Members { dimensions, variables: &nc.variables, attributes: &nc.attributes };
            let prefix = format!("{prefix}{name}/");
            let scope = self.group(group.address(), &datasets, &members, &prefix, scope.clone())?;
            self.groups(&inner, &nc.groups, &prefix, &scope)?;
        }
        Ok(())
    }

    fn variable(&mut self, nc_variable: &NcVariable, prefix: &str, scope: &mut Scope) -> Variable {
        let Self { order, findings, dimensions, datasets, losses, .. } = self;
        let link = format!("{prefix}{}", nc_variable.name);
        let dataset = datasets.get(&link);
        let name = format!("{prefix}{}", nc_variable.name.strip_prefix(NOT_AN_AXIS).unwrap_or(&nc_variable.name));
        let mut indices = Vec::new();
        for dimension in &nc_variable.dimensions {
            indices.push(*scope.entry((dimension.name.clone(), dimension.size)).or_insert_with(|| {
                dimensions.push(Dimension {
                    name: format!("{prefix}{}", dimension.name),
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
            location: Location::Hdf5(link),
            name,
        };
        match dataset {
            Some(dataset) => {
                order.sort(&mut variable.attributes, dataset.address());
                report_hidden(dataset.address(), Some(&variable.name), findings, losses);
                variable.chunks = dataset.chunks().map(|sizes| sizes.into_iter().map(u64::from).collect());
                variable.big_endian = is_big_endian(dataset.dtype());
                if let Some(compound) = compound::nc_type(dataset.dtype()) {
                    variable.nc_type = compound;
                }
                variable.no_fill = dataset.fill_value().is_none_or(|fill| fill.value.is_none());
                variable.problem = findings.problems.get(&dataset.address()).cloned();
                let read: HashSet<&str> =
                    nc_variable.attributes.iter().map(|attribute| attribute.name.as_str()).collect();
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
            let what =
                format!("names of the enumeration ({}) of variable {:?} left out", named.join(", "), variable.name);
            losses.push(Loss::new(what, 1, Position::default()));
        }
        variable
    }
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
        losses.push(loss(format!(
            "group {name:?} with {count} variables left out: its groups have several names, or are too many"
        )));
    }
    Ok(losses)
}

/// True when each group has one name, and reading them all costs no more than their number justifies: each repeats the dimensions around it.
fn is_tree(root: &Group, groups: &[Group], datasets: usize, limits: &Limits) -> Result<bool> {
    const MAX_DIMENSIONS: usize = 4 << 20;
    let (mut open, mut visited, mut datasets) = (groups.to_vec(), HashSet::from([root.address()]), datasets);
    while let Some(group) = open.pop() {
        if !visited.insert(group.address()) {
            return Ok(false);
        }
        limits.check_columns("number of groups", visited.len() as u64)?;
        let (inner, members) = group.members().map_err(library_error)?;
        datasets += members.len();
        open.extend(inner);
    }
    Ok(!groups.is_empty() && visited.len().saturating_mul(datasets) <= MAX_DIMENSIONS)
}

/// True for a dataset that declares a dimension.
fn is_scale(dataset: &Dataset) -> bool {
    let class = dataset.attribute("CLASS").and_then(|attribute| attribute.read_string());
    class.is_ok_and(|class| class == "DIMENSION_SCALE")
}

/// True for a variable, as opposed to a mere dimension scale.
fn is_variable(dataset: &Dataset) -> bool {
    let text = |name| dataset.attribute(name).and_then(|attribute| attribute.read_string());
    let is_scale_only = is_scale(dataset) && text("NAME").is_ok_and(|name| name.starts_with(SCALE_ONLY));
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

pub(super) fn is_big_endian(datatype: &Datatype) -> bool {
    match datatype {
        Datatype::FixedPoint { byte_order, .. } | Datatype::FloatingPoint { byte_order, .. } => {
            *byte_order == ByteOrder::BigEndian
        }
        Datatype::Enum { base, .. } => is_big_endian(base),
        _ => false,
    }
}
