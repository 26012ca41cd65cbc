//! One file of many with equal schemas.

use std::io::{Seek, Write};

use container_core::{Error, Result};

use super::copy::{CopyStats, MAX_ROWS_PER_BLOCK};
use super::options::WriterOptions;
use super::writer::Writer;
use crate::FORMAT_NAME;
use crate::read::Reader;
use crate::schema_diff::check_equal;

/// Files of one block each make blocks of their own in the merged file when they have so many rows at least.
const MIN_SINGLE_BLOCK_ROWS: u64 = 512;

/// Writes the rows of several files, in their order, into one. The first file's columns, metadata and compression are kept; the other
/// files' schemas have to be equal.
///
/// Blocks are carried over as they are where that gives equal blocks ([`WriterOptions::with_block_size_of`] says when): that
/// costs what copying their bytes costs. From the first file on that ends within a block, rows are decoded and encoded
/// again. What is carried over is not looked at; [`Reader::verify`] does that.
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
/// [`Usage`](container_core::ErrorKind::Usage) without files, and with the first difference of a file's schema; all that is wrong with
/// blocks that have to be decoded; as [`Writer::new`]. Errors of a file have its place among the files, from 0, as file name.
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
    Ok((writer.finish()?, copied))
}

impl WriterOptions {
    /// Asks for as many rows per block as lets the most blocks of these files be carried over by
    /// [`append_blocks`](Writer::append_blocks), unless a number has been asked for already.
    ///
    /// That is the first file's rows per block, if every file but the last ends with a full block of so many; else, where all
    /// files but the last are single blocks of equally many rows (512 at least) and the last is no longer, that number; else the
    /// first file's, and only the files before the first uneven one are carried.
    #[must_use]
    pub fn with_block_size_of(self, files: &[Reader]) -> Self {
        if self.rows_per_block.is_some() || self.bytes_per_block.is_some() {
            return self;
        }
        let files: Vec<&Reader> = files.iter().filter(|file| file.row_count() > 0).collect();
        let Some((last, others)) = files.split_last() else { return self };
        let Some(first) = others.first() else {
            return match per_block(last) {
                // More than a file may say: the one block that these rows are.
                Some(rows) if rows > MAX_ROWS_PER_BLOCK => self.with_rows_per_block(last.row_count().min(MAX_ROWS_PER_BLOCK)),
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

/// Rows of the first block of a file, where all columns have the same.
fn per_block(file: &Reader) -> Option<u64> {
    let mut all = file.columns().iter().filter(|column| column.kind().is_ok()).map(crate::Column::rows_per_block);
    let first = all.next()?;
    all.all(|rows| rows == first).then_some(first)
}
