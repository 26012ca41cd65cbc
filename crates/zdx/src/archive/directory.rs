//! The central directory of an archive, read once. A million entries take about 90 MB, almost half of it for names.

use std::io;

use container_core::{Error, Result, Source};
use rawzip::{ReaderAt, ZipFileHeaderRecord, ZipLocator};

use super::entry::{Entry, Kind, name_in, usize_of};
use super::names::{Folder, Rejection, check_file, check_file_in, check_folder, check_name, root_of, split};
use super::order::sort;

/// Length of a local header without its name.
pub(super) const LOCAL_HEADER_LEN: u64 = 30;

/// Buffer size; no record is larger.
const BLOCK_BYTES: usize = 256 << 10;
const _: () = assert!(BLOCK_BYTES >= rawzip::MAX_CENTRAL_DIRECTORY_RECORD_SIZE);

/// A validated central directory.
pub(super) struct Directory {
    names: String,
    /// The directory that contains the store, with trailing slash; often empty.
    pub(super) root: String,
    /// Files of the store, sorted by path.
    pub(super) entries: Vec<Entry>,
    /// All other entries, including directories, in archive order.
    pub(super) others: Vec<Entry>,
    /// Bytes after the end of the archive.
    pub(super) trailing: u64,
}

impl Directory {
    /// Reads and validates the directory.
    pub(super) fn read(source: &Source) -> Result<Self> {
        let len = source.len();
        let mut buffer = vec![0; BLOCK_BYTES];
        let located = ZipLocator::new().locate_in_reader(Positional(source), &mut buffer, len);
        let zip = located.map_err(|(_, error)| convert_error(error, "the archive's end record").at(len))?;
        let start = zip.directory_offset();
        let declared = zip.entries_hint();
        // A record takes at least 46 bytes, which limits how many there can be.
        let capacity = usize::try_from(declared.min(len / 46)).unwrap_or(0);
        let mut all = Vec::with_capacity(capacity);
        // The rest of the directory is at most names.
        let left = zip.eocd_offset().saturating_sub(start).saturating_sub(46 * capacity as u64).min(u32::MAX.into());
        let mut names = String::with_capacity(usize::try_from(left).unwrap_or(0));
        let mut root = Root::default();
        let mut entries = zip.entries(&mut buffer);
        loop {
            let next = entries.next_entry();
            let next = next.map_err(|error| {
                convert_error(error, format!("entry {} of the archive's directory", all.len())).at(start.min(len))
            })?;
            let Some(record) = next else { break };
            all.push(Entry::new(&record, &mut names, &mut root)?);
        }
        let count = all.len() as u64;
        // Writers without ZIP64 support count modulo 65,536.
        if count != declared && !(declared < 1 << 16 && count % (1 << 16) == declared) {
            let detail = format!("the archive's directory has {count} entries, but its end record declares {declared}");
            return Err(Error::invalid(detail).at(zip.eocd_offset()));
        }
        let trailing = len.saturating_sub(zip.end_offset());
        let mut directory = Self { names, root: String::new(), entries: all, others: Vec::new(), trailing };
        directory.check_overlaps(start)?;
        directory.root = root.finish(count)?;
        directory.split_entries()?;
        Ok(directory)
    }

    /// The path of an entry of the store, or the full name of another one.
    pub(super) fn name(&self, entry: &Entry) -> &str {
        name_in(&self.names, entry)
    }

    /// The full name of an entry.
    pub(super) fn full_name(&self, entry: &Entry) -> &str {
        let root = if entry.rejection.is_none() { self.root.len() } else { 0 };
        let start = usize_of(entry.name).saturating_sub(root);
        self.names.get(start..usize_of(entry.name) + usize_of(entry.name_len)).unwrap_or_default()
    }

    /// Checks that entries do not overlap, and sets their ends.
    fn check_overlaps(&mut self, start: u64) -> Result<()> {
        let mut order: Vec<(u64, u32)> = Vec::new();
        if !self.entries.is_sorted_by_key(|entry| entry.offset) {
            let too_many = |_| Error::limit("the entries of the archive", self.entries.len() as u64, u32::MAX.into());
            let count = u32::try_from(self.entries.len()).map_err(too_many)?;
            order = self.entries.iter().map(|entry| entry.offset).zip(0..count).collect();
            order.sort_unstable();
        }
        let nth = |n: usize| if order.is_empty() { n } else { order.get(n).map_or(0, |(_, index)| usize_of(*index)) };
        for n in 0..self.entries.len() {
            let next = if n + 1 < self.entries.len() { self.entries.get(nth(n + 1)).copied() } else { None };
            let end = next.map_or(start, |next| next.offset);
            let Some(entry) = self.entries.get_mut(nth(n)) else { continue };
            entry.end = end;
            // Assumes that the local header has the same name and no extra field; both are checked when it is read.
            // (A name that is not UTF-8 is stored escaped, and so longer.)
            let name_len = if entry.rejection == Some(Rejection::NotUtf8) { 0 } else { entry.name_len };
            let min_end = entry.offset.saturating_add(LOCAL_HEADER_LEN).saturating_add(name_len.into());
            if min_end.saturating_add(entry.packed) > end {
                let entry = *entry;
                let name = self.name(&entry).to_owned();
                let detail = match next {
                    Some(next) => format!(
                        "the entry of {} bytes overlaps entry {:?} at byte {}",
                        entry.packed,
                        self.name(&next),
                        next.offset
                    ),
                    None => {
                        format!("the entry of {} bytes overlaps the archive's directory at byte {start}", entry.packed)
                    }
                };
                return Err(Error::invalid(detail).at(entry.offset.min(start)).in_key(name));
            }
        }
        Ok(())
    }

    /// Separates and sorts the store's entries.
    fn split_entries(&mut self) -> Result<()> {
        let Self { names, root, entries, others, .. } = self;
        let skipped = u32::try_from(root.len()).unwrap_or(u32::MAX);
        // Consecutive files are mostly in the same directory.
        let mut last = ("", Ok(Folder::Root));
        entries.retain_mut(|entry| {
            if entry.rejection.is_none() {
                match name_in(names, entry).strip_prefix(root.as_str()) {
                    Some(path) => {
                        let (folder, file) = split(path);
                        if folder != last.0 {
                            last = (folder, check_folder(folder));
                        }
                        entry.rejection = check_file(file).and_then(|()| check_file_in(last.1?, file)).err();
                        if entry.rejection.is_none() {
                            entry.name += skipped;
                            entry.name_len -= skipped;
                            return true;
                        }
                    }
                    None if name_in(names, entry).starts_with("__MACOSX/") => {
                        entry.rejection = Some(Rejection::SystemFile)
                    }
                    None => entry.rejection = Some(Rejection::Outside),
                }
            }
            others.push(*entry);
            false
        });
        let duplicates = sort(names, entries);
        let Some((one, two)) = duplicates else { return Ok(()) };
        let (first, second) = (one.offset.min(two.offset), one.offset.max(two.offset));
        let detail = format!("two entries have the same name: at byte {first} and at byte {second}");
        Err(Error::invalid(detail).at(second).in_key(self.full_name(&one).to_owned()))
    }
}

impl Entry {
    fn new(record: &ZipFileHeaderRecord<'_>, names: &mut String, root: &mut Root) -> Result<Self> {
        let raw = record.file_path();
        let raw = raw.as_bytes();
        let start = names.len();
        let rejection = match std::str::from_utf8(raw) {
            Ok(name) => {
                names.push_str(name);
                let rejection = check_name(name).err();
                if rejection.is_none() {
                    root.add(name);
                }
                rejection.or(record.is_dir().then_some(Rejection::Folder))
            }
            Err(_) => {
                // For display only.
                names.extend(raw.escape_ascii().map(char::from));
                Some(Rejection::NotUtf8)
            }
        };
        let too_many = |_| Error::limit("the names in the archive's directory", names.len() as u64, u32::MAX.into());
        u32::try_from(names.len()).map_err(too_many)?;
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX); // at most the length just checked
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
            rejection,
            size: record.uncompressed_size_hint(),
            packed: record.compressed_size_hint(),
            offset: record.local_header_offset(),
            end: 0,
        })
    }
}

/// Determines the store's root from the names.
#[derive(Default)]
struct Root {
    at_top: bool,
    folders: Vec<String>,
}

impl Root {
    fn add(&mut self, name: &str) {
        if self.at_top || self.folders.iter().any(|folder| name.starts_with(folder.as_str())) {
            return;
        }
        match root_of(name) {
            Some("") => self.at_top = true,
            Some(folder) if self.folders.len() < 2 => self.folders.push(folder.to_owned()),
            _ => {}
        }
    }

    fn finish(self, count: u64) -> Result<String> {
        match (self.at_top, &*self.folders) {
            (true, _) => Ok(String::new()),
            (false, [folder]) => Ok(folder.clone()),
            (false, [one, two, ..]) => {
                Err(Error::invalid(format!("the archive contains two stores, in {one:?} and {two:?}")).at(0))
            }
            // An empty archive is an empty store.
            (false, []) if count == 0 => Ok(String::new()),
            (false, []) => {
                let detail =
                    "the archive is not a store: neither collections/ nor zds.json at the top or in one directory";
                Err(Error::invalid(detail).at(0))
            }
        }
    }
}

/// Adapts a source to rawzip.
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

/// Converts an error of rawzip; `what` was being read.
fn convert_error(error: rawzip::Error, what: impl Into<String>) -> Error {
    let what = what.into();
    match error.into_kind() {
        rawzip::ErrorKind::IO(cause) => match cause.downcast::<Error>() {
            Ok(error) => error,
            Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => {
                Error::invalid(format!("{what} reaches past the end of the file"))
            }
            Err(cause) => Error::io(format!("cannot read {what}"), cause),
        },
        rawzip::ErrorKind::Eof => Error::invalid(format!("{what} reaches past the end of the file")),
        rawzip::ErrorKind::MissingEndOfCentralDirectory => {
            Error::invalid("not a ZIP archive, or truncated: no end record")
        }
        other => Error::invalid(format!("{what} is damaged: {other}")),
    }
}
