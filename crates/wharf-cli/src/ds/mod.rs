//! What verbs do with ds files that they do with no other: variables with dimensions.

mod describe;
mod get;
mod part;
mod raw;

use clap::ValueEnum;
use container_core::{Input, OpenOptions, Result};
use dsfmt::Reader;
use dsfmt::container::TimeForm;

pub(crate) use describe::describe;
pub(crate) use get::get;
pub(crate) use part::Part;
pub(crate) use raw::raw;

use super::env::Opener;

/// How times are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Times {
    /// ISO 8601, such as 2000-01-31T12:00:00
    Iso,
    /// Julian dates
    Jd,
}

impl From<Times> for TimeForm {
    fn from(times: Times) -> Self {
        match times {
            Times::Iso => Self::Iso,
            Times::Jd => Self::Julian,
        }
    }
}

/// The reader of a ds file; `None` for another format.
pub(crate) fn reader(input: &Input, opener: &Opener<'_>) -> Result<Option<Reader>> {
    let format = opener.registry.detect(input);
    match (format, input.source()) {
        (Ok(format), Some(source)) if format.name() == dsfmt::FORMAT_NAME => {
            let options = OpenOptions::default().with_access(opener.access);
            Reader::from_source(source.clone(), options).map(Some)
        }
        _ => Ok(None),
    }
}
