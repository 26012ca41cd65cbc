//! Bulk loading of JSON lines.
//!
//! First several threads parse and validate the whole input; only then are ids inserted and lines appended, verbatim where possible, directly
//! from the input and in large blocks. So an invalid line means that nothing is put, and nothing has to be undone. The append is a
//! transaction: no line counts until its end is in the journal. If duplicates are replaced, so that no line can be rejected or skipped, ids are
//! inserted while another thread appends.

use std::collections::HashSet;
use std::fs::File;
use std::thread;

use container_core::{Bytes, Error, Limits, Result, Source};

use crate::layout::{DATA, META};
use crate::read::rebuild::read_lines;
use crate::wire::index::{ENTRY_OVERHEAD, Entry};
use crate::wire::lines::lines_from;
use crate::write::collection::{CollectionWriter, not_prepared};
use crate::write::disk::Disk;
use crate::write::ids::Ids;
use crate::write::options::Durability;
use crate::write::part::{LineRules, Part, parse_parts, render};
use crate::{FORMAT_NAME, LoadOptions, LoadSummary, OnDuplicate};

/// Bytes of input parsed by a thread at a time.
const PART_BYTES: usize = 2 << 20;

/// Part of the input read at once: all of it, if it is mapped or in memory.
struct Window {
    at: u64,
    parts: Vec<Part>,
}

impl CollectionWriter {
    /// Puts all documents of a JSON lines input, in order, or none if one is invalid. Lines are kept byte for byte, except for empty lines, CR,
    /// a byte order mark, and ids taken from another member. Does not write the index: [`flush`](Self::flush) does.
    ///
    /// The input must not change in the meantime. Uses about 30 bytes of memory per document, as the index does.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid), [`Truncated`](container_core::ErrorKind::Truncated),
    /// [`Limit`](container_core::ErrorKind::Limit) and [`Usage`](container_core::ErrorKind::Usage) for a line, with its number and the byte
    /// of the input: nothing is put, and the writer can continue. [`Io`](container_core::ErrorKind::Io) of the input: the same. Of the data:
    /// what was appended is undone, and in a transaction (see [`begin`](Self::begin)) all of its changes.
    pub fn load(&mut self, source: &Source, options: &LoadOptions) -> Result<LoadSummary> {
        self.ready().map_err(|error| error.in_format(FORMAT_NAME))?;
        self.load_all(source, options).map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn load_all(&mut self, source: &Source, options: &LoadOptions) -> Result<LoadSummary> {
        let rules = self.rules(source, options).map_err(|error| with_line_number(error, source))?;
        let threads = match options.threads {
            0 => self.shared.options.threads,
            some => some,
        };
        let mut windows = Vec::new();
        let mut at = 0;
        while at < source.len() {
            let bytes = window(source, at)?;
            let parsed = parse_parts(&bytes, at, PART_BYTES, threads, |part, at| Part::read(part, at, &rules));
            // Report the first error in the order of the input.
            let parts = parsed.into_iter().collect::<Result<_>>().map_err(|error| with_line_number(error, source))?;
            windows.push(Window { at, parts });
            at += bytes.len() as u64;
        }
        // From here on files change. Earlier changes go first.
        let is_nested = self.transaction.is_some();
        if is_nested {
            let drained = self.drain();
            self.roll_back_on_error(drained)?;
        } else {
            self.begin_transaction(false)?;
        }
        let loaded = self.load_parsed(source, &mut windows, &rules, threads, options.on_duplicate, is_nested);
        if loaded.is_err() && !is_nested {
            // Already done after I/O errors.
            self.try_roll_back()?;
        }
        loaded
    }

    fn load_parsed(
        &mut self,
        source: &Source,
        windows: &mut [Window],
        rules: &LineRules,
        threads: usize,
        on_duplicate: OnDuplicate,
        is_nested: bool,
    ) -> Result<LoadSummary> {
        let all = || windows.iter().flat_map(|window| &window.parts);
        let (count, bytes) =
            all().fold((0, 0), |(count, bytes), part| (count + part.documents, bytes + part.entries.len()));
        self.ids.reserve(count, bytes)?;
        let loaded = match on_duplicate {
            // Inserting cannot fail or skip a line, so it can overlap with appending.
            OnDuplicate::Replace if threads != 1 && count > 0 => {
                let loaded = self.insert_and_append(source, windows, rules);
                self.roll_back_on_error(loaded)?
            }
            _ => {
                let loaded = self.put_parts(source, windows, on_duplicate)?;
                let appended = self.append_parts(source, windows, rules, loaded.bytes);
                self.roll_back_on_error(appended)?;
                loaded
            }
        };
        self.shadow_all();
        if let Some(strict) = &mut self.strict {
            strict.schema = rules.schema.clone().or(strict.schema.take());
        }
        if !is_nested {
            let ended = self.end_in_journal();
            self.roll_back_on_error(ended)?;
        }
        Ok(loaded)
    }

    /// The requirements on lines.
    fn rules(&self, source: &Source, options: &LoadOptions) -> Result<LineRules> {
        let mut rules = LineRules {
            id_field: options.id_field.clone(),
            validate: options.validate,
            schema: self.strict.as_ref().and_then(|strict| strict.schema.clone()),
            limits: self.shared.options.limits,
        };
        if self.strict.is_some() && rules.schema.is_none() && !source.is_empty() {
            // The first document determines the schema.
            let bytes = window(source, 0)?;
            if let Some(line) = lines_from(&bytes, 0, 0).next() {
                let mut first = Vec::new();
                render(&line, &rules, &mut first)?;
                let placed = |error: Error| error.at(line.offset);
                rules.schema = Some(crate::write::schema::Schema::of(&first).map_err(placed)?);
            }
        }
        Ok(rules)
    }

    /// Inserts the ids of all lines, and notes which lines are skipped.
    fn put_parts(&mut self, source: &Source, windows: &mut [Window], on: OnDuplicate) -> Result<LoadSummary> {
        let offset = self.written + u64::from(self.needs_feed);
        self.ids.begin();
        let mut put = IdInserter {
            ids: &mut self.ids,
            unshadowed: &self.docs.unshadowed,
            on,
            offset,
            loaded: LoadSummary::default(),
        };
        for part in windows.iter_mut().flat_map(|window| &mut window.parts) {
            match put.part(part) {
                Ok(skipped) => part.skipped = skipped,
                Err(error) => {
                    self.ids.roll_back();
                    return Err(with_line_number(error, source));
                }
            }
        }
        let loaded = put.loaded;
        self.ids.commit();
        Ok(loaded)
    }

    /// Appends all lines that are not skipped.
    fn append_parts(&mut self, source: &Source, windows: &[Window], rules: &LineRules, expected: u64) -> Result<()> {
        if expected == 0 {
            return Ok(());
        }
        self.begin_append()?;
        let data = self.data.as_mut().ok_or_else(not_prepared)?;
        let appended = append(&self.disk, data, source, windows, rules)?;
        self.end_append(appended, expected)
    }

    /// Inserts ids while another thread appends all lines.
    fn insert_and_append(&mut self, source: &Source, windows: &[Window], rules: &LineRules) -> Result<LoadSummary> {
        self.begin_append()?;
        let (on, offset) = (OnDuplicate::Replace, self.written);
        let mut put = IdInserter {
            ids: &mut self.ids,
            unshadowed: &self.docs.unshadowed,
            on,
            offset,
            loaded: LoadSummary::default(),
        };
        let (disk, data) = (&self.disk, self.data.as_mut().ok_or_else(not_prepared)?);
        let appended = thread::scope(|scope| {
            let appended = scope.spawn(move || append(disk, data, source, windows, rules));
            let mut parts = windows.iter().flat_map(|window| &window.parts);
            let inserted = parts.try_for_each(|part| put.part(part).map(drop));
            let appended = appended.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            inserted.and(appended)
        })?;
        let loaded = put.loaded;
        self.end_append(appended, loaded.bytes)?;
        Ok(loaded)
    }

    /// Prepares the data for appending.
    fn begin_append(&mut self) -> Result<()> {
        self.before_change(false)?;
        self.is_changed = true;
        if self.needs_feed {
            let data = self.data.as_mut().ok_or_else(not_prepared)?;
            self.disk.append("data", data, b"\n").map_err(in_data)?;
            self.written += 1;
            self.needs_feed = false;
        }
        Ok(())
    }

    fn end_append(&mut self, appended: u64, expected: u64) -> Result<()> {
        if appended != expected {
            return Err(Error::invalid("the input changed while it was read"));
        }
        self.written += appended;
        (self.lines_end, self.is_last_line_live) = (self.written, true);
        match self.shared.options.durability {
            Durability::EveryPut => self.disk.sync("data", self.data()?),
            _ => Ok(()),
        }
    }

    /// Marks files as shadowed whose documents have a line now.
    fn shadow_all(&mut self) {
        let has_line = |id: &&String| self.ids.find(id.as_bytes()).is_some();
        let shadowed: Vec<String> = self.docs.unshadowed.iter().filter(has_line).cloned().collect();
        shadowed.iter().for_each(|id| self.shadow(id));
    }
}

/// Inserts ids, part by part.
struct IdInserter<'w> {
    ids: &'w mut Ids,
    /// Ids of file-per-document documents without a line.
    unshadowed: &'w HashSet<String>,
    on: OnDuplicate,
    /// Offset of the next line in the data.
    offset: u64,
    loaded: LoadSummary,
}

impl IdInserter<'_> {
    /// Inserts the ids of a part; returns the input offsets of skipped lines, in order.
    fn part(&mut self, part: &Part) -> Result<Vec<u64>> {
        let mut skipped = Vec::new();
        let mut at = 0;
        while let Some(entry) = crate::read::table::entry_at(&part.entries, at) {
            at += (ENTRY_OVERHEAD + entry.id.len()) as u64;
            if self.on != OnDuplicate::Replace && self.exists(&entry) {
                if self.on == OnDuplicate::Refuse {
                    let id = String::from_utf8_lossy(entry.id).into_owned();
                    return Err(Error::usage("a document with this id already exists").at(entry.offset).in_key(id));
                }
                skipped.push(entry.offset);
                self.loaded.kept += 1;
                continue;
            }
            let replaced = self.ids.put(entry.id, self.offset, entry.length)?;
            self.offset += u64::from(entry.length);
            self.loaded.replaced += u64::from(replaced.is_some());
            self.loaded.documents += 1;
            self.loaded.bytes += u64::from(entry.length);
        }
        Ok(skipped)
    }

    fn exists(&self, entry: &Entry<'_>) -> bool {
        self.ids.find(entry.id).is_some()
            || !self.unshadowed.is_empty() && std::str::from_utf8(entry.id).is_ok_and(|id| self.unshadowed.contains(id))
    }
}

/// Appends the lines that are not skipped; returns their number of bytes.
fn append(disk: &Disk, data: &mut File, source: &Source, windows: &[Window], rules: &LineRules) -> Result<u64> {
    let mut appended = 0;
    let mut write = |bytes: &[u8]| {
        appended += bytes.len() as u64;
        disk.append("data", data, bytes).map_err(in_data)
    };
    for found in windows {
        let bytes = window(source, found.at)?;
        // Adjacent verbatim parts are written together.
        let mut verbatim: Option<(usize, usize)> = None;
        for part in &found.parts {
            if part.is_verbatim && part.skipped.is_empty() {
                verbatim = Some((verbatim.map_or(part.start, |(start, _)| start), part.end));
                continue;
            }
            if let Some((start, end)) = verbatim.take() {
                write(bytes.get(start..end).unwrap_or_default())?;
            }
            write(&part.render(&bytes, found.at, rules)?)?;
        }
        if let Some((start, end)) = verbatim {
            write(bytes.get(start..end).unwrap_or_default())?;
        }
    }
    Ok(appended)
}

fn in_data(error: Error) -> Error {
    error.in_file(format!("{META}/{DATA}"))
}

/// Reads the next lines of an input: all of them if they are in memory.
fn window(source: &Source, at: u64) -> Result<Bytes> {
    match source.as_slice() {
        Some(_) => source.read(at..source.len()),
        None => read_lines(source, at, Limits::default()),
    }
}

/// Adds the line number of the error's byte.
fn with_line_number(error: Error, source: &Source) -> Error {
    let Some(byte) = error.position().byte else { return error };
    match crate::read::rebuild::lines_before(source, byte) {
        Ok(before) => error.in_line(before + 1),
        Err(_) => error,
    }
}
