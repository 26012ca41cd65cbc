use std::fmt;
use std::str::FromStr;

use arrow_schema::Schema;
use container_core::{Error, Result};
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::basic::{BrotliLevel, Compression as Codec, GzipLevel, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};

use crate::batches::columns::sorted;

/// Compression of pages.
///
/// Parses from `none`, `snappy`, `lz4`, `gzip`, `zstd` and `brotli`; the last three with an optional level: `zstd:3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// No compression.
    None,
    /// Fast, and supported by all readers. The default.
    #[default]
    Snappy,
    /// As fast, a little smaller (`LZ4_RAW` in the specification).
    Lz4,
    /// Slow; level 0 to 9.
    Gzip(u32),
    /// Small and still fast; level 1 to 22.
    Zstd(i32),
    /// Smallest and slow; level 0 to 11.
    Brotli(u32),
}

impl Compression {
    pub(super) fn codec(self) -> Result<Codec> {
        let invalid = |_| Error::usage(format!("invalid compression level: {self}"));
        Ok(match self {
            Self::None => Codec::UNCOMPRESSED,
            Self::Snappy => Codec::SNAPPY,
            Self::Lz4 => Codec::LZ4_RAW,
            Self::Gzip(level) => Codec::GZIP(GzipLevel::try_new(level).map_err(invalid)?),
            Self::Zstd(level) => Codec::ZSTD(ZstdLevel::try_new(level).map_err(invalid)?),
            Self::Brotli(level) => Codec::BROTLI(BrotliLevel::try_new(level).map_err(invalid)?),
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
                Error::usage(format!(
                    "{name}: expected a level from {} to {}, found {level:?}",
                    range.start(),
                    range.end()
                ))
            }),
        };
        let plain = |kind: Self| match level {
            None => Ok(kind),
            Some(level) => Err(Error::usage(format!("{name} has no levels, found {level:?}"))),
        };
        match name {
            "none" => plain(Self::None),
            "snappy" => plain(Self::Snappy),
            "lz4" => plain(Self::Lz4),
            "gzip" => number(6, 0..=9).map(Self::Gzip),
            "zstd" => number(1, 1..=22).map(|level| Self::Zstd(level.try_into().unwrap_or(1))),
            "brotli" => number(1, 0..=11).map(Self::Brotli),
            other => Err(Error::usage(format!(
                "unknown compression {other:?} (known: none, snappy, lz4, gzip, zstd, brotli)"
            ))),
        }
    }
}

/// Options for writing a Parquet file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriterOptions {
    /// Compression of pages. Default: Snappy.
    pub compression: Compression,
    /// Maximum rows per row group, at least 1. Default: 1,048,576.
    pub group_rows: usize,
    /// Approximate maximum Arrow bytes per row group; a group has at least one row. Default: 1 MiB per leaf column, clamped to 16 to 64 MiB, and
    /// half of that for the first 16 row groups.
    pub group_bytes: Option<usize>,
    /// Dictionary encoding where it is smaller. Not tried for columns whose first values are nearly all distinct. Default: true.
    pub dictionary: bool,
    /// Write minimum and maximum of each row group and page, so that readers can skip them. Default: true.
    pub statistics: bool,
    /// Threads that encode columns; 0 for one per core. The output does not depend on it.
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
        // Schema metadata is also written as plain key-value pairs, for readers without Arrow.
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
    fn compressions_round_trip_through_text() {
        for (text, expected) in [
            ("none", Compression::None),
            ("snappy", Compression::Snappy),
            ("lz4", Compression::Lz4),
            ("gzip:9", Compression::Gzip(9)),
            ("zstd:3", Compression::Zstd(3)),
            ("brotli:11", Compression::Brotli(11)),
        ] {
            let parsed: Compression = text.parse().unwrap();
            assert_eq!((parsed, parsed.to_string().as_str()), (expected, text));
            parsed.codec().unwrap();
        }
        assert_eq!("zstd".parse::<Compression>().unwrap(), Compression::Zstd(1));
        for (wrong, why) in [
            ("zstd:0", "zstd: expected a level from 1 to 22, found \"0\""),
            ("gzip:x", "gzip: expected a level from 0 to 9, found \"x\""),
            ("lz4:1", "lz4 has no levels, found \"1\""),
            ("deflate", "unknown compression \"deflate\" (known: none, snappy, lz4, gzip, zstd, brotli)"),
        ] {
            assert_eq!(wrong.parse::<Compression>().unwrap_err().to_string(), why);
        }
        assert_eq!(Compression::Zstd(99).codec().unwrap_err().kind().name(), "usage");
    }
}
