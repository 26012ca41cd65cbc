//! What `container-core` asks of a container.

pub(crate) mod columns;
mod rows;

use std::path::Path;
use std::sync::OnceLock;

use container_core::{
    ColumnInfo, Container, Error, ErrorKind, Finding, Format, Input, OpenOptions, Probe, Recognition, Result, Rows,
    Scan, Source, Table, VerifyOptions,
};
use serde_json::{Map, Value};

use crate::FORMAT_NAME;
use crate::read::{Reader, set_of};
use crate::wire::{FileSet, Part, Token, Tokens};
use columns::{Field, Fields};

/// datadings, for tools that open anything.
///
/// A file is one by its content when it begins with a map of msgpack that has a text `key`, or when an index stands beside it; a file
/// beside the data (`d.msgpack.keys`, say) leads to the data. Data without an index are walked over when they are opened.
pub const FORMAT: &dyn Format = &Datadings;

/// Bytes of data that are surveyed as a whole when columns are asked for.
const SMALL: u64 = 64 << 20;

/// Samples that are looked at where the data are more than that.
const LOOKED_AT: u64 = 4096;

/// Bytes of a data file in which its first key is looked for.
const HEAD: u64 = 1 << 20;

struct Datadings;

impl Format for Datadings {
    fn name(&self) -> &'static str {
        FORMAT_NAME
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["msgpack"]
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        if probe.directory {
            return Recognition::No;
        }
        let whole = || probe.source.and_then(|source| source.read(0..source.len().min(HEAD)).ok());
        if is_sample(probe.head) == Some(true)
            || is_sample(probe.head).is_none() && whole().is_some_and(|bytes| is_sample(&bytes) == Some(true))
            || probe.path.is_some_and(|path| is_of_set(path, probe.head))
        {
            Recognition::Content
        } else if probe.has_extension(self.extensions()) {
            Recognition::Name
        } else {
            Recognition::No
        }
    }

    fn open(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
        let reader = match input {
            Input::File { path, source } => {
                let set = set_of(path);
                let data = match set.data() == path {
                    true => source.clone(),
                    false => Source::open_with(set.data(), options.access)?,
                };
                match has_index(&set) {
                    true => Reader::with_set(set, data, *options)?,
                    false => Reader::walk_set(set, data, *options)?,
                }
            }
            Input::Stream(source) => Reader::walk(source.clone(), *options)?,
            _ => return Err(Error::usage("a directory is no dataset").in_format(FORMAT_NAME)),
        };
        Ok(Box::new(DatadingsContainer::new(reader)))
    }

    /// The column `key` has the keys; without one they are the numbers of the rows.
    #[cfg(feature = "arrow")]
    fn batch_writer(
        &self,
        path: &Path,
        schema: arrow_schema::SchemaRef,
        options: container_core::OutputOptions,
    ) -> Result<Box<dyn container_arrow::BatchWriter>> {
        use crate::arrow::{ArrowWriter, Keys, WriterOptions};

        let has_keys = schema.fields().iter().any(|field| field.name() == "key");
        let keys = if has_keys { Keys::Key } else { Keys::Number };
        let own = WriterOptions::default().with_keys(keys);
        let own = own.with_dataset(crate::WriterOptions::default().with_output(options));
        Ok(Box::new(ArrowWriter::create(path, schema, own)?))
    }
}

fn has_index(set: &FileSet) -> bool {
    [Part::Offsets, Part::LegacyIndex].into_iter().any(|part| set.path(part).is_file())
}

/// Whether bytes begin with a map that has a text `key`; nothing where they end before that is known.
fn is_sample(bytes: &[u8]) -> Option<bool> {
    let mut tokens = Tokens::at(bytes, 0);
    match tokens.peek() {
        Some(0x81..=0x8f | 0xde | 0xdf) => {}
        _ => return Some(false),
    }
    let Ok(Token::Map(count)) = tokens.next() else { return Some(false) };
    for field in 0..count {
        let mut value = tokens;
        match value.next() {
            Ok(Token::Str(b"key")) => return value.peek().map(|marker| matches!(marker, 0xa0..=0xbf | 0xd9..=0xdb)),
            Ok(Token::Str(_)) => {}
            // The first name of a sample is a text, whatever comes later.
            Ok(_) if field == 0 => return Some(false),
            Ok(_) | Err(_) => {}
        }
        for _ in 0..2 {
            if let Err(error) = tokens.skip() {
                return match error.kind() {
                    ErrorKind::Truncated { .. } => None,
                    _ => Some(false),
                };
            }
        }
    }
    Some(false)
}

/// Whether an index stands beside a file, or the file beside data that have one.
fn is_of_set(path: &Path, head: &[u8]) -> bool {
    let set = set_of(path);
    if !has_index(&set) {
        return false;
    }
    let begins = |head: &[u8]| head.is_empty() || is_sample(head) != Some(false) || set.path(Part::Offsets).is_file();
    if set.data() == path {
        return begins(head);
    }
    let data = Source::open_with(set.data(), container_core::Access::Positional);
    data.is_ok_and(|data| data.read(0..data.len().min(4096)).is_ok_and(|head| begins(&head)))
}

impl Reader {
    /// Walks over data that have no index; other files may stand beside them.
    fn walk_set(set: FileSet, data: Source, options: OpenOptions) -> Result<Self> {
        let name = set.data().display().to_string();
        let mut reader = Self::walk(data, options).map_err(|error| error.in_file(name))?;
        reader.set = Some(set);
        Ok(reader)
    }
}

/// A [`Reader`] as a [`Container`] with one table, `samples`.
pub struct DatadingsContainer {
    reader: Reader,
    /// What some samples have, and what all have.
    some: OnceLock<Vec<Field>>,
    all: OnceLock<Vec<Field>>,
    some_columns: OnceLock<Vec<ColumnInfo>>,
    all_columns: OnceLock<Vec<ColumnInfo>>,
}

impl DatadingsContainer {
    /// The container of a reader.
    #[must_use]
    pub fn new(reader: Reader) -> Self {
        let (some, all, some_columns, all_columns) = Default::default();
        Self { reader, some, all, some_columns, all_columns }
    }

    /// The reader.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The fields that are known.
    pub(crate) fn fields(&self) -> &[Field] {
        if let Some(all) = self.all.get() {
            return all;
        }
        self.some.get_or_init(|| {
            let reader = &self.reader;
            let every = reader.data_end <= SMALL || reader.len <= LOOKED_AT;
            let step = if every { 1 } else { reader.len / LOOKED_AT };
            let mut fields = Fields::new(reader.options.limits.columns);
            // What is wrong with a sample is told where samples are read.
            let _ = fields.take_all(reader, step, &mut |_| Ok(()));
            fields.finish()
        })
    }
}

impl Container for DatadingsContainer {
    fn format(&self) -> &'static str {
        FORMAT_NAME
    }

    /// The format states none: this tells which index there is.
    fn version(&self) -> String {
        match (&self.reader.set, self.reader.legacy) {
            (_, true) => "with a legacy index".to_owned(),
            (Some(set), _) if has_index(set) => "with offsets".to_owned(),
            _ => "without index".to_owned(),
        }
    }

    fn details(&self) -> Map<String, Value> {
        let reader = &self.reader;
        let mut details = Map::new();
        details.insert("bytes".to_owned(), reader.data.len().into());
        if let Some(set) = &reader.set {
            let size = |part: &Part| std::fs::metadata(set.path(*part)).ok().map(|metadata| metadata.len());
            let there = Part::BESIDE.into_iter().filter_map(|part| Some((part, size(&part)?)));
            let files: Map<String, Value> =
                there.map(|(part, bytes)| (part.suffix().trim_start_matches('.').to_owned(), bytes.into())).collect();
            details.insert("files".to_owned(), files.into());
            let missing: Vec<Value> =
                reader.missing_parts().iter().map(|part| part.suffix().trim_start_matches('.').into()).collect();
            if !missing.is_empty() {
                details.insert("missing".to_owned(), missing.into());
            }
        }
        details.insert("legacy".to_owned(), reader.legacy.into());
        if reader.trailing_bytes() > 0 {
            details.insert("trailing_bytes".to_owned(), reader.trailing_bytes().into());
        }
        if let Ok(Some(source)) = reader.part(Part::KeyHashes)
            && let Ok(salt) = source.read(0..8)
        {
            details.insert("salt".to_owned(), salt.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into());
        }
        if let Ok(Some(filter)) = reader.key_filter() {
            let shape = filter.shape();
            let mut of = Map::new();
            of.insert("elements".to_owned(), shape.elements().into());
            of.insert("probability".to_owned(), shape.probability().into());
            details.insert("filter".to_owned(), of.into());
        }
        details
    }

    fn tables(&self) -> Vec<&dyn Table> {
        vec![self]
    }

    fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        self.reader.verify(options, report)
    }
}

impl Table for DatadingsContainer {
    fn name(&self) -> &'static str {
        "samples"
    }

    /// The fields that samples have, in the order of their first appearance: of all samples where the data are up to 64 MiB, else of
    /// 4096 that are spread evenly, until [`survey`](Table::survey) has looked at them all.
    fn columns(&self) -> &[ColumnInfo] {
        let (fields, columns) = match self.all.get() {
            Some(all) => (all.as_slice(), &self.all_columns),
            None => (self.fields(), &self.some_columns),
        };
        columns.get_or_init(|| fields.iter().map(Field::info).collect())
    }

    fn survey(&self) -> Result<()> {
        if self.all.get().is_some() {
            return Ok(());
        }
        let mut fields = Fields::new(self.reader.options.limits.columns);
        // Those that are known keep their places.
        fields.keep(self.fields());
        fields.take_all(&self.reader, 1, &mut Err)?;
        let _ = self.all.set(fields.finish()); // somebody else may have been faster, with the same
        Ok(())
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        self.fields().get(index).map(Field::summary).unwrap_or_default()
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        match index < self.fields().len() {
            true => Ok(Map::new()),
            false => Err(Error::usage(format!("there is no column {index}")).in_format(FORMAT_NAME)),
        }
    }

    fn len(&self) -> Option<u64> {
        Some(self.reader.len)
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        let samples = self.reader.samples(scan.rows.clone())?;
        let chosen = match &scan.columns {
            None => None,
            Some(columns) => {
                let fields = self.fields();
                let field = |&index: &usize| {
                    let missing = || Error::usage(format!("there is no column {index}")).in_format(FORMAT_NAME);
                    fields.get(index).ok_or_else(missing)
                };
                Some(columns.iter().map(field).collect::<Result<Vec<_>>>()?)
            }
        };
        Ok(Box::new(rows::SampleRows::new(samples, chosen, self.reader.options.limits)))
    }

    fn find(&self, key: &str) -> Result<Option<u64>> {
        self.reader.find(key)
    }

    #[cfg(feature = "arrow")]
    fn arrow(&self) -> Option<&dyn container_arrow::ArrowTable> {
        Some(self)
    }
}

impl std::fmt::Debug for DatadingsContainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatadingsContainer").field("reader", &self.reader).finish_non_exhaustive()
    }
}
