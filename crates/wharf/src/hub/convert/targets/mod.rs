//! Output formats of conversions: one type each, which holds the options of its format and writes it.
//!
//! A target gets a [`Job`] and takes the first lane that its inputs offer: its own format carried over as it is, rows as JSON, or record batches.

mod batches;
mod datadings;
mod ds;
mod idv;
mod ipc;
mod netcdf;
pub(super) mod options;
mod parquet;
mod text;
#[cfg(feature = "zarr")]
pub(in crate::hub) mod zarr;
mod zds;

pub use batches::BatchTarget;
pub use datadings::DatadingsTarget;
pub use ds::DsTarget;
pub use idv::IdvTarget;
pub use ipc::IpcTarget;
pub use netcdf::NetcdfTarget;
pub use parquet::ParquetTarget;
pub use text::TextTarget;
pub use zds::ZdsTarget;

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use arrow_schema::SchemaRef;
use container_core::{Error, Input, Result};

use super::super::Lost;
use super::super::env::Opener;
use super::columnar::declared;
use super::job::{Context, Job, Report};
use super::option::OptionSpec;
use crate::Registry;

/// An output format, with its options.
///
/// [`Registry::target`] and [`Registry::target_for`] find one by name or extension. A format of a third party needs none of its own: when it
/// implements [`Format::batch_writer`](crate::Format::batch_writer), the registry makes a [`BatchTarget`] of it. A program that has more to do, such
/// as options of its own, implements this trait, for which [`Job::copy_batches`] does most, and adds it with [`Registry::with_target`] or passes it
/// to [`Convert::run`](super::Convert::run).
pub trait Target: fmt::Debug + Send + Sync {
    /// Its name, and what can be known about its files beforehand.
    fn info(&self) -> TargetInfo;

    /// The options that affect this output, apart from those that describe text inputs.
    fn options(&self) -> &'static [OptionSpec];

    /// Sets one of its own options. [`Convert::set`](super::Convert::set) checks the value against the [`OptionSpec`] first, and keeps those that
    /// affect how inputs are read.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for an unknown option or an invalid value.
    fn set(&mut self, option: &str, value: &OsStr) -> Result<()>;

    /// Whether inference yields the narrowest schema: only columns with nulls are nullable, and lists of equal length have a fixed size.
    fn infers_narrow_types(&self) -> bool {
        false
    }

    /// Reads a declared schema, for inputs whose columns are renamed and left out on the way. All its columns are nullable.
    #[doc(hidden)]
    fn read_schema(&self, path: &Path, opener: &Opener<'_>, lost: &mut Vec<Lost>) -> Result<SchemaRef> {
        declared::read(path, &[], opener, lost)
    }

    /// The target that writes files like this input of its own format, where a format has several: Arrow IPC files and streams. `None` for this one.
    ///
    /// # Errors
    /// The input cannot be read.
    fn like(&self, input: &Input) -> Result<Option<Box<dyn Target>>> {
        let _ = input;
        Ok(None)
    }

    /// The files that writing to `path` creates or replaces.
    fn files(&self, path: &Path) -> Vec<PathBuf> {
        vec![path.to_owned()]
    }

    /// Writes the selected rows of all inputs. `report` counts them, also when this fails.
    ///
    /// # Errors
    /// See [`Convert::run`](super::Convert::run).
    fn run(&self, job: &Job<'_>, context: &mut Context<'_, '_>, report: &mut Report) -> Result<()>;
}

/// What is known about a [`Target`] before anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TargetInfo {
    /// The name by which users select it: `parquet`, `arrows`.
    pub name: &'static str,
    /// The name of the [`Format`](crate::Format) that reads its files. `arrow` and `arrows` share one.
    pub format: &'static str,
    /// One line for lists and help texts.
    pub title: &'static str,
    /// File extensions in lower case, without the dot.
    pub extensions: &'static [&'static str],
    /// Whether it can be written to a stream.
    pub stream: Streaming,
    /// What its reports count.
    pub unit: TargetUnit,
}

impl TargetInfo {
    /// A target that shares its name with its format, and has no extensions.
    #[must_use]
    pub const fn new(name: &'static str, unit: TargetUnit, stream: Streaming) -> Self {
        Self { name, format: name, title: name, extensions: &[], stream, unit }
    }
}

/// Whether a target can be written to a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Streaming {
    /// Yes, as text.
    Text,
    /// Yes, as bytes that a terminal cannot show.
    Binary,
    /// No, for this reason: `a datadings dataset is a set of files`.
    Unsupported(&'static str),
}

/// What a target consists of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TargetUnit {
    /// Rows without a schema: text.
    #[default]
    Rows,
    /// Rows of typed columns.
    TypedRows,
    /// Samples.
    Samples,
    /// Documents.
    Documents,
    /// Variables.
    Variables,
}

impl TargetUnit {
    /// The words for one of them, and for what contains them in a file of several.
    #[must_use]
    pub const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Rows | Self::TypedRows => ("row", "table"),
            Self::Samples => ("sample", "dataset"),
            Self::Documents => ("document", "collection"),
            Self::Variables => ("variable", "file"),
        }
    }
}

/// Creates a target with default options.
pub(in crate::hub) type NewTarget = fn() -> Box<dyn Target>;

/// The targets that are built in, in the order in which help texts list them.
const BUILTIN: &[&[NewTarget]] = &[
    &[
        || Box::new(TextTarget::JSON_LINES),
        || Box::new(TextTarget::CSV),
        || Box::new(TextTarget::TSV),
        || Box::<IdvTarget>::default(),
        || Box::<DatadingsTarget>::default(),
        || Box::<DsTarget>::default(),
        || Box::<NetcdfTarget>::default(),
    ],
    crate::hub::zarr::TARGETS,
    &[
        || Box::<ZdsTarget>::default(),
        || Box::<ParquetTarget>::default(),
        || Box::new(IpcTarget::FILE),
        || Box::new(IpcTarget::STREAM),
    ],
];

impl Registry {
    /// All built-in targets with default options, then those that were [added](Self::with_target), then one for each other format that
    /// [can be written](crate::Format::is_writable).
    #[must_use]
    pub fn targets(&self) -> Vec<Box<dyn Target>> {
        let mut targets: Vec<Box<dyn Target>> =
            BUILTIN.iter().copied().flatten().chain(&self.entries.targets).map(|new| new()).collect();
        for format in self.formats() {
            if format.is_writable() && !targets.iter().any(|target| target.info().format == format.name()) {
                targets.push(Box::new(BatchTarget::new(*format)));
            }
        }
        targets
    }

    /// The target with this name, with default options.
    #[must_use]
    pub fn target(&self, name: &str) -> Option<Box<dyn Target>> {
        self.targets().into_iter().rfind(|target| target.info().name == name)
    }

    /// The target that the extension of `path` stands for, in any case, with default options.
    #[must_use]
    pub fn target_for(&self, path: &Path) -> Option<Box<dyn Target>> {
        let extension = path.extension()?.to_string_lossy().to_ascii_lowercase();
        self.targets().into_iter().rfind(|target| target.info().extensions.contains(&extension.as_str()))
    }
}

/// The error for an option that a target does not have.
pub(in crate::hub) fn unknown_option(option: &str) -> Error {
    Error::usage(format!("unknown option {option:?}"))
}

/// Fails when the output cannot be a stream.
fn path_of<'a>(job: &Job<'a>, target: &dyn Target) -> Result<&'a Path> {
    job.path.ok_or_else(|| match target.info().stream {
        Streaming::Unsupported(reason) => Error::usage(format!("{reason}, not a stream: give a path")),
        _ => Error::usage("the output must be a file: give a path"),
    })
}
