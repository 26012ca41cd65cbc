//! Options of the verbs that write an IDV file.

use wharf::convert::IdvTarget;

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
    /// The same for the library.
    pub(crate) fn output(&self) -> IdvTarget {
        let mut output = IdvTarget::default();
        output.compression = self.compression.map(Into::into);
        output.level = self.blocks.level;
        output.rows_per_block = self.blocks.rows_per_block;
        output.bytes_per_block = self.blocks.bytes_per_block;
        output
    }
}
