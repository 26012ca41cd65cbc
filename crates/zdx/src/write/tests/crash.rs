//! Fails each step of a long sequence of changes once.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use container_core::Source;

use super::{options, read, recover};
use crate::write::disk::{Disk, Hook};
use crate::{LoadOptions, StoreWriter};

#[test]
fn failed_write_stops_the_writer() {
    for bytes_written in [0, 1, 5] {
        let mut failed = 0;
        for at in 0.. {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path();
            let store = StoreWriter::open(root, options()).unwrap();
            let mut writer = store.collection("c").unwrap();
            writer.put("kept", &serde_json::json!({"n": 0})).unwrap();
            writer.put("gone", &serde_json::json!({"n": 1})).unwrap();
            writer.finish().unwrap();
            store.finish().unwrap();
            let before = read(root);

            let steps = Arc::new(AtomicU64::new(0));
            let counter = Arc::clone(&steps);
            let mut options_with_hook = options();
            options_with_hook.hook = Hook::new(move |_, bytes| match counter.fetch_add(1, Ordering::SeqCst) == at {
                true if bytes_written == 0 || bytes == 0 => Err(std::io::Error::other("injected")),
                true => Ok(bytes.min(bytes_written)),
                false => Ok(bytes),
            });
            let store = StoreWriter::open(root, options_with_hook).unwrap();
            let mut writer = store.collection("c").unwrap();
            writer.delete("gone").unwrap();
            writer.put("new", &serde_json::json!({"text": "x".repeat(100)})).unwrap();
            let flushed = writer.flush();
            if let Err(error) = &flushed {
                failed += 1;
                assert!(error.to_string().starts_with("zds: "), "{error}");
                for error in [
                    writer.put("other", &serde_json::json!({})).unwrap_err(),
                    writer.delete("kept").unwrap_err(),
                    writer.flush().unwrap_err(),
                    writer.compact().map(drop).unwrap_err(),
                    writer.put_line(b"{\"_id\":\"x\"}").map(drop).unwrap_err(),
                ] {
                    let text = error.to_string();
                    assert!(text.contains("a write failed before: reopen the collection"), "{text}");
                }
            }
            drop((writer, store));
            let after = read(root);
            assert!(after.contains_key("kept"));
            match &flushed {
                Ok(()) => assert!(after.contains_key("new") && !after.contains_key("gone")),
                // Deleted, then put: never the second change without the first.
                Err(_) => assert!(after == before || !after.contains_key("gone")),
            }
            assert_eq!(recover(root), after);
            let left = fs::read_dir(root.join("collections/c/meta")).unwrap().count();
            assert_eq!(left, 3, "data, index and manifest alone");
            if flushed.is_ok() && steps.load(Ordering::SeqCst) <= at {
                break;
            }
        }
        assert!(failed >= 8, "{failed}");
    }
}

#[test]
fn failed_load_puts_nothing() {
    let lines: Vec<String> = (0..200).map(|n| format!("{{\"_id\":\"doc-{}\",\"n\":{n}}}\n", n % 150)).collect();
    let text = lines.concat();
    for (threads, bytes_written) in
        [1, 4].into_iter().flat_map(|threads| [0, 1, 1000].map(|bytes_written| (threads, bytes_written)))
    {
        let mut failed = 0;
        for (has_changes, at) in [false, true].into_iter().flat_map(|has| (0..20).map(move |at| (has, at))) {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path();
            StoreWriter::open(root, options()).unwrap().collection("c").unwrap().finish().unwrap();
            // Without a line feed at its end: adding one is a step of its own.
            fs::write(root.join("collections/c/meta/data.jsonl"), "{\"_id\":\"before\"}").unwrap();
            let steps = Arc::new(AtomicU64::new(0));
            let counter = Arc::clone(&steps);
            let store = StoreWriter::open(root, options()).unwrap();
            let mut writer = store.collection("c").unwrap();
            writer.flush().unwrap();
            if has_changes {
                writer.put("change", &serde_json::json!({})).unwrap();
                writer.drain().unwrap();
            }
            let before = read(root);
            writer.disk = Disk::new(
                Hook::new(move |_, bytes| match counter.fetch_add(1, Ordering::SeqCst) == at {
                    true if bytes <= bytes_written => Err(std::io::Error::other("injected")),
                    true => Ok(bytes_written),
                    false => Ok(bytes),
                }),
                container_core::SyncPolicy::Never,
            );
            let source = Source::from(text.clone().into_bytes());
            let loaded = writer.load(&source, &LoadOptions::default().with_threads(threads));
            let mut whole = before.clone();
            for (n, line) in lines.iter().enumerate() {
                whole.insert(format!("doc-{}", n % 150), line.trim_end().to_owned());
            }
            if let Err(error) = &loaded {
                failed += 1;
                assert!(error.to_string().contains("cannot write the "), "{error}");
                // The load was rolled back, and can be repeated.
                assert_eq!(read(root), before);
                let _ = writer.load(&source, &LoadOptions::default()).unwrap();
            }
            assert_eq!(read(root), whole);
            drop((writer, store));
            let store = StoreWriter::open(root, options()).unwrap();
            store.collection("c").unwrap().finish().unwrap();
            drop(store);
            assert_eq!(read(root), whole);
        }
        assert!(failed >= 6, "{failed}");
    }
}
