//! ZDS: each row becomes a document.

use std::ffi::OsStr;

use container_core::{Error, ErrorKind, Loss, Result, Rows};
use zdx::CollectionWriter;
use zdx::wire::json::scan;

use super::super::super::copy_rows;
use super::super::super::inputs::Location;
use super::super::super::zds::{self, Ids, NewZds};
use super::super::job::{Context, Job, Report};
use super::super::option::{OptionSpec, text};
use super::super::source::{self, Kind, Opened};
use super::super::text::does_not_go;
use super::options::{COLLECTION, ID};
use super::{Streaming, Target, TargetInfo, TargetUnit, path_of, unknown_option};
use crate::convert::Sink;

/// The name of the collection, when neither an option nor the input gives one.
const DEFAULT_COLLECTION: &str = "data";

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

/// ZDS, JSON documents with an index.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ZdsTarget {
    /// The member that is the id, a path with dots; `None` for `_id`, and the row number in ten digits where there is none.
    pub id: Option<String>,
    /// The name of the collection; `None` for that of the input.
    pub collection: Option<String>,
}

impl ZdsTarget {
    /// The name of the collection.
    fn collection_name(
        &self,
        job: &Job<'_>,
        kind: Kind,
        inputs: &[Opened],
        context: &Context<'_, '_>,
    ) -> Result<String> {
        if let Some(name) = &self.collection {
            return zdx::layout::check_collection(name).map(|()| name.clone());
        }
        let is_store = matches!(kind, Kind::Container(zds::NAME) | Kind::Renamed(zds::NAME) | Kind::Columns(zds::NAME));
        if let (true, Some(location), Some(input)) = (is_store, job.inputs.first(), inputs.first()) {
            let table = job.selection.reading.table.as_deref();
            return Ok(zds::Stored::open(location, &input.input, context.opener, table)?.collection.name().to_owned());
        }
        let stem = match job.inputs.first() {
            Some(Location::Path(path)) => path.file_stem().and_then(|stem| stem.to_str()),
            _ => None,
        };
        let legal = stem.filter(|stem| zdx::layout::check_collection(stem).is_ok());
        Ok(legal.unwrap_or(DEFAULT_COLLECTION).to_owned())
    }
}

impl Target for ZdsTarget {
    fn info(&self) -> TargetInfo {
        TargetInfo {
            name: "zds",
            format: zds::NAME,
            title: "ZDS, JSON documents with an index",
            extensions: &["zds"],
            stream: Streaming::Unsupported("a ZDS store is a folder or an archive of one"),
            unit: TargetUnit::Documents,
        }
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[ID, COLLECTION]
    }

    fn set(&mut self, option: &str, value: &OsStr) -> Result<()> {
        match option {
            "id" => self.id = Some(text(value)?.to_owned()),
            "collection" => self.collection = Some(text(value)?.to_owned()),
            _ => return Err(unknown_option(option)),
        }
        Ok(())
    }

    fn run(&self, job: &Job<'_>, context: &mut Context<'_, '_>, report: &mut Report) -> Result<()> {
        let path = path_of(job, self)?;
        zds::refuse(path, job.force, &job.inputs)?;
        let (kind, inputs) = source::open(&job.inputs, job.text.from, context.opener)?;
        check(kind, job)?;
        let name = self.collection_name(job, kind, &inputs, context)?;
        let new = NewZds::create(path, job.force, &job.inputs)?;
        let mut writer = new.collection(&name)?;
        let ids = Ids::of(self.id.as_deref());
        let mut documents = Documents { writer: &mut writer, ids, row: job.rows().start, line: Vec::new() };
        let rows = copy_rows::CopyRows {
            locations: &job.inputs,
            selection: &job.selection,
            max_columns: usize::MAX,
            union: job.union,
            same_columns: true,
            progress: context.progress.as_ref(),
        };
        let outcome = rows.run(&mut documents, context.opener, report);
        let numbered = documents.ids.numbered();
        outcome.map_err(|error| if report.sink_failed { new.named(error) } else { error })?;
        let written = new.finish(vec![writer])?;
        (report.rows, report.bytes) = (written.documents, written.bytes);
        (report.collection, report.numbered) = (Some(name), numbered);
        Ok(())
    }
}

fn check(kind: Kind, job: &Job<'_>) -> Result<()> {
    job.text.check(kind)?;
    let selection = &job.selection;
    let wrong = [
        ("table", selection.reading.table.is_some() && kind.is_text()),
        ("missing_as_null", selection.reading.missing_as_null && kind.is_text()),
    ];
    does_not_go(&wrong, kind)
}
