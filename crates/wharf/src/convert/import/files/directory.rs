//! The directory of an archive: lookup by path, and resolution of symbolic links.

use std::collections::BTreeMap;

use container_core::{Error, Limits, Result};

use super::archive::{Archive, Entry, Member};

/// Maximum bytes of a link's target, and maximum links to follow.
const MAX_LINK_PATH: u64 = 4096;
const MAX_LINKS: usize = 40;

/// What a path resolves to.
#[derive(Debug)]
pub(super) enum Target {
    File(Entry),
    Folder,
}

/// The members of an archive, in order.
#[derive(Debug)]
pub(super) struct Directory {
    members: Vec<(String, Member)>,
    by_path: BTreeMap<String, usize>,
}

impl Directory {
    pub(super) fn new(members: Vec<(String, Member)>) -> Self {
        let name = |(path, _): &(String, Member)| path.trim_end_matches('/').to_owned();
        let by_path = members.iter().map(name).zip(0..).collect();
        Self { members, by_path }
    }

    /// Files and links, in the order of the archive.
    pub(super) fn members(&self) -> impl Iterator<Item = (&str, &Member)> {
        let shown = self.members.iter().filter(|(_, member)| !matches!(member, Member::Folder));
        shown.map(|(path, member)| (path.as_str(), member))
    }

    fn get(&self, path: &str) -> Option<&Member> {
        self.by_path.get(path).and_then(|&number| self.members.get(number)).map(|(_, member)| member)
    }

    fn is_folder(&self, path: &str) -> bool {
        let below = format!("{path}/");
        path.is_empty()
            || matches!(self.get(path), Some(Member::Folder))
            || self.by_path.range(below.clone()..).next().is_some_and(|(next, _)| next.starts_with(&below))
    }

    /// Resolves a path, following links.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) for a broken link, or one out of the archive.
    pub(super) fn resolve(&self, archive: &Archive, path: &str) -> Result<Option<Target>> {
        if let Some(Member::File(entry)) = self.get(path) {
            return Ok(Some(Target::File(entry.clone())));
        }
        let named = |error: Error| error.in_format("zip").in_file(archive.name().to_owned()).in_key(path.to_owned());
        let mut rest: Vec<String> = path.rsplit('/').map(str::to_owned).collect();
        let mut at = String::new();
        let mut links = 0;
        let mut last = String::new();
        while let Some(name) = rest.pop() {
            match name.as_str() {
                "" | "." => {}
                ".." if at.is_empty() => {
                    return Err(named(Error::invalid(format!("the link leads out of the archive: {last}"))));
                }
                ".." => at.truncate(at.rfind('/').unwrap_or(0)),
                name => {
                    let folder = at.len();
                    if !at.is_empty() {
                        at.push('/');
                    }
                    at.push_str(name);
                    let Some(Member::Link(entry)) = self.get(&at) else { continue };
                    links += 1;
                    if links > MAX_LINKS {
                        let error = Error::limit("the number of links to follow", links as u64, MAX_LINKS as u64);
                        return Err(named(error));
                    }
                    last = target(archive, &at, entry)?;
                    if last.starts_with('/') {
                        return Err(named(Error::invalid(format!("the link leads out of the archive: {last}"))));
                    }
                    at.truncate(folder);
                    rest.extend(last.rsplit('/').map(str::to_owned));
                }
            }
        }
        match self.get(&at) {
            Some(Member::File(entry)) => Ok(Some(Target::File(entry.clone()))),
            _ if self.is_folder(&at) => Ok(Some(Target::Folder)),
            _ if links > 0 => Err(named(Error::invalid(format!("broken link: {last} is not in the archive")))),
            _ => Ok(None),
        }
    }
}

/// The target of a link.
fn target(archive: &Archive, path: &str, entry: &Entry) -> Result<String> {
    let content = archive.content(path, entry, &Limits::default().with_block_bytes(MAX_LINK_PATH))?.all()?;
    String::from_utf8(content).map_err(|_| {
        let error = Error::unsupported("the path in the link is not UTF-8").in_format("zip");
        error.in_file(archive.name().to_owned()).in_key(path.to_owned())
    })
}
