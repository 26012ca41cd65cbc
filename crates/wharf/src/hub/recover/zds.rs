//! Recovers the intact documents of a damaged ZDS store, into a new one or in place.

use std::collections::HashSet;

use container_core::{Error, ErrorKind, Input, Loss, Position, Result, Severity, Unit};
use zdx::container::losses;
use zdx::wire::json::{Scanned, scan};
use zdx::{Collection, Document, Store};

use super::super::Lost;
use super::super::convert::{TargetInfo, To};
use super::super::env::Opener;
use super::super::inputs::Location;
use super::super::zds::{self, NewZds, Stored};
use super::{Operation, Recover, Recoverer, RepairedTable, Report};

/// Recovers ZDS stores: every intact document; or repairs them in place.
#[derive(Debug, Clone, Copy, Default)]
pub struct ZdsRecoverer;

impl Operation for ZdsRecoverer {
    fn info(&self) -> TargetInfo {
        zds::INFO
    }

    /// A stream cannot be a store.
    fn accepts(&self, input: &Input, format: Option<&str>) -> bool {
        zds::is_of(format) && !matches!(input, Input::Stream(_))
    }
}

impl Recoverer for ZdsRecoverer {
    fn run(&self, job: &Recover, to: To<'_>, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let (path, force) = to.file();
        let location = &job.input;
        let named = |error: Error| error.in_file(location.name());
        let input = location.input(opener).map_err(named)?;
        let store = Stored::store(location, &input, opener)?;
        let new = NewZds::create(path, force, std::slice::from_ref(location))?;
        let bar = job.progress();
        bar.name(&location.name());
        let mut unopened = None;
        report.losses.extend(damaged_entries(&store)?.map(|loss| Lost { file: Some(location.name()), loss }));
        let mut writers = Vec::new();
        for name in store.names().map_err(named)? {
            let opened = store.collection(&name).and_then(|collection| Ok((collection.condition()?, collection)));
            let (condition, collection) = match opened.map_err(named) {
                Ok(opened) => opened,
                Err(error) if error.kind() == ErrorKind::Io => return Err(error),
                Err(error) => {
                    let what = format!("collection {name:?} lost: {}", error.detail());
                    let loss = Loss::new(what, 1, error.position().clone());
                    report.losses.push(Lost { file: Some(location.name()), loss });
                    unopened.get_or_insert(error);
                    continue;
                }
            };
            let stored = Stored { location: location.clone(), collection };
            report.losses.extend(Lost::all(losses(&condition), Some(&location.name())));
            let mut writer = new.collection(&name)?;
            bar.begin(Unit::Rows, Some(stored.count()?));
            let mut missing = Missing::default();
            for_each(&stored, &stored.collection, |document| {
                bar.advance(1)?;
                missing.take(document.and_then(|document| stored.put(&document, &mut writer)))
            })?;
            if !missing.ids.is_empty() {
                // Intact lines that the index does not lead to.
                for_each(&stored, &stored.collection.without_index(), |document| match document {
                    Ok(document) if missing.ids.contains(document.id()) => {
                        match stored.put(&document, &mut writer) {
                            Ok(()) => missing.found(document.id()),
                            Err(error) if error.kind() == ErrorKind::Io => return Err(error),
                            // It is lost, for the reason that is known.
                            Err(_) => {}
                        }
                        Ok(())
                    }
                    _ => Ok(()),
                })?;
            }
            if missing.count > 0 {
                let loss = missing.loss(format!("document of {name:?} lost"));
                report.losses.push(Lost { file: Some(location.name()), loss });
            }
            let room = MAX_FINDINGS.saturating_sub(report.findings.len());
            report.findings.extend(missing.errors.into_iter().take(room));
            writers.push(writer);
        }
        if let (true, Some(error)) = (writers.is_empty(), unopened) {
            return Err(error);
        }
        let written = new.finish(writers)?;
        (report.rows, report.bytes) = (written.documents, written.bytes);
        Ok(())
    }

    fn repairs_in_place(&self) -> bool {
        true
    }

    fn in_place(&self, job: &Recover, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        in_place(&job.input, opener, report)
    }
}

/// Maximum number of errors of lost documents in a report.
const MAX_FINDINGS: usize = 20;

/// Entries of an archive that are not as its directory says: their documents may be damaged, too.
fn damaged_entries(store: &Store) -> Result<Option<Loss>> {
    let Some(archive) = store.archive() else { return Ok(None) };
    let (mut count, mut first) = (0, None);
    archive.verify(&mut |finding| {
        if finding.severity == Severity::Error {
            count += 1;
            first.get_or_insert(finding.error);
        }
    })?;
    Ok(first.map(|error| {
        let what = format!("damaged entry of the archive, whose documents may be damaged: {}", error.detail());
        Loss::new(what, count, error.position().clone())
    }))
}

/// Passes each document of a collection, or the error that is in its place.
///
/// # Errors
/// Those of `take`, and of reading the files.
fn for_each(
    stored: &Stored,
    collection: &Collection,
    mut take: impl FnMut(Result<Document<'_>>) -> Result<()>,
) -> Result<()> {
    let len = collection.len().map_err(|error| stored.named(error))?;
    let mut next = 0;
    while next < len {
        // An iterator ends with its first error: another one continues after it.
        let mut documents = collection.documents_in(next..len).map_err(|error| stored.named(error))?;
        loop {
            next = documents.row() + 1;
            match documents.try_next() {
                Ok(None) => return Ok(()),
                Ok(Some(document)) => take(Ok(document))?,
                Err(error) if error.kind() == ErrorKind::Io => return Err(stored.named(error)),
                Err(error) => {
                    take(Err(stored.named(error)))?;
                    break;
                }
            }
        }
    }
    Ok(())
}

/// The message of an error without its place.
pub(in crate::hub) fn reason(error: &Error) -> String {
    match error.kind() {
        ErrorKind::Truncated { needed, available } => {
            format!("{}: needs {needed} bytes, {available} available", error.detail())
        }
        _ => error.detail().to_owned(),
    }
}

/// Documents that cannot be read, or are not valid.
#[derive(Default)]
struct Missing {
    count: u64,
    ids: HashSet<String>,
    /// Of the first ones.
    errors: Vec<Error>,
}

impl Missing {
    /// Keeps the error of a document.
    ///
    /// # Errors
    /// Those of reading or writing files.
    fn take(&mut self, done: Result<()>) -> Result<()> {
        let Err(error) = done else { return Ok(()) };
        if error.kind() == ErrorKind::Io {
            return Err(error);
        }
        self.count += 1;
        self.ids.extend(error.position().key.as_ref().map(ToString::to_string));
        if self.errors.len() < MAX_FINDINGS {
            self.errors.push(error);
        }
        Ok(())
    }

    fn found(&mut self, id: &str) {
        if self.ids.remove(id) {
            self.count -= 1;
            self.errors.retain(|error| error.position().key.as_deref() != Some(id));
        }
    }

    fn loss(&self, what: String) -> Loss {
        let Some(error) = self.errors.first() else { return Loss::new(what, self.count, Position::default()) };
        let mut first = error.position().clone();
        first.file = None;
        Loss::new(format!("{what}: {}", reason(error)), self.count, first)
    }
}

/// What is wrong with the documents of a collection.
#[derive(Default)]
pub(in crate::hub) struct Survey {
    /// Why the index does not fit the data.
    pub(in crate::hub) misfit: Option<Error>,
    /// Documents that are no JSON.
    damaged: Missing,
}

impl Survey {
    pub(in crate::hub) fn of(stored: &Stored) -> Result<Self> {
        let mut survey = Self::default();
        for_each(stored, &stored.collection, |document| {
            let document = match document {
                Ok(document) => document,
                Err(error) => {
                    survey.misfit.get_or_insert(error);
                    return Ok(());
                }
            };
            // A file of its own needs no id, and is found by its name.
            let own_id = match document.offset() {
                Some(_) => scan(document.bytes()).map(Scanned::into_id),
                None => document.line_with_id().map(|_| Some(document.id().into())),
            };
            let placed = |error: Error| stored.named(error.in_key(document.id().to_owned()));
            match own_id {
                Ok(Some(id)) if id != document.id() => {
                    let error = Error::invalid(format!("the index leads to the document {id:?}"));
                    survey.misfit.get_or_insert_with(|| placed(error));
                    Ok(())
                }
                own_id => survey.damaged.take(own_id.map(drop).map_err(placed)),
            }
        })?;
        Ok(survey)
    }
}

/// Repairs a store in place: an incomplete document at the end is cut off, and the index is written anew. An index that does not fit the data is
/// rebuilt from them. Damaged documents stay, as losses.
fn in_place(location: &Location, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
    for name in zds::tables(location, None, opener)? {
        let named = |error: Error| zds::located(error, location, &name);
        let survey = |opener: &mut Opener<'_>| {
            let input = location.input(opener).map_err(named)?;
            Survey::of(&Stored::open(location, &input, opener, Some(&name))?)
        };
        let Survey { mut misfit, mut damaged } = survey(opener)?;
        let open = |rebuild: bool| {
            let options = zds::writer_options(false).with_rebuild(rebuild);
            zds::open_writer(location, Some(&name), options, "recover")
        };
        let (mut root, _) = open(misfit.is_some())?;
        let writer = match root.collection(&name) {
            Ok(writer) => writer,
            Err(error) if matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Truncated { .. }) => {
                root.finish().map_err(named)?;
                misfit.get_or_insert(error);
                root = open(true)?.0;
                root.collection(&name).map_err(named)?
            }
            Err(error) => return Err(named(error)),
        };
        let condition = writer.recovered().clone();
        let rows = writer.len();
        writer.finish().map_err(named)?;
        root.finish().map_err(named)?;
        let (mut lost, mut notes) = (Vec::new(), condition.notes());
        if let Some(error) = misfit {
            damaged = survey(opener)?.damaged;
            let why = reason(&error);
            let what = format!("the index was rebuilt from the data, which brings deleted documents back: {why}");
            lost.push(Loss::new(what, 1, Position::default()));
        }
        lost.extend(losses(&condition));
        if damaged.count > 0 {
            lost.push(damaged.loss("damaged document left as it is".to_owned()));
            notes.push(format!("damaged documents: {}", damaged.count));
        }
        report.losses.extend(Lost::all(lost, Some(&location.name())));
        report.rows += rows;
        report.tables.push(RepairedTable { name, rows, notes });
    }
    Ok(())
}
