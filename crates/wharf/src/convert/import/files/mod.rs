//! Files of a folder or a ZIP archive as samples of a datadings dataset: each the content of a file, with its path and its label.

mod ahead;
mod archive;
mod folder;
mod glob;
mod labels;
mod sample;

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::PathBuf;

use container_core::{Error, ErrorKind, Limits, Loss, Position, Progress, Result, Source, Unit};
use datadings::Writer;
use datadings::ser::to_vec;

use super::samples::of_input;
use archive::{Archive, Entry};
use glob::{Name, Pattern};
use labels::Labels;
use sample::Sample;

/// Which files become samples, and what of them.
///
/// Patterns mean what they mean to Python's `DirectoryReader`: `{LABEL}` is the folder whose name is the label, `*`, `?`, `[a-z]` and `[!a-z]`
/// stand for parts of a name, `**` for any folders and, at the end, for all files in them. What begins with a dot is matched by
/// patterns alone that do so too. In archives patterns mean the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileOptions {
    /// Patterns of paths, relative to the folder or archive; without any, `{LABEL}/**`. Not looked at where there is a list.
    pub patterns: Vec<String>,
    /// A list of files and the name by which errors call it: a line has a path, its label if there are labels, and whatever more is to be
    /// kept, with separators between.
    pub list: Option<(String, String)>,
    /// What separates the parts of a list's lines; empty for a tabulator.
    pub separator: String,
    /// Of the files that a pattern or the list gives, only those whose path matches one of these; all, without any. `*` also matches slashes.
    pub include: Vec<String>,
    /// Not those whose path matches one of these.
    pub exclude: Vec<String>,
    /// The name of the field with the content: then samples are `{key, <field>, label}`, as the image sets that come with the Python package.
    /// Without, they are what its `DirectoryReader` gives: `{key, label, path, _additional_info, _label, data}`.
    pub field: Option<String>,
    /// The label is its text and not its number.
    pub text_labels: bool,
    /// Labels in the order of their numbers, one on each line, and the name by which errors call the list; without, all labels there are,
    /// sorted naturally.
    pub labels: Option<(String, String)>,
}

/// The files of folders and archives that are to become samples, in order: of a folder sorted by path, of an archive in the order of its directory, of a
/// list in its order.
#[derive(Debug, Default)]
pub struct FileTable {
    options: FileOptions,
    roots: Vec<Root>,
    items: Vec<Item>,
    /// All labels that items have, in the order in which they came.
    came: Labels,
    left_out: Vec<Loss>,
}

#[derive(Debug)]
enum Root {
    /// A folder, by the text before the paths in it.
    Folder(String),
    Archive(Archive),
}

/// A file.
#[derive(Debug)]
struct Item {
    root: usize,
    /// Relative to the root.
    path: String,
    /// Where the key begins in the path.
    key: usize,
    label: Option<usize>,
    /// What else a list says.
    more: Vec<String>,
    /// What the archive says.
    entry: Option<Entry>,
}

impl FileTable {
    /// No files yet.
    #[must_use]
    pub fn new(options: FileOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// How many files there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.items.len() as u64
    }

    /// True when there are no files.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// What patterns match and cannot be a sample: links that lead nowhere, pipes.
    #[must_use]
    pub fn left_out(&self) -> &[Loss] {
        &self.left_out
    }

    /// The paths of all files that are no part of an archive.
    pub fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.items.iter().filter_map(|item| match self.roots.get(item.root) {
            Some(Root::Folder(_)) => Some(PathBuf::from(self.shown(item))),
            _ => None,
        })
    }

    /// Looks for files in a folder. Links are followed, but for one that leads back to a folder it lies in.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) of looking, [`Unsupported`](ErrorKind::Unsupported) for a name that is not UTF-8,
    /// [`Usage`](ErrorKind::Usage) for patterns that are none, [`Invalid`](ErrorKind::Invalid) for what is wrong with a list.
    pub fn push_folder(&mut self, path: impl Into<PathBuf>) -> Result<()> {
        let path: PathBuf = path.into();
        let shown = path.display().to_string();
        let Some(text) = path.to_str() else {
            return Err(Error::unsupported("the name is not UTF-8, which paths in samples are").in_file(shown));
        };
        let text = text.trim_end_matches('/');
        self.roots.push(Root::Folder(format!("{text}/")));
        if self.options.list.is_some() {
            return self.take_list(None);
        }
        for pattern in self.patterns()? {
            folder::walk(&path, &pattern, &mut Collect { table: self, pattern: &pattern })?;
        }
        Ok(())
    }

    /// Reads the directory of a ZIP archive; errors call it by this name.
    ///
    /// # Errors
    /// As [`push_folder`](Self::push_folder), and [`Invalid`](ErrorKind::Invalid) for what is wrong with the archive.
    pub fn push_archive(&mut self, name: impl Into<String>, source: &Source) -> Result<()> {
        let mut files = Vec::new();
        let mut links = Vec::new();
        let visit = |path: &str, entry: Entry| {
            files.push((path.to_owned(), entry));
            Ok(())
        };
        let archive = Archive::open(name.into(), source, visit, |path| links.push(path.to_owned()))?;
        self.roots.push(Root::Archive(archive));
        if self.options.list.is_some() {
            return self.take_list(Some(&files));
        }
        for pattern in self.patterns()? {
            for (path, entry) in &files {
                if pattern.find(path).is_some() {
                    self.add(path, &pattern, Some(entry.clone()));
                }
            }
            for path in links.iter().filter(|path| pattern.find(path).is_some()) {
                if self.is_included(path) {
                    self.left_out.push(left_out("link in the archive left out", path));
                }
            }
        }
        Ok(())
    }

    fn patterns(&self) -> Result<Vec<Pattern>> {
        match self.options.patterns.as_slice() {
            [] => Ok(vec![Pattern::new("{LABEL}/**")?]),
            patterns => patterns.iter().map(|pattern| Pattern::new(pattern)).collect(),
        }
    }

    fn add(&mut self, path: &str, pattern: &Pattern, entry: Option<Entry>) {
        if !self.is_included(path) {
            return;
        }
        let label = pattern.label_of(path).map(|label| self.came.add(label));
        let key = path.len() - pattern.key_of(path).len();
        let root = self.roots.len() - 1;
        self.items.push(Item { root, path: path.to_owned(), key, label, more: Vec::new(), entry });
    }

    /// Whether a path is wanted, by itself or with its folder's name in front.
    fn is_included(&self, path: &str) -> bool {
        let full = match self.roots.last() {
            Some(Root::Folder(folder)) => join(folder, path),
            _ => path.to_owned(),
        };
        let any = |names: &[String]| {
            names.iter().map(|name| Name::new(name)).any(|name| name.matches(path) || name.matches(&full))
        };
        (self.options.include.is_empty() || any(&self.options.include)) && !any(&self.options.exclude)
    }

    /// Takes the files of the list; `files` are those of the archive.
    fn take_list(&mut self, files: Option<&[(String, Entry)]>) -> Result<()> {
        let Some((name, text)) = self.options.list.clone() else { return Ok(()) };
        let separator = if self.options.separator.is_empty() { "\t" } else { &self.options.separator }.to_owned();
        let files: Option<std::collections::HashMap<&str, &Entry>> =
            files.map(|files| files.iter().map(|(path, entry)| (path.as_str(), entry)).collect());
        let root = self.roots.len() - 1;
        let mut first: Option<bool> = None;
        for (line, text) in text.lines().enumerate().filter(|(_, text)| !text.is_empty()) {
            let place = |error: Error| error.in_line(line as u64 + 1).in_file(name.clone());
            let mut parts = text.split(separator.as_str());
            let path = parts.next().unwrap_or_default();
            if path.is_empty() {
                return Err(place(Error::invalid("the line has no path")));
            }
            let label = parts.next();
            if *first.get_or_insert(label.is_some()) != label.is_some() {
                let has = if label.is_some() { "has a label" } else { "has no label" };
                return Err(place(Error::invalid(format!("the line {has}, unlike the lines before"))));
            }
            if !self.is_included(path) {
                continue;
            }
            let entry = match &files {
                None => None,
                Some(files) => match files.get(path) {
                    Some(entry) => Some((*entry).clone()),
                    None => return Err(place(Error::invalid(format!("the archive has no file {path:?}")))),
                },
            };
            let label = label.map(|label| self.came.add(label));
            let more = parts.map(str::to_owned).collect();
            self.items.push(Item { root, path: path.to_owned(), key: 0, label, more, entry });
        }
        Ok(())
    }

    /// The numbers of labels.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) when there are labels that the list does not have, naming a file that has such a one.
    fn labels(&self) -> Result<Labels> {
        let Some((name, list)) = &self.options.labels else { return Ok(self.came.sorted()) };
        let labels = Labels::of(list).map_err(|error| error.in_file(name.clone()))?;
        for item in &self.items {
            let Some(label) = item.label.map(|label| self.came.name(label)) else { continue };
            if labels.get(label).is_none() {
                let detail = format!("the label {label:?} is none of the {} in {name}", labels.names().len());
                return Err(self.place(Error::invalid(detail), item));
            }
        }
        Ok(labels)
    }

    /// The labels by their numbers.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) when there are labels that [`FileOptions::labels`] does not have, naming a file that has such a one.
    pub fn label_names(&self) -> Result<Vec<String>> {
        Ok(self.labels()?.names().to_vec())
    }

    /// Writes a sample for each file of a range, in order; the next ones are read meanwhile, by `threads` threads (0 for as many as the machine
    /// has; feature `parallel`). That takes some 100 MB, and a few times the largest file. Returns how many there are.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) of a file that cannot be read, or is gone; what is wrong with an archive;
    /// [`Limit`](ErrorKind::Limit) for a file above [`Limits::block_bytes`]; two files of the same key; and those of the writer. All name
    /// the file.
    pub fn write_to(
        &self,
        writer: &mut Writer,
        rows: Range<u64>,
        threads: usize,
        progress: Option<&dyn Progress>,
    ) -> Result<u64> {
        let labels = self.labels()?;
        let from = |row: u64| usize::try_from(row).unwrap_or(usize::MAX).min(self.items.len());
        let rows = from(rows.start)..from(rows.end);
        if let Some(progress) = progress {
            progress.begin(Unit::Rows, Some(rows.len() as u64));
        }
        let item =
            |index: usize| self.items.get(index).ok_or_else(|| Error::usage(format!("there is no file {index}")));
        let size = |index: usize| item(index).map_or(0, |item| self.size(item));
        let load = |index: usize| self.message(item(index)?, &labels);
        let count = rows.len() as u64;
        let mut written = 0_usize;
        let first = rows.start;
        ahead::each(rows, threads, size, load, |index, message| {
            let item = item(index)?;
            writer.append_message(&message).map_err(|error| match error.kind() {
                ErrorKind::Io => error,
                _ => self.refused(error, item, first..first + written),
            })?;
            written += 1;
            if let Some(progress) = progress {
                progress.advance(1);
            }
            Ok(())
        })?;
        Ok(count)
    }

    /// What the writer says of a file, and which other has its key.
    #[cold]
    fn refused(&self, error: Error, item: &Item, before: Range<usize>) -> Error {
        let twin = self.items.get(before).unwrap_or_default().iter().find(|other| key_of(other) == key_of(item));
        match twin {
            Some(twin) => {
                let error = Error::invalid(format!("the key is that of {} already", self.shown(twin)));
                self.place(error.in_key(key_of(item).to_owned()), item)
            }
            None => self.place(of_input(error), item),
        }
    }

    /// Says of an error which file it is about.
    #[cold]
    fn place(&self, error: Error, item: &Item) -> Error {
        match self.roots.get(item.root) {
            Some(Root::Archive(archive)) => error.in_file(archive.name().to_owned()).in_key(item.path.clone()),
            _ => error.in_file(self.shown(item)),
        }
    }

    /// About how large a file is.
    fn size(&self, item: &Item) -> u64 {
        match &item.entry {
            Some(entry) => entry.size,
            None => std::fs::metadata(self.shown(item)).map_or(0, |metadata| metadata.len()),
        }
    }

    /// A file's path, as samples have it.
    fn shown(&self, item: &Item) -> String {
        match self.roots.get(item.root) {
            Some(Root::Folder(folder)) => join(folder, &item.path),
            _ => item.path.clone(),
        }
    }

    fn content(&self, item: &Item) -> Result<Vec<u8>> {
        let limits = Limits::default();
        if let (Some(Root::Archive(archive)), Some(entry)) = (self.roots.get(item.root), &item.entry) {
            return archive.content(&item.path, entry, &limits);
        }
        let path = self.shown(item);
        let read = |path: &str| -> Result<Vec<u8>> {
            let cannot = |cause| Error::io("cannot read the file", cause);
            let file = File::open(path).map_err(cannot)?;
            let metadata = file.metadata().map_err(cannot)?;
            if !metadata.is_file() {
                return Err(Error::unsupported("it is no file"));
            }
            let size = metadata.len();
            limits.check_block("the length of the file", size)?;
            let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0).saturating_add(1));
            // It may grow meanwhile.
            file.take(limits.block_bytes.saturating_add(1)).read_to_end(&mut content).map_err(cannot)?;
            limits.check_block("the length of the file", content.len() as u64)?;
            Ok(content)
        };
        read(&path).map_err(|error| error.in_file(path))
    }

    fn message(&self, item: &Item, labels: &Labels) -> Result<Vec<u8>> {
        let content = self.content(item)?;
        let label = item.label.map(|label| self.came.name(label));
        let number = label.and_then(|label| labels.get(label));
        let sample = Sample {
            key: key_of(item),
            path: &self.shown(item),
            label,
            number: number.filter(|_| !self.options.text_labels),
            more: &item.more,
            content: &content,
            field: self.options.field.as_deref(),
        };
        to_vec(&sample).map_err(|error| self.place(error, item))
    }
}

fn key_of(item: &Item) -> &str {
    item.path.get(item.key..).unwrap_or_default()
}

/// A path below a folder; one that is absolute stays what it is.
fn join(folder: &str, path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("{folder}{path}") }
}

fn left_out(what: &'static str, path: &str) -> Loss {
    let mut first = Position::default();
    first.file = Some(path.to_owned().into());
    Loss::new(what, 1, first)
}

/// Takes what the walk over a folder finds.
struct Collect<'a> {
    table: &'a mut FileTable,
    pattern: &'a Pattern,
}

impl folder::Found for Collect<'_> {
    fn file(&mut self, path: &str) -> Result<()> {
        self.table.add(path, self.pattern, None);
        Ok(())
    }

    fn other(&mut self, path: &str, why: &'static str) {
        if self.table.is_included(path) {
            let full = match self.table.roots.last() {
                Some(Root::Folder(folder)) => join(folder, path),
                _ => path.to_owned(),
            };
            self.table.left_out.push(left_out(why, &full));
        }
    }
}
