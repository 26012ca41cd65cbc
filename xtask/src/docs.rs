//! Checks the documentation: rustdoc builds without warnings, links lead to files, and commands print the output shown in the pages.
//!
//! The block after a line `<!-- run -->` is run in a temporary directory, one per page, that links to the `tests` of the workspace. Commands
//! that start with `cargo` run in the workspace itself:
//!
//! ````text
//! <!-- run -->
//! ```console
//! $ wharf info tests/golden/idv/empty-rows.idv
//! its output
//! ```
//! ````

use std::path::{Path, PathBuf};

use clap::Args;

use crate::{features, shell};

/// How differences are handled.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Write the output of the commands into the pages
    #[arg(long)]
    update: bool,
}

/// The line that marks a block to be run.
const MARKER: &str = "<!-- run -->";

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let mut doc = shell::cargo(["doc", "--quiet", "--no-deps"]);
    doc.args(features::ALL).env("RUSTDOCFLAGS", "-D warnings");
    shell::run(doc)?;

    for page in pages()? {
        let text = shell::read(&page)?;
        check_links(&page, &text)?;
        if !text.lines().any(|line| line == MARKER) {
            continue;
        }
        // As the tests have built it. A page may build it otherwise.
        shell::run(shell::cargo(["build", "--quiet", "--bin", "wharf", "--features", "wharf-cli/zarr"]))?;
        let runner = Runner::new()?;
        let mut commands = 0;
        let fresh = rewrite(&text, |command| {
            commands += 1;
            runner.output(command)
        });
        let name = page.strip_prefix(shell::root()).unwrap_or(&page).display().to_string();
        let fresh = fresh.map_err(|error| format!("{name}: {error}"))?;
        if fresh == text {
            println!("{name}: {commands} commands print the output shown");
        } else if options.update {
            shell::write(&page, fresh)?;
            println!("{name}: updated");
        } else {
            return Err(format!("{name}: {} (cargo xtask docs --update rewrites it)", difference(&text, &fresh)));
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

/// Rejects a relative link that leads to no file.
fn check_links(page: &Path, text: &str) -> Result<(), String> {
    let folder = page.parent().unwrap_or(page);
    for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
        if !link.is_empty() && !link.contains("://") && !folder.join(link).exists() {
            return Err(format!("{}: broken link {link:?}", page.display()));
        }
    }
    Ok(())
}

/// Runs commands with the `wharf` of the workspace.
struct Runner {
    path: std::ffi::OsString,
    /// The working directory, removed on drop.
    folder: tempfile::TempDir,
}

impl Runner {
    fn new() -> Result<Self, String> {
        let programs = shell::target()?.join("debug");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(programs).chain(std::env::split_paths(&path)));
        let path = path.map_err(|error| format!("cannot extend PATH: {error}"))?;
        let folder = tempfile::tempdir().map_err(|error| format!("cannot make a temporary directory: {error}"))?;
        let tests = folder.path().join("tests");
        std::os::unix::fs::symlink(shell::root().join("tests"), &tests)
            .map_err(|error| format!("cannot link {}: {error}", tests.display()))?;
        Ok(Self { path, folder })
    }

    /// Standard output and standard error of a command, interleaved. Its exit code is ignored.
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
        String::from_utf8(output.stdout).map_err(|_| format!("`{command}` printed invalid UTF-8"))
    }
}

/// Replaces the output of every command of a page.
fn rewrite(page: &str, mut output: impl FnMut(&str) -> Result<String, String>) -> Result<String, String> {
    let mut fresh = String::with_capacity(page.len());
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        push_line(&mut fresh, line);
        if line != MARKER {
            continue;
        }
        let Some((_, fence)) = lines.next().filter(|(_, line)| *line == "```console") else {
            return Err(format!("line {}: {MARKER} without a ```console block after it", number + 1));
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
            // Any other line is old output.
            let Some(first) = line.strip_prefix("$ ") else { continue };
            let mut command = first.to_owned();
            push_line(&mut fresh, line);
            while command.ends_with('\\') {
                let Some((_, continuation)) = lines.next() else { break };
                push_line(&mut fresh, continuation);
                command.push('\n');
                command.push_str(continuation);
            }
            let printed = output(&command)?;
            fresh.push_str(&printed);
            if !printed.is_empty() && !printed.ends_with('\n') {
                fresh.push('\n');
            }
            commands += 1;
        }
        if !closed || commands == 0 {
            return Err(format!("line {}: a block without a command or without an end", number + 1));
        }
    }
    Ok(fresh)
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Describes the first difference between two pages.
fn difference(page: &str, fresh: &str) -> String {
    let (mut page, mut fresh) = (page.lines(), fresh.lines());
    let mut number = 0;
    loop {
        number += 1;
        let (old, new) = (page.next(), fresh.next());
        if old != new {
            return format!(
                "line {number}: expected {:?}, found {:?}",
                old.unwrap_or_default(),
                new.unwrap_or_default()
            );
        }
        if old.is_none() {
            return "the line ends differ".to_owned();
        }
    }
}

/// Whether a page shows a command on its own line, after `$ ` or indented.
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
    fn replaces_output() {
        let fresh = rewrite(PAGE, echo).unwrap();
        let expected = "a\n<!-- run -->\n```console\n$ one\nran one\n$ two \\\n    more\nran two \\/    more\n```\n\
                        ```console\n$ three\n```\n";
        assert_eq!(fresh, expected);
        assert_eq!(rewrite(&fresh, echo).unwrap(), fresh, "rewriting is idempotent");
        assert_eq!(difference(PAGE, &fresh), "line 5: expected \"old\", found \"ran one\"");
    }

    #[test]
    fn rejects_marker_without_block() {
        let error = rewrite("<!-- run -->\ntext\n", echo).unwrap_err();
        assert_eq!(error, "line 1: <!-- run --> without a ```console block after it");
        let error = rewrite("\n<!-- run -->\n```console\nx\n```\n", echo).unwrap_err();
        assert_eq!(error, "line 2: a block without a command or without an end");
        assert!(rewrite("<!-- run -->\n```console\n$ x\n", echo).is_err());
    }
}
