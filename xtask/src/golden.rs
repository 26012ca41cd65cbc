//! Checks the golden files: files written by references, the values the references read in them, and their provenance.

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

/// How thorough the check is.
#[derive(Args, Default)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    part: Option<GoldenPart>,
    /// Install missing references, and compare the files with what the references write now
    #[arg(long)]
    reference: bool,
    /// Replace the files with what the references write now
    #[arg(long)]
    update: bool,
}

impl Options {
    /// Includes the references.
    pub(crate) fn full() -> Self {
        Self { reference: true, ..Self::default() }
    }
}

/// The heading of the table that lists every file.
const LIST_HEADING: &str = "## The files";

/// The modules of integration tests that read golden files.
const TESTS: [&str; 7] =
    ["cross::", "datadings_golden::", "golden::", "idv_golden::", "idv_model::", "netcdf::", "time::"];

pub(crate) fn run(options: &Options) -> Result<(), String> {
    if let Some(part) = &options.part {
        return traced::run_golden(part);
    }
    let golden = shell::root().join("tests/golden");
    let idv = golden.join("idv");
    let install = options.reference || options.update;
    let mlnet = if install { MlNet::install().map(Some) } else { MlNet::installed() };
    let mlnet = mlnet.map_err(|trouble| trouble.to_string())?;
    if let Some(mlnet) = mlnet.as_ref().filter(|_| options.update) {
        replace(mlnet, &idv)?;
    }
    let python = if install { Python::install().map(Some) } else { Python::installed() };
    let python = python.map_err(|trouble| trouble.to_string())?;
    let zippy = if install { Zippy::install().map(Some) } else { Zippy::installed() };
    let zippy = zippy.map_err(|trouble| trouble.to_string())?;
    let cross = match (&mlnet, &python, &zippy) {
        (Some(mlnet), Some(python), Some(zippy)) => Some(cross::References { mlnet, python, zippy }),
        _ => None,
    };
    if let Some(cross) = cross.as_ref().filter(|_| options.update) {
        cross.replace()?;
    }
    // Files in `routes` are our own.
    for directory in shell::entries(&golden)?.iter().filter(|path| path.is_dir() && !path.ends_with("routes")) {
        let files = check_provenance(directory)?;
        println!("golden/{}: {files} files, all listed in PROVENANCE.md", shell::file_name(directory));
    }
    match &mlnet {
        Some(mlnet) => compare(mlnet, &idv)?,
        None => println!("golden/idv: not compared, ML.NET is not installed (--reference installs it)"),
    }
    match &python {
        Some(python) => ds::golden(python)?,
        None => println!("golden/ds: not compared, ds-format is not installed (--reference installs it)"),
    }
    match (&zippy, &python) {
        (Some(zippy), Some(python)) => zdx::golden(zippy, python)?,
        _ => println!("golden/zds: not compared, zippy_data is not installed (--reference installs it)"),
    }
    match &cross {
        Some(cross) => cross.compare()?,
        None => {
            println!("golden/cross: not compared, its references are not all installed (--reference installs them)")
        }
    }
    run_tests()?;
    // Takes minutes on a busy machine: not for every change.
    if options.reference {
        traced::all_routes()?;
    }
    Ok(())
}

/// Runs the golden tests of all crates at once, with the binaries that `cargo test --workspace` has built.
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

/// Checks that PROVENANCE.md lists exactly the files of a directory, and returns their number.
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
        return Err(format!("{} lists {name}, which is missing", page.display()));
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
    for row in split_at_list(page)?.1 {
        let name = row.strip_prefix("| `").and_then(|row| row.split_once("` |"));
        let (name, _) = name.ok_or_else(|| format!("no name at the start of \"{row}\""))?;
        if !names.insert(name.to_owned()) {
            return Err(format!("{name} is listed twice"));
        }
    }
    Ok(names)
}

/// The lines of a page: before the rows of the list, the rows, and after them.
type Parts<'a> = (Vec<&'a str>, Vec<&'a str>, Vec<&'a str>);

fn split_at_list(page: &str) -> Result<Parts<'_>, String> {
    let mut before = Vec::new();
    let mut lines = page.lines();
    for line in lines.by_ref() {
        before.push(line);
        if before.contains(&LIST_HEADING) && line.starts_with("|---") {
            let rows: Vec<_> = lines.clone().take_while(|line| line.starts_with('|')).collect();
            let after = lines.skip(rows.len()).collect();
            return Ok((before, rows, after));
        }
    }
    Err(format!("no table under \"{LIST_HEADING}\""))
}

/// Lets ML.NET write the files into a temporary directory; returns it and the rows of the list.
fn regenerate(mlnet: &MlNet) -> Result<(TempDir, String), String> {
    let fresh = tempfile::tempdir().map_err(|error| format!("cannot create a temporary directory: {error}"))?;
    let mut driver = mlnet.driver("golden");
    driver.arg(fresh.path()).arg("--data").arg(mlnet.datasets());
    let listing = shell::text(driver)?;
    Ok((fresh, listing))
}

/// Compares the values that ML.NET writes and reads now with the golden files. Bytes may differ, as they depend on the system's zlib.
fn compare(mlnet: &MlNet, directory: &Path) -> Result<(), String> {
    let (fresh, listing) = regenerate(mlnet)?;
    let page = directory.join("PROVENANCE.md");
    let rows = shell::read(&page)?;
    if let Some(row) = listing.lines().find(|row| !rows.lines().any(|line| line == *row)) {
        return Err(format!("{} has no row \"{row}\"", page.display()));
    }
    let (mut files, mut same) = (0, 0);
    for path in shell::files_with_extension(fresh.path(), "idv")? {
        let name = shell::file_name(&path);
        let golden = directory.join(&name);
        let read = |path: &Path| fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()));
        if read(&path.with_extension("expected.jsonl"))? != read(&golden.with_extension("expected.jsonl"))? {
            return Err(format!("{name}: ML.NET writes other values now"));
        }
        files += 1;
        same += usize::from(read(&path)? == read(&golden)?);
    }
    let committed = shell::files_with_extension(directory, "idv")?.len();
    if files != committed {
        return Err(format!("expected {committed} files, ML.NET writes {files}"));
    }
    println!("golden/idv: ML.NET writes the same values to all {files} files, the same bytes to {same}");
    if same < files {
        println!("golden/idv: bytes differ because of another zlib on this system");
    }
    Ok(())
}

/// Replaces the golden files with what ML.NET writes now.
fn replace(mlnet: &MlNet, directory: &Path) -> Result<(), String> {
    let (fresh, listing) = regenerate(mlnet)?;
    let page = directory.join("PROVENANCE.md");
    let text = shell::read(&page)?;
    let (before, _, after) = split_at_list(&text).map_err(|error| format!("{}: {error}", page.display()))?;
    let lines: Vec<_> = before.into_iter().chain(listing.lines()).chain(after).collect();
    shell::write(&page, lines.join("\n") + "\n")?;
    for extension in ["idv", "jsonl"] {
        for old in shell::files_with_extension(directory, extension)? {
            fs::remove_file(&old).map_err(|error| format!("cannot remove {}: {error}", old.display()))?;
        }
    }
    let written = shell::entries(fresh.path())?;
    for path in &written {
        let golden = directory.join(shell::file_name(path));
        fs::copy(path, &golden).map_err(|error| format!("cannot write {}: {error}", golden.display()))?;
    }
    println!(
        "golden/idv: {} files written; check what the page says about versions and known differences",
        written.len()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Title\n\n| `not` | this |\n\n## The files\n\n| file | holds |\n|---|---|\n| `one` | first |\n| `two` | second |\n\nend";

    #[test]
    fn parses_the_list_only() {
        let names: Vec<_> = listed(PAGE).unwrap().into_iter().collect();
        assert_eq!(names, ["one", "two"]);
        let (before, rows, after) = split_at_list(PAGE).unwrap();
        assert_eq!((before.len(), rows.len(), after), (8, 2, vec!["", "end"]));
        assert_eq!(listed("# Title").unwrap_err(), "no table under \"## The files\"");
        assert_eq!(listed(&PAGE.replace("`two`", "`one`")).unwrap_err(), "one is listed twice");
    }

    #[test]
    fn checks_provenance_in_both_directions() {
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
        assert!(check_provenance(directory.path()).unwrap_err().ends_with("lists one, which is missing"));
    }
}
