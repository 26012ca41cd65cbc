//! Killing processes at any moment leaves the old or the new output, complete, and no temporary files. With `WHARF_EXHAUSTIVE=1`
//! a thousand times each.

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Ran, run, wharf};

const SIGNALS: [(&str, i32); 6] = [("TERM", 15), ("KILL", 9), ("HUP", 1), ("INT", 2), ("QUIT", 3), ("XCPU", 24)];

/// Number of rounds of a loop that kills processes.
fn rounds(quick: u32) -> u32 {
    if std::env::var_os("WHARF_EXHAUSTIVE").is_some() { 1000 } else { quick }
}

/// A linear congruential generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u128) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u64::try_from(u128::from(self.0 >> 33) % limit.max(1)).unwrap()
    }
}

/// A shell that sends signals without starting a process for each.
struct Kill(Child);

impl Kill {
    fn new() -> Self {
        Self(Command::new("sh").stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn send(&mut self, signal: &str, to: &Child) {
        writeln!(self.0.stdin.as_mut().unwrap(), "kill -{signal} {}", to.id()).unwrap();
    }
}

impl Drop for Kill {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

struct TestFolder(tempfile::TempDir);

impl TestFolder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).into_os_string().into_string().unwrap()
    }

    fn files(&self) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// An archive of a store whose collections contain its generation.
    fn archive(&self, generation: &str, collections: u32) -> String {
        let store = self.path(&format!("made-{generation}"));
        for number in 0..collections {
            let meta = store.join(format!("collections/c{number}/meta"));
            fs::create_dir_all(&meta).unwrap();
            fs::write(meta.join("data.jsonl"), format!("{{\"_id\":\"x\",\"is\":\"{generation}\"}}\n")).unwrap();
        }
        let archive = self.name(&format!("{generation}.zds"));
        run(["pack", store.to_str().unwrap(), &archive]);
        fs::remove_dir_all(store).unwrap();
        archive
    }
}

/// The generation of a store. Panics if a part is missing or of another generation.
#[track_caller]
fn generation(store: &Path, collections: u32) -> String {
    let text = |number: u32| fs::read_to_string(store.join(format!("collections/c{number}/meta/data.jsonl"))).unwrap();
    let first = text(0);
    assert!((1..collections).all(|number| text(number) == first), "parts of two stores");
    first.split('"').nth(7).unwrap().to_owned()
}

#[track_caller]
fn verifies(path: &Path) {
    let ran = run(["verify", path.to_str().unwrap()]);
    assert_eq!(ran.code(), 0, "{}{}", ran.out(), ran.err());
}

#[test]
fn replacing_a_store_is_atomic() {
    const COLLECTIONS: u32 = 40;
    let place = TestFolder::new();
    let archives = ["a", "b"].map(|generation| place.archive(generation, COLLECTIONS));
    let target = place.path("s");
    let unpack = |archive: &str| wharf(["unpack", archive, target.to_str().unwrap(), "--force"]);
    let start = Instant::now();
    assert!(unpack(&archives[0]).output().unwrap().status.success());
    let whole = start.elapsed();
    let (mut old, mut random, mut kill) = ("a".to_owned(), Random(7), Kill::new());
    let mut ended = 0;
    for round in 0..rounds(30) {
        let (signal, number) = SIGNALS[round as usize % SIGNALS.len()];
        let new = if old == "a" { "b" } else { "a" };
        let archive = &archives[usize::from(new == "b")];
        // Leftovers of a killed process remain if the next one is killed before it removes them.
        let mut expected = place.files();
        let mut child = unpack(archive).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        match round % 3 {
            0 => thread::sleep(Duration::from_nanos(random.below(whole.as_nanos()))),
            // The moment at which the new store is renamed.
            _ => {
                let last = format!("new/s/collections/c{}/meta", COLLECTIONS - 1);
                let is_near = |name: &String| name.starts_with(".wharf-") && place.path(name).join(&last).exists();
                while child.try_wait().unwrap().is_none() && !place.files().iter().any(is_near) {
                    thread::sleep(Duration::from_micros(50));
                }
                thread::sleep(Duration::from_micros(random.below(4000)));
            }
        }
        kill.send(signal, &child);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said, "", "{round}");
        let is = generation(&target, COLLECTIONS);
        match output.status.signal() {
            Some(died) => {
                assert_eq!(died, number, "{round}");
                ended += 1;
            }
            None => assert_eq!((output.status.code(), is.as_str()), (Some(0), new), "{round}"),
        }
        if number != 9 {
            let files = place.files();
            expected.retain(|name| files.contains(name));
            assert_eq!(files, expected, "{round}: {signal}");
        }
        if round % 6 == 5 {
            verifies(&target);
        }
        old = is;
    }
    assert!(ended * 3 > rounds(30), "{ended} were ended by a signal");
    // The next run removes leftovers of killed ones.
    assert!(unpack(&archives[0]).output().unwrap().status.success());
    assert_eq!(place.files(), ["a.zds", "b.zds", "s"]);
    verifies(&target);
}

/// JSON lines of samples that contain their generation.
fn samples(place: &TestFolder, generation: &str) -> String {
    let lines: String = (0..400)
        .map(|n| format!("{{\"key\":\"{n:03}\",\"is\":\"{generation}\",\"text\":\"{}\"}}\n", "x".repeat(n)))
        .collect();
    let (text, dataset) = (place.name("text.jsonl"), place.name(&format!("{generation}.msgpack")));
    fs::write(&text, lines).unwrap();
    run(["convert", &text, &dataset]).ok();
    fs::remove_file(text).unwrap();
    dataset
}

/// Runs a verb that replaces datasets, kills it, and checks the result.
fn datasets_are_replaced(outputs: &[&str], command: impl Fn(&TestFolder, &str) -> Vec<String>) {
    let place = TestFolder::new();
    let inputs = ["a", "b"].map(|generation| samples(&place, generation));
    let start = Instant::now();
    run(command(&place, &inputs[0])).code();
    let whole = start.elapsed();
    let (all, mut random, mut kill) = (place.files(), Random(3), Kill::new());
    let is_output = |name: &String| !name.starts_with(".wharf-");
    let mut rebuilt = 0;
    for round in 0..rounds(12) {
        let (signal, number) = SIGNALS[round as usize % 3];
        let new = if round % 2 == 0 { "b" } else { "a" };
        let mut expected = place.files();
        let mut child = wharf(command(&place, &inputs[usize::from(new == "b")]));
        let child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_nanos(whole.as_nanos() as u64 / 3 + random.below(whole.as_nanos())));
        kill.send(signal, &child);
        let status = child.wait_with_output().unwrap().status;
        let is_done = status.code() == Some(0);
        assert!(is_done || status.signal() == Some(number), "{status:?}");
        if number != 9 {
            let files = place.files();
            expected.retain(|name| files.contains(name));
            assert_eq!(files, expected, "{round}: {signal}");
        }
        for output in outputs {
            let path = place.name(output);
            // The checksums are renamed last, after the offsets.
            if ["offsets", "md5"].iter().any(|part| !place.path(&format!("{output}.{part}")).exists()) {
                assert!(number == 9, "a signal came between two steps");
                rebuilt += 1;
                run(["index", &path]).ok();
            }
            verifies(Path::new(&path));
            let ran = run(["cat", &path]);
            let is =
                |generation: &str| ran.out().lines().all(|line| line.contains(&format!("\"is\":\"{generation}\"")));
            assert!(is(new) || (!is_done && is(if new == "a" { "b" } else { "a" })), "{round}: a mixture");
        }
        assert_eq!(place.files().into_iter().filter(is_output).collect::<Vec<_>>(), all);
    }
    println!("{rebuilt} were rebuilt");
    run(command(&place, &inputs[0])).code();
    assert_eq!(place.files(), all);
}

#[test]
fn split_replaces_datasets_atomically() {
    datasets_are_replaced(&["p-0.msgpack", "p-1.msgpack"], |place, input| {
        ["split", "--parts", "2", input, "-o", &place.name("p-{}.msgpack"), "--force"].map(String::from).to_vec()
    });
}

#[test]
fn shuffle_replaces_a_dataset_atomically() {
    datasets_are_replaced(&["p.msgpack"], |place, input| {
        ["shuffle", "--seed", "1", input, &place.name("p.msgpack"), "--force"].map(String::from).to_vec()
    });
}

#[test]
fn refuses_to_replace_a_locked_store() {
    let place = TestFolder::new();
    let archive = place.archive("a", 1);
    let target = place.name("s");
    run(["unpack", &archive, &target]).ok();
    let writer = zdx::StoreWriter::open(&target, zdx::WriterOptions::default()).unwrap();
    let ran = run(["unpack", &archive, &target, "--force"]);
    assert_eq!((ran.code(), ran.out()), (1, ""));
    let detail = format!("another writer holds the lock: process {} on ", std::process::id());
    assert!(ran.err().contains(&detail), "{}", ran.err());
    writer.finish().unwrap();
    run(["unpack", &archive, &target, "--force"]).ok();
    assert_eq!(place.files(), ["a.zds", "s"]);
}

/// The second writer is refused or waits: documents and index are never from different writers.
#[test]
fn concurrent_put_and_replacement_leave_a_valid_store() {
    let place = TestFolder::new();
    let archive = place.archive("a", 1);
    let (target, more) = (place.name("s"), place.path("more.jsonl"));
    run(["unpack", &archive, &target]).ok();
    let lines: String = (0..300).map(|n| format!("{{\"_id\":\"{n}\",\"text\":\"{}\"}}\n", "x".repeat(n))).collect();
    fs::write(&more, lines).unwrap();
    let (mut done, mut refused) = (0, 0);
    for _ in 0..rounds(8) {
        let put = wharf(["put", &target, more.to_str().unwrap()]);
        let unpack = wharf(["unpack", &archive, &target, "--force"]);
        let children =
            [put, unpack].map(|mut verb| verb.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        for child in children {
            let ran = Ran(child.wait_with_output().unwrap());
            match ran.code() {
                0 => done += 1,
                _ => {
                    refused += 1;
                    let is_known = ["another writer holds the lock", "moved or replaced while it was open for writing"];
                    assert!(is_known.iter().any(|known| ran.err().contains(known)), "{}", ran.err());
                }
            }
        }
        verifies(Path::new(&target));
        assert_eq!(place.files(), ["a.zds", "more.jsonl", "s"]);
    }
    println!("{done} done, {refused} refused");
    assert!(done >= rounds(8), "one of two goes on");
}

/// Runs the command with resource limits set by a shell.
fn limited(limit: &str, arguments: &[&str]) -> Ran {
    let script = format!("{limit}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_wharf")]).args(arguments).stdin(Stdio::null());
    Ran(command.output().unwrap())
}

#[test]
fn file_size_limit_is_an_error() {
    let place = TestFolder::new();
    let text = place.name("t.jsonl");
    fs::write(&text, format!("{{\"_id\":\"a\",\"x\":\"{}\"}}\n", "x".repeat(100_000))).unwrap();
    for (to, more) in [
        ("t.parquet", ["--to", "parquet"]),
        ("t.zds", ["--to", "zds"]),
        ("s", ["--to", "zds"]),
        ("t.msgpack", ["--key", "_id"]),
    ] {
        let ran = limited("ulimit -f 8", &[&["convert", &text, &place.name(to)][..], &more].concat());
        assert_eq!(ran.0.status.code(), Some(1), "{to}: {:?}", ran.0);
        assert!(ran.err().contains("File too large (os error 27)"), "{to}: {}", ran.err());
        assert_eq!(place.files(), ["t.jsonl"], "{to}");
    }
}

#[test]
fn too_many_open_files_is_an_error_without_leftovers() {
    let place = TestFolder::new();
    let archive = place.archive("a", 60);
    let dataset = samples(&place, "d");
    let all = place.files();
    let mut failed = 0;
    for limit in [4, 5, 6, 8, 11, 15, 21] {
        for arguments in [
            &["unpack", &archive, &place.name("s")][..],
            &["merge", &archive, "-o", &place.name("s")],
            &["split", "--parts", "5", &dataset, "-o", &place.name("p-{}.msgpack")],
        ] {
            let ran = limited(&format!("ulimit -n {limit}"), arguments);
            if ran.0.status.code() == Some(0) {
                for name in place.files() {
                    let path = place.path(&name);
                    match path.is_dir() {
                        true => fs::remove_dir_all(path).unwrap(),
                        false if all.contains(&name) => {}
                        false => fs::remove_file(path).unwrap(),
                    }
                }
                continue;
            }
            failed += 1;
            let is_said = ran.err().contains("Too many open files") || ran.err().contains("shared librar");
            assert!(is_said, "{limit} {arguments:?}: {:?}", ran.0);
            assert_eq!(place.files(), all, "{limit} {arguments:?}: {}", ran.err());
        }
    }
    assert!(failed > 5, "{failed}");
}

/// As with `nohup`, and `&` in a script.
#[test]
fn ignored_signal_stays_ignored() {
    let place = TestFolder::new();
    let archive = place.archive("a", 40);
    let target = place.name("s");
    let mut kill = Kill::new();
    for ignored in ["HUP", "INT"] {
        let script = format!("trap '' {ignored}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_wharf"), "unpack", &archive, &target, "--force"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        while child.try_wait().unwrap().is_none() && place.files().len() < if ignored == "HUP" { 2 } else { 3 } {
            thread::sleep(Duration::from_micros(100));
        }
        kill.send(ignored, &child);
        assert_eq!(child.wait().unwrap().code(), Some(0), "{ignored}");
    }
    assert_eq!(place.files(), ["a.zds", "s"]);
}
