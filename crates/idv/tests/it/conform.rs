//! The conformance kit over golden and forged files.

use std::fs;
use std::path::Path;

use container_core::testkit::{
    cases, ends_after_error, every_bit_flip_is_handled, every_prefix_fails, every_source_agrees,
};
use container_core::{Container, Result, Scan, Source, Table as _};
use idv::{IdvContainer, OpenOptions, Reader};
use serde_json::json;

use crate::support;
use crate::support::cells::{Cell, Item, Kind, vector_block};
use crate::support::forge::{Codec, DEFLATE, Forge, Meta, NONE, ZLIB};
use crate::support::table::{Table, TableColumn};
use crate::support::{golden, open, read_all};

/// A file with something of everything, in this version.
fn everything(last: u64, compression: u8) -> Forge {
    let text = |text: &str| Cell::Text(text.to_owned());
    let int = |x: i128| Cell::Int(x);
    let missing = if last <= 5 { Cell::Missing } else { text("none") };
    let columns: Vec<(&str, Kind, u64, Vec<Cell>)> = vec![
        ("number", Kind::Item(Item::Int16), 2, vec![int(-1), int(2), int(30_000)]),
        ("text", Kind::Item(Item::Text), 2, vec![text("a"), missing, text("é😀")]),
        ("bool", Kind::Item(Item::DvBool), 2, vec![Cell::Bool(true), Cell::Missing, Cell::Bool(false)]),
        ("key", Kind::Item(Item::Key2(2, 3)), 2, vec![Cell::Key(0), Cell::Key(1), Cell::Key(3)]),
        ("time", Kind::Item(Item::DateTimeOffset), 2, vec![Cell::Zoned(5, 60), Cell::Missing, Cell::Zoned(0, 0)]),
        (
            "vector",
            Kind::Vector(Item::Single, vec![0]),
            2,
            vec![Cell::Dense(vec![Cell::Single(7)]), Cell::Sparse(9, vec![(4, Cell::Single(8))]), Cell::Dense(vec![])],
        ),
    ];
    let columns = columns
        .into_iter()
        .map(|(name, kind, per_block, cells)| TableColumn::new(name, kind, compression, per_block, cells))
        .collect();
    let mut forge = Table::new(last, columns).forge();
    let labels = Cell::Dense(vec![text("x"), text("y"), text("z")]);
    let texts = Kind::Vector(Item::Text, vec![3]);
    forge.columns[3].metadata = vec![
        Meta::new("KeyValues", texts.codec(), compression, texts.encode(&[labels])),
        Meta::new("IsNormalized", Codec::plain("Boolean"), NONE, vec![1]),
    ];
    forge.columns[5].slot_names = vec![(0, b"zero".to_vec()), (7, b"seven".to_vec())];
    forge
}

fn ignore(outcome: Result<Vec<String>>) -> Result<()> {
    outcome.map(|_| ())
}

fn forged() -> Vec<(String, Vec<u8>)> {
    let kinds = [(6, NONE), (6, DEFLATE), (5, ZLIB), (4, NONE), (3, DEFLATE), (2, NONE), (1, ZLIB)];
    kinds
        .map(|(last, compression)| (format!("1.1.1.{last} {compression}"), everything(last, compression).bytes()))
        .into()
}

#[test]
fn reads_every_type_in_every_version() {
    for (name, bytes) in forged() {
        let lines = read_all(Source::from(bytes)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(lines.len() >= 10, "{name}: {lines:?}");
    }
}

/// What is in a file, as JSON lines: version, types and metadata, then the rows.
fn dump(source: Source) -> String {
    let container = IdvContainer::new(Reader::from_source(source, OpenOptions::default()).unwrap());
    let columns = container.columns().iter().enumerate().map(|(index, column)| {
        let metadata = container.column_details(index).unwrap().remove("metadata");
        json!({"name": column.name, "type": column.kind, "codec": container.column_summary(index)["codec"], "metadata": metadata})
    });
    let mut lines = json!({"version": container.version(), "columns": columns.collect::<Vec<_>>()}).to_string() + "\n";
    let mut rows = container.reader().rows(&Scan::default()).unwrap();
    while let Some(row) = rows.try_next().unwrap() {
        lines += &serde_json::to_string(&row).unwrap();
        lines.push('\n');
    }
    lines
}

/// Files of the versions that nothing writes any more, as committed, and what is read in them. With `FORGE_OLDER` set they
/// are written anew.
#[test]
fn older_files_match_recorded_values() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/idv-older");
    let kinds = [(1, ZLIB, "zlib"), (2, NONE, "none"), (3, DEFLATE, "deflate"), (4, NONE, "none"), (5, ZLIB, "zlib")];
    for (last, compression, name) in kinds {
        let path = directory.join(format!("version-{last}-{name}.idv"));
        let expected = path.with_extension("expected.jsonl");
        let forged = everything(last, compression).bytes();
        if std::env::var_os("FORGE_OLDER").is_some() {
            fs::write(&path, &forged).unwrap();
            fs::write(&expected, dump(Source::from(forged.clone()))).unwrap();
        }
        // The order of members depends on how the JSON library is built.
        let parse = |lines: String| -> Vec<serde_json::Value> {
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        };
        let expected = parse(fs::read_to_string(&expected).unwrap());
        assert_eq!(parse(dump(Source::open(&path).unwrap())), expected, "{}", path.display());
        // Whatever compression makes of it today.
        assert_eq!(parse(dump(Source::from(forged))), expected, "{}", path.display());
    }
}

#[test]
fn rejects_every_prefix_of_a_forged_file() {
    for (_, bytes) in forged() {
        every_prefix_fails(&bytes, |bytes| ignore(read_all(Source::from(bytes.to_vec()))));
    }
}

#[test]
fn rejects_every_prefix_of_a_golden_file() {
    for path in golden() {
        let bytes = fs::read(&path).unwrap();
        every_prefix_fails(&bytes, |bytes| open(bytes).map(|_| ()));
    }
}

/// A flipped bit has no effect (padding, a value, a name) or is detected. The numbers are pinned so that a check that
/// is lost shows.
#[test]
fn flipped_bits_in_a_forged_file_do_not_panic() {
    let mut found = Vec::new();
    for (name, bytes) in forged() {
        let readable = every_bit_flip_is_handled(&bytes, |bytes| ignore(read_all(Source::from(bytes.to_vec()))));
        // The undefined bytes of the header may hold anything.
        found.push((name, bytes.len() * 8, readable - 204 * 8));
    }
    // What compression makes of the same table is not for ever the same.
    assert!(found.iter().all(|(_, bits, readable)| *readable > 0 && readable * 3 < *bits), "{found:?}");
    found.retain(|(name, ..)| name.ends_with(" 0"));
    let found: Vec<(&str, usize)> = found.iter().map(|(name, _, readable)| (name.as_str(), *readable)).collect();
    assert_eq!(found, [("1.1.1.6 0", 1121), ("1.1.1.4 0", 1091), ("1.1.1.2 0", 1079)]);
}

#[test]
fn flipped_bits_in_a_golden_file_do_not_panic() {
    for path in golden() {
        let bytes = fs::read(&path).unwrap();
        // The larger ones have no more kinds of parts than the smaller ones.
        if bytes.len() < cases(500, 1000) {
            every_bit_flip_is_handled(&bytes, |bytes| ignore(read_all(Source::from(bytes.to_vec()))));
        }
    }
}

#[test]
fn all_sources_agree() {
    for path in golden() {
        every_source_agrees(&fs::read(&path).unwrap(), read_all);
    }
    for (_, bytes) in forged() {
        every_source_agrees(&bytes, read_all);
        // Damaged, the error is the same too.
        let mut damaged = bytes.clone();
        let middle = 256 + (bytes.len() - 256) / 2;
        damaged[middle] ^= 0x55;
        every_source_agrees(&damaged, read_all);
        every_source_agrees(&bytes[..bytes.len() - 1], read_all);
    }
}

/// A column of ten blocks, of which one is damaged.
fn damaged(hurt: usize) -> Reader {
    let mut forge = Forge::new(6, 30);
    let cells = (0..30).map(Cell::Int).collect();
    forge.columns = vec![TableColumn::new("n", Kind::Item(Item::Byte), DEFLATE, 3, cells).forge()];
    let file = forge.build();
    let mut bytes = file.bytes.clone();
    bytes[file.columns[0].blocks[hurt].clone()].fill(0xFF);
    open(bytes).unwrap()
}

#[test]
fn scans_end_after_an_error() {
    for threads in [1, 0, 2] {
        for hurt in [0, 4, 9] {
            let reader = damaged(hurt);
            let scan = Scan::default().with_threads(threads);
            let mut rows = reader.rows(&scan).unwrap();
            ends_after_error(std::iter::from_fn(|| rows.advance().map(|there| there.then_some(())).transpose()));
            let mut rows = reader.rows(&scan).unwrap();
            ends_after_error(std::iter::from_fn(|| rows.try_next().map(|row| row.map(|_| ())).transpose()));
            let mut batches = reader.batches(&scan).unwrap();
            ends_after_error(std::iter::from_fn(|| batches.try_next().map(|batch| batch.map(|_| ())).transpose()));
            // Everything before the damage was given.
            let mut rows = reader.rows(&scan).unwrap();
            let mut next = 0;
            while let Ok(true) = rows.advance() {
                assert_eq!(rows.current().unwrap().get(0), Some(idv::Value::Byte(next)));
                next += 1;
            }
            assert_eq!(usize::from(next), hurt * 3);
        }
    }
}

#[test]
fn items_outlive_the_handle() {
    let bytes = everything(6, NONE).bytes();
    let reader = open(bytes.clone()).unwrap();
    let block = reader.block_bytes(0, 0).unwrap();
    let metadata = reader.metadata(3).unwrap();
    let labels = reader.labels(3).unwrap().unwrap();
    let mut rows = reader.rows(&Scan::default()).unwrap();
    let mut batches = reader.batches(&Scan::default()).unwrap();
    let clone = reader.clone();
    drop(reader);
    assert_eq!(block[..], [0xFF, 0xFF, 2, 0]);
    assert_eq!(labels.get(1), Some(idv::Value::Text("y")));
    assert_eq!((metadata[0].kind(), rows.try_next().unwrap().unwrap().len()), ("KeyValues", 6));
    assert_eq!(batches.try_next().unwrap().unwrap().row_count(), 2);
    assert_eq!(clone.metadata_value(3, &metadata[1]).unwrap(), idv::Values::Boolean(vec![true]));
    drop(clone);
    assert!(rows.advance().unwrap() && rows.advance().unwrap() && !rows.advance().unwrap());
}

/// An uncompressed block of a source in memory is that memory.
#[test]
fn uncompressed_bytes_are_zero_copy() {
    let source = Source::from(everything(6, NONE).bytes());
    let all = source.read(0..source.len()).unwrap();
    let reader = Reader::from_source(source, OpenOptions::default()).unwrap();
    let block = reader.block_bytes(0, 0).unwrap();
    assert!(all.as_ptr_range().contains(&block.as_ptr()));
}

/// Many threads, one reader.
#[test]
fn threads_can_read_concurrently() {
    let reader = open(everything(6, DEFLATE).bytes()).unwrap();
    let one = read_all(reader.source().clone()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert_eq!(read_all(reader.source().clone()).unwrap(), one);
                    let mut rows = reader.rows(&Scan::default()).unwrap();
                    while rows.advance().unwrap() {}
                }
            });
        }
    });
}

/// A vector block that is all of one length and of unknown size is written without lengths: both ways read alike.
#[test]
fn equal_lengths_have_two_encodings() {
    let codec = Codec::vector(&Codec::plain("Byte"), &[0]);
    let read = |raw: Vec<u8>| {
        let column = support::forge::Column::new("v", codec.clone(), NONE, 2).block(raw);
        let mut lines = read_all(Source::from(Forge::new(6, 2).column(column).bytes())).unwrap();
        lines.remove(0);
        lines
    };
    let short = read(vector_block(2, 2, &[], &[-1, -1], 0, &[], &[1, 2, 3, 4]));
    assert_eq!(short, read(vector_block(2, 0, &[2, 2], &[-1, -1], 0, &[], &[1, 2, 3, 4])));
}
