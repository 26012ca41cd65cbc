//! Text formats as containers with one table: JSON lines, CSV and TSV.
//!
//! The extension decides the format: `.jsonl`, `.ndjson` and `.json`, `.csv`, `.tsv`. Without a known extension, text that begins with `{` is
//! JSON lines. Text is UTF-8, with or without a byte order mark.
//!
//! JSON lines have an object on each line; a file may also be one array of objects. Blank lines are skipped. Of duplicate members the last one
//! is used.
//!
//! CSV cells may be quoted (RFC 4180). Lines end with LF, CR or CRLF; empty lines are skipped. The first line is the header: a duplicate name gets
//! `#2` appended, an empty name becomes `c0`, `c1`, ... by its index. Every row has as many cells as the header. A column has one type, inferred
//! from all rows that are not broken: its type [in Arrow](#arrow). Cells are values of that type, except that times stay text:
//!
//! | cell | value |
//! |---|---|
//! | empty | null; quoted, `""`, an empty string |
//! | `true`, `false`, in any case | a boolean |
//! | digits, optionally with a minus, a decimal point, an exponent | a number; not `007` and `+1`, which would not round-trip |
//! | `NaN`, `Infinity`, `-Infinity` | a float if the column also has numbers; else text |
//! | `[1, 2]`, `{"a": null}`: the whole cell is JSON | an array, an object |
//! | anything else | text |
//!
//! Programs that write both missing values and empty strings as empty cells lose the difference; such cells are read as missing. Files with `""`
//! for empty strings, as this library and most databases write them, round-trip.
//!
//! # Arrow
//!
//! The schema is inferred from all rows, in parallel, unless one is declared; for CSV also from rows that are not selected. It does not depend on the
//! order of rows. For JSON lines see [`container_arrow::resolve`]. Columns of CSV:
//!
//! | all cells are | Arrow type | note |
//! |---|---|---|
//! | empty, or there are no rows | `Null` | like JSON members that are always null. Parquet keeps it; when inputs are joined, the other input's type is used |
//! | booleans | `Boolean` | |
//! | integers | `Int64` | `UInt64` if one exceeds `Int64` and none is negative |
//! | numbers | `Float64` | if it holds all integers exactly; `-0` is a float |
//! | `2024-05-01` | `Date32` | |
//! | `12:30`, `12:30:59.5` | `Time64` | microseconds; nanoseconds if needed |
//! | `2024-05-01T12:30`, with `T` or a space, also mixed with dates | `Timestamp` | the same |
//! | the same with `Z` or `+02:00` | `Timestamp`, UTC | the same; the offset is not kept |
//! | JSON arrays, or JSON objects | see [`container_arrow::resolve`] | `Utf8` if their values have no common type |
//! | a mixture, anything else | `Utf8` | `LargeUtf8` if a cell is longer than 1 GiB |
//!
//! Empty cells are null; `""` is an empty string in text columns and null in others. Durations (`PT1.5S`) are text unless a schema is declared.

#[cfg(feature = "arrow")]
mod arrow;
mod chunk_reader;
mod columns;
mod container;
mod conversion;
mod layout;
pub(crate) mod profile;
pub(crate) mod records;
mod rows;
pub(crate) mod scalar;
mod table;
pub(crate) mod values;
mod verify;

#[cfg(test)]
mod tests;

pub use container::{CSV, JSON_LINES, TSV, TextContainer, TextFormat, TextOptions};
pub(crate) use profile::{CellProfile, ColumnKind};
