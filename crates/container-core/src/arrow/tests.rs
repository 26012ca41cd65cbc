use arrow_schema::ArrowError;

use super::*;
use crate::error::{Error, ErrorKind};

#[test]
fn errors_go_through_arrow_whole() {
    let error = from_arrow(to_arrow(Error::truncated("the block", 8, 3).in_row(7).in_column("x")));
    assert_eq!(error.kind(), ErrorKind::Truncated { needed: 8, available: 3 });
    assert_eq!((error.position().row, error.position().column.as_deref()), (Some(7), Some("x")));
    let error = from_arrow(ArrowError::NotYetImplemented("unions".to_owned()));
    assert_eq!((error.kind(), error.detail()), (ErrorKind::Unsupported, "unions"));
    let error = from_arrow(ArrowError::IoError("writing".to_owned(), std::io::Error::other("full")));
    assert_eq!(error.kind(), ErrorKind::Io);
}

#[test]
fn rows_of_a_batch_are_bounded_by_rows_and_bytes() {
    let scan = BatchScan::default().with_batch_rows(100).with_batch_bytes(1000);
    assert_eq!(
        [0, 1, 10, 11, 999, 1001, usize::MAX].map(|bytes| scan.rows_per_batch(bytes)),
        [100, 100, 100, 90, 1, 1, 1]
    );
    assert_eq!(scan.with_batch_rows(0).batch_rows, 1);
}
