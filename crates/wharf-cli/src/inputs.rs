//! Input arguments: paths, glob patterns and standard input.

use std::ffi::{OsStr, OsString};

use container_core::{Error, Result};
pub(crate) use wharf::hub::env::Opened;
pub(crate) use wharf::hub::inputs::{Location, expand_one};
pub(crate) use wharf::hub::overlap::refuse_overlap;

/// The inputs that the arguments name, in order. Matches of a pattern are sorted.
pub(crate) fn expand(arguments: &[OsString]) -> Result<Vec<Location>> {
    let mut locations = Vec::new();
    for argument in arguments {
        locations.extend(expand_one(argument)?);
    }
    match locations.iter().filter(|location| **location == Location::Stdin).count() {
        0 | 1 => Ok(locations),
        _ => Err(Error::usage("standard input (-) can be given only once")),
    }
}

/// The input of a verb that takes only one.
pub(crate) fn expand_single(argument: &OsStr, verb: &str) -> Result<Location> {
    let mut locations = expand_one(argument)?;
    match (locations.pop(), locations.len()) {
        (Some(location), 0) => Ok(location),
        (_, others) => {
            let detail = format!("the pattern matches {} files; {verb} takes one", others + 1);
            Err(Error::usage(detail).in_file(argument.display().to_string()))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn names(argument: &Path) -> Vec<String> {
        let locations = expand_one(argument.as_os_str()).unwrap();
        let file = |location: &Location| match location {
            Location::Path(path) => path.file_name().unwrap().to_str().unwrap().to_owned(),
            _ => unreachable!("a pattern matches paths only"),
        };
        locations.iter().map(file).collect()
    }

    #[test]
    fn sorts_matches_and_prefers_literal_names() {
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
    fn accepts_standard_input_only_once() {
        assert_eq!(expand(&["-".into()]).unwrap(), [Location::Stdin]);
        assert_eq!(expand(&["-".into(), "-".into()]).unwrap_err().kind().name(), "usage");
    }
}
