//! A reader opened before a fork works in both processes.
//!
//! A separate program: forking is sound only while no other test runs in the process.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "test code fails by panicking")]

#[path = "it/set/mod.rs"]
mod set;

use container_core::{Access, OpenOptions};
use datadings::{Reader, Writer};
use set::options;

const ROWS: u64 = 20_000;

mod forking {
    #![allow(unsafe_code, reason = "fork and what ends a process without running its destructors twice")]

    /// Runs `work` in a child and in this process at once; returns whether both returned true.
    pub(crate) fn in_both(work: impl Fn(u64) -> bool) -> (bool, bool) {
        // SAFETY: the child calls nothing but `work` and `_exit`. Between a fork and `_exit` a process that has several threads may
        // do only what takes no lock that another thread may hold. The test harness has such threads: this test's file has no other
        // test, so they wait; and the allocator of the C library, which `work` uses, is made ready by its own handlers of fork.
        let child = unsafe { libc::fork() };
        assert!(child >= 0, "fork failed");
        if child == 0 {
            let right = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(1))).unwrap_or(false);
            // SAFETY: ends the process at once and touches nothing.
            unsafe { libc::_exit(i32::from(!right)) };
        }
        let mine = work(2);
        let mut status = 0;
        // SAFETY: waits for the child made above; `status` is a valid place for the result.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(waited, child);
        (libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, mine)
    }
}

fn key(row: u64) -> String {
    format!("{row:08}")
}

/// Reads samples all over the dataset, by index and by key, in an order given by `seed`.
fn reads_correctly(reader: &Reader, seed: u64) -> bool {
    let mut state = seed;
    (0..20_000).all(|n| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let row = (state >> 33) % ROWS;
        let sample = match n % 2 {
            0 => reader.get(row).unwrap(),
            _ => reader.get_key(&key(row)).unwrap().unwrap(),
        };
        sample.index() == row
            && sample.key().unwrap() == key(row)
            && sample.field("x").unwrap().u64().unwrap() == row
            && !reader.contains("missing").unwrap()
    })
}

#[test]
fn both_processes_read_correctly() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    let mut writer = Writer::create(&path, options()).unwrap();
    for row in 0..ROWS {
        let mut message = b"\x82\xa3key\xa8".to_vec();
        message.extend(key(row).bytes());
        message.extend(b"\xa1x\xce");
        message.extend(u32::try_from(row).unwrap().to_be_bytes());
        writer.append_message(&message).unwrap();
    }
    writer.finish().unwrap();
    for access in [container_core::testkit::mapped(), Access::Positional] {
        for looked_up_before in [0, 2, 10] {
            let reader = Reader::open_with(&path, OpenOptions::default().with_access(access)).unwrap();
            for row in 0..looked_up_before {
                assert_eq!(reader.find(&key(row)).unwrap(), Some(row));
            }
            let mut samples = reader.iter();
            assert_eq!(samples.nth(99).unwrap().unwrap().key().unwrap(), key(99));
            let (theirs, mine) = forking::in_both(|seed| {
                let goes_on =
                    samples.clone().take(50).zip(100..).all(|(sample, row)| sample.unwrap().key().unwrap() == key(row));
                goes_on && reads_correctly(&reader, seed)
            });
            assert!(theirs, "the child reads wrong: {access:?}, {looked_up_before} look-ups before");
            assert!(mine, "the parent reads wrong: {access:?}, {looked_up_before} look-ups before");
        }
    }
}
