//! Documentation: the crates' pages build without a warning, links lead to files, and commands shown in a page print what it says.
//!
//! A block of a page that follows the line `<!-- run -->` is run, in a folder where `tests` is the workspace's; later blocks of the page find
//! the files that earlier ones made. `cargo` runs in the workspace itself:
//!
//! ````text
//! <!-- run -->
//! ```console
//! $ wharf info tests/golden/idv/empty-rows.idv
//! what it prints
//! ```
//! ````

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::{features, shell};

/// What to do about differences.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Write what the commands print into the pages
    #[arg(long)]
    update: bool,
}

const MARK: &str = "<!-- run -->";

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let mut doc = shell::cargo(["doc", "--quiet", "--no-deps"]);
    doc.args(features::all()?).env("RUSTDOCFLAGS", "-D warnings");
    shell::run(doc)?;

    shell::run(shell::cargo(["build", "--quiet", "--package", "wharf-cli"]))?;
    for page in pages()? {
        let text = shell::read(&page)?;
        check_links(&page, &text)?;
        if !text.lines().any(|line| line == MARK) {
            continue;
        }
        let runner = Runner::new()?;
        let mut commands = 0;
        let fresh = rewritten(&text, |command| {
            commands += 1;
            runner.output(command)
        });
        let name = page.strip_prefix(shell::root()).unwrap_or(&page).display().to_string();
        let fresh = fresh.map_err(|error| format!("{name}: {error}"))?;
        if fresh == text {
            println!("{name}: {commands} commands print what the page says");
        } else if options.update {
            shell::write(&page, fresh)?;
            println!("{name}: updated");
        } else {
            return Err(format!("{name}: {} (cargo xtask docs --update writes it)", difference(&text, &fresh)));
        }
    }
    Ok(())
}

/// The pages whose commands are run: the READMEs and the guide.
fn pages() -> Result<Vec<PathBuf>, String> {
    let crates = shell::root().join("crates");
    let guide = crates.join("wharf/guide");
    let mut pages = vec![shell::root().join("README.md")];
    pages.extend(shell::entries(&crates)?.iter().map(|path| path.join("README.md")));
    for folder in [&guide, &guide.join("formats")] {
        pages.extend(shell::files_with_extension(folder, "md")?);
    }
    pages.retain(|path| path.exists());
    Ok(pages)
}

/// Fails on a relative link of a page that leads to no file.
fn check_links(page: &Path, text: &str) -> Result<(), String> {
    let folder = page.parent().unwrap_or(page);
    for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
        if !link.is_empty() && !link.contains("://") && !folder.join(link).exists() {
            return Err(format!("{}: the link {link:?} leads to no file", page.display()));
        }
    }
    Ok(())
}

/// Runs commands with the `wharf` of the workspace.
struct Runner {
    path: std::ffi::OsString,
    /// Where they run, for one page; removed with the runner.
    folder: tempfile::TempDir,
}

impl Runner {
    fn new() -> Result<Self, String> {
        let ours = shell::target()?.join("debug");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(ours).chain(std::env::split_paths(&path)));
        let path = path.map_err(|error| format!("cannot extend PATH: {error}"))?;
        let folder = tempfile::tempdir().map_err(|error| format!("cannot make a temporary directory: {error}"))?;
        let tests = folder.path().join("tests");
        std::os::unix::fs::symlink(shell::root().join("tests"), &tests)
            .map_err(|error| format!("cannot link {}: {error}", tests.display()))?;
        Ok(Self { path, folder })
    }

    /// What a command prints on both its outputs, as one sees it; its exit code plays no part.
    fn output(&self, command: &str) -> Result<String, String> {
        let mut bash = shell::program("bash");
        if !command.starts_with("cargo ") {
            bash.current_dir(self.folder.path());
        }
        bash.arg("-c").arg(format!("exec 2>&1\n{command}")).env("PATH", &self.path);
        bash.env("LC_ALL", "C.UTF-8").env("NO_COLOR", "1").env_remove("COLUMNS");
        let output = shell::output(&mut bash)?;
        if output.status.code() == Some(127) {
            return Err(format!("`{command}`: {}", String::from_utf8_lossy(&output.stdout).trim_end()));
        }
        String::from_utf8(output.stdout).map_err(|_| format!("`{command}` printed something that is not UTF-8"))
    }
}

/// The page with the output of its commands put in.
fn rewritten(page: &str, mut output: impl FnMut(&str) -> Result<String, String>) -> Result<String, String> {
    let mut fresh = String::with_capacity(page.len());
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        push_line(&mut fresh, line);
        if line != MARK {
            continue;
        }
        let Some((_, fence)) = lines.next().filter(|(_, line)| *line == "```console") else {
            return Err(format!("line {}: {MARK} and no ```console block after it", number + 1));
        };
        push_line(&mut fresh, fence);
        let mut commands = 0;
        let mut closed = false;
        while let Some((_, line)) = lines.next() {
            if line == "```" {
                push_line(&mut fresh, line);
                closed = true;
                break;
            }
            // Any other line is output of before.
            let Some(first) = line.strip_prefix("$ ") else { continue };
            let mut command = first.to_owned();
            push_line(&mut fresh, line);
            while command.ends_with('\\') {
                let Some((_, more)) = lines.next() else { break };
                push_line(&mut fresh, more);
                command.push('\n');
                command.push_str(more);
            }
            let printed = output(&command)?;
            fresh.push_str(&printed);
            if !printed.is_empty() && !printed.ends_with('\n') {
                fresh.push('\n');
            }
            commands += 1;
        }
        if !closed || commands == 0 {
            return Err(format!("line {}: a block without a command or an end", number + 1));
        }
    }
    Ok(fresh)
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// The first line in which two pages differ.
fn difference(page: &str, fresh: &str) -> String {
    let (mut page, mut fresh) = (page.lines(), fresh.lines());
    let mut number = 0;
    loop {
        number += 1;
        let (before, now) = (page.next(), fresh.next());
        if before != now {
            let mut text = format!("line {number} says {:?}", before.unwrap_or_default());
            // Writing into a string cannot fail.
            let _ = write!(text, " where {:?} is printed", now.unwrap_or_default());
            return text;
        }
        if before.is_none() {
            return "the page's line ends differ".to_owned();
        }
    }
}

/// Whether a page shows a command as a line of its own, as the words after `$ ` or indented.
pub(crate) fn shows(page: &Path, command: &str) -> Result<bool, String> {
    let text = shell::read(page)?;
    Ok(text.lines().any(|line| line.trim().trim_start_matches("$ ") == command))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "a\n<!-- run -->\n```console\n$ one\nold\nolder\n$ two \\\n    more\n```\n```console\n$ three\n```\n";

    fn echo(command: &str) -> Result<String, String> {
        Ok(format!("ran {}\n", command.replace('\n', "/")))
    }

    #[test]
    fn output_is_put_in_its_place() {
        let fresh = rewritten(PAGE, echo).unwrap();
        let expected = "a\n<!-- run -->\n```console\n$ one\nran one\n$ two \\\n    more\nran two \\/    more\n```\n\
                        ```console\n$ three\n```\n";
        assert_eq!(fresh, expected);
        assert_eq!(rewritten(&fresh, echo).unwrap(), fresh, "a second time changes nothing");
        assert_eq!(difference(PAGE, &fresh), "line 5 says \"old\" where \"ran one\" is printed");
    }

    #[test]
    fn a_mark_needs_a_block() {
        let error = rewritten("<!-- run -->\ntext\n", echo).unwrap_err();
        assert_eq!(error, "line 1: <!-- run --> and no ```console block after it");
        let error = rewritten("\n<!-- run -->\n```console\nx\n```\n", echo).unwrap_err();
        assert_eq!(error, "line 2: a block without a command or an end");
        assert!(rewritten("<!-- run -->\n```console\n$ x\n", echo).is_err());
    }
}
