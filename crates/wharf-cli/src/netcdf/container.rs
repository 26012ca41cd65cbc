//! A NetCDF file for programs: the members that `info --json` has for ds, and what only NetCDF has.

use std::collections::HashMap;

use container_core::{ColumnInfo, Container, Error, Finding, Result, Rows, Scan, Table, VerifyOptions};
use dsfmt::netcdf::{FORMAT_NAME, Kind, NcType, Reader, Variable};
use serde_json::{Map, Value};

use super::{attributes, not_read};

/// The table of what has no dimension.
const SCALARS: &str = "scalars";

/// A NetCDF file, described: of the variables along a dimension, their first one, it makes a table. Rows are not read.
pub(crate) struct NetcdfContainer<'r> {
    reader: &'r Reader,
    tables: Vec<Variables<'r>>,
}

/// The variables of one leading dimension.
struct Variables<'r> {
    reader: &'r Reader,
    name: String,
    rows: u64,
    variables: Vec<&'r Variable>,
    columns: Vec<ColumnInfo>,
}

impl<'r> NetcdfContainer<'r> {
    pub(crate) fn new(reader: &'r Reader) -> Self {
        let mut tables: Vec<Variables<'r>> = Vec::new();
        let mut scalars = Variables::new(reader, SCALARS.to_owned(), 1);
        // Dimensions of groups may share a name: their places do not.
        let mut places: HashMap<usize, usize> = HashMap::new();
        for variable in reader.variables() {
            let first = variable.dimensions.first().zip(variable.shape.first());
            let named = first.and_then(|(place, rows)| Some((*place, reader.dimensions().get(*place)?, *rows)));
            let Some((place, dimension, rows)) = named else {
                scalars.add(variable);
                continue;
            };
            let table = *places.entry(place).or_insert_with(|| {
                tables.push(Variables::new(reader, dimension.name.clone(), rows));
                tables.len() - 1
            });
            if let Some(table) = tables.get_mut(table) {
                table.add(variable);
            }
        }
        if !scalars.columns.is_empty() || tables.is_empty() {
            scalars.rows = u64::from(!scalars.columns.is_empty());
            tables.push(scalars);
        }
        Self { reader, tables }
    }
}

impl<'r> Variables<'r> {
    const fn new(reader: &'r Reader, name: String, rows: u64) -> Self {
        Self { reader, name, rows, variables: Vec::new(), columns: Vec::new() }
    }

    fn add(&mut self, variable: &'r Variable) {
        self.variables.push(variable);
        self.columns.push(column(self.reader, variable));
    }
}

/// What the header says of a variable. Its type is that which it has in a ds file, `nc_type` its own.
fn column(reader: &Reader, variable: &Variable) -> ColumnInfo {
    match (&variable.problem, variable.nc_type.data_type()) {
        (None, Some(stored)) => {
            let inner = reader.dimension_names(variable).zip(&variable.shape).skip(1);
            let inner: Vec<String> = inner.map(|(name, size)| format!("{name}={size}")).collect();
            let inner = if inner.is_empty() { String::new() } else { format!("[{}]", inner.join(", ")) };
            ColumnInfo::new(&variable.name, format!("{}{inner}", stored.name()))
        }
        (problem, _) => {
            let mut info = ColumnInfo::new(&variable.name, "unreadable");
            let kind = || format!("its elements are {}", variable.nc_type);
            info.unreadable = Some(problem.clone().unwrap_or_else(kind));
            info
        }
    }
}

/// What else the header says of a variable.
fn summary(reader: &Reader, variable: &Variable) -> Map<String, Value> {
    let names: Vec<&str> = reader.dimension_names(variable).collect();
    let stored = variable.nc_type.data_type();
    let mut details = Map::new();
    details.insert("nc_type".to_owned(), variable.nc_type.to_string().into());
    details.insert("dimensions".to_owned(), names.into());
    details.insert("shape".to_owned(), variable.shape.as_slice().into());
    if stored.and_then(|stored| stored.width()) > Some(1) {
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

impl Container for NetcdfContainer<'_> {
    fn format(&self) -> &'static str {
        FORMAT_NAME
    }

    /// The number in the name of the kind.
    fn version(&self) -> String {
        match self.reader.kind() {
            Kind::Classic => "1",
            Kind::Offset64 => "2",
            Kind::Data64 => "5",
            Kind::Hdf5 => "4",
        }
        .to_owned()
    }

    fn details(&self) -> Map<String, Value> {
        let dimensions = self.reader.dimensions();
        let mut details = Map::new();
        details.insert("kind".to_owned(), self.reader.kind().name().into());
        details.insert("bytes".to_owned(), self.reader.source().len().into());
        let sizes = dimensions.iter().map(|dimension| (dimension.name.clone(), dimension.size.into()));
        details.insert("dimensions".to_owned(), Value::Object(sizes.collect()));
        let unlimited = dimensions.iter().filter(|dimension| dimension.unlimited);
        details.insert("unlimited".to_owned(), unlimited.map(|dimension| dimension.name.as_str()).collect());
        details.insert("attributes".to_owned(), attributes::members(self.reader.attributes()).into());
        if !self.reader.losses().is_empty() {
            let losses = self.reader.losses().iter().map(|loss| loss.what.as_str());
            details.insert("not_in_ds".to_owned(), losses.collect());
        }
        details
    }

    fn tables(&self) -> Vec<&dyn Table> {
        self.tables.iter().map(|table| -> &dyn Table { table }).collect()
    }

    fn verify(&self, _: &VerifyOptions, _: &mut dyn FnMut(Finding)) -> Result<()> {
        Err(not_read())
    }
}

impl Table for Variables<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    fn survey(&self) -> Result<()> {
        Ok(()) // the header has them all
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        self.variables.get(index).map(|variable| summary(self.reader, variable)).unwrap_or_default()
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        let missing = || Error::usage(format!("there is no column {index}")).in_format(FORMAT_NAME);
        let variable = self.variables.get(index).ok_or_else(missing)?;
        let mut details = Map::new();
        if !variable.attributes.is_empty() {
            details.insert("attributes".to_owned(), attributes::members(&variable.attributes).into());
        }
        Ok(details)
    }

    fn len(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn rows<'a>(&'a self, _: &Scan) -> Result<Box<dyn Rows + 'a>> {
        Err(not_read())
    }

    fn find(&self, _: &str) -> Result<Option<u64>> {
        Err(not_read())
    }
}
