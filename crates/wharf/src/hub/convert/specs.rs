//! All options of conversions.

use std::ffi::OsStr;
use std::path::Path;

use container_arrow::{OnMismatch, Sparse, Times};
use container_core::{Error, Result};
use dsfmt::arrow::{Ragged, Structs};
use dsfmt::netcdf;

use super::options::{InputForm, OutputForm};
use super::spec::{OptionSpec, OptionValue, number, text};
use crate::convert::import::Keys;

const COLUMNAR: &[&str] = &["parquet", "arrow", "arrows"];

/// What options have that say no more.
const PLAIN: OptionSpec = OptionSpec {
    name: "",
    group: "",
    outputs: &[],
    value: OptionValue::Flag,
    word: "",
    help: "",
    excludes: &[],
    requires: None,
    set: |_, _, _| Ok(()),
};

const TEXT: OptionSpec = OptionSpec { group: "Options for inputs of text", ..PLAIN };
const IDV: OptionSpec = OptionSpec { group: "Options for the output IDV", outputs: &["idv"], ..PLAIN };
const DATADINGS: OptionSpec =
    OptionSpec { group: "Options for the output datadings", outputs: &["datadings"], ..PLAIN };
const FILES: OptionSpec = OptionSpec {
    group: "Options for the output datadings from folders and ZIP archives of files",
    outputs: &["datadings"],
    ..PLAIN
};
const DS: OptionSpec =
    OptionSpec { group: "Options for the outputs ds and NetCDF", outputs: &["ds", "netcdf"], ..PLAIN };
const NETCDF: OptionSpec = OptionSpec { group: "Options for the output NetCDF", outputs: &["netcdf"], ..PLAIN };
const ZDS: OptionSpec = OptionSpec { group: "Options for the output zds", outputs: &["zds"], ..PLAIN };
const ARROW: OptionSpec =
    OptionSpec { group: "Options for the outputs parquet, arrow and arrows", outputs: COLUMNAR, ..PLAIN };

/// All of them.
pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "compression",
        outputs: &["idv", "parquet", "arrow", "arrows"],
        value: OptionValue::Text,
        word: "KIND",
        help: "How the output is compressed: none, deflate or zlib in IDV (ML.NET does not read zlib); none, snappy, lz4, gzip, zstd or brotli in \
               Parquet; none, lz4 or zstd in Arrow IPC. gzip, zstd and brotli may have a level: zstd:3",
        set: |convert, form, value| {
            let name = text(value)?;
            if form != OutputForm::Idv {
                convert.columnar.compression = Some(name.to_owned());
                return Ok(());
            }
            convert.idv.compression = Some(match name {
                "none" => idv::Compression::None,
                "deflate" => idv::Compression::Deflate,
                "zlib" => idv::Compression::Zlib,
                _ => {
                    let detail = format!("IDV has no compression {name:?}: it has none, deflate and zlib");
                    return Err(Error::usage(detail));
                }
            });
            Ok(())
        },
        ..PLAIN
    },
    OptionSpec {
        name: "from",
        value: OptionValue::Choice(&[
            ("jsonl", "JSON lines, or one array of objects"),
            ("csv", "Comma-separated values"),
            ("tsv", "Tab-separated values"),
            ("idv", "IDV"),
            ("datadings", "datadings"),
            ("zip", "A ZIP archive of files"),
        ]),
        word: "FORM",
        help: "What the inputs are, where neither content nor extension says it",
        set: |convert, form, value| {
            let from = match text(value)? {
                "jsonl" => InputForm::Jsonl,
                "csv" => InputForm::Csv,
                "tsv" => InputForm::Tsv,
                "idv" => InputForm::Idv,
                "datadings" => InputForm::Datadings,
                "zip" => InputForm::Zip,
                other => return Err(unknown(other)),
            };
            let takes_files =
                !is_columnar(form) && !matches!(form, OutputForm::Jsonl | OutputForm::Csv | OutputForm::Tsv);
            if from == InputForm::Zip && !takes_files {
                let detail = format!("zip is for the output datadings, and this one is {}", form.name());
                return Err(Error::usage(detail));
            }
            convert.text.from = Some(from);
            Ok(())
        },
        ..TEXT
    },
    OptionSpec {
        name: "no_header",
        help: "CSV and TSV have no line of names: columns are called c0, c1, ...",
        set: |convert, _, _| {
            convert.text.no_header = true;
            Ok(())
        },
        ..TEXT
    },
    OptionSpec {
        name: "delimiter",
        value: OptionValue::Character,
        word: "CHARACTER",
        help: "What stands between two cells of CSV",
        set: |convert, _, value| {
            let mut characters = text(value)?.chars();
            let (Some(delimiter), None) = (characters.next(), characters.next()) else {
                return Err(Error::usage(format!("is {:?}, and one character is wanted", value.display())));
            };
            convert.text.delimiter = Some(delimiter);
            Ok(())
        },
        ..TEXT
    },
    OptionSpec {
        name: "schema",
        outputs: &["idv", "ds", "netcdf", "parquet", "arrow", "arrows"],
        value: OptionValue::File,
        word: "FILE",
        help: "The types of the columns of a text, and, into ds, Parquet and Arrow IPC, of datadings and ZDS: {\"age\": \"Single\"}, the `wharf info \
               --json` of a file that has them, or that file. Types have the names that IDV has for them; into ds, Parquet and Arrow IPC those of \
               Arrow, too: {\"at\": \"Timestamp(us)\"}. Without, they are inferred from all rows",
        set: |convert, _, value| {
            convert.text.schema = Some(value.into());
            Ok(())
        },
        ..TEXT
    },
    OptionSpec {
        name: "null_integers",
        value: OptionValue::Choice(&[
            ("error", "An error"),
            ("double", "Columns of integers that may be missing become Double, where NaN is missing"),
        ]),
        word: "HOW",
        help: "What becomes of integers that are missing in Parquet and Arrow IPC [default: error]",
        set: |convert, _, value| {
            convert.idv.missing_as_double = value == "double";
            Ok(())
        },
        ..IDV
    },
    OptionSpec {
        name: "level",
        value: OptionValue::Integer(0, 9),
        word: "0..9",
        help: "How hard it compresses: 0 (not at all) to 9 (smallest) [default: 6]",
        set: |convert, _, value| number(value).map(|level| convert.idv.level = level.try_into().ok()),
        ..IDV
    },
    OptionSpec {
        name: "rows_per_block",
        value: OptionValue::Integer(1, 0x7FFF_FFFF),
        word: "N",
        help: "Rows of a block at most [default: 8192, or as many as 80 MiB hold]",
        set: |convert, _, value| number(value).map(|rows| convert.idv.rows_per_block = Some(rows)),
        ..IDV
    },
    OptionSpec {
        name: "bytes_per_block",
        value: OptionValue::Integer(1, u64::MAX),
        word: "N",
        help: "Bytes that the blocks of the same rows take at most, before compression [default: 80 MiB]",
        set: |convert, _, value| number(value).map(|bytes| convert.idv.bytes_per_block = Some(bytes)),
        ..IDV
    },
    OptionSpec {
        name: "key",
        value: OptionValue::Text,
        word: "COLUMN",
        help: "The column whose texts or integers are the keys; it stays, and \"key\" is added in front [default: the column \"key\"]",
        excludes: &["number"],
        set: |convert, _, value| {
            convert.datadings.keys = match text(value)? {
                "key" => Keys::Key,
                column => Keys::Column(column.to_owned()),
            };
            Ok(())
        },
        ..DATADINGS
    },
    OptionSpec {
        name: "number",
        help: "The number of each row, in ten digits, is its key",
        set: |convert, _, _| {
            convert.datadings.keys = Keys::Number;
            Ok(())
        },
        ..DATADINGS
    },
    OptionSpec {
        name: "text",
        help: "Cells of CSV and TSV stay text; else columns of numbers, bools, and JSON become these",
        set: |convert, _, _| {
            convert.datadings.text = true;
            Ok(())
        },
        ..DATADINGS
    },
    OptionSpec {
        name: "no_md5",
        help: "Write no .md5: faster, where MD5 is slower than the disk",
        set: |convert, _, _| {
            convert.datadings.no_md5 = true;
            Ok(())
        },
        ..DATADINGS
    },
    OptionSpec {
        name: "pattern",
        value: OptionValue::Texts,
        word: "PATTERN",
        help: "Which files, relative to the input: {LABEL} is the folder whose name is the label, * ? [a-z] stand for parts of a name, ** for any \
               folders; may be given several times [default: {LABEL}/**]",
        excludes: &["list"],
        set: |convert, _, value| text(value).map(|value| convert.datadings.files.patterns.push(value.to_owned())),
        ..FILES
    },
    OptionSpec {
        name: "list",
        value: OptionValue::File,
        word: "FILE",
        help: "Which files: a text with a path on each line, then a tabulator and the label, if there are labels",
        set: |convert, _, value| text_file(value).map(|file| convert.datadings.files.list = Some(file)),
        ..FILES
    },
    OptionSpec {
        name: "separator",
        value: OptionValue::Text,
        word: "TEXT",
        help: "What separates path and label in the list [default: a tabulator]",
        requires: Some("list"),
        set: |convert, _, value| text(value).map(|value| value.clone_into(&mut convert.datadings.files.separator)),
        ..FILES
    },
    OptionSpec {
        name: "include",
        value: OptionValue::Texts,
        word: "PATTERN",
        help: "Of these files, only those whose path matches; * also matches slashes; may be given several times",
        set: |convert, _, value| text(value).map(|value| convert.datadings.files.include.push(value.to_owned())),
        ..FILES
    },
    OptionSpec {
        name: "exclude",
        value: OptionValue::Texts,
        word: "PATTERN",
        help: "Not those whose path matches; may be given several times",
        set: |convert, _, value| text(value).map(|value| convert.datadings.files.exclude.push(value.to_owned())),
        ..FILES
    },
    OptionSpec {
        name: "follow",
        help: "Import what links, and the paths of {list}, lead to outside of the folder, too: otherwise that is an error",
        set: |convert, _, _| {
            convert.datadings.files.follow = true;
            Ok(())
        },
        ..FILES
    },
    OptionSpec {
        name: "field",
        value: OptionValue::Text,
        word: "NAME",
        help: "Samples are {key, NAME, label}, NAME being the content: image, say. Without: {key, label, path, _additional_info, _label, data}, as \
               Python's DirectoryReader has them",
        set: |convert, _, value| {
            let field = text(value)?;
            if ["key", "label"].contains(&field) {
                return Err(Error::usage(format!("{field:?} is the name of another field of the samples")));
            }
            convert.datadings.files.field = Some(field.to_owned());
            Ok(())
        },
        ..FILES
    },
    OptionSpec {
        name: "text_labels",
        help: "Labels are their texts and not their numbers",
        excludes: &["label_names"],
        set: |convert, _, _| {
            convert.datadings.files.text_labels = true;
            Ok(())
        },
        ..FILES
    },
    OptionSpec {
        name: "label_names",
        value: OptionValue::File,
        word: "FILE",
        help: "A text with a label on each line, in the order of their numbers [default: all there are, sorted, 2 before 10]",
        set: |convert, _, value| text_file(value).map(|file| convert.datadings.files.labels = Some(file)),
        ..FILES
    },
    OptionSpec {
        name: "dim",
        value: OptionValue::Text,
        word: "NAME",
        help: "The dimension along which rows lie [default: row; of a ds file that is cut by {rows} the only one there is]",
        set: |convert, _, value| text(value).map(|value| convert.ds.dim = Some(value.to_owned())),
        ..DS
    },
    OptionSpec {
        name: "scaled",
        help: "Apply scale_factor and add_offset of NetCDF; without, they stay attributes",
        set: |convert, _, _| {
            convert.ds.scaled = true;
            Ok(())
        },
        ..DS
    },
    OptionSpec {
        name: "ragged",
        value: OptionValue::Choice(&[
            ("refuse", "An error"),
            ("pad", "All are as long as the longest: filled up with missing elements, counted as a loss"),
        ]),
        word: "HOW",
        help: "What becomes of lists of different lengths [default: refuse]",
        set: |convert, _, value| {
            convert.ds.ragged = Some(if value == "pad" { Ragged::Pad } else { Ragged::Refuse });
            Ok(())
        },
        ..DS
    },
    OptionSpec {
        name: "structs",
        value: OptionValue::Choice(&[
            ("refuse", "An error"),
            ("flatten", "Each member becomes a variable, called a.b"),
        ]),
        word: "HOW",
        help: "What becomes of structs and objects [default: refuse]",
        set: |convert, _, value| {
            convert.ds.structs = Some(if value == "flatten" { Structs::Flatten } else { Structs::Refuse });
            Ok(())
        },
        ..DS
    },
    OptionSpec {
        name: "nc_kind",
        value: OptionValue::Choice(&[
            ("classic", "CDF-1"),
            ("64bit-offset", "CDF-2, for large files"),
            ("cdf5", "CDF-5, also with unsigned and 64-bit integers"),
            ("netcdf4", "NetCDF-4, which is HDF5"),
        ]),
        word: "KIND",
        help: "The kind of file [default: the first of the classic ones that holds the data]",
        set: |convert, _, value| {
            convert.netcdf.kind = Some(match text(value)? {
                "classic" => netcdf::Kind::Classic,
                "64bit-offset" => netcdf::Kind::Offset64,
                "cdf5" => netcdf::Kind::Data64,
                "netcdf4" => netcdf::Kind::Hdf5,
                other => return Err(unknown(other)),
            });
            Ok(())
        },
        ..NETCDF
    },
    OptionSpec {
        name: "unlimited",
        value: OptionValue::Text,
        word: "NAME",
        help: "The dimension that may grow later",
        set: |convert, _, value| text(value).map(|value| convert.netcdf.unlimited = Some(value.to_owned())),
        ..NETCDF
    },
    OptionSpec {
        name: "deflate",
        value: OptionValue::Integer(1, 9),
        word: "1..9",
        help: "Compress the values of NetCDF-4",
        set: |convert, _, value| number(value).map(|level| convert.netcdf.deflate = level.try_into().ok()),
        ..NETCDF
    },
    OptionSpec {
        name: "id",
        value: OptionValue::Text,
        word: "FIELD",
        help: "The member whose texts or integers are the ids; it stays, and \"_id\" is added in front. Dots lead into objects [default: _id, and else \
               the number of the row in ten digits]",
        set: |convert, _, value| text(value).map(|value| convert.zds.id = Some(value.to_owned())),
        ..ZDS
    },
    OptionSpec {
        name: "collection",
        value: OptionValue::Text,
        word: "NAME",
        help: "The collection's name [default: the name of the input]",
        set: |convert, _, value| text(value).map(|value| convert.zds.collection = Some(value.to_owned())),
        ..ZDS
    },
    OptionSpec {
        name: "row_group",
        outputs: &["parquet"],
        value: OptionValue::Integer(1, u64::MAX),
        word: "N",
        help: "Rows of a row group of Parquet at most [default: 1048576, or as many as 16 to 64 MiB hold]",
        set: |convert, _, value| number(value).map(|rows| convert.columnar.row_group = Some(rows)),
        ..ARROW
    },
    OptionSpec {
        name: "batch_rows",
        value: OptionValue::Integer(1, u64::MAX),
        word: "N",
        help: "Rows of a batch of Arrow IPC at most, and of what is read at once [default: 65536, or as many as 32 MiB hold]",
        set: |convert, _, value| number(value).map(|rows| convert.columnar.batch_rows = Some(rows)),
        ..ARROW
    },
    OptionSpec {
        name: "times",
        outputs: &["idv", "parquet", "arrow", "arrows"],
        value: OptionValue::Choice(&[
            ("exact", "Microseconds; a finer one is an error"),
            ("floor", "The microsecond at or before the time, also before 1970; a finer time is counted as a loss"),
            ("truncate", ""),
            ("nanoseconds", "Nanoseconds; one outside of 1677 to 2262 is an error"),
            ("ticks", "Ticks of 100 ns, as integers"),
        ]),
        word: "HOW",
        help: "What becomes of times that are finer than microseconds; also of those that are finer than 100 ns, into IDV [default: exact]",
        set: |convert, _, value| {
            convert.columnar.times = Some(match text(value)? {
                "exact" => Times::Exact,
                "floor" => Times::Floor,
                "nanoseconds" => Times::Nanoseconds,
                "ticks" => Times::Ticks,
                "truncate" => {
                    return Err(Error::usage("truncate is no word for it any more")
                        .advising("{times} floor takes the microsecond before a finer time, also before 1970"));
                }
                other => return Err(unknown(other)),
            });
            Ok(())
        },
        ..ARROW
    },
    OptionSpec {
        name: "sparse",
        value: OptionValue::Choice(&[
            ("lists", "Lists with all elements"),
            ("structs", "Structs of length, indices and values"),
        ]),
        word: "HOW",
        help: "What becomes of sparse vectors [default: lists]",
        set: |convert, _, value| {
            convert.columnar.sparse = Some(if value == "structs" { Sparse::Structs } else { Sparse::Lists });
            Ok(())
        },
        ..ARROW
    },
    OptionSpec {
        name: "on_mismatch",
        outputs: &["idv", "ds", "netcdf", "parquet", "arrow", "arrows"],
        value: OptionValue::Choice(&[
            ("error", "An error"),
            ("null", "Null, counted as a loss"),
            ("json", "All values of the column become JSON"),
            ("msgpack", "All values of the column become msgpack"),
        ]),
        word: "HOW",
        help: "What becomes of a value that its column's type cannot hold, where the input has no schema; also of one from datadings into ds [default: \
               error]",
        set: |convert, _, value| {
            convert.columnar.on_mismatch = Some(match text(value)? {
                "error" => OnMismatch::Error,
                "null" => OnMismatch::Null,
                "json" => OnMismatch::Json,
                "msgpack" => OnMismatch::Msgpack,
                other => return Err(unknown(other)),
            });
            Ok(())
        },
        ..ARROW
    },
];

/// Parquet, Arrow IPC, or a format of somebody else, which gets record batches.
fn is_columnar(form: OutputForm) -> bool {
    matches!(form, OutputForm::Parquet | OutputForm::Arrow | OutputForm::Arrows | OutputForm::Other(_))
}

/// A word that the choices do not have: they were checked.
#[cold]
fn unknown(word: &str) -> Error {
    Error::usage(format!("is {word:?}, which is not known"))
}

/// A text file's name and content.
fn text_file(path: &OsStr) -> Result<(String, String)> {
    let path = Path::new(path);
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => Ok((name, text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())),
        Err(cause) if cause.kind() == std::io::ErrorKind::InvalidData => {
            Err(Error::invalid("the text is not UTF-8").in_file(name))
        }
        Err(cause) => Err(Error::io("cannot read", cause).in_file(name)),
    }
}
