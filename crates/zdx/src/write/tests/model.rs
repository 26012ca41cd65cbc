//! Random operations: whatever a crash leaves is one of the previous states.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::{Documents, check_tidy, copy, options, read, recover};
use crate::journal::{IndexMark, Journal};
use crate::read::table::Table;
use crate::write::disk::Hook;
use crate::{Durability, StoreWriter};

#[derive(Debug, Clone)]
enum Op {
    Put(u8, u16),
    PutLine(u8, u16),
    Delete(u8),
    Load(u8, u16),
    Begin,
    RollBack,
    Drain,
    Flush,
    Reopen,
    Compact,
    Drop,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..12u8, any::<u16>()).prop_map(|(id, n)| Op::Put(id, n)),
        3 => (0..12u8, any::<u16>()).prop_map(|(id, n)| Op::PutLine(id, n)),
        6 => (0..12u8).prop_map(Op::Delete),
        2 => (0..12u8, any::<u16>()).prop_map(|(id, n)| Op::Load(id, n)),
        2 => Just(Op::Begin),
        1 => Just(Op::RollBack),
        3 => Just(Op::Drain),
        2 => Just(Op::Flush),
        1 => Just(Op::Reopen),
        1 => Just(Op::Compact),
        1 => Just(Op::Drop),
    ]
}

/// The states that readers may see at any moment.
#[derive(Debug)]
struct Expectations {
    root: PathBuf,
    /// All states since the last flush, including the flushed one.
    states: Vec<Documents>,
    steps: u64,
    failing: Option<(u64, usize)>,
}

impl Expectations {
    /// Checks a copy of the files in their current state.
    fn check(&self, what: &str) {
        let other = tempfile::tempdir().unwrap();
        let target = other.path().join("copy");
        copy(&self.root, &target);
        let found = read(&target);
        assert!(self.states.contains(&found), "{what}: {found:?} is none of {:?}", self.states);
        // Remove or falsify modification times: they only matter while the data end in dead lines and there is no journal of this
        // index, which is briefly so before the data are emptied or repaired.
        let meta = target.join("collections/c/meta");
        let journal = fs::read(meta.join("wharf.journal")).ok();
        let journal = journal.and_then(|bytes| Journal::parse(&bytes, 0).unwrap());
        let index = fs::read(meta.join("index.bin")).ok();
        let is_current = journal.is_some_and(|journal| journal.header.index == index.as_deref().map(IndexMark::of));
        let lines_end = index.map_or(0, |index| Table::build(index.into(), 1).unwrap().stats.lines_end);
        if is_current || lines_end == fs::metadata(meta.join("data.jsonl")).unwrap().len() {
            for (index, data) in [(0, 60), (60, 0)] {
                for (name, age) in [("index.bin", index), ("data.jsonl", data)] {
                    if let Ok(file) = fs::File::options().write(true).open(meta.join(name)) {
                        file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
                    }
                }
                let other = read(&target);
                assert_eq!(other, found, "{what}");
            }
        }
        assert_eq!(recover(&target), found, "{what}");
    }
}

fn hook(expectations: &Arc<Mutex<Expectations>>) -> Hook {
    let expectations = Arc::clone(expectations);
    Hook::new(move |step, bytes| {
        let mut expectations = expectations.lock().unwrap();
        expectations.steps += 1;
        if let Some((at, bytes_written)) = expectations.failing
            && expectations.steps >= at
        {
            if expectations.steps == at {
                return match bytes_written.min(bytes) {
                    0 => Err(std::io::Error::other("injected")),
                    some => Ok(some),
                };
            }
            return Err(std::io::Error::other("injected"));
        }
        if fs::exists(expectations.root.join("collections/c/meta/data.jsonl")).unwrap() {
            expectations.check(step);
        }
        Ok(bytes)
    })
}

/// Runs the operations; false if an injected failure stopped them.
fn run(root: &Path, ops: &[Op], failing: Option<(u64, usize)>, durability: Durability) -> (bool, u64) {
    let expectations =
        Arc::new(Mutex::new(Expectations { root: root.to_owned(), states: vec![Documents::new()], steps: 0, failing }));
    let mut options_with_hook = options().with_durability(durability);
    options_with_hook.hook = hook(&expectations);
    let open = || -> crate::Result<_> {
        let store = StoreWriter::open(root, options_with_hook.clone())?;
        let writer = store.collection("c")?;
        Ok((store, writer))
    };
    let result = (|| -> crate::Result<()> {
        let (mut store, mut writer) = open()?;
        let mut model = Documents::new();
        // The state before the transaction.
        let mut before_transaction = None;
        let push = |model: &Documents| expectations.lock().unwrap().states.push(model.clone());
        let flushed = |model: &Documents| expectations.lock().unwrap().states = vec![model.clone()];
        for op in ops {
            let changed = |model: &Documents| {
                if before_transaction.is_none() {
                    push(model)
                }
            };
            match op {
                Op::Load(id, n) => {
                    let ids = [*id, id + 1, id + 2].map(|id| format!("id-{}", id % 12));
                    let lines = ids.each_ref().map(|id| format!("{{\"_id\":\"{id}\",\"n\":{n}}}"));
                    let mut next = model.clone();
                    next.extend(ids.into_iter().zip(lines.clone()));
                    changed(&next);
                    let source = container_core::Source::from((lines.join("\n") + "\n").into_bytes());
                    let _ = writer.load(&source, &crate::LoadOptions::default())?;
                    model = next;
                }
                Op::Begin if before_transaction.is_none() => {
                    writer.begin()?;
                    before_transaction = Some(model.clone());
                }
                Op::RollBack if before_transaction.is_some() => {
                    writer.roll_back()?;
                    model = before_transaction.take().unwrap();
                }
                Op::Begin | Op::RollBack => {}
                Op::Put(id, n) => {
                    let id = format!("id-{id}");
                    let mut next = model.clone();
                    next.insert(id.clone(), format!("{{\"_id\":\"{id}\",\"n\":{n}}}"));
                    changed(&next);
                    writer.put(&id, &serde_json::json!({ "n": n }))?;
                    model = next;
                }
                Op::PutLine(id, n) => {
                    let id = format!("id-{id}");
                    let line = format!("{{\"text\":\"{}\",\"_id\":\"{id}\"}}", "x".repeat(usize::from(*n % 50)));
                    let mut next = model.clone();
                    next.insert(id.clone(), line.clone());
                    changed(&next);
                    assert_eq!(writer.put_line(line.as_bytes())?, id);
                    model = next;
                }
                Op::Delete(id) => {
                    let id = format!("id-{id}");
                    let mut next = model.clone();
                    let existed = next.remove(&id).is_some();
                    changed(&next);
                    assert_eq!(writer.delete(&id)?, existed);
                    model = next;
                }
                Op::Drain => {
                    let drained = writer.drain();
                    writer.roll_back_on_error(drained)?;
                }
                Op::Flush => {
                    push(&model);
                    before_transaction = None;
                    writer.flush()?;
                    flushed(&model);
                    assert_eq!(read(root), model);
                    check_tidy(root);
                }
                Op::Reopen => {
                    push(&model);
                    before_transaction = None;
                    writer.finish()?;
                    store.finish()?;
                    flushed(&model);
                    assert_eq!(read(root), model);
                    (store, writer) = open()?;
                }
                Op::Compact => {
                    push(&model);
                    before_transaction = None;
                    writer.compact()?;
                    flushed(&model);
                    assert_eq!(read(root), model);
                    check_tidy(root);
                    let lines: usize = model.values().map(|line| line.len() + 1).sum();
                    assert_eq!(fs::metadata(root.join("collections/c/meta/data.jsonl")).unwrap().len(), lines as u64);
                }
                Op::Drop => {
                    before_transaction = None;
                    drop((writer, store));
                    // A collection is not created before its first change.
                    let exists = root.join("collections/c").exists();
                    let remaining = if exists { read(root) } else { Documents::new() };
                    assert!(expectations.lock().unwrap().states.contains(&remaining));
                    (store, writer) = open()?;
                    flushed(&remaining);
                    model = remaining;
                }
            }
            assert_eq!(writer.len(), model.len() as u64);
            for (id, line) in &model {
                assert_eq!(writer.get(id)?.unwrap(), line.as_bytes());
            }
        }
        push(&model);
        writer.finish()?;
        flushed(&model);
        assert_eq!(read(root), model);
        store.finish()
    })();
    let mut expectations = expectations.lock().unwrap();
    expectations.failing = None;
    if fs::exists(root.join("collections/c/meta/data.jsonl")).unwrap() {
        expectations.check("the end");
    }
    if let Err(error) = &result {
        assert!(failing.is_some(), "{error}");
    }
    (result.is_ok(), expectations.steps)
}

#[test]
fn rolls_back_after_an_interrupted_deletion() {
    let folder = tempfile::tempdir().unwrap();
    let ops = [Op::Put(11, 1), Op::Delete(11), Op::Drop, Op::Begin, Op::PutLine(2, 7310), Op::Drop];
    assert!(run(folder.path(), &ops, None, Durability::EveryPut).0);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn crash_leaves_an_earlier_state(ops in prop::collection::vec(op(), 0..40), durability in 0..2u8) {
        let folder = tempfile::tempdir().unwrap();
        let durability = if durability == 0 { Durability::None } else { Durability::EveryPut };
        prop_assert!(run(folder.path(), &ops, None, durability).0);
    }

    #[test]
    fn failed_write_leaves_an_earlier_state(ops in prop::collection::vec(op(), 0..25), at in 1..60u64, bytes_written in 0..40usize) {
        let folder = tempfile::tempdir().unwrap();
        run(folder.path(), &ops, Some((at, bytes_written)), Durability::None);
    }
}
