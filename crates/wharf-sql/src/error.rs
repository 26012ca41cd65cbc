//! Errors of wharf in those of DataFusion, and back.

use std::io;

use arrow_schema::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use wharf::{Error, ErrorKind};

/// Carries an error of wharf through DataFusion. [`from_datafusion`] unwraps it.
#[must_use]
pub fn to_datafusion(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// The error of a query: that of wharf if a file caused it, or else DataFusion's in the terms of wharf. Mistakes in the SQL text are
/// [`Usage`](ErrorKind::Usage) errors, with line and column where DataFusion knows them.
#[must_use]
pub fn from_datafusion(error: DataFusionError) -> Error {
    let location = location(&error);
    let location = location.as_deref().unwrap_or_default();
    match error {
        DataFusionError::External(cause) => from_cause(cause),
        DataFusionError::ArrowError(cause, _) => from_arrow(*cause),
        DataFusionError::Diagnostic(_, inner) => {
            let error = from_datafusion(*inner);
            // The inner error does not know its location.
            if error.kind() == ErrorKind::Usage && !location.is_empty() && error.position().is_unknown() {
                return Error::usage(format!("{}{location}", error.detail()));
            }
            error
        }
        DataFusionError::Context(_, inner) => from_datafusion(*inner),
        DataFusionError::Collection(all) => match all.into_iter().next() {
            Some(first) => from_datafusion(first),
            None => Error::invalid("the query failed"),
        },
        DataFusionError::Shared(shared) => match std::sync::Arc::try_unwrap(shared) {
            Ok(inner) => from_datafusion(inner),
            Err(shared) => copy(&shared),
        },
        DataFusionError::IoError(cause) => Error::io("reading or writing failed", cause),
        DataFusionError::ResourcesExhausted(what) => out_of_memory(&what),
        DataFusionError::SQL(cause, _) => {
            let text = cause.to_string();
            let text = text.strip_prefix("sql parser error: ").unwrap_or(&text);
            Error::usage(format!("invalid SQL: {}", first_lower(text)))
        }
        DataFusionError::SchemaError(cause, _) => Error::usage(schema_error(&cause)),
        DataFusionError::Plan(what) | DataFusionError::Configuration(what) => Error::usage(first_lower(&what)),
        DataFusionError::NotImplemented(what) => Error::usage(format!("not supported by DataFusion: {what}")),
        DataFusionError::Execution(what) => Error::invalid(first_lower(&what)),
        other => copy(&other),
    }
}

fn from_cause(cause: Box<dyn std::error::Error + Send + Sync>) -> Error {
    let cause = match cause.downcast::<Error>() {
        Ok(error) => return *error,
        Err(cause) => cause,
    };
    match cause.downcast::<DataFusionError>() {
        Ok(error) => from_datafusion(*error),
        Err(cause) => Error::invalid(cause.to_string()),
    }
}

fn from_arrow(error: ArrowError) -> Error {
    match error {
        ArrowError::ExternalError(cause) => from_cause(cause),
        ArrowError::IoError(what, cause) => Error::io(what, cause),
        // The type of error says nothing that the text does not say.
        ArrowError::CastError(what) | ArrowError::ComputeError(what) | ArrowError::InvalidArgumentError(what) => {
            Error::invalid(first_lower(&what))
        }
        other => Error::invalid(first_lower(&other.to_string())),
    }
}

/// The error of wharf among the causes of an error that cannot be taken apart, or its text.
fn copy(error: &DataFusionError) -> Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = cause {
        if let Some(found) = current.downcast_ref::<Error>() {
            let copy = Error::new(found.kind(), found.detail().to_owned()).with_position(found.position().clone());
            return match found.format() {
                Some(format) => copy.in_format(format),
                None => copy,
            };
        }
        if let Some(DataFusionError::ResourcesExhausted(what)) = current.downcast_ref::<DataFusionError>() {
            return out_of_memory(what);
        }
        cause = current.source();
    }
    Error::invalid(first_lower(&error.strip_backtrace()))
}

fn out_of_memory(what: &str) -> Error {
    let cause = io::Error::new(io::ErrorKind::OutOfMemory, first_lower(what));
    Error::io("not enough memory", cause).advising("{memory} sets the limit")
}

fn schema_error(error: &SchemaError) -> String {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let names: Vec<String> = valid_fields.iter().map(|column| column.name.clone()).collect();
            wharf::hub::select::unknown_name("column", &field.name, &names)
        }
        other => first_lower(&other.to_string()),
    }
}

/// ` (line 1, column 8)`, for an error whose text does not say it.
fn location(error: &DataFusionError) -> Option<String> {
    let span = error.diagnostic()?.span?;
    Some(format!(" (line {}, column {})", span.start.line, span.start.column))
}

/// The text in one line, with a first letter in lower case unless it is a word in capitals.
fn first_lower(text: &str) -> String {
    let text = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn errors_of_wharf_come_back_unchanged() {
        let error = || Error::invalid("row is damaged").in_row(7).in_file("a.idv").in_format("idv");
        let wrapped = to_datafusion(error()).context("while planning");
        assert_eq!(from_datafusion(wrapped).to_string(), error().to_string());
        let through_arrow = DataFusionError::from(ArrowError::ExternalError(Box::new(error())));
        assert_eq!(from_datafusion(through_arrow).to_string(), error().to_string());
        let shared = Arc::new(to_datafusion(error()));
        let (one, _other) = (DataFusionError::Shared(Arc::clone(&shared)), shared);
        assert_eq!(from_datafusion(one).to_string(), error().to_string());
    }

    #[test]
    fn mistakes_in_the_query_are_usage_errors() {
        let error = from_datafusion(DataFusionError::Plan("No function matches".to_owned()));
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Usage, "no function matches"));
        let error = from_datafusion(DataFusionError::Plan("Invalid function 'foo'.\nDid you mean 'cos'?".to_owned()));
        assert_eq!(error.to_string(), "invalid function 'foo'. Did you mean 'cos'?");
        let error = from_datafusion(DataFusionError::ResourcesExhausted("Failed to allocate\n 5 bytes".to_owned()));
        assert_eq!(error.to_string(), "not enough memory: failed to allocate 5 bytes; memory sets the limit");
    }
}
