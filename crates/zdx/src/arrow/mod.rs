//! Collections as Arrow record batches, and vice versa.
//!
//! # Reading
//!
//! Documents have no schema. Unless one is declared, it is inferred from all documents in the row range, by the rules of
//! [`resolve`](container_arrow::resolve): the same documents give the same types, in any order. The result is cached for the next scan of the
//! same rows.
//!
//! | member | Arrow type | note |
//! |---|---|---|
//! | `_id` | Utf8 | the first column if documents do not contain it |
//! | number | Int64, UInt64, Float64 | integers mixed with floats are Float64 where that is exact; a number that is not exact in 64 bits is a mismatch |
//! | string, boolean, null | Utf8, Boolean, Null | `"NaN"` is a string, `{"$bytes": ...}` an object |
//! | array | List | of any length |
//! | object | Struct | if all are empty, Utf8 with the extension `arrow.json` |
//! | a document that is not an object | error | can be read as a row |
//! | missing member | null | as a member that is null |
//! | mismatched values | error, null or JSON text | as set by [`OnMismatch`]; `Msgpack` is refused |
//!
//! Columns are in the order in which members first appear. Of duplicate members, the last one counts. A
//! [path](crate::ZdsContainer::with_columns) is a column of the values there.
//!
//! A declared schema accepts only exact values, and ISO 8601 strings for dates and times; see [`Columns`](container_arrow::Columns). Members
//! that it does not contain are left out.
//!
//! Batches do not depend on the number of threads. With several threads, each holds two batches at most.
//!
//! # Writing
//!
//! See [`ArrowWriter`].

mod batches;
mod observe;
pub(crate) mod observed;
mod plan;
mod write;

#[cfg(test)]
mod sample_tests;
#[cfg(test)]
mod tests;

use arrow_schema::SchemaRef;
use container_arrow::{ArrowTable, BatchReader, BatchScan, OnMismatch};
use container_core::{Error, Result};

use self::plan::Plan;
pub use self::write::{ArrowWriter, IdSource};
use crate::FORMAT_NAME;
use crate::container::table::CollectionTable;

impl ArrowTable for CollectionTable {
    fn schema(&self, scan: &BatchScan) -> Result<SchemaRef> {
        let plan = check(scan).and_then(|()| Plan::new(self, scan));
        plan.map(|plan| plan.schema).map_err(|error| self.located(error))
    }

    fn batches<'a>(&'a self, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
        let reader = check(scan).and_then(|()| Plan::new(self, scan)).and_then(|plan| batches::read(self, plan, scan));
        reader.map_err(|error| self.located(error))
    }

    fn infer_from_sample(&self, scan: &BatchScan) -> Result<Option<SchemaRef>> {
        check(scan).and_then(|()| observe::infer_from_sample(self, scan)).map_err(|error| self.located(error))
    }
}

fn check(scan: &BatchScan) -> Result<()> {
    match scan.mapping.on_mismatch {
        OnMismatch::Msgpack => {
            let error =
                Error::usage("documents are JSON and cannot keep mismatched values as msgpack").in_format(FORMAT_NAME);
            Err(error.advising("{on_mismatch} null or json keeps them"))
        }
        _ => Ok(()),
    }
}
