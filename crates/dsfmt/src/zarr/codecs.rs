//! Compression of chunks. The decompressors of `zarrs` allocate whatever a chunk claims to hold; these stop at a limit, and replace them under
//! names of their own, so that other users of `zarrs` in the same process are not affected.

use std::any::Any;
use std::borrow::Cow;
use std::io::Read;
use std::sync::{Arc, Once};

use serde_json::{Map, Value, json};
use zarrs::array::codec::api::{
    CodecRuntimePluginV3, PartialDecoderCapability, PartialEncoderCapability, register_codec_v3,
};
use zarrs::array::{
    ArrayBytesRaw, BytesRepresentation, BytesToBytesCodecTraits, Codec, CodecError, CodecMetadataOptions, CodecOptions,
    CodecTraits, RecommendedConcurrency,
};
use zarrs::metadata::Configuration;
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::{ExtensionName, PluginCreateError, ZarrVersion};

/// Begins the names of these codecs.
const PREFIX: &str = "dsfmt.";

/// A compression method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// Only read.
    Blosc,
    Gzip,
    Zlib,
    Zstd,
}

impl Method {
    const ALL: [Self; 4] = [Self::Blosc, Self::Gzip, Self::Zlib, Self::Zstd];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Blosc => "blosc",
            Self::Gzip => "gzip",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }

    /// The method of a codec of the Zarr specification, or of `numcodecs`.
    pub(super) fn of_codec(name: &str) -> Option<Self> {
        let name = name.strip_prefix("numcodecs.").unwrap_or(name);
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// The metadata of the codec of this module, with the configuration of the one it replaces. Chunks of unknown size take up to `limit` bytes.
    pub(super) fn bounded(self, configuration: Option<&Value>, limit: u64) -> Value {
        register();
        let mut own = configuration.and_then(Value::as_object).cloned().unwrap_or_default();
        own.insert("limit".to_owned(), limit.into());
        json!({"name": format!("{PREFIX}{}", self.name()), "configuration": own})
    }
}

/// Makes the codecs known to `zarrs`, once.
fn register() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        register_codec_v3(CodecRuntimePluginV3::new(|name| name.starts_with(PREFIX), create));
    });
}

fn create(metadata: &MetadataV3) -> Result<Codec, PluginCreateError> {
    let name = metadata.name().strip_prefix(PREFIX).unwrap_or_default();
    let unknown = || PluginCreateError::Other(format!("unknown codec {name}"));
    let method = Method::of_codec(name).ok_or_else(unknown)?;
    let empty = Map::new();
    let configuration = metadata.configuration().map_or(&empty, |configuration| configuration);
    let level = match (method, configuration.get("level")) {
        (Method::Zstd, None) | (Method::Blosc, _) => 0,
        (_, None) => 6,
        (Method::Zstd, Some(level)) => {
            level.as_i64().filter(|level| (-131_072..=22).contains(level)).unwrap_or(i64::MAX)
        }
        (_, Some(level)) => level.as_i64().filter(|level| (0..=9).contains(level)).unwrap_or(i64::MAX),
    };
    let level = i32::try_from(level);
    let level = level.map_err(|_| PluginCreateError::Other(format!("invalid level of {name}")))?;
    let checksum = configuration.get("checksum").and_then(Value::as_bool) == Some(true);
    let limit = configuration.get("limit").and_then(Value::as_u64).unwrap_or(0);
    Ok(Codec::BytesToBytes(Arc::new(Compression { method, level, checksum, limit })))
}

#[derive(Debug)]
struct Compression {
    method: Method,
    level: i32,
    checksum: bool,
    /// Maximum bytes of a chunk whose size the metadata do not tell.
    limit: u64,
}

impl Compression {
    /// Reads all, up to `limit` bytes.
    fn read(&self, bytes: &[u8], limit: u64, out: &mut Vec<u8>) -> std::io::Result<u64> {
        let mut read = |reader: &mut dyn Read| reader.take(limit.saturating_add(1)).read_to_end(out);
        let read = match self.method {
            Method::Blosc => {
                let invalid = |why| std::io::Error::new(std::io::ErrorKind::InvalidData, why);
                *out = super::blosc::decompress(bytes, limit).map_err(invalid)?;
                Ok(out.len())
            }
            Method::Gzip => read(&mut flate2::read::MultiGzDecoder::new(bytes)),
            Method::Zlib => read(&mut flate2::read::ZlibDecoder::new(bytes)),
            Method::Zstd => read(&mut zstd::stream::read::Decoder::with_buffer(bytes)?),
        };
        read.map(|read| read as u64)
    }

    fn write(&self, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
        let level = flate2::Compression::new(self.level.unsigned_abs());
        let mut out = Vec::new();
        match self.method {
            Method::Blosc => return Err(std::io::Error::other("blosc is only read")),
            Method::Gzip => flate2::bufread::GzEncoder::new(bytes, level).read_to_end(&mut out)?,
            Method::Zlib => flate2::bufread::ZlibEncoder::new(bytes, level).read_to_end(&mut out)?,
            Method::Zstd => {
                let mut compressor = zstd::bulk::Compressor::new(self.level)?;
                compressor.include_checksum(self.checksum)?;
                return compressor.compress(bytes);
            }
        };
        Ok(out)
    }
}

impl ExtensionName for Compression {
    fn name(&self, _: ZarrVersion) -> Option<Cow<'static, str>> {
        Some(format!("{PREFIX}{}", self.method.name()).into())
    }
}

impl CodecTraits for Compression {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn configuration(&self, _: ZarrVersion, _: &CodecMetadataOptions) -> Option<Configuration> {
        let mut configuration = Map::new();
        configuration.insert("level".to_owned(), self.level.into());
        configuration.insert("checksum".to_owned(), self.checksum.into());
        configuration.insert("limit".to_owned(), self.limit.into());
        Some(configuration.into())
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        PartialDecoderCapability { partial_read: false, partial_decode: false }
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        PartialEncoderCapability { partial_encode: false }
    }
}

impl BytesToBytesCodecTraits for Compression {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn BytesToBytesCodecTraits> {
        self
    }

    fn recommended_concurrency(&self, _: &BytesRepresentation) -> Result<RecommendedConcurrency, CodecError> {
        Ok(RecommendedConcurrency::new_maximum(1))
    }

    /// Not known: no buffer is allocated for the worst case.
    fn encoded_representation(&self, _: &BytesRepresentation) -> BytesRepresentation {
        BytesRepresentation::UnboundedSize
    }

    fn encode<'a>(&self, bytes: ArrayBytesRaw<'a>, _: &CodecOptions) -> Result<ArrayBytesRaw<'a>, CodecError> {
        Ok(Cow::Owned(self.write(&bytes)?))
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytesRaw<'a>,
        decoded: &BytesRepresentation,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        let limit = decoded.size().map_or(self.limit, |size| size.min(self.limit));
        let mut out = Vec::new();
        let name = self.method.name();
        let read = self.read(&bytes, limit, &mut out);
        match read.map_err(|cause| CodecError::Other(format!("invalid {name}: {cause}")))? {
            read if read > limit => {
                Err(CodecError::Other(format!("{name} holds more than the {limit} bytes of the chunk")))
            }
            _ => Ok(Cow::Owned(out)),
        }
    }
}
