//! The record of routes: one line per route, and the texts that the lines refer to by digest.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The outcome of a command, as digests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Route {
    pub(super) exit: String,
    /// Digests by part: `bytes`, `values`, `stdout`, `stderr`; prefixed with the file name if there are several files.
    pub(super) parts: BTreeMap<String, String>,
}

impl Route {
    /// The exit code and the parts by name.
    fn facts(&self) -> BTreeMap<&str, &str> {
        let parts = self.parts.iter().map(|(key, digest)| (key.as_str(), digest.as_str()));
        parts.chain([("exit", self.exit.as_str())]).collect()
    }
}

/// Routes by their command lines, and texts by their digests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Record {
    pub(super) routes: BTreeMap<String, Route>,
    pub(super) texts: BTreeMap<String, String>,
}

/// Prefix of the line with a text's digest.
const TEXT_PREFIX: &str = "== ";

impl Record {
    /// Parses the output of [`Record::print`].
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut record = Self::default();
        let mut current: Option<&mut String> = None;
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(digest) = line.strip_prefix(TEXT_PREFIX) {
                current = Some(record.texts.entry(digest.to_owned()).or_default());
            } else if let Some(line) = line.strip_prefix("    ") {
                let text = current.as_mut().ok_or_else(|| format!("expected a digest before \"{line}\""))?;
                text.push_str(line);
                text.push('\n');
            } else {
                let mut fields = line.splitn(3, '\t');
                let (Some(exit), Some(name), Some(parts)) = (fields.next(), fields.next(), fields.next()) else {
                    return Err(format!("expected exit code, command and digests, found \"{line}\""));
                };
                let parts = parts.split(' ').filter_map(|part| part.split_once('='));
                let parts = parts.map(|(key, digest)| (key.to_owned(), digest.to_owned())).collect();
                record.routes.insert(name.to_owned(), Route { exit: exit.to_owned(), parts });
            }
        }
        Ok(record)
    }

    /// Formats the record, with the texts that its routes refer to.
    pub(super) fn print(&self) -> String {
        let mut printed = "# Written by `cargo xtask golden routes --update`.\n\n".to_owned();
        let mut digests = BTreeSet::new();
        for (name, route) in &self.routes {
            let parts: Vec<_> = route.parts.iter().map(|(key, digest)| format!("{key}={digest}")).collect();
            digests.extend(route.parts.values());
            let _ = writeln!(printed, "{}\t{name}\t{}", route.exit, parts.join(" "));
        }
        for (digest, text) in self.texts.iter().filter(|(digest, _)| digests.contains(digest)) {
            let _ = writeln!(printed, "\n{TEXT_PREFIX}{digest}");
            for line in text.lines() {
                let _ = writeln!(printed, "    {line}");
            }
        }
        printed
    }

    /// Every difference from a newer record, with the routes that show it.
    pub(super) fn changes<'a>(&'a self, new: &'a Self) -> BTreeMap<Change<'a>, Vec<&'a str>> {
        let mut changes: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let names: BTreeSet<_> = self.routes.keys().chain(new.routes.keys()).collect();
        for name in names {
            let facts = |record: &'a Self| record.routes.get(name).map(Route::facts).unwrap_or_default();
            let (before, after) = (facts(self), facts(new));
            let keys: BTreeSet<_> = before.keys().chain(after.keys()).copied().collect();
            for what in keys {
                let (old, new) = (before.get(what).copied(), after.get(what).copied());
                if old != new {
                    changes.entry(Change { what, old, new }).or_default().push(name.as_str());
                }
            }
        }
        changes
    }

    /// The lines of a digested text, or the digest itself if the text was not recorded.
    pub(super) fn resolve(&self, digest: Option<&str>) -> Vec<String> {
        let Some(digest) = digest else { return vec!["nothing".to_owned()] };
        match self.texts.get(digest) {
            Some(text) => text.lines().map(str::to_owned).collect(),
            None => vec![digest.to_owned()],
        }
    }
}

/// A difference between two records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Change<'a> {
    pub(super) what: &'a str,
    pub(super) old: Option<&'a str>,
    pub(super) new: Option<&'a str>,
}

/// The upper 48 bits of 64-bit FNV-1a: the record needs a stable digest, not one that resists attacks.
pub(super) fn digest(bytes: &[u8]) -> String {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:012x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, step) >> 16)
}

/// The lines that only one of two texts has, prefixed with `-` or `+`.
pub(super) fn difference(old: &[String], new: &[String]) -> Vec<String> {
    let missing = |line: &&String, other: &[String]| !other.contains(line);
    let removed = old.iter().filter(|line| missing(line, new)).map(|line| format!("- {line}"));
    let added = new.iter().filter(|line| missing(line, old)).map(|line| format!("+ {line}"));
    let lines: Vec<_> = removed.chain(added).collect();
    if lines.is_empty() { vec!["same lines, in another order or number".to_owned()] } else { lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(lines: &[(&str, &str, &str)], text: &str) -> Record {
        let route = |exit: &str, part: &str| Route {
            exit: exit.to_owned(),
            parts: BTreeMap::from([("stderr".to_owned(), part.to_owned())]),
        };
        let routes = lines.iter().map(|(name, exit, part)| ((*name).to_owned(), route(exit, part))).collect();
        Record { routes, texts: BTreeMap::from([("ab".to_owned(), text.to_owned())]) }
    }

    #[test]
    fn parses_its_output() {
        let record = record(&[("convert a b", "0", "ab"), ("info a", "1", "cd")], "one\n\n  two = 2\n");
        assert_eq!(Record::parse(&record.print()).unwrap(), record);
        assert!(Record::parse("0 convert a b").unwrap_err().starts_with("expected exit code"));
        // Unreferenced texts are dropped.
        let mut less = record.clone();
        less.routes.remove("convert a b");
        assert!(!less.print().contains("two"));
    }

    #[test]
    fn groups_routes_by_change() {
        let old = record(&[("a", "0", "ab"), ("b", "0", "ab"), ("c", "0", "ab")], "old\n");
        let new = record(&[("a", "3", "ef"), ("b", "0", "ef"), ("c", "0", "ab")], "old\n");
        let found: Vec<_> = old.changes(&new).into_iter().map(|(change, names)| (change.what, names)).collect();
        assert_eq!(found, [("exit", vec!["a"]), ("stderr", vec!["a", "b"])]);
        assert!(old.changes(&old).is_empty());
        let gone = record(&[("a", "0", "ab"), ("b", "0", "ab")], "old\n");
        assert_eq!(old.changes(&gone).len(), 2);
    }

    #[test]
    fn digest_is_fnv() {
        assert_eq!(digest(b""), "cbf29ce48422");
        assert_eq!(digest(b"foobar"), "85944171f739");
    }

    #[test]
    fn difference_lists_unshared_lines() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(difference(&lines("a\nb\nc"), &lines("a\nd\nc")), ["- b", "+ d"]);
        assert_eq!(difference(&lines("a\na"), &lines("a")).len(), 1);
    }
}
