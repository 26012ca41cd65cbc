//! Groups variables into tables.

use std::collections::HashMap;
use std::ops::Range;

use container_core::ColumnInfo;
use serde_json::{Map, Value};

use crate::read::{Reader, Variable};
use crate::wire::short;

/// Name of the table of variables without dimensions.
const SCALARS: &str = "scalars";

/// Maximum number of dimensions to show as nested lists.
const MAX_DIMENSIONS: usize = 128;

/// The variables of a table.
#[derive(Clone)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) rows: u64,
    /// Indices in the header.
    pub(super) variables: Vec<usize>,
    /// The variables of each column, as positions in `variables`: one, or the members of a struct.
    pub(super) members: Vec<Range<usize>>,
    pub(super) columns: Vec<ColumnInfo>,
}

impl Group {
    fn new(name: String, rows: u64) -> Self {
        Self { name, rows, variables: Vec::new(), members: Vec::new(), columns: Vec::new() }
    }

    fn add(&mut self, index: usize, variable: &Variable<'_>) {
        let mut info = describe(variable);
        let rows = variable.shape().map_or(1, |shape| shape.first().copied().unwrap_or(1));
        if info.unreadable.is_none() && rows != self.rows {
            let first = short(self.columns.first().map_or("", |column| &column.name));
            let name = short(&self.name);
            let detail = format!("dimension {name:?} has size {rows}, in {first:?} {}", self.rows);
            info.unreadable = Some(detail);
        }
        let position = self.variables.len();
        self.variables.push(index);
        let Some((name, path)) = variable.reader.member(index) else {
            self.members.push(position..position + 1);
            self.columns.push(info);
            return;
        };
        let member = format!("{}: {}", path.join("."), info.kind);
        match (self.columns.last_mut(), self.members.last_mut()) {
            (Some(column), Some(members)) if column.name == name && is_struct(column) => {
                members.end = position + 1;
                column.kind.truncate(column.kind.len() - 1);
                column.kind.push_str(&format!(", {member}>"));
                column.unreadable = column.unreadable.take().or(info.unreadable);
            }
            _ => {
                self.members.push(position..position + 1);
                let mut column = ColumnInfo::new(name, format!("{STRUCT}{member}>"));
                column.unreadable = info.unreadable;
                self.columns.push(column);
            }
        }
    }
}

/// Begins the type of a compound variable.
const STRUCT: &str = "struct<";

fn is_struct(column: &ColumnInfo) -> bool {
    column.kind.starts_with(STRUCT)
}

/// The tables of a file, in order of first use of their leading dimension; scalars last.
pub(super) fn groups(reader: &Reader) -> Vec<Group> {
    let mut all: Vec<Group> = Vec::new();
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    let mut scalars = Group::new(SCALARS.to_owned(), 1);
    let leading = |variable: &Variable<'_>| variable.shape().and_then(|shape| shape.first().copied());
    for variable in reader.variables().filter(|variable| variable.problem().is_none()) {
        if let (Some(rows), Some(name)) = (leading(&variable), variable.dimensions().first()) {
            by_name.entry(name).or_insert_with(|| {
                all.push(Group::new(name.clone(), rows));
                all.len() - 1
            });
        }
    }
    for (index, variable) in reader.variables().enumerate() {
        // An unreadable variable goes where it would belong, if that is known.
        let has_rows = variable.problem().is_some() || leading(&variable).is_some();
        let name = variable.dimensions().first().filter(|_| has_rows);
        match name.and_then(|name| by_name.get(name.as_str())).and_then(|group| all.get_mut(*group)) {
            Some(group) => group.add(index, &variable),
            None => scalars.add(index, &variable),
        }
    }
    if !scalars.columns.is_empty() || all.is_empty() {
        let mut number = 1;
        while by_name.contains_key(scalars.name.as_str()) {
            number += 1;
            scalars.name = format!("{SCALARS}#{number}");
        }
        scalars.rows = u64::from(!scalars.columns.is_empty());
        all.push(scalars);
    }
    all
}

/// Column description from the header.
fn describe(variable: &Variable<'_>) -> ColumnInfo {
    let shape = variable.shape();
    let mut kind = variable.data_type().map_or("none", |data_type| data_type.name()).to_owned();
    let inner: Vec<String> = match shape {
        Some(shape) => {
            let named = variable.dimensions().iter().zip(shape).skip(1);
            named.take(MAX_DIMENSIONS).map(|(name, size)| format!("{name}={size}")).collect()
        }
        None => Vec::new(),
    };
    if !inner.is_empty() {
        kind.push_str(&format!("[{}]", inner.join(", ")));
    }
    if let Some(problem) = variable.problem() {
        let mut info = ColumnInfo::new(variable.name(), "unreadable");
        info.unreadable = Some(problem.detail().to_owned());
        return info;
    }
    let mut info = ColumnInfo::new(variable.name(), kind);
    if let Some(shape) = shape
        && shape.len() > MAX_DIMENSIONS
    {
        let detail = format!("it has {} dimensions, more than the limit {MAX_DIMENSIONS} of rows", shape.len());
        info.unreadable = Some(detail);
    }
    info
}

/// Further header data of a readable variable.
pub(super) fn summary(variable: &Variable<'_>) -> Map<String, Value> {
    let mut details = Map::new();
    if variable.problem().is_some() {
        return details;
    }
    details.insert("dimensions".to_owned(), variable.dimensions().into());
    details.insert("shape".to_owned(), variable.shape().map_or(Value::Null, Into::into));
    details.insert("bytes".to_owned(), variable.stored_bytes().into());
    if variable.data_type().is_some_and(|data_type| data_type.is_text() || data_type.width() > Some(1)) {
        details.insert("endian".to_owned(), variable.endian().name().into());
    }
    if variable.is_masked() {
        details.insert("missing".to_owned(), true.into());
    }
    if variable.is_time() {
        details.insert("time".to_owned(), true.into());
    }
    details
}
