//! Merges datasets along a dimension.

mod plan;
mod stream;
mod times;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::Path;

use container_core::{Error, Loss, OutputOptions, Position, Result};

use crate::FORMAT_NAME;
use crate::json::Object;
use crate::read::Reader;
use crate::read::typed::TypedAttributes;
use crate::write::{Builder, Writer, Written};

use plan::{Join, Plan};

/// Options of [`merge`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MergeOptions {
    /// A new dimension for variables that do not lie along an existing merge dimension. Without, such variables are taken from the first dataset
    /// that has them.
    pub new_dimension: Option<String>,
    /// The variables to merge along a new dimension; others are taken from the first dataset that has them. `None` for all.
    pub variables: Option<Vec<String>>,
    /// Merges the numbers of time variables unchanged even when their units differ. Otherwise they are converted to the units of the first
    /// dataset.
    pub keep_times: bool,
    /// Names of the datasets in errors and losses; the default is the index, counted from 0.
    pub names: Vec<String>,
}

impl MergeOptions {
    /// Replaces [`new_dimension`](Self::new_dimension).
    #[must_use]
    pub fn with_new_dimension(mut self, dimension: Option<String>) -> Self {
        self.new_dimension = dimension;
        self
    }

    /// Replaces [`variables`](Self::variables).
    #[must_use]
    pub fn with_variables(mut self, variables: Option<Vec<String>>) -> Self {
        self.variables = variables;
        self
    }

    /// Replaces [`keep_times`](Self::keep_times).
    #[must_use]
    pub fn with_keep_times(mut self, keep: bool) -> Self {
        self.keep_times = keep;
        self
    }

    /// Replaces [`names`](Self::names).
    #[must_use]
    pub fn with_names(mut self, names: Vec<String>) -> Self {
        self.names = names;
        self
    }

    fn name(&self, dataset: usize) -> String {
        self.names.get(dataset).cloned().unwrap_or_else(|| format!("dataset {dataset}"))
    }
}

/// A planned merge, not yet written: see [`merge`].
#[derive(Debug)]
pub struct Merge<'r> {
    builder: Builder<'r>,
    /// Streams, in file order.
    joins: Vec<Join<'r>>,
    losses: Vec<Loss>,
    options: MergeOptions,
    typed: TypedAttributes,
}

/// Merges datasets along a dimension, like the reference's `merge`:
///
/// * If any dataset has the dimension, variables along it are concatenated; others are taken from the first dataset that has them, or are merged
///   along [`MergeOptions::new_dimension`].
/// * Otherwise it becomes a new first dimension of all variables, or of [`MergeOptions::variables`].
/// * Where a dataset lacks a variable, its elements are missing.
/// * Attributes are those of all datasets; for equal names the last dataset wins.
/// * Times have the units and the calendar of the first dataset. Others are converted exactly, and with them their bounds, the variables that the
///   attributes `bounds` and `climatology` name: integers stay integers, widened if necessary; without an exact result, and for packed times, the
///   merge fails.
/// * `valid_range`, `valid_min`, `valid_max` and `actual_range` are kept if they are the same in all datasets.
///
/// Differences from the reference, which converts times in different units to Julian dates and gives all values the first dataset's type: types
/// are widened to the smallest one that holds both, or rejected if there is none; numbers whose
/// [`MEANING_ATTRIBUTES`](crate::MEANING_ATTRIBUTES) differ are rejected; a variable that the first dataset lacks and that lies along no merged
/// dimension is kept; and dropped values and attributes are reported in [`Merge::losses`]. Only headers are read, variables that must be compared
/// for that, and integer times that need conversion.
///
/// # Errors
/// [`Invalid`](container_core::ErrorKind::Invalid) for variables that do not match, or whose numbers have different meanings, naming both sides;
/// [`Usage`](container_core::ErrorKind::Usage) for no datasets, and for unknown names; [`Limit`](container_core::ErrorKind::Limit) when the mask
/// of missing elements would exceed both the block limit and the size of the files; the [`Variable::problem`](crate::Variable::problem) of an
/// invalid variable.
pub fn merge<'r>(readers: &[&'r Reader], dimension: &str, options: MergeOptions) -> Result<Merge<'r>> {
    plan_merge(readers, dimension, options).map_err(|error| error.in_format(FORMAT_NAME))
}

fn plan_merge<'r>(readers: &[&'r Reader], dimension: &str, options: MergeOptions) -> Result<Merge<'r>> {
    let Some((first, others)) = readers.split_first() else {
        return Err(Error::usage("no datasets to merge"));
    };
    let mut builder = Builder::new();
    builder.copy_attributes(first);
    let (mut replaced, mut typed) = (0, first.typed.clone());
    for other in others {
        typed.add(&other.typed);
        let attributes = other.header.attributes().map(Object::from_json).unwrap_or_default();
        replaced += builder.attributes.update(attributes, |_| true);
    }
    let mut losses = Vec::new();
    record_loss(&mut losses, "attribute of the dataset differs: the last value is kept", replaced, None);
    let plan = Plan::new(readers, dimension, &options)?;
    let mut joins = Vec::new();
    for name in plan.names() {
        plan.variable(name, &mut builder, &mut joins, &mut losses)?;
    }
    builder.validate()?;
    Ok(Merge { builder, joins, losses, options, typed })
}

/// Records a loss if `count` is not 0.
fn record_loss(losses: &mut Vec<Loss>, what: &str, count: u64, column: Option<&str>) {
    if count > 0 {
        let first = column.map(|column| Position::of_column(column.to_owned())).unwrap_or_default();
        losses.push(Loss::new(what.to_owned(), count, first));
    }
}

impl Merge<'_> {
    /// What is dropped: differing values of variables that are not merged, and differing attributes.
    #[must_use]
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// Writes the file atomically. Memory holds chunks of variables, or a whole one when the dimension is new.
    ///
    /// # Errors
    /// As [`Builder::begin`], [`Writer::append`] and [`Variable::read`](crate::Variable::read).
    pub fn write(self, path: impl AsRef<Path>, options: OutputOptions) -> Result<Written> {
        let mut writer = self.builder.begin(path, options)?;
        append(&self.joins, &self.options, &mut writer)?;
        writer.finish()
    }

    /// Opens the merged dataset without writing it: see [`Writer::into_reader`]. A temporary file is created in the directory of `path`, which
    /// errors name.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn into_reader(self, path: impl AsRef<Path>) -> Result<Reader> {
        let mut writer = self.builder.begin_unwritten(path)?;
        append(&self.joins, &self.options, &mut writer)?;
        Ok(Reader { typed: self.typed, ..writer.into_reader()? })
    }
}

/// Appends all merged variables.
fn append(joins: &[Join<'_>], options: &MergeOptions, writer: &mut Writer<'_>) -> Result<()> {
    let joins: HashMap<&str, &Join<'_>> = joins.iter().map(|join| (join.name.as_str(), join)).collect();
    while let Some(join) = writer.current().and_then(|name| joins.get(name)) {
        join.write(writer).map_err(|(dataset, error)| match dataset {
            Some(dataset) => error.in_file(options.name(dataset)),
            None => error,
        })?;
    }
    Ok(())
}
