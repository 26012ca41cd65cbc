//! Kills the writer at random moments: there is the old dataset, the new one, or data whose index can be rebuilt; never a mixture that
//! opens.
//!
//! A killed process leaves temporary files, `.wharf-*.tmp`, which no reader opens.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use container_core::SyncPolicy;
use datadings::{Reader, RebuildOptions, Writer, rebuild_index};

use crate::set::{findings, options};

const PATH: &str = "DATADINGS_CRASH_PATH";
const HOW: &str = "DATADINGS_CRASH_HOW";

/// Samples per generation.
const ROWS: u64 = 3000;

/// `{"key": "generation-row", "x": generation as bytes}`
fn put(writer: &mut Writer, generation: u64, row: u64) {
    let key = format!("{generation:06}-{row:06}");
    let mut message = b"\x82\xa3key\xad".to_vec();
    message.extend(key.bytes());
    message.extend(b"\xa1x\xc5\x01\x00");
    message.extend([generation as u8; 256]);
    writer.append_message(&message).unwrap();
}

fn write(path: &Path, generation: u64) {
    let mut writer = Writer::create(path, options()).unwrap();
    (0..ROWS).for_each(|row| put(&mut writer, generation, row));
    writer.finish().unwrap();
}

/// Appends a third of a generation.
fn append(path: &Path, generation: u64) {
    let mut writer = Writer::append_to(path, options()).unwrap();
    (0..ROWS / 3).for_each(|row| put(&mut writer, generation, row));
    writer.finish().unwrap();
}

fn generation_of(reader: &Reader, row: u64) -> u64 {
    let key = reader.key(row).unwrap();
    key.split('-').next().unwrap().parse().unwrap()
}

/// Not a test by itself: the process to be killed.
#[test]
fn the_child_writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(PATH).map(PathBuf::from) else { return };
    let grows = std::env::var(HOW).unwrap() == "append";
    let reader = Reader::open(&path).unwrap();
    let first = generation_of(&reader, reader.len() - 1) + 1;
    drop(reader);
    for generation in first.. {
        match grows {
            // Bounded, so that verification stays fast.
            true if generation % 20 != 0 => append(&path, generation),
            _ => write(&path, generation),
        }
    }
}

/// Checks a dataset after its writer was killed; returns its last generation, and whether it had to be rebuilt.
fn sound(path: &Path, grows: bool) -> (u64, bool) {
    let mut rebuilt = false;
    let reader = match Reader::open(path) {
        Ok(reader) => reader,
        Err(error) => {
            assert!(error.to_string().contains("no index"), "{error}");
            let options = RebuildOptions::default().with_sync(SyncPolicy::Never);
            rebuild_index(path, &options).unwrap_or_else(|error| panic!("{error}"));
            rebuilt = true;
            Reader::open(path).unwrap()
        }
    };
    let found: Vec<String> = findings(&reader, 2)
        .into_iter()
        // The sums are put in place last: a dataset without them is complete.
        .filter(|text| !text.ends_with("d.msgpack.md5: missing file"))
        // A killed append leaves trailing bytes, which change the sum of the data.
        .filter(|text| {
            !(grows
                && (text.contains("trailing bytes after the last sample")
                    || text.contains("d.msgpack: MD5 sum: expected")))
        })
        .collect();
    assert_eq!(found, [""; 0]);
    let mut row = 0;
    let mut last = None;
    while row < reader.len() {
        let generation = generation_of(&reader, row);
        assert!(last.is_none_or(|last| generation == last + 1), "{generation} after {last:?}");
        assert!(grows || last.is_none(), "a mixture of generations");
        let count = if last.is_none() { ROWS } else { ROWS / 3 };
        for n in 0..count {
            let sample = reader.get(row + n).unwrap();
            assert_eq!(sample.key().unwrap(), format!("{generation:06}-{n:06}"));
            assert_eq!(sample.field("x").unwrap().bin().unwrap(), [generation as u8; 256]);
        }
        row += count;
        last = Some(generation);
    }
    (last.unwrap(), rebuilt)
}

fn killed_at_any_moment(how: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    let start = Instant::now();
    write(&path, 0);
    let whole = start.elapsed();
    let (mut before, mut newer, mut broken_off) = (0, 0, 0);
    // Pseudorandom delays from a linear congruential generator.
    let mut state = 20_261_121_u32;
    // On a busy machine it takes more rounds until both outcomes have occurred.
    for round in 0..300 {
        if round >= 15 && newer > 0 && broken_off > 0 {
            break;
        }
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::the_child_writes_until_it_is_killed"])
            .env(PATH, &path)
            .env(HOW, how)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Adapts to the speed of the machine.
        std::thread::sleep(Duration::from_millis(20) + whole.mul_f64(f64::from(state >> 16) / 16384.0));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9), "the child ended by itself");
        let (generation, _) = sound(&path, how == "append");
        assert!(generation >= before, "generation {generation} after {before}");
        newer += u32::from(generation > before);
        before = generation;
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let other = entry.unwrap().path();
            let name = other.file_name().unwrap().to_str().unwrap().to_owned();
            if name.starts_with("d.msgpack") {
                continue;
            }
            assert!(name.starts_with(".wharf-") && name.ends_with(".tmp"), "{name} is left over");
            broken_off += 1;
            std::fs::remove_file(other).unwrap();
        }
        if how == "append" {
            // Leftovers are included or truncated before the next append.
            let rebuilt =
                rebuild_index(&path, &RebuildOptions::default().with_sync(SyncPolicy::Never).with_truncate(true));
            rebuilt.unwrap_or_else(|error| panic!("{error}"));
            let reader = Reader::open(&path).unwrap();
            assert_eq!(findings(&reader, 2), [""; 0]);
            // An incomplete generation is written anew.
            write(&path, before);
        }
    }
    assert!(newer > 0 && broken_off > 0, "{newer} times there was a new one, {broken_off} times half of one");
}

#[test]
fn killed_while_writing_anew() {
    killed_at_any_moment("write");
}

#[test]
fn killed_while_appending() {
    killed_at_any_moment("append");
}
