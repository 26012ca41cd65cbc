//! Describes a NetCDF file in the layout of `ncdump -h`.

use dsfmt::netcdf::{Attribute, Kind, NcType, Reader, Variable};

use crate::display::{abbreviated, clean, size};
use crate::inputs::Location;

/// Maximum members shown of a compound type.
const MAX_MEMBERS: usize = 20;

/// Maximum characters shown of an attribute.
const MAX_CHARS: usize = 200;

pub(crate) fn describe(location: &Location, reader: &Reader) -> String {
    let mut text = format!("{}: {}, {}\n", clean(&location.name()), kind(reader.kind()), size(reader.bytes()));
    if !reader.dimensions().is_empty() {
        text.push_str("dimensions:\n");
    }
    for dimension in reader.dimensions() {
        let name = clean(&dimension.name);
        text.push_str(&match dimension.unlimited {
            true => format!("    {name} = UNLIMITED  // {} currently\n", dimension.size),
            false => format!("    {name} = {}\n", dimension.size),
        });
    }
    if !reader.variables().is_empty() {
        text.push_str("variables:\n");
    }
    for variable in reader.variables() {
        text.push_str(&format!("    {}\n", line(reader, variable)));
        attributes(&mut text, &variable.name, &variable.attributes);
    }
    if !reader.attributes().is_empty() {
        text.push_str("global attributes:\n");
        attributes(&mut text, "", reader.attributes());
    }
    if !reader.losses().is_empty() {
        text.push_str("cannot be converted to ds:\n");
    }
    for loss in reader.losses() {
        text.push_str(&format!("    {}\n", clean(&loss.what)));
    }
    text
}

const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Classic => "NetCDF classic (CDF-1)",
        Kind::Offset64 => "NetCDF 64-bit offset (CDF-2)",
        Kind::Data64 => "NetCDF 64-bit data (CDF-5)",
        Kind::Hdf5 => "NetCDF-4 (HDF5)",
        Kind::Zarr => "Zarr",
    }
}

/// `float temp(time, lat)`, with the reason if it cannot be read.
fn line(reader: &Reader, variable: &Variable) -> String {
    let nc_type = match &variable.nc_type {
        NcType::Other(_) => "other".to_owned(),
        NcType::Compound { .. } => "compound".to_owned(),
        known => known.to_string(),
    };
    let mut line = format!("{nc_type} {}", clean(&variable.name));
    let dimensions: Vec<_> = reader.dimension_names(variable).map(|name| clean(name)).collect();
    if !dimensions.is_empty() {
        line.push_str(&format!("({})", dimensions.join(", ")));
    }
    match (&variable.problem, &variable.nc_type) {
        (Some(problem), _) => line.push_str(&format!("  // cannot be read: {}", clean(problem))),
        (None, NcType::Other(description)) => line.push_str(&format!("  // {}", clean(description))),
        (None, NcType::Compound { members, .. }) => {
            let members = members.iter().take(MAX_MEMBERS).map(|member| {
                let sizes: Vec<String> = member.shape.iter().map(|size| format!("[{size}]")).collect();
                format!("{}: {}{}", clean(&member.name()), member.nc_type, sizes.concat())
            });
            line.push_str(&format!("  // {}", members.collect::<Vec<_>>().join(", ")));
        }
        (None, NcType::Enum { base, .. }) => line.push_str(&format!("  // of {}", NcType::Number(*base))),
        _ => {}
    }
    line
}

fn attributes(text: &mut String, owner: &str, attributes: &[Attribute]) {
    let owner = clean(owner);
    for attribute in attributes {
        let (name, value) = (clean(&attribute.name), attribute.value.preview(MAX_CHARS));
        text.push_str(&format!("        {owner}:{name} = {}\n", clean(&abbreviated(&value, MAX_CHARS))));
    }
}
