//! Which names an archive's entries may have: the paths of the format, and why another is none.

use crate::layout::check_collection;
use crate::wire::id;

/// Bytes of one part of a path that common file systems take.
const LONGEST_PART: usize = 255;

/// Parts of a path, at most: an entry of a few bytes is not to become thousands of folders.
const DEEPEST: usize = 32;

/// Why an entry is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// It names a folder: nothing to read, and no stranger.
    Folder,
    Absolute,
    Drive,
    Parent,
    Backslash,
    Control,
    NotText,
    Hollow,
    Long,
    Deep,
    Foreign,
    Outside,
    NoPath,
    NoDocument,
}

impl Why {
    /// What is told of it.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Folder => "it is a folder",
            Self::Absolute => "its name is absolute",
            Self::Drive => "its name begins with a drive letter",
            Self::Parent => "its name leads out of the tree by \"..\"",
            Self::Backslash => "its name holds a backslash",
            Self::Control => "its name holds a control character",
            Self::NotText => "its name is not UTF-8",
            Self::Hollow => "a part of its name is empty or \".\"",
            Self::Long => "a part of its name has more than 255 bytes",
            Self::Deep => "its path has more than 32 parts",
            Self::Foreign => "it is what a system leaves beside files",
            Self::Outside => "it stands outside the tree",
            Self::NoPath => "its name is no path of the format",
            Self::NoDocument => "its name is no document's: \"<id>.json\" is expected in docs/",
        }
    }

    /// Is it a name that nobody has by accident, made to be written somewhere else?
    pub(super) const fn hostile(self) -> bool {
        matches!(self, Self::Absolute | Self::Drive | Self::Parent | Self::Backslash | Self::Control)
    }
}

/// Checks what no name may have, wherever in the archive it stands.
pub(super) fn check_name(name: &str) -> Result<(), Why> {
    let bytes = name.as_bytes();
    if bytes.first() == Some(&b'/') {
        return Err(Why::Absolute);
    }
    if matches!(bytes, [letter, b':', ..] if letter.is_ascii_alphabetic()) {
        return Err(Why::Drive);
    }
    // Two looks at all bytes at once for the names that are as they should be.
    let odd = bytes.iter().fold(false, |odd, byte| odd | !matches!(byte, b' '..=b'~') | (*byte == b'\\'));
    if odd {
        if bytes.contains(&b'\\') {
            return Err(Why::Backslash);
        }
        if name.chars().any(char::is_control) {
            return Err(Why::Control);
        }
    }
    if two_dots(bytes) && name.split('/').any(|part| part == "..") { Err(Why::Parent) } else { Ok(()) }
}

fn two_dots(bytes: &[u8]) -> bool {
    let behind = bytes.get(1..).unwrap_or_default();
    bytes.iter().zip(behind).fold(false, |two, (one, next)| two | ((*one == b'.') & (*next == b'.')))
}

/// What the folder of a path means for the file in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folder {
    /// The root of the tree.
    Root,
    /// Documents that are files.
    Documents,
    /// Any other of the store's.
    Any,
}

/// Checks a path relative to the root of the tree, of which [`check_name`] has nothing to say.
pub(super) fn check_path(path: &str) -> Result<(), Why> {
    let (folder, file) = split(path);
    let kind = check_folder(folder);
    check_file(file)?;
    fits(kind?, file)
}

/// A path's folder, with its slash, and the file's name.
pub(super) fn split(path: &str) -> (&str, &str) {
    let end = memchr::memrchr(b'/', path.as_bytes()).map_or(0, |slash| slash + 1);
    path.split_at_checked(end).unwrap_or(("", path))
}

/// Checks a folder, with its slash, as far as it concerns the files in it.
pub(super) fn check_folder(folder: &str) -> Result<Folder, Why> {
    let Some(folder) = folder.strip_suffix('/') else { return Ok(Folder::Root) };
    folder.split('/').try_for_each(check_file)?;
    if folder.split('/').count() >= DEEPEST {
        return Err(Why::Deep);
    }
    let mut parts = folder.split('/');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some("collections"), Some(collection), third, fourth) if check_collection(collection).is_ok() => {
            match (third, fourth) {
                (Some("docs"), None) => Ok(Folder::Documents),
                (Some("docs"), Some(_)) => Err(Why::NoDocument),
                // Any other file of a collection is kept, known or not.
                _ => Ok(Folder::Any),
            }
        }
        (Some("metadata" | ".zds"), ..) => Ok(Folder::Any),
        _ => Err(Why::NoPath),
    }
}

/// Checks the name of a file, or of a folder, by itself.
pub(super) fn check_file(part: &str) -> Result<(), Why> {
    match part.as_bytes() {
        [] | [b'.'] => Err(Why::Hollow),
        bytes if bytes.len() > LONGEST_PART => Err(Why::Long),
        [b'.', b'_', ..] => Err(Why::Foreign),
        [b'_' | b'.' | b'T' | b'd', ..] if matches!(part, "__MACOSX" | ".DS_Store" | "Thumbs.db" | "desktop.ini") => {
            Err(Why::Foreign)
        }
        _ => Ok(()),
    }
}

/// May a file of this name be in a folder of this kind?
pub(super) fn fits(folder: Folder, file: &str) -> Result<(), Why> {
    match folder {
        Folder::Any => Ok(()),
        Folder::Root if file == "zds.json" => Ok(()),
        Folder::Root => Err(Why::NoPath),
        Folder::Documents => match file.strip_suffix(".json") {
            Some(name) if id::names_a_file(name) => Ok(()),
            _ => Err(Why::NoDocument),
        },
    }
}

/// The folder in front of the tree that this name speaks for, with its slash: empty where the tree stands at the root.
pub(super) fn root_of(name: &str) -> Option<&str> {
    let begins = |path: &str| path == "zds.json" || path.starts_with("collections/");
    if begins(name) {
        return Some("");
    }
    let (folder, rest) = name.split_once('/')?;
    let counts = begins(rest) && folder != "__MACOSX" && !folder.is_empty();
    if counts { name.get(..=folder.len()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_format() {
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
        for (path, why) in [
            ("readme.txt", Why::NoPath),
            ("collections/a", Why::NoPath),
            ("other/a/meta/x", Why::NoPath),
            ("collections/.x/meta/x", Why::NoPath),
            ("collections/a:b/meta/x", Why::NoPath),
            ("collections//meta/x", Why::Hollow),
            ("collections/./meta/x", Why::Hollow),
            ("", Why::Hollow),
            (&*long, Why::Long),
            (&*deep, Why::Deep),
            ("collections/a/docs/x.txt", Why::NoDocument),
            ("collections/a/docs/.json", Why::NoDocument),
            ("collections/a/docs/a..b.json", Why::NoDocument),
            ("collections/a/docs/x/y.json", Why::NoDocument),
            ("collections/a/meta/._data.jsonl", Why::Foreign),
            ("__MACOSX/collections/a/meta/x", Why::Foreign),
            ("collections/.DS_Store", Why::Foreign),
        ] {
            assert_eq!((check_name(path), check_path(path)), (Ok(()), Err(why)), "{path}");
        }
        for (name, why) in [
            ("/collections/a/meta/x", Why::Absolute),
            ("C:/collections/a/meta/x", Why::Drive),
            ("c:x", Why::Drive),
            ("../x", Why::Parent),
            ("collections/a/../../../x", Why::Parent),
            ("collections/..", Why::Parent),
            ("collections\\a\\meta\\x", Why::Backslash),
            ("collections/a\0/meta/x", Why::Control),
            ("collections/a\u{85}/meta/x", Why::Control),
            ("collections/a/meta/x\n", Why::Control),
        ] {
            assert_eq!(check_name(name), Err(why), "{name:?}");
            assert!(why.hostile());
        }
    }

    #[test]
    fn where_the_tree_stands() {
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
