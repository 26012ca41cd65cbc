//! Datasets joined along a dimension.

mod pieces;
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
use crate::write::{Builder, Written};

use plan::{Join, Plan};

/// How datasets are joined.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MergeOptions {
    /// Where the dimension exists: variables that do not lie along it are joined along a new one of this name. Without, the first dataset
    /// that has such a variable gives it.
    pub new: Option<String>,
    /// The variables that are joined along a new dimension; all others are those of the first dataset that has them. `None` for all.
    pub variables: Option<Vec<String>>,
    /// Numbers of time variables are joined as they are, also where they count differently. Without, they are counted as in the
    /// first dataset then.
    pub keep_times: bool,
    /// How datasets are called in errors and losses; one without a name is called by its number, counted from 0.
    pub names: Vec<String>,
}

impl MergeOptions {
    /// Replaces [`new`](Self::new).
    #[must_use]
    pub fn with_new(mut self, dimension: Option<String>) -> Self {
        self.new = dimension;
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

/// Datasets that fit together, not yet written: see [`merge`].
#[derive(Debug)]
pub struct Merge<'r> {
    builder: Builder<'r>,
    /// Streams, in the order in which they are written.
    joins: Vec<Join<'r>>,
    losses: Vec<Loss>,
    options: MergeOptions,
}

/// Joins datasets along a dimension, as the reference's `merge` does:
///
/// * Where some dataset has the dimension, variables along it are put one behind the other; the others are those of the first dataset that
///   has them, or are joined along [`MergeOptions::new`].
/// * Where none has it, it is new: it becomes the first dimension of all variables, or of [`MergeOptions::variables`].
/// * What a dataset does not have is missing there.
/// * Attributes are those of all datasets; of one name the last dataset has the last word.
/// * Times are counted in the units of the first dataset that has them, exactly: integers stay integers, of a wider type where they need it;
///   where there is no exact number, the merge fails.
///
/// Other than the reference, which makes Julian dates of times in different units and has the first dataset's type for all, it refuses
/// types of which neither holds the other's values, and else takes the smallest that holds both; it refuses numbers whose
/// [`MEANING_ATTRIBUTES`](crate::MEANING_ATTRIBUTES) differ; a variable that the first dataset lacks and that lies along no joined
/// dimension is kept; and what is given up, values or attributes, is in [`Merge::losses`]. Nothing is read but headers, such variables as
/// are compared for that, and integer times that get other units.
///
/// # Errors
/// [`Invalid`](container_core::ErrorKind::Invalid) for variables that do not fit together, or differ in what their numbers mean, with names of
/// both sides; [`Usage`](container_core::ErrorKind::Usage) for no datasets, and for a name that none of them has;
/// [`Limit`](container_core::ErrorKind::Limit) where so many elements would be missing that their bits take more than a block may and the
/// files are not that long either; what [`Variable::problem`](crate::Variable::problem) says of one.
pub fn merge<'r>(readers: &[&'r Reader], dimension: &str, options: MergeOptions) -> Result<Merge<'r>> {
    joined(readers, dimension, options).map_err(|error| error.in_format(FORMAT_NAME))
}

fn joined<'r>(readers: &[&'r Reader], dimension: &str, options: MergeOptions) -> Result<Merge<'r>> {
    let Some((first, others)) = readers.split_first() else {
        return Err(Error::usage("there are no datasets to merge"));
    };
    let mut builder = Builder::new();
    builder.attributes_of(first);
    let mut replaced = 0;
    for other in others {
        let attributes = other.header.attributes().map(Object::of).unwrap_or_default();
        replaced += builder.attributes.update(attributes, |_| true);
    }
    let mut losses = Vec::new();
    lose(&mut losses, "attribute of the dataset differs: the last is kept", replaced, None);
    let plan = Plan::new(readers, dimension, &options)?;
    let mut joins = Vec::new();
    for name in plan.names() {
        plan.variable(name, &mut builder, &mut joins, &mut losses)?;
    }
    builder.validate()?;
    Ok(Merge { builder, joins, losses, options })
}

/// Notes what is given up, if anything.
fn lose(losses: &mut Vec<Loss>, what: &str, count: u64, column: Option<&str>) {
    if count > 0 {
        let mut first = Position::default();
        first.column = column.map(|column| column.to_owned().into());
        losses.push(Loss::new(what.to_owned(), count, first));
    }
}

impl Merge<'_> {
    /// What is given up: values of variables that differ and are not joined, attributes that differ.
    #[must_use]
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// Writes the file, whole or not at all. Memory is taken for pieces of variables; for a whole one where the dimension is new.
    ///
    /// # Errors
    /// As [`Builder::begin`] and [`Writer::append`](crate::Writer::append), and what [`Variable::read`](crate::Variable::read) says.
    pub fn write(self, path: impl AsRef<Path>, options: OutputOptions) -> Result<Written> {
        if self.joins.is_empty() {
            return self.builder.write(path, options);
        }
        let joins: HashMap<&str, &Join<'_>> = self.joins.iter().map(|join| (join.name.as_str(), join)).collect();
        let mut writer = self.builder.begin(path, options)?;
        while let Some(join) = writer.current().and_then(|name| joins.get(name)) {
            join.write(&mut writer).map_err(|(dataset, error)| match dataset {
                Some(dataset) => error.in_file(self.options.name(dataset)),
                None => error,
            })?;
        }
        writer.finish()
    }
}
