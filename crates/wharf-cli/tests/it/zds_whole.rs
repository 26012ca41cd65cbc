//! Atomicity of the verbs that change ZDS stores.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::common::{run, wharf};
use crate::stores::Folder;

/// All files and folders below a path, with contents.
fn files(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(path).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
            all.insert(path, Vec::new());
        } else {
            let content = fs::read(&path).unwrap();
            all.insert(path, content);
        }
    }
    all
}

/// The files below a path, while another process may create and remove some.
#[cfg(unix)]
fn walk(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// More lines than one write contains, and one more.
fn many(count: u32, last: &str) -> String {
    let pad = "x".repeat(100);
    let lines = (0..count).map(|n| format!("{{\"_id\":\"doc-{n}\",\"text\":\"{pad}\"}}\n"));
    lines.collect::<String>() + last
}

/// A store of two collections without deleted documents, one of them strict.
fn store(folder: &Folder) -> String {
    let path = folder.path("s");
    fs::write(
        folder.path("first.jsonl"),
        "{\"_id\":\"doc-1\",\"text\":\"old\"}\n{\"_id\":\"keep\",\"text\":\"old\"}\n",
    )
    .unwrap();
    for table in ["free", "strict"] {
        run(["put", &path, &folder.path("first.jsonl"), "--table", table, "--create"]).ok();
    }
    let manifest = format!("{path}/collections/strict/meta/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"strict\": false", "\"strict\": true")).unwrap();
    run(["verify", &path]).ok();
    path
}

#[test]
fn refused_document_changes_nothing() {
    let folder = Folder::new();
    let path = store(&folder);
    let before = files(Path::new(&path));
    fs::write(folder.path("bad.jsonl"), many(20_000, "{\"_id\":\"last\",\"other\":1}\n")).unwrap();
    let ran = run(["put", &path, &folder.path("bad.jsonl"), "--table", "strict"]);
    assert!(ran.code() == 2 && ran.err().contains("(line 20001, key \"last\")"), "{ran:?}");
    assert!(files(Path::new(&path)) == before);
    // No store was created.
    let ran = run(["put", &folder.path("new/store"), &folder.path("bad.jsonl"), "--table", "../t", "--create"]);
    assert_eq!(ran.code(), 2, "{ran:?}");
    assert!(!Path::new(&folder.path("new")).exists());
    run(["put", &path, &folder.path("bad.jsonl"), "--table", "free"]).ok();
    assert_eq!(run(["cat", &path, "--table", "free", "--json"]).ok().lines().count(), 20_002);
}

#[cfg(unix)]
#[test]
fn full_disk_changes_nothing() {
    let folder = Folder::new();
    let path = store(&folder);
    let before = files(Path::new(&path));
    fs::write(folder.path("many.jsonl"), many(20_000, "")).unwrap();
    let new = folder.path("new/store");
    for (store, table, blocks) in
        [(&path, "free", 1500), (&path, "other", 1500), (&new, "t", 1500), (&path, "free", 4700)]
    {
        // Limits file sizes, in blocks of 512 bytes.
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let own = env!("CARGO_BIN_EXE_wharf");
        let ran = std::process::Command::new("sh")
            .args(["-c", &script, "sh", own, "put", store, &folder.path("many.jsonl"), "--table", table, "--create"])
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.code() == Some(1) && error.contains("File too large"), "{ran:?}");
        assert!(files(Path::new(&path)) == before, "{table}");
        assert!(!Path::new(&folder.path("new")).exists(), "{table}");
    }
}

#[cfg(unix)]
#[test]
fn kill_leaves_the_old_store_or_the_new_one() {
    let folder = Folder::new();
    fs::write(folder.path("many.jsonl"), many(60_000, "")).unwrap();
    let documents = |path: &str, table: &str| {
        let ran = run(["cat", path, "--table", table, "--json"]);
        if ran.code() == 0 { ran.out().lines().count() } else { 0 }
    };
    // Kills the process once its files have this many bytes.
    for (number, bytes) in [1, 600_000, 2_000_000, 4_000_000, 7_000_000, 8_000_000].into_iter().enumerate() {
        let path = folder.path(&format!("s-{number}"));
        if number % 2 == 0 {
            fs::write(folder.path("first.jsonl"), "{\"_id\":\"doc-1\"}\n{\"_id\":\"keep\"}\n").unwrap();
            run(["put", &path, &folder.path("first.jsonl"), "--table", "t", "--create"]).ok();
        }
        let old = documents(&path, "t");
        let mut child = wharf(["put", &path, &folder.path("many.jsonl"), "--table", "t", "--create"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let size =
            || walk(Path::new(&path)).iter().map(|file| fs::metadata(file).map_or(0, |file| file.len())).sum::<u64>();
        while size() < bytes && child.try_wait().unwrap().is_none() {}
        let _ = child.kill();
        let _ = child.wait();
        let new = if old == 0 { 60_000 } else { 60_001 };
        let found = documents(&path, "t");
        assert!(found == old || found == new, "{bytes}: {found}");
        // The next writer finds the same.
        fs::write(folder.path("one.jsonl"), "{\"_id\":\"one\"}\n").unwrap();
        // Repairs are reported.
        let ran = run(["put", &path, &folder.path("one.jsonl"), "--table", "t", "--create"]);
        assert_eq!(ran.code(), 0, "{bytes} {ran:?}");
        assert_eq!(documents(&path, "t"), found + 1, "{bytes}");
        run(["verify", &path]).ok();
        assert!(files(Path::new(&path)).keys().all(|file| !file.display().to_string().contains("new-")), "{bytes}");
    }
}

#[test]
fn failure_repairs_nothing_and_repairs_are_reported() {
    let folder = Folder::new();
    let path = store(&folder);
    let data = format!("{path}/collections/free/meta/data.jsonl");
    let torn = fs::read_to_string(&data).unwrap() + "{\"_id\":\"torn";
    fs::write(&data, &torn).unwrap();
    fs::remove_file(format!("{path}/collections/free/meta/index.bin")).unwrap();
    let before = files(Path::new(&path));
    let ran = run(["rm", &path, "keep", "none", "--table", "free"]);
    assert!(ran.code() == 2 && ran.err().contains("no document has this id"), "{ran:?}");
    assert!(files(Path::new(&path)) == before);
    fs::write(folder.path("twice.jsonl"), "{\"_id\":\"x\"}\n{\"_id\":\"x\"}\n").unwrap();
    assert_eq!(run(["put", &path, &folder.path("twice.jsonl"), "--table", "free"]).code(), 1);
    assert!(files(Path::new(&path)) == before);
    let ran = run(["rm", &path, "keep", "--table", "free"]);
    assert_eq!(ran.code(), 0, "{ran:?}");
    let warned = |text: &str| ran.err().lines().any(|line| line.starts_with("warning: ") && line.contains(text));
    assert!(warned("no index") && warned("the last line, which is torn"), "{ran:?}");
    assert!(!fs::read_to_string(&data).unwrap().contains("torn"));
    assert_eq!(run(["rm", &path, "doc-1", "--table", "free"]).err(), "");
}

#[test]
fn processes_other_collections_after_a_failure() {
    let folder = Folder::new();
    let path = store(&folder);
    folder.store("s", "a", "no document\n");
    folder.store("s", "z", "{\"_id\":\"z\"}\n");
    let ran = run(["index", &path]);
    assert_eq!(ran.code(), 1, "{ran:?}");
    assert_eq!(ran.err().lines().count(), 1, "{ran:?}");
    assert!(ran.err().contains("collections/a/meta/data.jsonl: the data contain no documents"), "{ran:?}");
    let lines: Vec<_> = ran.out().lines().collect();
    assert!(lines[0].ends_with("table free: 2 documents, the index is valid"), "{ran:?}");
    assert!(lines[1].ends_with("table strict: 2 documents, the index is valid"), "{ran:?}");
    assert!(lines[2].contains("table z: 1 document, index rebuilt; no index"), "{ran:?}");
    let ran = run(["compact", &path]);
    assert_eq!((ran.code(), ran.err().lines().count(), ran.out().lines().count()), (1, 1, 3), "{ran:?}");
    fs::remove_dir_all(format!("{path}/collections/a")).unwrap();
    let ran = run(["index", &path, "--json"]);
    assert!(ran.lines().iter().all(|line| line["made"] == false && line["before"] == "valid"), "{ran:?}");
    assert_eq!((ran.code(), ran.lines().len()), (0, 3));
    assert_eq!(run(["index", &path, "--table", "none"]).code(), 2);
}

#[cfg(unix)]
#[test]
fn does_not_write_through_links() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    let (victim, text) = (folder.path("victim"), "precious\n".repeat(10));
    fs::write(folder.path("one.jsonl"), "{\"_id\":\"one\"}\n").unwrap();
    fs::create_dir(folder.path("elsewhere")).unwrap();
    let meta = "collections/c/meta";
    let in_meta =
        ["data.jsonl", "index.bin", "manifest.json", "wharf.journal", "order.ids"].map(|file| format!("{meta}/{file}"));
    let links = in_meta.iter().map(String::as_str).chain([
        "zds.json",
        ".zds/.zds_write.lock",
        ".zds",
        "collections",
        "collections/c",
        meta,
        "collections/c/docs",
    ]);
    for (number, link) in links.enumerate() {
        fs::write(&victim, &text).unwrap();
        let path = folder.path(&format!("s-{number}"));
        run(["put", &path, &folder.path("one.jsonl"), "--table", "c", "--create"]).ok();
        fs::create_dir_all(format!("{path}/.zds")).unwrap();
        let place = Path::new(&path).join(link);
        let is_folder = place.is_dir() || link.ends_with("docs");
        let target = if is_folder { folder.path(&format!("elsewhere/{number}")) } else { victim.clone() };
        if is_folder && place.exists() {
            fs::rename(&place, &target).unwrap();
        } else if is_folder {
            fs::create_dir(&target).unwrap();
        } else {
            let _ = fs::remove_file(&place);
        }
        symlink(&target, &place).unwrap();
        let before = files(Path::new(&folder.path("elsewhere")));
        for arguments in [
            &["put", &path, &folder.path("one.jsonl"), "--table", "c"][..],
            &["rm", &path, "one", "--table", "c"],
            &["compact", &path, "--table", "c"],
        ] {
            let ran = run(arguments);
            let expected = format!("{link}: a symbolic link: stores are written only through regular files");
            assert!(ran.code() == 1 && ran.err().contains(&expected), "{link} {ran:?}");
            assert_eq!(fs::read_to_string(&victim).unwrap(), text, "{link}");
            assert!(files(Path::new(&folder.path("elsewhere"))) == before, "{link}");
            assert!(fs::symlink_metadata(&place).unwrap().is_symlink());
        }
    }
    // The given path itself may be a link, and files with several hard links are not written in place.
    let path = folder.path("s");
    run(["put", &path, &folder.path("one.jsonl"), "--table", "c", "--create"]).ok();
    symlink(&path, folder.path("link")).unwrap();
    run(["rm", &folder.path("link"), "one"]).ok();
    fs::hard_link(format!("{path}/{meta}/data.jsonl"), folder.path("other-name")).unwrap();
    let ran = run(["put", &path, &folder.path("one.jsonl")]);
    assert!(ran.code() == 1 && ran.err().contains("data.jsonl: the file has other hard links"), "{ran:?}");
    // A pipe is not waited for.
    fs::remove_file(format!("{path}/{meta}/data.jsonl")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(format!("{path}/{meta}/data.jsonl")).status().unwrap().success());
    let ran = run(["put", &path, &folder.path("one.jsonl")]);
    assert!(ran.code() == 1 && ran.err().contains("data.jsonl: not a regular file"), "{ran:?}");
}
