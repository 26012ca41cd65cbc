use core::fmt;

use crate::Text;
use crate::heap::{self, Cause, Repr};
use crate::position::Position;

/// The category of an [`Error`]. [`blame`](Self::blame) says who has to act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Reading or writing failed: a disk, a pipe, a file that shrank. [`Error::source`](core::error::Error::source) is the cause.
    Io,
    /// The input ends in the middle of a field.
    Truncated {
        /// Size of the field in bytes.
        needed: u64,
        /// Bytes remaining in the input.
        available: u64,
    },
    /// The input violates the format or is inconsistent.
    Invalid,
    /// The input may be valid but needs a feature this reader lacks: a newer version, an unknown codec.
    Unsupported,
    /// Continuing would exceed the [`Limits`](crate::Limits). The input is not known to be invalid.
    Limit {
        /// The requested amount.
        asked: u64,
        /// The allowed amount.
        limit: u64,
    },
    /// The request is invalid: a row past the end, an unknown column, an output that exists.
    Usage,
    /// The caller ended the work, by [`Progress::advance`](crate::Progress::advance).
    Cancelled,
}

/// Who has to act on an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Blame {
    /// The disk, network or pipe; retrying may help.
    Source,
    /// The file: it is damaged, of another format, or newer than this reader.
    File,
    /// The caller, whose request does not fit the file.
    Caller,
    /// The configured limits; raising them may help.
    Limit,
}

impl ErrorKind {
    /// Who has to act on errors of this kind.
    #[must_use]
    pub const fn blame(self) -> Blame {
        match self {
            Self::Io => Blame::Source,
            Self::Truncated { .. } | Self::Invalid | Self::Unsupported => Blame::File,
            Self::Limit { .. } => Blame::Limit,
            Self::Usage | Self::Cancelled => Blame::Caller,
        }
    }

    /// A stable machine-readable name: `io`, `truncated`, `invalid`, `unsupported`, `limit`, `usage`, `cancelled`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Io => "io",
            Self::Truncated { .. } => "truncated",
            Self::Invalid => "invalid",
            Self::Unsupported => "unsupported",
            Self::Limit { .. } => "limit",
            Self::Usage => "usage",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The error type of every crate in the workspace: a [kind](ErrorKind), the format, a message, the [position](Position) as far as known,
/// and an optional cause.
///
/// Outer layers add context with [`at`](Self::at) and the `in_*` methods, which never replace what an inner layer has set. The message is
/// displayed as `format: file: detail: cause; hint (position)`.
///
/// ```
/// use container_core::{Error, ErrorKind};
/// let error = Error::invalid("row count -1 is negative").at(40).in_format("idv");
/// assert_eq!(error.to_string(), "idv: row count -1 is negative (byte 40)");
/// assert_eq!(error.kind(), ErrorKind::Invalid);
/// ```
pub struct Error(pub(crate) Repr);

pub(crate) struct Inner {
    kind: ErrorKind,
    format: Option<&'static str>,
    pub(crate) detail: Text,
    option: Option<&'static str>,
    advice: Option<&'static str>,
    position: Position,
    pub(crate) cause: Option<Cause>,
}

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = core::result::Result<T, E>;

impl Error {
    /// Creates an error. `detail` says what was expected and what was found, in lower case and without a full stop.
    #[must_use]
    #[cold]
    pub fn new(kind: ErrorKind, detail: impl Into<Text>) -> Self {
        let inner = Inner {
            kind,
            format: None,
            detail: detail.into(),
            option: None,
            advice: None,
            position: Position::default(),
            cause: None,
        };
        Self(heap::repr(inner))
    }

    /// Creates an [`Invalid`](ErrorKind::Invalid) error: the input violates the format.
    #[must_use]
    #[cold]
    pub fn invalid(detail: impl Into<Text>) -> Self {
        Self::new(ErrorKind::Invalid, detail)
    }

    /// Creates an [`Unsupported`](ErrorKind::Unsupported) error: the input needs a feature this reader lacks.
    #[must_use]
    #[cold]
    pub fn unsupported(detail: impl Into<Text>) -> Self {
        Self::new(ErrorKind::Unsupported, detail)
    }

    /// Creates a [`Usage`](ErrorKind::Usage) error: the request is invalid.
    #[must_use]
    #[cold]
    pub fn usage(detail: impl Into<Text>) -> Self {
        Self::new(ErrorKind::Usage, detail)
    }

    /// Creates a [`Truncated`](ErrorKind::Truncated) error: the field `what` needs `needed` bytes, and `available` remain.
    #[must_use]
    #[cold]
    pub fn truncated(what: impl Into<Text>, needed: u64, available: u64) -> Self {
        Self::new(ErrorKind::Truncated { needed, available }, what)
    }

    /// Creates a [`Limit`](ErrorKind::Limit) error: `what` requires `asked`, more than `limit`.
    #[must_use]
    #[cold]
    pub fn limit(what: impl Into<Text>, asked: u64, limit: u64) -> Self {
        Self::new(ErrorKind::Limit { asked, limit }, what)
    }

    /// Names the option that is at fault. The message begins with it.
    #[must_use]
    pub fn in_option(mut self, name: &'static str) -> Self {
        self.0.option = Some(name);
        self
    }

    /// Adds a hint. Option names are written in braces, as in `{overwrite} replaces it`; see [`with_options`](Self::with_options).
    #[must_use]
    pub fn advising(mut self, advice: &'static str) -> Self {
        self.0.advice = Some(advice);
        self
    }

    /// Leaves out a hint that names another option than these: the caller does not have it.
    #[must_use]
    pub fn advising_only(mut self, has_option: impl Fn(&str) -> bool) -> Self {
        let names = |advice: &str| {
            advice.split('{').skip(1).filter_map(|part| Some(has_option(part.split_once('}')?.0))).all(|has| has)
        };
        self.0.advice = self.0.advice.filter(|advice| names(advice));
        self
    }

    /// The category of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The format being read or written, such as `idv`.
    #[must_use]
    pub fn format(&self) -> Option<&'static str> {
        self.0.format
    }

    /// The message without format, file, cause, hint and position.
    #[must_use]
    pub fn detail(&self) -> &str {
        let detail: &Text = &self.0.detail;
        detail
    }

    /// Where the error occurred, as far as known.
    #[must_use]
    pub fn position(&self) -> &Position {
        &self.0.position
    }

    /// Replaces the position, for example to point into the original input instead of a temporary one.
    #[must_use]
    pub fn with_position(mut self, position: Position) -> Self {
        self.0.position = position;
        self
    }

    /// Sets the byte offset unless an inner layer did.
    #[must_use]
    pub fn at(mut self, byte: u64) -> Self {
        self.0.position.byte.get_or_insert(byte);
        self
    }

    /// Adds `base` to the byte offset, for errors of a parser that saw only the part of the file that starts at `base`.
    #[must_use]
    pub fn shifted(mut self, base: u64) -> Self {
        if let Some(byte) = &mut self.0.position.byte {
            *byte = byte.saturating_add(base);
        }
        self
    }

    /// Names the format unless an inner layer did.
    #[must_use]
    pub fn in_format(mut self, format: &'static str) -> Self {
        self.0.format.get_or_insert(format);
        self
    }

    /// Names the file unless an inner layer did.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<Text>) -> Self {
        self.0.position.file.get_or_insert(file.into());
        self
    }

    /// As [`in_file`](Self::in_file), if the file has a name.
    #[must_use]
    pub fn in_optional_file(self, file: Option<impl Into<Text>>) -> Self {
        match file {
            Some(file) => self.in_file(file),
            None => self,
        }
    }

    /// Names the row (from 0) unless an inner layer did.
    #[must_use]
    pub fn in_row(mut self, row: u64) -> Self {
        self.0.position.row.get_or_insert(row);
        self
    }

    /// Names the block (from 0, in row order) unless an inner layer did.
    #[must_use]
    pub fn in_block(mut self, block: u64) -> Self {
        self.0.position.block.get_or_insert(block);
        self
    }

    /// Names the line (from 1) unless an inner layer did.
    #[must_use]
    pub fn in_line(mut self, line: u64) -> Self {
        self.0.position.line.get_or_insert(line);
        self
    }

    /// Names the column unless an inner layer did.
    #[must_use]
    pub fn in_column(mut self, column: impl Into<Text>) -> Self {
        self.0.position.column.get_or_insert(column.into());
        self
    }

    /// Names the record's key unless an inner layer did.
    #[must_use]
    pub fn in_key(mut self, key: impl Into<Text>) -> Self {
        self.0.position.key.get_or_insert(key.into());
        self
    }
}

/// Writes an option's name.
type WriteName<'w> = &'w dyn Fn(&mut fmt::Formatter<'_>, &str) -> fmt::Result;

impl Error {
    pub(crate) fn write(&self, f: &mut fmt::Formatter<'_>, name: WriteName<'_>) -> fmt::Result {
        let inner = &self.0;
        if let Some(format) = inner.format {
            write!(f, "{format}: ")?;
        }
        if let Some(file) = &inner.position.file {
            write!(f, "{file}: ")?;
        }
        if let Some(option) = inner.option {
            name(f, option)?;
            f.write_str(" ")?;
        }
        f.write_str(inner.detail.as_ref())?;
        match inner.kind {
            ErrorKind::Truncated { needed, available } => {
                let s = if needed == 1 { "" } else { "s" };
                write!(f, ": needs {needed} byte{s}, {available} available")?;
            }
            ErrorKind::Limit { asked, limit } => write!(f, " {asked} exceeds the limit {limit}")?,
            _ => {}
        }
        if let Some(cause) = &inner.cause {
            write!(f, ": {cause}")?;
        }
        if let Some(advice) = inner.advice {
            f.write_str("; ")?;
            let mut rest = advice;
            while let Some((text, (option, after))) =
                rest.split_once('{').and_then(|(text, after)| Some((text, after.split_once('}')?)))
            {
                f.write_str(text)?;
                name(f, option)?;
                rest = after;
            }
            f.write_str(rest)?;
        }
        // The file has been written already.
        if (Position { file: None, ..inner.position.clone() }) != Position::default() {
            write!(f, " ({})", inner.position)?;
        }
        Ok(())
    }
}

/// `format: file: detail: cause; hint (position)`
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &|f, name| f.write_str(name))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        self.0.cause.as_ref().map(heap::source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outer_layers_keep_inner_context() {
        let error = Error::invalid("x").at(7).at(9).in_row(1).in_row(2).in_column("a").in_column("b");
        assert_eq!(error.to_string(), r#"x (byte 7, row 1, column "a")"#);
        assert_eq!(error.shifted(100).position().byte, Some(107));
    }

    #[test]
    fn truncated_displays_needed_and_available() {
        let error = Error::truncated("row count", 8, 3).at(40).in_format("idv");
        assert_eq!(error.to_string(), "idv: row count: needs 8 bytes, 3 available (byte 40)");
        assert_eq!(error.kind().blame(), Blame::File);
    }

    #[test]
    fn limit_displays_asked_and_limit() {
        let error = Error::limit("block length", 9, 4).in_column("x");
        assert_eq!(error.to_string(), r#"block length 9 exceeds the limit 4 (column "x")"#);
        assert_eq!(error.kind().blame(), Blame::Limit);
    }

    #[test]
    fn blame_follows_the_kind() {
        assert_eq!(Error::usage("no such column").kind().blame(), Blame::Caller);
        assert_eq!(Error::unsupported("v9").kind().blame(), Blame::File);
    }
}
