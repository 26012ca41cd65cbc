//! File-per-document documents and their order.

use std::collections::HashSet;

use container_core::raw_json::Name;
use container_core::{OpenOptions, Result};

use crate::journal::member;
use crate::layout::{DOCUMENT_LIST, META, ORDER};
use crate::read::paths::CollectionPaths;

/// Ids of the documents in `docs` that have no line in `data.jsonl`.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// In the order of `order.ids`, then the rest by name.
    pub(crate) ids: Vec<String>,
    /// Number of files whose id also has a line, which takes precedence.
    pub(crate) shadowed: u64,
    /// Number of ids in `order.ids` that have neither a file nor a line.
    pub(crate) missing_files: u64,
}

/// Lists the files, except those about to be removed.
///
/// # Errors
/// [`Io`](container_core::ErrorKind::Io) of `docs` or `order.ids`; [`Limit`](container_core::ErrorKind::Limit) of `order.ids`.
pub(crate) fn files(
    paths: &CollectionPaths,
    options: &OpenOptions,
    removed: &HashSet<String>,
    has_line: impl Fn(&str) -> bool,
) -> Result<Files> {
    let mut files = Files::default();
    if !paths.has_documents() {
        return Ok(files);
    }
    let mut names = paths.documents()?;
    names.retain(|id| !removed.contains(id));
    let mut is_listed = vec![false; names.len()];
    if let Some((order, _)) = paths.meta(ORDER, options)? {
        options.limits.check_block("the length of order.ids", order.len())?;
        let bytes = order.read(0..order.len()).map_err(|error| error.in_file(format!("{META}/{ORDER}")))?;
        for id in String::from_utf8_lossy(&bytes).lines().map(str::trim).filter(|id| !id.is_empty()) {
            match names.binary_search_by(|name| name.as_str().cmp(id)) {
                Ok(at) => {
                    if let Some(listed @ false) = is_listed.get_mut(at) {
                        *listed = true;
                        files.add(id, &has_line);
                    }
                }
                Err(_) => files.missing_files += u64::from(!has_line(id) && !removed.contains(id)),
            }
        }
    }
    for (id, _) in names.iter().zip(is_listed).filter(|(_, is_listed)| !is_listed) {
        files.add(id, &has_line);
    }
    Ok(files)
}

/// A list of documents in files of their own, [`ORDER`] or [`DOCUMENT_LIST`], without removed ones. `None` if it lists none of them, or is not UTF-8.
pub(crate) fn without(list: &str, text: &[u8], removed: &HashSet<String>) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let is_removed = |line: &str| match list {
        DOCUMENT_LIST => {
            let members = serde_json::from_str(line).ok();
            let id = members.and_then(|members| member::<Name<'_>>(&members, "doc_id").ok()?);
            id.is_some_and(|Name(id)| removed.contains(&*id))
        }
        _ => removed.contains(line.trim()),
    };
    let kept: String = text.split_inclusive('\n').filter(|line| !is_removed(line)).collect();
    (kept.len() < text.len()).then_some(kept)
}

impl Files {
    fn add(&mut self, id: &str, has_line: impl Fn(&str) -> bool) {
        match has_line(id) {
            true => self.shadowed += 1,
            false => self.ids.push(id.to_owned()),
        }
    }
}
