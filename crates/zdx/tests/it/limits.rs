//! Lines above the limit are errors everywhere, detected before they cost anything.

use std::fs;

use container_core::{Access, Container, ErrorKind, Limits, OpenOptions, VerifyOptions};
use zdx::archive::{Compression, PackOptions, pack};
use zdx::{Durability, Store, StoreWriter, WriterOptions, ZdsContainer};

const LIMIT: u64 = 20_000;

fn options(access: Access) -> OpenOptions {
    OpenOptions::default().with_access(access).with_limits(Limits::default().with_block_bytes(LIMIT))
}

fn is_limit(error: &zdx::Error) -> bool {
    error.kind() == ErrorKind::Limit { asked: LIMIT + 1, limit: LIMIT } && error.detail() == "the length of a line"
}

#[test]
fn long_lines_are_errors_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("s");
    let store = StoreWriter::open(&root, WriterOptions::default().with_durability(Durability::None)).unwrap();
    let mut writer = store.collection("c").unwrap();
    let line = |id: &str, length: u64| {
        let frame = format!("{{\"_id\":\"{id}\",\"x\":\"\"}}\n").len() as u64;
        format!("{{\"_id\":\"{id}\",\"x\":\"{}\"}}\n", "x".repeat((length - frame) as usize))
    };
    for (id, length) in [("a", 100), ("just", LIMIT), ("long", LIMIT + 1), ("z", 100)] {
        writer.put_line(line(id, length).as_bytes()).unwrap();
    }
    writer.finish().unwrap();
    store.finish().unwrap();
    for (name, compression) in [("stored.zds", Compression::Store), ("deflated.zds", Compression::Deflate(6))] {
        pack(&root, folder.path().join(name), &PackOptions::default().with_compression(compression)).unwrap();
    }
    for name in ["s", "stored.zds", "deflated.zds"] {
        for access in [container_core::testkit::mapped(), Access::Positional] {
            let what = format!("{name} {access:?}");
            let store = Store::open_with(folder.path().join(name), options(access)).unwrap();
            let collection = match store.collection("c") {
                // Decompression stops after a line above the limit.
                Err(error) => {
                    assert!(
                        name == "deflated.zds" && matches!(error.kind(), ErrorKind::Limit { limit: LIMIT, .. }),
                        "{what}: {error}"
                    );
                    continue;
                }
                Ok(collection) => collection,
            };
            assert_eq!(collection.get("just").unwrap().unwrap().bytes().len() as u64, LIMIT - 1, "{what}");
            for _ in 0..3 {
                assert!(is_limit(&collection.get("long").map(drop).unwrap_err()), "{what}");
            }
            assert!(collection.get_many(["a", "long"]).nth(1).unwrap().is_err_and(|error| is_limit(&error)), "{what}");
            let found: Vec<_> = collection.documents().unwrap().collect();
            assert!(found.len() == 3 && found[2].as_ref().is_err_and(is_limit), "{what}");
            assert!(collection.document(2).is_err_and(|error| is_limit(&error)), "{what}");
            let container = ZdsContainer::new(store, &options(access)).unwrap();
            let mut findings = Vec::new();
            let verified =
                container.verify(&VerifyOptions::default(), &mut |finding| findings.push(finding.error.to_string()));
            let text = format!("{findings:?} {verified:?}");
            assert!(
                text.contains(&format!("the length of a line {} exceeds the limit {LIMIT}", LIMIT + 1)),
                "{what}: {text}"
            );
        }
    }
    // Without an index, even without a line feed: it does not count as torn, and is not cut off.
    fs::remove_file(root.join("collections/c/meta/index.bin")).unwrap();
    let data = root.join("collections/c/meta/data.jsonl");
    let text = fs::read_to_string(&data).unwrap();
    for text in [text.clone(), line("a", 100) + line("long", LIMIT + 2).trim_end()] {
        fs::write(&data, &text).unwrap();
        for access in [container_core::testkit::mapped(), Access::Positional] {
            let collection = Store::open_with(&root, options(access)).unwrap().collection("c").unwrap();
            let error = collection.condition().unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Limit { limit: LIMIT, .. }), "{error}");
            assert!(error.position().byte.is_some(), "{error}");
            assert!(collection.len().is_err() && collection.get("a").is_err() && collection.documents().is_err());
        }
    }
}
