//! Options that change the columns of inputs, for every verb that has them.

use std::ffi::OsStr;

use container_arrow::OnMismatch;
use container_core::{Error, Result};

use super::columnar::declared;
use super::option::{OptionSpec, OptionValue, number, text, unknown_choice};
use crate::hub::view::change::{Changes, FloatWidth};

/// The defaults of the entries below.
const CHANGE: OptionSpec = OptionSpec::flag("", "").with_group("Options that change columns");

/// Options that change the columns of inputs; they go with every target.
pub const CHANGE_OPTIONS: &[OptionSpec] =
    &[RENAME, DROP, CAST, FLOATS, EXPAND, EXPAND_LIMIT, CONCAT, UNION, ON_MISMATCH];

const RENAME: OptionSpec = CHANGE
    .named("rename", "Rename a column. Repeatable, or OLD=NEW,OLD=NEW. Of these options, this one applies first")
    .with_value(OptionValue::Pairs, "OLD=NEW");

const DROP: OptionSpec =
    CHANGE.named("drop", "Leave these columns out, by their new names").with_value(OptionValue::Names, "NAMES");

const CAST: OptionSpec = CHANGE
    .named(
        "cast",
        "Change the type of columns, or of the elements of vectors: int8 to uint64, float16 to float64, bool, text, \
         date, timestamp, or a type of Arrow or IDV. A value that does not fit is an error",
    )
    .with_value(OptionValue::Pairs, "NAMES=TYPE");

const FLOATS: OptionSpec = CHANGE
    .named("floats", "The width of all floating-point columns and vectors, as ML.NET wants: single")
    .with_value(OptionValue::Choice(&[("single", "32 bits: values are rounded"), ("double", "64 bits")]), "WIDTH");

const EXPAND: OptionSpec = CHANGE
    .named(
        "expand",
        "Make a column of each element of a vector, named by its slot names or else NAME_0, NAME_1, ..., or of each \
         member of a struct: NAME.MEMBER",
    )
    .with_value(OptionValue::Names, "NAMES");

const EXPAND_LIMIT: OptionSpec = CHANGE
    .named("expand_limit", "Maximum number of columns that one vector may become [default: 10000]")
    .with_value(OptionValue::Integer(1, 1 << 20), "N")
    .with_requires("expand");

const CONCAT: OptionSpec = CHANGE
    .named(
        "concat",
        "Make one vector of numeric columns and vectors, with their names as slot names, in place of the first. \
         Applies last",
    )
    .with_value(OptionValue::Pairs, "NAME=NAMES");

const UNION: OptionSpec =
    CHANGE.named("union", "Inputs may have different columns, in any order: those that an input lacks are null");

pub(super) const ON_MISMATCH: OptionSpec = CHANGE
    .named(
        "on_mismatch",
        "What becomes of a value that does not fit a cast or, for inputs without a schema, the type of its column, and \
         of such a value from datadings into ds [default: error]",
    )
    .with_value(
        OptionValue::Choice(&[
            ("error", "An error"),
            ("null", "Null, counted as a loss"),
            ("json", "All values of the column become JSON, except of a cast"),
            ("msgpack", "All values of the column become msgpack, except of a cast"),
        ]),
        "POLICY",
    );

/// Changes, and how inputs are joined, as options set them.
#[derive(Debug, Clone, Default)]
pub struct ChangeOptions {
    /// What becomes of columns.
    pub changes: Changes,
    /// Columns that an input lacks are null.
    pub union: bool,
    /// What becomes of a value that does not fit the type of its column.
    pub on_mismatch: Option<OnMismatch>,
}

impl ChangeOptions {
    /// Sets one of [`CHANGE_OPTIONS`].
    ///
    /// # Errors
    /// The value is invalid.
    pub fn set(&mut self, name: &str, value: &OsStr) -> Result<()> {
        let known = CHANGE_OPTIONS.iter().find(|option| option.name == name);
        let option = known.ok_or_else(|| Error::usage(format!("unknown option {name:?}")))?;
        option.check_and_set(value, || self.set_checked(name, value))
    }

    pub(super) fn set_checked(&mut self, name: &str, value: &OsStr) -> Result<()> {
        let Self { changes, union, on_mismatch } = self;
        match name {
            "rename" => changes.parse_rename(text(value)?),
            "drop" => changes.parse_drop(text(value)?),
            "cast" => changes.parse_cast(text(value)?, declared::data_type),
            "expand" => changes.parse_expand(text(value)?),
            "concat" => changes.parse_concat(text(value)?),
            "floats" => {
                changes.floats = Some(if value == "double" { FloatWidth::Double } else { FloatWidth::Single });
                Ok(())
            }
            "expand_limit" => {
                changes.expand_limit = usize::try_from(number(value)?).unwrap_or(usize::MAX);
                Ok(())
            }
            "on_mismatch" => {
                *on_mismatch = Some(mismatch_policy(text(value)?)?);
                Ok(())
            }
            _ => {
                *union = true;
                Ok(())
            }
        }
    }

    /// Whether nothing was set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && !self.union && self.on_mismatch.is_none()
    }

    /// Whether an option has this name.
    pub(in crate::hub) fn has(name: &str) -> bool {
        CHANGE_OPTIONS.iter().any(|option| option.name == name)
    }
}

fn mismatch_policy(word: &str) -> Result<OnMismatch> {
    Ok(match word {
        "error" => OnMismatch::Error,
        "null" => OnMismatch::Null,
        "json" => OnMismatch::Json,
        "msgpack" => OnMismatch::Msgpack,
        other => return Err(unknown_choice(other)),
    })
}
