//! Several datasets as one.

use std::path::{Path, PathBuf};

use container_core::{Access, OpenOptions};
use datadings::{Reader, Shards, Writer};

use crate::set::{self, options, sample};

/// Datasets with these numbers of samples, and the keys a00, a01, ... b00, ...
fn make(folder: &Path, counts: &[usize]) -> Vec<PathBuf> {
    let each = |(shard, count): (usize, &usize)| {
        let path = folder.join(format!("s-{shard}.msgpack"));
        let mut writer = Writer::create(&path, options()).unwrap();
        for n in 0..*count {
            writer.append_message(&sample(&format!("{}{n:02}", char::from(b'a' + shard as u8)), n as u8)).unwrap();
        }
        writer.finish().unwrap();
        path
    };
    counts.iter().enumerate().map(each).collect()
}

#[test]
fn shards_act_as_one_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let paths = make(folder.path(), &[0, 3, 0, 0, 2, 1, 0]);
    for access in [container_core::testkit::mapped(), Access::Auto, Access::Positional] {
        let shards = Shards::open_with(&paths, OpenOptions::default().with_access(access)).unwrap();
        let keys = ["b00", "b01", "b02", "e00", "e01", "f00"];
        assert_eq!((shards.len(), shards.is_empty(), shards.readers().len()), (6, false, 7));
        let places: Vec<_> = (0..7).map(|index| shards.shard_of(index)).collect();
        let expected = [Some((1, 0)), Some((1, 1)), Some((1, 2)), Some((4, 0)), Some((4, 1)), Some((5, 0)), None];
        assert_eq!(places, expected);
        for (index, key) in (0..).zip(keys) {
            assert_eq!(shards.key(index).unwrap(), key);
            assert_eq!(shards.get(index).unwrap().key().unwrap(), key);
            assert_eq!(shards.find(key).unwrap(), Some(index));
            assert!(shards.contains(key).unwrap());
            assert_eq!(shards.get_key(key).unwrap().unwrap().key().unwrap(), key);
        }
        assert_eq!(shards.find("x").unwrap(), None);
        assert!(!shards.contains("x").unwrap() && shards.get_key("x").unwrap().is_none());
        for start in 0..=6usize {
            for end in start..=7 {
                let range = start as u64..end as u64;
                let expected = &keys[start..end.min(6)];
                let samples: Vec<String> =
                    shards.samples(range.clone()).unwrap().map(|s| s.unwrap().key().unwrap().to_owned()).collect();
                assert_eq!(samples, expected);
                assert_eq!(shards.samples(range.clone()).unwrap().size_hint(), (expected.len(), Some(expected.len())));
                let listed: Vec<String> =
                    shards.keys(range.clone()).unwrap().map(|k| k.unwrap().into_owned()).collect();
                assert_eq!(listed, expected);
                for n in 0..4 {
                    let mut samples = shards.samples(range.clone()).unwrap();
                    samples.next();
                    let found = samples.nth(n).map(|sample| sample.unwrap().key().unwrap().to_owned());
                    assert_eq!(found.as_deref(), expected.get(n + 1).copied());
                    assert_eq!(samples.size_hint().0, expected.len().saturating_sub(n + 2));
                }
            }
        }
        assert_eq!((&shards).into_iter().count(), 6);
    }
}

#[test]
fn rejects_rows_out_of_range() {
    let folder = tempfile::tempdir().unwrap();
    let paths = make(folder.path(), &[1, 0]);
    let shards = Shards::open(&paths).unwrap();
    let error = shards.get(1).unwrap_err();
    assert_eq!(error.to_string(), "datadings: row 1 is out of range: the datasets have 1 sample");
    let error = shards.samples(2..3).unwrap_err();
    assert_eq!(error.to_string(), "datadings: row 2 is out of range: the datasets have 1 sample");
    #[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
    let error = shards.samples(1..0).unwrap_err();
    assert_eq!(error.to_string(), "datadings: row range ends at 0 before it starts at 1");
    assert!(Shards::open([folder.path().join("none")]).is_err());
    let none = Shards::open::<&str>([]).unwrap();
    assert!(none.is_empty() && none.iter().next().is_none() && none.find("a").unwrap().is_none());
}

#[test]
fn reports_keys_in_several_shards() {
    let folder = tempfile::tempdir().unwrap();
    let paths = make(folder.path(), &[2, 2, 2]);
    let readers = [0, 1, 0, 2, 1].map(|shard: usize| Reader::open(&paths[shard]).unwrap());
    let shards = Shards::from_readers(readers.into()).unwrap();
    assert_eq!(shards.find("a01").unwrap(), Some(1));
    let mut found = Vec::new();
    let name = format!("{}/", folder.path().display());
    shards.duplicate_keys(&mut |finding| found.push(finding.error.to_string().replace(&name, ""))).unwrap();
    assert_eq!(
        found,
        [
            r#"datadings: s-0.msgpack: duplicate key, first in sample 0 of dataset 0 (row 0, key "a00")"#,
            r#"datadings: s-0.msgpack: duplicate key, first in sample 1 of dataset 0 (row 1, key "a01")"#,
            r#"datadings: s-1.msgpack: duplicate key, first in sample 0 of dataset 1 (row 0, key "b00")"#,
            r#"datadings: s-1.msgpack: duplicate key, first in sample 1 of dataset 1 (row 1, key "b01")"#,
        ]
    );
}

#[cfg(feature = "glob")]
#[test]
fn glob_sorts_names_like_python() {
    let folder = tempfile::tempdir().unwrap();
    let made = make(folder.path(), &[1, 1, 1, 1]);
    for (from, to) in made.iter().zip(["t-9", "t-10", "T-1", ".t-0"]) {
        for suffix in ["", ".offsets", ".keys", ".key_hashes", ".filter", ".md5"] {
            let from = format!("{}{suffix}", from.display());
            std::fs::rename(from, folder.path().join(format!("{to}.msgpack{suffix}"))).unwrap();
        }
    }
    let shards = Shards::glob(&format!("{}/*.msgpack", folder.path().display()), OpenOptions::default()).unwrap();
    let keys: Vec<_> = (0..shards.len()).map(|index| shards.key(index).unwrap()).collect();
    assert_eq!(keys, ["c00", "b00", "a00"]); // T-1, t-10, t-9
    // Companion files are not datasets of their own.
    let all = Shards::glob(&format!("{}/t*", folder.path().display()), OpenOptions::default()).unwrap();
    assert_eq!(all.len(), 2);
    let pattern = format!("{}/x*", folder.path().display());
    let error = Shards::glob(&pattern, OpenOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), format!("datadings: no file matches {pattern:?}"));
    let error = Shards::glob("[", OpenOptions::default()).unwrap_err();
    assert!(error.to_string().starts_with(r#"datadings: invalid pattern "[""#), "{error}");
}

#[test]
fn keys_end_after_an_error() {
    let set = set::Set::of(&[("a", sample("a", 1)), ("b", b"\x81\xa1x\x01".to_vec()), ("c", sample("c", 1))]);
    std::fs::remove_file(set.part(datadings::Part::Keys)).unwrap();
    let shards = Shards::open([&set.path, &set.path]).unwrap();
    let mut keys = shards.keys(0..6).unwrap();
    assert_eq!(keys.next().unwrap().unwrap(), "a");
    assert!(keys.next().unwrap().is_err());
    assert!(keys.next().is_none() && keys.next().is_none());
}
