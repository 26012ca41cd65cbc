//! Reading record batches, for the targets of all formats.

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use container_arrow::{ArrowTable, BatchScan, JsonRows};
use container_core::{Error, ErrorKind, Table};

/// Maximum batches of a scan.
const BATCHES: usize = 400;

/// The result of a scan, up to its end or an error.
pub struct Walked {
    pub batches: Vec<RecordBatch>,
    pub error: Option<Error>,
    /// Whether nothing was lost so far.
    pub is_exact: bool,
}

impl Walked {
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The rows as JSON.
    pub fn lines(&self) -> Result<Vec<String>, Error> {
        let mut out = Vec::new();
        for batch in &self.batches {
            JsonRows::new(batch)?.write_lines(&mut out)?;
        }
        Ok(String::from_utf8(out).unwrap().lines().map(str::to_owned).collect())
    }
}

/// The batches of a scan. Checks that each is valid and within the requested size, and that none follows an error.
pub fn walk(table: &dyn ArrowTable, scan: &BatchScan) -> Result<Walked, Error> {
    let mut reader = table.batches(scan)?;
    let schema = reader.schema();
    assert_eq!(schema, table.schema(scan)?);
    let mut walked = Walked { batches: Vec::new(), error: None, is_exact: true };
    while walked.batches.len() < BATCHES {
        match reader.try_next() {
            Ok(Some(batch)) => {
                assert!(batch.num_rows() > 0 && batch.num_rows() <= scan.batch_rows, "{} rows", batch.num_rows());
                assert_eq!(batch.schema(), schema);
                for column in batch.columns() {
                    column.to_data().validate_full().unwrap();
                }
                walked.batches.push(batch);
            }
            Ok(None) => break,
            Err(error) => {
                assert!(matches!(reader.try_next(), Ok(None)), "batches go on after an error");
                walked.error = Some(error);
                break;
            }
        }
    }
    // Some notes, such as a missing index, have no count; then nothing is lost.
    for loss in reader.losses() {
        assert!(!loss.to_string().is_empty());
        walked.is_exact &= loss.count == 0;
    }
    Ok(walked)
}

/// The rows of a scan as the table shows them, and whether there was no error.
pub fn rows(table: &dyn Table, scan: &BatchScan) -> Result<(Vec<String>, Option<Error>), Error> {
    let mut rows = table.rows(&scan.scan)?;
    let mut lines = Vec::new();
    loop {
        match rows.advance() {
            Ok(true) => {
                let mut line = Vec::new();
                if let Err(error) = rows.json(&mut line) {
                    return Ok((lines, Some(error)));
                }
                lines.push(String::from_utf8(line).unwrap());
            }
            Ok(false) => return Ok((lines, None)),
            Err(error) => return Ok((lines, Some(error))),
        }
    }
}

/// Checks that rows, large batches and small batches agree. The scan has few rows.
pub fn compare(table: &dyn Table, scan: &BatchScan) -> Option<Walked> {
    let arrow = table.arrow().unwrap();
    let (lines, failed) = match rows(table, scan) {
        Ok(rows) => rows,
        Err(error) => {
            // Columns that cannot be selected fail in any form.
            assert!(walk(arrow, scan).is_err(), "rows cannot be had, batches can: {error}");
            return None;
        }
    };
    let all = match walk(arrow, scan) {
        Ok(all) => all,
        Err(error) => {
            let kind = error.kind();
            assert!(failed.is_some() || !matches!(kind, ErrorKind::Usage | ErrorKind::Io), "{error}");
            return None;
        }
    };
    match (&failed, &all.error) {
        (None, None) => assert_eq!(all.rows(), lines.len()),
        (Some(_), Some(_)) => {}
        // The dense form of a sparse vector may exceed the limits of a batch.
        (None, Some(error)) if matches!(error.kind(), ErrorKind::Limit { .. } | ErrorKind::Unsupported) => {}
        (found, wanted) => panic!("rows: {found:?}, batches: {wanted:?}"),
    }
    let shown = all.lines().unwrap();
    let small = walk(arrow, &scan.clone().with_batch_rows(3).with_batch_bytes(64)).unwrap();
    assert_eq!(small.error.is_some(), all.error.is_some());
    let pieces = small.lines().unwrap();
    let common = pieces.len().min(shown.len());
    assert!(all.error.is_some() || pieces.len() == shown.len());
    assert_eq!(pieces[..common], shown[..common]);
    plain(&all, &shown, &lines);
    Some(all)
}

/// Checks that plain values agree between rows and batches.
fn plain(all: &Walked, shown: &[String], lines: &[String]) {
    let Some(batch) = all.batches.first() else { return };
    let schema = batch.schema();
    for (shown, line) in shown.iter().zip(lines) {
        let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let (shown, line) = (parse(shown), parse(line));
        for field in schema.fields() {
            let kind = field.data_type();
            let is_plain = field.extension_type_name().is_none();
            if is_plain && (kind.is_floating() || matches!(kind, DataType::Utf8 | DataType::Boolean)) {
                let (shown, line) = (&shown[field.name()], &line[field.name()]);
                // A float column has integers of its rows as floats.
                let same = shown == line || (shown.is_number() && shown.as_f64() == line.as_f64());
                assert!(same, "{}: {shown} in batches, {line} in rows", field.name());
            }
        }
    }
}
