//! The files that a verb works on: names, patterns, standard input.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use container_core::{Container, Error, Input, Result, Source};

use super::env::Opener;

/// One input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Path(PathBuf),
    Stdin,
}

impl Place {
    /// How it is called in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Stdin => "<stdin>".to_owned(),
        }
    }

    /// Can it be opened a second time, and have the same bytes? A pipe cannot.
    #[cfg(feature = "arrow")]
    pub(crate) fn is_lasting(&self) -> bool {
        match self {
            Self::Path(path) => path.metadata().is_ok_and(|metadata| metadata.is_file() || metadata.is_dir()),
            Self::Stdin => false,
        }
    }

    /// What it holds, not yet understood.
    pub(crate) fn input(&self, opener: &mut Opener<'_>) -> Result<Input> {
        match self {
            Self::Path(path) => Input::open(path, opener.access),
            Self::Stdin => opener.stdin().map(Input::Stream),
        }
    }

    pub(crate) fn open(&self, opener: &mut Opener<'_>) -> Result<Opened> {
        let input = self.input(opener).map_err(|error| error.in_file(self.name()))?;
        self.understand(&input, opener)
    }

    /// Opens what it holds.
    pub(crate) fn understand(&self, input: &Input, opener: &Opener<'_>) -> Result<Opened> {
        let open =
            |input: &Input| Ok(Opened { container: opener.container(input)?, bytes: input.source().map(Source::len) });
        not_netcdf(input).and_then(|()| open(input)).map_err(|error| error.in_file(self.name()))
    }

    /// True when writing to `output` would write to this input.
    pub(crate) fn is_same_file(&self, output: &Path) -> bool {
        match self {
            Self::Path(path) => same_file(path, output),
            Self::Stdin => stdin_is(output),
        }
    }
}

/// Fails for a NetCDF file, whatever its name ends in: says what it is, and how those get on with it who want more than `info` shows.
pub(crate) fn not_netcdf(input: &Input) -> Result<()> {
    let Some(kind) = netcdf_kind(input) else { return Ok(()) };
    Err(Error::unsupported(format!("it is NetCDF ({kind}), which `wharf convert FILE.nc FILE.ds` makes a ds file of")))
}

/// What kind of NetCDF file it begins as, in words; `None` for all else, and where NetCDF is not read.
pub(crate) fn netcdf_kind(input: &Input) -> Option<&'static str> {
    let source = input.source().filter(|_| cfg!(feature = "netcdf"))?;
    let head = source.read(0..source.len().min(8)).ok()?;
    match &head[..] {
        [b'C', b'D', b'F', 1, ..] => Some("CDF-1"),
        [b'C', b'D', b'F', 2, ..] => Some("CDF-2"),
        [b'C', b'D', b'F', 5, ..] => Some("CDF-5"),
        b"\x89HDF\r\n\x1a\n" => Some("HDF5, as NetCDF-4 is"),
        _ => None,
    }
}

/// An input, opened.
pub(crate) struct Opened {
    pub(crate) container: Box<dyn Container>,
    /// Its size, when it is one file.
    pub(crate) bytes: Option<u64>,
}

/// All inputs that the arguments name, in their order; patterns sorted.
pub(crate) fn expand(arguments: &[OsString]) -> Result<Vec<Place>> {
    let mut places = Vec::new();
    for argument in arguments {
        places.extend(expand_one(argument)?);
    }
    match places.iter().filter(|place| **place == Place::Stdin).count() {
        0 | 1 => Ok(places),
        _ => Err(Error::usage("standard input (-) can be read only once")),
    }
}

/// A name that exists is taken as it is, whatever characters it has; otherwise it may be a pattern.
pub(crate) fn expand_one(argument: &OsStr) -> Result<Vec<Place>> {
    if argument == "-" {
        return Ok(vec![Place::Stdin]);
    }
    let name = || argument.display().to_string();
    let missing = match fs::symlink_metadata(argument) {
        Ok(_) => return Ok(vec![Place::Path(argument.into())]),
        Err(cause) => Error::io("cannot open", cause).in_file(name()),
    };
    let Some(pattern) = argument.to_str().filter(|text| text.contains(['*', '?', '['])) else {
        return Err(missing);
    };
    let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::default() };
    let matches = glob::glob_with(pattern, options)
        .map_err(|cause| Error::usage("the pattern cannot be understood").caused_by(cause).in_file(name()))?;
    let mut places = Vec::new();
    for found in matches {
        let path = found.map_err(|cause| {
            let folder = cause.path().display().to_string();
            Error::io("cannot look into the folder", cause.into()).in_file(folder)
        })?;
        places.push(Place::Path(path));
    }
    if places.is_empty() {
        let cause = io::Error::new(io::ErrorKind::NotFound, "no file matches the pattern");
        return Err(Error::io("cannot open", cause).in_file(name()));
    }
    Ok(places)
}

fn same_file(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    if let (Ok(one), Ok(other)) = (fs::metadata(one), fs::metadata(other)) {
        return identity(&one) == identity(&other);
    }
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

#[cfg(unix)]
fn identity(metadata: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(unix)]
fn stdin_is(output: &Path) -> bool {
    use std::os::fd::AsFd;
    let input = io::stdin().as_fd().try_clone_to_owned().map(fs::File::from).and_then(|file| file.metadata());
    match (input, fs::metadata(output)) {
        (Ok(input), Ok(output)) => input.is_file() && identity(&input) == identity(&output),
        _ => false,
    }
}

#[cfg(not(unix))]
fn stdin_is(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(argument: &Path) -> Vec<String> {
        let places = expand_one(argument.as_os_str()).unwrap();
        let file = |place: &Place| match place {
            Place::Path(path) => path.file_name().unwrap().to_str().unwrap().to_owned(),
            Place::Stdin => unreachable!("no pattern gives standard input"),
        };
        places.iter().map(file).collect()
    }

    #[test]
    fn patterns_are_sorted_and_literal_names_win() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.idv", "a.idv", "c.txt", ".hidden.idv", "[ab].idv"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(names(&folder.path().join("*.idv")), ["[ab].idv", "a.idv", "b.idv"]);
        assert_eq!(names(&folder.path().join("[ab].idv")), ["[ab].idv"]);
        assert_eq!(names(&folder.path().join("[a-b].idv")), ["a.idv", "b.idv"]);
        let error = expand_one(folder.path().join("*.none").as_os_str()).unwrap_err();
        assert!(error.to_string().ends_with("*.none: cannot open: no file matches the pattern"), "{error}");
        let error = expand_one(folder.path().join("a***").as_os_str()).unwrap_err();
        assert_eq!(error.kind().name(), "usage");
        let error = expand_one(folder.path().join("none").as_os_str()).unwrap_err();
        assert_eq!(error.kind().name(), "io");
    }

    #[test]
    fn standard_input_is_read_once() {
        assert_eq!(expand(&["-".into()]).unwrap(), [Place::Stdin]);
        assert_eq!(expand(&["-".into(), "-".into()]).unwrap_err().kind().name(), "usage");
    }

    #[cfg(unix)]
    #[test]
    fn the_same_file_by_another_name_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), "").unwrap();
        fs::write(path("b"), "").unwrap();
        fs::hard_link(path("a"), path("hard")).unwrap();
        std::os::unix::fs::symlink(path("a"), path("soft")).unwrap();
        let place = Place::Path(path("a"));
        for other in ["a", "hard", "soft", "../{}/a"] {
            let other = other.replace("{}", folder.path().file_name().unwrap().to_str().unwrap());
            assert!(place.is_same_file(&path(&other)), "{other}");
        }
        assert!(!place.is_same_file(&path("b")) && !place.is_same_file(&path("none")));
    }
}
