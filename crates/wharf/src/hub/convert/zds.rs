//! ZDS stores written: a document of each row, from whatever it comes.

use container_core::{Error, ErrorKind, Loss, Result, Rows};
use zdx::CollectionWriter;
use zdx::wire::json::scan;

use super::super::inputs::Location;
use super::super::pour;
use super::super::zds::{self, Ids, NewZds};
use super::job::{Env, Job, Report};
use super::source::{self, Kind, Opened};
use super::text::does_not_go;
use crate::convert::Sink;

/// The collection where neither an option nor the input names one.
const COLLECTION: &str = "data";

/// Rows become documents, with the bytes that they have as JSON.
struct Documents<'a> {
    writer: &'a mut CollectionWriter,
    ids: Ids,
    /// The number of the next row, over all inputs.
    row: u64,
    line: Vec<u8>,
}

impl Documents<'_> {
    /// Puts a row, whose id must be new.
    fn put(&mut self) -> Result<()> {
        let document = scan(&self.line)?;
        let with_id;
        let document = match self.ids.missing(&document, self.row)? {
            None => document,
            Some(id) => {
                with_id = zds::with_id(&self.line, &id)?;
                scan(&with_id)?
            }
        };
        if let Some(id) = document.id().filter(|id| self.writer.contains(id)) {
            return Err(Error::invalid("another document has the same id").in_key(id.to_owned()));
        }
        self.writer.put_scanned(document).map(drop)
    }
}

impl Sink for Documents<'_> {
    fn begin(&mut self, _: &[&str]) -> Result<()> {
        Ok(())
    }

    fn write(&mut self, rows: &dyn Rows) -> Result<()> {
        self.line.clear();
        rows.json(&mut self.line)?;
        self.put().map_err(|error| if error.kind() == ErrorKind::Io { error } else { rows.locate(error) })?;
        self.row += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    fn losses(&self) -> Vec<Loss> {
        Vec::new()
    }
}

pub(super) fn run(job: &Job<'_>, env: &mut Env<'_, '_>, report: &mut Report) -> Result<()> {
    let path = job.path("a store is a folder or an archive of one")?;
    zds::refuse(path, job.force, &job.inputs)?;
    let (kind, inputs) = source::open(&job.inputs, job.text.from, env.opener)?;
    check(kind, job)?;
    let name = collection_name(job, kind, &inputs, env)?;
    let new = NewZds::create(path, job.force, &job.inputs)?;
    let mut writer = new.collection(&name)?;
    let ids = Ids::of(job.zds.id.as_deref());
    let mut documents = Documents { writer: &mut writer, ids, row: job.rows().start, line: Vec::new() };
    let rows = pour::Job {
        locations: &job.inputs,
        selection: &job.selection,
        most_columns: usize::MAX,
        alike: true,
        progress: env.bar.as_ref(),
    };
    let outcome = rows.run(&mut documents, env.opener, report);
    let numbered = documents.ids.numbered();
    outcome.map_err(|error| if report.sink_failed { new.named(error) } else { error })?;
    let written = new.finish(vec![writer])?;
    (report.rows, report.bytes) = (written.documents, written.bytes);
    (report.collection, report.numbered) = (Some(name), numbered);
    Ok(())
}

fn check(kind: Kind, job: &Job<'_>) -> Result<()> {
    job.text.check(kind)?;
    let selection = &job.selection;
    let wrong = [
        ("table", selection.reading.table.is_some() && kind.is_text()),
        ("missing_as_null", selection.reading.missing_as_null && kind.is_text()),
        ("where", !selection.filters.is_empty() && kind != Kind::Container(zds::NAME)),
    ];
    does_not_go(&wrong, kind)
}

/// What the collection is called.
fn collection_name(job: &Job<'_>, kind: Kind, inputs: &[Opened], env: &Env<'_, '_>) -> Result<String> {
    if let Some(name) = &job.zds.collection {
        return zdx::layout::check_collection(name).map(|()| name.clone());
    }
    if let (Kind::Container(zds::NAME), Some(location), Some(input)) = (kind, job.inputs.first(), inputs.first()) {
        let table = job.selection.reading.table.as_deref();
        return Ok(zds::Stored::open(location, &input.input, env.opener, table)?.collection.name().to_owned());
    }
    let stem = match job.inputs.first() {
        Some(Location::Path(path)) => path.file_stem().and_then(|stem| stem.to_str()),
        _ => None,
    };
    let legal = stem.filter(|stem| zdx::layout::check_collection(stem).is_ok());
    Ok(legal.unwrap_or(COLLECTION).to_owned())
}
