//! Many documents at once, out of lines of JSON.
//!
//! First all of the input is gone through, in parts and by several threads; only when nothing is wrong with any line the ids are put, and
//! the lines appended, as they are where nothing has to be changed, straight from the input and in large pieces. So of an input with an
//! error nothing is put, and nothing has to be taken back. Appending is a transaction: until its end is in the journal none of the lines
//! counts. Where an id that exists already is no error either, and no line is left out for it, the ids are put while another thread
//! appends.

use std::collections::HashSet;
use std::fs::File;
use std::thread;

use container_core::{Bytes, Error, Limits, Result, Source};

use crate::layout::{DATA, META};
use crate::read::rebuild::whole_lines;
use crate::wire::index::{AROUND, Entry};
use crate::wire::lines::lines_from;
use crate::write::collection::{CollectionWriter, unprepared};
use crate::write::disk::Disk;
use crate::write::ids::Ids;
use crate::write::options::Durability;
use crate::write::part::{Part, Rules, on_threads, render};
use crate::{FORMAT_NAME, LoadOptions, Loaded, OnDuplicate};

/// Bytes of the input that a thread goes through at a time.
const PART: usize = 2 << 20;

/// What of the input is in memory at once: all of it where it is mapped or held.
struct Window {
    at: u64,
    parts: Vec<Part>,
}

impl CollectionWriter {
    /// Puts the documents of an input of JSON lines, in its order: all of them, or none where one is wrong. Lines stay as they are, byte for
    /// byte, but for what stands around them (empty lines, CR, a byte order mark) and where the id is taken from another member. The index is
    /// not written: [`flush`](Self::flush) does that.
    ///
    /// The input must not change meanwhile. Memory: about 30 bytes for each document, which the index takes, too.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid), [`Truncated`](container_core::ErrorKind::Truncated),
    /// [`Limit`](container_core::ErrorKind::Limit) and [`Usage`](container_core::ErrorKind::Usage) for a line, with its number and the byte
    /// of the input: nothing is put then, and the writer goes on. [`Io`](container_core::ErrorKind::Io) of the input: the same; of the
    /// data: what was appended is taken back, and in a transaction, see [`begin`](Self::begin), all of its changes.
    pub fn load(&mut self, source: &Source, options: &LoadOptions) -> Result<Loaded> {
        self.ready().map_err(|error| error.in_format(FORMAT_NAME))?;
        self.load_all(source, options).map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn load_all(&mut self, source: &Source, options: &LoadOptions) -> Result<Loaded> {
        let rules = self.rules(source, options).map_err(|error| numbered(error, source))?;
        let threads = match options.threads {
            0 => self.shared.options.threads,
            some => some,
        };
        let mut windows = Vec::new();
        let mut at = 0;
        while at < source.len() {
            let bytes = window(source, at)?;
            let found = on_threads(&bytes, at, PART, threads, |part, at| Part::read(part, at, &rules));
            // The first error in the order of the input is the one that is told.
            let parts = found.into_iter().collect::<Result<_>>().map_err(|error| numbered(error, source))?;
            windows.push(Window { at, parts });
            at += bytes.len() as u64;
        }
        // From here on it goes into files: what was put before goes first.
        let is_part = self.transaction.is_some();
        if is_part {
            let drained = self.drain();
            self.guarded(drained)?;
        } else {
            self.begin_transaction(false)?;
        }
        let loaded = self.put_and_end(source, &mut windows, &rules, threads, options.on_duplicate, is_part);
        if loaded.is_err() && !is_part {
            // Of errors of the files it was done already.
            self.undo()?;
        }
        loaded
    }

    fn put_and_end(
        &mut self,
        source: &Source,
        windows: &mut [Window],
        rules: &Rules,
        threads: usize,
        on_duplicate: OnDuplicate,
        is_part: bool,
    ) -> Result<Loaded> {
        let all = || windows.iter().flat_map(|window| &window.parts);
        let (count, bytes) =
            all().fold((0, 0), |(count, bytes), part| (count + part.documents, bytes + part.entries.len()));
        self.ids.reserve(count, bytes)?;
        let loaded = match on_duplicate {
            // No line is left out, and none is an error: that was the last one.
            OnDuplicate::Replace if threads != 1 && count > 0 => {
                let loaded = self.put_and_append(source, windows, rules);
                self.guarded(loaded)?
            }
            _ => {
                let loaded = self.put_parts(source, windows, on_duplicate)?;
                let appended = self.append_parts(source, windows, rules, loaded.bytes);
                self.guarded(appended)?;
                loaded
            }
        };
        self.shadow_all();
        if let Some(strict) = &mut self.strict {
            strict.schema = rules.schema.clone().or(strict.schema.take());
        }
        if !is_part {
            let ended = self.end_in_journal();
            self.guarded(ended)?;
        }
        Ok(loaded)
    }

    /// What a line has to be.
    fn rules(&self, source: &Source, options: &LoadOptions) -> Result<Rules> {
        let mut rules = Rules {
            id_field: options.id_field.clone(),
            validate: options.validate,
            schema: self.strict.as_ref().and_then(|strict| strict.schema.clone()),
            limits: self.shared.options.limits,
        };
        if self.strict.is_some() && rules.schema.is_none() && !source.is_empty() {
            // The first document says what all have to be.
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

    /// Puts the ids of all lines, and says which lines are left out.
    fn put_parts(&mut self, source: &Source, windows: &mut [Window], on: OnDuplicate) -> Result<Loaded> {
        let offset = self.written + u64::from(self.needs_feed);
        self.ids.begin();
        let mut put = Put { ids: &mut self.ids, seen: &self.loose.seen, on, offset, loaded: Loaded::default() };
        for part in windows.iter_mut().flat_map(|window| &mut window.parts) {
            match put.part(part) {
                Ok(left_out) => part.left_out = left_out,
                Err(error) => {
                    self.ids.roll_back();
                    return Err(numbered(error, source));
                }
            }
        }
        let loaded = put.loaded;
        self.ids.commit();
        Ok(loaded)
    }

    /// Appends the lines whose ids were put.
    fn append_parts(&mut self, source: &Source, windows: &[Window], rules: &Rules, wanted: u64) -> Result<()> {
        if wanted == 0 {
            return Ok(());
        }
        self.begin_append()?;
        let data = self.data.as_mut().ok_or_else(unprepared)?;
        let appended = append(&self.disk, data, source, windows, rules)?;
        self.end_append(appended, wanted)
    }

    /// Both at once, where every line is taken: another thread appends.
    fn put_and_append(&mut self, source: &Source, windows: &[Window], rules: &Rules) -> Result<Loaded> {
        self.begin_append()?;
        let (on, offset) = (OnDuplicate::Replace, self.written);
        let mut put = Put { ids: &mut self.ids, seen: &self.loose.seen, on, offset, loaded: Loaded::default() };
        let (disk, data) = (&self.disk, self.data.as_mut().ok_or_else(unprepared)?);
        let appended = thread::scope(|scope| {
            let appended = scope.spawn(move || append(disk, data, source, windows, rules));
            let mut parts = windows.iter().flat_map(|window| &window.parts);
            let all_put = parts.try_for_each(|part| put.part(part).map(drop));
            let appended = appended.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            all_put.and(appended)
        })?;
        let loaded = put.loaded;
        self.end_append(appended, loaded.bytes)?;
        Ok(loaded)
    }

    /// Before lines are appended.
    fn begin_append(&mut self) -> Result<()> {
        self.before_change(false)?;
        self.is_changed = true;
        if self.needs_feed {
            let data = self.data.as_mut().ok_or_else(unprepared)?;
            self.disk.append("data", data, b"\n").map_err(in_data)?;
            self.written += 1;
            self.needs_feed = false;
        }
        Ok(())
    }

    fn end_append(&mut self, appended: u64, wanted: u64) -> Result<()> {
        if appended != wanted {
            return Err(Error::invalid("the input changed while it was read"));
        }
        self.written += appended;
        (self.covered, self.is_tail_alive) = (self.written, true);
        match self.shared.options.durability {
            Durability::EveryPut => self.disk.sync("data", self.data()?),
            _ => Ok(()),
        }
    }

    /// The files of documents that have a line now do not count any more.
    fn shadow_all(&mut self) {
        let covered = |id: &&String| self.ids.find(id.as_bytes()).is_some();
        let shadowed: Vec<String> = self.loose.seen.iter().filter(covered).cloned().collect();
        shadowed.iter().for_each(|id| self.shadow(id));
    }
}

/// Ids that are put, part by part.
struct Put<'w> {
    ids: &'w mut Ids,
    /// Documents in files of their own.
    seen: &'w HashSet<String>,
    on: OnDuplicate,
    /// Where the next line will begin.
    offset: u64,
    loaded: Loaded,
}

impl Put<'_> {
    /// Puts those of a part; which lines are left out comes back, in their order.
    fn part(&mut self, part: &Part) -> Result<Vec<u64>> {
        let mut left_out = Vec::new();
        let mut at = 0;
        while let Some(entry) = crate::read::table::entry_at(&part.entries, at) {
            at += (AROUND + entry.id.len()) as u64;
            if self.on != OnDuplicate::Replace && self.is_there(&entry) {
                if self.on == OnDuplicate::Refuse {
                    let id = String::from_utf8_lossy(entry.id).into_owned();
                    return Err(Error::usage("there is a document of this id already").at(entry.offset).in_key(id));
                }
                left_out.push(entry.offset);
                self.loaded.kept += 1;
                continue;
            }
            let replaced = self.ids.put(entry.id, self.offset, entry.length)?;
            self.offset += u64::from(entry.length);
            self.loaded.replaced += u64::from(replaced.is_some());
            self.loaded.documents += 1;
            self.loaded.bytes += u64::from(entry.length);
        }
        Ok(left_out)
    }

    fn is_there(&self, entry: &Entry<'_>) -> bool {
        self.ids.find(entry.id).is_some()
            || !self.seen.is_empty() && std::str::from_utf8(entry.id).is_ok_and(|id| self.seen.contains(id))
    }
}

/// Appends the lines that are not left out; says how many bytes they were.
fn append(disk: &Disk, data: &mut File, source: &Source, windows: &[Window], rules: &Rules) -> Result<u64> {
    let mut appended = 0;
    let mut write = |bytes: &[u8]| {
        appended += bytes.len() as u64;
        disk.append("data", data, bytes).map_err(in_data)
    };
    for found in windows {
        let bytes = window(source, found.at)?;
        // Parts that are taken as they are lie one behind the other: they are written together.
        let mut plain: Option<(usize, usize)> = None;
        for part in &found.parts {
            if part.is_plain && part.left_out.is_empty() {
                plain = Some((plain.map_or(part.start, |(start, _)| start), part.end));
                continue;
            }
            if let Some((start, end)) = plain.take() {
                write(bytes.get(start..end).unwrap_or_default())?;
            }
            write(&part.render(&bytes, found.at, rules)?)?;
        }
        if let Some((start, end)) = plain {
            write(bytes.get(start..end).unwrap_or_default())?;
        }
    }
    Ok(appended)
}

fn in_data(error: Error) -> Error {
    error.in_file(format!("{META}/{DATA}"))
}

/// The next lines of an input: all of them where they lie in memory.
fn window(source: &Source, at: u64) -> Result<Bytes> {
    match source.as_slice() {
        Some(_) => source.read(at..source.len()),
        None => whole_lines(source, at, Limits::default()),
    }
}

/// An error with the number of the line that its byte is in.
fn numbered(error: Error, source: &Source) -> Error {
    let Some(byte) = error.position().byte else { return error };
    match crate::read::rebuild::lines_before(source, byte) {
        Ok(before) => error.in_line(before + 1),
        Err(_) => error,
    }
}
