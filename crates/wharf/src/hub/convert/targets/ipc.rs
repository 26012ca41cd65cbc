//! Arrow IPC, as a file or a stream.

use std::ffi::OsStr;

use container_core::{Input, Result};

use super::super::columnar::{self, FileFormat};
use super::super::job::{Context, Job, Report};
use super::super::option::{OptionSpec, text};
use super::options::{BATCH_ROWS, COMPRESSION, SCHEMA, SPARSE, TIMES};
use super::{Streaming, Target, TargetInfo, TargetUnit, unknown_option};
use crate::ipc::{Compression, FORMAT_NAME, Layout, WriterOptions};

/// Arrow IPC.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct IpcTarget {
    /// A file, with a footer, or a stream.
    pub layout: Layout,
    /// The codec of its buffers.
    pub compression: Compression,
}

impl IpcTarget {
    pub(super) const FILE: Self = Self { layout: Layout::File, compression: Compression::None };
    pub(super) const STREAM: Self = Self { layout: Layout::Stream, ..Self::FILE };

    /// A file or a stream, without compression.
    #[must_use]
    pub const fn new(layout: Layout) -> Self {
        Self { layout, ..Self::FILE }
    }
}

impl Target for IpcTarget {
    fn info(&self) -> TargetInfo {
        let info = TargetInfo {
            name: "arrow",
            format: FORMAT_NAME,
            title: "Arrow IPC, a file",
            extensions: &["arrow", "feather", "ipc"],
            stream: Streaming::Binary,
            unit: TargetUnit::TypedRows,
        };
        match self.layout {
            Layout::Stream => {
                TargetInfo { name: "arrows", title: "Arrow IPC, a stream", extensions: &["arrows"], ..info }
            }
            _ => info,
        }
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[COMPRESSION, BATCH_ROWS, TIMES, SPARSE, SCHEMA]
    }

    fn set(&mut self, option: &str, value: &OsStr) -> Result<()> {
        match option {
            "compression" => self.compression = text(value)?.parse()?,
            _ => return Err(unknown_option(option)),
        }
        Ok(())
    }

    /// The same layout.
    fn like(&self, input: &Input) -> Result<Option<Box<dyn Target>>> {
        let is_file = match input.source() {
            Some(source) => &*source.read(0..source.len().min(6))? == b"ARROW1",
            None => false,
        };
        Ok(Some(Box::new(if is_file { Self::FILE } else { Self::STREAM })))
    }

    fn run(&self, job: &Job<'_>, context: &mut Context<'_, '_>, report: &mut Report) -> Result<()> {
        let options = WriterOptions::default().with_layout(self.layout).with_compression(self.compression);
        columnar::run(&FileFormat::Ipc(options), job, context, report)
    }
}
