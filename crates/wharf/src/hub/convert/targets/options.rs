//! What the options of conversions are called, which values they take, and what they do. Targets list those they have.

use super::super::change::{CHANGE_OPTIONS, ON_MISMATCH};
use super::super::option::{OptionSpec, OptionValue};

/// The defaults of the entries below.
const PLAIN: OptionSpec = OptionSpec::flag("", "");

const TEXT: OptionSpec = PLAIN.with_group("Options for text inputs");
const IDV: OptionSpec = PLAIN.with_group("Options for IDV output");
const DATADINGS: OptionSpec = PLAIN.with_group("Options for datadings output");
const FILES: OptionSpec = PLAIN.with_group("Options for datadings output from folders and ZIP archives of files");
const DS: OptionSpec = PLAIN.with_group("Options for ds and NetCDF output");
const NETCDF: OptionSpec = PLAIN.with_group("Options for NetCDF output");
const ZDS: OptionSpec = PLAIN.with_group("Options for ZDS output");
const ARROW: OptionSpec = PLAIN.with_group("Options for Parquet and Arrow IPC output");

/// Options that describe text inputs; they go with every target.
pub(in super::super) const INPUT_OPTIONS: &[OptionSpec] = &[FROM, NO_HEADER, DELIMITER];

/// Options that go with every target.
pub(in super::super) fn common() -> impl Iterator<Item = &'static OptionSpec> {
    INPUT_OPTIONS.iter().chain(CHANGE_OPTIONS)
}

/// Options that affect how values of any input become typed columns.
pub(in super::super) const MAPPING_OPTIONS: &[OptionSpec] = &[SCHEMA, BATCH_ROWS, TIMES, SPARSE, ON_MISMATCH];

const FROM: OptionSpec =
    TEXT.named("from", "The format of the inputs, where neither content nor extension shows it").with_value(
        OptionValue::Choice(&[
            ("jsonl", "JSON lines, or one array of objects"),
            ("csv", "Comma-separated values"),
            ("tsv", "Tab-separated values"),
            ("idv", "IDV"),
            ("datadings", "datadings"),
            ("zip", "A ZIP archive of files"),
        ]),
        "FORMAT",
    );

const NO_HEADER: OptionSpec =
    TEXT.named("no_header", "CSV and TSV have no header line: columns are called c0, c1, ...");

const DELIMITER: OptionSpec =
    TEXT.named("delimiter", "The character between two cells of CSV").with_value(OptionValue::Character, "CHARACTER");

/// The types of columns, for targets that have types.
pub(super) const SCHEMA: OptionSpec = TEXT
    .named(
        "schema",
        "The types of columns of text inputs and, into ds, Parquet and Arrow IPC, of datadings and ZDS: \
         {\"age\": \"Single\"}, the output of `wharf info --json` for a file that has them, or that file. \
         Type names are those of IDV; into ds, Parquet and Arrow IPC also those of Arrow: {\"at\": \
         \"Timestamp(us)\"}. Types of other columns are inferred from all rows",
    )
    .with_value(OptionValue::File, "FILE");

pub(super) const COMPRESSION: OptionSpec = PLAIN
    .named(
        "compression",
        "Compression of the output: none, deflate or zlib for IDV (ML.NET does not read zlib); none, snappy, \
         lz4, gzip, zstd or brotli for Parquet; none, lz4 or zstd for Arrow IPC; none, gzip or zstd for Zarr. \
         gzip, zstd and brotli take a level: zstd:3",
    )
    .with_value(OptionValue::Text, "CODEC");

pub(super) const NULL_INTEGERS: OptionSpec =
    IDV.named("null_integers", "What becomes of null integers from Parquet and Arrow IPC [default: error]").with_value(
        OptionValue::Choice(&[
            ("error", "An error"),
            ("double", "Nullable integer columns become Double, where NaN means missing"),
        ]),
        "POLICY",
    );

pub(super) const LEVEL: OptionSpec = IDV
    .named("level", "Compression level: 0 (none) to 9 (smallest) [default: 6]")
    .with_value(OptionValue::Integer(0, 9), "0..9");

pub(super) const ROWS_PER_BLOCK: OptionSpec = IDV
    .named("rows_per_block", "Maximum rows of a block [default: 8192, or as many as fit into 80 MiB]")
    .with_value(OptionValue::Integer(1, 0x7FFF_FFFF), "N");

pub(super) const BYTES_PER_BLOCK: OptionSpec = IDV
    .named("bytes_per_block", "Maximum bytes of the blocks of the same rows, before compression [default: 80 MiB]")
    .with_value(OptionValue::Integer(1, u64::MAX), "N");

pub(super) const KEY: OptionSpec = DATADINGS
    .named(
        "key",
        "The column of strings or integers that become the keys; it is kept, and \"key\" is added in front \
         [default: the column \"key\", for ZDS without one \"_id\"]",
    )
    .with_value(OptionValue::Text, "COLUMN")
    .with_excludes(&["number"]);

pub(super) const NUMBER: OptionSpec = DATADINGS.named("number", "Keys are row numbers of ten digits");

pub(super) const CELLS_AS_TEXT: OptionSpec = DATADINGS
    .named("text", "Cells of CSV and TSV stay text; otherwise numbers, booleans and JSON are recognized by column");

pub(super) const NO_MD5: OptionSpec =
    DATADINGS.named("no_md5", "Write no .md5 file: faster where MD5 is slower than the disk");

pub(super) const PATTERN: OptionSpec = FILES
    .named(
        "pattern",
        "Which files, relative to the input: {LABEL} is the folder whose name is the label, * ? [a-z] match \
         parts of a name, ** any folders; can be repeated [default: {LABEL}/**]",
    )
    .with_value(OptionValue::Texts, "PATTERN")
    .with_excludes(&["list"]);

pub(super) const LIST: OptionSpec = FILES
    .named(
        "list",
        "Which files: a text file with one path per line, followed by a tab and the label, if there are labels",
    )
    .with_value(OptionValue::File, "FILE");

pub(super) const SEPARATOR: OptionSpec = FILES
    .named("separator", "What separates path and label in the list [default: a tab]")
    .with_value(OptionValue::Text, "TEXT")
    .with_requires("list");

pub(super) const INCLUDE: OptionSpec = FILES
    .named("include", "Of these files, only those whose path matches; * also matches slashes; can be repeated")
    .with_value(OptionValue::Texts, "PATTERN");

pub(super) const EXCLUDE: OptionSpec = FILES
    .named("exclude", "Leave out files whose path matches; can be repeated")
    .with_value(OptionValue::Texts, "PATTERN");

pub(super) const FOLLOW: OptionSpec = FILES.named(
    "follow",
    "Also import files outside of the folder that links, or paths of {list}, lead to; otherwise that is \
         an error",
);

pub(super) const FIELD: OptionSpec = FILES
    .named(
        "field",
        "Samples are {key, NAME, label}, where NAME is the content, such as image [default: {key, label, \
         path, _additional_info, _label, data}, as Python's DirectoryReader makes them]",
    )
    .with_value(OptionValue::Text, "NAME");

pub(super) const TEXT_LABELS: OptionSpec =
    FILES.named("text_labels", "Labels are strings, not their numbers").with_excludes(&["label_names"]);

pub(super) const LABEL_NAMES: OptionSpec = FILES
    .named(
        "label_names",
        "A text file with one label per line, in the order of their numbers [default: all labels, sorted, 2 \
         before 10]",
    )
    .with_value(OptionValue::File, "FILE");

pub(super) const DIM: OptionSpec = DS
    .named(
        "dim",
        "The dimension of the rows [default: row; for a ds file from which {rows} selects, its only dimension]",
    )
    .with_value(OptionValue::Text, "NAME");

pub(super) const SCALED: OptionSpec =
    DS.named("scaled", "Apply scale_factor and add_offset of NetCDF; without it they stay attributes");

pub(super) const RAGGED: OptionSpec =
    DS.named("ragged", "What becomes of lists of different lengths [default: refuse]").with_value(
        OptionValue::Choice(&[
            ("refuse", "An error"),
            ("pad", "All become as long as the longest: padded with missing elements, which is counted as a loss"),
        ]),
        "POLICY",
    );

pub(super) const STRUCTS: OptionSpec =
    DS.named("structs", "What becomes of structs and objects [default: refuse]").with_value(
        OptionValue::Choice(&[("refuse", "An error"), ("flatten", "Each member becomes a variable named a.b")]),
        "POLICY",
    );

pub(super) const NC_KIND: OptionSpec =
    NETCDF.named("nc_kind", "The kind of file [default: the oldest that can hold the data]").with_value(
        OptionValue::Choice(&[
            ("classic", "CDF-1"),
            ("64bit-offset", "CDF-2, for large files"),
            ("cdf5", "CDF-5, also with unsigned and 64-bit integers"),
            ("netcdf4", "NetCDF-4, which is HDF5"),
        ]),
        "KIND",
    );

pub(super) const UNLIMITED: OptionSpec =
    NETCDF.named("unlimited", "The dimension that can grow later").with_value(OptionValue::Text, "NAME");

pub(super) const DEFLATE: OptionSpec =
    NETCDF.named("deflate", "Compress the values of NetCDF-4").with_value(OptionValue::Integer(1, 9), "1..9");

pub(super) const ID: OptionSpec = ZDS
    .named(
        "id",
        "The field of strings or integers that become the ids; it is kept, and \"_id\" is added in front. \
         Dots lead into objects [default: _id, or else row numbers of ten digits]",
    )
    .with_value(OptionValue::Text, "FIELD");

pub(super) const COLLECTION: OptionSpec = ZDS
    .named("collection", "The name of the collection [default: the name of the input]")
    .with_value(OptionValue::Text, "NAME");

pub(super) const ROW_GROUP: OptionSpec = ARROW
    .named("row_group", "Maximum rows of a Parquet row group [default: 1048576, or as many as fit into 16 to 64 MiB]")
    .with_value(OptionValue::Integer(1, u64::MAX), "N");

pub(super) const BATCH_ROWS: OptionSpec = ARROW
    .named(
        "batch_rows",
        "Maximum rows of an Arrow IPC batch, and of what is read at once [default: 65536, or as many as fit \
         into 32 MiB]",
    )
    .with_value(OptionValue::Integer(1, u64::MAX), "N");

pub(super) const TIMES: OptionSpec = ARROW
    .named("times", "What becomes of times finer than microseconds or, into IDV, finer than 100 ns [default: exact]")
    .with_value(
        OptionValue::Choice(&[
            ("exact", "Microseconds; a finer time is an error"),
            ("floor", "The microsecond at or before the time, also before 1970; a finer time is counted as a loss"),
            ("truncate", ""),
            ("nanoseconds", "Nanoseconds; a time outside of 1677 to 2262 is an error"),
            ("ticks", "Ticks of 100 ns, as integers"),
        ]),
        "POLICY",
    );

pub(super) const SPARSE: OptionSpec =
    ARROW.named("sparse", "What becomes of sparse vectors [default: lists]").with_value(
        OptionValue::Choice(&[
            ("lists", "Lists with all elements"),
            ("structs", "Structs of length, indices and values"),
        ]),
        "LAYOUT",
    );
