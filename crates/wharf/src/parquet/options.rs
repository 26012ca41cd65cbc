use std::fmt;
use std::str::FromStr;

use arrow_schema::Schema;
use container_core::{Error, Result};
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::basic::{BrotliLevel, Compression as Codec, GzipLevel, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};

use crate::batches::columns::sorted;

/// How pages are compressed.
///
/// As a text: `none`, `snappy`, `lz4`, `gzip`, `zstd`, `brotli`; the last three with a level, if wanted: `zstd:3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    None,
    /// Fast, and read by everybody: the default.
    #[default]
    Snappy,
    /// As fast, and a little smaller (`LZ4_RAW` in the format's words).
    Lz4,
    /// Slow; 0 to 9.
    Gzip(u32),
    /// Small, and still fast; 1 to 22.
    Zstd(i32),
    /// Smallest, and slow; 0 to 11.
    Brotli(u32),
}

impl Compression {
    pub(super) fn codec(self) -> Result<Codec> {
        let wrong = |_| Error::usage(format!("there is no compression {self}"));
        Ok(match self {
            Self::None => Codec::UNCOMPRESSED,
            Self::Snappy => Codec::SNAPPY,
            Self::Lz4 => Codec::LZ4_RAW,
            Self::Gzip(level) => Codec::GZIP(GzipLevel::try_new(level).map_err(wrong)?),
            Self::Zstd(level) => Codec::ZSTD(ZstdLevel::try_new(level).map_err(wrong)?),
            Self::Brotli(level) => Codec::BROTLI(BrotliLevel::try_new(level).map_err(wrong)?),
        })
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Snappy => f.write_str("snappy"),
            Self::Lz4 => f.write_str("lz4"),
            Self::Gzip(level) => write!(f, "gzip:{level}"),
            Self::Zstd(level) => write!(f, "zstd:{level}"),
            Self::Brotli(level) => write!(f, "brotli:{level}"),
        }
    }
}

impl FromStr for Compression {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, level) = text.split_once(':').map_or((text, None), |(name, level)| (name, Some(level)));
        let number = |default: u32, range: std::ops::RangeInclusive<u32>| match level {
            None => Ok(default),
            Some(level) => level.parse().ok().filter(|level| range.contains(level)).ok_or_else(|| {
                Error::usage(format!("{name} has the levels {} to {}, not {level:?}", range.start(), range.end()))
            }),
        };
        let plain = |kind: Self| match level {
            None => Ok(kind),
            Some(level) => Err(Error::usage(format!("{name} has no levels, and {level:?} is given"))),
        };
        match name {
            "none" => plain(Self::None),
            "snappy" => plain(Self::Snappy),
            "lz4" => plain(Self::Lz4),
            "gzip" => number(6, 0..=9).map(Self::Gzip),
            "zstd" => number(1, 1..=22).map(|level| Self::Zstd(level.try_into().unwrap_or(1))),
            "brotli" => number(1, 0..=11).map(Self::Brotli),
            other => Err(Error::usage(format!(
                "Parquet has no compression {other:?}: it has none, snappy, lz4, gzip, zstd and brotli"
            ))),
        }
    }
}

/// How a Parquet file is written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriterOptions {
    /// How pages are compressed. Default Snappy.
    pub compression: Compression,
    /// Rows of a row group at most; at least 1. Default 1,048,576.
    pub group_rows: usize,
    /// Bytes of a row group in Arrow's form at most, about; it has one row at least. Without it (the default): a MiB for each column that is
    /// stored, 16 MiB at least and 64 MiB at most, and half of it in the first 16 row groups.
    pub group_bytes: Option<usize>,
    /// Values that come back are written once, where that is smaller. A column whose first values are nearly all different is not tried.
    /// Default yes.
    pub dictionary: bool,
    /// The smallest and the largest value of each row group and page, so that readers can leave out what they do not want. Default yes.
    pub statistics: bool,
    /// Threads that encode columns; 0 for as many as the machine has. The bytes are the same however many there are.
    pub threads: usize,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            compression: Compression::default(),
            group_rows: 1 << 20,
            group_bytes: None,
            dictionary: true,
            statistics: true,
            threads: 0,
        }
    }
}

impl WriterOptions {
    /// Replaces [`compression`](Self::compression).
    #[must_use]
    pub const fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Replaces [`group_rows`](Self::group_rows); 0 counts as 1.
    #[must_use]
    pub fn with_group_rows(mut self, rows: usize) -> Self {
        self.group_rows = rows.max(1);
        self
    }

    /// Replaces [`group_bytes`](Self::group_bytes).
    #[must_use]
    pub const fn with_group_bytes(mut self, bytes: usize) -> Self {
        self.group_bytes = Some(bytes);
        self
    }

    /// Replaces [`dictionary`](Self::dictionary).
    #[must_use]
    pub const fn with_dictionary(mut self, yes: bool) -> Self {
        self.dictionary = yes;
        self
    }

    /// Replaces [`statistics`](Self::statistics).
    #[must_use]
    pub const fn with_statistics(mut self, yes: bool) -> Self {
        self.statistics = yes;
        self
    }

    /// Replaces [`threads`](Self::threads).
    #[must_use]
    pub const fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    pub(super) fn properties(&self, schema: &Schema) -> Result<WriterPropertiesBuilder> {
        // Metadata of the schema is for those, too, who do not know the one of Arrow.
        let pairs = sorted(schema.metadata()).into_iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
        let pairs: Vec<KeyValue> = pairs.filter(|pair| pair.key != ARROW_SCHEMA_META_KEY).collect();
        let statistics = if self.statistics { EnabledStatistics::Page } else { EnabledStatistics::None };
        let properties = WriterProperties::builder()
            .set_compression(self.compression.codec()?)
            .set_dictionary_enabled(self.dictionary)
            .set_statistics_enabled(statistics)
            .set_key_value_metadata(Some(pairs).filter(|pairs| !pairs.is_empty()));
        Ok(properties)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressions_are_read_from_text_and_written_back() {
        for (text, wanted) in [
            ("none", Compression::None),
            ("snappy", Compression::Snappy),
            ("lz4", Compression::Lz4),
            ("gzip:9", Compression::Gzip(9)),
            ("zstd:3", Compression::Zstd(3)),
            ("brotli:11", Compression::Brotli(11)),
        ] {
            let found: Compression = text.parse().unwrap();
            assert_eq!((found, found.to_string().as_str()), (wanted, text));
            found.codec().unwrap();
        }
        assert_eq!("zstd".parse::<Compression>().unwrap(), Compression::Zstd(1));
        for (wrong, why) in [
            ("zstd:0", "zstd has the levels 1 to 22, not \"0\""),
            ("gzip:x", "gzip has the levels 0 to 9, not \"x\""),
            ("lz4:1", "lz4 has no levels, and \"1\" is given"),
            ("deflate", "Parquet has no compression \"deflate\": it has none, snappy, lz4, gzip, zstd and brotli"),
        ] {
            assert_eq!(wrong.parse::<Compression>().unwrap_err().to_string(), why);
        }
        assert_eq!(Compression::Zstd(99).codec().unwrap_err().kind().name(), "usage");
    }
}
