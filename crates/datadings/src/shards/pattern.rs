//! Opens the datasets that match a pattern.

use container_core::{Error, OpenOptions, Result};

use super::Shards;
use crate::FORMAT_NAME;
use crate::read::set_of;

impl Shards {
    /// Opens all datasets whose data files match a pattern, such as `train-*.msgpack`. They are sorted by name as in Python: `train-10` comes
    /// before `train-9`, so numbers need leading zeros. As in a shell, `*` does not match a leading dot.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for an invalid pattern, and when no file matches; as [`Reader::open`](crate::Reader::open).
    #[cfg_attr(docsrs, doc(cfg(feature = "glob")))]
    pub fn glob(pattern: &str, options: OpenOptions) -> Result<Self> {
        let usage = |detail: String| Error::usage(detail).in_format(FORMAT_NAME);
        let mut match_options = glob::MatchOptions::new();
        match_options.require_literal_leading_dot = true;
        match_options.require_literal_separator = true;
        let matches = glob::glob_with(pattern, match_options)
            .map_err(|error| usage(format!("invalid pattern {pattern:?}: {error}")))?;
        let mut paths = Vec::new();
        for path in matches {
            let path = path.map_err(|error| {
                let path = error.path().display().to_string();
                Error::io("cannot read the directory", error.into()).in_format(FORMAT_NAME).in_file(path)
            })?;
            // Skip companion files of a dataset.
            if set_of(&path).data() == path {
                paths.push(path);
            }
        }
        if paths.is_empty() {
            return Err(usage(format!("no file matches {pattern:?}")));
        }
        // Compare whole paths rather than components: a slash sorts like any other character.
        paths.sort_by(|a, b| a.as_os_str().as_encoded_bytes().cmp(b.as_os_str().as_encoded_bytes()));
        Self::open_with(paths, options)
    }
}
