//! Closed pipes, full disks and standard input, with real processes.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use crate::common::{golden, run, wharf};

/// Reads one line of the output, closes the pipe, and returns the exit code and standard error.
fn read_a_line(arguments: &[&str]) -> (Option<i32>, String) {
    let mut child = wharf(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::with_capacity(16, child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert!(!line.is_empty());
    drop(out);
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (child.wait().unwrap().code(), err)
}

#[test]
fn closed_pipe_ends_quietly() {
    // Far more than the buffer of a pipe.
    let many: Vec<String> = (0..40).map(|_| golden("block-default.idv")).collect();
    for form in ["--json", "--csv", "--pretty"] {
        let arguments: Vec<&str> = ["cat", form].into_iter().chain(many.iter().map(String::as_str)).collect();
        assert_eq!(read_a_line(&arguments), (Some(0), String::new()), "{form}");
    }
    let mut arguments: Vec<&str> =
        ["convert", "--to", "csv"].into_iter().chain(many.iter().map(String::as_str)).collect();
    arguments.push("-");
    assert_eq!(read_a_line(&arguments), (Some(0), String::new()));
}

#[test]
fn closed_pipe_ends_other_verbs_quietly() {
    let many: Vec<String> = (0..2000).map(|_| golden("annotation-vectors.idv")).collect();
    for verb in [&["info"][..], &["info", "--json"], &["verify"], &["verify", "--json"]] {
        let arguments: Vec<&str> = verb.iter().copied().chain(many.iter().map(String::as_str)).collect();
        assert_eq!(read_a_line(&arguments), (Some(0), String::new()), "{verb:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_is_an_error() {
    let file = golden("block-default.idv");
    for arguments in [
        &["cat", &file, "--json"][..],
        &["cat", &file, "--csv"],
        &["cat", &file, "--pretty"],
        &["get", &file, "--row", "1"],
        &["info", &file],
        &["info", &file, "--json"],
        &["verify", &file],
        &["convert", &file, "-"],
        &["--help"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = wharf(arguments).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {err}");
        assert!(err.contains("cannot write") && err.contains("space"), "{arguments:?}: {err}");
    }
}

#[test]
fn reads_standard_input_to_its_end() {
    let file = golden("real-adult.idv");
    let output = wharf(["cat", "-"]).stdin(File::open(&file).unwrap()).output().unwrap();
    assert_eq!(output.stdout, run(["cat", &file]).0.stdout);
    assert_eq!(output.status.code(), Some(0));
}

#[cfg(unix)]
#[test]
fn refuses_standard_input_as_output() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.csv");
    std::fs::copy(golden("text-ascii.idv"), &path).unwrap();
    let output = wharf(["convert", "-", path.to_str().unwrap(), "--force"]).stdin(File::open(&path).unwrap()).output();
    let output = output.unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.ends_with("data.csv: the output is the input <stdin>\n"), "{err}");
    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(golden("text-ascii.idv")).unwrap());
}

#[test]
fn pipe_contains_only_the_output() {
    let file = golden("block-rows-7.idv");
    for arguments in [&["--help"][..], &["cat", "--help"], &["info", &file], &["cat", &file, "--pretty"], &["cat"]] {
        let ran = run(arguments);
        let all = format!("{}{}", ran.out(), ran.err());
        assert!(!all.is_empty() && !all.contains('\u{1b}'), "{arguments:?}: {all}");
    }
}

/// A terminated process removes its temporary output file.
#[cfg(unix)]
#[test]
fn signal_leaves_no_temporary_files() {
    use std::os::unix::process::ExitStatusExt;
    use std::time::{Duration, Instant};

    // Children inherit ignored signals, as for background jobs of a shell.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    let is_ignored = |number: i32| ignored.unwrap_or(0) >> (number - 1) & 1 != 0;
    let many: Vec<String> = (0..5000).map(|_| golden("block-default.idv")).collect(); // it takes seconds
    for (name, number) in [("TERM", 15), ("INT", 2)].into_iter().filter(|(_, number)| !is_ignored(*number)) {
        let folder = tempfile::tempdir().unwrap();
        let count = || std::fs::read_dir(&folder).unwrap().count();
        let out = folder.path().join("out.csv");
        let out = out.to_str().unwrap();
        let arguments = ["convert"].into_iter().chain(many.iter().map(String::as_str)).chain([out]);
        let mut child = wharf(arguments).spawn().unwrap();
        let start = Instant::now();
        while count() == 0 && start.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(count(), 1, "one file is under way");
        let told = std::process::Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status();
        assert!(told.unwrap().success());
        assert_eq!(child.wait().unwrap().signal(), Some(number));
        assert_eq!(count(), 0, "a file is left");
    }
}
