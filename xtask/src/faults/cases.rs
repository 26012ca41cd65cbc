//! The commands that write, each with a folder of small files to run in.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::snapshot::{Entry, Snapshot};
use crate::shell;

/// What the path of an output stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// One file, which is replaced whole: its bytes are the old or the new ones.
    File,
    /// A store in one file: the time stands in it, so what can be read counts.
    Archive,
    /// A datadings data file with its index files: what can be read counts.
    Set,
    /// A store, a folder: what can be read counts.
    Store,
}

/// What a command writes.
#[derive(Debug, Clone)]
pub(super) struct Output {
    pub(super) path: String,
    pub(super) shape: Shape,
}

impl Output {
    /// Whether a file of the folder is part of the output.
    pub(super) fn has(&self, file: &str) -> bool {
        let rest = file.strip_prefix(self.path.as_str());
        rest.is_some_and(|rest| match self.shape {
            Shape::File | Shape::Archive => rest.is_empty(),
            Shape::Set => rest.is_empty() || rest.starts_with('.'),
            Shape::Store => rest.is_empty() || rest.starts_with('/'),
        })
    }
}

/// A command and what it finds.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) before: Snapshot,
    pub(super) arguments: Vec<String>,
    /// The next run of the same command, which may find the output in place.
    pub(super) again: Vec<String>,
    pub(super) outputs: Vec<Output>,
    /// A file of an output that is never changed.
    pub(super) kept: Option<&'static str>,
}

/// A verb that writes into a path of its choice: its name, inputs, arguments, the output and what may have been there before.
type Writer = (&'static str, &'static [&'static str], &'static str, &'static str, Shape, &'static str);

const WRITERS: [Writer; 39] = [
    ("convert-csv", &["a.idv"], "convert a.idv out.csv", "out.csv", Shape::File, "b.csv"),
    ("convert-jsonl", &["a.idv"], "convert a.idv out.jsonl", "out.jsonl", Shape::File, "b.csv"),
    ("convert-parquet", &["a.csv"], "convert a.csv out.parquet", "out.parquet", Shape::File, "b.csv"),
    ("convert-arrow", &["a.csv"], "convert a.csv out.arrow", "out.arrow", Shape::File, "b.csv"),
    ("convert-arrows", &["a.csv"], "convert a.csv out.arrows", "out.arrows", Shape::File, "b.csv"),
    ("convert-idv", &["a.csv"], "convert a.csv out.idv", "out.idv", Shape::File, "b.idv"),
    ("convert-ds", &["a.csv"], "convert a.csv out.ds", "out.ds", Shape::File, "b.ds"),
    ("convert-netcdf", &["a.ds"], "convert a.ds out.nc", "out.nc", Shape::File, "b.ds"),
    ("convert-datadings", &["a.csv"], "convert a.csv out.msgpack", "out.msgpack", Shape::Set, "b.msgpack"),
    ("convert-zds-archive", &["a.csv"], "convert a.csv out.zds", "out.zds", Shape::Archive, "b.zds"),
    ("convert-zds-folder", &["a.csv"], "convert a.csv out.d --to zds", "out.d", Shape::Store, "b.d"),
    ("convert-idv-idv", &["a.idv"], "convert a.idv out.idv", "out.idv", Shape::File, "b.idv"),
    ("convert-idv-ds", &["a.idv"], "convert a.idv out.ds", "out.ds", Shape::File, "b.ds"),
    ("convert-ds-idv", &["a.ds"], "convert a.ds out.idv", "out.idv", Shape::File, "b.idv"),
    ("convert-datadings-idv", &["a.msgpack"], "convert a.msgpack out.idv", "out.idv", Shape::File, "b.idv"),
    ("convert-zds-parquet", &["a.d"], "convert a.d out.parquet", "out.parquet", Shape::File, "b.csv"),
    ("convert-parquet-datadings", &["a.parquet"], "convert a.parquet out.msgpack", "out.msgpack", Shape::Set, "b.msgpack"),
    ("convert-parquet-zds", &["a.parquet"], "convert a.parquet out.d --to zds", "out.d", Shape::Store, "b.d"),
    ("convert-files", &["tree"], "convert tree out.msgpack", "out.msgpack", Shape::Set, "b.msgpack"),
    ("merge-idv", &["a.idv", "b.idv"], "merge a.idv b.idv -o out.idv", "out.idv", Shape::File, "b.idv"),
    ("merge-ds", &["a.ds", "b.ds"], "merge a.ds b.ds -o out.ds --dim row", "out.ds", Shape::File, "b.ds"),
    ("merge-datadings", &["a.msgpack", "b.msgpack"], "merge a.msgpack b.msgpack -o out.msgpack", "out.msgpack", Shape::Set, "b.msgpack"),
    ("merge-zds-folder", &["a.d", "b.d"], "merge a.d b.d -o out.d", "out.d", Shape::Store, "b.d"),
    ("merge-zds-archive", &["a.zds", "b.zds"], "merge a.zds b.zds -o out.zds", "out.zds", Shape::Archive, "b.zds"),
    ("sample-datadings", &["a.msgpack"], "sample a.msgpack out.msgpack -n 9 --seed 1", "out.msgpack", Shape::Set, "b.msgpack"),
    ("sample-zds", &["a.d"], "sample a.d out.d -n 9 --seed 1", "out.d", Shape::Store, "b.d"),
    ("shuffle-datadings", &["a.msgpack"], "shuffle a.msgpack out.msgpack --seed 1", "out.msgpack", Shape::Set, "b.msgpack"),
    ("shuffle-quasi", &["a.msgpack"], "shuffle a.msgpack out.msgpack --seed 1 --quasi", "out.msgpack", Shape::Set, "b.msgpack"),
    ("shuffle-zds", &["a.d"], "shuffle a.d out.d --seed 1", "out.d", Shape::Store, "b.d"),
    ("recover-idv", &["torn.idv", "a.idv"], "recover torn.idv out.idv --schema a.idv", "out.idv", Shape::File, "b.idv"),
    ("recover-datadings", &["torn.msgpack"], "recover torn.msgpack out.msgpack", "out.msgpack", Shape::Set, "b.msgpack"),
    ("recover-zds", &["torn.d"], "recover torn.d out.d", "out.d", Shape::Store, "b.d"),
    ("pack", &["a.d"], "pack a.d out.zds", "out.zds", Shape::Archive, "b.zds"),
    ("pack-deflate", &["a.d"], "pack a.d out.zds --compression deflate", "out.zds", Shape::Archive, "b.zds"),
    ("unpack", &["a.zds"], "unpack a.zds out.d", "out.d", Shape::Store, "b.d"),
    ("set", &["a.ds"], "set a.ds @title=new species@units=K -o out.ds", "out.ds", Shape::File, "b.ds"),
    ("set-create", &[], "set out.ds x=[1,2,3] --dims time --create", "out.ds", Shape::File, "b.ds"),
    ("rename", &["a.ds"], "rename a.ds species=kind -o out.ds", "out.ds", Shape::File, "b.ds"),
    ("rm-ds", &["a.ds"], "rm a.ds species -o out.ds", "out.ds", Shape::File, "b.ds"),
];

/// A verb that changes what is there: its name, inputs, arguments, the outputs, and a file of them that is never changed.
type Changer = (&'static str, &'static [&'static str], &'static str, &'static [(&'static str, Shape)], Option<&'static str>);

const CHANGERS: [Changer; 21] = [
    ("put", &["a.d", "new.jsonl"], "put a.d new.jsonl", &[("a.d", Shape::Store)], None),
    ("put-many", &["a.d", "many.jsonl"], "put a.d many.jsonl", &[("a.d", Shape::Store)], None),
    ("put-one", &["a.d", "one.json"], "put a.d one.json --key 0000000003", &[("a.d", Shape::Store)], None),
    ("put-create", &["new.jsonl"], "put new.d new.jsonl --table t --create", &[("new.d", Shape::Store)], None),
    ("put-collection", &["a.d", "new.jsonl"], "put a.d new.jsonl --table more --create", &[("a.d", Shape::Store)], None),
    ("put-after-rm", &["dead.d", "new.jsonl"], "put dead.d new.jsonl", &[("dead.d", Shape::Store)], None),
    ("rm", &["a.d"], "rm a.d 0000000001 0000000002 0000000039 --ignore-missing", &[("a.d", Shape::Store)], None),
    ("compact", &["dead.d"], "compact dead.d", &[("dead.d", Shape::Store)], None),
    ("index-zds", &["noindex.d"], "index noindex.d", &[("noindex.d", Shape::Store)], None),
    ("index-zds-force", &["dead.d"], "index dead.d --force", &[("dead.d", Shape::Store)], None),
    ("index-zds-stale", &["stale.d"], "index stale.d", &[("stale.d", Shape::Store)], None),
    ("recover-in-place", &["torn.d"], "recover torn.d --in-place", &[("torn.d", Shape::Store)], None),
    ("index-datadings", &["bare.msgpack"], "index bare.msgpack", &[("bare.msgpack", Shape::Set)], Some("bare.msgpack")),
    ("index-datadings-again", &["a.msgpack"], "index a.msgpack", &[("a.msgpack", Shape::Set)], Some("a.msgpack")),
    ("index-datadings-no-md5", &["a.msgpack"], "index a.msgpack --no-md5", &[("a.msgpack", Shape::Set)], Some("a.msgpack")),
    ("index-datadings-older", &["older.msgpack"], "index older.msgpack --remove-older", &[("older.msgpack", Shape::Set)], Some("older.msgpack")),
    ("index-datadings-truncate", &["more.msgpack"], "index more.msgpack --truncate", &[("more.msgpack", Shape::Set)], None),
    ("set-in-place", &["a.ds"], "set a.ds @title=new --in-place", &[("a.ds", Shape::File)], None),
    ("rename-in-place", &["a.ds"], "rename a.ds @title=name --in-place", &[("a.ds", Shape::File)], None),
    ("rm-in-place", &["a.ds"], "rm a.ds @title --in-place", &[("a.ds", Shape::File)], None),
    ("set-type-in-place", &["a.ds"], "set a.ds x y --type float32 --in-place", &[("a.ds", Shape::File)], None),
];

/// Commands whose next run finds something else than the first one did.
const AGAIN: [(&str, &str); 4] = [
    ("index-zds", "index noindex.d --force"),
    ("index-zds-stale", "index stale.d --force"),
    ("rename-in-place", "rename a.ds @history=log --in-place"),
    ("rm-in-place", "rm a.ds @history --in-place"),
];

/// Verbs that can be told to use one thread.
const THREADED: [&str; 7] = ["convert", "merge", "split", "sample", "shuffle", "recover", "index"];

/// Makes the inputs in a folder, and returns all cases.
pub(super) fn all(wharf: &Path, folder: &Path, one_thread: bool) -> Result<Vec<Case>, String> {
    let materials = materials(wharf, folder)?;
    let mut cases = Vec::new();
    for (name, inputs, arguments, out, shape, old) in WRITERS {
        let output = Output { path: out.to_owned(), shape };
        let before = gather(&materials, inputs)?;
        let forced = format!("{arguments} --force");
        cases.push(case(name, before.clone(), arguments, &forced, vec![output.clone()], one_thread));
        let mut before = before;
        let old = Output { path: old.to_owned(), shape };
        for (path, entry) in materials.only(|path| old.has(path)).0 {
            before.0.insert(path.replacen(&old.path, out, 1), entry);
        }
        cases.push(case(&format!("{name}-force"), before, &forced, &forced, vec![output], one_thread));
    }
    for (name, inputs, arguments, outputs, kept) in CHANGERS {
        let before = gather(&materials, inputs)?;
        let outputs = outputs.iter().map(|(path, shape)| Output { path: (*path).to_owned(), shape: *shape }).collect();
        let again = AGAIN.iter().find(|(known, _)| *known == name).map_or(arguments, |(_, again)| again);
        cases.push(Case { kept, ..case(name, before, arguments, again, outputs, one_thread) });
    }
    for (name, input, ending, shape) in
        [("split-datadings", "a.msgpack", "msgpack", Shape::Set), ("split-zds", "a.d", "d", Shape::Store)]
    {
        let arguments = format!("split {input} --parts 3 -o part-{{}}.{ending}");
        let outputs: Vec<_> = (0..3).map(|part| Output { path: format!("part-{part}.{ending}"), shape }).collect();
        let before = gather(&materials, &[input])?;
        let forced = format!("{arguments} --force");
        cases.push(case(name, before.clone(), &arguments, &forced, outputs.clone(), one_thread));
        let mut before = before;
        let old = Output { path: format!("b.{ending}"), shape };
        for output in &outputs {
            for (path, entry) in materials.only(|path| old.has(path)).0 {
                before.0.insert(path.replacen(&old.path, &output.path, 1), entry);
            }
        }
        cases.push(case(&format!("{name}-force"), before, &forced, &forced, outputs, one_thread));
    }
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(cases)
}

fn case(name: &str, before: Snapshot, arguments: &str, again: &str, outputs: Vec<Output>, one_thread: bool) -> Case {
    let words = |text: &str| {
        let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        if one_thread && words.first().is_some_and(|verb| THREADED.contains(&verb.as_str())) {
            words.extend(["--threads", "1"].map(str::to_owned));
        }
        words
    };
    Case { name: name.to_owned(), before, arguments: words(arguments), again: words(again), outputs, kept: None }
}

/// The inputs out of all materials: each with what belongs to it.
fn gather(materials: &Snapshot, inputs: &[&str]) -> Result<Snapshot, String> {
    let mut gathered = BTreeMap::new();
    for input in inputs {
        let found = materials.only(|path| {
            let rest = path.strip_prefix(*input);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || rest.starts_with('.'))
        });
        if found.0.is_empty() {
            return Err(format!("there is no input {input}"));
        }
        gathered.extend(found.0);
    }
    Ok(Snapshot(gathered))
}

/// Two small tables in every format, and damaged ones.
fn materials(wharf: &Path, folder: &Path) -> Result<Snapshot, String> {
    shell::empty_directory(folder)?;
    let table = |rows: std::ops::Range<u32>| {
        let row = |row: u32| {
            let kind = if row % 3 == 0 { "oak" } else { "elm" };
            format!("key-{row:03},{}.5,{},{kind} {row}\n", row % 7, row * row)
        };
        rows.map(row).fold("key,x,y,species\n".to_owned(), |table, row| table + &row)
    };
    let put = |name: &str, content: &str| shell::write(&folder.join(name), content);
    put("a.csv", &table(0..40))?;
    put("b.csv", &table(40..60))?;
    put("new.jsonl", "{\"_id\":\"0000000004\",\"x\":1}\n{\"_id\":\"0000000007\",\"x\":2}\n{\"_id\":\"new\",\"x\":3}\n")?;
    put("one.json", "{\n  \"x\": [1, 2, 3]\n}\n")?;
    // More than a writer keeps in memory: some of it is in the files before the end.
    let many = (0..5000).map(|id| format!("{{\"_id\":\"{id:010}\",\"text\":\"{}\"}}\n", "many ".repeat(40)));
    put("many.jsonl", &many.collect::<String>())?;
    shell::make_directory(&folder.join("tree/oak"))?;
    shell::make_directory(&folder.join("tree/elm"))?;
    for (name, content) in [("tree/oak/1.txt", "one"), ("tree/oak/2.txt", "two"), ("tree/elm/3.txt", "three")] {
        put(name, content)?;
    }
    let run = |arguments: &str| -> Result<(), String> {
        let mut command = Command::new(wharf);
        command.args(arguments.split(' ')).current_dir(folder);
        shell::run_quietly(&mut command)
    };
    for name in ["a", "b"] {
        run(&format!("convert {name}.csv {name}.idv"))?;
        run(&format!("convert {name}.csv {name}.ds"))?;
        run(&format!("set {name}.ds @title=old @history=none --in-place"))?;
        run(&format!("convert {name}.csv {name}.msgpack --key key"))?;
        run(&format!("convert {name}.csv {name}.parquet"))?;
        // The collection has the same name in both.
        let text = shell::read(&folder.join(format!("{name}.csv")))?;
        shell::make_directory(&folder.join("raw"))?;
        put("raw/trees.csv", &text)?;
        if name == "b" {
            // Other ids than in the first one.
            run("convert raw/trees.csv b.jsonl")?;
            let text = shell::read(&folder.join("b.jsonl"))?;
            put("raw/trees.jsonl", &text.replace("{\"key\":\"", "{\"_id\":\"b"))?;
            run("convert raw/trees.jsonl b.d --to zds")?;
        } else {
            run("convert raw/trees.csv a.d --to zds")?;
        }
        run(&format!("pack {name}.d {name}.zds"))?;
    }
    let copy = |from: &str, to: &str, changed: &dyn Fn(&str, Vec<u8>) -> Option<Vec<u8>>| -> Result<(), String> {
        let all = Snapshot::take(folder)?;
        for (path, entry) in &all.0 {
            let Some(rest) = path.strip_prefix(from).filter(|rest| rest.is_empty() || rest.starts_with(['.', '/']))
            else {
                continue;
            };
            let target = folder.join(format!("{to}{rest}"));
            match entry {
                Entry::Folder => shell::make_directory(&target)?,
                Entry::File(bytes) => {
                    if let Some(bytes) = changed(path, bytes.clone()) {
                        shell::write(&target, bytes)?;
                    }
                }
                Entry::Link(_) => {}
            }
        }
        Ok(())
    };
    let cut = |mut bytes: Vec<u8>, by: usize| {
        bytes.truncate(bytes.len().saturating_sub(by));
        Some(bytes)
    };
    copy("a.d", "dead.d", &|_, bytes| Some(bytes))?;
    run("rm dead.d 0000000000 0000000005 0000000010")?;
    copy("a.d", "noindex.d", &|path, bytes| (!path.ends_with("index.bin")).then_some(bytes))?;
    copy("a.d", "torn.d", &|path, bytes| if path.ends_with("data.jsonl") { cut(bytes, 20) } else { Some(bytes) })?;
    // Its index is damaged, and its last line is torn.
    copy("torn.d", "stale.d", &|path, bytes| if path.ends_with("index.bin") { cut(bytes, 3) } else { Some(bytes) })?;
    copy("a.msgpack", "torn.msgpack", &|path, bytes| if path.ends_with(".msgpack") { cut(bytes, 9) } else { Some(bytes) })?;
    copy("a.msgpack", "bare.msgpack", &|path, bytes| path.ends_with(".msgpack").then_some(bytes))?;
    // An append was interrupted: the beginning of another sample.
    copy("a.msgpack", "more.msgpack", &|path, mut bytes| {
        if path.ends_with(".msgpack") {
            bytes.extend_from_within(..20);
        }
        Some(bytes)
    })?;
    copy("a.idv", "torn.idv", &|_, bytes| cut(bytes, 40))?;
    let golden = shell::root().join("tests/golden/datadings");
    for ending in ["", ".index", ".md5"] {
        let (from, to) = (format!("index-legacy.msgpack{ending}"), format!("older.msgpack{ending}"));
        fs::copy(golden.join(&from), folder.join(to)).map_err(|error| format!("cannot copy {from}: {error}"))?;
    }
    Snapshot::take(folder)
}
