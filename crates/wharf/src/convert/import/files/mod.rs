//! Imports the files of a folder or a ZIP archive as datadings samples: content, path and label.

mod archive;
mod container;
mod content;
mod directory;
mod folder;
mod glob;
mod labels;
mod read_ahead;
mod sample;

use std::ops::Range;
use std::path::{Path, PathBuf};

use container_core::{Error, ErrorKind, Limits, Loss, Position, Progress, Result, Source, Unit};
use datadings::Writer;
use datadings::ser::to_vec;

use self::glob::{NamePattern, Pattern};
use super::samples::as_input_error;
use archive::{Archive, Entry, Member};
pub(crate) use container::check_folder;
pub use container::{FOLDER, ZIP};
use content::Content;
use directory::{Directory, Target};
pub use folder::LinkOutside;
use labels::Labels;
use sample::Sample;

/// Files up to this many bytes are read ahead as a whole; larger ones are streamed.
const MAX_BUFFERED: u64 = 8 << 20;

/// Which files are imported, and how.
///
/// Patterns have the meaning of Python's `DirectoryReader`: `{LABEL}` is the folder whose name is the label; `*`, `?`, `[a-z]` and `[!a-z]`
/// match within a name; `**` matches any folders and, at the end, all files in them. Names with a leading dot match only patterns with a
/// leading dot. The same applies to archives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileOptions {
    /// Path patterns, relative to the folder or archive. Default: `{LABEL}/**`. Ignored if there is a list.
    pub patterns: Vec<String>,
    /// The name, for errors, and content of a file list. Each line has a path, an optional label, and additional values, separated.
    pub list: Option<(String, String)>,
    /// The separator of the list; empty for tab.
    pub separator: String,
    /// Import only files whose path matches one of these; all if empty. `*` also matches slashes.
    pub include: Vec<String>,
    /// Exclude files whose path matches one of these.
    pub exclude: Vec<String>,
    /// The name of the content field: samples are `{key, <field>, label}`, as in the image datasets of the Python package. Without it,
    /// samples are those of its `DirectoryReader`: `{key, label, path, _additional_info, _label, data}`.
    pub field: Option<String>,
    /// Allow links and listed paths that lead out of the folder. Otherwise they are an error with the source [`LinkOutside`].
    pub follow: bool,
    /// Write labels as text instead of numbers.
    pub text_labels: bool,
    /// The name, for errors, and content of a label list, one per line in the order of their numbers. Default: all labels, sorted naturally.
    pub labels: Option<(String, String)>,
}

/// The files to import, in order: of a folder sorted by path, of an archive in directory order, of a list in list order.
#[derive(Debug, Default)]
pub struct FileTable {
    options: FileOptions,
    /// [`FileOptions::include`] and [`FileOptions::exclude`], compiled.
    include: Vec<NamePattern>,
    exclude: Vec<NamePattern>,
    roots: Vec<Root>,
    items: Vec<Item>,
    /// All labels of items, in order of first appearance.
    labels_seen: Labels,
    left_out: Vec<Loss>,
    limits: Limits,
}

#[derive(Debug)]
enum Root {
    /// A folder, as the prefix of its paths.
    Folder(String),
    Archive(Archive),
}

/// A file.
#[derive(Debug)]
struct Item {
    root: usize,
    /// Relative to the root.
    path: String,
    /// Offset of the key in the path.
    key: usize,
    label: Option<usize>,
    /// Additional values of a list.
    more: Vec<String>,
    /// The archive's directory entry.
    entry: Option<Entry>,
}

impl FileTable {
    /// No files yet.
    #[must_use]
    pub fn new(options: FileOptions) -> Self {
        let compiled = |patterns: &[String]| patterns.iter().map(|pattern| NamePattern::new(pattern)).collect();
        let (include, exclude) = (compiled(&options.include), compiled(&options.exclude));
        Self { options, include, exclude, ..Self::default() }
    }

    /// The number of files.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.items.len() as u64
    }

    /// Whether there are no files.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Matches that are not imported: pipes, sockets, further links to the same folder.
    #[must_use]
    pub fn left_out(&self) -> &[Loss] {
        &self.left_out
    }

    /// The paths of all files outside archives.
    pub fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.items.iter().filter_map(|item| match self.roots.get(item.root) {
            Some(Root::Folder(_)) => Some(PathBuf::from(self.path_of(item))),
            _ => None,
        })
    }

    /// Adds the files of a folder.
    ///
    /// Each folder is visited once: by its own path, or, if that does not match, by the first link to it. Other links to it are
    /// [left out](Self::left_out). A link to a file counts as a file.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io); [`Unsupported`](ErrorKind::Unsupported) for a file name that is not UTF-8; [`Usage`](ErrorKind::Usage) for an
    /// invalid pattern; [`Invalid`](ErrorKind::Invalid) for an invalid list, a broken link, or, without [`FileOptions::follow`], a link out of
    /// the folder.
    pub fn push_folder(&mut self, path: impl Into<PathBuf>) -> Result<()> {
        let path: PathBuf = path.into();
        let shown = path.display().to_string();
        let Some(text) = path.to_str() else {
            return Err(
                Error::unsupported("the folder name is not valid UTF-8, as paths in samples must be").in_file(shown)
            );
        };
        let text = text.trim_end_matches('/');
        self.roots.push(Root::Folder(format!("{text}/")));
        if self.options.list.is_some() {
            return self.take_list(&path, None);
        }
        for pattern in self.patterns()? {
            let follow = self.options.follow;
            let mut collect = Collect { table: self, pattern: &pattern, others: None, duplicate_links: None };
            folder::visit_files(&path, &pattern, follow, &mut collect)?;
            let Collect { others, duplicate_links, .. } = collect;
            self.left_out.extend(others.into_iter().chain(duplicate_links));
        }
        Ok(())
    }

    /// Adds the files of a ZIP archive. Errors name it `name`.
    ///
    /// # Errors
    /// As [`push_folder`](Self::push_folder), and [`Invalid`](ErrorKind::Invalid) for a damaged archive.
    pub fn push_archive(&mut self, name: impl Into<String>, source: &Source) -> Result<()> {
        let (archive, members) = Archive::open(name.into(), source)?;
        let directory = Directory::new(members);
        self.roots.push(Root::Archive(archive));
        if self.options.list.is_some() {
            return self.take_list(Path::new(""), Some(&directory));
        }
        for pattern in self.patterns()? {
            self.take_members(&pattern, &directory)?;
        }
        Ok(())
    }

    fn take_members(&mut self, pattern: &Pattern, directory: &Directory) -> Result<()> {
        let mut duplicate_links = None;
        for (path, member) in directory.members() {
            let state = pattern.reach(path);
            let is_file = state.is_match() && self.is_included(path);
            let is_link = matches!(member, Member::Link(_));
            let may_be_folder = is_link && state.may_continue() && !self.is_excluded(path);
            if !(is_file || may_be_folder) {
                continue;
            }
            let target = match member {
                Member::File(entry) => Some(Target::File(entry.clone())),
                _ => self.resolve(directory, path)?,
            };
            match target {
                Some(Target::File(entry)) if is_file => self.add(path, pattern, Some(entry)),
                Some(Target::Folder) if is_link => {
                    count(&mut duplicate_links, "link to a folder in the archive left out", path)
                }
                _ => {}
            }
        }
        self.left_out.extend(duplicate_links);
        Ok(())
    }

    /// What a path in the archive leads to that was opened last.
    fn resolve(&self, directory: &Directory, path: &str) -> Result<Option<Target>> {
        match self.roots.last() {
            Some(Root::Archive(archive)) => directory.resolve(archive, path),
            _ => Ok(None),
        }
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
        let label = pattern.label_of(path).map(|label| self.labels_seen.add(label));
        let key = path.len() - pattern.key_of(path).len();
        let root = self.roots.len() - 1;
        self.items.push(Item { root, path: path.to_owned(), key, label, more: Vec::new(), entry });
    }

    /// Whether a file is included. Names are matched against the path with and without its folder.
    fn is_included(&self, path: &str) -> bool {
        (self.include.is_empty() || self.is_any(&self.include, path)) && !self.is_excluded(path)
    }

    fn is_excluded(&self, path: &str) -> bool {
        self.is_any(&self.exclude, path)
    }

    fn is_any(&self, patterns: &[NamePattern], path: &str) -> bool {
        if patterns.is_empty() {
            return false;
        }
        let full = self.qualified(path);
        patterns.iter().any(|pattern| pattern.matches(path) || pattern.matches(&full))
    }

    /// A path including the latest root.
    fn qualified(&self, path: &str) -> String {
        match self.roots.last() {
            Some(Root::Folder(folder)) => join(folder, path),
            _ => path.to_owned(),
        }
    }

    /// Adds the files of the list, from a folder, or from the archive with this directory.
    fn take_list(&mut self, folder: &Path, directory: Option<&Directory>) -> Result<()> {
        let Some((name, text)) = self.options.list.clone() else { return Ok(()) };
        let separator = if self.options.separator.is_empty() { "\t" } else { &self.options.separator }.to_owned();
        let inside = if directory.is_some() || self.options.follow { None } else { Some(folder::canonical(folder)?) };
        let root = self.roots.len() - 1;
        let mut first: Option<bool> = None;
        for (line, text) in text.lines().enumerate().filter(|(_, text)| !text.is_empty()) {
            let in_list = |error: Error| error.in_line(line as u64 + 1).in_file(name.clone());
            let mut parts = text.split(separator.as_str());
            let path = parts.next().unwrap_or_default();
            if path.is_empty() {
                return Err(in_list(Error::invalid("missing path")));
            }
            let label = parts.next();
            if *first.get_or_insert(label.is_some()) != label.is_some() {
                let has = if label.is_some() { "has a label" } else { "has no label" };
                return Err(in_list(Error::invalid(format!("the line {has}, unlike the lines before"))));
            }
            if !self.is_included(path) {
                continue;
            }
            if let Some(inside) = &inside {
                folder::check_inside(inside, Path::new(&self.qualified(path)))?;
            }
            let entry = match directory {
                None => None,
                Some(directory) => match self.resolve(directory, path)? {
                    Some(Target::File(entry)) => Some(entry),
                    _ => return Err(in_list(Error::invalid(format!("the archive has no file {path:?}")))),
                },
            };
            let label = label.map(|label| self.labels_seen.add(label));
            let more = parts.map(str::to_owned).collect();
            self.items.push(Item { root, path: path.to_owned(), key: 0, label, more, entry });
        }
        Ok(())
    }

    /// The labels with their numbers.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) for a label that is not in the list, naming a file that has it.
    fn labels(&self) -> Result<Labels> {
        let Some((name, list)) = &self.options.labels else { return Ok(self.labels_seen.sorted()) };
        let labels = Labels::of(list).map_err(|error| error.in_file(name.clone()))?;
        for item in &self.items {
            let Some(label) = item.label.map(|label| self.labels_seen.name(label)) else { continue };
            if labels.get(label).is_none() {
                let detail = format!("the label {label:?} is not among the {} in {name}", labels.names().len());
                return Err(self.with_file(Error::invalid(detail), item));
            }
        }
        Ok(labels)
    }

    /// The labels, by number.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) for a label that is not in [`FileOptions::labels`], naming a file that has it.
    pub fn label_names(&self) -> Result<Vec<String>> {
        Ok(self.labels()?.names().to_vec())
    }

    /// Writes a sample for each file of a range, in order, and returns their number. `threads` threads (0 for one per core; feature `parallel`)
    /// read ahead, which takes about 100 MB whatever the size of files.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) for a file that cannot be read; [`Invalid`](ErrorKind::Invalid) for a damaged archive or duplicate keys;
    /// [`Limit`](ErrorKind::Limit) for a file above [`Limits::block_bytes`]; errors of the writer. All name the file.
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
        let item = |index: usize| self.items.get(index).ok_or_else(|| Error::usage(format!("no file {index}")));
        let size = |index: usize| item(index).map_or(0, |item| self.size(item));
        let load = |index: usize| self.message(item(index)?, &labels);
        let count = rows.len() as u64;
        let mut written = 0_usize;
        let first = rows.start;
        read_ahead::load_in_order(rows, threads, size, load, |index, message| {
            let item = item(index)?;
            let appended = match message {
                Some(message) => writer.append_message(&message),
                None => self.stream(item, &labels, writer),
            };
            appended.map_err(|error| {
                // Errors of input and output files name them already.
                if error.kind() == ErrorKind::Io || error.position().file.is_some() {
                    return error;
                }
                self.append_error(error, item, first..first + written)
            })?;
            written += 1;
            if let Some(progress) = progress {
                progress.advance(1)?;
            }
            Ok(())
        })?;
        Ok(count)
    }

    /// An error of the writer for a file. For a duplicate key, names the other file.
    #[cold]
    fn append_error(&self, error: Error, item: &Item, before: Range<usize>) -> Error {
        let other = self.items.get(before).unwrap_or_default().iter().find(|other| key_of(other) == key_of(item));
        match other {
            Some(other) => {
                let error = Error::invalid(format!("duplicate key, also of {}", self.path_of(other)));
                self.with_file(error.in_key(key_of(item).to_owned()), item)
            }
            None => self.with_file(as_input_error(error), item),
        }
    }

    /// Adds the file to an error.
    #[cold]
    fn with_file(&self, error: Error, item: &Item) -> Error {
        match self.roots.get(item.root) {
            Some(Root::Archive(archive)) => error.in_file(archive.name().to_owned()).in_key(item.path.clone()),
            _ => error.in_file(self.path_of(item)),
        }
    }

    /// Approximate bytes to read ahead for a file.
    fn size(&self, item: &Item) -> u64 {
        let size = match &item.entry {
            Some(entry) => entry.size,
            None => std::fs::metadata(self.path_of(item)).map_or(0, |metadata| metadata.len()),
        };
        if size > MAX_BUFFERED { 0 } else { size }
    }

    /// A file's path in samples.
    fn path_of(&self, item: &Item) -> String {
        match self.roots.get(item.root) {
            Some(Root::Folder(folder)) => join(folder, &item.path),
            _ => item.path.clone(),
        }
    }

    /// The message of a file; `None` if it is too large to be buffered.
    fn message(&self, item: &Item, labels: &Labels) -> Result<Option<Vec<u8>>> {
        let mut source = self.content(item)?;
        let mut content = Vec::new();
        if source.len() <= MAX_BUFFERED {
            // The file may grow meanwhile.
            while let Some(bytes) = source.next()?.filter(|_| content.len() as u64 <= MAX_BUFFERED) {
                content.extend_from_slice(bytes);
            }
        }
        if source.len().max(content.len() as u64) > MAX_BUFFERED {
            return Ok(None);
        }
        to_vec(&self.sample(item, labels, &content)).map(Some).map_err(|error| self.with_file(error, item))
    }

    /// Streams a large file.
    fn stream(&self, item: &Item, labels: &Labels, writer: &mut Writer) -> Result<()> {
        let mut source = self.content(item)?;
        let (head, tail) =
            self.sample(item, labels, &[]).envelope(source.len()).map_err(|error| self.with_file(error, item))?;
        let len = (head.len() + tail.len()) as u64 + source.len();
        writer.append_stream(key_of(item), len, |put| {
            put(&head)?;
            while let Some(bytes) = source.next()? {
                put(bytes)?;
            }
            put(&tail)
        })
    }

    fn sample<'a>(&'a self, item: &'a Item, labels: &Labels, content: &'a [u8]) -> Sample<'a> {
        let label = item.label.map(|label| self.labels_seen.name(label));
        let number = label.and_then(|label| labels.get(label));
        Sample {
            key: key_of(item),
            path: self.path_of(item),
            label,
            number: number.filter(|_| !self.options.text_labels),
            more: &item.more,
            content,
            field: self.options.field.as_deref(),
        }
    }

    fn content<'a>(&'a self, item: &'a Item) -> Result<Content<'a>> {
        let limits = &self.limits;
        match (self.roots.get(item.root), &item.entry) {
            (Some(Root::Archive(archive)), Some(entry)) => {
                archive.content(&item.path, entry, limits).map(Content::Entry)
            }
            _ => Content::open_file(self.path_of(item), limits),
        }
    }
}

fn key_of(item: &Item) -> &str {
    item.path.get(item.key..).unwrap_or_default()
}

/// Joins a folder and a path; an absolute path is unchanged.
fn join(folder: &str, path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("{folder}{path}") }
}

/// Counts what is left out, naming the first.
fn count(loss: &mut Option<Loss>, what: &'static str, path: &str) {
    match loss {
        Some(loss) => loss.count += 1,
        None => {
            let mut first = Position::default();
            first.file = Some(path.to_owned().into());
            *loss = Some(Loss::new(what, 1, first));
        }
    }
}

/// Adds visited files to the table. Paths are relative to the folder, with `/` separators.
struct Collect<'a> {
    table: &'a mut FileTable,
    pattern: &'a Pattern,
    others: Option<Loss>,
    duplicate_links: Option<Loss>,
}

impl Collect<'_> {
    /// A file that matches.
    fn file(&mut self, path: &str) {
        self.table.add(path, self.pattern, None);
    }

    /// A match that is neither a file nor a folder.
    fn other(&mut self, path: &str) {
        if self.table.is_included(path) {
            count(&mut self.others, "neither a file nor a folder: left out", &self.table.qualified(path));
        }
    }

    /// A link to a folder whose files are found by another path.
    fn duplicate_link(&mut self, path: &str) {
        if !self.table.is_excluded(path) {
            count(
                &mut self.duplicate_links,
                "link to a folder that is imported already left out",
                &self.table.qualified(path),
            );
        }
    }
}
