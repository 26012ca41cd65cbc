//! Describes a store: groups, dimensions, attributes and arrays.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Error, ErrorKind, Limits, OpenOptions, Result, Source};

use super::FORMAT_NAME;
use super::metadata::{ArrayMetadata, Node};
use super::read::{Arrays, ZarrArray};
use super::store::{Folder, METADATA};
use super::version2;
use crate::netcdf::{Attribute, Described, Dimension, Location, NcType, Variable, loss};

/// Maximum nesting of groups.
const MAX_DEPTH: usize = 64;

/// Describes the store in a folder.
pub(super) fn describe(root: &Path, options: OpenOptions) -> Result<(Described, Arrays)> {
    let store = Arc::new(Folder::new(root, options.access, options.limits.block_bytes));
    let mut description = Description {
        root,
        options,
        store,
        described: Described::default(),
        arrays: Arrays::new(root, options.limits),
        nodes: 0,
        is_version2: false,
        around: Vec::new(),
    };
    match description.node("")? {
        None => return Err(Error::invalid(format!("expected {METADATA}, found none")).in_format(FORMAT_NAME)),
        Some(Node::Array(attributes, metadata)) => {
            let stem = root.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            let name = if stem.is_empty() { "data".to_owned() } else { stem };
            description.array(&name, "", attributes, metadata, &mut [Scope::new()]);
        }
        Some(Node::Group(attributes, order)) => {
            description.described.attributes = attributes;
            description.group("", &order, &mut vec![Scope::new()])?;
        }
    }
    let Description { described, mut arrays, is_version2, .. } = description;
    arrays.version = if is_version2 { 2 } else { 3 };
    Ok((described, arrays))
}

/// The dimensions of a group by name: index and size.
type Scope = HashMap<String, (usize, u64)>;

struct Description<'p> {
    root: &'p Path,
    options: OpenOptions,
    store: Arc<Folder>,
    described: Described,
    arrays: Arrays,
    nodes: u64,
    is_version2: bool,
    /// The group that is described and those around it, without links.
    around: Vec<PathBuf>,
}

impl Description<'_> {
    fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// The node at a path in the store, if it exists.
    fn node(&mut self, path: &str) -> Result<Option<Node>> {
        self.nodes += 1;
        self.limits().check_columns("number of groups and arrays", self.nodes)?;
        let text = |file: &str| self.text(path, file);
        if let Some(text) = text(METADATA)? {
            let node = Node::parse(&text, self.limits());
            return node.map(Some).map_err(|error| self.in_metadata(error, path, METADATA));
        }
        let (array, group) = (text(version2::ARRAY)?, text(version2::GROUP)?);
        if array.is_none() && group.is_none() {
            return Ok(None);
        }
        let attributes = text(version2::ATTRIBUTES)?;
        self.is_version2 |= path.is_empty();
        let node = version2::node(array.as_deref(), attributes.as_deref(), self.limits());
        node.map(Some).map_err(|(file, error)| self.in_metadata(error, path, file))
    }

    fn in_metadata(&self, error: Error, path: &str, file: &str) -> Error {
        let place = if path.is_empty() { file.to_owned() } else { format!("{path}/{file}") };
        let position = error.position().clone();
        Error::new(error.kind(), format!("{place}: {}", error.detail())).with_position(position).in_format(FORMAT_NAME)
    }

    /// The text of a file of a node, if the file exists.
    fn text(&self, path: &str, file: &str) -> Result<Option<String>> {
        let named = |error: Error| self.in_metadata(error, path, file);
        let source = match Source::open_with(self.root.join(path).join(file), self.options.access) {
            Ok(source) => source,
            Err(error) => match std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<io::Error>()) {
                Some(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                    return Ok(None);
                }
                _ => return Err(named(error)),
            },
        };
        self.limits().check_metadata("bytes of metadata", source.len()).map_err(named)?;
        let bytes = source.read(0..source.len()).map_err(named)?;
        match String::from_utf8(bytes.to_vec()) {
            Ok(text) => Ok(Some(text)),
            Err(error) => {
                Err(named(Error::invalid("the text is not UTF-8").at(error.utf8_error().valid_up_to() as u64)))
            }
        }
    }

    /// Describes what is in a group. `scopes` has the dimensions of the groups around it, and its own last.
    fn group(&mut self, path: &str, order: &[String], scopes: &mut Vec<Scope>) -> Result<()> {
        if scopes.len() > MAX_DEPTH {
            let error = Error::limit("nesting of groups", scopes.len() as u64, MAX_DEPTH as u64);
            return Err(error.in_format(FORMAT_NAME).in_column(path.to_owned()));
        }
        let failed = |cause| Error::io(format!("cannot open the group {path:?}"), cause).in_format(FORMAT_NAME);
        self.around.push(self.root.join(path).canonicalize().map_err(failed)?);
        let mut groups = Vec::new();
        for name in self.names(path, order)? {
            let inner = if path.is_empty() { name } else { format!("{path}/{name}") };
            match self.node(&inner) {
                Ok(None) => {}
                Ok(Some(Node::Array(attributes, metadata))) => {
                    self.array(&inner, &inner, attributes, metadata, scopes);
                }
                Ok(Some(Node::Group(attributes, _))) => {
                    let named = attributes.into_iter().map(|attribute| Attribute {
                        name: format!("{inner}/{}", attribute.name),
                        value: attribute.value,
                    });
                    self.described.attributes.extend(named);
                    groups.push(inner);
                }
                Err(error) if error.kind() == ErrorKind::Io => return Err(error),
                // It may be an array: what it contains is not known.
                Err(error) => self.described.variables.push(broken(&inner, Vec::new(), &error)),
            }
        }
        for group in groups {
            scopes.push(Scope::new());
            let prefix = format!("{group}/");
            let order: Vec<String> =
                order.iter().filter_map(|name| name.strip_prefix(&prefix)).map(str::to_owned).collect();
            self.group(&group, &order, scopes)?;
            scopes.pop();
        }
        self.around.pop();
        Ok(())
    }

    /// The names of the folders in a group: those of `order` first, the others sorted.
    fn names(&mut self, path: &str, order: &[String]) -> Result<Vec<String>> {
        let failed = |cause| Error::io(format!("cannot list the group {path:?}"), cause).in_format(FORMAT_NAME);
        let positions: HashMap<&str, usize> =
            order.iter().enumerate().map(|(position, name)| (name.as_str(), position)).collect();
        let mut names = Vec::new();
        for entry in fs::read_dir(self.root.join(path)).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if !entry.path().is_dir() {
                continue;
            }
            self.limits().check_columns("number of folders in a group", names.len() as u64)?;
            let is_link = entry.file_type().map_err(failed)?.is_symlink();
            let target = if is_link { Some(entry.path().canonicalize().map_err(failed)?) } else { None };
            let is_around = target.is_some_and(|target| self.around.iter().any(|group| group.starts_with(&target)));
            match entry.file_name().into_string() {
                Ok(name) if is_around => {
                    let inner = if path.is_empty() { name } else { format!("{path}/{name}") };
                    let what = format!("folder {inner:?} left out: it links to a folder around it");
                    self.described.losses.push(loss(what));
                }
                Ok(name) => names.push(name),
                Err(name) => {
                    let what = format!("folder {:?} left out: its name is not UTF-8", name.to_string_lossy());
                    self.described.losses.push(loss(what));
                }
            }
        }
        let position = |name: &String| positions.get(name.as_str()).copied().unwrap_or(usize::MAX);
        names.sort_by(|a, b| position(a).cmp(&position(b)).then_with(|| a.cmp(b)));
        Ok(names)
    }

    /// Adds an array.
    fn array(
        &mut self,
        name: &str,
        path: &str,
        attributes: Vec<Attribute>,
        metadata: Result<Box<ArrayMetadata>>,
        scopes: &mut [Scope],
    ) {
        let opened = metadata.and_then(|metadata| ZarrArray::new(self.store.clone(), path, *metadata));
        let array = match opened {
            Ok(array) => array,
            Err(error) => return self.described.variables.push(broken(name, attributes, &error)),
        };
        let metadata = &array.metadata;
        let dimensions = metadata.dimension_names.iter().zip(&metadata.shape).enumerate();
        let dimensions: Vec<usize> = dimensions
            .map(|(position, (dimension, size))| {
                let dimension = dimension.clone().unwrap_or_else(|| generated(name, position, metadata.shape.len()));
                dimension_index(&mut self.described, scopes, name, &dimension, *size)
            })
            .collect();
        self.described.variables.push(Variable {
            name: name.to_owned(),
            dimensions,
            shape: metadata.shape.clone(),
            nc_type: metadata.stored.nc_type(),
            attributes,
            chunks: Some(array.unit().to_vec()),
            big_endian: false,
            problem: None,
            no_fill: true,
            location: Location::Zarr(self.arrays.all.len()),
        });
        self.arrays.all.push(array);
    }
}

/// A variable that cannot be read.
fn broken(name: &str, attributes: Vec<Attribute>, error: &Error) -> Variable {
    // Without place, which the variable has, but with amount and limit.
    let words = Error::new(error.kind(), error.detail().to_owned()).to_string();
    let is_unsupported = error.kind() == ErrorKind::Unsupported;
    Variable {
        name: name.to_owned(),
        dimensions: Vec::new(),
        shape: Vec::new(),
        nc_type: NcType::Other(words.clone()),
        attributes,
        chunks: None,
        big_endian: false,
        problem: Some(words).filter(|_| !is_unsupported),
        no_fill: true,
        location: Location::Zarr(usize::MAX),
    }
}

/// The name of a dimension without one, as ds has it: `x` for the only one of the array `x`, else `x_1`, `x_2`.
fn generated(array: &str, position: usize, rank: usize) -> String {
    let leaf = array.rsplit('/').next().unwrap_or(array);
    if rank == 1 { leaf.to_owned() } else { format!("{leaf}_{}", position + 1) }
}

/// The dimension of this name and size that the groups around an array have, or a new one of its own group.
fn dimension_index(described: &mut Described, scopes: &mut [Scope], array: &str, name: &str, size: u64) -> usize {
    let known = scopes.iter().rev().find_map(|scope| scope.get(name).filter(|(_, known)| *known == size));
    if let Some((index, _)) = known {
        return *index;
    }
    let prefix = array.rsplit_once('/').map(|(group, _)| format!("{group}/")).unwrap_or_default();
    let Some(own) = scopes.last_mut() else { return 0 };
    let mut full = format!("{prefix}{name}");
    let mut key = name.to_owned();
    if let Some((_, other)) = own.get(name) {
        // Arrays of Zarr share names of dimensions, not dimensions.
        full = format!("{array}/{name}");
        key = format!("{array}/{name}/{size}");
        if let Some((index, _)) = own.get(&key) {
            return *index;
        }
        let what = format!(
            "dimension {name:?} of array {array:?} renamed to {full:?}: its size is {size}, that of others {other}"
        );
        described.losses.push(loss(what));
    }
    let index = described.dimensions.len();
    own.insert(key, (index, size));
    described.dimensions.push(Dimension { name: full, size, unlimited: false });
    index
}

/// Bytes of the files of a store, counted until they are `enough`.
pub(super) fn stored_bytes(root: &Path, enough: u64) -> u64 {
    let (mut folders, mut bytes) = (vec![root.to_owned()], 0u64);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() && folders.len() < 1 << 20 => folders.push(entry.path()),
                Ok(metadata) => bytes = bytes.saturating_add(metadata.len()),
                Err(_) => {}
            }
            if bytes >= enough {
                return bytes;
            }
        }
    }
    bytes
}
