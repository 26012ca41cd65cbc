//! Validation of entry names: which are paths of the format, and why others are rejected.

use crate::layout::check_collection;
use crate::wire::id;

/// Maximum bytes of a path component on common file systems.
const MAX_PART_BYTES: usize = 255;

/// Maximum components of a path, so that a small entry cannot create thousands of directories.
const MAX_DEPTH: usize = 32;

/// Why an entry does not belong to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rejection {
    /// A directory: has no contents, and is not reported.
    Folder,
    Absolute,
    Drive,
    Parent,
    Backslash,
    Control,
    NotUtf8,
    EmptyPart,
    LongPart,
    Deep,
    SystemFile,
    Outside,
    NotInFormat,
    NotADocument,
}

impl Rejection {
    /// Description for messages.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Folder => "a directory",
            Self::Absolute => "absolute path",
            Self::Drive => "path with a drive letter",
            Self::Parent => "path that escapes the directory with \"..\"",
            Self::Backslash => "name with a backslash",
            Self::Control => "name with a control character",
            Self::NotUtf8 => "name that is not valid UTF-8",
            Self::EmptyPart => "path with an empty component or \".\"",
            Self::LongPart => "path component longer than 255 bytes",
            Self::Deep => "path with more than 32 components",
            Self::SystemFile => "file left by an operating system",
            Self::Outside => "outside the store's directory",
            Self::NotInFormat => "not a path of a store",
            Self::NotADocument => "not a document (expected \"<id>.json\" in docs/)",
        }
    }

    /// Whether the name is clearly meant to escape the target directory.
    pub(super) const fn is_hostile(self) -> bool {
        matches!(self, Self::Absolute | Self::Drive | Self::Parent | Self::Backslash | Self::Control)
    }
}

/// Checks what is forbidden in any name, wherever in the archive.
pub(super) fn check_name(name: &str) -> Result<(), Rejection> {
    let bytes = name.as_bytes();
    if bytes.first() == Some(&b'/') {
        return Err(Rejection::Absolute);
    }
    if matches!(bytes, [letter, b':', ..] if letter.is_ascii_alphabetic()) {
        return Err(Rejection::Drive);
    }
    // Fast path for ordinary names: two vectorized passes.
    let unusual = bytes.iter().fold(false, |unusual, byte| unusual | !matches!(byte, b' '..=b'~') | (*byte == b'\\'));
    if unusual {
        if bytes.contains(&b'\\') {
            return Err(Rejection::Backslash);
        }
        if name.chars().any(char::is_control) {
            return Err(Rejection::Control);
        }
    }
    if has_two_dots(bytes) && name.split('/').any(|part| part == "..") { Err(Rejection::Parent) } else { Ok(()) }
}

fn has_two_dots(bytes: &[u8]) -> bool {
    let rest = bytes.get(1..).unwrap_or_default();
    bytes.iter().zip(rest).fold(false, |two, (one, next)| two | ((*one == b'.') & (*next == b'.')))
}

/// Kind of directory that a file is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folder {
    /// The root of the store.
    Root,
    /// Documents in files of their own.
    Documents,
    /// Any other directory of the store.
    Any,
}

/// Checks a path relative to the root of the store that has passed [`check_name`].
pub(super) fn check_path(path: &str) -> Result<(), Rejection> {
    let (folder, file) = split(path);
    let kind = check_folder(folder);
    check_file(file)?;
    check_file_in(kind?, file)
}

/// Splits a path into directory, with trailing slash, and file name.
pub(super) fn split(path: &str) -> (&str, &str) {
    let end = memchr::memrchr(b'/', path.as_bytes()).map_or(0, |slash| slash + 1);
    path.split_at_checked(end).unwrap_or(("", path))
}

/// Checks a directory, with trailing slash, as far as it concerns files in it.
pub(super) fn check_folder(folder: &str) -> Result<Folder, Rejection> {
    let Some(folder) = folder.strip_suffix('/') else { return Ok(Folder::Root) };
    folder.split('/').try_for_each(check_file)?;
    if folder.split('/').count() >= MAX_DEPTH {
        return Err(Rejection::Deep);
    }
    let mut parts = folder.split('/');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some("collections"), Some(collection), third, fourth) if check_collection(collection).is_ok() => {
            match (third, fourth) {
                (Some("docs"), None) => Ok(Folder::Documents),
                (Some("docs"), Some(_)) => Err(Rejection::NotADocument),
                // Other files of a collection are kept, known or not.
                _ => Ok(Folder::Any),
            }
        }
        (Some("metadata" | ".zds"), ..) => Ok(Folder::Any),
        _ => Err(Rejection::NotInFormat),
    }
}

/// Checks a single path component.
pub(super) fn check_file(part: &str) -> Result<(), Rejection> {
    match part.as_bytes() {
        [] | [b'.'] => Err(Rejection::EmptyPart),
        bytes if bytes.len() > MAX_PART_BYTES => Err(Rejection::LongPart),
        [b'.', b'_', ..] => Err(Rejection::SystemFile),
        [b'_' | b'.' | b'T' | b'd', ..] if matches!(part, "__MACOSX" | ".DS_Store" | "Thumbs.db" | "desktop.ini") => {
            Err(Rejection::SystemFile)
        }
        _ => Ok(()),
    }
}

/// Whether a file with this name may be in this kind of directory.
pub(super) fn check_file_in(folder: Folder, file: &str) -> Result<(), Rejection> {
    match folder {
        Folder::Any => Ok(()),
        Folder::Root if file == "zds.json" => Ok(()),
        Folder::Root => Err(Rejection::NotInFormat),
        Folder::Documents => match file.strip_suffix(".json") {
            Some(name) if id::names_a_file(name) => Ok(()),
            _ => Err(Rejection::NotADocument),
        },
    }
}

/// The directory that contains the store according to this name, with trailing slash; empty for the top level.
pub(super) fn root_of(name: &str) -> Option<&str> {
    let begins = |path: &str| path == "zds.json" || path.starts_with("collections/");
    if begins(name) {
        return Some("");
    }
    let (folder, rest) = name.split_once('/')?;
    let is_root = begins(rest) && folder != "__MACOSX" && !folder.is_empty();
    if is_root { name.get(..=folder.len()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_paths() {
        for path in [
            "zds.json",
            "collections/a/meta/data.jsonl",
            "collections/a/docs/x-1.json",
            "collections/a b/notes/deep/er.txt",
            "collections/\u{e9}t\u{e9}/meta/index.bin",
            "metadata/root_manifest.json",
            ".zds/.zds_write.lock",
        ] {
            assert_eq!((check_name(path), check_path(path)), (Ok(()), Ok(())), "{path}");
        }
        let long = format!("collections/{}/meta/x", "a".repeat(256));
        let deep = |parts: usize| format!("metadata/{}x", "a/".repeat(parts - 2));
        assert_eq!(check_path(&deep(32)), Ok(()));
        let deep = deep(33);
        for (path, rejection) in [
            ("readme.txt", Rejection::NotInFormat),
            ("collections/a", Rejection::NotInFormat),
            ("other/a/meta/x", Rejection::NotInFormat),
            ("collections/.x/meta/x", Rejection::NotInFormat),
            ("collections/a:b/meta/x", Rejection::NotInFormat),
            ("collections//meta/x", Rejection::EmptyPart),
            ("collections/./meta/x", Rejection::EmptyPart),
            ("", Rejection::EmptyPart),
            (&*long, Rejection::LongPart),
            (&*deep, Rejection::Deep),
            ("collections/a/docs/x.txt", Rejection::NotADocument),
            ("collections/a/docs/.json", Rejection::NotADocument),
            ("collections/a/docs/a..b.json", Rejection::NotADocument),
            ("collections/a/docs/x/y.json", Rejection::NotADocument),
            ("collections/a/meta/._data.jsonl", Rejection::SystemFile),
            ("__MACOSX/collections/a/meta/x", Rejection::SystemFile),
            ("collections/.DS_Store", Rejection::SystemFile),
        ] {
            assert_eq!((check_name(path), check_path(path)), (Ok(()), Err(rejection)), "{path}");
        }
        for (name, rejection) in [
            ("/collections/a/meta/x", Rejection::Absolute),
            ("C:/collections/a/meta/x", Rejection::Drive),
            ("c:x", Rejection::Drive),
            ("../x", Rejection::Parent),
            ("collections/a/../../../x", Rejection::Parent),
            ("collections/..", Rejection::Parent),
            ("collections\\a\\meta\\x", Rejection::Backslash),
            ("collections/a\0/meta/x", Rejection::Control),
            ("collections/a\u{85}/meta/x", Rejection::Control),
            ("collections/a/meta/x\n", Rejection::Control),
        ] {
            assert_eq!(check_name(name), Err(rejection), "{name:?}");
            assert!(rejection.is_hostile());
        }
    }

    #[test]
    fn finds_the_root() {
        for (name, root) in [
            ("collections/a/meta/x", Some("")),
            ("zds.json", Some("")),
            ("x/collections/a/meta/x", Some("x/")),
            ("x/zds.json", Some("x/")),
            ("./collections/", Some("./")),
            ("x/y/collections/a", None),
            ("__MACOSX/collections/a", None),
            ("/collections/a", None),
            ("readme.txt", None),
        ] {
            assert_eq!(root_of(name), root, "{name}");
        }
    }
}
