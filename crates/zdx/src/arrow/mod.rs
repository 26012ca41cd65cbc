//! Collections as Arrow record batches, and collections made of them.
//!
//! # Out
//!
//! Documents have no schema. Unless one is declared, all documents of the rows in question are looked at first, and what they have decides, by
//! the rules of [`resolve`](container_arrow::resolve): the same type for the same documents, in whatever order they come. It is kept for
//! the next scan of the same rows.
//!
//! | member | Arrow type | note |
//! |---|---|---|
//! | `_id` | Utf8 | of a document that does not state it, the id by which it is known, in front of the other columns |
//! | numbers | Int64, UInt64, Float64 | integers beside floats are Float64 where that is exact; a number that is not exact in 64 bits does not fit |
//! | text, booleans, null | Utf8, Boolean, Null | `"NaN"` stays text, `{"$bytes": ...}` an object |
//! | arrays | List | whatever their lengths |
//! | objects | Struct | empty ones Utf8 with the extension `arrow.json` |
//! | a document that is no object | refused | as a row it is shown |
//! | missing in a document | null | as a member that is null |
//! | values that do not fit together | error, null or JSON text | as [`OnMismatch`] says; `Msgpack` is refused |
//!
//! Columns come in the order in which members appear first. A member that an object has twice has its last value. Columns of
//! [paths](crate::ZdsContainer::with_columns) are what stands there.
//!
//! A declared schema takes values exactly or not at all, and texts in ISO 8601 for dates and times; see
//! [`Columns`](container_arrow::Columns). Members that it does not name are left out.
//!
//! Batches are the same whatever the number of threads. With one that is more than one, each holds two batches at most.
//!
//! # In
//!
//! See [`BatchLoader`].

mod batches;
mod observe;
pub(crate) mod observed;
mod plan;
mod write;

#[cfg(test)]
mod guess_tests;
#[cfg(test)]
mod tests;

use arrow_schema::SchemaRef;
use container_arrow::{ArrowTable, BatchReader, BatchScan, OnMismatch};
use container_core::{Error, Result};

use self::plan::Plan;
pub use self::write::{BatchLoader, IdFrom};
use crate::FORMAT_NAME;
use crate::container::table::CollectionTable;

impl ArrowTable for CollectionTable {
    fn schema(&self, scan: &BatchScan) -> Result<SchemaRef> {
        let made = check(scan).and_then(|()| Plan::new(self, scan));
        made.map(|plan| plan.schema).map_err(|error| self.located(error))
    }

    fn batches<'a>(&'a self, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
        let made = check(scan).and_then(|()| Plan::new(self, scan)).and_then(|plan| batches::read(self, plan, scan));
        made.map_err(|error| self.located(error))
    }

    fn infer_from_sample(&self, scan: &BatchScan) -> Result<Option<SchemaRef>> {
        check(scan).and_then(|()| observe::guess(self, scan)).map_err(|error| self.located(error))
    }
}

fn check(scan: &BatchScan) -> Result<()> {
    match scan.mapping.on_mismatch {
        OnMismatch::Msgpack => {
            let error = Error::usage("documents are JSON, which is not kept as msgpack").in_format(FORMAT_NAME);
            Err(error.advising("{on_mismatch} null or json keeps them"))
        }
        _ => Ok(()),
    }
}
