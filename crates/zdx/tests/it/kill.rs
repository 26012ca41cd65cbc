//! The writer killed at any moment, in the middle of whatever it does: what was flushed is there, what was deleted and flushed is not, of
//! what came later there is the beginning, of what was loaded at once all or nothing, and every store opens.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use container_core::Source;
use serde_json::json;
use zdx::{CollectionWriter, Durability, LoadOptions, Store, StoreWriter, WriterOptions};

const PATH: &str = "ZDX_KILL_PATH";
const SEED: &str = "ZDX_KILL_SEED";

/// Number of ids that are put, deleted and put again.
const IDS: u32 = 400;

/// A linear congruential generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(limit)) as u32
    }
}

/// What the writer does next. Determined by the seed, so that the test can tell at which point it was killed.
#[derive(Debug, Clone, Copy)]
enum Step {
    Put(u32),
    Delete(u32),
    Load(u32),
    Flush,
    Compact,
}

fn step(random: &mut Random) -> Step {
    match random.below(1000) {
        0..=599 => Step::Put(random.below(IDS)),
        600..=969 => Step::Delete(random.below(IDS)),
        970..=989 => Step::Load(random.below(IDS)),
        990..=997 => Step::Flush,
        _ => Step::Compact,
    }
}

fn text(number: u64) -> String {
    format!("{number}-{}", "x".repeat((number % 6007) as usize))
}

/// Documents by id: the number of the step that put each.
type Model = BTreeMap<String, u64>;

fn name(id: u32) -> String {
    format!("id-{}", id % IDS)
}

fn apply(model: &mut Model, step: Step, number: u64) {
    match step {
        Step::Put(id) => model.extend([(name(id), number)]),
        Step::Delete(id) => model.retain(|other, _| *other != name(id)),
        Step::Load(id) => model.extend((id..id + 50).map(|id| (name(id), number))),
        Step::Flush | Step::Compact => {}
    }
}

fn act(writer: &mut CollectionWriter, step: Step, number: u64) {
    match step {
        Step::Put(id) => writer.put(&name(id), &json!({"n": number, "text": text(number)})).unwrap(),
        Step::Delete(id) => {
            let _ = writer.delete(&name(id)).unwrap();
        }
        Step::Load(id) => {
            let line = |id| json!({"_id": name(id), "n": number, "text": text(number)}).to_string() + "\n";
            let lines: String = (id..id + 50).map(line).collect();
            let _ = writer.load(&Source::from(lines.into_bytes()), &LoadOptions::default()).unwrap();
        }
        Step::Flush => writer.flush().unwrap(),
        Step::Compact => {
            let _ = writer.compact().unwrap();
        }
    }
}

fn options(seed: u64) -> WriterOptions {
    // Syncing is slow and makes no difference if only the process is killed: occasionally is enough.
    let durability = [Durability::None, Durability::None, Durability::Flush][(seed % 3) as usize];
    WriterOptions::default().with_durability(durability).with_threads(2)
}

/// Not a test by itself: the process to be killed. It prints what it has flushed.
#[test]
fn child_process() {
    let Some(path) = std::env::var_os(PATH).map(PathBuf::from) else { return };
    let seed: u64 = std::env::var(SEED).unwrap().parse().unwrap();
    let root = StoreWriter::open(&path, options(seed)).unwrap();
    let mut writer = root.collection("c").unwrap();
    let mut random = Random(seed);
    let mut log = fs::File::options().append(true).create(true).open(path.with_extension("flushed")).unwrap();
    for number in 1.. {
        let step = step(&mut random);
        act(&mut writer, step, number);
        if matches!(step, Step::Flush | Step::Compact) {
            log.write_all(&number.to_le_bytes()).unwrap();
        }
    }
}

fn read(root: &Path) -> Model {
    // Created by the first change.
    if !root.join("collections/c").exists() {
        return Model::new();
    }
    let collection = Store::open(root).unwrap().collection("c").unwrap();
    let mut model = Model::new();
    for document in collection.documents().unwrap() {
        let document = document.unwrap();
        let value = document.value().unwrap();
        let number = value["n"].as_u64().unwrap();
        assert_eq!(value["text"], text(number));
        assert!(model.insert(document.id().to_owned(), number).is_none());
    }
    model
}

/// Kills a writer after some time and checks what is left; returns whether a repair was necessary.
fn killed(seed: u64, micros: u64) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child_process"])
        .env(PATH, &path)
        .env(SEED, seed.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // The clock starts once the child has.
    while !path.with_extension("flushed").exists() {
        assert!(child.try_wait().unwrap().is_none(), "the child ended by itself");
        std::thread::sleep(Duration::from_micros(200));
    }
    std::thread::sleep(Duration::from_micros(micros));
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9), "the child ended by itself");

    let log = fs::read(path.with_extension("flushed")).unwrap();
    let flushed = log.chunks_exact(8).last().map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
    let found = read(&path);
    // Its lock has been released.
    let root = StoreWriter::open(&path, options(seed)).unwrap();
    let writer = root.collection("c").unwrap();
    let was_broken_off = !writer.recovered().notes().is_empty();
    assert_eq!(writer.len(), found.len() as u64);
    drop(writer);
    drop(root);
    assert_eq!(read(&path), found);

    // The store is in a state at or after the last flush.
    let mut random = Random(seed);
    let mut model = Model::new();
    let mut number = 0;
    loop {
        if number >= flushed && model == found {
            return was_broken_off;
        }
        number += 1;
        let step = step(&mut random);
        apply(&mut model, step, number);
        assert!(number < flushed + 5000, "seed {seed}: the store is in no state at or after step {flushed}");
    }
}

fn many(times: u64) {
    let mut random = Random(20_261_121);
    let mut broken_off = 0;
    for seed in 0..times {
        let micros = u64::from(random.below(30_000));
        broken_off += u64::from(killed(seed, micros));
    }
    // The number depends on the machine's load.
    assert!(broken_off * 20 > times, "{broken_off} of {times} were killed with something open");
}

#[test]
fn survives_being_killed_at_any_moment() {
    many(200);
}
