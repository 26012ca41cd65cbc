//! Measures decoding of samples from memory, on one thread.
//!
//! ```text
//! cargo bench -p datadings --bench decode -- [--samples N] [--repeat N]
//! ```
//!
//! All methods must compute the same sum of labels. Prints millions of samples per second, the best of the repetitions.

// A benchmark may panic: its user reads the message.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a failing benchmark should stop")]

use std::hint::black_box;
use std::time::Instant;

use container_core::Limits;
use datadings::ser::extend;
use datadings::{RawValue, json};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Tiny<'a> {
    key: &'a str,
    label: u32,
}

#[derive(Serialize, Deserialize)]
struct Picture<'a> {
    key: &'a str,
    image: Bytes<'a>,
    label: u32,
}

struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Bytes<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&[u8]>::deserialize(deserializer).map(Self)
    }
}

struct Samples {
    data: Vec<u8>,
    offsets: Vec<usize>,
    sum: u64,
}

impl Samples {
    fn make(count: usize, write: impl Fn(&mut Vec<u8>, &str, u32)) -> Self {
        let mut made = Self { data: Vec::new(), offsets: vec![0], sum: 0 };
        for i in 0..count {
            let label = u32::try_from(i * 7919 % 1000).unwrap();
            write(&mut made.data, &format!("train/{i:08}"), label);
            made.offsets.push(made.data.len());
            made.sum += u64::from(label);
        }
        made
    }

    fn run(&self, name: &str, repeat: usize, label: impl Fn(RawValue<'_>) -> u64) {
        let best = (0..repeat)
            .map(|_| {
                let start = Instant::now();
                let mut sum = 0;
                for pair in self.offsets.windows(2) {
                    let &[from, to] = pair else { continue };
                    sum += label(black_box(RawValue::at(self.data.get(from..to).unwrap(), from as u64)));
                }
                assert_eq!(sum, self.sum, "{name}");
                start.elapsed().as_secs_f64()
            })
            .fold(f64::INFINITY, f64::min);
        let count = self.offsets.len() - 1;
        println!("{name:<40} {:8.1} M/s", 1e-6 * f64::from(u32::try_from(count).unwrap()) / best);
    }
}

fn option(name: &str, default: usize) -> usize {
    let mut args = std::env::args().skip_while(|arg| arg != name).skip(1);
    args.next().map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}: expected a number")))
}

fn main() {
    let (count, repeat) = (option("--samples", 200_000), option("--repeat", 7));
    let tiny = Samples::make(count, |out, key, label| extend(out, &Tiny { key, label }).unwrap());
    tiny.run("tiny: one field", repeat, |raw| raw.get("label").unwrap().unwrap().u64().unwrap());
    tiny.run("tiny: into a struct", repeat, |raw| raw.decode::<Tiny<'_>>().unwrap().label.into());
    tiny.run("tiny: dynamic value", repeat, |raw| {
        let value = raw.value().unwrap();
        let rmpv::ValueRef::Map(pairs) = value else { panic!("expected a map") };
        let label = pairs.last().and_then(|(_, label)| label.as_u64());
        label.unwrap()
    });
    tiny.run("tiny: as JSON", repeat, |raw| {
        let mut out = Vec::with_capacity(128);
        json::write(raw, &mut out, &Limits::default()).unwrap();
        black_box(&out);
        raw.get("label").unwrap().unwrap().u64().unwrap()
    });

    let bytes = vec![0xab; 10_000];
    let image = Bytes(&bytes);
    let pictures = Samples::make(count / 20, |out, key, label| {
        extend(out, &Picture { key, image: Bytes(image.0), label }).unwrap();
    });
    pictures.run("10 KB image: one field", repeat, |raw| raw.get("label").unwrap().unwrap().u64().unwrap());
    pictures.run("10 KB image: into a struct", repeat, |raw| {
        let picture: Picture<'_> = raw.decode().unwrap();
        black_box(picture.image.0);
        picture.label.into()
    });
    pictures.run("10 KB image: as JSON", repeat, |raw| {
        let mut out = Vec::new();
        json::write(raw, &mut out, &Limits::default()).unwrap();
        black_box(&out);
        raw.get("label").unwrap().unwrap().u64().unwrap()
    });
}
