//! Writes `seeds/` from golden files and handmade inputs: `cargo run --no-default-features --example seeds`.
#![allow(clippy::unwrap_used, reason = "a chore that fails by panicking")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Maximum size of golden files: larger ones add nothing new.
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
        put("idv_arrow", name, &bytes);
        put("idv_recover", name, &[&[0], &bytes[..]].concat());
        put("idv_recover", &format!("{name}-cut"), &[&[0], &bytes[..bytes.len() - 9]].concat());
        // The table of contents; with metadata, also the bytes before it as a metadata table.
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
        for (how, change) in [(0, "whole"), (2, "changed"), (1, "declared")] {
            put("inflate_lanes", &format!("{index}-{change}"), &[&[30, 0, how][..], &pack(text, false, 6)].concat());
        }
    }
    // Recipes of data long enough for every way to inflate: noise of 4, 64 and 256 letters, runs, copies.
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
        for target in ["ds_select", "ds_variable", "ds_write_read", "zdx_store", "arrow_columns"] {
            put(target, &format!("decisions-{index:02}"), &decisions);
        }
    }

    datasets(root, &put);
    headers(root, &put);
    stores(root, &put);
    documents(&put);
    zarr(root, &put);
    tar_decisions(&put);
    archives(root, &put);
    batches(root, &put);
    columns(root, &put);

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

/// Filters of several shapes: empty, with keys, truncated, and with an invalid length.
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

/// Whole sets in the form of the targets, and data files, some of them damaged.
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

/// The bytes after the version line, of files written by Python and of unusual ones.
fn headers(root: &Path, put: &dyn Fn(&str, &str, &[u8])) {
    let Ok(entries) = fs::read_dir(root.join("../tests/golden/ds")) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        let bytes = fs::read(&path).unwrap();
        if let Some(rest) = bytes.strip_prefix(b"ds-1.0\n").filter(|rest| rest.len() <= MOST) {
            let name = path.file_stem().unwrap().to_str().unwrap();
            put("ds_header", name, rest);
            put("ds_arrow", name, rest);
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
    for (name, bytes) in made {
        put("ds_header", name, bytes);
        put("ds_arrow", name, bytes);
    }
}

/// ZDS collections: their parts, indexes, and lines.
fn stores(root: &Path, put: &dyn Fn(&str, &str, &[u8])) {
    let mut found = Vec::new();
    let folders = fs::read_dir(root.join("../tests/golden/zds")).into_iter().flatten();
    for store in folders.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        for collection in fs::read_dir(store.join("collections")).unwrap() {
            found.push((store.file_name().unwrap().to_owned(), collection.unwrap().path()));
        }
    }
    found.sort();
    for (store, collection) in found {
        let name = format!("{}-{}", store.to_str().unwrap(), collection.file_name().unwrap().to_str().unwrap());
        let [data, index, order] =
            ["data.jsonl", "index.bin", "order.ids"].map(|name| fs::read(collection.join("meta").join(name)).ok());
        if let Some(index) = index.as_ref().filter(|index| index.len() <= MOST / 2) {
            put("zdx_index", &name, index);
        }
        let mut docs = Vec::new();
        let mut files: Vec<_> =
            fs::read_dir(collection.join("docs")).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files.iter().take(3) {
            docs.push((file.file_stem().unwrap().to_str().unwrap(), fs::read(file).unwrap()));
        }
        let docs: Vec<_> = docs.iter().map(|(name, content)| (*name, &content[..])).collect();
        let data = data.unwrap_or_default();
        if data.len() > 2 * MOST {
            continue;
        }
        let (index, order) = (index.as_deref(), order.as_deref());
        put("zdx_collection", &name, &parts(0, [index, None, order], &docs, &data));
        if name.starts_with("two") || name.starts_with("unicode-escaped") || name.starts_with("both-c") {
            put("zdx_collection", &format!("{name}-without"), &parts(0, [None, None, order], &docs, &data));
            put(
                "zdx_collection",
                &format!("{name}-journal"),
                &parts(3, [Some(&[4, 0, 0]), Some(b"\0\x20"), None], &docs, &data),
            );
        }
        for (row, line) in
            data.split(|byte| *byte == b'\n').enumerate().filter(|(row, line)| *row < 1 && line.len() > 2)
        {
            put("zdx_id", &format!("{name}-{row}"), line);
        }
    }
    let data = b"{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"b\",\"n\":2}\n{\"n\":3,\"_id\":\"c\"}\n{\"_id\":\"a\"}\n{\"_id\":";
    let deletions = b"\0\x24{\"delete\":\"a\",\"data_bytes\":54}\n{\"delete\":\"c\",\"data_bytes\":99}\n";
    // Name, how the files are made, and content.
    type Made = (&'static str, u8, [Option<&'static [u8]>; 3]);
    let made: [Made; 14] = [
        ("made", 1, [None; 3]),
        ("made-many", 5, [None; 3]),
        ("made-many-deleted", 5, [Some(&[0, 4]), None, None]),
        ("made-without-feed", 1, [Some(&[3, 3, 3, 3]), None, None]),
        ("made-lies", 1, [Some(&[5, 1, 6, 9, 7, 2]), None, None]),
        ("made-far", 1, [Some(&[9, 255, 255, 0, 40, 8, 1, 2, 3, 4]), None, None]),
        ("journal", 3, [None, Some(deletions), None]),
        ("journal-short", 3, [None, Some(b"\0\x29{\"delete\":"), None]),
        ("journal-far", 3, [None, Some(b"\xff\xff{\"delete\":\"b\",\"data_bytes\":18446744073709551615}\n"), None]),
        ("journal-of-none", 2, [None, Some(deletions), None]),
        (
            "journal-of-another",
            1,
            [None, Some(b"{\"version\":1,\"index\":{\"bytes\":1,\"crc32\":2},\"data_bytes\":0}\n"), None],
        ),
        ("text", 0, [Some(b"a\t0\t18\nb\t18\t17\n"), None, None]),
        ("order", 1, [None, None, Some(b"y\nx\r\n y \n\n\xff\na\n")]),
        ("nothing", 8, [None, None, Some(b"y\n")]),
    ];
    let docs: [(&str, &[u8]); 3] = [("x", b"{\n  \"n\": 1\n}"), ("y", b"{\"_id\":\"z\"}"), ("a", b"[\r\n]")];
    for (name, how, meta) in made {
        put("zdx_collection", name, &parts(how, meta, &[], data));
        put("zdx_collection", &format!("{name}-docs"), &parts(how, meta, &docs, data));
    }
    let index = |entries: &[(&str, u64, u32)], magic: &[u8]| {
        let mut out = [magic, &1u32.to_le_bytes(), &(entries.len() as u64).to_le_bytes()].concat();
        for (id, offset, length) in entries {
            out.extend(u16::try_from(id.len()).unwrap().to_le_bytes());
            out.extend(id.bytes().map(|byte| if byte == b'?' { 0xff } else { byte }));
            out.extend(offset.to_le_bytes());
            out.extend(length.to_le_bytes());
        }
        out
    };
    let good = [("a", 0, 12), ("bb", 12, 20), ("c.c", 33, 20), ("d", 53, 11)];
    put("zdx_index", "good", &index(&good, b"ISDZ"));
    put("zdx_index", "described", &index(&good, b"ZDSI"));
    put("zdx_index", "twice", &index(&[("a", 5, 1), ("d", 53, 11), ("a", 0, 11)], b"ISDZ"));
    put(
        "zdx_index",
        "far",
        &index(&[("a", u64::MAX, u32::MAX), ("d", 53, 12), ("bb", 11, 21), ("c.c", 0, 12)], b"ISDZ"),
    );
    put("zdx_index", "no-text", &index(&[("a", 0, 12), ("?", 12, 20)], b"ISDZ"));
    put("zdx_index", "count", &[b"ISDZ\x01\0\0\0", &[0xff; 8][..], &[1, 0, b'a'], &[0; 12]].concat());
    put("zdx_index", "cut", &index(&good, b"ISDZ")[..60]);
    put("zdx_index", "empty", b"");
    put("zdx_index", "text", b"a\t0\t12\nbb\t12\t18\r\n\nd\t53\t11");
    put("zdx_index", "text-wrong", b"a\t0\t12\nbb\t12\n");
}

/// Parts in the form of the target `zdx_collection`.
fn parts(how: u8, meta: [Option<&[u8]>; 3], docs: &[(&str, &[u8])], data: &[u8]) -> Vec<u8> {
    let mut out = vec![how];
    for part in meta {
        let len = part.map_or(0, |part| part.len() + 1);
        out.extend(u16::try_from(len).unwrap().to_be_bytes());
        out.extend(part.unwrap_or_default());
    }
    for (name, content) in docs {
        out.push(u8::try_from(name.len()).unwrap());
        out.extend(name.as_bytes());
        out.push(u8::try_from(content.len()).unwrap());
        out.extend(*content);
    }
    out.push(0);
    out.extend(data);
    out
}

/// Unusual but valid documents.
fn documents(put: &dyn Fn(&str, &str, &[u8])) {
    let deep = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    let made: [(&str, &str); 18] = [
        ("last", r#" { "x" : [ { "_id" : "no" } , {} , [ ] ] , "_id" : "b" } "#),
        ("escaped", r#"{"\u005fid":"\u0064\ud83d\ude00"}"#),
        ("twice", r#"{"_id":"first","_id":"last"}"#),
        ("twice-spelled", r#"{"_id":"a","_\u0069d":"b"}"#),
        ("decoy", r#"{"x":"\"_id\":\"no\"","_id":"c"}"#),
        ("number", r#"{"_id":7}"#),
        ("number-first", r#"{"_id":7,"_id":"a"}"#),
        ("numbers", r#"{"n":[-0.5e+7,1E-2,0,10,-0,1e999,123456789012345678901234567890],"_id":"e"}"#),
        ("half", r#"{"_id":"a","x":"\ud800","y":"\udc00\ud800"}"#),
        ("half-name", r#"{"_id":"a","\ud800":1}"#),
        ("half-id", r#"{"_id":"\ud800"}"#),
        ("fields", r#"{"a":{"b":1,"b":{"c":[2]}},"a":{"b":{"d":null}},"":{"":{}},"b":"\u00e9\n"}"#),
        ("lines", "\u{feff}{\"_id\":\"a\"}\r\n\n \t\n{\"_id\": \"b\", \"x\":1}\n{\"_id\":"),
        ("mark-inside", "{}\n\u{feff}{\"_id\":\"a\"}\n"),
        ("pretty", "{\n  \"_id\": \"a\",\n  \"x\": [\n    1,\n    \"\\\" \\\\\"\n  ]\n}"),
        ("control", "{\"a\":\"\u{1}\"}"),
        ("commas", "{\"a\":[1,],}"),
        ("words", "{\"a\":[true,false,null,nul]}"),
    ];
    made.iter().for_each(|(name, text)| put("zdx_id", name, text.as_bytes()));
    [126, 127, 128].iter().for_each(|depth| put("zdx_id", &format!("deep-{depth}"), deep(*depth).as_bytes()));
}

/// Archives of the reference, of `zip` and of this crate, valid and damaged.
fn archives(root: &Path, put: &dyn Fn(&str, &str, &[u8])) {
    use zdx::archive::{Compression, PackOptions, pack};
    let folder = tempfile::tempdir().unwrap();
    for name in ["both", "docs", "empty"] {
        for (kind, compression) in [("stored", Compression::Store), ("deflated", Compression::Deflate(6))] {
            let packed = folder.path().join(format!("{name}-{kind}"));
            let options = PackOptions::default().with_compression(compression);
            if pack(root.join("../tests/golden/zds").join(name), &packed, &options).is_err() {
                continue;
            }
            let mut bytes = fs::read(&packed).unwrap();
            put("zdx_archive", &format!("{name}-{kind}"), &bytes);
            put("zdx_archive", &format!("{name}-{kind}-behind"), &[&bytes[..], b"more"].concat());
            let middle = bytes.len() / 3;
            bytes[middle] ^= 0x10;
            put("zdx_archive", &format!("{name}-{kind}-damaged"), &bytes);
        }
    }
    for entry in fs::read_dir(root.join("../tests/golden/zds")).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "zds") {
            put("zdx_archive", path.file_stem().unwrap().to_str().unwrap(), &fs::read(&path).unwrap());
        }
    }
}

/// The tables of `../tests/golden/cross` in all formats, and lines of JSON.
fn columns(root: &Path, put: &dyn Fn(&str, &str, &[u8])) {
    let golden = |name: &str| fs::read(root.join("../tests/golden").join(name)).unwrap();
    for name in ["values-scalars", "values-structured", "values-objects"] {
        put("datadings_arrow", name, &golden(&format!("datadings/{name}.msgpack")));
    }
    put("idv_model", "schema", &golden("idv-model/schema.zip"));
    let documents: [&[u8]; 2] = [
        b"{\"_id\":\"a\",\"n\":1,\"t\":\"x\"}\n{\"_id\":\"b\",\"n\":2.5,\"t\":null}\n",
        b"{\"_id\":\"a\",\"o\":{\"p\":[1,{\"q\":true}]}}\n{\"_id\":\"b\",\"o\":{\"p\":[]}}\n",
    ];
    (0..).zip(documents).for_each(|(number, bytes): (u8, _)| put("zdx_arrow", &number.to_string(), bytes));
    let units = [
        "days since 1970-01-01",
        "hours since 1582-10-04 12:00 +1:30",
        "seconds since 0001-01-01",
        "months since 2000-1-1",
    ];
    for (calendar, units) in (0u8..).zip(units) {
        let number = (40_000_i64 << 11).to_le_bytes();
        put("ds_times", &calendar.to_string(), &[&[calendar], &number[..], units.as_bytes()].concat());
    }
}

fn batches(root: &Path, put: &dyn Fn(&str, &str, &[u8])) {
    let mut files: Vec<PathBuf> = fs::read_dir(root.join("../tests/golden/cross"))
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    for path in files {
        let bytes = fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("arrow" | "arrows" | "parquet") if bytes.len() <= 16 * MOST => put("wharf_batches", name, &bytes),
            Some("idv") if bytes.len() <= 4 * MOST => put("idv_arrow", &format!("cross-{name}"), &bytes),
            Some("ds") if bytes.len() <= 4 * MOST => {
                put("ds_arrow", &format!("cross-{name}"), bytes.strip_prefix(b"ds-1.0\n").unwrap());
            }
            Some("jsonl") if bytes.len() <= 4 * MOST => {
                put("arrow_json", name, &bytes);
                put("wharf_json_lines", name, &bytes);
                put("wharf_import", name, &[&[0, 0], &bytes[..]].concat());
            }
            Some("csv") if bytes.len() <= 4 * MOST => {
                put("wharf_csv", name, &[&[0], &bytes[..]].concat());
                put("wharf_import", name, &[&[1, 0], &bytes[..]].concat());
            }
            _ => {}
        }
    }
    let made = [
        ("numbers", "{\"a\":1}\n{\"a\":-1.5}\n{\"a\":18446744073709551616}\n{\"a\":-0}\n{\"a\":1e22}"),
        ("signs", "{\"a\":-1}\n{\"a\":18446744073709551615}\n{\"b\":9007199254740993}\n{\"b\":0.5}"),
        ("beyond", "{\"a\":18446744073709551617}\n{\"a\":1e400}\n{\"a\":[1e400]}"),
        ("kinds", "{\"a\":true}\n{\"a\":\"\\u00e9\\n\"}\n{\"a\":null}\n{\"a\":[]}\n{\"a\":{}}"),
        (
            "nested",
            " { \"l\" : [ [ 1 ] , [ ] , null ] , \"o\" : { \"x\" : [ { \"y\" : 1 } , { \"z\" : [ ] } ] } }\r\n{\"o\":{}}\n{}",
        ),
        ("twice", "{\"a\":1,\"\\u0061\":\"x\",\"a\":{\"b\":2}}\n{\"a\":[{\"c\":1,\"c\":[]}]}"),
        (
            "halves",
            "{\"a\":\"\\ud83d\\ude00\"}\n{\"a\":\"\\ud83d\"}\n{\"\\ude00\":1}\n{\"a\":\"\\u000\"}\n{\"a\":tru}\n{\"a\":01}\n[1]\n7",
        ),
    ];
    for (name, text) in made {
        put("arrow_json", name, text.as_bytes());
        put("wharf_json_lines", name, text.as_bytes());
    }
    texts(put);
    let conditions = [
        ("numbers", "i > 1 and not u = 18446744073709551615 or f <> 'NaN' and -c + 1 * 2 / 3 % 4 >= .5e1"),
        ("texts", "t like 'a!%%' escape '!' or lower(k) ilike '_x' and length(t) in (1, 2, null)"),
        ("nested", "s.a between -1 and 3 and l[1] is null or \"b\" is not true and coalesce(i, 0) = 0"),
        ("times", "y = date '1970-01-01' or z < timestamp '2024-05-01 12:00' and x = x'00ff' and isnan(f)"),
        ("deep", "((((((((not (not (- (- (i)))) = 1))))))))"),
        ("decimals", "abs(d) + 0.01 <> 2.50 and d > g and u > i"),
    ];
    conditions.iter().for_each(|(name, text)| put("wharf_predicate", name, text.as_bytes()));
    let deep = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    [1, 126, 127, 128].iter().for_each(|depth| put("arrow_json", &format!("deep-{depth}"), deep(*depth).as_bytes()));
}

/// Metadata and first chunks of the golden stores.
fn zarr(root: &Path, put: &dyn Fn(&str, &str, &[u8])) {
    for (store, version, metadata) in
        [("types", 0u8, "zarr.json"), ("codecs", 0, "zarr.json"), ("grid", 0, "zarr.json"), ("version2", 1, ".zarray")]
    {
        let folder = root.join("../tests/golden/zarr").join(format!("{store}.zarr"));
        let mut arrays: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        arrays.retain(|path| path.is_dir());
        arrays.sort();
        for path in arrays {
            let Ok(text) = fs::read(path.join(metadata)) else { continue };
            let text: serde_json::Value = serde_json::from_slice(&text).unwrap();
            let chunks = ["c/0", "c/0/0", "c/0/0/0", "0", "0.0", "c"].map(|name| fs::read(path.join(name)).ok());
            let chunk = chunks.into_iter().flatten().next();
            let chunk = chunk.map(|chunk| [&[0xff], &chunk[..]].concat()).unwrap_or_default();
            let name = format!("{store}-{}", path.file_name().unwrap().to_str().unwrap());
            put("zarr_metadata", &name, &[&[version], text.to_string().as_bytes(), &chunk].concat());
        }
    }
}

/// Decisions about the entries of an archive.
fn tar_decisions(put: &dyn Fn(&str, &str, &[u8])) {
    for index in 1..=12u8 {
        let decisions: Vec<u8> = (0..200u32).map(|number| (number * 37 * u32::from(index) >> 3) as u8).collect();
        put("wharf_tar", &format!("decisions-{index:02}"), &[&[1], &decisions[..]].concat());
    }
}

/// CSV and JSON lines, after the choices that the targets expect.
fn texts(put: &dyn Fn(&str, &str, &[u8])) {
    let cells = [
        ("quotes", 0, "a,\"b\"\"\n\"\r\n1,\"x,\"\"\r\ny\"\r\n\r\n2,z\"\r3,\n"),
        (
            "kinds",
            0,
            "a,b,c,d\n1,2024-05-01,true,\"[1,2]\"\n-0,12:30,FALSE,{}\n.5,2024-05-01T12:30:00Z,,\"{\"\"x\"\":null}\"\n",
        ),
        ("numbers", 0, "a,b\n18446744073709551615,007\n9007199254740993,1e400\nNaN,-Infinity\n,\"\"\n"),
        ("semicolons", 1, "Name;Preis\nBrot;3,50\nK\u{e4}se;12,90\n"),
        ("no-header", 4, "1,2\n3,4\n"),
        ("mark", 0, "\u{feff}a,a,\n1,2,3\n"),
        ("uneven", 0, "a,b\n1\n2,3\n4,5,6\n"),
        ("open-quote", 0, "a\n1\n\"2\n"),
    ];
    for (name, how, text) in cells {
        put("wharf_csv", name, &[&[how], text.as_bytes()].concat());
        put("wharf_import", &format!("csv-{name}"), &[&[1 | how << 1, 0], text.as_bytes()].concat());
    }
    let objects = [
        ("array", " [ {\"a\":1} ,\n {\"b\":[[1,2],[3,4]]}\n] \n"),
        ("floats", "{\"a\":1.5}\n{\"a\":\"NaN\"}\n{\"a\":null}\n{}\n"),
        ("texts", "{\"a\":\"x\",\"key\":\"k\"}\n\n{\"a\":\"2024-05-01\",\"key\":\"l\"}\n"),
        ("pretty", "{\n  \"a\": 1,\n  \"b\": [\n    2\n  ]\n}\n"),
    ];
    for (name, text) in objects {
        put("wharf_json_lines", name, text.as_bytes());
        put("wharf_import", &format!("json-{name}"), &[&[0, 0], text.as_bytes()].concat());
    }
    // Several inputs, separated by a byte that is not in UTF-8.
    put("wharf_import", "json-several", b"\x00\x00{\"a\":1}\xff{\"a\":2,\"b\":\"x\"}\n\xff[{\"b\":null}]");
    put("wharf_import", "csv-several", b"\x01\x00a,b\n1,x\n\xffa,b\n2,y\xffa,b\n3.5,");
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
