//! Parquet, Arrow IPC and datadings as ds: columns become variables along the dimension of the rows, of the types they have.

use std::path::Path;
use std::sync::Arc;

use container_arrow::BatchWriter;
use container_core::{Error, Result};
use dsfmt::Written;
use dsfmt::arrow::{ArrowWriter, WriterOptions};

use super::super::super::Outcome;
use super::super::super::bar::Bar;
use super::super::super::edit;
use super::super::super::env::Env;
use super::super::super::inputs::Place;
use super::super::super::pour::Poured;
use super::super::super::report::Lost;
use super::super::Arguments;
use super::inputs::Joined;
use super::pour;

/// Writes the rows of all inputs, which have the same columns, to a ds file.
pub(in super::super) fn run(arguments: &Arguments, places: &[Place], env: &mut Env<'_>) -> Result<Outcome> {
    let joined = Joined::open(arguments, places, &mut env.opener)?;
    let bar = Bar::new(env.report.terminal && arguments.output() != "-");
    let path = Path::new(arguments.output());
    let outcome = edit::put(path, arguments.force, places, env, &mut |path, output| {
        let (ragged, structs) = arguments.ds.shaping();
        let mut options = WriterOptions::default().with_output(output).with_ragged(ragged).with_structs(structs);
        if let Some(dimension) = arguments.ds.dimension() {
            options = options.with_dimension(dimension);
        }
        let named = |error: Error| match joined.inputs.as_slice() {
            [input] if error.position().file.is_none() => error.in_file(input.name.clone()),
            _ => error,
        };
        let mut writer = ArrowWriter::new(path, Arc::clone(&joined.schema), options).map_err(named)?;
        let mut poured = Poured::default();
        pour(arguments, &joined, &bar, &mut poured, &mut |batch| writer.write(batch))?;
        let losses = Box::new(writer).finish()?;
        poured.lost.extend(losses.into_iter().map(|loss| Lost { file: None, loss }));
        let written = dsfmt::Reader::open(path)?;
        let variables = written.variables().count();
        Ok((Written { variables, bytes: written.source().len() }, poured.lost))
    });
    bar.clear();
    outcome
}
