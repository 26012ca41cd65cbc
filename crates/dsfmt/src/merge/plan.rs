//! Plans the merge of each variable.

use std::collections::{BTreeSet, HashMap};

use container_core::{Error, Limits, Loss, Result};

use crate::MEANING_ATTRIBUTES;
use crate::array::Array;
use crate::edit::widest;
use crate::json::{Object, quoted};
use crate::merge::times::{self, Rebase};
use crate::merge::{MergeOptions, record_loss};
use crate::read::packing::Packing;
use crate::read::{Reader, Variable, rows_at_once};
use crate::time::{self, Units};
use crate::types::{DataType, Endian};
use crate::wire::{SPECIAL_KEYS, bit_bytes};
use crate::write::{Builder, Field, emit};

/// Number of missing elements per byte of the files that is allowed whatever the limits.
pub(super) const FREE_GROWTH: u64 = 16;

/// Attributes that define time units.
const TIME_ATTRIBUTES: [&str; 2] = [time::UNITS, time::CALENDAR];

/// Attributes that bound all values of a variable, and thus are true of a merged one only if they are of all its parts.
const RANGE_ATTRIBUTES: [&str; 4] = ["valid_range", "valid_min", "valid_max", "actual_range"];

/// A variable merged from several datasets.
#[derive(Debug)]
pub(super) struct Join<'r> {
    pub(super) name: String,
    pub(super) data_type: DataType,
    /// Shape of the result.
    pub(super) shape: Vec<u64>,
    /// The dimension along which parts are concatenated; `None` for a new first dimension.
    pub(super) axis: Option<usize>,
    /// One per dataset.
    pub(super) parts: Vec<Part<'r>>,
}

#[derive(Debug)]
pub(super) struct Part<'r> {
    /// `None`: all elements are missing.
    pub(super) variable: Option<Variable<'r>>,
    /// Size along the dimension.
    pub(super) extent: u64,
    /// Conversion of times to the units of the result.
    pub(super) rebase: Option<Rebase>,
}

pub(super) struct Plan<'r, 'o> {
    readers: Vec<&'r Reader>,
    dimension: &'o str,
    options: &'o MergeOptions,
    names: BTreeSet<&'r str>,
    /// True when no dataset has the dimension.
    is_new: bool,
    /// Size of the dimension in each dataset.
    extents: Vec<u64>,
    /// The variable whose time units the bounds with these names have.
    parents: HashMap<String, &'r str>,
}

impl<'r, 'o> Plan<'r, 'o> {
    pub(super) fn new(readers: &[&'r Reader], dimension: &'o str, options: &'o MergeOptions) -> Result<Self> {
        let mut names = BTreeSet::new();
        let (mut extents, mut is_new) = (Vec::with_capacity(readers.len()), true);
        let mut parents = HashMap::new();
        for (dataset, reader) in readers.iter().enumerate() {
            for variable in reader.variables() {
                variable.check().map_err(|error| error.in_file(options.name(dataset)))?;
                names.insert(variable.name());
                is_new &= !variable.dimensions().iter().any(|name| name == dimension);
            }
            for (name, index) in reader.bounds() {
                if let Some(times) = reader.variable_at(*index) {
                    parents.entry(name.clone()).or_insert(times.name());
                }
            }
            let is_selected = |variable: &Variable<'_>| {
                options.variables.as_ref().is_none_or(|names| names.iter().any(|name| name == variable.name()))
            };
            let declared = reader.check_declared_bytes(reader.variables().filter(is_selected));
            declared.map_err(|error| error.in_file(options.name(dataset)))?;
            let along = reader.dimensions().into_iter().find(|along| along.name == dimension);
            extents.push(along.map_or(0, |along| along.size));
        }
        for name in options.variables.iter().flatten() {
            if !names.contains(name.as_str()) {
                return Err(Error::usage(format!("unknown variable {name:?} in all datasets")));
            }
        }
        if options.new_dimension.as_deref() == Some(dimension) && !is_new {
            return Err(Error::usage(format!("dimension {dimension:?} is not new: a dataset has it")));
        }
        Ok(Self { readers: readers.to_vec(), dimension, options, names, is_new, extents, parents })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'r str> {
        self.names.iter().copied()
    }

    /// Plans a variable and adds it to the builder.
    pub(super) fn variable(
        &self,
        name: &str,
        builder: &mut Builder<'r>,
        joins: &mut Vec<Join<'r>>,
        losses: &mut Vec<Loss>,
    ) -> Result<()> {
        let all: Vec<Option<Variable<'r>>> = self.readers.iter().map(|reader| reader.variable(name).ok()).collect();
        let present = || all.iter().flatten();
        let full = || present().filter(|variable| variable.shape().is_some());
        let Some(first) = present().next() else { return Ok(()) };
        let selected =
            self.options.variables.as_ref().is_none_or(|names| names.iter().any(|selected| selected == name));
        let along = first.dimensions().iter().position(|dimension| dimension == self.dimension);
        let dimension = match (along, &self.options.new_dimension) {
            (Some(_), _) => self.dimension,
            (None, _) if self.is_new && selected => self.dimension,
            (None, Some(new)) if selected => new,
            (None, _) => {
                let mut differ = 0;
                for (dataset, other) in all.iter().enumerate().filter_map(|(n, other)| Some((n, other.as_ref()?))) {
                    let same = same_values(first, other).map_err(|error| error.in_file(self.options.name(dataset)))?;
                    differ += u64::from(!same || !same_meaning(first, other));
                }
                record_loss(
                    losses,
                    "dataset with other values in a variable that is not merged: the first values are kept",
                    differ,
                    Some(name),
                );
                builder.field(name, Field::copy(first));
                return Ok(());
            }
        };
        let model = full().next().unwrap_or(first);
        let axis = model.dimensions().iter().position(|found| found == dimension);
        let Some(mut data_type) = model.data_type().filter(|_| model.shape().is_some()) else {
            builder.field(name, self.attributes(Field::empty().with_metadata_of(first), &all, &[], losses));
            return Ok(());
        };
        let mut shape = model.shape().unwrap_or_default().to_vec();
        let mut extents = match axis {
            Some(_) => self.extents.clone(),
            None => vec![1; self.readers.len()],
        };
        for (dataset, other) in all.iter().enumerate() {
            let Some(other) = other.as_ref().filter(|other| other.shape().is_some()) else { continue };
            data_type = self
                .check(model, other, data_type, axis)
                .map_err(|error| error.in_column(name.to_owned()).in_file(self.options.name(dataset)))?;
            // The variable's own size wins, also in a dataset that contradicts itself.
            if let (Some(axis), Some(extent)) = (axis, extents.get_mut(dataset)) {
                *extent = other.shape().and_then(|shape| shape.get(axis)).copied().unwrap_or(*extent);
            }
        }
        let total = extents.iter().try_fold(0u64, |all, extent| all.checked_add(*extent));
        let total =
            total.ok_or_else(|| Error::usage("the sum of the sizes exceeds 2^64").in_column(name.to_owned()))?;
        match axis.and_then(|axis| shape.get_mut(axis)) {
            Some(size) => *size = total,
            None => shape.insert(0, total),
        }
        let times = self.times(model, &all).map_err(|error| error.in_column(name.to_owned()))?;
        self.check_meaning(model, &all, times.is_some()).map_err(|error| error.in_column(name.to_owned()))?;
        // Without conversion, the numbers keep the units that an attribute of any dataset gives them.
        let times = times.filter(|_| !self.options.keep_times);
        let rebases = times.as_ref().map(Times::rebases).unwrap_or_default();
        self.check_packing(model, &all, &rebases, data_type).map_err(|error| error.in_column(name.to_owned()))?;
        let is_converted = rebases.iter().any(Option::is_some);
        if is_converted {
            data_type =
                self.rebased_type(&all, &rebases, data_type).map_err(|error| error.in_column(name.to_owned()))?;
        }
        let gaps = self.check_gaps(&all, &extents, axis, &shape).map_err(|error| error.in_column(name.to_owned()))?;
        let masked = gaps || full().any(Variable::is_masked);
        let mut names = model.dimensions().to_vec();
        if axis.is_none() {
            names.insert(0, dimension.to_owned());
        }
        let field = Field::stream(data_type, shape.clone()).with_missing(masked).with_metadata_of(first);
        let converted: &[&str] = if times.is_some() { &TIME_ATTRIBUTES } else { &[] };
        let mut field =
            self.attributes(field, &all, converted, losses).with_dimensions(names).with_endian(Endian::NATIVE);
        if times.is_some() {
            for name in TIME_ATTRIBUTES {
                match model.attributes().get(name) {
                    Some(value) => field = field.with_attribute(name, value.to_owned()),
                    None => field.members.remove(&quoted(name)),
                }
            }
            field = field.with_time(model.is_time());
        }
        leave_out_ranges(&mut field, &all, is_converted, losses);
        builder.field(name, field);
        let mut rebases = rebases.into_iter();
        let parts = all.iter().zip(extents).map(|(variable, extent)| Part {
            rebase: rebases.next().flatten(),
            variable: variable.filter(|variable| variable.shape().is_some()),
            extent,
        });
        joins.push(Join { name: name.to_owned(), data_type, shape, axis, parts: parts.collect() });
        Ok(())
    }

    /// The type that holds the times of all datasets in the units of the first. Reads integers to know their range.
    fn rebased_type(
        &self,
        all: &[Option<Variable<'r>>],
        rebases: &[Option<Rebase>],
        data_type: DataType,
    ) -> Result<DataType> {
        let mut merged_type = data_type;
        for (dataset, (variable, rebase)) in all.iter().zip(rebases).enumerate() {
            let (Some(variable), Some(rebase)) = (variable, rebase) else { continue };
            let in_dataset = |error: Error| error.in_file(self.options.name(dataset));
            let range = match merged_type {
                DataType::Float32 | DataType::Float64 => Some((0, 0)),
                _ => rebase.range(variable).map_err(in_dataset)?,
            };
            let Some(range) = range else { continue };
            merged_type = times::holding(merged_type, range).ok_or_else(|| {
                let (min, max) = range;
                let to = rebase.to;
                in_dataset(Error::invalid(format!("times from {min} to {max} {to} exceed all integer types")))
            })?;
        }
        Ok(merged_type)
    }

    /// Returns whether elements are missing because a dataset lacks the variable. Rejects more of them than the files justify: a dimension's size
    /// costs nothing in a file whose variables have no elements.
    fn check_gaps(
        &self,
        all: &[Option<Variable<'_>>],
        extents: &[u64],
        axis: Option<usize>,
        shape: &[u64],
    ) -> Result<bool> {
        let lacks = |variable: &Option<Variable<'_>>| variable.is_none_or(|variable| variable.shape().is_none());
        let mut gaps =
            all.iter().zip(extents).enumerate().filter(|(_, (variable, extent))| lacks(variable) && **extent > 0);
        let Some((first, _)) = gaps.clone().next() else { return Ok(false) };
        let along = gaps.try_fold(0u64, |sum, (_, (_, extent))| sum.checked_add(*extent)).unwrap_or(u64::MAX);
        let others = shape.iter().enumerate().filter(|(index, _)| *index != axis.unwrap_or(0)).map(|(_, size)| *size);
        // An empty dimension leaves no elements, however large the others are.
        let row_len = if others.clone().any(|size| size == 0) { 0 } else { others.fold(1, u64::saturating_mul) };
        let missing = along.saturating_mul(row_len);
        let files = self.readers.iter().fold(0u64, |sum, reader| sum.saturating_add(reader.file_bytes()));
        if missing > files.saturating_mul(FREE_GROWTH) {
            let checked = Limits::default().check_block("mask of missing elements in bytes", bit_bytes(missing));
            checked.map_err(|error| error.in_file(self.options.name(first)))?;
        }
        Ok(true)
    }

    /// The time units of each dataset's numbers, and those of the result; `None` for other numbers. Numbers of which only some have units are
    /// rejected.
    fn times(&self, model: &Variable<'_>, all: &[Option<Variable<'_>>]) -> Result<Option<Times>> {
        let from: Vec<Option<Units>> = all.iter().map(|variable| self.units(variable.as_ref()?)).collect();
        let full = |variable: &Option<Variable<'_>>| variable.is_some_and(|variable| variable.shape().is_some());
        let lacks = all.iter().zip(&from).position(|(variable, units)| full(variable) && units.is_none());
        let to = self.target(model);
        match (lacks, to) {
            (None, Some(to)) => Ok(Some(Times { from, to })),
            (Some(dataset), _) if !self.options.keep_times && from.iter().any(Option::is_some) => {
                // Different texts of units have an error that shows them.
                self.check_meaning(model, all, false)?;
                let detail =
                    "expected times with units, or other numbers, in all datasets, found numbers without known units";
                Err(Error::invalid(detail).in_file(self.options.name(dataset)))
            }
            _ => Ok(None),
        }
    }

    /// The time units of a variable with values: its own, or those of the variable whose bounds it contains.
    fn units(&self, variable: &Variable<'_>) -> Option<Units> {
        variable.shape()?;
        let parent = self.parents.get(variable.name()).and_then(|name| variable.reader.variable(name).ok());
        units(variable, parent.and_then(|parent| time::of(&parent).ok().flatten()))
    }

    /// The time units of the merged variable, which are those of its first part, or of the variable whose bounds it contains.
    fn target(&self, model: &Variable<'_>) -> Option<Units> {
        let parents = self.parents.get(model.name()).map(|parent| {
            self.readers
                .iter()
                .filter_map(|reader| reader.variable(parent).ok().filter(|found| found.shape().is_some()))
        });
        let parent = parents.and_then(|mut parents| parents.next());
        units(model, parent.and_then(|parent| time::of(&parent).ok().flatten()))
    }

    /// Rejects merging numbers with different meanings. Times are compared and converted by their units.
    fn check_meaning(&self, model: &Variable<'_>, all: &[Option<Variable<'_>>], are_times: bool) -> Result<()> {
        let converted: &[&str] = if are_times { &TIME_ATTRIBUTES } else { &[] };
        let text = |variable: &Variable<'_>, name: &str| {
            variable.attributes().get(name).map_or("missing".to_owned(), |value| value.as_text().to_owned())
        };
        // Labels of numbers. Strings are their own labels.
        let labels = model.data_type().and_then(DataType::width).map(|_| "KeyValues");
        for name in MEANING_ATTRIBUTES.into_iter().chain(labels).filter(|name| !converted.contains(name)) {
            let expected = text(model, name);
            for (dataset, variable) in all.iter().enumerate() {
                let Some(variable) = variable.as_ref().filter(|variable| variable.shape().is_some()) else { continue };
                let found = text(variable, name);
                if found != expected {
                    let detail =
                        format!("attribute {name:?}: expected {expected} as in an earlier dataset, found {found}");
                    return Err(Error::invalid(detail).in_file(self.options.name(dataset)));
                }
            }
        }
        Ok(())
    }

    /// Rejects packed numbers that would mean others in the result.
    fn check_packing(
        &self,
        model: &Variable<'_>,
        all: &[Option<Variable<'_>>],
        rebases: &[Option<Rebase>],
        data_type: DataType,
    ) -> Result<()> {
        let expected = Packing::of(model);
        for (dataset, variable) in all.iter().enumerate() {
            let Some(variable) = variable.as_ref().filter(|variable| variable.shape().is_some()) else { continue };
            let found = Packing::of(variable);
            let is_converted = rebases.get(dataset).is_some_and(Option::is_some);
            let own = variable.data_type().unwrap_or(data_type);
            let shown = |packing: Option<Packing>| if packing.is_some() { "packed" } else { "unpacked" };
            let detail = if found != expected {
                let (expected, found) = (shown(expected), shown(found));
                format!("expected {expected} numbers as in an earlier dataset, found {found} ones of type {own}")
            } else if found.is_some_and(|packing| packing.unsigned) && own != data_type {
                format!(
                    "integers with the attribute \"_Unsigned\" cannot be widened: expected one type, found {own} and {data_type}"
                )
            } else if found.is_some() && is_converted {
                "packed times cannot be converted: expected the same time units in all datasets, found others"
                    .to_owned()
            } else {
                continue;
            };
            return Err(Error::invalid(detail).in_file(self.options.name(dataset)));
        }
        Ok(())
    }

    /// Merges the attributes of all datasets; the last wins. Differences in `converted` attributes, and of those that bound values, are not losses
    /// here.
    fn attributes(
        &self,
        mut field: Field<'r>,
        all: &[Option<Variable<'r>>],
        converted: &[&str],
        losses: &mut Vec<Loss>,
    ) -> Field<'r> {
        let special: Vec<String> =
            SPECIAL_KEYS.iter().chain(converted).chain(&RANGE_ATTRIBUTES).map(|name| quoted(name)).collect();
        let mut replaced = 0;
        let mut name = None;
        for variable in all.iter().flatten() {
            replaced += field
                .members
                .update(Object::from_json(variable.header()), |name| !special.iter().any(|special| special == name));
            name = Some(variable.name());
        }
        record_loss(losses, "attribute differs: the last value is kept", replaced, name);
        field
    }

    /// Checks that sizes match; returns the smallest type that holds the values of both.
    fn check(
        &self,
        model: &Variable<'r>,
        other: &Variable<'r>,
        so_far: DataType,
        axis: Option<usize>,
    ) -> Result<DataType> {
        let (mine, theirs) = (model.shape().unwrap_or_default(), other.shape().unwrap_or_default());
        if model.dimensions() != other.dimensions() {
            let detail = format!(
                "expected dimensions {:?} as in an earlier dataset, found {:?}",
                model.dimensions(),
                other.dimensions()
            );
            return Err(Error::invalid(detail));
        }
        let differ = mine.iter().zip(theirs).enumerate().any(|(index, (one, two))| Some(index) != axis && one != two);
        if differ {
            let dimension = if axis.is_some() { self.dimension } else { "a new dimension" };
            let detail =
                format!("sizes {theirs:?} do not match {mine:?} of an earlier dataset for a merge along {dimension}");
            return Err(Error::invalid(detail));
        }
        let found = other.data_type().unwrap_or(so_far);
        widest(so_far, found).ok_or_else(|| {
            let detail = format!("no type holds both {found} and {so_far} of earlier datasets");
            Error::invalid(detail)
        })
    }
}

/// The time units of numbers.
struct Times {
    from: Vec<Option<Units>>,
    to: Units,
}

impl Times {
    /// The conversion of each dataset's times to the units of the result.
    fn rebases(&self) -> Vec<Option<Rebase>> {
        let to = self.to;
        self.from.iter().map(|from| from.filter(|from| *from != to).map(|from| Rebase { from, to })).collect()
    }
}

/// The time units of a variable. Bounds without units, or without a calendar, have those of their `parent`.
fn units(variable: &Variable<'_>, parent: Option<Units>) -> Option<Units> {
    let attributes = variable.attributes();
    let is_number = variable.data_type().is_some_and(|data_type| data_type.width().is_some());
    let parent = parent.filter(|_| is_number && !variable.is_time());
    match (parent, attributes.get("units"), attributes.get("calendar")) {
        (Some(parent), None, _) => Some(parent),
        (Some(parent), Some(units), None) => Units::parse(&units.as_str()?, parent.calendar()).ok(),
        // Variables with invalid units are merged like other numbers, which requires equal attributes.
        _ => time::of(variable).ok().flatten(),
    }
}

/// Leaves out the bounds of values that are not true of the merged variable.
fn leave_out_ranges(field: &mut Field<'_>, all: &[Option<Variable<'_>>], is_converted: bool, losses: &mut Vec<Loss>) {
    for name in RANGE_ATTRIBUTES {
        let mut texts = all
            .iter()
            .flatten()
            .map(|variable| variable.attributes().get(name).map(|value| (value.as_text().to_owned(), variable.name())));
        let Some(first) = texts.next() else { continue };
        let others: Vec<_> = texts.collect();
        let column = others.iter().chain([&first]).flatten().next().map(|(_, variable)| *variable);
        let Some(column) = column else { continue };
        let differ = others.iter().any(|other| *other != first);
        if differ || is_converted {
            let why = if differ { "it is not the same in all datasets" } else { "the times are in other units" };
            field.members.remove(&quoted(name));
            record_loss(losses, &format!("attribute {name:?} left out: {why}"), 1, Some(column));
        }
    }
}

/// True when equal values of two variables have equal meanings.
fn same_meaning(one: &Variable<'_>, other: &Variable<'_>) -> bool {
    let units = |variable: &Variable<'_>| time::of(variable).ok().flatten();
    let are_same_times = units(one).is_some() && units(one) == units(other);
    let text =
        |variable: &Variable<'_>, name: &str| variable.attributes().get(name).map(|value| value.as_text().to_owned());
    let same = |name: &&str| (are_same_times && TIME_ATTRIBUTES.contains(name)) || text(one, name) == text(other, name);
    one.is_time() == other.is_time() && MEANING_ATTRIBUTES.iter().all(same)
}

/// True when two variables have equal values.
fn same_values(one: &Variable<'_>, other: &Variable<'_>) -> Result<bool> {
    let alike = one.shape() == other.shape() && one.data_type() == other.data_type();
    if !alike || one.dimensions() != other.dimensions() {
        return Ok(false);
    }
    let Some(shape) = one.shape().filter(|shape| !shape.contains(&0)) else { return Ok(true) };
    let all = shape.first().copied().unwrap_or(1);
    let step = rows_at_once(shape);
    let mut at = 0;
    while at < all {
        let end = all.min(at.saturating_add(step));
        if !equal(&one.read_rows(at..end)?, &other.read_rows(at..end)?)? {
            return Ok(false);
        }
        at = end;
    }
    Ok(true)
}

/// Compares masks and present values; NaN equals NaN of the same bits.
fn equal(one: &Array<'_>, other: &Array<'_>) -> Result<bool> {
    let encoded = |array: &Array<'_>| -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        emit::array(array, Endian::NATIVE, &mut bytes)?;
        Ok(bytes)
    };
    Ok(encoded(one)? == encoded(other)?)
}
