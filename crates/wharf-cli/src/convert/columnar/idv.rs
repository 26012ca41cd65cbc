//! Parquet and Arrow IPC as IDV: columns keep the types they have.

use std::io::{Seek, Write};
use std::sync::Arc;

use container_core::{Error, Progress, Result};
use idv::arrow::{ArrowOptions, ArrowWriter, NullIntegers};

use super::super::super::bar::Bar;
use super::super::super::env::Opener;
use super::super::super::inputs::Place;
use super::super::super::report::Lost;
use super::super::Arguments;
use super::super::idv::Done;
use super::inputs::Joined;
use super::pour;

/// Writes the rows of all inputs, which have the same columns, to an IDV file.
pub(in super::super) fn write<W: Write + Seek>(
    arguments: &Arguments,
    places: &[Place],
    opener: &mut Opener<'_>,
    sink: W,
    bar: &Arc<Bar>,
    done: &mut Done,
) -> Result<W> {
    let joined = Joined::open(arguments, places, opener)?;
    done.columns = joined.schema.fields().len();
    let writing = arguments.idv.writing(arguments.compression.as_deref())?;
    let mut options = writing.options(arguments.selection.reading.threads, Arc::clone(bar) as Arc<dyn Progress>);
    // The bar counts rows that are read.
    options.progress = None;
    let integers = if arguments.idv.missing_as_double() { NullIntegers::Double } else { NullIntegers::Error };
    let options = ArrowOptions::from(options).with_null_integers(integers).with_times(arguments.columnar.times());
    let named = |error: Error| match joined.inputs.as_slice() {
        [input] => error.in_file(input.name.clone()),
        _ => error,
    };
    let mut writer = ArrowWriter::new(sink, &joined.schema, options).map_err(named)?;
    pour(arguments, &joined, bar, &mut done.poured, &mut |batch| writer.write(batch))?;
    let (sink, losses) = writer.finish_sink()?;
    done.poured.lost.extend(losses.into_iter().map(|loss| Lost { file: None, loss }));
    Ok(sink)
}
