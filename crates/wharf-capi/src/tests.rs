//! What C cannot provoke: panics inside the library, and texts that C cannot hold.

use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use wharf::{BatchContainer, BatchReader, Container, Error, ErrorKind, Loss};

use crate::error::{self, OwnedError, Status, status};
use crate::handles::insert_text;
use crate::options::Selection;
use crate::reader::Reader;

/// One batch, then a panic.
struct Panics(SchemaRef, bool);

impl Iterator for Panics {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        assert!(!self.1, "batch 1 fails");
        self.1 = true;
        Some(RecordBatch::try_new(Arc::clone(&self.0), vec![Arc::new(Int64Array::from(vec![7]))]))
    }
}

impl RecordBatchReader for Panics {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0)
    }
}

impl BatchReader for Panics {
    fn losses(&self) -> Vec<Loss> {
        panic!("the losses fail")
    }
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, false)]))
}

fn panicking() -> Arc<dyn Container> {
    let schema = schema();
    Arc::new(BatchContainer::new(Arc::clone(&schema), None, move || Ok(Box::new(Panics(Arc::clone(&schema), false)))))
}

#[test]
fn panic_is_an_error_of_a_call() {
    assert_eq!(status(|| panic!("{} {}", "at", "once")), Status::Internal);
    let panicked = OwnedError::of_panic(&"why");
    assert_eq!(panicked.message(), "defect of wharf: why");
    assert_eq!(status(|| Ok(())), Status::Ok);
    assert!(!error::last().is_null(), "a success keeps the last error");
}

#[test]
fn panic_is_an_error_of_a_stream_and_its_end() {
    assert_ends(&Reader::open(panicking(), &Selection::default(), &[]).unwrap());
}

#[test]
fn stream_ends_although_its_losses_panic() {
    assert_ends(&Reader::new(Box::new(Panics(schema(), false))));
}

/// Of a reader that panics after the first batch.
fn assert_ends(reader: &Reader) {
    let mut stream = reader.stream().unwrap();
    assert_eq!(stream.next().unwrap().unwrap().num_rows(), 1);
    let error = stream.next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "External error: defect of wharf: batch 1 fails");
    assert!(stream.next().is_none());
    assert!(reader.losses().is_empty());
}

#[test]
fn names_that_c_cannot_hold_are_errors() {
    let zoned = DataType::Timestamp(TimeUnit::Second, Some("\0".into()));
    let nested = DataType::Struct(vec![Field::new("in\0ner", DataType::Null, true)].into());
    for field in [Field::new("\0", DataType::Null, true), Field::new("a", zoned, true), Field::new("a", nested, true)] {
        let schema = Arc::new(Schema::new(vec![field]));
        let container = Arc::new(BatchContainer::from_batches(schema, Vec::new()));
        let error = Reader::open(container, &Selection::default(), &[]).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().starts_with("the Arrow C data interface has no names with"), "{error}");
    }
    assert_eq!(insert_text("a\0b").unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn errors_keep_their_position() {
    let error = Error::invalid("x\0y").in_row(3).in_column("a\0").at(9).in_format("idv").in_file("f");
    let owned = OwnedError::new(&error);
    let info = owned.info();
    assert_eq!((info.status, info.row, info.offset, info.line), (Status::Invalid, 3, 9, error::UNKNOWN));
    assert!(info.key.is_null() && !info.file.is_null() && !info.column.is_null());
    assert_eq!(owned.message(), "idv: f: x\u{FFFD}y (byte 9, row 3, column \"a\\0\")");
    let limit = OwnedError::new(&Error::limit("rows", 2, 1));
    assert_eq!(limit.info().status, Status::Limit);
}
