//! Schemas in ML.NET model archives.

use container_core::{ErrorKind, OpenOptions, Source, VerifyOptions};
use idv::Model;

/// The bytes are a ZIP archive.
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
    let (mut findings, unreadable) = (0, model.unreadable().len());
    let _ = model.verify(&VerifyOptions::default(), &mut |_| findings += 1);
    assert!(findings >= unreadable, "{findings} findings, {unreadable} unreadable schemas");
}
