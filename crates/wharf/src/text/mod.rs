//! Text as containers of one table: JSON lines, CSV and TSV.
//!
//! Formats are known by the extension: `.jsonl`, `.ndjson` and `.json`, `.csv`, `.tsv`; of what has no known one, text that begins with `{` is
//! JSON lines. The text is UTF-8, with or without a byte order mark.
//!
//! JSON lines have an object on each line; a file may as well be one array of objects. Blank lines are passed over. Of members of the same
//! name the last one counts.
//!
//! Cells of CSV may stand in quotes (RFC 4180), and lines may end with a line feed, with a carriage return, or with both; empty lines are no rows.
//! The first line has the names: a name that is there again has `#2` appended, an empty one is `c0`, `c1`, ... by its place. A row has as many cells
//! as there are names. A column has one type, found in all rows that are not broken: the one that it has [in Arrow](#arrow). Its cells are values of
//! that type, in which times stay texts. The words of cells:
//!
//! | word | value |
//! |---|---|
//! | nothing | null; in quotes, `""`, an empty text |
//! | `true`, `false`, in any case | a boolean |
//! | digits, perhaps with a minus, a point, an exponent | a number; not `007` and `+1`, which would not come back as they were |
//! | `NaN`, `Infinity`, `-Infinity` | a float where the column has numbers, too; else text |
//! | `[1, 2]`, `{"a": null}`: JSON from the first character to the last | an array, an object |
//! | anything else | text |
//!
//! Programs that write a text without anything in it and a missing value both as nothing cannot be read otherwise: which of them it was nobody can
//! tell, and missing is what it mostly is. What this library and most databases write, nothing and `""`, comes back as it was.
//!
//! # Arrow
//!
//! Types are found by looking at all rows, with all threads, of CSV also at those that are not selected; what comes of it does not depend on the order
//! of rows. A schema that is declared is taken instead. For JSON lines see [`container_arrow::resolve`]. Columns of CSV:
//!
//! | all cells are | Arrow type | note |
//! |---|---|---|
//! | empty, or there are no rows | `Null` | as members of JSON lines that are only null: nobody knows the type, and none is made up. Parquet keeps it, and joined with another input it has that one's |
//! | booleans | `Boolean` | |
//! | integers | `Int64` | `UInt64` where one is beyond it and none is negative |
//! | numbers | `Float64` | where it holds all integers exactly; `-0` is a float |
//! | `2024-05-01` | `Date32` | |
//! | `12:30`, `12:30:59.5` | `Time64` | microseconds; nanoseconds where one is finer |
//! | `2024-05-01T12:30`, with a blank for the `T`, or such and dates | `Timestamp` | the same |
//! | the same with `Z` or `+02:00` | `Timestamp`, UTC | the same; which difference it was is not kept |
//! | arrays, or objects, of JSON | as [`container_arrow::resolve`] says | `Utf8` where what they hold does not go together |
//! | several of these, anything else | `Utf8` | `LargeUtf8` where one is longer than 1 GiB |
//!
//! Empty cells are null; `""` is an empty text in a column of text, else null, too. Durations (`PT1.5S`) are text, unless a schema
//! says what they are.

#[cfg(feature = "arrow")]
mod arrow;
mod columns;
mod container;
mod cut;
mod inner;
#[cfg_attr(not(feature = "convert"), allow(dead_code, reason = "conversions use all of it"))]
pub(crate) mod records;
mod rows;
pub(crate) mod seen;
mod table;
pub(crate) mod values;
mod verify;
#[cfg(feature = "convert")]
mod whole;
pub(crate) mod words;

#[cfg(test)]
mod tests;

pub use container::{CSV, JSON_LINES, TSV, TextContainer, TextForm, TextOptions};
#[cfg(feature = "convert")]
pub(crate) use seen::{Kind, Seen};
