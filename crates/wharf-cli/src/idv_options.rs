//! Options for writing IDV files.

use wharf::convert::IdvTarget;

/// Compression and block options.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct IdvOptions {
    /// Compression of blocks
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) compression: Option<Compression>,

    #[command(flatten)]
    pub(crate) blocks: Blocks,
}

/// Block options.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Blocks {
    /// Compression level, 0 (none) to 9 (smallest) [default: 6]
    #[arg(long, value_name = "0..9", value_parser = clap::value_parser!(u8).range(0..=9))]
    pub(crate) level: Option<u8>,

    /// Maximum rows per block [default: 8192, or fewer to stay within --bytes-per-block]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=0x7FFF_FFFF))]
    pub(crate) rows_per_block: Option<u64>,

    /// Maximum uncompressed bytes of one block of every column together [default: 80 MiB]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) bytes_per_block: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Compression {
    /// No compression
    None,
    /// The default of ML.NET
    Deflate,
    /// Not readable by ML.NET
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

impl IdvOptions {
    /// The library's form of these options.
    pub(crate) fn output(&self) -> IdvTarget {
        let mut output = IdvTarget::default();
        output.compression = self.compression.map(Into::into);
        output.level = self.blocks.level;
        output.rows_per_block = self.blocks.rows_per_block;
        output.bytes_per_block = self.blocks.bytes_per_block;
        output
    }
}
