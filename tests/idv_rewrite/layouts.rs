//! Rows per block: what ML.NET chooses, and what is chosen here for the same rows.

use std::io::Cursor;
use std::path::Path;

use container_core::{Error, Result, Scan, Source};
use idv::{Column, OpenOptions, Reader, Writer, WriterOptions};

use crate::Arguments;

pub(crate) fn layouts(arguments: &mut Arguments) -> Result<()> {
    let directory = arguments.path("DIRECTORY")?;
    arguments.end()?;
    let (mut same, mut several, mut other) = (0, 0, 0);
    for path in crate::files(&directory)? {
        let reader = Reader::open(&path)?;
        let Some(theirs) = reader.columns().first().map(Column::rows_per_block) else { continue };
        let ours = chosen(&reader, limit(&path))?;
        several += u64::from(theirs < reader.row_count());
        if theirs == ours {
            same += 1;
        } else {
            let kinds = reader.columns().iter().filter_map(|column| column.kind().ok().map(ToString::to_string));
            let kinds: Vec<_> = kinds.collect();
            let name = path.display();
            eprintln!(
                "{name}: {ours} rows per block where ML.NET has {theirs} of {} ({})",
                reader.row_count(),
                kinds.join("; ")
            );
            other += 1;
        }
    }
    println!("{}: rows per block as ML.NET's in {same} files ({several} of several blocks)", directory.display());
    if other == 0 {
        Ok(())
    } else {
        Err(Error::invalid(format!("{other} files have another number of rows per block")))
    }
}

/// The limit in bytes that the name tells.
fn limit(path: &Path) -> Option<u64> {
    let stem = path.file_stem()?.to_str()?;
    stem.strip_prefix("limit-")?.split('-').nth(1)?.parse().ok()
}

/// The rows per block of the same rows written here.
fn chosen(reader: &Reader, bytes: Option<u64>) -> Result<u64> {
    // As little work as keeps the file small: the blocks are those before compression.
    let mut options = WriterOptions::default().with_level(1);
    if let Some(bytes) = bytes {
        options = options.with_bytes_per_block(bytes).with_rows_per_block(8192);
    }
    let mut schema = reader.schema(None)?;
    schema.columns.iter_mut().for_each(|column| column.compression = None);
    let mut writer = Writer::new(Cursor::new(Vec::new()), schema, options)?;
    writer.append_reader(reader, &Scan::default())?;
    let written = Reader::from_source(Source::from(writer.finish()?.into_inner()), OpenOptions::default())?;
    let column = written.columns().first();
    column.map(Column::rows_per_block).ok_or_else(|| Error::invalid("there are no columns"))
}
