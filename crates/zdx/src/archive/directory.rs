//! The central directory of an archive, read once and kept small: a million entries are some 90 MB, almost half of it their names.

use std::io;

use container_core::{Error, Result, Source};
use rawzip::{ReaderAt, ZipFileHeaderRecord, ZipLocator};

use super::entry::{Entry, Kind, name_in, usize_of};
use super::names::{Folder, Why, check_file, check_folder, check_name, fits, root_of, split};
use super::order::sort;

/// Bytes of a local header in front of its name.
pub(super) const LOCAL: u64 = 30;

/// Read at once; no record is larger.
const PIECE: usize = 256 << 10;
const _: () = assert!(PIECE >= rawzip::MAX_CENTRAL_DIRECTORY_RECORD_SIZE);

/// What an archive's directory says, checked as a whole.
pub(super) struct Directory {
    names: String,
    /// The folder in front of the tree, with its slash; often empty.
    pub(super) root: String,
    /// The tree's files in order of their paths.
    pub(super) entries: Vec<Entry>,
    /// What is none of the tree's, folders among them, as the directory has it.
    pub(super) others: Vec<Entry>,
    /// Bytes behind the archive's end.
    pub(super) behind: u64,
}

impl Directory {
    /// Reads the directory, which is the only thing that is read.
    pub(super) fn read(source: &Source) -> Result<Self> {
        let len = source.len();
        let mut buffer = vec![0; PIECE];
        let found = ZipLocator::new().locate_in_reader(Positional(source), &mut buffer, len);
        let zip = found.map_err(|(_, error)| told(error, "the archive's end record").at(len))?;
        let start = zip.directory_offset();
        let declared = zip.entries_hint();
        // An entry takes more bytes than this in the directory: what is declared beyond is a lie.
        let room = usize::try_from(declared.min(len / 46)).unwrap_or(0);
        let mut all = Vec::with_capacity(room);
        // The names are what is left of the directory, or less.
        let left = zip.eocd_offset().saturating_sub(start).saturating_sub(46 * room as u64).min(u32::MAX.into());
        let mut names = String::with_capacity(usize::try_from(left).unwrap_or(0));
        let mut root = Root::default();
        let mut entries = zip.entries(&mut buffer);
        loop {
            let next = entries.next_entry();
            let next = next.map_err(|error| {
                told(error, format!("entry {} of the archive's directory", all.len())).at(start.min(len))
            })?;
            let Some(record) = next else { break };
            all.push(Entry::new(&record, &mut names, &mut root)?);
        }
        let count = all.len() as u64;
        // Writers that do not know ZIP64 count to 65,535 and begin again.
        if count != declared && !(declared < 1 << 16 && count % (1 << 16) == declared) {
            let detail = format!("the archive's directory has {count} entries, its end record declares {declared}");
            return Err(Error::invalid(detail).at(zip.eocd_offset()));
        }
        let behind = len.saturating_sub(zip.end_offset());
        let mut directory = Self { names, root: String::new(), entries: all, others: Vec::new(), behind };
        directory.lay_out(start)?;
        directory.root = root.decide(count)?;
        directory.divide()?;
        Ok(directory)
    }

    /// The path of an entry of the tree, or the whole name of another.
    pub(super) fn name(&self, entry: &Entry) -> &str {
        name_in(&self.names, entry)
    }

    /// The name as the archive has it.
    pub(super) fn full_name(&self, entry: &Entry) -> &str {
        let root = if entry.why.is_none() { self.root.len() } else { 0 };
        let start = usize_of(entry.name).saturating_sub(root);
        self.names.get(start..usize_of(entry.name) + usize_of(entry.name_len)).unwrap_or_default()
    }

    /// Checks that no two entries share bytes, and tells each how much room it has.
    fn lay_out(&mut self, start: u64) -> Result<()> {
        let mut order: Vec<(u64, u32)> = Vec::new();
        if !self.entries.is_sorted_by_key(|entry| entry.offset) {
            let many = |_| Error::limit("the entries of the archive", self.entries.len() as u64, u32::MAX.into());
            let count = u32::try_from(self.entries.len()).map_err(many)?;
            order = self.entries.iter().map(|entry| entry.offset).zip(0..count).collect();
            order.sort_unstable();
        }
        let at = |place: usize| {
            if order.is_empty() { place } else { order.get(place).map_or(0, |(_, which)| usize_of(*which)) }
        };
        for place in 0..self.entries.len() {
            let next = if place + 1 < self.entries.len() { self.entries.get(at(place + 1)).copied() } else { None };
            let room = next.map_or(start, |next| next.offset);
            let Some(entry) = self.entries.get_mut(at(place)) else { continue };
            entry.room = room;
            // The name here is what the local header's should be; how much more that header has is seen when it is read.
            // (A name that is no text is kept longer than it is.)
            let name_len = if entry.why == Some(Why::NotText) { 0 } else { entry.name_len };
            let least = entry.offset.saturating_add(LOCAL).saturating_add(name_len.into());
            if least.saturating_add(entry.packed) > room {
                let entry = *entry;
                let name = self.name(&entry).to_owned();
                let detail = match next {
                    Some(next) => {
                        let (other, there) = (self.name(&next), next.offset);
                        format!(
                            "the entry of {} bytes overlaps that of {other:?}, which begins at byte {there}",
                            entry.packed
                        )
                    }
                    None => {
                        format!("the entry of {} bytes overlaps the archive's directory at byte {start}", entry.packed)
                    }
                };
                return Err(Error::invalid(detail).at(entry.offset.min(start)).in_key(name));
            }
        }
        Ok(())
    }

    /// Finds out which entries are the tree's, and sorts them.
    fn divide(&mut self) -> Result<()> {
        let Self { names, root, entries, others, .. } = self;
        let skipped = u32::try_from(root.len()).unwrap_or(u32::MAX);
        // Most files are in the folder of the one before.
        let mut last = ("", Ok(Folder::Root));
        entries.retain_mut(|entry| {
            if entry.why.is_none() {
                match name_in(names, entry).strip_prefix(root.as_str()) {
                    Some(path) => {
                        let (folder, file) = split(path);
                        if folder != last.0 {
                            last = (folder, check_folder(folder));
                        }
                        entry.why = check_file(file).and_then(|()| fits(last.1?, file)).err();
                        if entry.why.is_none() {
                            entry.name += skipped;
                            entry.name_len -= skipped;
                            return true;
                        }
                    }
                    None if name_in(names, entry).starts_with("__MACOSX/") => entry.why = Some(Why::Foreign),
                    None => entry.why = Some(Why::Outside),
                }
            }
            others.push(*entry);
            false
        });
        let twice = sort(names, entries);
        let Some((one, two)) = twice else { return Ok(()) };
        let (first, second) = (one.offset.min(two.offset), one.offset.max(two.offset));
        let detail = format!("two entries have one name: they begin at byte {first} and at byte {second}");
        Err(Error::invalid(detail).at(second).in_key(self.full_name(&one).to_owned()))
    }
}

impl Entry {
    fn new(record: &ZipFileHeaderRecord<'_>, names: &mut String, root: &mut Root) -> Result<Self> {
        let raw = record.file_path();
        let raw = raw.as_bytes();
        let start = names.len();
        let why = match std::str::from_utf8(raw) {
            Ok(name) => {
                names.push_str(name);
                let why = check_name(name).err();
                if why.is_none() {
                    root.see(name);
                }
                why.or(record.is_dir().then_some(Why::Folder))
            }
            Err(_) => {
                // Shown, never asked for.
                names.extend(raw.escape_ascii().map(char::from));
                Some(Why::NotText)
            }
        };
        let many = |_| Error::limit("the names in the archive's directory", names.len() as u64, u32::MAX.into());
        u32::try_from(names.len()).map_err(many)?;
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX); // both are less than what was just tested
        let flags = record.flags();
        Ok(Self {
            name: narrow(start),
            name_len: narrow(names.len() - start),
            crc: record.crc32(),
            method: record.compression_method().as_u16(),
            kind: match record.mode().value() & 0o170_000 {
                0o120_000 => Kind::Link,
                0 | 0o100_000 => Kind::File,
                _ => Kind::Special,
            },
            encrypted: flags.is_encrypted() || flags.is_masked() || flags.has_strong_encryption(),
            why,
            size: record.uncompressed_size_hint(),
            packed: record.compressed_size_hint(),
            offset: record.local_header_offset(),
            room: 0,
        })
    }
}

/// Where the tree stands, as the names tell.
#[derive(Default)]
struct Root {
    at_top: bool,
    folders: Vec<String>,
}

impl Root {
    fn see(&mut self, name: &str) {
        if self.at_top || self.folders.iter().any(|folder| name.starts_with(folder.as_str())) {
            return;
        }
        match root_of(name) {
            Some("") => self.at_top = true,
            Some(folder) if self.folders.len() < 2 => self.folders.push(folder.to_owned()),
            _ => {}
        }
    }

    fn decide(self, count: u64) -> Result<String> {
        match (self.at_top, &*self.folders) {
            (true, _) => Ok(String::new()),
            (false, [folder]) => Ok(folder.clone()),
            (false, [one, two, ..]) => {
                Err(Error::invalid(format!("two folders of the archive have collections: {one:?} and {two:?}")).at(0))
            }
            // Nothing packed is a store without anything.
            (false, []) if count == 0 => Ok(String::new()),
            (false, []) => {
                let detail = "the archive has neither collections/ nor zds.json, at its root or in one folder there";
                Err(Error::invalid(detail).at(0))
            }
        }
    }
}

/// A source, for rawzip.
struct Positional<'s>(&'s Source);

impl ReaderAt for Positional<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let end = offset.saturating_add(buffer.len() as u64).min(self.0.len());
        let bytes = self.0.read(offset.min(end)..end).map_err(io::Error::other)?;
        if let Some(target) = buffer.get_mut(..bytes.len()) {
            target.copy_from_slice(&bytes);
        }
        Ok(bytes.len())
    }
}

/// An error of rawzip in the words of this project; `what` is what was being read.
fn told(error: rawzip::Error, what: impl Into<String>) -> Error {
    let what = what.into();
    match error.into_kind() {
        rawzip::ErrorKind::IO(cause) => match cause.downcast::<Error>() {
            Ok(error) => error,
            Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => {
                Error::invalid(format!("{what} leaves the file"))
            }
            Err(cause) => Error::io(format!("cannot read {what}"), cause),
        },
        rawzip::ErrorKind::Eof => Error::invalid(format!("{what} leaves the file")),
        rawzip::ErrorKind::MissingEndOfCentralDirectory => {
            Error::invalid("it is no ZIP archive, or its end is missing: there is no end record")
        }
        other => Error::invalid(format!("{what} is damaged: {other}")),
    }
}
