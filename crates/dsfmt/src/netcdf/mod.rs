//! NetCDF files, read and written (feature `netcdf`).

mod attributes;
mod classic;
mod hdf5;
mod mask;
mod model;
mod number;
mod reader;
mod scale;
mod to_ds;

pub use model::{Attribute, AttributeValue, Dimension, Kind, NcType, Variable};
pub use reader::{Characters, ReadOptions, Reader};
pub use to_ds::{Converted, to_ds};

/// What the format is called in errors.
pub const FORMAT_NAME: &str = "netcdf";
