//! The golden files: what references wrote, with what the references read in them, and where each comes from.

mod cross;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use clap::Args;
use tempfile::TempDir;

use crate::interop::{ds, zdx};
use crate::mlnet::MlNet;
use crate::python::Python;
use crate::shell;
use crate::traced::{self, GoldenPart};
use crate::zippy::Zippy;

/// How far to go.
#[derive(Args, Default)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    part: Option<GoldenPart>,
    /// Install the reference if it is not there, and let it write the files again to compare them
    #[arg(long)]
    reference: bool,
    /// Replace the files by what the reference writes now
    #[arg(long)]
    update: bool,
}

impl Options {
    /// With the references, which write the files again.
    pub(crate) fn full() -> Self {
        Self { reference: true, ..Self::default() }
    }
}

/// The heading of the table that lists every file.
const LIST: &str = "## The files";

/// The modules of integration tests that read golden files.
const TESTS: [&str; 7] =
    ["cross::", "datadings_golden::", "golden::", "idv_golden::", "idv_model::", "netcdf::", "time::"];

pub(crate) fn run(options: &Options) -> Result<(), String> {
    if let Some(part) = &options.part {
        return traced::run_golden(part);
    }
    let golden = shell::root().join("tests/golden");
    let idv = golden.join("idv");
    let mlnet = if options.reference || options.update { MlNet::install().map(Some) } else { MlNet::installed() };
    let mlnet = mlnet.map_err(|trouble| trouble.to_string())?;
    if let Some(mlnet) = mlnet.as_ref().filter(|_| options.update) {
        replace(mlnet, &idv)?;
    }
    let all = options.reference || options.update;
    let python = if all { Python::install().map(Some) } else { Python::installed() };
    let python = python.map_err(|trouble| trouble.to_string())?;
    let zippy = if all { Zippy::install().map(Some) } else { Zippy::installed() };
    let zippy = zippy.map_err(|trouble| trouble.to_string())?;
    let cross = match (&mlnet, &python, &zippy) {
        (Some(mlnet), Some(python), Some(zippy)) => Some(cross::References { mlnet, python, zippy }),
        _ => None,
    };
    if let Some(cross) = cross.as_ref().filter(|_| options.update) {
        cross.replace()?;
    }
    // What is in `routes` is ours.
    for directory in shell::entries(&golden)?.iter().filter(|path| path.is_dir() && !path.ends_with("routes")) {
        let files = check_provenance(directory)?;
        println!("golden/{}: {files} files, all of them listed in PROVENANCE.md", shell::file_name(directory));
    }
    match &mlnet {
        Some(mlnet) => compare(mlnet, &idv)?,
        None => println!("golden/idv: not made again, ML.NET is not installed (--reference installs it)"),
    }
    match &python {
        Some(python) => ds::golden(python)?,
        None => println!("golden/ds: not made again, ds-format is not installed (--reference installs it)"),
    }
    match (&zippy, &python) {
        (Some(zippy), Some(python)) => zdx::golden(zippy, python)?,
        _ => println!("golden/zds: not made again, zippy_data is not installed (--reference installs it)"),
    }
    match &cross {
        Some(cross) => cross.compare()?,
        None => {
            println!("golden/cross: not made again, its references are not all installed (--reference installs them)")
        }
    }
    run_tests()?;
    // Minutes on a busy machine: not for every change.
    if options.reference {
        traced::all_routes()?;
    }
    Ok(())
}

/// Runs the tests of the golden files, of all crates at once: what `cargo test --workspace` has built needs no building here.
fn run_tests() -> Result<(), String> {
    let test = |arguments: &[&str]| {
        let mut test = shell::cargo(["test", "--quiet", "--workspace", "--test", "it", "--"]);
        test.args(arguments).args(TESTS);
        test
    };
    let listed = shell::text(test(&["--list", "--format", "terse"]))?;
    if let Some(module) = TESTS.iter().find(|module| !listed.lines().any(|name| name.starts_with(*module))) {
        return Err(format!("no integration test is in a module {module}"));
    }
    shell::run(test(&[]))
}

/// Every file is in the list of PROVENANCE.md, and everything in the list is there; returns how many that are.
fn check_provenance(directory: &Path) -> Result<usize, String> {
    let page = directory.join("PROVENANCE.md");
    let listed = listed(&shell::read(&page)?).map_err(|error| format!("{}: {error}", page.display()))?;
    let mut present = BTreeSet::new();
    for path in shell::entries(directory)? {
        let name = shell::file_name(&path);
        if name != "PROVENANCE.md" && !name.starts_with('.') {
            // `NAME.idv` and `NAME.expected.jsonl` are one entry.
            present.insert(name.split_once('.').map_or(name.clone(), |(stem, _)| stem.to_owned()));
        }
    }
    if let Some(name) = present.difference(&listed).next() {
        return Err(format!("{} does not list {name}", page.display()));
    }
    if let Some(name) = listed.difference(&present).next() {
        return Err(format!("{} lists {name}, which is not there", page.display()));
    }
    for path in shell::files_with_extension(directory, "idv")? {
        if !path.with_extension("expected.jsonl").exists() {
            return Err(format!("{} has no dump beside it", path.display()));
        }
    }
    Ok(present.len())
}

/// The names in the first column of the list.
fn listed(page: &str) -> Result<BTreeSet<String>, String> {
    let mut names = BTreeSet::new();
    for row in list(page)?.1 {
        let name = row.strip_prefix("| `").and_then(|row| row.split_once("` |"));
        let (name, _) = name.ok_or_else(|| format!("no name at the beginning of \"{row}\""))?;
        if !names.insert(name.to_owned()) {
            return Err(format!("{name} is listed twice"));
        }
    }
    Ok(names)
}

/// A page's lines: those before the rows of the list, the rows, and those behind.
type Parts<'a> = (Vec<&'a str>, Vec<&'a str>, Vec<&'a str>);

fn list(page: &str) -> Result<Parts<'_>, String> {
    let mut before = Vec::new();
    let mut lines = page.lines();
    for line in lines.by_ref() {
        before.push(line);
        if before.contains(&LIST) && line.starts_with("|---") {
            let rows: Vec<_> = lines.clone().take_while(|line| line.starts_with('|')).collect();
            let behind = lines.skip(rows.len()).collect();
            return Ok((before, rows, behind));
        }
    }
    Err(format!("no table under \"{LIST}\""))
}

/// Lets ML.NET write the files into a temporary directory; returns it and the rows of the list.
fn made_again(mlnet: &MlNet) -> Result<(TempDir, String), String> {
    let fresh = tempfile::tempdir().map_err(|error| format!("cannot make a temporary directory: {error}"))?;
    let mut driver = mlnet.driver("golden");
    driver.arg(fresh.path()).arg("--data").arg(mlnet.datasets());
    let listing = shell::text(driver)?;
    Ok((fresh, listing))
}

/// What ML.NET writes and reads must be as before; the bytes depend on the system's zlib too.
fn compare(mlnet: &MlNet, directory: &Path) -> Result<(), String> {
    let (fresh, listing) = made_again(mlnet)?;
    let page = directory.join("PROVENANCE.md");
    let rows = shell::read(&page)?;
    if let Some(row) = listing.lines().find(|row| !rows.lines().any(|line| line == *row)) {
        return Err(format!("{} has no row \"{row}\"", page.display()));
    }
    let (mut files, mut same) = (0, 0);
    for path in shell::files_with_extension(fresh.path(), "idv")? {
        let name = shell::file_name(&path);
        let kept = directory.join(&name);
        let read = |path: &Path| fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()));
        if read(&path.with_extension("expected.jsonl"))? != read(&kept.with_extension("expected.jsonl"))? {
            return Err(format!("the dump of {name} is not what ML.NET reads in the file it writes now"));
        }
        files += 1;
        same += usize::from(read(&path)? == read(&kept)?);
    }
    let committed = shell::files_with_extension(directory, "idv")?.len();
    if files != committed {
        return Err(format!("ML.NET writes {files} files, {committed} are there"));
    }
    println!("golden/idv: ML.NET writes the same values again into all {files} files, the same bytes into {same}");
    if same < files {
        println!("golden/idv: other bytes for the same values come from another zlib on this system");
    }
    Ok(())
}

/// Puts what ML.NET writes now in the place of what is there.
fn replace(mlnet: &MlNet, directory: &Path) -> Result<(), String> {
    let (fresh, listing) = made_again(mlnet)?;
    let page = directory.join("PROVENANCE.md");
    let text = shell::read(&page)?;
    let (before, _, behind) = list(&text).map_err(|error| format!("{}: {error}", page.display()))?;
    let lines: Vec<_> = before.into_iter().chain(listing.lines()).chain(behind).collect();
    shell::write(&page, lines.join("\n") + "\n")?;
    for extension in ["idv", "jsonl"] {
        for old in shell::files_with_extension(directory, extension)? {
            fs::remove_file(&old).map_err(|error| format!("cannot remove {}: {error}", old.display()))?;
        }
    }
    let made = shell::entries(fresh.path())?;
    for path in &made {
        let kept = directory.join(shell::file_name(path));
        fs::copy(path, &kept).map_err(|error| format!("cannot write {}: {error}", kept.display()))?;
    }
    println!(
        "golden/idv: {} files written; the page's words on versions and known differences are yours to check",
        made.len()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Title\n\n| `not` | this |\n\n## The files\n\n| file | holds |\n|---|---|\n| `one` | first |\n| `two` | second |\n\nend";

    #[test]
    fn the_list_and_nothing_else() {
        let names: Vec<_> = listed(PAGE).unwrap().into_iter().collect();
        assert_eq!(names, ["one", "two"]);
        let (before, rows, behind) = list(PAGE).unwrap();
        assert_eq!((before.len(), rows.len(), behind), (8, 2, vec!["", "end"]));
        assert_eq!(listed("# Title").unwrap_err(), "no table under \"## The files\"");
        assert_eq!(listed(&PAGE.replace("`two`", "`one`")).unwrap_err(), "one is listed twice");
    }

    #[test]
    fn provenance_both_ways() {
        let directory = tempfile::tempdir().unwrap();
        let put = |name: &str, content: &str| shell::write(&directory.path().join(name), content).unwrap();
        put("PROVENANCE.md", PAGE);
        put(".gitattributes", "");
        for name in ["one.idv", "one.expected.jsonl", "two.msgpack"] {
            put(name, "");
        }
        assert_eq!(check_provenance(directory.path()), Ok(2));
        put("three.idv", "");
        assert!(check_provenance(directory.path()).unwrap_err().ends_with("does not list three"));
        fs::remove_file(directory.path().join("three.idv")).unwrap();
        fs::remove_file(directory.path().join("one.expected.jsonl")).unwrap();
        assert!(check_provenance(directory.path()).unwrap_err().ends_with("one.idv has no dump beside it"));
        fs::remove_file(directory.path().join("one.idv")).unwrap();
        assert!(check_provenance(directory.path()).unwrap_err().ends_with("lists one, which is not there"));
    }
}
