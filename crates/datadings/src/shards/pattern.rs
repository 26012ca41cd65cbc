//! Datasets whose names fit a pattern.

use container_core::{Error, OpenOptions, Result};

use super::Shards;
use crate::FORMAT_NAME;
use crate::read::set_of;

impl Shards {
    /// Opens all datasets whose data files a pattern names, such as `train-*.msgpack`, sorted by their names as Python sorts them:
    /// `train-10` comes before `train-9`, so that numbers need zeros in front. As in a shell `*` does not match a dot that a name
    /// begins with.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for what is no pattern, and when no file matches; as [`Reader::open`](crate::Reader::open).
    #[cfg_attr(docsrs, doc(cfg(feature = "glob")))]
    pub fn glob(pattern: &str, options: OpenOptions) -> Result<Self> {
        let usage = |detail: String| Error::usage(detail).in_format(FORMAT_NAME);
        let mut how = glob::MatchOptions::new();
        how.require_literal_leading_dot = true;
        how.require_literal_separator = true;
        let found =
            glob::glob_with(pattern, how).map_err(|error| usage(format!("{pattern:?} is no pattern: {error}")))?;
        let mut paths = Vec::new();
        for path in found {
            let path = path.map_err(|error| {
                let path = error.path().display().to_string();
                Error::io("cannot look into the folder", error.into()).in_format(FORMAT_NAME).in_file(path)
            })?;
            // What stands beside the data of one that is there is no dataset by itself.
            if set_of(&path).data() == path {
                paths.push(path);
            }
        }
        if paths.is_empty() {
            return Err(usage(format!("no file matches {pattern:?}")));
        }
        // By the text of the names, not by their parts: a slash has its place among the letters.
        paths.sort_by(|a, b| a.as_os_str().as_encoded_bytes().cmp(b.as_os_str().as_encoded_bytes()));
        Self::open_with(paths, options)
    }
}
