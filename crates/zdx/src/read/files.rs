//! Documents that have a file each, and the order they come in.

use std::collections::HashSet;

use container_core::{OpenOptions, Result};

use crate::layout::{META, ORDER};
use crate::read::home::Home;

/// The ids of documents in files of their own that have no line.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// In the order of `order.ids`, then the others by name.
    pub(crate) ids: Vec<String>,
    /// Files whose id has a line.
    pub(crate) shadowed: u64,
    /// Ids of `order.ids` that have neither file nor line.
    pub(crate) without_file: u64,
}

/// Finds them, but for those that are about to be removed; `has_line` says of an id whether it has one.
///
/// # Errors
/// [`Io`](container_core::ErrorKind::Io) of the folder or of `order.ids`, which is no file of a limited size either way.
pub(crate) fn files(
    home: &Home,
    options: &OpenOptions,
    removed: &HashSet<String>,
    has_line: impl Fn(&str) -> bool,
) -> Result<Files> {
    let mut found = Files::default();
    if !home.has_documents() {
        return Ok(found);
    }
    let mut names = home.documents()?;
    names.retain(|id| !removed.contains(id));
    let mut is_taken = vec![false; names.len()];
    if let Some((order, _)) = home.meta(ORDER, options)? {
        options.limits.check_block("the length of order.ids", order.len())?;
        let bytes = order.read(0..order.len()).map_err(|error| error.in_file(format!("{META}/{ORDER}")))?;
        for id in String::from_utf8_lossy(&bytes).lines().map(str::trim).filter(|id| !id.is_empty()) {
            match names.binary_search_by(|name| name.as_str().cmp(id)) {
                Ok(place) => {
                    if let Some(taken @ false) = is_taken.get_mut(place) {
                        *taken = true;
                        found.add(id, &has_line);
                    }
                }
                Err(_) => found.without_file += u64::from(!has_line(id) && !removed.contains(id)),
            }
        }
    }
    for (id, _) in names.iter().zip(is_taken).filter(|(_, is_taken)| !is_taken) {
        found.add(id, &has_line);
    }
    Ok(found)
}

impl Files {
    fn add(&mut self, id: &str, has_line: impl Fn(&str) -> bool) {
        match has_line(id) {
            true => self.shadowed += 1,
            false => self.ids.push(id.to_owned()),
        }
    }
}
