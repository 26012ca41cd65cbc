//! Finishing a file: last blocks, lookup tables, metadata, table of contents, tail, and finally the header.

use std::io::{Seek, Write};

use container_core::{Error, Output, Result};

use super::writer::{PendingColumn, Writer};
use crate::FORMAT_NAME;
use crate::codec;
use crate::schema::MetadataSchema;
use crate::wire::{Compression, Header, Version, put_leb, put_string};
use deflate_lanes::{Deflater, Format};

impl Writer<Output> {
    /// Completes the file and moves it to its path.
    ///
    /// # Errors
    /// As [`into_inner`](Self::into_inner), and [`Io`](container_core::ErrorKind::Io) when the file cannot be moved. On error an existing file
    /// is unchanged.
    pub fn finish(self) -> Result<()> {
        self.into_inner()?.finish()
    }
}

impl<W: Write + Seek> Writer<W> {
    /// Writes the buffered rows, the tables and the header, and returns the sink, flushed and positioned at the end.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when columns have different numbers of rows, and all errors of
    /// [`append_columns`](Self::append_columns).
    pub fn into_inner(mut self) -> Result<W> {
        self.flush_rows()?;
        self.check_not_failed()?;
        self.finish_all().map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn finish_all(mut self) -> Result<W> {
        let rows = self.columns.first().map_or(self.columnless_rows, PendingColumn::row_count);
        if let Some(index) = self.columns.iter().position(|column| column.row_count() != rows) {
            let found = self.columns.get(index).map_or(0, PendingColumn::row_count);
            let detail = format!("expected {rows} rows as in column {:?}, found {found}", self.name(0));
            return Err(Error::usage(detail).in_column(self.name(index)));
        }
        self.choose_rows_per_block(true)?;
        (0..self.columns.len()).try_for_each(|index| self.push_block(index))?;
        self.pipeline.drain(0)?;
        let lookups = self.write_lookups()?;
        let metadata = self.write_all_metadata()?;
        let toc_offset = self.pipeline.position();
        let toc = self.toc(&lookups, &metadata)?;
        self.options.limits.check_metadata("bytes of the table of contents", toc.len() as u64)?;
        self.pipeline.write(&toc)?;
        let tail_offset = self.pipeline.position();
        self.pipeline.write(&Header::tail())?;
        let count = self.columns.len() as u64;
        let columns = u32::try_from(count).map_err(|_| Error::limit("columns", count, 0x7FFF_FFFF))?;
        let header = Header { version: Version::V6, compatible: Version::V6, toc_offset, tail_offset, rows, columns };
        self.pipeline.finish(&header.emit()?)
    }

    /// Writes the lookup tables and returns their offsets.
    fn write_lookups(&mut self) -> Result<Vec<u64>> {
        let mut offsets = Vec::with_capacity(self.columns.len());
        let mut bytes = Vec::new();
        for lookup in std::mem::take(&mut self.pipeline.lookups) {
            offsets.push(self.pipeline.position());
            bytes.clear();
            lookup.iter().try_for_each(|entry| entry.emit(&mut bytes))?;
            self.pipeline.write(&bytes)?;
        }
        Ok(offsets)
    }

    /// Writes the metadata of all columns and returns the offsets of their tables, 0 for none.
    fn write_all_metadata(&mut self) -> Result<Vec<u64>> {
        let columns = std::mem::take(&mut self.schema.columns);
        let mut offsets = Vec::with_capacity(columns.len());
        let mut deflater = Deflater::default();
        for column in &columns {
            let compressed = column.compression.unwrap_or(self.options.compression) != Compression::None;
            let written = self.write_metadata(&column.metadata, compressed.then_some(&mut deflater));
            offsets.push(written.map_err(|error| error.in_column(column.name.clone()))?);
        }
        self.schema.columns = columns;
        Ok(offsets)
    }

    /// Stores each value compressed if that is smaller and the column's blocks are compressed, as ML.NET does.
    fn write_metadata(&mut self, all: &[MetadataSchema], mut deflater: Option<&mut Deflater>) -> Result<u64> {
        if all.is_empty() {
            return Ok(0);
        }
        let mut table = Vec::new();
        put_leb(all.len() as u64, &mut table)?;
        let (mut raw, mut packed) = (Vec::new(), Vec::new());
        for metadata in all {
            raw.clear();
            packed.clear();
            codec::encode(&metadata.value_type, &metadata.value, 0..1, &mut raw)?;
            self.options.limits.check_metadata("bytes of metadata", raw.len() as u64)?;
            if let Some(deflater) = &mut deflater {
                deflater.deflate(Format::Raw, self.options.level, &raw, &mut packed);
            }
            let (kind, block) = match deflater.is_some() && packed.len() < raw.len() {
                true => (Compression::Deflate, &packed),
                false => (Compression::None, &raw),
            };
            put_string(&metadata.kind, &mut table)?;
            metadata.value_type.emit(&mut table)?;
            table.push(kind.to_byte());
            table.extend_from_slice(&signed(self.pipeline.position())?.to_le_bytes());
            put_leb(block.len() as u64, &mut table)?;
            self.pipeline.write(block)?;
        }
        self.options.limits.check_metadata("bytes of the table of metadata", table.len() as u64)?;
        let offset = self.pipeline.position();
        self.pipeline.write(&table)?;
        Ok(offset)
    }

    fn toc(&self, lookups: &[u64], metadata: &[u64]) -> Result<Vec<u8>> {
        let mut toc = Vec::new();
        let offsets = lookups.iter().zip(metadata);
        for (column, (&lookup, &metadata)) in self.schema.columns.iter().zip(offsets) {
            put_string(&column.name, &mut toc)?;
            column.kind.emit(&mut toc)?;
            toc.push(column.compression.unwrap_or(self.options.compression).to_byte());
            put_leb(self.rows_per_block.unwrap_or(1), &mut toc)?;
            toc.extend_from_slice(&signed(lookup)?.to_le_bytes());
            toc.extend_from_slice(&signed(metadata)?.to_le_bytes());
        }
        Ok(toc)
    }
}

/// An offset as the `i64` of the file.
fn signed(offset: u64) -> Result<i64> {
    i64::try_from(offset).map_err(|_| Error::limit("bytes of the file", offset, i64::MAX.unsigned_abs()))
}
