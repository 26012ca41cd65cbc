//! Copies, dumps and joins files.

use container_core::{Error, OutputOptions, Overwrite, Result, Scan, SyncPolicy};
use idv::{Column, Compression, Reader, Schema, Writer, WriterOptions};
use serde_json::Value;
use wharf_tests::idv_canonical;

use crate::Arguments;

/// The writer options for a file with `rows` rows, and the compression of the first column.
fn options(arguments: &mut Arguments, rows: u64) -> Result<(WriterOptions, Option<Compression>)> {
    let mut options = WriterOptions::default();
    if let Some(name) = arguments.option("--compression") {
        options.compression = compression(&name)?;
    }
    let first = arguments.option("--first").map(|name| compression(&name)).transpose()?;
    if let Some(level) = arguments.number("--level")? {
        options.level = u8::try_from(level).unwrap_or(u8::MAX);
    }
    options.rows_per_block = match arguments.option("--rows").as_deref() {
        None => None,
        Some("all") => Some(rows.max(1)),
        Some(number) => Some(number.parse().map_err(|_| Error::usage("--rows: expected a number or `all`"))?),
    };
    options.bytes_per_block = arguments.number("--bytes")?;
    if let Some(threads) = arguments.number("--threads")? {
        options.threads = usize::try_from(threads).unwrap_or(usize::MAX);
    }
    Ok((options, first))
}

fn compression(name: &str) -> Result<Compression> {
    match name {
        "none" => Ok(Compression::None),
        "deflate" => Ok(Compression::Deflate),
        "zlib" => Ok(Compression::Zlib),
        _ => Err(Error::usage(format!("compression: expected none, deflate or zlib, found {name}"))),
    }
}

fn output() -> OutputOptions {
    OutputOptions::default().with_overwrite(Overwrite::Replace).with_sync(SyncPolicy::Never)
}

/// Sets the compression of the first column; the others follow the writer's options.
fn with_first(mut schema: Schema, first: Option<Compression>) -> Schema {
    for (index, column) in schema.columns.iter_mut().enumerate() {
        column.compression = first.filter(|_| index == 0);
    }
    schema
}

/// The readable columns, except the one named by `--without`.
fn selected_columns(arguments: &mut Arguments, reader: &Reader) -> Vec<usize> {
    let without = arguments.option("--without");
    let selected = |column: &&Column| column.kind().is_ok() && Some(column.unique_name()) != without.as_deref();
    reader.columns().iter().filter(selected).map(Column::index).collect()
}

pub(crate) fn copy(arguments: &mut Arguments) -> Result<()> {
    let (input, out) = (arguments.path("IN")?, arguments.path("OUT")?);
    let reader = Reader::open(input)?;
    let (options, first) = options(arguments, reader.row_count())?;
    let columns = selected_columns(arguments, &reader);
    let skip = arguments.number("--skip")?.unwrap_or(0);
    let take = arguments.number("--take")?.unwrap_or(u64::MAX);
    arguments.end()?;
    let schema = with_first(reader.schema(Some(&columns))?, first);
    let mut writer = Writer::create(out, output(), schema, options)?;
    let skip = skip.min(reader.row_count());
    let rows = skip..skip.saturating_add(take).min(reader.row_count());
    writer.append_reader(&reader, &Scan::default().with_columns(columns).with_rows(rows))?;
    writer.finish()
}

pub(crate) fn merge(arguments: &mut Arguments) -> Result<()> {
    let out = arguments.path("OUT")?;
    let first = Reader::open(arguments.path("IN")?)?;
    let (options, _) = options(arguments, first.row_count())?;
    let mut writer = Writer::create(out, output(), first.schema(None)?, options)?;
    let mut copied = writer.append_blocks(&first, None)?;
    while !arguments.words.is_empty() {
        let next = writer.append_blocks(&Reader::open(arguments.path("IN")?)?, None)?;
        copied.copied += next.copied;
        copied.reencoded += next.reencoded;
    }
    arguments.end()?;
    let rows = writer.row_count();
    writer.finish()?;
    println!("{{\"rows\":{rows},\"carried\":{},\"encoded\":{}}}", copied.copied, copied.reencoded);
    Ok(())
}

pub(crate) fn show(arguments: &mut Arguments) -> Result<()> {
    let (input, out) = (arguments.path("IN")?, arguments.path("OUT")?);
    let reader = Reader::open(input)?;
    let columns = selected_columns(arguments, &reader);
    arguments.end()?;
    let mut first = idv_canonical::schema(&reader)?;
    let readable: Vec<_> = reader.columns().iter().filter(|column| column.kind().is_ok()).map(Column::index).collect();
    let mut indices = readable.iter();
    if let Some(columns_json) = first.get_mut("columns").and_then(Value::as_array_mut) {
        columns_json.retain(|_| indices.next().is_some_and(|index| columns.contains(index)));
    }
    let mut lines = format!("{first}\n");
    let mut batches = reader.batches(&Scan::default().with_columns(columns))?;
    while let Some(batch) = batches.try_next()? {
        for row in 0..batch.row_count() {
            let slices = (0..batch.column_count()).filter_map(|index| batch.column(index));
            let row = slices.map(|slice| idv_canonical::value(slice.values, slice.range.start + row));
            lines.push_str(&format!("{}\n", Value::Array(row.collect())));
        }
    }
    crate::write(&out, lines)
}
