//! Every single step of one long story fails once.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{options, read, recover};
use crate::StoreWriter;
use crate::write::disk::Hook;

#[test]
fn a_failed_write_ends_it_and_says_so() {
    for through in [0, 1, 5] {
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
            let mut with_hook = options();
            with_hook.hook = Hook::new(move |_, bytes| match counter.fetch_add(1, Ordering::SeqCst) == at {
                true if through == 0 || bytes == 0 => Err(std::io::Error::other("injected")),
                true => Ok(bytes.min(through)),
                false => Ok(bytes),
            });
            let store = StoreWriter::open(root, with_hook).unwrap();
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
                    assert!(text.contains("a write failed before: the collection has to be opened anew"), "{text}");
                }
            }
            drop((writer, store));
            let after = read(root);
            assert!(after.contains_key("kept"));
            match &flushed {
                Ok(()) => assert!(after.contains_key("new") && !after.contains_key("gone")),
                // Deleted, then put: the second only with the first.
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
