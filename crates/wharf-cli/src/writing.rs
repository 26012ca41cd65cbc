//! Options of the verbs that write an IDV file, and the files they work on.

use std::sync::Arc;

use container_core::{Error, Result};

use super::inputs::Location;

/// How an IDV file is written.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Writing {
    /// How blocks are compressed; ML.NET does not read zlib
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) compression: Option<Compression>,

    #[command(flatten)]
    pub(crate) blocks: Blocks,
}

/// How the blocks of an IDV file are made.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Blocks {
    /// How hard it compresses: 0 (not at all) to 9 (smallest) [default: 6]
    #[arg(long, value_name = "0..9", value_parser = clap::value_parser!(u8).range(0..=9))]
    pub(crate) level: Option<u8>,

    /// Rows of a block at most [default: 8192, or as many as 80 MiB hold]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=0x7FFF_FFFF))]
    pub(crate) rows_per_block: Option<u64>,

    /// Bytes that the blocks of the same rows take at most, before compression [default: 80 MiB]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) bytes_per_block: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Compression {
    /// Not at all
    None,
    /// As ML.NET does
    Deflate,
    /// Not read by ML.NET
    Zlib,
}

impl From<Compression> for idv::Compression {
    fn from(choice: Compression) -> Self {
        match choice {
            Compression::None => Self::None,
            Compression::Deflate => Self::Deflate,
            Compression::Zlib => Self::Zlib,
        }
    }
}

impl Writing {
    /// The options for the writer.
    pub(crate) fn options(&self, threads: usize, progress: Arc<dyn container_core::Progress>) -> idv::WriterOptions {
        let mut options = idv::WriterOptions::default().with_threads(threads).with_progress(progress);
        options.compression = self.compression.map_or(options.compression, Into::into);
        options.level = self.blocks.level.unwrap_or(options.level);
        options.rows_per_block = self.blocks.rows_per_block;
        options.bytes_per_block = self.blocks.bytes_per_block;
        options
    }

    /// An option that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let Self { compression, blocks: Blocks { level, rows_per_block, bytes_per_block } } = self;
        let given = [
            ("--compression", compression.is_some()),
            ("--level", level.is_some()),
            ("--rows-per-block", rows_per_block.is_some()),
            ("--bytes-per-block", bytes_per_block.is_some()),
        ];
        given.iter().find(|(_, given)| *given).map(|(option, _)| *option)
    }

    /// Says for all columns what was asked for; otherwise each keeps what its file has.
    pub(crate) fn apply(&self, schema: &mut idv::Schema) {
        if let Some(compression) = self.compression {
            schema.columns.iter_mut().for_each(|column| column.compression = Some(compression.into()));
        }
    }
}

/// The reader of an input, which has to be an IDV file.
pub(crate) fn reader(location: &Location, opener: &mut super::env::Opener<'_>, verb: &str) -> Result<idv::Reader> {
    let named = |error: Error| error.in_file(location.name());
    let input = location.input(opener).map_err(named)?;
    let format = opener.registry.detect(&input).map_err(named)?;
    match (format.name(), input.source()) {
        ("idv", Some(source)) => {
            let options = idv::Options::default().with_access(opener.access);
            idv::Reader::from_source(source.clone(), options).map_err(named)
        }
        (other, _) => Err(named(Error::usage(format!("{verb} works on IDV files, this one is {other}")))),
    }
}
