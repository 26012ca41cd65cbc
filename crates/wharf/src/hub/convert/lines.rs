//! Rows of containers as the JSON lines that they are: what types other forms get is then found as for any text.

use std::io::{BufWriter, Write};

use crate::convert::{JsonLines, copy};
use container_core::{Error, Input, Result, Scan, Source};

use super::super::{Lost, select};
use super::source::{Kind, Opened};
use super::{Alike, Env, Job};

/// Documents of stores as the text that they are, in temporary files; other inputs as they are. Also whether they were documents.
pub(super) fn documents(
    (kind, inputs): (Kind, Vec<Opened>),
    job: &Job<'_>,
    lost: &mut Vec<Lost>,
    env: &mut Env<'_, '_>,
) -> Result<(Kind, Vec<Opened>, bool)> {
    if kind != Kind::Container(super::super::zds::NAME) {
        return Ok((kind, inputs, false));
    }
    let mut alike = Alike::default();
    let inputs = inputs.into_iter().map(|input| as_lines(input, job, &mut alike, lost, env)).collect::<Result<_>>()?;
    Ok((Kind::Jsonl, inputs, true))
}

/// The rows of a container as lines of JSON in a temporary file.
pub(super) fn as_lines(
    input: Opened,
    job: &Job<'_>,
    alike: &mut Alike,
    lost: &mut Vec<Lost>,
    env: &mut Env<'_, '_>,
) -> Result<Opened> {
    let named = |error: Error| error.in_file(input.name.clone());
    let temporary = |cause| Error::io("cannot keep the rows in a temporary file", cause);
    let container = env.opener.container(&input.input).map_err(named)?;
    let table = select::table(container.as_ref(), job.selection.reading.table.as_deref()).map_err(named)?;
    let columns = select::columns(table, &job.selection.columns).map_err(named)?;
    alike.check(&input.name, container.as_ref(), table, columns.as_deref()).map_err(named)?;
    let mut scan = Scan::default().with_threads(job.selection.reading.threads);
    scan.columns = columns;
    let file = tempfile::tempfile().map_err(temporary)?;
    let mut lines = JsonLines::new(BufWriter::new(file));
    let copied = copy(table, &scan, &mut lines).map_err(named)?;
    lost.extend(copied.losses.into_iter().map(|loss| Lost { file: Some(input.name.clone()), loss }));
    let mut file = lines.finish()?;
    file.flush().map_err(temporary)?;
    let file = file.into_inner().map_err(|error| temporary(error.into_error()))?;
    Ok(Opened { input: Input::Stream(Source::from_file_with(file, env.opener.access)?), name: input.name })
}
