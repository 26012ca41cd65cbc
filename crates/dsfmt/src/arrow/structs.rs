//! Members of compound variables as structs.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::{DataType, Field, Fields};
use container_arrow::from_arrow;
use container_core::{Error, Result};

use super::plan::Column;

/// A column of a batch: that of a variable, or a struct of others.
pub(super) enum Tree {
    /// The variable at this index, as a column or a member of this name.
    Leaf(usize, String),
    Struct(String, Vec<Tree>),
}

/// The columns of a batch.
pub(super) fn trees(columns: &[Column<'_>]) -> Vec<Tree> {
    let paths: Vec<Vec<&str>> = columns.iter().map(path).collect();
    let mut all = Vec::new();
    let mut start = 0;
    while let Some(first) = paths.get(start) {
        let is_struct = first.len() > 1;
        let same = |path: &&Vec<&str>| is_struct && path.len() > 1 && path.first() == first.first();
        let count = paths.iter().skip(start).take_while(same).count().max(1);
        all.push(tree(&paths, start..start + count, 0));
        start += count;
    }
    all
}

/// The name of a column, or those of a struct and of the members on the way to a value.
fn path<'a>(column: &Column<'a>) -> Vec<&'a str> {
    match column.layout.variable.member() {
        None => vec![column.layout.variable.name()],
        Some((name, path)) => std::iter::once(name).chain(path.iter().map(String::as_str)).collect(),
    }
}

/// The tree of columns whose paths are equal up to `depth`.
fn tree(paths: &[Vec<&str>], range: std::ops::Range<usize>, depth: usize) -> Tree {
    let part = |index: usize, depth: usize| paths.get(index).and_then(|path| path.get(depth)).copied();
    let name = part(range.start, depth).unwrap_or_default().to_owned();
    if part(range.start, depth + 1).is_none() {
        return Tree::Leaf(range.start, name);
    }
    let (mut members, mut start) = (Vec::new(), range.start);
    while start < range.end {
        let first = part(start, depth + 1);
        let end = (start..range.end).find(|index| part(*index, depth + 1) != first).unwrap_or(range.end);
        members.push(tree(paths, start..end, depth + 1));
        start = end;
    }
    Tree::Struct(name, members)
}

impl Tree {
    pub(super) fn field(&self, columns: &[Column<'_>]) -> Option<Arc<Field>> {
        match self {
            Self::Leaf(index, name) => {
                let field = &columns.get(*index)?.field;
                Some(if field.name() == name { Arc::clone(field) } else { Arc::new((**field).clone().with_name(name)) })
            }
            Self::Struct(name, members) => {
                let fields: Option<Fields> = members.iter().map(|member| member.field(columns)).collect();
                Some(Arc::new(Field::new(name, DataType::Struct(fields?), false)))
            }
        }
    }

    /// The column of a batch, of the arrays of the variables.
    pub(super) fn array(&self, columns: &[Column<'_>], arrays: &[ArrayRef]) -> Result<ArrayRef> {
        let unknown = || Error::usage("unknown column");
        match self {
            Self::Leaf(index, _) => arrays.get(*index).cloned().ok_or_else(unknown),
            Self::Struct(_, members) => {
                let field = self.field(columns).ok_or_else(unknown)?;
                let DataType::Struct(fields) = field.data_type() else { return Err(unknown()) };
                let inner: Vec<ArrayRef> =
                    members.iter().map(|member| member.array(columns, arrays)).collect::<Result<_>>()?;
                let len = inner.first().map_or(0, |array| array.len());
                let array = StructArray::try_new_with_length(fields.clone(), inner, None, len);
                Ok(Arc::new(array.map_err(from_arrow)?))
            }
        }
    }
}
