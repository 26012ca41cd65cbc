//! The writing commands, each with a directory of small input files.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::snapshot::{Entry, Snapshot};
use crate::shell;

/// The kind of an output, which decides how it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A file that is replaced atomically: its bytes are the old or the new ones.
    File,
    /// A store in one file, compared by its rows, as the file contains times.
    Archive,
    /// A datadings data file with its index files, compared by its rows.
    FileSet,
    /// A store directory, compared by its rows.
    Store,
}

/// An output of a command.
#[derive(Debug, Clone)]
pub(super) struct Output {
    pub(super) path: String,
    pub(super) shape: Shape,
}

impl Output {
    /// An output whose shape follows from its extension.
    fn new(path: &str) -> Self {
        let shape = match path.rsplit_once('.').map(|(_, extension)| extension) {
            Some("msgpack") => Shape::FileSet,
            Some("zds") => Shape::Archive,
            Some("d") => Shape::Store,
            _ => Shape::File,
        };
        Self { path: path.to_owned(), shape }
    }

    /// Whether a path belongs to the output.
    pub(super) fn contains(&self, file: &str) -> bool {
        let rest = file.strip_prefix(self.path.as_str());
        rest.is_some_and(|rest| match self.shape {
            Shape::File | Shape::Archive => rest.is_empty(),
            Shape::FileSet => rest.is_empty() || rest.starts_with('.'),
            Shape::Store => rest.is_empty() || rest.starts_with('/'),
        })
    }
}

/// A command and the files it runs on.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(super) name: String,
    pub(crate) before: Snapshot,
    pub(crate) arguments: Vec<String>,
    /// The arguments of the next run, when the output may exist.
    pub(super) rerun: Vec<String>,
    pub(super) outputs: Vec<Output>,
    /// A file of an output that must not change.
    pub(super) unchanged: Option<String>,
}

/// Commands that write to a new path, which begins with `out` or `part`.
const WRITERS: [(&str, &str); 41] = [
    ("convert-csv", "convert a.idv out.csv"),
    ("convert-jsonl", "convert a.idv out.jsonl"),
    ("convert-parquet", "convert a.csv out.parquet"),
    ("convert-arrow", "convert a.csv out.arrow"),
    ("convert-arrows", "convert a.csv out.arrows"),
    ("convert-idv", "convert a.csv out.idv"),
    ("convert-ds", "convert a.csv out.ds"),
    ("convert-netcdf", "convert a.ds out.nc"),
    ("convert-datadings", "convert a.csv out.msgpack"),
    ("convert-zds-archive", "convert a.csv out.zds"),
    ("convert-zds-folder", "convert a.csv out.d --to zds"),
    ("convert-idv-idv", "convert a.idv out.idv"),
    ("convert-idv-ds", "convert a.idv out.ds"),
    ("convert-ds-idv", "convert a.ds out.idv"),
    ("convert-datadings-idv", "convert a.msgpack out.idv"),
    ("convert-zds-parquet", "convert a.d out.parquet"),
    ("convert-parquet-datadings", "convert a.parquet out.msgpack"),
    ("convert-parquet-zds", "convert a.parquet out.d --to zds"),
    ("convert-files", "convert tree out.msgpack"),
    ("merge-idv", "merge a.idv b.idv -o out.idv"),
    ("merge-ds", "merge a.ds b.ds -o out.ds --dim row"),
    ("merge-datadings", "merge a.msgpack b.msgpack -o out.msgpack"),
    ("merge-zds-folder", "merge a.d b.d -o out.d"),
    ("merge-zds-archive", "merge a.zds b.zds -o out.zds"),
    ("sample-datadings", "sample a.msgpack out.msgpack -n 9 --seed 1"),
    ("sample-zds", "sample a.d out.d -n 9 --seed 1"),
    ("shuffle-datadings", "shuffle a.msgpack out.msgpack --seed 1"),
    ("shuffle-quasi", "shuffle a.msgpack out.msgpack --seed 1 --quasi"),
    ("shuffle-zds", "shuffle a.d out.d --seed 1"),
    ("recover-idv", "recover torn.idv out.idv --schema a.idv"),
    ("recover-datadings", "recover torn.msgpack out.msgpack"),
    ("recover-zds", "recover torn.d out.d"),
    ("pack", "pack a.d out.zds"),
    ("pack-deflate", "pack a.d out.zds --compression deflate"),
    ("unpack", "unpack a.zds out.d"),
    ("set", "set a.ds @title=new species@units=K -o out.ds"),
    ("set-create", "set out.ds x=[1,2,3] --dims time --create"),
    ("rename", "rename a.ds species=kind -o out.ds"),
    ("rm-ds", "rm a.ds species -o out.ds"),
    ("split-datadings", "split a.msgpack --parts 3 -o part-{}.msgpack"),
    ("split-zds", "split a.d --parts 3 -o part-{}.d"),
];

/// Commands that change their first argument in place.
const EDITORS: [(&str, &str); 21] = [
    ("put", "put a.d new.jsonl"),
    ("put-many", "put a.d many.jsonl"),
    ("put-one", "put a.d one.json --key 0000000003"),
    ("put-create", "put new.d new.jsonl --table t --create"),
    ("put-collection", "put a.d new.jsonl --table more --create"),
    ("put-after-rm", "put dead.d new.jsonl"),
    ("rm", "rm a.d 0000000001 0000000002 0000000039 --ignore-missing"),
    ("compact", "compact dead.d"),
    ("index-zds", "index noindex.d"),
    ("index-zds-force", "index dead.d --force"),
    ("index-zds-stale", "index stale.d"),
    ("recover-in-place", "recover torn.d --in-place"),
    ("index-datadings", "index bare.msgpack"),
    ("index-datadings-again", "index a.msgpack"),
    ("index-datadings-no-md5", "index a.msgpack --no-md5"),
    ("index-datadings-older", "index older.msgpack --remove-older"),
    ("index-datadings-truncate", "index more.msgpack --truncate"),
    ("set-in-place", "set a.ds @title=new --in-place"),
    ("rename-in-place", "rename a.ds @title=name --in-place"),
    ("rm-in-place", "rm a.ds @title --in-place"),
    ("set-type-in-place", "set a.ds x y --type float32 --in-place"),
];

/// Commands that need other arguments for the next run.
const RERUNS: [(&str, &str); 4] = [
    ("index-zds", "index noindex.d --force"),
    ("index-zds-stale", "index stale.d --force"),
    ("rename-in-place", "rename a.ds @history=log --in-place"),
    ("rm-in-place", "rm a.ds @history --in-place"),
];

/// Verbs with the option `--threads`.
const THREADED: [&str; 7] = ["convert", "merge", "split", "sample", "shuffle", "recover", "index"];

/// Creates the inputs in a directory, and returns all cases.
pub(crate) fn all(wharf: &Path, folder: &Path, one_thread: bool) -> Result<Vec<Case>, String> {
    let materials = materials(wharf, folder)?;
    let mut cases = Vec::new();
    for (name, text) in WRITERS {
        let before = inputs(&materials, text);
        let outputs = outputs_of(text);
        let forced = format!("{text} --force");
        cases.push(case(name, before.clone(), text, &forced, outputs.clone(), one_thread));
        let mut before = before;
        for output in &outputs {
            before.0.extend(existing(&materials, output));
        }
        cases.push(case(&format!("{name}-force"), before, &forced, &forced, outputs, one_thread));
    }
    for (name, text) in EDITORS {
        let path = text.split(' ').nth(1).unwrap_or_default();
        let rerun = RERUNS.iter().find(|(other, _)| *other == name).map_or(text, |(_, rerun)| rerun);
        let mut case = case(name, inputs(&materials, text), text, rerun, vec![Output::new(path)], one_thread);
        if text.starts_with("index") && path.ends_with(".msgpack") && !text.contains("--truncate") {
            case.unchanged = Some(path.to_owned());
        }
        cases.push(case);
    }
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(cases)
}

/// The outputs named in a command line.
fn outputs_of(text: &str) -> Vec<Output> {
    let paths = text.split(' ').filter(|word| word.starts_with("out.") || word.starts_with("part-"));
    let numbered = |path: &str| {
        (0..if path.contains("{}") { 3 } else { 1 })
            .map(|part| path.replace("{}", &part.to_string()))
            .collect::<Vec<_>>()
    };
    paths.flat_map(numbered).map(|path| Output::new(&path)).collect()
}

/// An output that exists before the command runs: the other table, in the same format.
fn existing(materials: &Snapshot, output: &Output) -> Vec<(String, Entry)> {
    let extension = output.path.rsplit_once('.').map(|(_, extension)| extension).unwrap_or_default();
    let mut old = Output { path: format!("b.{extension}"), shape: output.shape };
    if !materials.0.contains_key(&old.path) {
        old.path = "b.csv".to_owned();
    }
    let entries = materials.only(|path| old.contains(path)).0;
    entries.into_iter().map(|(path, entry)| (path.replacen(&old.path, &output.path, 1), entry)).collect()
}

fn case(name: &str, before: Snapshot, text: &str, rerun: &str, outputs: Vec<Output>, one_thread: bool) -> Case {
    let words = |text: &str| {
        let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        if one_thread && words.first().is_some_and(|verb| THREADED.contains(&verb.as_str())) {
            words.extend(["--threads", "1"].map(str::to_owned));
        }
        words
    };
    Case { name: name.to_owned(), before, arguments: words(text), rerun: words(rerun), outputs, unchanged: None }
}

/// The inputs that a command names, each with its companion files.
pub(crate) fn inputs(materials: &Snapshot, text: &str) -> Snapshot {
    materials.only(|path| {
        text.split(' ').any(|word| {
            let rest = path.strip_prefix(word).filter(|_| materials.0.contains_key(word));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.']))
        })
    })
}

/// Changes the bytes of a copied file, or omits it.
type Change<'a> = dyn Fn(&str, Vec<u8>) -> Option<Vec<u8>> + 'a;

/// Two small tables in every format, and damaged files.
fn materials(wharf: &Path, folder: &Path) -> Result<Snapshot, String> {
    shell::empty_directory(folder)?;
    let table = |rows: std::ops::Range<u32>| {
        let row = |row: u32| {
            let kind = if row.is_multiple_of(3) { "oak" } else { "elm" };
            format!("key-{row:03},{}.5,{},{kind} {row}\n", row % 7, row * row)
        };
        rows.map(row).fold("key,x,y,species\n".to_owned(), |table, row| table + &row)
    };
    let put = |name: &str, content: &str| shell::write(&folder.join(name), content);
    put("a.csv", &table(0..40))?;
    put("b.csv", &table(40..60))?;
    put(
        "new.jsonl",
        "{\"_id\":\"0000000004\",\"x\":1}\n{\"_id\":\"0000000007\",\"x\":2}\n{\"_id\":\"new\",\"x\":3}\n",
    )?;
    put("one.json", "{\n  \"x\": [1, 2, 3]\n}\n")?;
    // More than a writer buffers, so that files are partly written before the end.
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
        // Both collections get the same name.
        let text = shell::read(&folder.join(format!("{name}.csv")))?;
        shell::make_directory(&folder.join("raw"))?;
        put("raw/trees.csv", &text)?;
        if name == "b" {
            // IDs must differ from those of the first store.
            run("convert raw/trees.csv b.jsonl")?;
            let text = shell::read(&folder.join("b.jsonl"))?;
            put("raw/trees.jsonl", &text.replace("{\"key\":\"", "{\"_id\":\"b"))?;
            run("convert raw/trees.jsonl b.d --to zds")?;
        } else {
            run("convert raw/trees.csv a.d --to zds")?;
        }
        run(&format!("pack {name}.d {name}.zds"))?;
    }
    let copy = |from: &str, to: &str, changed: &Change<'_>| -> Result<(), String> {
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
    // Damaged index and torn last line.
    copy("torn.d", "stale.d", &|path, bytes| if path.ends_with("index.bin") { cut(bytes, 3) } else { Some(bytes) })?;
    copy("a.msgpack", "torn.msgpack", &|path, bytes| {
        if path.ends_with(".msgpack") { cut(bytes, 9) } else { Some(bytes) }
    })?;
    copy("a.msgpack", "bare.msgpack", &|path, bytes| path.ends_with(".msgpack").then_some(bytes))?;
    // An interrupted append: the start of another sample.
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
