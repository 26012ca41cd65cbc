//! A NetCDF file as `ncdump -h` lays it out.

use dsfmt::netcdf::{Attribute, Kind, NcType, Reader, Variable};

use crate::human::{abbreviated, clean, size};
use crate::inputs::Location;

/// Characters of an attribute that are shown.
const SHOWN: usize = 200;

pub(crate) fn describe(location: &Location, reader: &Reader) -> String {
    let mut text = format!("{}: {}, {}\n", clean(&location.name()), kind(reader.kind()), size(reader.source().len()));
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
        text.push_str("not in a ds file:\n");
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
    }
}

/// `float temp(time, lat)`, and why it cannot be read where that is so.
fn line(reader: &Reader, variable: &Variable) -> String {
    // What the type is in words stands among what ds does not have.
    let of = match &variable.nc_type {
        NcType::Other(_) => "other".to_owned(),
        known => known.to_string(),
    };
    let mut line = format!("{of} {}", clean(&variable.name));
    let dimensions: Vec<_> = reader.dimension_names(variable).map(|name| clean(name)).collect();
    if !dimensions.is_empty() {
        line.push_str(&format!("({})", dimensions.join(", ")));
    }
    match (&variable.problem, &variable.nc_type) {
        (Some(problem), _) => line.push_str(&format!("  // cannot be read: {}", clean(problem))),
        (None, NcType::Other(words)) => line.push_str(&format!("  // {}", clean(words))),
        (None, NcType::Enum { base, .. }) => line.push_str(&format!("  // of {}", NcType::Number(*base))),
        _ => {}
    }
    line
}

fn attributes(text: &mut String, of: &str, attributes: &[Attribute]) {
    let of = clean(of);
    for attribute in attributes {
        let value = attribute.value.preview(SHOWN);
        text.push_str(&format!("        {of}:{} = {}\n", clean(&attribute.name), clean(&abbreviated(&value, SHOWN))));
    }
}
