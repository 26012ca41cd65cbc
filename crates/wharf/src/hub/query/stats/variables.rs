//! Exact statistics of the variables of ds and NetCDF, whatever their dimensions.

use container_core::{Error, Result, Watch};
use dsfmt::{DataType, Number, Reader, Variable};

use super::super::super::env::Opener;
use super::super::super::inputs::Location;
use super::super::super::select;
use super::scalars;
use super::summary::ColumnStats;

/// The statistics of the named variables, or of all numeric ones; `None` for inputs of other formats. `of_rows` computes those of a text variable
/// from its rows.
pub(super) fn stats(
    location: &Location,
    names: &[String],
    opener: &mut Opener<'_>,
    watch: &Watch,
    mut of_rows: impl FnMut(&mut Opener<'_>, &str) -> Result<Vec<Result<ColumnStats>>>,
) -> Result<Option<Vec<Result<ColumnStats>>>> {
    let named = |error: Error| error.in_file(location.name());
    let input = location.input(opener).map_err(named)?;
    let Some(reader) = opener.variables(&input).map_err(named)? else { return Ok(None) };
    let variables = selected(&reader, names).map_err(named)?;
    let mut all = Vec::new();
    for variable in variables {
        if is_text(&variable) {
            all.extend(of_rows(opener, variable.name()).unwrap_or_else(|error| vec![Err(error)]));
        } else {
            all.push(variable_stats(&variable, watch).map_err(named));
        }
    }
    Ok(Some(all))
}

/// The named variables, or all numeric ones. Unreadable variables are included so that their errors are reported.
fn selected<'r>(reader: &'r Reader, names: &[String]) -> Result<Vec<Variable<'r>>> {
    if names.is_empty() {
        let has_type = |variable: &Variable<'_>| variable.problem().is_some() || variable.data_type().is_some();
        let variables: Vec<_> =
            reader.variables().filter(|variable| has_type(variable) && !is_text(variable)).collect();
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

fn is_text(variable: &Variable<'_>) -> bool {
    variable.problem().is_none() && variable.data_type().is_some_and(|data_type| data_type.is_text())
}

fn variable_stats(variable: &Variable<'_>, watch: &Watch) -> Result<ColumnStats> {
    let stats = variable.stats_with(watch)?;
    let is_bool = variable.data_type() == Some(DataType::Bool);
    let float = |number: Option<f64>| number.map(scalars::of_float).transpose();
    let value = |number: Number| match number {
        Number::Integer(number) if is_bool => scalars::of(&(number != 0)),
        number => scalars::of(&number),
    };
    // Booleans have no quantiles.
    let quantile = |number: Option<Number>| number.filter(|_| !is_bool).map(value).transpose();
    let ends = |ends: Option<[Number; 2]>| -> Result<_> {
        let Some([low, high]) = ends.filter(|_| !is_bool) else { return Ok(None) };
        Ok(Some([value(low)?, value(high)?]))
    };
    Ok(ColumnStats {
        column: variable.name().to_owned(),
        data_type: variable.data_type().map(|data_type| data_type.to_string()).unwrap_or_default(),
        count: stats.count,
        nulls: stats.missing,
        nan: stats.nan,
        min: stats.min.map(value).transpose()?,
        max: stats.max.map(value).transpose()?,
        mean: float(stats.mean)?,
        std: float(stats.std)?,
        median: quantile(stats.median)?,
        p50: ends(stats.p50)?,
        p68: ends(stats.p68)?,
        p95: ends(stats.p95)?,
        p99: ends(stats.p99)?,
        ..ColumnStats::default()
    })
}
