//! Files whose rows are all they have, written in their own format.

use std::path::Path;

use container_core::{Error, Input, Result};

use super::convert::OutputForm;
use crate::Registry;

/// The form that files of a format have.
pub(super) fn form(format: &'static str, input: &Input) -> Result<OutputForm> {
    Ok(match format {
        "jsonl" => OutputForm::Jsonl,
        "csv" => OutputForm::Csv,
        "tsv" => OutputForm::Tsv,
        crate::parquet::FORMAT_NAME => OutputForm::Parquet,
        crate::ipc::FORMAT_NAME => match input.source() {
            Some(source) if &*source.read(0..source.len().min(6))? == b"ARROW1" => OutputForm::Arrow,
            _ => OutputForm::Arrows,
        },
        other => OutputForm::Other(other),
    })
}

/// The form of an output, which is the inputs' own: fails when its extension stands for another format.
pub(super) fn output_form(path: &Path, format: &str, own: OutputForm, registry: &Registry) -> Result<OutputForm> {
    use OutputForm::{Arrow, Arrows};
    match OutputForm::of_path(path, registry) {
        None => Ok(own),
        Some(form) if form.name() == own.name() => Ok(own),
        // Two forms of one format.
        Some(form @ (Arrow | Arrows)) if matches!(own, Arrow | Arrows) => Ok(form),
        Some(form) => {
            let detail = format!(
                "its extension stands for {}, and the input is {format}: `wharf convert` does that",
                form.name()
            );
            Err(Error::usage(detail).in_file(path.display().to_string()))
        }
    }
}
