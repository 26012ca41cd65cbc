//! Compares the rows per block that ML.NET chooses with our choice for the same rows.

use std::io::Cursor;
use std::path::Path;

use container_core::{Error, Result, Scan, Source};
use idv::{Column, OpenOptions, Reader, Writer, WriterOptions};

use crate::Arguments;

pub(crate) fn layouts(arguments: &mut Arguments) -> Result<()> {
    let directory = arguments.path("DIRECTORY")?;
    arguments.end()?;
    let (mut same, mut multi_block, mut different) = (0, 0, 0);
    for path in crate::files(&directory)? {
        let reader = Reader::open(&path)?;
        let Some(theirs) = reader.columns().first().map(Column::rows_per_block) else { continue };
        let ours = our_rows_per_block(&reader, limit(&path))?;
        multi_block += u64::from(theirs < reader.row_count());
        if theirs == ours {
            same += 1;
        } else {
            let kinds = reader.columns().iter().filter_map(|column| column.kind().ok().map(ToString::to_string));
            let kinds: Vec<_> = kinds.collect();
            let name = path.display();
            eprintln!(
                "{name}: expected {theirs} rows per block, found {ours}, of {} rows ({})",
                reader.row_count(),
                kinds.join("; ")
            );
            different += 1;
        }
    }
    println!("{}: rows per block equal in {same} files ({multi_block} with several blocks)", directory.display());
    if different == 0 { Ok(()) } else { Err(Error::invalid(format!("{different} files differ in rows per block"))) }
}

/// The size limit in bytes that is part of the file name.
fn limit(path: &Path) -> Option<u64> {
    let stem = path.file_stem()?.to_str()?;
    stem.strip_prefix("limit-")?.split('-').nth(1)?.parse().ok()
}

/// The rows per block when we write the same rows.
fn our_rows_per_block(reader: &Reader, bytes: Option<u64>) -> Result<u64> {
    // Fast compression: blocks are sized before compression.
    let mut options = WriterOptions::default().with_level(1);
    if let Some(bytes) = bytes {
        options = options.with_bytes_per_block(bytes).with_rows_per_block(8192);
    }
    let mut schema = reader.schema(None)?;
    schema.columns.iter_mut().for_each(|column| column.compression = None);
    let mut writer = Writer::new(Cursor::new(Vec::new()), schema, options)?;
    writer.append_reader(reader, &Scan::default())?;
    let written = Reader::from_source(Source::from(writer.into_inner()?.into_inner()), OpenOptions::default())?;
    let column = written.columns().first();
    column.map(Column::rows_per_block).ok_or_else(|| Error::invalid("no columns"))
}
