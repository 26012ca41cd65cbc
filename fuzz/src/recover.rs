//! Arbitrary bytes as a damaged IDV file: the recovered file is valid.

use std::io::Cursor;

use container_core::{ErrorKind, Severity, Source, VerifyOptions};
use idv::{ColumnSchema, Compression, ItemType, RecoverOptions, Recovery, Schema, Type, WriterOptions};

use super::reader::{limits, open};

/// Maximum rows written again, because few bytes can declare very many.
const ROWS: u64 = 1 << 16;

/// The first byte selects whether the columns are known in advance; the others are the file.
pub fn idv_recover(data: &[u8]) {
    let Some((&how, file)) = data.split_first() else { return };
    let mut options = RecoverOptions::default().with_threads(1);
    options.open = options.open.with_limits(limits());
    if how & 1 != 0 {
        let compression = [Compression::Deflate, Compression::None, Compression::Zlib][usize::from(how >> 1) % 3];
        let item = [ItemType::Text, ItemType::Single, ItemType::Boolean][usize::from(how >> 4) % 3];
        let vector = Type::Vector { item: ItemType::Int16, dimensions: vec![0] };
        let columns = [ColumnSchema::new("a", Type::Item(item)), ColumnSchema::new("b", vector)];
        options = options.with_schema(Schema::new(columns.map(|column| column.with_compression(compression))));
    }
    let recovery = match Recovery::survey(Source::from(file.to_vec()), &options) {
        Ok(recovery) => recovery,
        Err(error) => {
            // Only given columns can be the caller's fault.
            assert!(how & 1 != 0 || error.kind() != ErrorKind::Usage, "{error}");
            assert_eq!(error.format(), Some("idv"), "{error}");
            return;
        }
    };
    assert!(recovery.row_count() <= recovery.rows_declared());
    if recovery.row_count() > ROWS {
        return;
    }
    let options = WriterOptions::default().with_threads(1).with_level(1).with_limits(limits());
    let (out, _) = match recovery.write(Cursor::new(Vec::new()), options) {
        Ok(written) => written,
        Err(error) => {
            // Regrouped values can form blocks that exceed the limits.
            assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
            return;
        }
    };
    let reader = open(out.into_inner()).unwrap_or_else(|| panic!("what was recovered cannot be opened"));
    assert_eq!(reader.row_count(), recovery.row_count());
    let outcome = reader.verify(&VerifyOptions::default().with_threads(1), &mut |finding| {
        assert_ne!(finding.severity, Severity::Error, "{}", finding.error);
    });
    assert!(outcome.is_ok(), "verify itself failed");
}
