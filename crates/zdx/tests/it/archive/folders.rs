use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use container_core::{OpenOptions, OutputOptions, Overwrite, Progress, Source, SyncPolicy, Unit};
use zdx::archive::{Archive, ArchiveWriter, Compression, PackOptions, UnpackOptions, WriteOptions, pack, unpack};

use super::builder::{build, store};
use super::reading::open;

/// A store as left by the reference, with files that do not belong into an archive.
fn tree(root: &Path) {
    for (path, content) in [
        ("zds.json", "{\"version\": \"1.0\"}"),
        ("collections/a/meta/data.jsonl", "{\"_id\":\"x\"}\n{\"_id\":\"y\"}\n"),
        ("collections/a/meta/index.bin", "old"),
        ("collections/a/docs/x.json", "{}"),
        ("collections/a-b/meta/order.ids", "x\n"),
        ("collections/a-b/more/of/it.txt", "kept"),
        ("metadata/root_manifest.json", "[]"),
        (".zds/.zds_write.lock", ""),
        ("collections/a/meta/.wharf-1.tmp", "half"),
        ("collections/a/meta/x.tmp", "half"),
        ("collections/.wharf-2.tmp/any", "half"),
        ("readme.txt", "hello"),
        ("collections/a/docs/no id.json", "{}"),
    ] {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), content).unwrap();
    }
    fs::create_dir_all(root.join("collections/empty/docs")).unwrap();
}

/// All files in a directory tree, by path.
fn files(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for member in fs::read_dir(&folder).unwrap() {
            let path = member.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|member| member.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn packs_and_unpacks() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().join("tree");
    tree(&root);
    for compression in [Compression::Store, Compression::Deflate(6)] {
        let target = temp.path().join("x.zds");
        let output = OutputOptions::default().with_overwrite(Overwrite::Replace);
        let options = PackOptions::default().with_compression(compression).with_output(output);
        let packed = pack(&root, &target, &options).unwrap();
        let bytes = fs::read(&target).unwrap();
        assert_eq!((packed.files, packed.bytes, packed.packed), (7, 55, bytes.len() as u64));
        assert_eq!(
            packed.skipped,
            [
                ("collections/a/docs/no id.json".to_owned(), "not a document (expected \"<id>.json\" in docs/)"),
                ("readme.txt".to_owned(), "not a path of a store"),
            ]
        );
        // Sorted by path, in whatever order the directory lists them.
        let place_of = |path: &String| bytes.windows(path.len()).position(|window| window == path.as_bytes());
        let archive = Archive::open(&target, &OpenOptions::default()).unwrap();
        assert!(archive.files().map(|path| place_of(&path.to_owned()).unwrap()).is_sorted());
        // The same bytes at another time and place.
        let again = temp.path().join("copy");
        tree(&again);
        fs::write(again.join("zds.json"), fs::read(root.join("zds.json")).unwrap()).unwrap();
        pack(&again, &target, &options).unwrap();
        assert!(fs::read(&target).unwrap() == bytes);

        let archive = Archive::open(&target, &OpenOptions::default()).unwrap();
        assert_eq!(archive.collections(), ["a", "a-b", "empty"]);
        archive.verify(&mut |finding| panic!("{}", finding.error)).unwrap();
        let out = temp.path().join("out");
        let unpacked = unpack(&archive, &out, &UnpackOptions::default()).unwrap();
        assert_eq!((unpacked.files, unpacked.bytes, unpacked.foreign_entries), (7, 55, 0));
        let mut expected = files(&root);
        expected.retain(|path, _| {
            !path.contains(".tmp") && !path.starts_with(".zds") && path != "readme.txt" && !path.contains(' ')
        });
        assert_eq!(files(&out), expected);
        assert!(out.join("collections/empty").is_dir());
        pack(&out, &target, &options).unwrap();
        assert!(fs::read(&target).unwrap() == bytes);
        fs::remove_dir_all(out).unwrap();
        fs::remove_dir_all(again).unwrap();
    }
}

#[test]
fn replaces_and_skips_files() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().join("tree");
    tree(&root);
    let target = temp.path().join("x.zds");
    let options = PackOptions::default()
        .replacing("collections/a/meta/index.bin", Source::from(&b"new"[..]))
        .replacing("collections/a-b/meta/index.bin", Source::from(&b"made"[..]))
        .replacing("collections/a-b/meta/never", Source::from(&b""[..]))
        .skipping("collections/a-b/meta/never")
        .skipping("collections/a-b/meta/order.ids");
    let packed = pack(&root, &target, &options).unwrap();
    assert_eq!(packed.files, 7);
    let archive = Archive::open(&target, &OpenOptions::default()).unwrap();
    let read = |path: &str| archive.file(path).unwrap().map(|file| file.read(0..file.len()).unwrap());
    assert_eq!(read("collections/a/meta/index.bin").unwrap(), "new");
    assert_eq!(read("collections/a-b/meta/index.bin").unwrap(), "made");
    assert!(read("collections/a-b/meta/order.ids").is_none());
    let bad = PackOptions::default().replacing("../x", Source::from(&b""[..]));
    let error = pack(&root, temp.path().join("y.zds"), &bad).unwrap_err();
    let expected = "zds: invalid path in an archive: path that escapes the directory with \"..\" (key \"../x\")";
    assert_eq!(error.to_string(), expected);
    assert_eq!(names(temp.path()), ["tree", "x.zds"]);
}

#[test]
fn refuses_links_and_special_files() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().join("tree");
    let target = temp.path().join("x.zds");
    let pack = || pack(&root, &target, &PackOptions::default()).unwrap_err().to_string();
    let path_prefix = root.display();
    assert!(pack().starts_with(&format!("zds: {path_prefix}: cannot read the directory: ")));
    fs::create_dir(&root).unwrap();
    fs::write(root.join("notes.txt"), "x").unwrap();
    assert_eq!(
        pack(),
        format!("zds: {path_prefix}: the directory is not a store: neither collections/ nor zds.json in it")
    );
    fs::create_dir_all(root.join("collections/a/meta")).unwrap();
    #[cfg(unix)]
    {
        let link = root.join("collections/a/meta/data.jsonl");
        std::os::unix::fs::symlink("/etc/hostname", &link).unwrap();
        assert_eq!(pack(), format!("zds: {}: cannot pack a symbolic link", link.display()));
        fs::remove_file(&link).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(root.join("collections/s")).unwrap();
        let expected = "cannot pack a special file";
        assert_eq!(pack(), format!("zds: {}: {expected}", root.join("collections/s").display()));
        drop(socket);
        fs::remove_file(root.join("collections/s")).unwrap();
    }
    fs::write(&target, "there").unwrap();
    assert_eq!(pack(), format!("zds: {}: the output exists", target.display()));
    assert_eq!(fs::read(&target).unwrap(), b"there");
}

#[test]
fn unpacks_only_over_an_empty_directory_or_a_store() {
    let temp = tempfile::tempdir().unwrap();
    let archive = open(build(&[store("zds.json", b"new")])).unwrap();
    let out = temp.path().join("out");
    let plain = UnpackOptions::default().with_sync(SyncPolicy::Never);
    let replace = plain.clone().with_overwrite(Overwrite::Replace);
    let path_prefix = format!("zds: {}: ", out.display());
    fs::write(&out, "a file").unwrap();
    for options in [&plain, &replace] {
        let error = unpack(&archive, &out, options).unwrap_err();
        assert_eq!(error.to_string(), format!("{path_prefix}the output exists and is not a directory"));
    }
    fs::remove_file(&out).unwrap();
    fs::create_dir(&out).unwrap();
    unpack(&archive, &out, &plain).unwrap();
    assert_eq!(fs::read(out.join("zds.json")).unwrap(), b"new");
    fs::write(out.join("zds.json"), "old").unwrap();
    let error = unpack(&archive, &out, &plain).unwrap_err();
    assert_eq!(error.to_string(), format!("{path_prefix}the output exists and is not empty"));
    fs::write(out.join("thesis.txt"), "precious").unwrap();
    let error = unpack(&archive, &out, &replace).unwrap_err();
    let expected = "the output is not replaced: it contains \"thesis.txt\", which is not part of a store";
    assert_eq!(error.to_string(), format!("{path_prefix}{expected}"));
    assert_eq!(fs::read(out.join("zds.json")).unwrap(), b"old");
    fs::remove_file(out.join("thesis.txt")).unwrap();
    unpack(&archive, &out, &replace).unwrap();
    assert_eq!(files(&out), BTreeMap::from([("zds.json".to_owned(), "new".to_owned())]));
    #[cfg(unix)]
    {
        let link = temp.path().join("link");
        std::os::unix::fs::symlink(&out, &link).unwrap();
        let error = unpack(&archive, &link, &replace).unwrap_err();
        assert_eq!(error.to_string(), format!("zds: {}: the output exists and is not a directory", link.display()));
        use std::os::unix::fs::PermissionsExt;
        let plain = temp.path().join("plain");
        fs::create_dir(&plain).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&out), mode(&plain), "the mode of any new directory");
        fs::remove_dir(plain).unwrap();
        fs::remove_file(link).unwrap();
    }
    assert_eq!(names(temp.path()), ["out"], "nothing is left beside it");
}

#[test]
fn bad_file_leaves_the_target_unchanged() {
    let temp = tempfile::tempdir().unwrap();
    let out = temp.path().join("out");
    let good = store("collections/a/meta/index.bin", b"good");
    let bad = store("collections/a/meta/x", b"bad").with(|item| item.crc ^= 1);
    let archive = open(build(&[good, bad])).unwrap();
    for options in [UnpackOptions::default(), UnpackOptions::default().with_overwrite(Overwrite::Replace)] {
        let error = unpack(&archive, &out, &options).unwrap_err();
        let (found, message) = (crc32fast::hash(b"bad"), crc32fast::hash(b"bad") ^ 1);
        let expected = format!("CRC-32: expected {message:08x}, found {found:08x}");
        assert_eq!(error.to_string(), format!("zds: {expected} (byte 62, key \"collections/a/meta/x\")"));
        assert!(names(temp.path()).is_empty());
    }
}

#[test]
fn reports_foreign_entries_and_refuses_hostile_ones() {
    let temp = tempfile::tempdir().unwrap();
    let out = temp.path().join("out");
    let mut items = vec![store("zds.json", b"{}"), store("notes.txt", b"hello"), store("__MACOSX/._zds.json", b"")];
    items.extend((0..200).map(|number| store(&format!("other/{number}"), b"")));
    let unpacked = unpack(&open(build(&items)).unwrap(), &out, &UnpackOptions::default()).unwrap();
    assert_eq!((unpacked.files, unpacked.foreign_entries, unpacked.foreign_names.len()), (1, 202, 100));
    assert_eq!(unpacked.foreign_names[..2], ["notes.txt", "__MACOSX/._zds.json"]);
    assert_eq!(files(&out).len(), 1);
    fs::remove_dir_all(&out).unwrap();
    for (name, why) in [
        ("../x", "path that escapes the directory with \"..\""),
        ("collections/a/docs/../../../../x.json", "path that escapes the directory with \"..\""),
        ("/tmp/x", "absolute path"),
        ("c:/x", "path with a drive letter"),
        ("collections\\a", "name with a backslash"),
        ("collections/a/meta/x\0.jsonl", "name with a control character"),
    ] {
        let archive = open(build(&[store("zds.json", b"{}"), store(name, b"evil")])).unwrap();
        let error = unpack(&archive, &out, &UnpackOptions::default()).unwrap_err();
        let expected =
            format!("zds: the archive cannot be unpacked: entry with an unsafe name: {why} (byte 40, key {name:?})");
        assert_eq!(error.to_string(), expected);
        assert!(names(temp.path()).is_empty(), "{name}");
    }
}

#[test]
fn refuses_a_file_that_is_also_a_directory() {
    let temp = tempfile::tempdir().unwrap();
    let archive = open(build(&[store("collections/a/meta", b"x"), store("collections/a/meta/x", b"y")])).unwrap();
    let error = unpack(&archive, temp.path().join("out"), &UnpackOptions::default()).unwrap_err();
    assert!(error.to_string().starts_with("zds: cannot create a directory: "), "{error}");
    assert!(names(temp.path()).is_empty());
}

#[test]
fn packs_more_than_65535_files() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("many.zds");
    let mut writer = ArchiveWriter::create(&path, &WriteOptions::default()).unwrap();
    for number in 0..70_000 {
        let content = Source::from(format!("{{\"n\":{number}}}").into_bytes());
        writer.add(&format!("collections/a/docs/{number}.json"), &content).unwrap();
    }
    writer.finish().unwrap();
    let archive = Archive::open(&path, &OpenOptions::default()).unwrap();
    assert_eq!(archive.documents("a").len(), 70_000);
    for id in ["0", "65535", "65536", "69999"] {
        assert_eq!(archive.document("a", id).unwrap().unwrap(), format!("{{\"n\":{id}}}"));
    }
}

#[derive(Default)]
struct Count(AtomicU64, AtomicU64);

impl Progress for Count {
    fn begin(&self, unit: Unit, total: Option<u64>) {
        assert_eq!(unit, Unit::Bytes);
        self.0.store(total.unwrap(), Ordering::Relaxed);
    }

    fn advance(&self, done: u64) -> zdx::Result<()> {
        self.1.fetch_add(done, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn progress_reaches_its_total() {
    let temp = tempfile::tempdir().unwrap();
    let (root, target) = (temp.path().join("tree"), temp.path().join("x.zds"));
    tree(&root);
    let check = |count: &Count, total: u64| {
        assert_eq!((count.0.load(Ordering::Relaxed), count.1.load(Ordering::Relaxed)), (total, total));
    };
    let count = Arc::new(Count::default());
    let options =
        PackOptions::default().replacing("zds.json", Source::from(&b"12345"[..])).with_progress(count.clone());
    pack(&root, &target, &options).unwrap();
    check(&count, 42);
    let archive = Archive::open(&target, &OpenOptions::default()).unwrap();
    let count = Count::default();
    archive.verify_with(Some(&count), &mut |_| ()).unwrap();
    check(&count, 42);
    let count = Arc::new(Count::default());
    let options = UnpackOptions::default().with_progress(count.clone());
    unpack(&archive, temp.path().join("out"), &options).unwrap();
    check(&count, 42);
}
