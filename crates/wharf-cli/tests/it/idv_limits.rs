//! Small IDV files that would need much memory: processed within limits, or refused. And files of which a part
//! is unreadable.

use std::fs;
use std::io::Write;

use tempfile::TempDir;

use crate::common::run;

/// A column of a file: name, codec, rows per block, a block and its declared decompressed size, and metadata.
struct Column {
    name: String,
    codec: Vec<u8>,
    /// If missing, the block of the previous column.
    block: Option<(Vec<u8>, usize)>,
    metadata: Option<(Vec<u8>, Vec<u8>)>,
}

impl Column {
    fn new(name: &str, codec: Vec<u8>, raw: &[u8]) -> Self {
        Self { name: name.to_owned(), codec, block: Some((deflated(raw), raw.len())), metadata: None }
    }
}

fn leb(mut value: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

fn text(text: &str) -> Vec<u8> {
    [&leb(text.len())[..], text.as_bytes()].concat()
}

fn codec(name: &str, parameters: &[u8]) -> Vec<u8> {
    [&text(name)[..], &leb(parameters.len()), parameters].concat()
}

/// The codec of a vector; 0 for a variable length.
fn vector(item: &[u8], length: i32) -> Vec<u8> {
    codec("VBuffer", &[item, &1i32.to_le_bytes(), &length.to_le_bytes()].concat())
}

fn numbers(all: &[i32]) -> Vec<u8> {
    all.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn deflated(raw: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(raw).unwrap();
    encoder.finish().unwrap()
}

/// A file with these columns, with one block each.
fn file(rows: u64, columns: &[Column]) -> Vec<u8> {
    let (mut out, mut toc, mut place) = (vec![0; 256], Vec::new(), (0, 0, 0));
    for column in columns {
        if let Some((packed, raw)) = &column.block {
            place = (out.len() as u64, packed.len() as u32, *raw as u32);
            out.extend(packed);
        }
        let lookup = out.len() as u64;
        out.extend([&place.0.to_le_bytes()[..], &place.1.to_le_bytes(), &place.2.to_le_bytes()].concat());
        let mut metadata = 0;
        if let Some((codec, packed)) = &column.metadata {
            let at = out.len() as u64;
            out.extend(packed);
            metadata = out.len() as u64;
            out.extend([&[1][..], &text("M"), codec, &[1], &at.to_le_bytes(), &leb(packed.len())].concat());
        }
        toc.extend([&text(&column.name)[..], &column.codec, &[1], &leb(rows as usize)].concat());
        toc.extend([lookup.to_le_bytes(), metadata.to_le_bytes()].concat());
    }
    let toc_at = out.len() as u64;
    out.extend(toc);
    let tail = out.len() as u64;
    out.extend(b"\0BVD\0LMC");
    let version = 0x0001_0001_0001_0006;
    let header: Vec<u8> = [0x0042_5644_004C_4D43, version, version, toc_at, tail, rows]
        .iter()
        .flat_map(|field: &u64| field.to_le_bytes())
        .collect();
    out[..48].copy_from_slice(&header);
    out[48..52].copy_from_slice(&(columns.len() as u32).to_le_bytes());
    out
}

struct Folder(TempDir);

impl Folder {
    fn with(bytes: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("in.idv"), bytes).unwrap();
        Self(folder)
    }

    /// Runs the command and returns the exit code, standard output and standard error. `@x` is a file of the folder.
    fn run(&self, line: &str) -> (i32, String, String) {
        let folder = format!("{}/", self.0.path().display());
        let ran = run(line.split(' ').map(|argument| argument.replace('@', &folder)));
        (ran.code(), ran.out().to_owned(), ran.err().replace(&folder, "@"))
    }
}

/// Outputs and their options.
const OUTPUTS: [&str; 6] = ["jsonl", "csv", "parquet", "ds", "zds", "msgpack --number"];

/// Many columns that share one block: reading a row is possible, converting all rows is refused.
#[test]
fn columns_that_share_a_block() {
    let raw = vec![0; 64 << 20];
    let mut columns = vec![Column::new("c0", codec("Int64", &[]), &raw)];
    columns.extend((1..20).map(|index| Column {
        name: format!("c{index}"),
        block: None,
        codec: codec("Int64", &[]),
        metadata: None,
    }));
    let bytes = file(8 << 20, &columns);
    assert!(bytes.len() < 512 << 10, "{} bytes", bytes.len());
    let folder = Folder::with(&bytes);
    let (code, out, _) = folder.run("cat @in.idv -n 2 --json");
    assert_eq!((code, out.lines().count()), (0, 2));
    assert_eq!(folder.run("info @in.idv").0, 0);
    for line in ["cat @in.idv", "convert @in.idv @out.jsonl", "convert @in.idv @out.idv"] {
        let (code, out, said) = folder.run(line);
        assert_eq!((code, out.as_str()), (1, ""), "{line}");
        assert!(
            said.starts_with("error: idv: @in.idv: memory for the decoded blocks of the same rows "),
            "{line}: {said}"
        );
        assert!(said.contains("exceeds the limit 402653184 (block 0, column \"c"), "{line}: {said}");
    }
}

#[test]
fn abbreviates_long_metadata() {
    let len = 20 << 20;
    let value = [numbers(&[1, len, -1, 0]), vec![7; len as usize]].concat();
    let mut column = Column::new("x", codec("Byte", &[]), &[1, 2, 3]);
    column.metadata = Some((vector(&codec("Byte", &[]), 0), deflated(&value)));
    let folder = Folder::with(&file(3, &[column]));
    let (code, out, said) = folder.run("info @in.idv");
    assert_eq!((code, said.as_str()), (0, ""));
    assert!(out.contains("[7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, …] (20,971,520 items)"), "{out}");
    let (code, out, _) = folder.run("info @in.idv --json");
    assert!(code == 0 && out.len() < 2000, "{out}");
    assert!(out.contains("\"M\":{\"$beginning\":{\"count\":20971520,\"value\":[7,7,"), "{out}");
    assert_eq!(folder.run("cat @in.idv --json").1, "{\"x\":1}\n{\"x\":2}\n{\"x\":3}\n");
}

/// Sparse vectors of a hundred million slots: refused, with position, by outputs that are dense.
#[test]
fn sparse_vectors_of_any_length() {
    let (rows, length) = (3, 100_000_000);
    let raw = [numbers(&[rows, length, 1, 1, 1, rows, 5, 6, 7]), numbers(&[0x3FC0_0000; 3])].concat();
    let folder = Folder::with(&file(3, &[Column::new("v", vector(&codec("Single", &[]), length), &raw)]));
    for output in OUTPUTS {
        let (code, _, said) = folder.run(&format!("convert @in.idv @out.{output}"));
        match output {
            // Outputs that keep sparse vectors.
            "jsonl" | "csv" | "zds" | "msgpack --number" => assert_eq!(code, 0, "{output}: {said}"),
            _ => {
                assert_eq!(code, 1, "{output}");
                assert!(said.contains("exceeds the limit ") && said.contains("column \"v\""), "{output}: {said}");
            }
        }
    }
    assert_eq!(folder.run("convert @in.idv @structs.parquet --sparse structs").0, 0);
}

/// A damaged row count puts the lookup table outside of the file and makes columns unreadable.
#[test]
fn rows_without_readable_columns() {
    let column = || Column::new("x", codec("Nothing", &[]), &[1, 2, 3]);
    let folder = Folder::with(&file(60_000, &[column()]));
    for output in OUTPUTS.into_iter().chain(["idv", "tsv", "arrow"]) {
        let (code, _, said) = folder.run(&format!("convert @in.idv @out.{output}"));
        assert_eq!(code, 1, "{output}: {said}");
        assert!(said.contains("none of 1 column can be read: unknown codec \"Nothing\""), "{output}: {said}");
        assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 1, "{output}");
    }
    for line in ["cat @in.idv", "cat @in.idv --csv", "cat @in.idv --pretty", "cat @in.idv -n 1"] {
        let (code, _, said) = folder.run(line);
        assert!(code == 1 && said.contains("can be read: "), "{line}: {said}");
    }
    assert_eq!(folder.run("info @in.idv").0, 0);
    // A table without columns can have rows, up to a limit.
    let (code, out, _) = Folder::with(&file(3, &[])).run("cat @in.idv --json");
    assert_eq!((code, out.as_str()), (0, "{}\n{}\n{}\n"));
    let (code, _, said) = Folder::with(&file(16_700_000, &[])).run("convert @in.idv @out.zds");
    assert!(code == 1 && said.contains("rows without a column to read 16700000 exceeds the limit 65536"), "{said}");
}

#[test]
fn reports_copied_values_that_verify_rejects() {
    let key = codec("Key2", &[&codec("Byte", &[])[..], &3u64.to_le_bytes()].concat());
    let folder = Folder::with(&file(5, &[Column::new("k", key, &[1, 2, 7, 3, 9])]));
    let (code, _, said) = folder.run("convert @in.idv @out.idv");
    assert_eq!(code, 3);
    assert!(
        said.contains("@in.idv: invalid value kept (key 7 is above its key count 3) (2 times, first row 2"),
        "{said}"
    );
    assert_eq!(folder.run("verify @out.idv").0, 1);
    // `merge` decodes blocks that it cannot copy, and reports the same.
    let (code, _, said) = folder.run("merge @in.idv @in.idv -o @merged.idv --rows-per-block 3");
    let text = "@in.idv: invalid value kept (key 7 is above its key count 3) (2 times, first row 2";
    assert!(code == 3 && said.matches(text).count() == 2, "{said}");
    assert_eq!(folder.run("verify @merged.idv").0, 1);
}
