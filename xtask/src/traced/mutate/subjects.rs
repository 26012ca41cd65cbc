//! The golden files, each with its companion files.

use std::collections::BTreeMap;
use std::path::Path;

use crate::shell;

/// A golden file of one format.
pub(super) struct Subject {
    pub(super) format: Format,
    /// Path relative to `tests/golden`.
    pub(super) name: String,
    /// Names in the working directory, and bytes: the data file and its companions, or the content of a directory.
    pub(super) files: Vec<(String, Vec<u8>)>,
}

/// The format of a golden file, as needed by mutations and verbs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Format {
    Idv,
    IdvModel,
    Datadings,
    Ds,
    /// Classic NetCDF formats.
    NetCdf,
    /// NetCDF 4.
    Hdf5,
    Store,
    Archive,
    Parquet,
    Arrow,
    Csv,
    JsonLines,
    /// A ZIP archive of files, which `convert` turns into a dataset.
    Zip,
    /// A stand-alone Bloom filter file.
    Filter,
}

impl Format {
    /// The name of the data in the working directory, without its first letter.
    pub(super) const fn ending(self) -> &'static str {
        match self {
            Self::Idv => ".idv",
            Self::IdvModel | Self::Zip => ".zip",
            Self::Datadings => ".msgpack",
            Self::Ds => ".ds",
            Self::NetCdf | Self::Hdf5 => ".nc",
            Self::Store => ".d",
            Self::Archive => ".zds",
            Self::Parquet => ".parquet",
            Self::Arrow => ".arrow",
            Self::Csv => ".csv",
            Self::JsonLines => ".jsonl",
            Self::Filter => ".filter",
        }
    }
}

/// Larger files take too long, in bytes.
const MAX_SIZE: usize = 300_000;

/// All golden files, by format.
pub(super) fn all() -> Result<BTreeMap<Format, Vec<Subject>>, String> {
    let golden = shell::root().join("tests/golden");
    let files = shell::files_below(&golden)?;
    let mut subjects: BTreeMap<Format, Vec<Subject>> = BTreeMap::new();
    let mut stores: BTreeMap<String, Vec<(String, Vec<u8>)>> = BTreeMap::new();
    for name in &files {
        let bytes = || bytes(&golden.join(name));
        // A store is the parent of `collections`.
        if let Some((store, rest)) = store_of(name, &files) {
            stores.entry(store.to_owned()).or_default().push((format!("m.d/{rest}"), bytes()?));
            continue;
        }
        let Some(format) = format(name, &bytes()?) else { continue };
        let mut members = vec![(format!("m{}", format.ending()), bytes()?)];
        if format == Format::Datadings {
            let prefix = format!("{name}.");
            for member in files.iter().filter(|other| other.starts_with(&prefix)) {
                let ending = member.strip_prefix(name.as_str()).unwrap_or_default();
                members.push((format!("m.msgpack{ending}"), self::bytes(&golden.join(member))?));
            }
        }
        if members.iter().all(|(_, bytes)| bytes.len() <= MAX_SIZE) {
            subjects.entry(format).or_default().push(Subject { format, name: name.clone(), files: members });
        }
    }
    for (name, files) in stores {
        subjects.entry(Format::Store).or_default().push(Subject { format: Format::Store, name, files });
    }
    Ok(subjects)
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// The store that contains a file, and the file's path within it.
fn store_of<'a>(name: &'a str, files: &std::collections::BTreeSet<String>) -> Option<(&'a str, &'a str)> {
    let (at, _) = name.match_indices('/').find(|(at, _)| {
        let inside = format!("{}/collections/", name.get(..*at).unwrap_or_default());
        files.range(inside.clone()..).next().is_some_and(|first| first.starts_with(&inside))
    })?;
    Some((name.get(..at)?, name.get(at + 1..)?))
}

fn format(name: &str, bytes: &[u8]) -> Option<Format> {
    let (_, ending) = name.rsplit_once('.')?;
    let cross = name.starts_with("cross/");
    Some(match ending {
        "idv" => Format::Idv,
        "zip" if name.starts_with("idv-model/") => Format::IdvModel,
        "zip" => Format::Zip,
        "msgpack" => Format::Datadings,
        "ds" => Format::Ds,
        "nc" if bytes.starts_with(b"CDF") => Format::NetCdf,
        "nc" => Format::Hdf5,
        "zds" => Format::Archive,
        "parquet" => Format::Parquet,
        "arrow" | "arrows" => Format::Arrow,
        "csv" => Format::Csv,
        "jsonl" if cross && !name.ends_with(".expected.jsonl") => Format::JsonLines,
        "filter" if name.starts_with("simplebloom/") => Format::Filter,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_golden_files_of_every_format() {
        let all = all().unwrap();
        let counts: Vec<_> = all.iter().map(|(format, subjects)| (*format, subjects.len())).collect();
        assert_eq!(counts.len(), 14, "{counts:?}");
        let iris = all[&Format::Datadings].iter().find(|subject| subject.name == "cross/iris.msgpack").unwrap();
        assert_eq!(iris.files.len(), 6);
        let store = all[&Format::Store].iter().find(|subject| subject.name == "zds/iris").unwrap();
        assert_eq!(store.files.first().unwrap().0, "m.d/collections/test/meta/data.jsonl");
    }
}
