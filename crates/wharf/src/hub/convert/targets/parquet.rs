//! Parquet.

use std::ffi::OsStr;

use container_core::Result;

use super::super::columnar::{self, FileFormat};
use super::super::job::{Context, Job, Report};
use super::super::option::{OptionSpec, number, text};
use super::options::{BATCH_ROWS, COMPRESSION, ROW_GROUP, SCHEMA, SPARSE, TIMES};
use super::{Streaming, Target, TargetInfo, TargetUnit, unknown_option};
use crate::parquet::{Compression, FORMAT_NAME, WriterOptions};

/// Parquet.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ParquetTarget {
    /// The codec, and its level.
    pub compression: Compression,
    /// Maximum rows of a row group; `None` for as many as a size in bytes allows.
    pub row_group: Option<u64>,
}

impl Target for ParquetTarget {
    fn info(&self) -> TargetInfo {
        TargetInfo {
            name: "parquet",
            format: FORMAT_NAME,
            title: "Parquet",
            extensions: &["parquet", "pq"],
            stream: Streaming::Binary,
            unit: TargetUnit::TypedRows,
        }
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[COMPRESSION, ROW_GROUP, BATCH_ROWS, TIMES, SPARSE, SCHEMA]
    }

    fn set(&mut self, option: &str, value: &OsStr) -> Result<()> {
        match option {
            "compression" => self.compression = text(value)?.parse()?,
            "row_group" => self.row_group = Some(number(value)?),
            _ => return Err(unknown_option(option)),
        }
        Ok(())
    }

    fn run(&self, job: &Job<'_>, context: &mut Context<'_, '_>, report: &mut Report) -> Result<()> {
        let mut options =
            WriterOptions::default().with_compression(self.compression).with_threads(job.selection.reading.threads);
        if let Some(rows) = self.row_group {
            options = options.with_group_rows(usize::try_from(rows).unwrap_or(usize::MAX));
        }
        columnar::run(&FileFormat::Parquet(options), job, context, report)
    }
}
