//! ZDS stores written: from text, and from the rows of containers.

use container_core::{Bytes, Error, ErrorKind, Result, Source, Unit};
use zdx::CollectionWriter;
use zdx::wire::lines::{Line, lines_from};

use super::super::inputs::Location;
use super::super::zds::{self, Ids, NewZds};
use super::super::{Bar, Lost, pour, select};
use super::source::{self, Kind, Opened};
use super::text::{does_not_go, together};
use super::{Alike, Env, Job, Report};

/// Bytes of a text that are looked at at once, at least.
const WINDOW: u64 = 8 << 20;

/// Rows between two words to the bar.
const STRIDE: u64 = 256;

/// The collection where neither an option nor the input names one.
const COLLECTION: &str = "data";

/// What is being written.
struct Filling<'a> {
    writer: &'a mut CollectionWriter,
    ids: Ids,
    bar: &'a Bar,
    report: &'a mut Report,
    /// Rows of all inputs that were passed.
    passed: u64,
}

impl Filling<'_> {
    /// Puts a row, whose id must be new.
    fn put(&mut self, line: &[u8]) -> Result<()> {
        let line = self.ids.line(line, self.passed)?;
        let id = zdx::wire::json::scan(&line)?.id.unwrap_or_default();
        if self.writer.contains(&id) {
            return Err(Error::invalid("another document has the same id").in_key(id.into_owned()));
        }
        self.writer.put_line(&line)?;
        self.report.rows += 1;
        Ok(())
    }

    fn passed(&mut self) {
        self.passed += 1;
        if self.passed.is_multiple_of(STRIDE) {
            self.bar.advance(STRIDE);
        }
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
    env.bar.name(&together(&inputs));
    let ids = Ids::of(job.zds.id.as_deref());
    let mut filling = Filling { writer: &mut writer, ids, bar: env.bar.as_ref(), report, passed: 0 };
    let outcome = match kind {
        Kind::Jsonl => texts(job, &inputs, &mut filling),
        Kind::Csv | Kind::Tsv => cells(job, kind, inputs, &mut filling),
        _ => tables(job, &inputs, &mut filling, env),
    };
    let numbered = filling.ids.numbered();
    outcome.map_err(|error| match error.kind() {
        // Errors of inputs name their file already.
        ErrorKind::Io => new.named(error),
        _ => error,
    })?;
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

/// Documents in lines, or in one array, with the bytes they have.
fn texts(job: &Job<'_>, inputs: &[Opened], filling: &mut Filling<'_>) -> Result<()> {
    let rows = job.rows();
    let chosen = job.columns()?;
    let mut seen = vec![false; chosen.as_ref().map_or(0, Vec::len)];
    let total = inputs.iter().filter_map(|input| input.input.source()).map(Source::len).sum();
    filling.bar.begin(Unit::Bytes, Some(total));
    let bar = filling.bar;
    for input in inputs {
        let named =
            |error: Error| if error.kind() == ErrorKind::Io { error } else { error.in_file(input.name.clone()) };
        let mut one = |line: &Line<'_>| {
            if filling.passed >= rows.end {
                return Ok(false);
            }
            if filling.passed >= rows.start {
                let put = match &chosen {
                    None => filling.put(line.bytes),
                    Some(names) => project(line.bytes, names, &mut seen).and_then(|line| filling.put(&line)),
                };
                put.map_err(|error| error.shifted(line.offset).in_line(line.number))?;
            }
            filling.passed += 1;
            Ok(true)
        };
        each_line(input.source()?, &mut one, bar).map_err(named)?;
    }
    if let Some(missing) = chosen.iter().flatten().zip(&seen).find(|(_, seen)| !**seen).map(|(name, _)| name)
        && filling.report.rows > 0
    {
        return Err(Error::usage(format!("there is no column {missing:?}")));
    }
    job.check_rows(filling.passed)
}

/// Members of a document, in the order wanted, with the bytes they have.
fn project(line: &[u8], names: &[String], seen: &mut [bool]) -> Result<Vec<u8>> {
    zdx::wire::json::scan(line)?;
    let text = std::str::from_utf8(line).unwrap_or_default(); // it was scanned
    let mut out = vec![b'{'];
    for ((name, value), seen) in zdx::container::members(text, names)?.into_iter().zip(seen) {
        let Some(value) = value else { continue };
        *seen = true;
        if out.len() > 1 {
            out.push(b',');
        }
        // A text is always JSON.
        out.extend(serde_json::to_vec(&name).unwrap_or_default());
        out.push(b':');
        out.extend_from_slice(value.as_bytes());
    }
    out.push(b'}');
    Ok(out)
}

/// Walks over the lines of a text, or the elements of the one array that it is.
fn each_line(source: &Source, each: &mut dyn FnMut(&Line<'_>) -> Result<bool>, bar: &Bar) -> Result<()> {
    let head = source.read(0..source.len().min(4096))?;
    let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&head);
    if text.trim_ascii_start().starts_with(b"[") {
        return each_element(source, each);
    }
    let (mut at, mut lines) = (0, 0);
    while at < source.len() {
        let window = whole_lines(source, at)?;
        for line in lines_from(&window, at, lines) {
            if !each(&line)? {
                return Ok(());
            }
        }
        lines += window.iter().filter(|byte| **byte == b'\n').count() as u64;
        at += window.len() as u64;
        bar.advance(window.len() as u64);
    }
    Ok(())
}

/// Lines from a byte on, at least one.
fn whole_lines(source: &Source, at: u64) -> Result<Bytes> {
    let mut want = WINDOW;
    loop {
        let end = source.len().min(at.saturating_add(want));
        let window = source.read(at..end)?;
        if end == source.len() {
            return Ok(window);
        }
        if let Some(feed) = window.iter().rposition(|byte| *byte == b'\n') {
            return Ok(window.slice(..=feed));
        }
        want = want.saturating_mul(2);
    }
}

fn each_element(source: &Source, each: &mut dyn FnMut(&Line<'_>) -> Result<bool>) -> Result<()> {
    let whole = source.read(0..source.len())?;
    let text = std::str::from_utf8(&whole)
        .map_err(|error| Error::invalid("the text is not UTF-8").at(error.valid_up_to() as u64))?;
    let elements: Vec<&serde_json::value::RawValue> = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|cause| Error::invalid("the text is no array of JSON").caused_by(cause))?;
    for (number, element) in (1..).zip(elements) {
        let bytes = element.get().as_bytes();
        // Where it lies in the text.
        let offset = element.get().as_ptr().addr().saturating_sub(text.as_ptr().addr()) as u64;
        if !each(&Line { bytes, offset, end: offset, number, is_ended: true })? {
            break;
        }
    }
    Ok(())
}

/// Cells become what they become in datadings: numbers, bools, JSON, text, by column.
fn cells(job: &Job<'_>, kind: Kind, inputs: Vec<Opened>, filling: &mut Filling<'_>) -> Result<()> {
    use crate::convert::import::{Keys, SampleOptions};
    use container_core::{OutputOptions, Overwrite, Scan, Sync};

    let temporary = |cause| Error::io("cannot keep the rows in a temporary folder", cause);
    let folder = container_core::TemporaryFolder::beside(&std::env::temp_dir().join("rows")).map_err(temporary)?;
    let file = folder.path().join("rows");
    let table = job.text.table(kind, inputs, job.selection.reading.threads)?;
    let samples = SampleOptions::default().with_rows(job.rows()).with_columns(job.columns()?);
    let write = |keys: Keys| {
        let output = OutputOptions::default().with_sync(Sync::Never).with_overwrite(Overwrite::Replace);
        let options = datadings::WriterOptions::default().with_output(output).with_md5(false);
        let mut writer = datadings::Writer::create(&file, options)?;
        let sampled = table.write_samples(&mut writer, &samples.clone().with_keys(keys), Some(filling.bar))?;
        Ok((writer, sampled))
    };
    // A sample has a key, which is made here, and left out again: unless there is a column of that name.
    let mut has_key = false;
    let (writer, sampled) = write(Keys::Number).or_else(|error: Error| {
        has_key = error.position().column.as_deref() == Some("key");
        if has_key { write(Keys::Key) } else { Err(error) }
    })?;
    job.check_rows(sampled.passed)?;
    writer.finish()?;
    let container = crate::open(&file)?;
    let tables = container.tables();
    let Some(table) = tables.first() else { return Ok(()) };
    table.survey()?;
    let names: Vec<&str> = table.columns().iter().map(|column| column.name.as_str()).collect();
    let kept: Vec<usize> = (0..names.len()).filter(|index| has_key || names.get(*index) != Some(&"key")).collect();
    let mut rows = table.rows(&Scan::default().with_columns(kept))?;
    let mut line = Vec::new();
    while rows.advance()? {
        line.clear();
        rows.json(&mut line)?;
        filling.put(&line).map_err(|error| error.in_row(rows.index()))?;
        filling.passed();
    }
    Ok(())
}

/// Rows of containers; documents of other stores with the bytes they have.
fn tables(job: &Job<'_>, inputs: &[Opened], filling: &mut Filling<'_>, env: &Env<'_, '_>) -> Result<()> {
    let selection = &job.selection;
    let wanted = job.rows();
    let mut alike = Alike::default();
    let mut before = 0_u64;
    for (number, (input, location)) in inputs.iter().zip(&job.inputs).enumerate() {
        if number > 0 && before >= wanted.end {
            return Ok(());
        }
        let named =
            |error: Error| if error.kind() == ErrorKind::Io { error } else { error.in_file(input.name.clone()) };
        let container = env.opener.container(&input.input).map_err(named)?;
        let table = select::table(container.as_ref(), selection.reading.table.as_deref()).map_err(named)?;
        let mut scan = selection.reading.scan();
        scan.columns = select::columns(table, &selection.columns).map_err(named)?;
        if inputs.len() > 1 {
            alike.check(&input.name, container.as_ref(), table, scan.columns.as_deref()).map_err(named)?;
        }
        if scan.columns.is_none() {
            filling.report.losses.extend(pour::unreadable(location, table));
            let unreadable = table.columns().iter().any(|column| column.unreadable.is_some());
            let readable =
                |&index: &usize| table.columns().get(index).is_some_and(|column| column.unreadable.is_none());
            // They were told already.
            scan.columns = unreadable.then(|| (0..table.columns().len()).filter(readable).collect());
        }
        let (start, end) = (wanted.start.saturating_sub(before), wanted.end.saturating_sub(before));
        let len = table.len();
        scan.rows = start.min(len.unwrap_or(u64::MAX))..end.min(len.unwrap_or(u64::MAX));
        filling.bar.begin(Unit::Rows, len.map(|_| scan.rows.end - scan.rows.start));
        let mut rows = table.rows(&scan).map_err(named)?;
        let mut line = Vec::new();
        while rows.advance().map_err(named)? {
            line.clear();
            rows.json(&mut line).map_err(named)?;
            filling.put(&line).map_err(|error| named(error.in_row(rows.index())))?;
            filling.passed();
        }
        let losses = rows.losses().into_iter().map(|loss| Lost { file: Some(input.name.clone()), loss });
        filling.report.losses.extend(losses);
        before = before.saturating_add(len.unwrap_or(filling.report.rows));
    }
    job.check_rows(before)
}
