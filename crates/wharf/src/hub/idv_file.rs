//! Opens IDV files, and the options of files like them.

use arrow_schema::{DataType, Field};
use container_core::{Error, Result};
use idv::ItemType;

use super::convert::{OptionSpec, OptionValue};
use super::env::Opener;
use super::inputs::Location;

/// The name of the format.
pub(super) const IDV: &str = "idv";

/// Opens an input that must be an IDV file.
pub(super) fn open_idv(location: &Location, opener: &mut Opener<'_>, verb: &str) -> Result<idv::Reader> {
    let named = |error: Error| error.in_file(location.name());
    let input = location.input(opener).map_err(named)?;
    let format = opener.registry.detect(&input).map_err(named)?;
    match (format.name(), input.source()) {
        (IDV, Some(source)) => {
            let options = idv::OpenOptions::default().with_access(opener.access);
            idv::Reader::from_source(source.clone(), options).map_err(named)
        }
        (other, _) => Err(named(Error::usage(format!("{verb} works on IDV files, the input is {other}")))),
    }
}

/// The IDV type for the values of a column; `None` for types that IDV lacks.
pub(super) fn item_type(field: &Field) -> Option<ItemType> {
    Some(match field.data_type() {
        DataType::Int8 => ItemType::SByte,
        DataType::Int16 => ItemType::Int16,
        DataType::Int32 => ItemType::Int32,
        DataType::Int64 => ItemType::Int64,
        DataType::UInt8 => ItemType::Byte,
        DataType::UInt16 => ItemType::UInt16,
        DataType::UInt32 => ItemType::UInt32,
        DataType::UInt64 => ItemType::UInt64,
        DataType::Float16 | DataType::Float32 => ItemType::Single,
        DataType::Float64 => ItemType::Double,
        DataType::Boolean if field.is_nullable() => ItemType::DvBool,
        DataType::Boolean => ItemType::Boolean,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ItemType::Text,
        _ => return None,
    })
}

/// The heading of options for IDV.
pub(super) const OPTIONS: OptionSpec = OptionSpec::flag("", "").with_group("Options for IDV");

/// Options of verbs that write IDV files like their inputs: those of [`IdvTarget`](super::convert::IdvTarget), in other words.
pub(super) const WRITER_OPTIONS: [OptionSpec; 4] = [
    OPTIONS.named("compression", "Compression of blocks").with_value(COMPRESSION, "KIND"),
    OPTIONS
        .named("level", "Compression level, 0 (none) to 9 (smallest) [default: 6]")
        .with_value(OptionValue::Integer(0, 9), "0..9"),
    OPTIONS
        .named("rows_per_block", "Maximum rows per block [default: 8192, or fewer to stay within {bytes_per_block}]")
        .with_value(OptionValue::Integer(1, 0x7FFF_FFFF), "N"),
    OPTIONS
        .named("bytes_per_block", "Maximum uncompressed bytes of one block of every column together [default: 80 MiB]")
        .with_value(OptionValue::Integer(1, u64::MAX), "N"),
];

const COMPRESSION: OptionValue = OptionValue::Choice(&[
    ("none", "No compression"),
    ("deflate", "The default of ML.NET"),
    ("zlib", "Not readable by ML.NET"),
]);
