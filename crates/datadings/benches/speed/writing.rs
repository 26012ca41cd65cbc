//! Measurements of writing and verifying, and of MD5 alone, which limits both.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use container_core::VerifyOptions;
use datadings::{Writer, WriterOptions};

use super::reading::mapped;

use crate::Clock;
use crate::md5_stream::Md5;
use crate::samples::{self, Blob, LARGE, Large, TINY, Tiny};

/// Writes into a separate folder, so that file names equal those of the input.
fn write(clock: &Clock<'_>, name: &str, mut put: impl FnMut(&mut Writer)) {
    let folder = clock.path("ours");
    let path = folder.join(name);
    for _ in 0..clock.repeat {
        // Remove old files first: replacing one would include freeing its memory.
        std::fs::create_dir(&folder).unwrap();
        let begin = Instant::now();
        let mut writer = Writer::create(&path, WriterOptions::default()).unwrap();
        put(&mut writer);
        writer.finish().unwrap();
        let seconds = begin.elapsed().as_secs_f64();
        clock.took(seconds, sums(&path));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

/// The text of `.md5`: the sums of five files.
fn sums(path: &Path) -> String {
    std::fs::read_to_string(format!("{}.md5", path.display())).unwrap()
}

pub(crate) fn tiny(clock: &Clock<'_>) {
    let count = mapped(clock.path(TINY)).len();
    let keys: Vec<String> = (0..count).map(samples::key).collect();
    write(clock, TINY, |writer| {
        for (index, key) in (0..).zip(&keys) {
            writer.append(&Tiny { key, label: samples::label(index) }).unwrap();
        }
    });
}

pub(crate) fn large(clock: &Clock<'_>) {
    let count = mapped(clock.path(LARGE)).len();
    let keys: Vec<String> = (0..count).map(samples::key).collect();
    let images = samples::images();
    write(clock, LARGE, |writer| {
        for ((index, key), image) in (0..).zip(&keys).zip(images.iter().cycle()) {
            writer.append(&Large { key, image: Blob(image), label: samples::label(index) }).unwrap();
        }
    });
}

/// This crate's MD5 of the data that `large` writes, in memory.
pub(crate) fn md5_stream(clock: &Clock<'_>) {
    let data = std::fs::read(clock.path(LARGE)).unwrap();
    clock.time(|| Md5::hex(&Md5::digest(&data)));
}

/// The system's `md5sum`.
pub(crate) fn md5sum(clock: &Clock<'_>) {
    for name in [LARGE, TINY] {
        for _ in 0..clock.repeat {
            let begin = Instant::now();
            let output = Command::new("md5sum").arg(clock.path(name)).output().unwrap();
            let seconds = begin.elapsed().as_secs_f64();
            let text = String::from_utf8(output.stdout).unwrap();
            let sum = text.split(' ').next().unwrap();
            let stem = name.split('.').next().unwrap();
            println!(
                "{}",
                serde_json::json!({"work": format!("{} {stem}", clock.work), "seconds": seconds, "result": sum})
            );
        }
    }
}

pub(crate) fn verify_large(clock: &Clock<'_>) {
    verify(clock, LARGE);
}

pub(crate) fn verify_tiny(clock: &Clock<'_>) {
    verify(clock, TINY);
}

/// Verifies data and index completely. There must be no findings; the result is the number of samples.
fn verify(clock: &Clock<'_>, name: &str) {
    let path = clock.path(name);
    clock.time(|| {
        let reader = mapped(&path);
        reader.verify(&VerifyOptions::default(), &mut |finding| panic!("{}: {finding:?}", path.display())).unwrap();
        reader.len()
    });
}
