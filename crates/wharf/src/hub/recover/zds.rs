//! Recovers the intact documents of a damaged ZDS store, into a new one or in place.

use container_core::{Error, ErrorKind, Input, Loss, Position, Result, Unit};
use zdx::container::losses;

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
        let mut writers = Vec::new();
        for name in store.names().map_err(named)? {
            let stored = Stored { location: location.clone(), collection: store.collection(&name).map_err(named)? };
            let condition = stored.collection.condition().map_err(named)?;
            report.losses.extend(Lost::all(losses(&condition), Some(&location.name())));
            let mut writer = new.collection(&name)?;
            let len = stored.count()?;
            bar.begin(Unit::Rows, Some(len));
            let mut loss = Loss::new(format!("document of {name:?} lost"), 0, Position::default());
            let mut next = 0;
            while next < len {
                // An iterator ends with its first error: the next one continues after it.
                let mut documents = stored.collection.documents_in(next..len).map_err(named)?;
                loop {
                    let row = documents.row();
                    next = row + 1;
                    let put = match documents.try_next() {
                        Ok(None) => break,
                        Ok(Some(document)) => stored.put(&document, &mut writer),
                        Err(error) => Err(stored.named(error)),
                    };
                    bar.advance(1)?;
                    let Err(error) = put else { continue };
                    if error.kind() == ErrorKind::Io {
                        return Err(error);
                    }
                    if loss.count == 0 {
                        loss.what = format!("document of {name:?} lost: {}", error.detail());
                        loss.first = error.position().clone();
                        loss.first.file = None;
                    }
                    loss.count += 1;
                    if report.findings.len() < MAX_FINDINGS {
                        report.findings.push(error);
                    }
                }
            }
            if loss.count > 0 {
                report.losses.push(Lost { file: Some(location.name()), loss });
            }
            writers.push(writer);
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

/// Repairs a store in place: an incomplete document at the end is cut off, and the index is written anew. An index that does not fit the data is
/// rebuilt from them.
fn in_place(location: &Location, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
    for name in zds::tables(location, None, opener)? {
        let named = |error: Error| zds::located(error, location, &name);
        let options = zds::writer_options(false);
        let (mut root, _) = zds::open_writer(location, Some(&name), options.clone(), "recover")?;
        let mut lost = Vec::new();
        let writer = match root.collection(&name) {
            Ok(writer) => writer,
            Err(error) if matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Truncated { .. }) => {
                root.finish().map_err(named)?;
                root = zds::open_writer(location, Some(&name), options.with_rebuild(true), "recover")?.0;
                let writer = root.collection(&name).map_err(named)?;
                let what = format!(
                    "the index was rebuilt from the data, which brings deleted documents back: {}",
                    error.detail()
                );
                lost.push(Loss::new(what, 1, Position::default()));
                writer
            }
            Err(error) => return Err(named(error)),
        };
        let condition = writer.recovered().clone();
        let rows = writer.len();
        writer.finish().map_err(named)?;
        root.finish().map_err(named)?;
        lost.extend(losses(&condition));
        report.losses.extend(Lost::all(lost, Some(&location.name())));
        report.rows += rows;
        report.tables.push(RepairedTable { name, rows, notes: condition.notes() });
    }
    Ok(())
}
