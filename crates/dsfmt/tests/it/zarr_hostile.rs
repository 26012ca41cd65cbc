//! Damaged and hostile Zarr stores: errors, no panic, and memory within the limits.

use std::path::{Path, PathBuf};

use container_core::testkit::cases;
use container_core::{ErrorKind, Limits, OpenOptions};
use dsfmt::netcdf::{ReadOptions, Reader};
use dsfmt::{Region, Select, Selection, zarr};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::zarr::golden;

/// A store of one array `v`, with changed metadata and the given chunks.
fn store(change: impl FnOnce(&mut Value), chunks: &[(&str, &[u8])]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    std::fs::create_dir_all(path.join("v")).unwrap();
    std::fs::write(path.join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
    let mut metadata = json!({
        "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    });
    change(&mut metadata);
    std::fs::write(path.join("v/zarr.json"), metadata.to_string()).unwrap();
    for (name, bytes) in chunks {
        let chunk = path.join("v").join(name);
        std::fs::create_dir_all(chunk.parent().unwrap()).unwrap();
        std::fs::write(chunk, bytes).unwrap();
    }
    (folder, path)
}

fn read(path: &Path) -> container_core::Result<Vec<i32>> {
    let reader = zarr::open(path, OpenOptions::default().with_limits(Limits::default().with_block_bytes(1 << 20)))?;
    let variable = reader.variable("v")?;
    let array = reader.read(variable, 0..variable.rows(), &ReadOptions::default())?;
    Ok(array.values().as_slice::<i32>().map(<[i32]>::to_vec).unwrap_or_default())
}

fn problem(change: impl FnOnce(&mut Value)) -> String {
    let (_folder, path) = store(change, &[]);
    read(&path).map_or_else(|error| error.to_string(), |values| format!("no error, {values:?}"))
}

#[test]
fn missing_chunks_are_the_fill_value() {
    let (_folder, path) = store(|metadata| metadata["fill_value"] = json!(7), &[("c/1", &[1, 0, 0, 0, 2, 0, 0, 0])]);
    assert_eq!(read(&path).unwrap(), [7, 7, 1, 2]);
}

/// Texts of a shard in an order that is not its own inverse.
#[test]
fn transposed_texts_of_shards_are_read() {
    let mut shard = 24u32.to_le_bytes().to_vec();
    for (y, z, x) in (0..3).flat_map(|y| (0..4).flat_map(move |z| (0..2).map(move |x| (y, z, x)))) {
        let text = format!("s{}", (x * 3 + y) * 4 + z);
        shard.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
        shard.extend(text.as_bytes());
    }
    let len = shard.len() as u64;
    shard.extend([0, len].into_iter().flat_map(u64::to_le_bytes));
    let change = |metadata: &mut Value| {
        metadata["shape"] = json!([2, 3, 4]);
        metadata["chunk_grid"]["configuration"]["chunk_shape"] = json!([2, 3, 4]);
        metadata["data_type"] = json!("string");
        metadata["fill_value"] = json!("");
        let index = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
        let codecs = json!([{"name": "transpose", "configuration": {"order": [1, 2, 0]}}, {"name": "vlen-utf8"}]);
        let configuration = json!({"chunk_shape": [2, 3, 4], "codecs": codecs, "index_codecs": index});
        metadata["codecs"] = json!([{"name": "sharding_indexed", "configuration": configuration}]);
    };
    let (_folder, path) = store(change, &[("c/0/0/0", &shard)]);
    let reader = zarr::open(&path, OpenOptions::default()).unwrap();
    let array = reader.read(reader.variable("v").unwrap(), 0..2, &ReadOptions::default()).unwrap();
    let found: Vec<_> = array.values().as_strings().unwrap().iter().map(<[u8]>::to_vec).collect();
    assert_eq!(found, (0..24).map(|index| format!("s{index}").into_bytes()).collect::<Vec<_>>());
}

#[test]
fn metadata_are_checked_before_they_are_used() {
    let shape = |shape: Value, chunk: Value| {
        problem(|metadata| {
            metadata["shape"] = shape;
            metadata["chunk_grid"]["configuration"]["chunk_shape"] = chunk;
        })
    };
    for (found, expected) in [
        (shape(json!([u64::MAX, 2]), json!([1, 1])), "elements of the array"),
        (shape(json!([1u64 << 60]), json!([1u64 << 60])), "exceed"),
        (shape(json!([4]), json!([0])), "chunk_shape: expected a list of integers from 1, found [0]"),
        (shape(json!([4]), json!([1, 1])), "expected 1 chunk sizes, found 2"),
        (shape(json!([-1]), json!([1])), "shape: expected a list of integers from 0, found [-1]"),
        (shape(json!(vec![1; 100]), json!(vec![1; 100])), "number of dimensions 100 exceeds the limit 64"),
        (problem(|metadata| metadata["data_type"] = json!("float128")), "unsupported data type \"float128\""),
        (
            problem(|metadata| {
                metadata["data_type"] = json!({"name": "raw_bytes", "configuration": {"length_bytes": 1u64 << 40}})
            }),
            "length_bytes",
        ),
        (
            problem(|metadata| metadata["codecs"] = json!([{"name": "bytes"}, {"name": "pcodec"}])),
            "unsupported codec \"pcodec\"",
        ),
        (problem(|metadata| metadata["codecs"] = json!([])), "codec"),
        (problem(|metadata| metadata["codecs"] = json!([{"name": "gzip", "configuration": {"level": 99}}])), "gzip"),
        (
            problem(|metadata| metadata["chunk_grid"]["name"] = json!("rectilinear")),
            "unsupported chunk grid \"rectilinear\" (known: regular)",
        ),
        (
            problem(|metadata| metadata["chunk_key_encoding"]["name"] = json!("../x")),
            "unsupported chunk key encoding \"../x\"",
        ),
        (problem(|metadata| metadata["chunk_key_encoding"]["configuration"]["separator"] = json!("/../")), "separator"),
        (problem(|metadata| metadata["fill_value"] = json!("x")), "fill value"),
        (problem(|metadata| metadata["fill_value"] = json!(1e99)), "fill value"),
        (problem(|metadata| metadata["dimension_names"] = json!(["a", "b"])), "expected 1 dimension names, found 2"),
        (problem(|metadata| metadata["storage_transformers"] = json!([{"name": "x"}])), "storage transformer \"x\""),
        (problem(|metadata| metadata["must"] = json!({"name": "x", "must_understand": true})), "must"),
        (
            problem(|metadata| {
                let shard = |inner: Value| {
                    json!([{"name": "sharding_indexed", "configuration": {
                    "chunk_shape": [1], "codecs": inner, "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}])
                };
                metadata["codecs"] = (0..6).fold(json!([{"name": "bytes"}]), |inner, _| shard(inner));
            }),
            "shards in shards 5 exceeds the limit 4",
        ),
        (
            problem(|metadata| {
                metadata["codecs"] = json!([{"name": "sharding_indexed", "configuration": {
                    "chunk_shape": [3], "codecs": [{"name": "bytes"}], "index_codecs": [{"name": "bytes"}]}}]);
            }),
            "expected sizes that divide the shard [2], found [3]",
        ),
        (
            problem(|metadata| {
                metadata["shape"] = json!([1u64 << 40]);
                metadata["chunk_grid"]["configuration"]["chunk_shape"] = json!([1u64 << 40]);
                metadata["codecs"] = json!([{"name": "sharding_indexed", "configuration": {
                    "chunk_shape": [1], "codecs": [{"name": "bytes"}], "index_codecs": [{"name": "bytes"}]}}]);
            }),
            "bytes of the index of a shard",
        ),
    ] {
        assert!(found.contains(expected), "{found:?} {expected:?}");
        assert!(found.starts_with("zarr: ") && found.contains("column \"v\""), "{found}");
    }
}

#[test]
fn damaged_chunks_are_errors() {
    use std::io::Write;
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let chain = |names: &[&str]| {
        json!(names.iter().map(|name| json!({ "name": name, "configuration": {} })).collect::<Vec<_>>())
    };
    let zeros = gzip(&vec![0; 64 << 20]);
    let cases: [(&[&str], &[u8], &str); 6] = [
        (&["bytes"], &[1, 2, 3], "chunk [0] of v: "),
        (&["bytes"], &[0; 9], "chunk [0] of v: "),
        (&["bytes", "gzip"], b"no gzip", "invalid gzip"),
        // 64 MiB of zeros: decompression stops after a chunk.
        (&["bytes", "gzip"], &zeros, "gzip holds more than the 8 bytes of the chunk"),
        (&["bytes", "zstd"], b"no zstd", "invalid zstd"),
        (&["bytes", "crc32c"], &[0; 12], "checksum"),
    ];
    for (names, bytes, expected) in cases {
        let change = |metadata: &mut Value| {
            metadata["codecs"] = chain(names);
            metadata["codecs"][0]["configuration"] = json!({"endian": "little"});
            for codec in metadata["codecs"].as_array_mut().unwrap() {
                if codec["name"] == "gzip" {
                    codec["configuration"] = json!({"level": 1});
                } else if codec["name"] == "zstd" {
                    codec["configuration"] = json!({"level": 1, "checksum": false});
                }
            }
        };
        let (_folder, path) = store(change, &[("c/0", bytes)]);
        let error = read(&path).unwrap_err();
        assert!(error.to_string().contains(expected), "{names:?} {error}");
        assert_eq!((error.kind(), error.format()), (ErrorKind::Invalid, Some("zarr")), "{error}");
    }
    // Texts whose lengths are beyond the chunk, and those that are not UTF-8.
    for (bytes, expected) in [
        (&[2u8, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0][..], "chunk [0] of v: "),
        (&[2, 0, 0, 0, 1, 0, 0, 0, 0xff, 0, 0, 0, 0], "UTF-8"),
        (&[9, 0, 0, 0], "chunk [0] of v: "),
    ] {
        let change = |metadata: &mut Value| {
            metadata["data_type"] = json!("string");
            metadata["fill_value"] = json!("");
            metadata["codecs"] = json!([{"name": "vlen-utf8"}]);
        };
        let (_folder, path) = store(change, &[("c/0", bytes)]);
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn stores_that_are_none_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let error = |text: &str| {
        std::fs::write(folder.path().join("zarr.json"), text).unwrap();
        zarr::open(folder.path(), Default::default()).unwrap_err().to_string()
    };
    let deep = format!("{{\"a\": {}", "[".repeat(100_000));
    for (text, expected) in [
        ("{", "zarr.json: expected"),
        ("[]", "zarr.json: expected a JSON object"),
        ("{}", "zarr.json: expected zarr_format 3, found none"),
        (r#"{"zarr_format": 4}"#, "zarr.json: zarr_format 4, expected 3"),
        (
            r#"{"zarr_format": 3, "node_type": "x"}"#,
            "zarr.json: expected node_type \"group\" or \"array\", found \"x\"",
        ),
        (deep.as_str(), "zarr.json: JSON nesting depth 129 exceeds the limit 128"),
    ] {
        let found = error(text);
        assert!(found.contains(expected), "{found} {expected}");
    }
    let empty = tempfile::tempdir().unwrap();
    let error = zarr::open(empty.path(), Default::default()).unwrap_err();
    assert_eq!(error.detail(), "expected zarr.json, found none");
}

/// Links to folders above would have 2^40 paths.
#[cfg(unix)]
#[test]
fn links_to_groups_around_them_are_left_out() {
    use std::os::unix::fs::symlink;

    let (_folder, path) = store(|_| {}, &[]);
    for group in ["a", "b"] {
        std::fs::create_dir(path.join(group)).unwrap();
        std::fs::copy(path.join("zarr.json"), path.join(group).join("zarr.json")).unwrap();
    }
    for (from, to) in [("up", "."), ("again", ".."), ("a/to", "../b"), ("b/to", "../a"), ("linked", "v")] {
        symlink(to, path.join(from)).unwrap();
    }
    let reader = zarr::open(&path, OpenOptions::default()).unwrap();
    let names: Vec<&str> = reader.variables().iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["linked", "v"]);
    let losses: Vec<String> = reader.losses().iter().map(|loss| loss.what.to_string()).collect();
    let expected = ["again", "up", "a/to/to", "b/to/to"]
        .map(|path| format!("folder {path:?} left out: it links to a folder around it"));
    let [mut losses, mut expected] = [losses, expected.to_vec()];
    losses.sort();
    expected.sort();
    assert_eq!(losses, expected);
}

#[test]
fn more_is_declared_than_stored() {
    let change = |metadata: &mut Value| {
        metadata["shape"] = json!([1u64 << 40]);
        metadata["chunk_grid"]["configuration"]["chunk_shape"] = json!([1 << 10]);
    };
    let (folder, path) = store(change, &[]);
    let reader = || zarr::open(&path, Default::default()).unwrap();
    // A part can be read.
    let array = reader().read(reader().variable("v").unwrap(), 5..8, &ReadOptions::default()).unwrap();
    assert_eq!(array.values().as_slice::<i32>(), Some(&[0, 0, 0][..]));
    let view = dsfmt::netcdf::ds_view(reader(), &ReadOptions::default(), "a.zarr".to_owned()).unwrap().0;
    let selection = |stop| Selection::new().with("v", Select::range(5, stop));
    assert_eq!(view.variable("v").unwrap().select(&selection(8)).unwrap().len(), 3);
    let error = view.variable("v").unwrap().select(&selection(1 << 39)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
    let copy = folder.path().join("part.zarr");
    let part = Region::new().with("v", Select::range(5, 8)).apply(view).unwrap();
    zarr::from_ds(&part, copy, &Default::default()).unwrap();
    let error = dsfmt::netcdf::to_ds(&reader(), folder.path().join("x.ds"), &Default::default(), Default::default());
    assert!(matches!(error.unwrap_err().kind(), ErrorKind::Limit { .. }));
}

/// Every file of the golden stores, with single bytes changed and cut off.
#[test]
fn mutated_stores_never_panic() {
    for name in ["types", "codecs", "version2"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zarr");
        crate::zarr::copy_folder(&golden(name), &path);
        let mut files = Vec::new();
        list(&path, &mut files);
        files.sort();
        for (number, file) in files.iter().enumerate().step_by(cases(3, 1)) {
            let original = std::fs::read(file).unwrap();
            for step in 0..3usize {
                let mut changed = original.clone();
                let at = (number * 31 + step * 97) % changed.len().max(1);
                match changed.get_mut(at) {
                    Some(byte) if step < 2 => *byte = byte.wrapping_add(1 + step as u8 * 100),
                    _ => changed.truncate(at),
                }
                std::fs::write(file, &changed).unwrap();
                if let Ok(reader) = zarr::open(&path, Default::default()) {
                    read_all(&reader);
                }
            }
            std::fs::write(file, &original).unwrap();
        }
    }
}

fn read_all(reader: &Reader) {
    for variable in reader.variables() {
        // A panic of the library is an error, too.
        if let Err(error) = reader.read(variable, 0..variable.rows().min(1000), &ReadOptions::default()) {
            assert_eq!(error.format(), Some("zarr"));
        }
    }
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { list(&path, files) } else { files.push(path) }
    }
}
