//! The parts of `info`, `get`, `set`, `rename` and `rm` that are specific to ds files: variables with dimensions.

mod describe;
pub(crate) mod edit;
mod get;
mod raw;
mod slice;

use clap::ValueEnum;
use container_core::{Input, OpenOptions, Result};
use dsfmt::Reader;
use dsfmt::container::TimeForm;

pub(crate) use describe::describe;
pub(crate) use get::get;
pub(crate) use raw::raw;
pub(crate) use slice::{PackedOption, PartOptions, SliceOptions};

use super::env::Opener;

/// Representation of times.
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
