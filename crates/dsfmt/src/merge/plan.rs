//! What becomes of each variable.

use std::collections::BTreeSet;

use container_core::{Error, Limits, Loss, Result};

use crate::MEANING_ATTRIBUTES;
use crate::array::{Array, Values};
use crate::edit::widest;
use crate::json::{Object, quoted};
use crate::merge::pieces::rows_at_once;
use crate::merge::times::{self, Rebase};
use crate::merge::{MergeOptions, lose};
use crate::read::{Reader, Variable};
use crate::time::{self, Units};
use crate::types::{DataType, Endian};
use crate::wire::{SPECIAL, bit_bytes};
use crate::write::{Builder, Field};

/// So many elements that are missing for each byte of the files, whatever the limits.
pub(super) const GROWTH: u64 = 16;

/// Attributes that say what times count.
const TIME_ATTRIBUTES: [&str; 2] = ["units", "calendar"];

/// A variable that is put together.
#[derive(Debug)]
pub(super) struct Join<'r> {
    pub(super) name: String,
    pub(super) data_type: DataType,
    /// Of the whole.
    pub(super) shape: Vec<u64>,
    /// The dimension along which parts follow one another; `None` for a new first one.
    pub(super) axis: Option<usize>,
    /// In the order of the datasets.
    pub(super) parts: Vec<Part<'r>>,
}

#[derive(Debug)]
pub(super) struct Part<'r> {
    /// Missing elements without.
    pub(super) variable: Option<Variable<'r>>,
    /// Elements along the dimension.
    pub(super) extent: u64,
    /// Times that are counted in other units than those of the whole.
    pub(super) rebase: Option<Rebase>,
}

pub(super) struct Plan<'r, 'o> {
    readers: Vec<&'r Reader>,
    dimension: &'o str,
    options: &'o MergeOptions,
    names: BTreeSet<&'r str>,
    /// No dataset has the dimension.
    is_new: bool,
    /// The size of the dimension in each dataset.
    extents: Vec<u64>,
}

impl<'r, 'o> Plan<'r, 'o> {
    pub(super) fn new(readers: &[&'r Reader], dimension: &'o str, options: &'o MergeOptions) -> Result<Self> {
        let mut names = BTreeSet::new();
        let (mut extents, mut is_new) = (Vec::with_capacity(readers.len()), true);
        for (dataset, reader) in readers.iter().enumerate() {
            for variable in reader.variables() {
                variable.check().map_err(|error| error.in_file(options.name(dataset)))?;
                names.insert(variable.name());
                is_new &= !variable.dimensions().iter().any(|name| name == dimension);
            }
            let taken = |variable: &Variable<'_>| {
                options.variables.as_ref().is_none_or(|names| names.iter().any(|name| name == variable.name()))
            };
            let together = reader.check_together(reader.variables().filter(taken));
            together.map_err(|error| error.in_file(options.name(dataset)))?;
            let found = reader.dimensions().into_iter().find(|found| found.name == dimension);
            extents.push(found.map_or(0, |found| found.size));
        }
        for name in options.variables.iter().flatten() {
            if !names.contains(name.as_str()) {
                return Err(Error::usage(format!("no dataset has a variable {name:?}")));
            }
        }
        if options.new.as_deref() == Some(dimension) && !is_new {
            return Err(Error::usage(format!("the dimension {dimension:?} is not new")));
        }
        Ok(Self { readers: readers.to_vec(), dimension, options, names, is_new, extents })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'r str> {
        self.names.iter().copied()
    }

    /// Adds a variable to what is written.
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
        let wanted = self.options.variables.as_ref().is_none_or(|wanted| wanted.iter().any(|wanted| wanted == name));
        let along = first.dimensions().iter().position(|found| found == self.dimension);
        let dimension = match (along, &self.options.new) {
            (Some(_), _) => self.dimension,
            (None, _) if self.is_new && wanted => self.dimension,
            (None, Some(new)) if wanted => new,
            (None, _) => {
                let mut differ = 0;
                for (dataset, other) in all.iter().enumerate().filter_map(|(n, other)| Some((n, other.as_ref()?))) {
                    let same = same(first, other).map_err(|error| error.in_file(self.options.name(dataset)))?;
                    differ += u64::from(!same);
                }
                lose(
                    losses,
                    "dataset with other values in a variable that is not joined: the first are kept",
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
            builder.field(name, self.attributes(Field::empty().like(first), &all, &[], losses));
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
            // What the variable itself has counts, also in a dataset that contradicts itself.
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
        let times = if self.options.keep_times { None } else { units(&all) };
        let rebases = times.as_ref().map(|times| rebases(times)).unwrap_or_default();
        if rebases.iter().any(Option::is_some) {
            data_type = self.rebased(&all, &rebases, data_type).map_err(|error| error.in_column(name.to_owned()))?;
        }
        self.check_meaning(model, &all).map_err(|error| error.in_column(name.to_owned()))?;
        let gaps = self.check_gaps(&all, &extents, axis, &shape).map_err(|error| error.in_column(name.to_owned()))?;
        let masked = gaps || full().any(Variable::is_masked);
        let mut names = model.dimensions().to_vec();
        if axis.is_none() {
            names.insert(0, dimension.to_owned());
        }
        let field = Field::stream(data_type, shape.clone()).with_missing(masked).like(first);
        let converted: &[&str] = if times.is_some() { &TIME_ATTRIBUTES } else { &[] };
        let mut field =
            self.attributes(field, &all, converted, losses).with_dimensions(names).with_endian(Endian::NATIVE);
        if times.is_some() {
            for name in TIME_ATTRIBUTES {
                if let Some(value) = model.attributes().get(name) {
                    field = field.with_attribute(name, value.to_owned());
                }
            }
            field = field.with_time(model.is_time());
        }
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

    /// The type that holds the times of all datasets in the units of the first. Integers are read to know how large they become.
    fn rebased(
        &self,
        all: &[Option<Variable<'r>>],
        rebases: &[Option<Rebase>],
        data_type: DataType,
    ) -> Result<DataType> {
        let mut wide = data_type;
        for (dataset, (variable, rebase)) in all.iter().zip(rebases).enumerate() {
            let (Some(variable), Some(rebase)) = (variable, rebase) else { continue };
            let named = |error: Error| error.in_file(self.options.name(dataset));
            let range = match wide {
                DataType::Float32 | DataType::Float64 => Some((0, 0)),
                _ => rebase.range(variable).map_err(named)?,
            };
            let Some(range) = range else { continue };
            wide = times::holding(wide, range).ok_or_else(|| {
                let (least, most) = range;
                let to = rebase.to;
                named(Error::invalid(format!("times from {least} to {most} {to} do not fit into one integer type")))
            })?;
        }
        Ok(wide)
    }

    /// Is anything missing because a dataset lacks the variable? Refuses more of it than the files can answer for: the size of a dimension
    /// takes nothing in a file whose variables along it have no elements.
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
        let others = shape.iter().enumerate().filter(|(place, _)| *place != axis.unwrap_or(0)).map(|(_, size)| *size);
        // An axis of no size has no elements, however large the others are.
        let wide = if others.clone().any(|size| size == 0) { 0 } else { others.fold(1, u64::saturating_mul) };
        let missing = along.saturating_mul(wide);
        let files = self.readers.iter().fold(0u64, |sum, reader| sum.saturating_add(reader.source().len()));
        if missing > files.saturating_mul(GROWTH) {
            let checked = Limits::default().check_block("the bits of missing elements, in bytes", bit_bytes(missing));
            checked.map_err(|error| error.in_file(self.options.name(first)))?;
        }
        Ok(true)
    }

    /// Refuses to join numbers that mean different things. Times are compared, and converted, as what they count.
    fn check_meaning(&self, model: &Variable<'_>, all: &[Option<Variable<'_>>]) -> Result<()> {
        let full = || all.iter().flatten().filter(|variable| variable.shape().is_some());
        let are_times = full().all(|variable| time::of(variable).is_ok_and(|units| units.is_some()));
        let compared: &[&str] = if are_times { &["units", "calendar"] } else { &[] };
        let shown = |variable: &Variable<'_>, name: &str| {
            variable.attributes().get(name).map_or("missing".to_owned(), |value| value.as_text().to_owned())
        };
        // The labels of numbers. Texts are labels themselves.
        let labels = model.data_type().and_then(DataType::width).map(|_| "KeyValues");
        for name in MEANING_ATTRIBUTES.into_iter().chain(labels).filter(|name| !compared.contains(name)) {
            let wanted = shown(model, name);
            for (dataset, variable) in all.iter().enumerate() {
                let Some(variable) = variable.as_ref().filter(|variable| variable.shape().is_some()) else { continue };
                let found = shown(variable, name);
                if found != wanted {
                    let detail = format!("attribute {name:?} is {found} here, {wanted} in a dataset before");
                    return Err(Error::invalid(detail).in_file(self.options.name(dataset)));
                }
            }
        }
        Ok(())
    }

    /// The attributes of all datasets; the last has the last word. That some differ is no loss where values were `converted`.
    fn attributes(
        &self,
        mut field: Field<'r>,
        all: &[Option<Variable<'r>>],
        converted: &[&str],
        losses: &mut Vec<Loss>,
    ) -> Field<'r> {
        let special: Vec<String> = SPECIAL.iter().chain(converted).map(|name| quoted(name)).collect();
        let mut replaced = 0;
        let mut name = None;
        for variable in all.iter().flatten() {
            replaced += field
                .members
                .update(Object::of(variable.header()), |name| !special.iter().any(|special| special == name));
            name = Some(variable.name());
        }
        lose(losses, "attribute differs: the last is kept", replaced, name);
        field
    }

    /// The type that holds the values of both, when the sizes fit as well.
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
                "its dimensions are {:?}, those of a dataset before {:?}",
                other.dimensions(),
                model.dimensions()
            );
            return Err(Error::invalid(detail));
        }
        let differ = mine.iter().zip(theirs).enumerate().any(|(index, (one, two))| Some(index) != axis && one != two);
        if differ {
            let dimension = if axis.is_some() { self.dimension } else { "a new dimension" };
            let detail = format!(
                "its sizes are {theirs:?}, those of a dataset before {mine:?}, which do not join along {dimension}"
            );
            return Err(Error::invalid(detail));
        }
        let found = other.data_type().unwrap_or(so_far);
        widest(so_far, found).ok_or_else(|| {
            let detail =
                format!("its type is {found}, that of the datasets before {so_far}: no type holds the values of both");
            Error::invalid(detail)
        })
    }
}

/// What the numbers of each dataset count, when all are times and they do not count the same.
fn units(all: &[Option<Variable<'_>>]) -> Option<Vec<Option<Units>>> {
    let mut found = Vec::with_capacity(all.len());
    for variable in all {
        let Some(variable) = variable.as_ref().filter(|variable| variable.shape().is_some()) else {
            found.push(None);
            continue;
        };
        // What cannot be understood is joined as it is, like other numbers; different units are refused then.
        found.push(Some(time::of(variable).ok().flatten()?));
    }
    let mut known = found.iter().flatten();
    let first = known.next();
    known.any(|other| Some(other) != first).then_some(found)
}

/// How the times of each dataset become those of the first.
fn rebases(units: &[Option<Units>]) -> Vec<Option<Rebase>> {
    let to = units.iter().flatten().next();
    let rebase = |from: &Option<Units>| match (*from, to) {
        (Some(from), Some(&to)) if from != to => Some(Rebase { from, to }),
        _ => None,
    };
    units.iter().map(rebase).collect()
}

/// Have two variables the same values?
fn same(one: &Variable<'_>, other: &Variable<'_>) -> Result<bool> {
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
        if !equal(&one.read_rows(at..end)?, &other.read_rows(at..end)?) {
            return Ok(false);
        }
        at = end;
    }
    Ok(true)
}

/// Equal values, where what is no number equals itself.
fn equal(one: &Array<'_>, other: &Array<'_>) -> bool {
    let mask = |array: &Array<'_>| array.mask().filter(|mask| mask.missing() > 0).map(|mask| mask.as_bits().to_vec());
    mask(one) == mask(other)
        && match (one.values(), other.values()) {
            (Values::Float32(one), Values::Float32(other)) => {
                one.iter().map(|number| number.to_bits()).eq(other.iter().map(|number| number.to_bits()))
            }
            (Values::Float64(one), Values::Float64(other)) => {
                one.iter().map(|number| number.to_bits()).eq(other.iter().map(|number| number.to_bits()))
            }
            (one, other) => one == other,
        }
}
