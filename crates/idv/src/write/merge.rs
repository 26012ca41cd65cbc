//! Merging files with equal schemas.

use std::io::{Seek, Write};

use container_core::{Error, Result};

use super::copy::{CopyStats, MAX_ROWS_PER_BLOCK};
use super::options::WriterOptions;
use super::writer::Writer;
use crate::FORMAT_NAME;
use crate::read::Reader;
use crate::schema_diff::check_equal;

/// Minimum rows for single-block files to keep their blocks in the merged file.
const MIN_SINGLE_BLOCK_ROWS: u64 = 512;

/// Concatenates the rows of several files. Columns, metadata and compression are the first file's; all schemas must be equal.
///
/// Blocks are copied byte for byte, without checks, where block boundaries match (see [`WriterOptions::with_block_size_of`]). After a file
/// that ends within a block, rows are re-encoded.
///
/// ```
/// # fn main() -> container_core::Result<()> {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/real-adult.idv");
/// use std::io::Cursor;
/// use idv::{Reader, WriterOptions};
///
/// let files = [Reader::open(path)?, Reader::open(path)?];
/// let (bytes, copied) = idv::merge(&files, Cursor::new(Vec::new()), WriterOptions::default())?;
/// let merged = Reader::from_source(bytes.into_inner().into(), Default::default())?;
/// assert_eq!(merged.row_count(), 2 * files[0].row_count());
/// assert!(copied.copied > 0);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Usage`](container_core::ErrorKind::Usage) without files, and for the first difference between schemas; any defect of re-encoded
/// blocks; as [`Writer::new`]. Errors of a file have its index, from 0, as file name.
pub fn merge<W: Write + Seek>(files: &[Reader], sink: W, options: WriterOptions) -> Result<(W, CopyStats)> {
    let Some(first) = files.first() else {
        return Err(Error::usage("no files to merge").in_format(FORMAT_NAME));
    };
    let named = |index: usize| move |error: Error| error.in_file(format!("file {index}"));
    let schema = first.schema(None).map_err(named(0))?;
    for (index, file) in files.iter().enumerate().skip(1) {
        file.schema(None).and_then(|found| check_equal(&schema, &found)).map_err(named(index))?;
    }
    let mut writer = Writer::new(sink, schema, options.with_block_size_of(files))?;
    let mut copied = CopyStats::default();
    for (index, file) in files.iter().enumerate() {
        let more = writer.append_blocks(file, None).map_err(named(index))?;
        copied.copied += more.copied;
        copied.reencoded += more.reencoded;
    }
    Ok((writer.into_inner()?, copied))
}

impl WriterOptions {
    /// Sets the rows per block so that [`append_blocks`](Writer::append_blocks) can copy the most blocks of these files, unless a block size
    /// is already set.
    ///
    /// That is the common row count if all files are single blocks of equally many rows (at least 512; the last may be shorter), otherwise
    /// the first file's rows per block. In the latter case only blocks up to the first file that ends within a block are copied.
    #[must_use]
    pub fn with_block_size_of(self, files: &[Reader]) -> Self {
        if self.rows_per_block.is_some() || self.bytes_per_block.is_some() {
            return self;
        }
        let files: Vec<&Reader> = files.iter().filter(|file| file.row_count() > 0).collect();
        let Some((last, others)) = files.split_last() else { return self };
        let Some(first) = others.first() else {
            return match per_block(last) {
                // More than a file may declare: the actual rows of the single block.
                Some(rows) if rows > MAX_ROWS_PER_BLOCK => {
                    self.with_rows_per_block(last.row_count().min(MAX_ROWS_PER_BLOCK))
                }
                Some(rows) => self.with_rows_per_block(rows),
                None => self,
            };
        };
        let (Some(rows), length) = (per_block(first), first.row_count()) else { return self };
        let even = others.iter().all(|file| per_block(file) == Some(rows) && file.row_count().is_multiple_of(rows));
        let single = length >= MIN_SINGLE_BLOCK_ROWS
            && last.row_count() <= length
            && files.iter().all(|file| per_block(file).is_some_and(|rows| file.row_count() <= rows))
            && others.iter().all(|file| file.row_count() == length);
        let rows = if !even && single { length } else { rows };
        self.with_rows_per_block(rows.min(MAX_ROWS_PER_BLOCK))
    }
}

/// The common rows per block of a file's columns, if any.
fn per_block(file: &Reader) -> Option<u64> {
    let mut all = file.columns().iter().filter(|column| column.kind().is_ok()).map(crate::Column::rows_per_block);
    let first = all.next()?;
    all.all(|rows| rows == first).then_some(first)
}
