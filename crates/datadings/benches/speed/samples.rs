//! The samples written and read; the reference script creates the same.

use std::path::Path;

use container_core::{OutputOptions, SyncPolicy};
use datadings::{Writer, WriterOptions};
use serde::{Deserialize, Serialize};

/// Bytes per image.
pub(crate) const IMAGE: usize = 10_000;

/// Number of different images.
pub(crate) const IMAGES: u64 = 64;

pub(crate) const TINY: &str = "tiny.msgpack";
pub(crate) const LARGE: &str = "large.msgpack";
pub(crate) const HUGE: &str = "huge.msgpack";

/// A sample of about 24 bytes.
#[derive(Serialize, Deserialize)]
pub(crate) struct Tiny<'a> {
    pub(crate) key: &'a str,
    pub(crate) label: u32,
}

/// A sample with an image.
#[derive(Serialize)]
pub(crate) struct Large<'a> {
    pub(crate) key: &'a str,
    pub(crate) image: Blob<'a>,
    pub(crate) label: u32,
}

/// Bytes, which serde would otherwise serialize as a list of numbers.
pub(crate) struct Blob<'a>(pub(crate) &'a [u8]);

impl Serialize for Blob<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

pub(crate) fn key(index: u64) -> String {
    format!("{index:08}")
}

pub(crate) fn label(index: u64) -> u32 {
    u32::try_from(index % 1000).unwrap()
}

pub(crate) fn images() -> Vec<Vec<u8>> {
    let byte = |image: u64, at: u64| u8::try_from((at * 2_654_435_761 + image * 40_503) >> 16 & 0xff).unwrap();
    (0..IMAGES).map(|image| (0..IMAGE as u64).map(|at| byte(image, at)).collect()).collect()
}

/// `count` numbers below `len` in random order.
pub(crate) fn shuffled(count: u64, len: u64) -> Vec<u64> {
    let mut state = 1u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % len
    };
    (0..count).map(next).collect()
}

/// Writes the three datasets.
pub(crate) fn make(directory: &Path, [tiny, large, huge]: [u64; 3]) {
    for (name, count) in [(TINY, tiny), (HUGE, huge)] {
        let mut writer = create(&directory.join(name));
        for index in 0..count {
            writer.append(&Tiny { key: &key(index), label: label(index) }).unwrap();
        }
        writer.finish().unwrap();
    }
    let (images, mut writer) = (images(), create(&directory.join(LARGE)));
    for index in 0..large {
        let image = Blob(&images[usize::try_from(index % IMAGES).unwrap()]);
        writer.append(&Large { key: &key(index), image, label: label(index) }).unwrap();
    }
    writer.finish().unwrap();
}

pub(crate) fn create(path: &Path) -> Writer {
    let options = WriterOptions::default().with_output(OutputOptions::default().with_sync(SyncPolicy::Never));
    Writer::create(path, options).unwrap()
}
