//! Schemas in ZIP archives of ML.NET.

use container_core::{ErrorKind, OpenOptions, Source, VerifyOptions};
use idv::Model;

/// The bytes are an archive.
pub fn idv_model(data: &[u8]) {
    let model = match Model::from_source(Source::from(data.to_vec()), OpenOptions::default()) {
        Ok(model) => model,
        Err(error) => {
            assert!(!matches!(error.kind(), ErrorKind::Io | ErrorKind::Usage), "{error}");
            return;
        }
    };
    for schema in model.schemas() {
        assert_eq!(schema.reader().row_count(), 0, "{}", schema.name());
        let _ = schema.reader().schema(None);
    }
    let (mut found, told) = (0, model.unreadable().len());
    let _ = model.verify(&VerifyOptions::default(), &mut |_| found += 1);
    assert!(found >= told, "{found} findings, {told} schemas cannot be read");
}
