//! Values that do not lie in a ds file, exposed through the ds reader: those of another format, or a view of another reader.

use std::ops::Range;
use std::sync::OnceLock;

use container_core::{OpenOptions, Result, Source};

use crate::array::{Mask, Values};
use crate::read::index::Index;
use crate::read::reader::Reader;
use crate::read::typed::TypedAttributes;
use crate::wire::{Header, MAGIC, VERSION};

/// Supplies the values of all variables of a file that is not ds.
pub(crate) trait ForeignSource: Send + Sync {
    /// Format name for error messages.
    fn format(&self) -> &'static str;

    /// Reads an element range of the variable at `index` in the header. The range is within its shape.
    fn read(&self, index: usize, elements: Range<u64>) -> Result<(Values<'static>, Option<Mask<'static>>)>;

    /// Elements that are read at once for runs of elements in them: a source may decode whole rows for each element.
    fn max_span(&self) -> u64 {
        256 << 10
    }

    /// For a member of a compound variable, the name of that variable and the path of the member in it.
    fn member(&self, index: usize) -> Option<(&str, &[String])> {
        let _ = index;
        None
    }

    /// Rejects reading this many bytes of values when the file can hold far less.
    fn check_bytes(&self, bytes: u64) -> Result<()>;
}

impl Reader {
    /// A reader of the dataset that `header` describes, the text of a ds file up to its body. `problem` returns why the variable at an index in the
    /// header cannot be read.
    pub(crate) fn from_foreign(
        header: &str,
        options: OpenOptions,
        foreign: Box<dyn ForeignSource>,
        problem: impl Fn(usize) -> Option<String>,
    ) -> Result<Self> {
        let start = MAGIC.len() + VERSION.len() + 1;
        let line = header.get(start..).unwrap_or_default().to_owned();
        // Offsets and lengths are fictional: accept any.
        let mut header = Header::parse(line.into(), start as u64, u64::MAX, &options.limits)?;
        for (index, entry) in header.entries.iter_mut().enumerate() {
            entry.problem = problem(index).map(String::into_boxed_str).or(entry.problem.take());
        }
        let indexes = header.entries.iter().map(|_| Index::default()).collect();
        let (source, typed) = (Source::from(Vec::new()), TypedAttributes::default());
        let (names, bounds) = (OnceLock::new(), OnceLock::new());
        Ok(Self { source, options, header, body: 0, indexes, names, bounds, foreign: Some(foreign), typed })
    }
}
