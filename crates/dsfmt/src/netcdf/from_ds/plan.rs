//! What a NetCDF file will hold: decided before a byte is written.

use std::collections::HashMap;

use container_core::{Error, Loss, Result};

use super::fill::{self, Fill};
use super::{WriteOptions, source_pieces};
use crate::array::Values;
use crate::netcdf::attributes::attribute;
use crate::netcdf::model::{Attribute, AttributeValue, Dimension, Kind, NcType};
use crate::netcdf::number::with_number;
use crate::netcdf::to_ds::lost;
use crate::read::{Attributes, Reader, Variable};
use crate::types::DataType;

/// A file.
pub(super) struct Plan<'r> {
    pub(super) kind: Kind,
    pub(super) dimensions: Vec<Dimension>,
    pub(super) attributes: Vec<Attribute>,
    pub(super) variables: Vec<Planned<'r>>,
    pub(super) losses: Vec<Loss>,
}

/// A variable.
pub(super) struct Planned<'r> {
    pub(super) source: Variable<'r>,
    pub(super) dimensions: Vec<usize>,
    pub(super) nc_type: NcType,
    pub(super) attributes: Vec<Attribute>,
    /// What stands for a missing element, of the variable's type. Of characters: nothing.
    pub(super) fill: Values<'static>,
    /// Bytes of each text, where texts are characters.
    pub(super) width: usize,
    /// It has no values: one is written that means "missing".
    pub(super) is_empty: bool,
}

impl Planned<'_> {
    pub(super) fn attribute(&self, name: &str) -> Option<&AttributeValue> {
        self.attributes.iter().find(|attribute| attribute.name == name).map(|attribute| &attribute.value)
    }
}

/// Units of Julian dates.
const JULIAN: [(&str, &str); 2] = [("units", "days since -4713-11-24 12:00 UTC"), ("calendar", "proleptic_gregorian")];

impl<'r> Plan<'r> {
    pub(super) fn new(reader: &'r Reader, options: &WriteOptions) -> Result<Self> {
        let mut plan = Self {
            kind: options.kind.unwrap_or(Kind::Classic),
            dimensions: Vec::new(),
            attributes: Vec::new(),
            variables: Vec::new(),
            losses: Vec::new(),
        };
        reader.check_declared_bytes(reader.variables())?;
        plan.attributes = plan.converted(reader.attributes(), None, None);
        let mut places = plan.dimensions_of(reader, options)?;
        for variable in reader.variables() {
            if let Some(problem) = variable.problem() {
                return Err(problem);
            }
            name_allowed(variable.name(), "variable")?;
            plan.variable(variable, &mut places).map_err(|error| error.in_column(variable.name().to_owned()))?;
        }
        plan.choose_kind(options)?;
        Ok(plan)
    }

    /// The dimensions in the order in which variables name them, which have to agree on their sizes.
    fn dimensions_of(&mut self, reader: &Reader, options: &WriteOptions) -> Result<HashMap<String, usize>> {
        let mut places = HashMap::new();
        for dimension in reader.dimensions() {
            name_allowed(&dimension.name, "dimension")?;
            let unlimited = dimension.size == 0 || options.unlimited.as_deref() == Some(&dimension.name);
            places.insert(dimension.name.clone(), self.dimensions.len());
            self.dimensions.push(Dimension { name: dimension.name, size: dimension.size, unlimited });
        }
        if let Some(name) = options.unlimited.as_deref().filter(|name| !places.contains_key(*name)) {
            return Err(Error::usage(format!("there is no dimension {name:?}, which is to be unlimited")));
        }
        Ok(places)
    }

    fn converted(&mut self, all: Attributes<'_>, variable: Option<&str>, values: Option<DataType>) -> Vec<Attribute> {
        let of = variable.map(|name| format!(" of variable {name:?}")).unwrap_or_default();
        let mut out: Vec<Attribute> = Vec::new();
        for (name, json) in all {
            if let Err(error) = name_allowed(&name, "attribute") {
                self.losses.push(lost(format!("the attribute {name:?}{of} is left out: {}", error.detail())));
                continue;
            }
            let (value, loss) = attribute(&name, json, values, self.kind == Kind::Hdf5);
            if let Some(loss) = loss {
                self.losses.push(lost(format!("the attribute {name:?}{of}: {loss}")));
            }
            let Some(value) = value else { continue };
            // Of a name that occurs twice Python takes the last value and the first place.
            match out.iter_mut().find(|known| known.name == name) {
                Some(known) => known.value = value,
                None => out.push(Attribute { name, value }),
            }
        }
        out
    }

    fn variable(&mut self, source: Variable<'r>, places: &mut HashMap<String, usize>) -> Result<()> {
        let name = source.name();
        let is_empty = source.shape().is_none();
        let data_type = source.data_type().unwrap_or(DataType::Float64);
        let number = if data_type == DataType::Bool { DataType::Int8 } else { data_type };
        let mut attributes = self.converted(source.attributes(), Some(name), number.width().map(|_| number));
        let dimensions: Vec<usize> = match source.shape() {
            Some(_) => source.dimensions().iter().filter_map(|name| places.get(name).copied()).collect(),
            None => Vec::new(),
        };
        let sizes = dimensions.iter().filter_map(|place| self.dimensions.get(*place)).map(|dimension| dimension.size);
        if let Some(shape) = source.shape()
            && !sizes.eq(shape.iter().copied())
        {
            return Err(Error::usage(format!(
                "its sizes {shape:?} are not those that other variables have for its dimensions"
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
            self.losses.push(lost(format!("the empty variable {name:?} is written as a scalar that is missing")));
        }
        let mut planned = Planned {
            source,
            dimensions,
            nc_type: NcType::Number(number),
            attributes,
            fill: Values::Int8(Vec::new().into()),
            width: 1,
            is_empty,
        };
        if data_type.is_text() {
            self.texts(&mut planned, data_type, places)?;
        } else {
            self.fill(&mut planned, data_type, number)?;
        }
        self.variables.push(planned);
        Ok(())
    }

    /// Chooses the fill value of numbers.
    fn fill(&mut self, planned: &mut Planned<'r>, data_type: DataType, number: DataType) -> Result<()> {
        let name = planned.source.name();
        let find =
            |wanted: &str| planned.attributes.iter().find(|found| found.name == wanted).map(|found| &found.value);
        let chosen: Fill = if data_type == DataType::Bool {
            self.losses.push(lost(format!("the truth values of {name:?} are written as bytes, 0 and 1")));
            let missing = planned.source.is_masked();
            Fill { value: vec![-127i8].into(), declared: missing, missing, taken: false }
        } else {
            with_number!(
                number,
                T => fill::choose::<T>(&planned.source, find("_FillValue"), find("missing_value"))?,
                return Err(Error::usage("it holds no numbers"))
            )
        };
        // The C library takes no fill value of another type than the variable's.
        let own = find("_FillValue").and_then(AttributeValue::as_numbers);
        let misfit = find("_FillValue").is_some() && own.is_none_or(|own| own.data_type() != number || own.len() != 1);
        if misfit || (own.is_some() && chosen.declared) {
            let why = if misfit {
                "it is no value of the variable's type"
            } else {
                "elements that are there have this value"
            };
            self.losses.push(lost(format!(
                "the attribute \"_FillValue\" of variable {name:?} is replaced or left out: {why}"
            )));
            planned.attributes.retain(|attribute| attribute.name != "_FillValue");
        }
        if chosen.taken {
            let what = format!(
                "elements of variable {name:?} that equal its attribute \"missing_value\" will be read as missing"
            );
            self.losses.push(lost(what));
        }
        if chosen.declared || (misfit && chosen.missing) {
            let value = AttributeValue::Numbers(chosen.value.clone());
            planned.attributes.push(Attribute { name: "_FillValue".to_owned(), value });
        }
        planned.fill = chosen.value;
        Ok(())
    }

    /// Texts: characters along one more dimension, or `NC_STRING`.
    fn texts(
        &mut self,
        planned: &mut Planned<'r>,
        data_type: DataType,
        places: &mut HashMap<String, usize>,
    ) -> Result<()> {
        let name = planned.source.name();
        let (mut longest, mut missing, mut ended, mut count) = (0usize, 0u64, 0u64, 0u64);
        source_pieces(&planned.source, |array| {
            missing += array.missing() as u64;
            for string in array.values().as_strings().into_iter().flat_map(|strings| strings.iter()) {
                longest = longest.max(string.len());
                ended += u64::from(string.ends_with(&[0]));
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
            // Strings of one byte each are what characters are read as.
            if is_text || longest > 1 {
                planned.dimensions.push(self.width_dimension(planned.width, places));
                let known = planned.attributes.iter().any(|attribute| attribute.name == "_Encoding");
                if is_text && !known {
                    let value = AttributeValue::Text("utf-8".to_owned());
                    planned.attributes.push(Attribute { name: "_Encoding".to_owned(), value });
                }
            }
        }
        // Characters that are missing are NULs, and read as missing again.
        let kept = planned.nc_type == NcType::Char && longest <= 1 && !is_text;
        if missing > 0 && !kept {
            self.losses.push(Loss::new(
                format!("missing texts of {name:?} are written as empty ones"),
                missing,
                Default::default(),
            ));
        }
        if ended > 0 {
            let what = format!("texts of {name:?} that end in NUL characters lose these");
            self.losses.push(Loss::new(what, ended, Default::default()));
        }
        Ok(())
    }

    /// The dimension of texts that are so long at most: one for all of them.
    fn width_dimension(&mut self, width: usize, places: &mut HashMap<String, usize>) -> usize {
        let mut name = format!("string{width}");
        while let Some(place) = places.get(&name).copied() {
            let fits = |dimension: &Dimension| dimension.size == width as u64 && !dimension.unlimited;
            if self.dimensions.get(place).is_some_and(fits) {
                return place;
            }
            name.push('_');
        }
        places.insert(name.clone(), self.dimensions.len());
        self.dimensions.push(Dimension { name, size: width as u64, unlimited: false });
        self.dimensions.len() - 1
    }

    /// The smallest kind that holds it; an error where one is asked for that does not.
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
            (None, Some(_)) => self.kind = Kind::Data64,
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
            let detail = format!(
                "{} holds one dimension that is unlimited or of no size, and {first:?} and {second:?} are",
                self.kind
            );
            return Err(Error::usage(detail));
        }
        let Some((place, dimension)) = first else { return Ok(()) };
        for variable in &self.variables {
            if variable.dimensions.iter().skip(1).any(|other| *other == place) {
                let detail = format!(
                    "{} holds no variable whose second or later dimension, {:?}, is unlimited or of no size",
                    self.kind, dimension.name
                );
                return Err(Error::usage(detail).in_column(variable.source.name().to_owned()));
            }
        }
        Ok(())
    }
}

/// NetCDF's rules of names.
fn name_allowed(name: &str, of: &str) -> Result<()> {
    let begins =
        name.chars().next().is_some_and(|first| first.is_ascii_alphanumeric() || first == '_' || !first.is_ascii());
    let wrong = |found: char| found == '/' || found.is_ascii_control();
    if begins && !name.contains(wrong) && !name.ends_with(' ') && name.len() <= 256 {
        return Ok(());
    }
    Err(Error::usage(format!("NetCDF allows no {of} of the name {name:?}")))
}
