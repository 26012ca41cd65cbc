//! Verbs that are programs of their own: `wharf VERB` runs `wharf-VERB`.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

/// Writes a script that is a program.
fn program(folder: &Path, name: &str, script: &str, mode: u32) {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
}

fn run(path: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wharf")).args(arguments).env("PATH", path).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn unknown_verbs_are_programs() {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path(), "wharf-greet", "for word; do echo \"<$word>\"; done; exit 7", 0o755);
    let output = run(folder.path(), &["--json", "greet", "a b", "--loud", "-"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(7), "<--json>\n<a b>\n<--loud>\n<->\n"));
    program(folder.path(), "wharf-die", "kill -TERM $$", 0o755);
    assert_eq!(run(folder.path(), &["die"]).status.signal(), Some(15));
}

#[test]
fn what_is_no_program_stays_an_unknown_verb() {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path(), "wharf-text", "echo no", 0o644);
    // A verb of the command itself takes precedence.
    program(folder.path(), "wharf-info", "echo no", 0o755);
    fs::create_dir(folder.path().join("wharf-folder")).unwrap();
    for verb in ["text", "folder", "none", "../wharf-info", ""] {
        let output = run(folder.path(), &[verb]);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""), "{verb}");
        assert!(text(&output.stderr).contains("unrecognized subcommand"), "{verb}: {}", text(&output.stderr));
    }
    let similar = run(folder.path(), &["inof"]);
    assert!(text(&similar.stderr).contains("info"), "{}", text(&similar.stderr));
    assert!(!text(&run(folder.path(), &["info", "--help"]).stdout).contains("no\n"));
}
