//! The verbs that read a format, and the rules for their outcomes.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Mutant;
use super::limits::Watchdog;
use super::subjects::Format;
use crate::random::Random;

/// A command on a mutant.
pub(super) struct Run {
    pub(super) arguments: Vec<String>,
    /// Whether it changes its input.
    pub(super) in_place: bool,
}

impl Mutant<'_> {
    /// Every verb that reads the format.
    pub(super) fn runs(&mut self) -> Vec<Run> {
        let format = self.subject.format;
        let ending = format.ending();
        let mut runs = Vec::new();
        let mut run = |text: &str, in_place: bool| {
            let text = text.replace("OUT", &format!("out{ending}")).replace("M", &format!("m{ending}"));
            let arguments = text.replace("SOUND", &format!("o{ending}")).split(' ').map(str::to_owned).collect();
            runs.push(Run { arguments, in_place });
        };
        for verb in [
            "info M",
            "info --json M",
            "verify M",
            "cat M",
            "cat --json M",
            "cat --csv -n 3 M",
            "get M --row 0",
            "stats M",
            "count M",
            "tail M",
            "schema M",
            "diff M SOUND",
        ] {
            run(verb, false);
        }
        const TARGETS: [&str; 9] = [
            "out.csv",
            "out.jsonl",
            "out.parquet",
            "out.arrow",
            "out.arrows",
            "out.idv",
            "out.ds",
            "out.msgpack",
            "out.zds",
        ];
        let mut targets = TARGETS;
        self.random.shuffle(&mut targets);
        for target in targets.iter().take(3) {
            run(&format!("convert M {target}"), false);
        }
        run("convert M SOUND OUT", false);
        match format {
            Format::Idv => {
                run("merge M SOUND -o OUT", false);
                run("recover M OUT", false);
                run("recover M OUT --schema SOUND", false);
            }
            Format::Datadings => {
                for text in [
                    "merge M SOUND -o OUT --on-duplicate rename",
                    "recover M OUT",
                    "get M 0",
                    "sample M OUT -n 3 --seed 1",
                ] {
                    run(text, false);
                }
                run("index M", true);
            }
            Format::Ds => {
                for text in
                    ["merge M SOUND -o OUT --dim n", "set M @a=1 -o OUT", "rm M @a -o OUT", "rename M @a=b -o OUT"]
                {
                    run(text, false);
                }
            }
            Format::Store => {
                for text in ["merge M SOUND -o OUT --on-duplicate first", "recover M OUT", "pack M out.zds", "get M 0"]
                {
                    run(text, false);
                }
                let in_place = pick_one(
                    &mut self.random,
                    &["index M", "compact M", "recover M --in-place", "rm M 0 --ignore-missing"],
                );
                run(in_place, true);
            }
            Format::Archive => {
                for text in ["merge M SOUND -o OUT --on-duplicate first", "recover M OUT", "unpack M out.d", "get M 0"]
                {
                    run(text, false);
                }
            }
            _ => {}
        }
        runs
    }
}

fn pick_one<'a>(random: &mut Random, from: &[&'a str]) -> &'a str {
    random.pick(from).copied().unwrap_or_default()
}

/// The outcome of a command.
pub(super) struct Outcome {
    pub(super) code: Option<i32>,
    signal: Option<i32>,
    overdue: bool,
    pub(super) messages: String,
}

pub(super) fn execute(
    wharf: &Path,
    arguments: &[String],
    folder: &Path,
    watchdog: &Watchdog,
) -> Result<Outcome, String> {
    let failed = |error: std::io::Error| format!("cannot run `wharf {}`: {error}", arguments.join(" "));
    let mut messages: File = tempfile::tempfile_in(folder.parent().unwrap_or(folder)).map_err(failed)?;
    let mut command = Command::new(wharf);
    command.args(arguments).current_dir(folder).env_clear().env("TMPDIR", folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(messages.try_clone().map_err(failed)?);
    if arguments.first().is_some_and(|verb| matches!(verb.as_str(), "verify" | "diff")) {
        // What they find goes to standard output.
        command.stdout(messages.try_clone().map_err(failed)?);
    }
    let mut child = command.spawn().map_err(failed)?;
    let (status, overdue) = watchdog.wait(&mut child).map_err(failed)?;
    let mut text = Vec::new();
    messages.rewind().and_then(|()| messages.take(1 << 16).read_to_end(&mut text)).map_err(failed)?;
    let messages = String::from_utf8_lossy(&text).into_owned();
    Ok(Outcome { code: status.code(), signal: status.signal(), overdue, messages })
}

/// The rules that an outcome violates.
pub(super) fn violations(outcome: &Outcome) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    if outcome.overdue {
        kinds.push("time limit exceeded");
    } else if outcome.messages.contains("memory allocation of") {
        kinds.push("memory limit exceeded");
    } else if outcome.signal.is_some() {
        kinds.push("killed by a signal");
    } else if outcome.messages.contains("panicked at") {
        kinds.push("panic");
    } else if !matches!(outcome.code, Some(0..=3)) {
        kinds.push("unexpected exit code");
    } else if matches!(outcome.code, Some(1 | 2)) && outcome.messages.trim().is_empty() {
        kinds.push("failure without a message");
    }
    kinds
}
