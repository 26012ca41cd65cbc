//! What the options of conversions are called, which values they take, and what they do. Targets list those they have.

use super::super::option::{OptionSpec, OptionValue};

/// The defaults of the entries below.
const PLAIN: OptionSpec = OptionSpec::flag("", "");

const TEXT: OptionSpec = OptionSpec { group: "Options for text inputs", ..PLAIN };
const IDV: OptionSpec = OptionSpec { group: "Options for IDV output", ..PLAIN };
const DATADINGS: OptionSpec = OptionSpec { group: "Options for datadings output", ..PLAIN };
const FILES: OptionSpec =
    OptionSpec { group: "Options for datadings output from folders and ZIP archives of files", ..PLAIN };
const DS: OptionSpec = OptionSpec { group: "Options for ds and NetCDF output", ..PLAIN };
const NETCDF: OptionSpec = OptionSpec { group: "Options for NetCDF output", ..PLAIN };
const ZDS: OptionSpec = OptionSpec { group: "Options for ZDS output", ..PLAIN };
const ARROW: OptionSpec = OptionSpec { group: "Options for Parquet and Arrow IPC output", ..PLAIN };

/// Options that describe text inputs; they go with every target.
pub(in super::super) const INPUT_OPTIONS: &[OptionSpec] = &[FROM, NO_HEADER, DELIMITER];

const FROM: OptionSpec = OptionSpec {
    name: "from",
    value: OptionValue::Choice(&[
        ("jsonl", "JSON lines, or one array of objects"),
        ("csv", "Comma-separated values"),
        ("tsv", "Tab-separated values"),
        ("idv", "IDV"),
        ("datadings", "datadings"),
        ("zip", "A ZIP archive of files"),
    ]),
    placeholder: "FORMAT",
    help: "The format of the inputs, where neither content nor extension shows it",
    ..TEXT
};

const NO_HEADER: OptionSpec =
    OptionSpec { name: "no_header", help: "CSV and TSV have no header line: columns are called c0, c1, ...", ..TEXT };

const DELIMITER: OptionSpec = OptionSpec {
    name: "delimiter",
    value: OptionValue::Character,
    placeholder: "CHARACTER",
    help: "The character between two cells of CSV",
    ..TEXT
};

/// The types of columns, for targets that have types.
pub(super) const SCHEMA: OptionSpec = OptionSpec {
    name: "schema",
    value: OptionValue::File,
    placeholder: "FILE",
    help: "The types of the columns of text inputs and, into ds, Parquet and Arrow IPC, of datadings and ZDS: {\"age\": \"Single\"}, the output of \
           `wharf info --json` for a file that has them, or that file. Type names are those of IDV; into ds, Parquet and Arrow IPC also those of \
           Arrow: {\"at\": \"Timestamp(us)\"} [default: inferred from all rows]",
    ..TEXT
};

pub(super) const COMPRESSION: OptionSpec = OptionSpec {
    name: "compression",
    value: OptionValue::Text,
    placeholder: "CODEC",
    help: "Compression of the output: none, deflate or zlib for IDV (ML.NET does not read zlib); none, snappy, lz4, gzip, zstd or brotli for \
           Parquet; none, lz4 or zstd for Arrow IPC. gzip, zstd and brotli take a level: zstd:3",
    ..PLAIN
};

pub(super) const NULL_INTEGERS: OptionSpec = OptionSpec {
    name: "null_integers",
    value: OptionValue::Choice(&[
        ("error", "An error"),
        ("double", "Nullable integer columns become Double, where NaN means missing"),
    ]),
    placeholder: "POLICY",
    help: "What becomes of null integers from Parquet and Arrow IPC [default: error]",
    ..IDV
};

pub(super) const LEVEL: OptionSpec = OptionSpec {
    name: "level",
    value: OptionValue::Integer(0, 9),
    placeholder: "0..9",
    help: "Compression level: 0 (none) to 9 (smallest) [default: 6]",
    ..IDV
};

pub(super) const ROWS_PER_BLOCK: OptionSpec = OptionSpec {
    name: "rows_per_block",
    value: OptionValue::Integer(1, 0x7FFF_FFFF),
    placeholder: "N",
    help: "Maximum rows of a block [default: 8192, or as many as fit into 80 MiB]",
    ..IDV
};

pub(super) const BYTES_PER_BLOCK: OptionSpec = OptionSpec {
    name: "bytes_per_block",
    value: OptionValue::Integer(1, u64::MAX),
    placeholder: "N",
    help: "Maximum bytes of the blocks of the same rows, before compression [default: 80 MiB]",
    ..IDV
};

pub(super) const KEY: OptionSpec = OptionSpec {
    name: "key",
    value: OptionValue::Text,
    placeholder: "COLUMN",
    help: "The column of strings or integers that become the keys; it is kept, and \"key\" is added in front [default: the column \"key\"]",
    excludes: &["number"],
    ..DATADINGS
};

pub(super) const NUMBER: OptionSpec =
    OptionSpec { name: "number", help: "Keys are row numbers of ten digits", ..DATADINGS };

pub(super) const CELLS_AS_TEXT: OptionSpec = OptionSpec {
    name: "text",
    help: "Cells of CSV and TSV stay text; otherwise numbers, booleans and JSON are recognized by column",
    ..DATADINGS
};

pub(super) const NO_MD5: OptionSpec =
    OptionSpec { name: "no_md5", help: "Write no .md5 file: faster where MD5 is slower than the disk", ..DATADINGS };

pub(super) const PATTERN: OptionSpec = OptionSpec {
    name: "pattern",
    value: OptionValue::Texts,
    placeholder: "PATTERN",
    help: "Which files, relative to the input: {LABEL} is the folder whose name is the label, * ? [a-z] match parts of a name, ** any folders; can \
           be repeated [default: {LABEL}/**]",
    excludes: &["list"],
    ..FILES
};

pub(super) const LIST: OptionSpec = OptionSpec {
    name: "list",
    value: OptionValue::File,
    placeholder: "FILE",
    help: "Which files: a text file with one path per line, followed by a tab and the label, if there are labels",
    ..FILES
};

pub(super) const SEPARATOR: OptionSpec = OptionSpec {
    name: "separator",
    value: OptionValue::Text,
    placeholder: "TEXT",
    help: "What separates path and label in the list [default: a tab]",
    requires: Some("list"),
    ..FILES
};

pub(super) const INCLUDE: OptionSpec = OptionSpec {
    name: "include",
    value: OptionValue::Texts,
    placeholder: "PATTERN",
    help: "Of these files, only those whose path matches; * also matches slashes; can be repeated",
    ..FILES
};

pub(super) const EXCLUDE: OptionSpec = OptionSpec {
    name: "exclude",
    value: OptionValue::Texts,
    placeholder: "PATTERN",
    help: "Leave out files whose path matches; can be repeated",
    ..FILES
};

pub(super) const FOLLOW: OptionSpec = OptionSpec {
    name: "follow",
    help: "Also import files outside of the folder that links, or paths of {list}, lead to; otherwise that is an error",
    ..FILES
};

pub(super) const FIELD: OptionSpec = OptionSpec {
    name: "field",
    value: OptionValue::Text,
    placeholder: "NAME",
    help: "Samples are {key, NAME, label}, where NAME is the content, such as image [default: {key, label, path, _additional_info, _label, data}, \
           as Python's DirectoryReader makes them]",
    ..FILES
};

pub(super) const TEXT_LABELS: OptionSpec = OptionSpec {
    name: "text_labels",
    help: "Labels are strings, not their numbers",
    excludes: &["label_names"],
    ..FILES
};

pub(super) const LABEL_NAMES: OptionSpec = OptionSpec {
    name: "label_names",
    value: OptionValue::File,
    placeholder: "FILE",
    help: "A text file with one label per line, in the order of their numbers [default: all labels, sorted, 2 before 10]",
    ..FILES
};

pub(super) const DIM: OptionSpec = OptionSpec {
    name: "dim",
    value: OptionValue::Text,
    placeholder: "NAME",
    help: "The dimension of the rows [default: row; for a ds file from which {rows} selects, its only dimension]",
    ..DS
};

pub(super) const SCALED: OptionSpec = OptionSpec {
    name: "scaled",
    help: "Apply scale_factor and add_offset of NetCDF; without it they stay attributes",
    ..DS
};

pub(super) const RAGGED: OptionSpec = OptionSpec {
    name: "ragged",
    value: OptionValue::Choice(&[
        ("refuse", "An error"),
        ("pad", "All become as long as the longest: padded with missing elements, which is counted as a loss"),
    ]),
    placeholder: "POLICY",
    help: "What becomes of lists of different lengths [default: refuse]",
    ..DS
};

pub(super) const STRUCTS: OptionSpec = OptionSpec {
    name: "structs",
    value: OptionValue::Choice(&[("refuse", "An error"), ("flatten", "Each member becomes a variable named a.b")]),
    placeholder: "POLICY",
    help: "What becomes of structs and objects [default: refuse]",
    ..DS
};

pub(super) const NC_KIND: OptionSpec = OptionSpec {
    name: "nc_kind",
    value: OptionValue::Choice(&[
        ("classic", "CDF-1"),
        ("64bit-offset", "CDF-2, for large files"),
        ("cdf5", "CDF-5, also with unsigned and 64-bit integers"),
        ("netcdf4", "NetCDF-4, which is HDF5"),
    ]),
    placeholder: "KIND",
    help: "The kind of file [default: the first of the classic ones that can hold the data]",
    ..NETCDF
};

pub(super) const UNLIMITED: OptionSpec = OptionSpec {
    name: "unlimited",
    value: OptionValue::Text,
    placeholder: "NAME",
    help: "The dimension that can grow later",
    ..NETCDF
};

pub(super) const DEFLATE: OptionSpec = OptionSpec {
    name: "deflate",
    value: OptionValue::Integer(1, 9),
    placeholder: "1..9",
    help: "Compress the values of NetCDF-4",
    ..NETCDF
};

pub(super) const ID: OptionSpec = OptionSpec {
    name: "id",
    value: OptionValue::Text,
    placeholder: "FIELD",
    help: "The field of strings or integers that become the ids; it is kept, and \"_id\" is added in front. Dots lead into objects [default: _id, \
           or else row numbers of ten digits]",
    ..ZDS
};

pub(super) const COLLECTION: OptionSpec = OptionSpec {
    name: "collection",
    value: OptionValue::Text,
    placeholder: "NAME",
    help: "The name of the collection [default: the name of the input]",
    ..ZDS
};

pub(super) const ROW_GROUP: OptionSpec = OptionSpec {
    name: "row_group",
    value: OptionValue::Integer(1, u64::MAX),
    placeholder: "N",
    help: "Maximum rows of a Parquet row group [default: 1048576, or as many as fit into 16 to 64 MiB]",
    ..ARROW
};

pub(super) const BATCH_ROWS: OptionSpec = OptionSpec {
    name: "batch_rows",
    value: OptionValue::Integer(1, u64::MAX),
    placeholder: "N",
    help: "Maximum rows of an Arrow IPC batch, and of what is read at once [default: 65536, or as many as fit into 32 MiB]",
    ..ARROW
};

pub(super) const TIMES: OptionSpec = OptionSpec {
    name: "times",
    value: OptionValue::Choice(&[
        ("exact", "Microseconds; a finer time is an error"),
        ("floor", "The microsecond at or before the time, also before 1970; a finer time is counted as a loss"),
        ("truncate", ""),
        ("nanoseconds", "Nanoseconds; a time outside of 1677 to 2262 is an error"),
        ("ticks", "Ticks of 100 ns, as integers"),
    ]),
    placeholder: "POLICY",
    help: "What becomes of times finer than microseconds or, into IDV, finer than 100 ns [default: exact]",
    ..ARROW
};

pub(super) const SPARSE: OptionSpec = OptionSpec {
    name: "sparse",
    value: OptionValue::Choice(&[
        ("lists", "Lists with all elements"),
        ("structs", "Structs of length, indices and values"),
    ]),
    placeholder: "LAYOUT",
    help: "What becomes of sparse vectors [default: lists]",
    ..ARROW
};

pub(super) const ON_MISMATCH: OptionSpec = OptionSpec {
    name: "on_mismatch",
    value: OptionValue::Choice(&[
        ("error", "An error"),
        ("null", "Null, counted as a loss"),
        ("json", "All values of the column become JSON"),
        ("msgpack", "All values of the column become msgpack"),
    ]),
    placeholder: "POLICY",
    help: "What becomes of a value that its column's type cannot hold, for inputs without a schema, and of such a value from datadings into ds \
           [default: error]",
    ..ARROW
};
