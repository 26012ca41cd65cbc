//! Columns that are changed on the way: renamed, dropped, cast, expanded into several, concatenated into one.
//!
//! [`Changes`] says what; [`Changed`] is a container that shows another one with these changes, so that every conversion and every verb that reads
//! rows can take it. Rows whose columns are only renamed and dropped keep their values as they are; other changes read record batches.

mod batches;
mod cast;
mod container;
mod evaluation;
mod metadata;
mod plan;
mod rows;
mod vectors;

use arrow_schema::DataType;
use container_core::{Error, Result};

pub(crate) use container::{Changed, Settings, as_columns};

use crate::hub::select;

/// What becomes of the columns of a table, in this fixed order whatever the order of the calls: rename, drop, cast, [`floats`](Self::floats),
/// expand, concatenate. Each step has the names that the one before it leaves.
///
/// | change | effect |
/// |---|---|
/// | [`rename`](Self::rename) | the name of a column; all at once, so that two columns can swap names |
/// | [`drop`](Self::drop) | the column is left out |
/// | [`cast`](Self::cast) | the type of a column or, for vectors, of their elements: exactly, or an error with column and row |
/// | [`floats`](Self::floats) | the width of all floating-point columns, and of vectors and structs of them |
/// | [`expand`](Self::expand) | a vector becomes a column per element, a struct a column per member |
/// | [`concat`](Self::concat) | numeric columns become one vector of fixed size, with their names as slot names |
///
/// **Casts** keep values or fail; with [`OnMismatch::Null`](container_arrow::OnMismatch) a value that does not fit becomes null and counts as a
/// loss. A float rounds to a narrower float, which is what such a cast is for, but a finite one must not become infinite. An integer becomes a float
/// only if that is exact. Text is parsed as cells of CSV are: `007` and `+1` are no numbers. Numbers become text with the fewest digits that read back
/// the same, times become ISO 8601, and booleans 0 and 1. Columns of labels (dictionaries, keys of IDV) are cast by label, and null stays null.
///
/// **Expanding** names columns by the slot names of the vector, and those without one `COLUMN_0`, `COLUMN_1`, ...; members of structs become
/// `COLUMN.MEMBER`. Vectors of different lengths become as many columns as the longest has, filled up with null: that reads the column once more. A
/// vector that is null becomes nulls.
///
/// **Concatenating** replaces the first of the columns and leaves out the others. All get one type that holds all of them: unequal integers the
/// narrowest that fits, integers and floats a float that holds them exactly (`Float64` for more than 16 bits, or what [`floats`](Self::floats) says; an
/// integer that it does not hold is an error). Null elements stay null: a target without missing values in vectors refuses or counts them as its documentation says.
///
/// ```
/// use wharf::{Changes, Convert, Overwrite, Registry};
///
/// # let folder = tempfile::tempdir()?;
/// # let (input, output) = (folder.path().join("people.csv"), folder.path().join("people.idv"));
/// # std::fs::write(&input, "name,age,height\nann,39,1.7\nbob,50,1.8\n")?;
/// let changes = Changes::new().rename("name", "Name").concat("Features", ["age", "height"]);
/// let report = Convert::new([input]).with_changes(changes).write(output, Overwrite::Refuse, &Registry::builtin())?;
/// assert_eq!((report.rows, report.columns), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// Columns and their new names.
    pub rename: Vec<(String, String)>,
    /// Columns that are left out.
    pub drop: Vec<String>,
    /// Columns and their new types.
    pub cast: Vec<(String, DataType)>,
    /// The width of all floating-point columns.
    pub floats: Option<FloatWidth>,
    /// Vectors and structs that become several columns.
    pub expand: Vec<String>,
    /// The maximum number of columns that one vector or struct may become; 0 for [`DEFAULT_EXPAND_LIMIT`](Self::DEFAULT_EXPAND_LIMIT).
    pub expand_limit: usize,
    /// The names of vectors, and the columns that they consist of.
    pub concat: Vec<(String, Vec<String>)>,
}

/// The width of floating-point numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FloatWidth {
    /// 32 bits, which the trainers of ML.NET want.
    Single,
    /// 64 bits.
    Double,
}

impl FloatWidth {
    pub(crate) fn data_type(self) -> DataType {
        match self {
            Self::Single => DataType::Float32,
            Self::Double => DataType::Float64,
        }
    }
}

impl Changes {
    /// The maximum number of columns that one vector or struct may become, unless [another](Self::expand_limit) is set.
    pub const DEFAULT_EXPAND_LIMIT: usize = 10_000;

    /// No changes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether nothing is changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { rename, drop, cast, floats, expand, expand_limit: _, concat } = self;
        rename.is_empty()
            && drop.is_empty()
            && cast.is_empty()
            && floats.is_none()
            && expand.is_empty()
            && concat.is_empty()
    }

    /// Whether rows keep their values: columns are only renamed and left out.
    pub(crate) fn keep_values(&self) -> bool {
        self.cast.is_empty() && self.floats.is_none() && self.expand.is_empty() && self.concat.is_empty()
    }

    /// Whether a value may not fit the type that it gets.
    pub(crate) fn can_mismatch(&self) -> bool {
        !self.cast.is_empty() || self.floats.is_some() || !self.concat.is_empty()
    }

    /// Renames a column.
    #[must_use]
    pub fn rename(mut self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.rename.push((from.into(), to.into()));
        self
    }

    /// Leaves a column out.
    #[must_use]
    pub fn drop(mut self, name: impl Into<String>) -> Self {
        self.drop.push(name.into());
        self
    }

    /// Changes the type of a column or, when it is a vector and `to` is not, of its elements.
    #[must_use]
    pub fn cast(mut self, name: impl Into<String>, to: DataType) -> Self {
        self.cast.push((name.into(), to));
        self
    }

    /// Changes the width of all floating-point columns, vectors and structs of them included, except those of a [`cast`](Self::cast).
    #[must_use]
    pub fn floats(mut self, width: FloatWidth) -> Self {
        self.floats = Some(width);
        self
    }

    /// Makes a column of each element of a vector, or of each member of a struct.
    #[must_use]
    pub fn expand(mut self, name: impl Into<String>) -> Self {
        self.expand.push(name.into());
        self
    }

    /// Makes one vector of numeric columns, and of vectors of numbers.
    #[must_use]
    pub fn concat<N: Into<String>>(mut self, name: impl Into<String>, columns: impl IntoIterator<Item = N>) -> Self {
        self.concat.push((name.into(), columns.into_iter().map(Into::into).collect()));
        self
    }

    /// Adds renames written as `a=b,c=d`; names in double quotes can contain anything.
    pub(crate) fn parse_rename(&mut self, text: &str) -> Result<()> {
        let wrong = || Error::usage(format!("expected OLD=NEW, found {text:?}"));
        let mut rest = text;
        loop {
            let (from, after) = select::name(rest, &[',', '='])?;
            let (to, after) = select::name(after.strip_prefix('=').ok_or_else(wrong)?, &[',', '='])?;
            if from.is_empty() || to.is_empty() {
                return Err(wrong());
            }
            self.rename.push((from, to));
            match after.strip_prefix(',') {
                Some(next) => rest = next,
                None if after.is_empty() => return Ok(()),
                None => return Err(wrong()),
            }
        }
    }

    /// Adds columns to leave out, separated by commas.
    pub(crate) fn parse_drop(&mut self, text: &str) -> Result<()> {
        self.drop.extend(select::split(text)?);
        Ok(())
    }

    /// Adds casts written as `a,b=TYPE,c=TYPE`.
    pub(crate) fn parse_cast(&mut self, text: &str, of: impl Fn(&str) -> Result<DataType>) -> Result<()> {
        let wrong = || Error::usage(format!("expected COLUMN=TYPE, found {text:?}"));
        let (mut names, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            let (name, after) = select::name(rest, &[',', '='])?;
            names.push(name);
            if let Some(next) = after.strip_prefix(',') {
                rest = next;
                continue;
            }
            let (kind, after) = type_name(after.strip_prefix('=').ok_or_else(wrong)?)?;
            if kind.is_empty() || names.iter().any(String::is_empty) {
                return Err(wrong());
            }
            let to = of(&kind)?;
            self.cast.extend(names.drain(..).map(|name| (name, to.clone())));
            rest = match after.strip_prefix(',') {
                Some(next) if !next.is_empty() => next,
                None if after.is_empty() => after,
                _ => return Err(wrong()),
            };
        }
        if names.is_empty() && !text.is_empty() { Ok(()) } else { Err(wrong()) }
    }

    /// Adds columns to expand, separated by commas.
    pub(crate) fn parse_expand(&mut self, text: &str) -> Result<()> {
        self.expand.extend(select::split(text)?);
        Ok(())
    }

    /// Adds a vector written as `NAME=a,b,c`.
    pub(crate) fn parse_concat(&mut self, text: &str) -> Result<()> {
        let wrong = || Error::usage(format!("expected NAME=COLUMNS, found {text:?}"));
        let (name, after) = select::name(text, &[',', '='])?;
        let columns = after.strip_prefix('=').ok_or_else(wrong)?;
        if name.is_empty() || columns.is_empty() {
            return Err(wrong());
        }
        self.concat.push((name, select::split(columns)?));
        Ok(())
    }
}

/// The name of a type, and what follows: it ends at a comma outside of parentheses, or with its quotes.
fn type_name(text: &str) -> Result<(String, &str)> {
    if text.starts_with('"') {
        return select::name(text, &[]);
    }
    let mut depth = 0_usize;
    let end = text.char_indices().find(|(_, character)| {
        match character {
            '(' | '<' => depth += 1,
            ')' | '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        *character == ',' && depth == 0
    });
    let (name, after) = text.split_at(end.map_or(text.len(), |(end, _)| end));
    Ok((name.to_owned(), after))
}
