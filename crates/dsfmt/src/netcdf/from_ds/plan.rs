//! Plans a NetCDF file before anything is written.

use std::collections::{HashMap, HashSet};

use container_core::{Error, Loss, Result};

use super::fill::{self, Fill};
use super::{WriteOptions, for_each_source_chunk};
use crate::array::Values;
use crate::netcdf::attributes::{self, attribute};
use crate::netcdf::model::{Attribute, AttributeValue, Dimension, Kind, NcType};
use crate::netcdf::number::with_number;
use crate::netcdf::to_ds::loss;
use crate::read::typed::TypedNumbers;
use crate::read::{Attributes, Reader, Variable};
use crate::types::DataType;

/// The planned file.
pub(super) struct Plan<'r> {
    pub(super) kind: Kind,
    pub(super) dimensions: Vec<Dimension>,
    pub(super) attributes: Vec<Attribute>,
    pub(super) variables: Vec<PlannedVariable<'r>>,
    pub(super) losses: Vec<Loss>,
}

/// A planned variable.
pub(super) struct PlannedVariable<'r> {
    pub(super) source: Variable<'r>,
    /// Its name in the file.
    pub(super) name: String,
    pub(super) dimensions: Vec<usize>,
    pub(super) nc_type: NcType,
    pub(super) attributes: Vec<Attribute>,
    /// The fill value, of the variable's type. Empty for characters.
    pub(super) fill: Values<'static>,
    /// Bytes per string, when strings become characters.
    pub(super) width: usize,
    /// An empty variable, written as a missing scalar.
    pub(super) is_empty: bool,
}

impl PlannedVariable<'_> {
    pub(super) fn attribute(&self, name: &str) -> Option<&AttributeValue> {
        self.attributes.iter().find(|attribute| attribute.name == name).map(|attribute| &attribute.value)
    }
}

/// CF attributes of Julian dates.
pub(crate) const JULIAN: [(&str, &str); 2] =
    [("units", "days since -4713-11-24 12:00 UTC"), ("calendar", "proleptic_gregorian")];

impl<'r> Plan<'r> {
    pub(super) fn new(reader: &'r Reader, options: &WriteOptions) -> Result<Self> {
        let mut plan = Self {
            kind: options.kind.unwrap_or_else(|| oldest_kind(reader, options)),
            dimensions: Vec::new(),
            attributes: Vec::new(),
            variables: Vec::new(),
            losses: Vec::new(),
        };
        reader.check_declared_bytes(reader.variables())?;
        plan.attributes = plan.attributes(reader.attributes(), Some(&reader.typed.dataset), None, None);
        let names = FlatNames::new(reader);
        let mut indices = plan.plan_dimensions(reader, &names, options)?;
        for variable in reader.variables() {
            if let Some(problem) = variable.problem() {
                return Err(problem);
            }
            let name = names.get(variable.name());
            check_name(name, "variable")?;
            if name != variable.name() {
                let what = format!("variable {:?} written as {name:?}: groups are not written", variable.name());
                plan.losses.push(loss(what));
            }
            let typed = reader.typed.variables.get(variable.name());
            plan.variable(variable, typed, name.to_owned(), &mut indices)
                .map_err(|error| error.in_column(variable.name().to_owned()))?;
        }
        plan.choose_kind(options)?;
        Ok(plan)
    }

    /// Plans dimensions in order of first use.
    fn plan_dimensions(
        &mut self,
        reader: &Reader,
        names: &FlatNames,
        options: &WriteOptions,
    ) -> Result<HashMap<String, usize>> {
        let mut indices = HashMap::new();
        for dimension in reader.dimensions() {
            let name = names.get(&dimension.name).to_owned();
            check_name(&name, "dimension")?;
            let unlimited = is_unlimited(&dimension, options);
            indices.insert(dimension.name, self.dimensions.len());
            self.dimensions.push(Dimension { name, size: dimension.size, unlimited });
        }
        if let Some(name) = options.unlimited.as_deref().filter(|name| !indices.contains_key(*name)) {
            return Err(Error::usage(format!("unknown unlimited dimension {name:?}")));
        }
        Ok(indices)
    }

    /// Attributes of a variable, or of the dataset. Those that come from a file with `typed` ones keep their types, if the kind has them.
    fn attributes(
        &mut self,
        all: Attributes<'_>,
        typed: Option<&TypedNumbers>,
        variable: Option<&str>,
        values: Option<DataType>,
    ) -> Vec<Attribute> {
        let of = variable.map(|name| format!(" of variable {name:?}")).unwrap_or_default();
        let mut out: Vec<Attribute> = Vec::new();
        for (name, json) in all {
            if let Err(error) = check_name(&name, "attribute") {
                self.losses.push(loss(format!("attribute {name:?}{of} left out: {}", error.detail())));
                continue;
            }
            let original = typed.and_then(|typed| typed.get(name.as_str())).filter(|numbers| self.has_type(numbers));
            let original = original.map(|numbers| AttributeValue::Numbers(numbers.clone()));
            let (value, lost) =
                match original.filter(|original| attributes::json(original).as_json().as_text() == json.as_text()) {
                    Some(original) => (Some(original), None),
                    None => attribute(&name, json, values, self.kind == Kind::Hdf5),
                };
            if let Some(lost) = lost {
                self.losses.push(loss(format!("attribute {name:?}{of}: {lost}")));
            }
            let Some(value) = value else { continue };
            // Python takes the last value of a repeated name, at the first position.
            match out.iter_mut().find(|known| known.name == name) {
                Some(known) => known.value = value,
                None => out.push(Attribute { name, value }),
            }
        }
        out
    }

    /// Whether attributes of this type do not change the kind of the file.
    fn has_type(&self, numbers: &Values<'_>) -> bool {
        use DataType::{Float32, Float64, Int8, Int16, Int32};
        matches!(self.kind, Kind::Hdf5 | Kind::Data64)
            || matches!(numbers.data_type(), Int8 | Int16 | Int32 | Float32 | Float64)
    }

    fn variable(
        &mut self,
        source: Variable<'r>,
        typed: Option<&TypedNumbers>,
        flat_name: String,
        indices: &mut HashMap<String, usize>,
    ) -> Result<()> {
        let name = source.name();
        let is_empty = source.shape().is_none();
        let data_type = source.data_type().unwrap_or(DataType::Float64);
        let number = if data_type == DataType::Bool { DataType::Int8 } else { data_type };
        let mut attributes = self.attributes(source.attributes(), typed, Some(name), number.width().map(|_| number));
        let dimensions: Vec<usize> = match source.shape() {
            Some(_) => source.dimensions().iter().filter_map(|name| indices.get(name).copied()).collect(),
            None => Vec::new(),
        };
        let sizes = dimensions.iter().filter_map(|index| self.dimensions.get(*index)).map(|dimension| dimension.size);
        if let Some(shape) = source.shape()
            && !sizes.eq(shape.iter().copied())
        {
            return Err(Error::usage(format!(
                "its sizes {shape:?} contradict other variables with the same dimensions"
            )));
        }
        if source.is_time() {
            for (name, text) in JULIAN {
                if !attributes.iter().any(|attribute| attribute.name == name) {
                    attributes.push(Attribute { name: name.to_owned(), value: AttributeValue::Text(text.to_owned()) });
                }
            }
        }
        if is_empty && !source.dimensions().is_empty() {
            self.losses.push(loss(format!("empty variable {name:?} written as a missing scalar")));
        }
        let mut planned = PlannedVariable {
            source,
            name: flat_name,
            dimensions,
            nc_type: NcType::Number(number),
            attributes,
            fill: Values::Int8(Vec::new().into()),
            width: 1,
            is_empty,
        };
        if data_type.is_text() {
            self.strings(&mut planned, data_type, indices)?;
        } else {
            self.fill(&mut planned, data_type, number)?;
        }
        self.variables.push(planned);
        Ok(())
    }

    /// Chooses the fill value of a numeric variable.
    fn fill(&mut self, planned: &mut PlannedVariable<'r>, data_type: DataType, number: DataType) -> Result<()> {
        let name = planned.source.name();
        let find = |key: &str| {
            planned.attributes.iter().find(|attribute| attribute.name == key).map(|attribute| &attribute.value)
        };
        let fill: Fill = if data_type == DataType::Bool {
            self.losses.push(loss(format!("booleans of {name:?} written as bytes, 0 and 1")));
            let missing = planned.source.is_masked();
            Fill { value: vec![-127i8].into(), declared: missing, missing, masking: Vec::new() }
        } else {
            with_number!(
                number,
                T => fill::choose::<T>(&planned.source, &planned.attributes)?,
                return Err(Error::usage("expected numbers"))
            )
        };
        // The C library requires the fill value to have the variable's type.
        let own = find("_FillValue").and_then(AttributeValue::as_numbers);
        let misfit = find("_FillValue").is_some() && own.is_none_or(|own| own.data_type() != number || own.len() != 1);
        if misfit || (own.is_some() && fill.declared) {
            let why =
                if misfit { "it is not a value of the variable's type" } else { "present elements have this value" };
            self.losses
                .push(loss(format!("attribute \"_FillValue\" of variable {name:?} replaced or left out: {why}")));
            planned.attributes.retain(|attribute| attribute.name != "_FillValue");
        }
        self.losses.extend(fill.masking_losses(name));
        planned.attributes.retain(|attribute| !fill.masking.contains(&attribute.name.as_str()));
        if fill.declared || (misfit && fill.missing) {
            let value = AttributeValue::Numbers(fill.value.clone());
            planned.attributes.push(Attribute { name: "_FillValue".to_owned(), value });
        }
        planned.fill = fill.value;
        Ok(())
    }

    /// Plans strings: as characters along an additional dimension, or `NC_STRING`.
    fn strings(
        &mut self,
        planned: &mut PlannedVariable<'r>,
        data_type: DataType,
        indices: &mut HashMap<String, usize>,
    ) -> Result<()> {
        let name = planned.source.name();
        let (mut longest, mut missing, mut ended, mut cut, mut count) = (0usize, 0u64, 0u64, 0u64, 0u64);
        for_each_source_chunk(&planned.source, |array| {
            missing += array.missing() as u64;
            for string in array.values().as_strings().into_iter().flat_map(|strings| strings.iter()) {
                longest = longest.max(string.len());
                ended += u64::from(string.ends_with(&[0]));
                let text_end = string.iter().rposition(|byte| *byte != 0).unwrap_or(0);
                cut += u64::from(string.iter().take(text_end).any(|byte| *byte == 0));
                count += 1;
            }
            Ok(())
        })?;
        let is_text = data_type == DataType::Unicode;
        if self.kind == Kind::Hdf5 && is_text {
            planned.nc_type = NcType::String;
        } else {
            planned.nc_type = NcType::Char;
            planned.width = longest.max(1);
            // Single characters are read back as strings of one byte.
            if is_text || longest > 1 {
                planned.dimensions.push(self.width_dimension(planned.width, indices));
                let known = planned.attributes.iter().any(|attribute| attribute.name == "_Encoding");
                if is_text && !known {
                    let value = AttributeValue::Text("utf-8".to_owned());
                    planned.attributes.push(Attribute { name: "_Encoding".to_owned(), value });
                }
            }
        }
        // Missing characters are NULs, which are read back as missing.
        let keeps_missing = planned.nc_type == NcType::Char && longest <= 1 && !is_text;
        if missing > 0 && !keeps_missing {
            self.losses.push(Loss::new(
                format!("missing strings of {name:?} written as empty strings"),
                missing,
                Default::default(),
            ));
        }
        if cut > 0 && planned.nc_type == NcType::String {
            let what = format!("strings of {name:?} end at their first NUL character");
            self.losses.push(Loss::new(what, cut, Default::default()));
        }
        if ended > 0 {
            let what = format!("trailing NUL characters of strings of {name:?} dropped");
            self.losses.push(Loss::new(what, ended, Default::default()));
        }
        Ok(())
    }

    /// The dimension for characters of strings of up to `width` bytes, shared by all variables.
    fn width_dimension(&mut self, width: usize, indices: &mut HashMap<String, usize>) -> usize {
        let mut name = format!("string{width}");
        while let Some(index) = indices.get(&name).copied() {
            let matches = |dimension: &Dimension| dimension.size == width as u64 && !dimension.unlimited;
            if self.dimensions.get(index).is_some_and(matches) {
                return index;
            }
            name.push('_');
        }
        indices.insert(name.clone(), self.dimensions.len());
        self.dimensions.push(Dimension { name, size: width as u64, unlimited: false });
        self.dimensions.len() - 1
    }

    /// Chooses the smallest kind that holds the data; an error when the requested one does not.
    fn choose_kind(&mut self, options: &WriteOptions) -> Result<()> {
        let large = |number: DataType| {
            matches!(number, DataType::Int64 | DataType::Uint8 | DataType::Uint16 | DataType::Uint32 | DataType::Uint64)
        };
        let of_attributes = |all: &[Attribute]| {
            all.iter().find_map(|attribute| {
                attribute.value.as_numbers().map(Values::data_type).filter(|number| large(*number))
            })
        };
        let mut needed = of_attributes(&self.attributes).map(|number| format!("an attribute of type {number}"));
        for variable in &self.variables {
            let of_values = match &variable.nc_type {
                NcType::Number(number) if large(*number) => Some(*number),
                _ => of_attributes(&variable.attributes),
            };
            if let (Some(number), None) = (of_values, &needed) {
                needed = Some(format!("variable {:?} of type {number}", variable.source.name()));
            }
        }
        for dimension in self.dimensions.iter().filter(|dimension| dimension.size > i32::MAX.unsigned_abs().into()) {
            needed.get_or_insert(format!("dimension {:?} of {}", dimension.name, dimension.size));
        }
        match (options.kind, needed) {
            (None, Some(_)) if self.kind == Kind::Classic => self.kind = Kind::Data64,
            (Some(kind @ (Kind::Classic | Kind::Offset64)), Some(needed)) => {
                return Err(Error::usage(format!("{kind} cannot hold {needed}; CDF-5 and NetCDF-4 can")));
            }
            _ => {}
        }
        if self.kind == Kind::Hdf5 {
            return Ok(());
        }
        let mut unlimited = self.dimensions.iter().enumerate().filter(|(_, dimension)| dimension.unlimited);
        let (first, second) = (unlimited.next(), unlimited.next());
        if let (Some((_, first)), Some((_, second))) = (first, second) {
            let (first, second) = (&first.name, &second.name);
            let detail =
                format!("{} holds one unlimited or empty dimension, found {first:?} and {second:?}", self.kind);
            return Err(Error::usage(detail));
        }
        let Some((index, dimension)) = first else { return Ok(()) };
        for variable in &self.variables {
            if variable.dimensions.iter().skip(1).any(|other| *other == index) {
                let detail = format!(
                    "{} holds an unlimited or empty dimension only as the first of a variable, found {:?} later",
                    self.kind, dimension.name
                );
                return Err(Error::usage(detail).in_column(variable.source.name().to_owned()));
            }
        }
        Ok(())
    }
}

/// Classic kinds hold a size of 0 only as the number of records.
fn is_unlimited(dimension: &crate::Dimension, options: &WriteOptions) -> bool {
    dimension.size == 0 || options.unlimited.as_deref() == Some(&dimension.name)
}

/// The oldest kind that holds the unlimited dimensions: the classic ones hold one, as the first of a variable. Types are considered later.
fn oldest_kind(reader: &Reader, options: &WriteOptions) -> Kind {
    let dimensions = reader.dimensions();
    let mut unlimited = dimensions.iter().filter(|dimension| is_unlimited(dimension, options));
    let Some(first) = unlimited.next() else { return Kind::Classic };
    let later = |variable: &Variable<'_>| {
        variable.shape().is_some() && variable.dimensions().iter().skip(1).any(|name| *name == first.name)
    };
    if unlimited.next().is_some() || reader.variables().any(|variable| later(&variable)) {
        return Kind::Hdf5;
    }
    Kind::Classic
}

/// Names of variables and dimensions in groups, which are not written: `group/name` becomes `group_name`.
struct FlatNames(HashMap<String, String>);

impl FlatNames {
    fn new(reader: &Reader) -> Self {
        let dimensions = reader.dimensions();
        let all = || {
            let dimensions = dimensions.iter().map(|dimension| dimension.name.as_str());
            reader.variables().map(|variable| variable.name()).chain(dimensions)
        };
        let mut flat = HashMap::new();
        if !all().any(|name| name.contains('/')) {
            return Self(flat);
        }
        let mut known: HashSet<String> = all().filter(|name| !name.contains('/')).map(str::to_owned).collect();
        for name in all().filter(|name| name.contains('/')) {
            if flat.contains_key(name) {
                continue; // a dimension of this name is the variable's axis
            }
            let mut new = name.replace('/', "_");
            while !known.insert(new.clone()) {
                new.push('_');
            }
            flat.insert(name.to_owned(), new);
        }
        Self(flat)
    }

    fn get<'n>(&'n self, name: &'n str) -> &'n str {
        self.0.get(name).map_or(name, String::as_str)
    }
}

/// Checks a name by NetCDF's rules.
fn check_name(name: &str, of: &str) -> Result<()> {
    let begins =
        name.chars().next().is_some_and(|first| first.is_ascii_alphanumeric() || first == '_' || !first.is_ascii());
    let invalid = |character: char| character == '/' || character.is_ascii_control();
    if begins && !name.contains(invalid) && !name.ends_with(' ') && name.len() <= 256 {
        return Ok(());
    }
    Err(Error::usage(format!("invalid NetCDF {of} name {name:?}")))
}
