//! Writes `seeds/`, from the golden files and from a few decisions: `cargo run --no-default-features --example seeds`.
#![allow(clippy::unwrap_used, reason = "a chore that fails by panicking")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Golden files above this size have nothing that smaller ones have not.
const MOST: usize = 1000;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let put = |target: &str, name: &str, bytes: &[u8]| {
        let directory = root.join("seeds").join(target);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(name), bytes).unwrap();
    };

    for path in golden(root) {
        let bytes = fs::read(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if bytes.len() > MOST {
            continue;
        }
        put("idv_reader", name, &bytes);
        put("idv_recover", name, &[&[0], &bytes[..]].concat());
        put("idv_recover", &format!("{name}-cut"), &[&[0], &bytes[..bytes.len() - 9]].concat());
        // The table of contents by itself; with metadata, what lies before it as a table of them.
        let reader = idv::Reader::open(&path).unwrap();
        let header = *reader.header();
        let columns = u8::try_from(reader.columns().len()).unwrap();
        let toc = usize::try_from(header.toc_offset).unwrap()..usize::try_from(header.tail_offset).unwrap();
        if (1..=4).contains(&columns) {
            let how = 5 << 4 | (columns - 1) << 2 | 1;
            put("idv_wire", name, &[&[how], &bytes[toc.clone()]].concat());
        }
        if name.starts_with("key-values") {
            put("idv_wire", &format!("{name}-metadata"), &[&[5 << 4 | 3], &bytes[256..toc.start]].concat());
        }
    }

    filters(put);

    let texts: [&[u8]; 5] =
        [b"", b"a", b"hello hello hello hello", &[0; 300], b"The quick brown fox jumps over the lazy dog. 0123456789"];
    for (index, text) in texts.iter().enumerate() {
        for zlib in [0u8, 1] {
            for level in [0, 1, 9] {
                let packed = pack(text, zlib == 1, level);
                put(
                    "idv_inflate",
                    &format!("packed-{index}-{zlib}-{level}"),
                    &[&[zlib, 0, 0, 0], &packed[..]].concat(),
                );
            }
            put("idv_inflate", &format!("plain-{index}-{zlib}"), &[&[zlib | 2, 4, 0, 0], *text].concat());
        }
    }
    // Recipes of texts long enough for every way to inflate: noise of 4, 64 and 256 letters, runs, copies.
    let recipes: [&[u8]; 4] = [
        &[100, 255, 5, b'a', 100, 255, 5, b'A', 40, 200, 5, 7, 9],
        &[180, 255, 5, 0, 180, 255, 5, 0, 180, 255, 5, 9],
        &[255, 255, 5, 0, 20, 255, 4, b' ', 255, 200, 5, 100, 50, 255, 5, 255, 100],
        &[128, 255, 5, b'0', 60, 255, 5, 3, 1, 128, 255, 5, b'0', 60, 255, 5, 200, 200, 128, 255, 5, b'0'],
    ];
    for (index, recipe) in recipes.iter().enumerate() {
        for (level, zlib) in [(1, 0), (2, 1), (3, 0)] {
            let start = [zlib | 2, level << 1 | 1, 0, 0];
            put("idv_inflate", &format!("recipe-{index}-{level}"), &[&start, *recipe].concat());
        }
    }

    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    for index in 0..32 {
        let decisions: Vec<u8> = (0..40 + index * 8)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 32) as u8
            })
            .collect();
        put("idv_forged", &format!("decisions-{index:02}"), &decisions);
        put("idv_written", &format!("decisions-{index:02}"), &decisions);
        put("datadings_written", &format!("decisions-{index:02}"), &decisions);
        for target in ["ds_select", "ds_variable", "ds_write_read"] {
            put(target, &format!("decisions-{index:02}"), &decisions);
        }
    }

    datasets(root, &put);
    headers(root, &put);

    for which in 0..12u8 {
        let edges: [&[u8]; 6] = [
            &[0, 1, 0x7F, 0x80, 1, 0xFF, 0x7F, 0x80, 0x80, 1],
            &[0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
            &[
                0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                0x80, 0x80, 0x7F,
            ],
            &[0x80, 0, 0xFF, 0x7F, 0xC0, 0, 0xBF, 0x7F],
            &[1; 90],
            &[0x81, 1, 2, 0x83, 0x84, 5, 6, 0x87, 0x88, 0x89, 0x0A, 11].repeat(8),
        ];
        for (index, edge) in edges.iter().enumerate() {
            put("leb128", &format!("{which:02}-{index}"), &[&[0xF0 / 12 * 12 + which], *edge].concat());
        }
    }
}

/// Filters of several shapes, empty, with keys, cut, and with a length that is wrong.
fn filters(put: impl Fn(&str, &str, &[u8])) {
    for (elements, p) in [(2, 0.5), (5, 0.2), (50, 0.001), (20, 0.999), (9, 1e-300), (300, 0.01)] {
        let mut filter = simplebloom::BloomFilter::with_probability(elements, p).unwrap();
        let name = format!("{elements}-{p:e}");
        put("simplebloom_filter", &format!("{name}-empty"), filter.as_bytes());
        filter.extend((0..elements).map(|key| format!("k{key}")));
        let mut file = filter.into_inner();
        put("simplebloom_filter", &name, &file);
        put("simplebloom_filter", &format!("{name}-cut"), &file[..file.len() - 1]);
        file[15] ^= 1;
        put("simplebloom_filter", &format!("{name}-length"), &file);
    }
}

/// Whole sets as targets take them, and data alone, some of them damaged.
fn datasets(root: &Path, put: &dyn Fn(&str, &str, &[u8])) {
    let folders = ["datadings", "datadings-files"].map(|name| root.join("../tests/golden").join(name));
    let files =
        folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|name| name == "msgpack")).collect();
    files.sort();
    for path in files {
        let data = fs::read(&path).unwrap();
        if data.len() > MOST {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        let mut set = Vec::new();
        for suffix in [".index", ".md5", ".filter", ".key_hashes", ".keys", ".offsets"] {
            let part = fs::read(format!("{}{suffix}", path.display()));
            let bytes = part.as_deref().unwrap_or_default();
            set.push(u8::from(part.is_ok()));
            set.extend(u16::try_from(bytes.len()).unwrap().to_be_bytes());
            set.extend(bytes);
        }
        put("datadings_index", name, &[&set[..], &[1, 0, 0], &data].concat());
        put("datadings_index", &format!("{name}-alone"), &[&[0; 18][..], &[1, 0, 0], &data].concat());
        put("datadings_recover", name, &data);
        let half = data.len() / 2;
        put(
            "datadings_recover",
            &format!("{name}-torn"),
            &[&data[..half], &data[(half + 7).min(data.len())..]].concat(),
        );
    }
}

/// What follows the line of the version, of files that Python wrote and of some that nobody would.
fn headers(root: &Path, put: &dyn Fn(&str, &str, &[u8])) {
    let Ok(entries) = fs::read_dir(root.join("../tests/golden/ds")) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        let bytes = fs::read(&path).unwrap();
        if let Some(rest) = bytes.strip_prefix(b"ds-1.0\n").filter(|rest| rest.len() <= MOST) {
            put("ds_header", path.file_stem().unwrap().to_str().unwrap(), rest);
        }
    }
    let made: [(&str, &[u8]); 6] = [
        ("names", b"{\"\\\\.a\": {\".size\": [2], \"\\u002etype\": \"int8\"}, \"\\ud800\": {\".size\": null}, \".\": {\"\": NaN}}\nab"),
        ("texts", b"{\"x\":{\".size\":[1],\".type\":\"unicode\",\".len\":9}}\n\0\0\0\0\0\0\0\x01a"),
        ("masked", b"{\"x\":{\".size\":[9],\".type\":\"bool\",\".len\":3,\".missing\":true}}\n\x49\0\xfc"),
        ("masked-texts", b"{\"x\":{\".size\":[2],\".type\":\"str\",\".len\":13,\".missing\":true,\".endian\":\"l\"}}\n\x40\x01\0\0\0\0\0\0\0a"),
        ("sizes", b"{\"x\":{\".size\":[2,3,1000000000000],\".dims\":[\"a\",\"b\",\"c\"]},\"y\":{\".size\":[0,18446744073709551615]}}\n"),
        ("json", b"{\".\":{\"a\":[1e5,-0,1.5E-7,123456789012345678901234567890,-Infinity,null,true,{}],\"b\":\"\\ud83d\\ude00\\n\"}}\n"),
    ];
    made.iter().for_each(|(name, bytes)| put("ds_header", name, bytes));
}

fn pack(bytes: &[u8], zlib: bool, level: u32) -> Vec<u8> {
    let level = flate2::Compression::new(level);
    if zlib {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    } else {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), level);
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }
}

fn golden(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for directory in ["idv", "idv-older"] {
        let Ok(entries) = fs::read_dir(root.join("../tests/golden").join(directory)) else { continue };
        files.extend(entries.map(|entry| entry.unwrap().path()));
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "idv"));
    files.sort();
    files
}
