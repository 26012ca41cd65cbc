//! Exact statistics of the variables of ds and NetCDF, whatever their dimensions.

use container_core::{Error, Result, Watch};
use dsfmt::{Reader, Variable};

use super::super::super::env::Opener;
use super::super::super::inputs::Location;
use super::super::super::select;
use super::scalars;
use super::summary::ColumnStats;

/// The statistics of the named variables, or of all numeric ones; `None` for inputs of other formats.
pub(super) fn stats(
    location: &Location,
    names: &[String],
    opener: &mut Opener<'_>,
    watch: &Watch,
) -> Result<Option<Vec<Result<ColumnStats>>>> {
    let named = |error: Error| error.in_file(location.name());
    let input = location.input(opener).map_err(named)?;
    let Some(reader) = opener.variables(&input).map_err(named)? else { return Ok(None) };
    let variables = selected(&reader, names).map_err(named)?;
    let of = |variable: Variable<'_>| variable_stats(&variable, watch).map_err(named);
    Ok(Some(variables.into_iter().map(of).collect()))
}

/// The named variables, or all numeric ones. Unreadable variables are included so that their errors are reported.
fn selected<'r>(reader: &'r Reader, names: &[String]) -> Result<Vec<Variable<'r>>> {
    let numeric = |variable: &Variable<'_>| {
        variable.problem().is_some() || variable.data_type().is_some_and(|data_type| !data_type.is_text())
    };
    if names.is_empty() {
        let variables: Vec<_> = reader.variables().filter(numeric).collect();
        reader.check_declared_bytes(variables.iter().copied())?;
        return Ok(variables);
    }
    let mut variables = Vec::new();
    for argument in names {
        match reader.variable(argument) {
            Ok(variable) => variables.push(variable),
            // An existing name is not split at its commas.
            Err(_) => {
                for name in select::split(argument)? {
                    variables.push(reader.variable(&name)?);
                }
            }
        }
    }
    reader.check_declared_bytes(variables.iter().copied())?;
    Ok(variables)
}

fn variable_stats(variable: &Variable<'_>, watch: &Watch) -> Result<ColumnStats> {
    let stats = variable.stats_with(watch)?;
    let float = |number: Option<f64>| number.map(scalars::of_float).transpose();
    let ends = |ends: Option<[f64; 2]>| -> Result<_> {
        let Some([low, high]) = ends else { return Ok(None) };
        Ok(Some([scalars::of_float(low)?, scalars::of_float(high)?]))
    };
    Ok(ColumnStats {
        column: variable.name().to_owned(),
        data_type: variable.data_type().map(|data_type| data_type.to_string()).unwrap_or_default(),
        count: stats.count,
        nulls: stats.missing,
        nan: stats.nan,
        min: stats.min.map(|number| scalars::of(&number)).transpose()?,
        max: stats.max.map(|number| scalars::of(&number)).transpose()?,
        mean: float(stats.mean)?,
        std: float(stats.std)?,
        median: float(stats.median)?,
        p50: ends(stats.p50)?,
        p68: ends(stats.p68)?,
        p95: ends(stats.p95)?,
        p99: ends(stats.p99)?,
        ..ColumnStats::default()
    })
}
