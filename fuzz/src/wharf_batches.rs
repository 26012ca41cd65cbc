//! Parquet and Arrow IPC files from arbitrary bytes. The libraries that read them may panic, but must not reach the caller.

use std::sync::Once;

use container_arrow::BatchScan;
use container_core::{Container, Error, ErrorKind, Limits, OpenOptions, Scan, Source, VerifyOptions};
use wharf::ipc::{IpcContainer, Reader as IpcReader};
use wharf::parquet::{ParquetContainer, Reader as ParquetReader};

use super::arrow_batches::walk;

/// Limits for one input.
const ROWS: u64 = 1000;

/// Bytes with Parquet's signature are Parquet, all others IPC.
pub fn wharf_batches(data: &[u8]) {
    static HOOK: Once = Once::new();
    // The fuzzer's panic hook ends the process even if the panic is caught.
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !wharf::is_guarded() {
                usual(panic);
            }
        }));
    });
    let limits = Limits::default().with_block_bytes(1 << 24).with_metadata_bytes(1 << 20).with_columns(1 << 10);
    let options = OpenOptions::default().with_limits(limits);
    let source = Source::from(data.to_vec());
    let container: Result<Box<dyn Container>, Error> = match data.starts_with(b"PAR1") {
        true => ParquetReader::from_source(source, options).map(|reader| Box::new(ParquetContainer::new(reader)) as _),
        false => IpcReader::from_source(source, options).map(|reader| Box::new(IpcContainer::new(reader)) as _),
    };
    match container {
        Ok(container) => all(&*container),
        Err(error) => said(&error),
    }
}

fn said(error: &Error) {
    let text = error.to_string();
    assert!(!matches!(error.kind(), ErrorKind::Usage | ErrorKind::Io), "{text}");
    assert!(error.format().is_some() && !error.detail().is_empty() && !text.ends_with('.'), "{text}");
}

/// Exercises every method.
fn all(container: &dyn Container) {
    container.details();
    let mut broken = None;
    for table in container.tables() {
        let columns = table.columns();
        for index in 0..columns.len().min(16) {
            table.column_summary(index);
            let _ = table.column_details(index);
        }
        let len = table.len().unwrap();
        for rows in [0..len.min(ROWS), len / 2..len.min(len / 2 + 10)] {
            let readable = columns.iter().enumerate().filter(|(_, column)| column.unreadable.is_none());
            let scan = Scan::default()
                .with_threads(1)
                .with_rows(rows.clone())
                .with_columns(readable.map(|(at, _)| at).collect::<Vec<_>>());
            let arrow = table.arrow().unwrap();
            match walk(arrow, &BatchScan::from(scan.clone()).with_batch_rows(100)) {
                Ok(walked) => {
                    let found = walked.rows() as u64;
                    assert!(walked.error.is_some() || found == rows.end - rows.start, "{found} rows of {rows:?}");
                    // Only types that JSON lines lack are rejected.
                    if let Err(error) = walked.lines() {
                        assert!(matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Invalid), "{error}");
                    }
                    broken = broken.or(walked.error);
                }
                Err(error) => broken = Some(error),
            }
            if let Ok(mut rows) = table.rows(&scan) {
                while let Ok(true) = rows.advance() {}
            }
        }
        if len > 1 << 16 {
            return;
        }
    }
    let mut findings = Vec::new();
    let outcome =
        container.verify(&VerifyOptions::default().with_threads(1), &mut |finding| findings.push(finding.error));
    assert!(outcome.is_ok(), "verify itself failed: {outcome:?}");
    if let Some(error) = broken {
        said(&error);
        assert!(!findings.is_empty(), "something does not read and verify finds nothing: {error}");
    }
    findings.iter().for_each(said);
}
