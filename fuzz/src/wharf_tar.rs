//! Tar archives of samples: arbitrary bytes, and members that choices describe.

use container_core::{Container, Input, Limits, OpenOptions, Scan, Source, VerifyOptions};
use wharf::Registry;

use crate::choices::Choices;

/// Maximum number of members.
const MEMBERS: usize = 12;

/// Names of members: samples of several files, hidden ones, folders, and what is no name.
const NAMES: [&[u8]; 10] = [
    b"a.jpg",
    b"a.cls",
    b"b/a.tar.gz",
    b"b/a",
    b".hidden",
    b"",
    b"../x.txt",
    b"\xff.bin",
    b"c/",
    b"long.long.long.long",
];

/// Types of entries: files, links, folders, long names, PAX records.
const KINDS: [u8; 8] = *b"0\x005LKxgS";

/// If the first byte is 0, an archive follows; else choices of members do.
pub fn wharf_tar(data: &[u8]) {
    let Some((how, rest)) = data.split_first() else { return };
    let bytes = if *how == 0 { rest.to_vec() } else { archive(&mut Choices::new(rest)) };
    let limits = Limits::default().with_block_bytes(1 << 20);
    let input = Input::Stream(Source::from(bytes));
    let registry = Registry::builtin();
    let Some(format) = registry.formats().iter().find(|format| format.name() == "tar") else { return };
    let container = match format.open(&input, &OpenOptions::default().with_limits(limits)) {
        Ok(container) => container,
        Err(error) => return assert_eq!(error.format(), Some("tar")),
    };
    let _ = container.details();
    container.verify(&VerifyOptions::default(), &mut |_| ()).unwrap();
    read(&*container);
}

/// Rows and batches have the same samples, which are found by their keys.
fn read(container: &dyn Container) {
    for table in container.tables() {
        let len = table.len().unwrap();
        let (mut shown, mut line) = (0, Vec::new());
        let mut rows = table.rows(&Scan::default()).unwrap();
        while let Ok(true) = rows.advance() {
            line.clear();
            rows.json(&mut line).unwrap();
            let row: serde_json::Value = serde_json::from_slice(&line).unwrap();
            let key = row["key"].as_str().unwrap();
            assert_eq!(table.find(key).unwrap(), Some(shown), "{key:?}");
            shown += 1;
        }
        assert_eq!(shown, len);
        let batches = table.arrow().unwrap().batches(&Scan::default().into()).unwrap();
        assert_eq!(batches.map(|batch| batch.unwrap().num_rows() as u64).sum::<u64>(), len);
    }
}

/// An archive with valid checksums.
fn archive(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..choices.word() as usize % MEMBERS {
        let mut pick = |count: usize| choices.word() as usize % count;
        let (name, kind) = (NAMES[pick(NAMES.len())], KINDS[pick(KINDS.len())]);
        let (len, declared) = (pick(700), pick(8));
        let content: Vec<u8> = match kind {
            b'x' | b'g' => pax(pick(6), pick(2000)),
            _ => (0..len).map(|_| b"a\0=1\n"[pick(5)]).collect(),
        };
        // Sizes that are not those of the content, some beyond the archive.
        let size = match declared {
            0 => content.len() as u64 + pick(1000) as u64,
            1 => u64::MAX >> pick(64),
            _ => content.len() as u64,
        };
        out.extend(header(name, kind, size, pick(2) == 1));
        out.extend(&content);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 512 * (choices.word() as usize % 3), 0);
    out
}

/// A PAX record, some with a length that is not its own.
fn pax(key: usize, len: usize) -> Vec<u8> {
    let key = ["path", "size", "GNU.sparse.size", "linkpath", "", "comment"][key];
    let value = "1".repeat(len % 40);
    format!("{} {key}={value}\n", len % 60).into_bytes()
}

/// A header of 512 bytes. With `binary`, sizes are in the notation of GNU.
fn header(name: &[u8], kind: u8, size: u64, binary: bool) -> [u8; 512] {
    let mut header = [0u8; 512];
    header[..name.len()].copy_from_slice(name);
    header[100..108].copy_from_slice(b"0000644\0");
    if binary || size >= 1 << 33 {
        header[124] = 0x80;
        header[128..136].copy_from_slice(&size.to_be_bytes());
    } else {
        header[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    }
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar\x0000");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}
