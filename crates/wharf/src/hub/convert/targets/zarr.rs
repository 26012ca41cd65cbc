//! Zarr.

use std::ffi::OsStr;
use std::path::Path;

use container_core::{Error, Result};
use dsfmt::Reader;
use dsfmt::netcdf::Converted;
use dsfmt::zarr::{Compression, FORMAT_NAME, WriteOptions, from_ds};

use super::super::super::{DS, open_ds, output};
use super::super::job::{Context, Job, Report};
use super::super::option::{OptionSpec, OptionValue, text};
use super::super::source;
use super::super::text::refuse;
use super::super::variables::{Output, VariablesFormat, put_other};
use super::options::{COMPRESSION, DIM, RAGGED, SCALED, SCHEMA, STRUCTS};
use super::{DsTarget, Streaming, Target, TargetInfo, TargetUnit, path_of};

const ZARR: OptionSpec = OptionSpec::flag("", "").with_group("Options for Zarr output");

const CHUNKS: OptionSpec = ZARR
    .named("chunks", "Sizes of chunks along dimensions: time=10,lat=100 [default: as many rows as fit into 4 MiB]")
    .with_value(OptionValue::Text, "SIZES");

const SHARDS: OptionSpec = ZARR
    .named(
        "shards",
        "Keep chunks in shards of these sizes along dimensions, multiples of those of chunks; whole along others: time=1000",
    )
    .with_value(OptionValue::Text, "SIZES");

/// Zarr of version 3. Its arrays are the variables that a ds file would have.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ZarrTarget {
    /// How variables are made.
    pub ds: DsTarget,
    /// How chunks are compressed; `None` for Zstandard.
    pub compression: Option<Compression>,
    /// Sizes of chunks along dimensions.
    pub chunks: Vec<(String, u64)>,
    /// Sizes of shards along dimensions; empty for none.
    pub shards: Vec<(String, u64)>,
}

impl Target for ZarrTarget {
    fn info(&self) -> TargetInfo {
        TargetInfo {
            name: "zarr",
            format: FORMAT_NAME,
            title: "Zarr, version 3",
            extensions: &["zarr"],
            stream: Streaming::Unsupported("Zarr is a folder"),
            unit: TargetUnit::Variables,
        }
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[DIM, SCALED, RAGGED, STRUCTS, COMPRESSION, CHUNKS, SHARDS, SCHEMA]
    }

    fn set(&mut self, option: &str, value: &OsStr) -> Result<()> {
        match option {
            "compression" => self.compression = Some(compression(text(value)?)?),
            "chunks" => self.chunks = sizes(text(value)?)?,
            "shards" => self.shards = sizes(text(value)?)?,
            _ => return self.ds.set(option, value),
        }
        Ok(())
    }

    fn run(&self, job: &Job<'_>, context: &mut Context<'_, '_>, report: &mut Report) -> Result<()> {
        let path = path_of(job, self)?;
        let (kind, _) = source::open(&job.inputs, job.text.from, context.opener)?;
        let options = WriteOptions::default()
            .with_compression(self.compression.unwrap_or_default())
            .with_chunks(self.chunks.clone())
            .with_shards(self.shards.clone())
            .with_output(output::folder_options(path, job.force, &job.inputs)?);
        match job.inputs.as_slice() {
            [location] if kind == source::Kind::Container(DS) && job.is_whole() => {
                let of_rows = [("dim", self.ds.dim.is_some()), ("table", job.selection.reading.table.is_some())];
                refuse(&of_rows, "ds when all rows are selected")?;
                put_other(job, report, &open_ds(location, context.opener, "convert to Zarr")?, path, &options)
            }
            _ => self.ds.write(job, Output::Other(path, &options), context, report),
        }
    }
}

impl VariablesFormat for WriteOptions {
    fn write_ds(&self, reader: &Reader, path: &Path) -> Result<Converted> {
        from_ds(reader, path, self)
    }
}

/// `zstd:3`
fn compression(text: &str) -> Result<Compression> {
    let invalid = || {
        let words = "none, gzip or zstd for Zarr, with a level from 0 to 9 or 1 to 22";
        Error::usage(format!("must be {words}, found {text:?}"))
    };
    let (name, level) = match text.split_once(':') {
        Some((name, level)) => (name, Some(level.parse::<u8>().map_err(|_| invalid())?)),
        None => (text, None),
    };
    match (name, level) {
        ("none", None) => Ok(Compression::None),
        ("gzip", level) if level <= Some(9) => Ok(Compression::Gzip(level.unwrap_or(6))),
        ("zstd", level) if level.is_none_or(|level| (1..=22).contains(&level)) => {
            Ok(Compression::Zstd(level.unwrap_or(3)))
        }
        _ => Err(invalid()),
    }
}

/// `time=10,lat=100`
fn sizes(text: &str) -> Result<Vec<(String, u64)>> {
    let size = |part: &str| {
        let (name, size) = part.rsplit_once('=')?;
        Some((name.trim().to_owned(), size.trim().parse().ok()?))
    };
    let invalid = || Error::usage(format!("must be sizes of dimensions such as time=10,lat=100, found {text:?}"));
    text.split(',').map(|part| size(part).ok_or_else(invalid)).collect()
}
