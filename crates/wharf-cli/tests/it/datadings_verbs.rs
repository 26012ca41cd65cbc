//! `merge`, `split`, `shuffle`, `sample` and `get --raw` on datadings datasets.

use std::fs;

use datadings::Reader;
use serde_json::json;

use crate::common::{self, run, wharf};
use crate::datasets::{Folder, PARTS, SOME, golden, keys, same_set};

#[test]
fn split_and_merge_round_trip() {
    let folder = Folder::new();
    let iris = golden("real-iris.msgpack");
    let pattern = folder.path("part-{}.msgpack");
    for how in [["--at", "1,50,149"], ["--parts", "4"], ["--every", "40"], ["--fractions", "0.25,0.25,0.25,0.25"]] {
        let ran = run(["split", &iris, how[0], how[1], "-o", &pattern, "--json", "--force"]);
        let done = ran.lines().remove(0);
        assert_eq!((ran.code(), done["rows"].as_u64()), (0, Some(150)), "{ran:?}");
        let outputs: Vec<String> =
            done["outputs"].as_array().unwrap().iter().map(|o| o["file"].as_str().unwrap().to_owned()).collect();
        assert_eq!(outputs, [0, 1, 2, 3].map(|number| folder.path(&format!("part-{number}.msgpack"))));
        let out = folder.path("again/real-iris.msgpack");
        fs::create_dir_all(folder.path("again")).unwrap();
        let mut arguments = vec!["merge".to_owned(), "-o".to_owned(), out.clone(), "--force".to_owned()];
        arguments.extend(outputs);
        assert_eq!(run(&arguments).ok(), "");
        same_set(&out, &iris);
    }
    let sizes = ["--at", "1,50,149"].map(str::to_owned);
    let ran = run(["split", &iris, &sizes[0], &sizes[1], "-o", &pattern, "--force"]);
    let line = |number: u32, samples: &str| format!("{}: {samples}\n", folder.path(&format!("part-{number}.msgpack")));
    assert_eq!(
        ran.ok(),
        [line(0, "1 sample"), line(1, "49 samples"), line(2, "99 samples"), line(3, "1 sample")].concat()
    );
    assert_eq!(keys(&folder.path("part-1.msgpack")), keys(&iris)[1..50]);
    // No file of a replaced dataset remains.
    fs::write(folder.path("part-0.msgpack.index"), "of before").unwrap();
    assert_eq!(run(["split", &iris, "--parts", "1", "-o", &pattern, "--force", "--no-md5"]).code(), 0);
    let left: Vec<_> = folder.files().into_iter().filter(|name| name.starts_with("part-0")).collect();
    let expected = ["", ".filter", ".key_hashes", ".keys", ".offsets"].map(|part| format!("part-0.msgpack{part}"));
    assert_eq!(left, expected);
    assert!(folder.files().iter().all(|name| !name.contains("wharf")), "nothing is left behind");
}

#[test]
fn names_split_outputs() {
    let folder = Folder::new();
    folder.copy("real-iris.msgpack", &PARTS);
    let iris = folder.path("real-iris.msgpack");
    let ran = run(["split", &iris, "--every", "15"]);
    assert_eq!(ran.ok().lines().next(), Some(&*format!("{}: 15 samples", folder.path("real-iris-0.msgpack"))));
    assert_eq!(ran.ok().lines().count(), 10);
    let ran = run(["split", &format!("{iris}.keys"), "--every", "14"]);
    assert_eq!(ran.ok().lines().last(), Some(&*format!("{}: 10 samples", folder.path("real-iris-10.msgpack"))));
    assert!(folder.files().contains(&"real-iris-00.msgpack".to_owned()));

    let (train, test) = (folder.path("train.msgpack"), folder.path("test.msgpack"));
    let shuffled = ["split", &iris, "--fractions", "0.9,0.1", "--shuffle", "--seed", "7", "-o", &train, "-o", &test];
    assert_eq!(run(shuffled).ok().lines().last(), Some("seed 7"));
    let mut both = keys(&train);
    both.extend(keys(&test));
    assert_eq!((keys(&train).len(), keys(&test).len()), (135, 15));
    assert_ne!(both, keys(&iris));
    both.sort();
    assert_eq!(both, keys(&iris));
}

#[test]
fn split_writes_nothing_on_error() {
    let folder = Folder::new();
    folder.copy("real-iris.msgpack", &PARTS);
    let iris = folder.path("real-iris.msgpack");
    fs::write(folder.path("p-1.msgpack.filter"), "precious").unwrap();
    let before = folder.files();
    let pattern = folder.path("p-{}.msgpack");
    let error = |arguments: &[&str]| {
        let ran = run(arguments);
        assert_eq!((ran.code(), ran.out()), (2, ""), "{ran:?}");
        assert_eq!(folder.files(), before);
        ran.err().replace(&folder.path(""), "@")
    };
    assert_eq!(
        error(&["split", &iris, "--parts", "3", "-o", &pattern]),
        "error: @p-1.msgpack.filter: the output exists; --force replaces it and all files of its set\n"
    );
    assert_eq!(
        error(&["split", &iris, "--parts", "2", "-o", &iris, "-o", &pattern.replace("{}", "x"), "--force"]),
        "error: @real-iris.msgpack: the output is the input @real-iris.msgpack\n"
    );
    assert_eq!(
        error(&["split", &iris, "--parts", "2", "-o", &folder.path("a"), "-o", &folder.path("a")]),
        "error: @a: two outputs would be written to the same file\n"
    );
    assert_eq!(
        error(&["split", &iris, "--parts", "2", "-o", &folder.path("a"), "-o", &folder.path("a.keys")]),
        "error: @a: two outputs would be written to the same file\n"
    );
    assert_eq!(
        error(&["split", &iris, "--parts", "3", "-o", &folder.path("a"), "-o", &folder.path("b")]),
        "error: 2 names for 3 outputs: give a name with {}, or one for each\n"
    );
    assert_eq!(
        error(&["split", &iris, "--at", "150"]),
        "error: @real-iris.msgpack: no record 150: the input has 150 records, counted from 0\n"
    );
    let ran = run(["split", &iris, "--parts", "2", "-o", &folder.path("nowhere/{}.msgpack")]);
    assert_eq!((ran.code(), ran.out()), (1, ""));
    // If the last sample cannot be copied, no output appears.
    let mut bytes = fs::read(&iris).unwrap();
    let last = bytes.len() - 1;
    bytes.truncate(last);
    bytes.push(0xc1);
    fs::write(&iris, bytes).unwrap();
    let ran = run(["split", &iris, "--parts", "3", "-o", &folder.path("q-{}.msgpack")]);
    assert_eq!((ran.code(), ran.out()), (1, ""));
    assert!(ran.err().ends_with("row 149)\n"), "{}", ran.err());
    assert_eq!(folder.files(), before);
}

#[test]
fn same_seed_gives_same_bytes() {
    let folder = Folder::new();
    let iris = golden("real-iris.msgpack");
    let (one, other) = (folder.path("1/s.msgpack"), folder.path("2/s.msgpack"));
    for sub in ["1", "2"] {
        fs::create_dir(folder.path(sub)).unwrap();
    }
    for (options, first) in [
        (&["--seed", "7"][..], SHUFFLED),
        (&["--seed", "7", "--quasi", "--chunk", "5", "--buffer", "30"], QUASI_SHUFFLED),
    ] {
        let mut arguments = vec!["shuffle", &iris, &one, "--force"];
        arguments.extend(options);
        assert_eq!(run(&arguments).ok(), format!("{one}: 150 samples, seed 7\n"));
        let mut arguments = vec!["shuffle", &iris, "-o", &other, "--force", "--threads", "1", "--access", "positional"];
        arguments.extend(options);
        assert_eq!(run(&arguments).ok(), format!("{other}: 150 samples, seed 7\n"));
        same_set(&one, &other);
        // This order is guaranteed across versions.
        let mut found = keys(&one);
        assert_eq!(found[..5], first.map(|number| format!("iris-{number:03}")));
        found.sort();
        assert_eq!(found, keys(&iris));
        let reader = Reader::open(&iris).unwrap();
        for sample in &Reader::open(&one).unwrap() {
            let sample = sample.unwrap();
            let original = reader.get_key(sample.key().unwrap()).unwrap().unwrap();
            assert_eq!(sample.as_bytes(), original.as_bytes());
        }
    }
    // Without --seed the reported seed reproduces the result.
    let ran = run(["shuffle", &iris, &one, "--force", "--json"]);
    let seed = ran.lines().remove(0)["seed"].as_u64().unwrap().to_string();
    assert_eq!(run(["shuffle", &iris, &other, "--force", "--seed", &seed]).code(), 0);
    same_set(&one, &other);
    let ran = run(["shuffle", &iris, &other, "--force", "--json"]);
    assert_ne!(ran.lines().remove(0)["seed"].as_u64().unwrap().to_string(), seed, "chance in 2^32");
}

const SHUFFLED: [u32; 5] = [101, 112, 54, 37, 113];
const QUASI_SHUFFLED: [u32; 5] = [107, 99, 85, 61, 91];

#[test]
fn samples_without_replacement() {
    let folder = Folder::new();
    let (iris, out) = (golden("real-iris.msgpack"), folder.path("out.msgpack"));
    let sample = |options: &[&str]| {
        let mut arguments = vec!["sample", &iris, &out, "--force"];
        arguments.extend(options);
        let ran = run(&arguments);
        assert_eq!((ran.code(), ran.err()), (0, ""));
        (keys(&out), ran.out().replace(&out, "@"))
    };
    let all = keys(&iris);
    let (random, line) = sample(&["-n", "20", "--seed", "7"]);
    assert_eq!(line, "@: 20 samples of 150, seed 7\n");
    assert_eq!(random[..5], SHUFFLED.map(|number| format!("iris-{number:03}")), "the first of the shuffled ones");
    let (kept, _) = sample(&["-n", "20", "--seed", "7", "--keep-order"]);
    let mut sorted = random.clone();
    sorted.sort();
    assert!(random != sorted && kept == sorted, "{kept:?}");
    sorted.dedup();
    assert_eq!(sorted.len(), 20);
    assert_eq!(sample(&["-n", "7", "--sequential"]), (all[..7].to_vec(), "@: 7 samples of 150\n".to_owned()));
    assert_eq!(sample(&["-n", "0"]).0, Vec::<String>::new());
    let mut everything = sample(&["-n", "150"]).0;
    everything.sort();
    assert_eq!(everything, all);
    let ran = run(["sample", &iris, &out, "-n", "151", "--force"]);
    assert_eq!((ran.code(), ran.err()), (2, &*format!("error: {iris}: 151 samples requested, the dataset has 150\n")));
    assert_eq!(keys(&out).len(), 150, "what was there is there");
}

#[test]
fn random_merge_keeps_the_order_of_each_dataset() {
    let folder = Folder::new();
    let (iris, digits, out) = (golden("real-iris.msgpack"), golden("real-digits.msgpack"), folder.path("out.msgpack"));
    let empty = golden("size-0.msgpack");
    let merge = |options: &[&str]| {
        let mut arguments = vec!["merge", &empty, &iris, &empty, &digits, &empty, "-o", &out, "--force"];
        arguments.extend(options);
        let ran = run(&arguments);
        assert_eq!(ran.code(), 0, "{ran:?}");
        assert_eq!(run(["index", &out, "--json"]).code(), 0, "it is sound");
        keys(&out)
    };
    let (i, d) = (keys(&iris), keys(&digits));
    let of = |all: &[String], name: &str| -> Vec<String> {
        all.iter().filter(|key| key.starts_with(name)).cloned().collect()
    };
    assert_eq!(merge(&[]), [i.clone(), d.clone()].concat());
    let random = merge(&["--strategy", "random", "--seed", "7"]);
    assert_eq!((of(&random, "iris"), of(&random, "digit")), (i.clone(), d.clone()), "each keeps its order");
    assert_eq!(random, merge(&["--strategy", "random", "--seed", "7"]));
    assert_ne!(random, merge(&["--strategy", "random", "--seed", "8"]));
    // Samples are drawn in proportion to what is left: the first half has about half of each dataset.
    let half = of(&random[..random.len() / 2], "iris").len();
    assert!((50..=100).contains(&half), "{half} of 150");
    let shuffled = merge(&["--shuffle", "--seed", "7"]);
    let (first, second) = shuffled.split_at(i.len());
    assert_eq!(of(first, "iris").len(), i.len(), "one dataset behind the other");
    assert!(first != i && second != d);
    let both = merge(&["--strategy", "random", "--shuffle", "--seed", "7"]);
    assert!(of(&both, "iris") != i && of(&both, "digit") != d);
    for mut all in [shuffled, both] {
        all.sort();
        assert_eq!(all, {
            let mut all = [d.clone(), i.clone()].concat();
            all.sort();
            all
        });
    }
    // Datasets of the same length are shuffled differently.
    let numbers = |name: char| (0..30).map(|number| format!("{name}{number}")).collect::<Vec<_>>();
    let [a, b] = ['a', 'b'].map(|name| {
        let samples = numbers(name);
        let samples: Vec<_> = samples.iter().map(|key| (key.as_str(), 0)).collect();
        folder.write(&format!("{name}.msgpack"), &samples)
    });
    assert_eq!(run(["merge", &a, &b, "-o", &out, "--force", "--shuffle", "--seed", "7"]).code(), 0);
    let found = keys(&out);
    let order = |keys: &[String]| keys.iter().map(|key| key[1..].to_owned()).collect::<Vec<_>>();
    assert_ne!(order(&found[..30]), order(&found[30..]));
    let ran = run(["merge", &iris, &digits, "-o", &out, "--force", "--strategy", "random", "--json"]);
    let done = ran.lines().remove(0);
    assert_eq!((&done["rows"], &done["inputs"]), (&json!(i.len() + d.len()), &json!(2)));
    let seed = done["seed"].as_u64().unwrap();
    let ran = run(["merge", &iris, &digits, "-o", &out, "--force", "--strategy", "random"]);
    assert!(ran.err().starts_with(&format!("note: {out}: seed ")) && !ran.err().contains(&seed.to_string()));
    let ran = run(["merge", &iris, "-o", &out, "--force", "--seed", "1"]);
    assert_eq!(ran.code(), 2);
}

#[test]
fn duplicate_keys_are_reported_or_resolved() {
    let folder = Folder::new();
    let write = |name: &str, keys: &[(&str, u8)]| folder.write(name, keys);
    let a = write("a.msgpack", &[("x", 1), ("ü", 2)]);
    let b = write("b.msgpack", &[("ü", 3), ("x", 4), ("y", 5)]);
    let c = write("c.msgpack", &[("x#2", 6), ("x", 7)]);
    let out = folder.path("out.msgpack");
    let ran = run(["merge", &a, &b, &c, "-o", &out]);
    let expected =
        format!("error: datadings: {b}: {a} has the same key; --on-duplicate decides what to do (row 0, key \"ü\")\n");
    assert_eq!((ran.code(), ran.err()), (2, &*expected));
    assert!(!fs::exists(&out).unwrap());
    let ran = run(["merge", &a, &b, &c, "-o", &out, "--on-duplicate", "first", "--json"]);
    assert_eq!((ran.code(), &ran.lines()[0]["left_out"]), (3, &json!(3)));
    assert_eq!(folder.labels(&out), [("x", 1), ("ü", 2), ("y", 5), ("x#2", 6)].map(|(k, l)| (k.to_owned(), l)));
    let warnings: Vec<serde_json::Value> = ran.err().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let first = &warnings[0]["warning"];
    assert_eq!((warnings.len(), &first["count"], &first["row"], &first["key"]), (2, &json!(2), &json!(0), &json!("ü")));
    let ran = run(["merge", &a, &b, &c, "-o", &out, "--on-duplicate", "rename", "--force"]);
    assert_eq!(ran.code(), 3);
    let renamed = [("x", 1), ("ü", 2), ("ü#2", 3), ("x#2", 4), ("y", 5), ("x#2#2", 6), ("x#3", 7)];
    assert_eq!(folder.labels(&out), renamed.map(|(key, label)| (key.to_owned(), label)));
    assert_eq!(keys(&out), renamed.map(|(key, _)| key.to_owned()), "in the index too");
    // The suffix counts all occurrences of a key.
    let copies = vec![a.as_str(); 200];
    let ran = run([&["merge", "-o", &out, "--on-duplicate", "rename", "--force"], copies.as_slice()].concat());
    assert_eq!(ran.code(), 3);
    let all = keys(&out);
    assert_eq!((all.len(), &*all[2], &*all[398], &*all[399]), (400, "x#2", "x#200", "ü#200"));
    // Merging a dataset with itself.
    let ran = run(["merge", &a, &a, "-o", &out, "--force"]);
    assert!(ran.err().contains(&format!("{a}: {a} has the same key")), "{}", ran.err());
}

#[test]
fn refuses_mixed_formats_and_inapplicable_options() {
    let folder = Folder::new();
    let (iris, out) = (golden("real-iris.msgpack"), folder.path("out.msgpack"));
    let text = folder.path("x.jsonl");
    fs::write(&text, "{\"key\":\"a\"}\n").unwrap();
    let refused = |arguments: &[&str]| {
        let ran = run(arguments);
        assert!(ran.code() == 1 || ran.code() == 2, "{ran:?}");
        assert_eq!((ran.out(), folder.files()), ("", vec!["x.jsonl".to_owned()]));
        ran.err().to_owned()
    };
    let convert = "its extension stands for datadings, and the input is jsonl: `wharf convert` does that";
    assert!(refused(&["shuffle", &text, &out]).contains(convert));
    let no_stream = "records are copied into a file, not standard output";
    assert!(refused(&["shuffle", &text, "-o", "-"]).contains(no_stream));
    assert!(
        refused(&["shuffle", &text, &text, "--no-md5"])
            .contains("--no-md5 is an option of datadings, the input is jsonl")
    );
    let ds = common::golden("../ds/from-netcdf.ds");
    assert!(refused(&["shuffle", &ds, &out]).contains("shuffle works on samples, documents and rows, the input is ds"));
    assert!(refused(&["shuffle", &iris]).contains("<OUT"));
    assert!(refused(&["shuffle", &iris, &out, "-o", &out]).contains("cannot be used with"));
    assert!(refused(&["shuffle", &iris, &out, "--buffer", "3"]).contains("--quasi"));
    assert!(
        refused(&["shuffle", &iris, &out, "--quasi", "--chunk", "0"]).contains("expected at least 1 sample, found 0")
    );
    assert!(refused(&["shuffle", &iris, &folder.path("")]).contains("the output is a directory"));
    for verb in [&["shuffle", &iris][..], &["merge", &iris], &["split", &iris, "--parts", "1"], &["recover", &iris]] {
        assert!(refused(&[verb, &["-o", "-"]].concat()).contains("a set of files, not standard output"), "{verb:?}");
    }
    assert!(refused(&["recover", &folder.path(""), &out]).contains("a directory cannot be recovered"));
    assert!(refused(&["sample", &iris, &out]).contains("--number"));
    assert!(refused(&["split", &iris]).contains("--parts"));
    assert!(refused(&["split", &iris, "--parts", "2", "--every", "2"]).contains("cannot be used with"));
    assert!(refused(&["split", &iris, "--fractions", "0.5,0.4"]).contains("add up to 0.9"));
    {
        let idv = common::golden("real-adult.idv");
        assert!(refused(&["shuffle", &idv, &out]).contains("its extension stands for datadings, and the input is idv"));
        let store = common::golden("../zds/batches");
        let expected = format!("error: {store}: --raw works on datadings datasets, the input is zds\n");
        assert_eq!(refused(&["get", &store, "--row", "0", "--raw"]), expected);
        let expected = format!("error: {idv}: merge works on datadings datasets, the input is idv\n");
        assert_eq!(refused(&["merge", &iris, &idv, "-o", &out]), expected);
        let expected = format!("error: {iris}: merge works on IDV files, the input is datadings\n");
        assert_eq!(refused(&["merge", &idv, &iris, "-o", &folder.path("out.idv")]), expected);
        let expected = "error: --level is an option of IDV, the inputs are datadings\n";
        assert_eq!(refused(&["merge", &iris, &iris, "-o", &out, "--level", "3"]), expected);
        let expected = "error: --shuffle is an option of datadings, the inputs are idv\n";
        assert_eq!(refused(&["merge", &idv, &idv, "-o", &out, "--shuffle"]), expected);
    }
}

#[cfg(unix)]
#[test]
fn datasets_are_not_written_through_links() {
    let folder = Folder::new();
    let (real, link) = (folder.write("real.msgpack", &[("x", 1), ("y", 2)]), folder.path("link.msgpack"));
    let other = folder.write("other.msgpack", &[("y", 3), ("x", 4)]);
    std::os::unix::fs::symlink("real.msgpack", &link).unwrap();
    let before = folder.files();
    for arguments in [
        &["convert", &other, &link][..],
        &["merge", &other, "-o", &link],
        &["shuffle", &other, &link],
        &["sample", &other, &link, "-n", "1"],
        &["split", &other, "--parts", "1", "-o", &link],
        &["recover", &other, &link],
    ] {
        for force in [&[][..], &["--force"]] {
            let ran = run([arguments, force].concat());
            let expected = "link.msgpack: the output is a symbolic link, and the files of a dataset are side by side: ";
            assert!(ran.code() == 2 && ran.err().contains(expected), "{arguments:?} {ran:?}");
        }
    }
    assert_eq!((folder.files(), run(["verify", &real]).code()), (before, 0));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn a_stale_key_list_is_reported() {
    let folder = Folder::new();
    let stale = folder.write("stale.msgpack", &[("x", 1), ("y", 2)]);
    fs::copy(folder.write("other.msgpack", &[("y", 3), ("x", 4)]), &stale).unwrap();
    for arguments in [&["get", &stale, "x"][..], &["get", &stale, "x", "--pretty"], &["get", &stale, "x", "--raw"]] {
        let ran = run(arguments);
        let expected =
            format!("warning: {stale}: the index lists another key than the row has: \"y\" (row 0, key \"x\")\n");
        assert_eq!((ran.code(), ran.err()), (3, &*expected), "{arguments:?}");
    }
    assert_eq!(run(["get", &stale, "--row", "0"]).code(), 0);
    assert_eq!(run(["get", &folder.path("other.msgpack"), "x"]).code(), 0);
}

#[test]
fn small_and_irregular_datasets() {
    let folder = Folder::new();
    let out = folder.path("out.msgpack");
    for name in SOME {
        let input = golden(name);
        // Messages that are not valid samples are copied and reported.
        let is_sound = name != "raw-without-key.msgpack";
        let run_well = |arguments: &[&str]| {
            let ran = run(arguments);
            assert_eq!(ran.code(), if is_sound { 0 } else { 3 }, "{name}: {}", ran.err());
            let text = "sample copied although verification rejects it: ";
            assert_eq!(ran.err().contains(text), !is_sound, "{name}: {}", ran.err());
        };
        run_well(&["shuffle", &input, &out, "--force"]);
        assert_eq!(run(["verify", &out]).code(), i32::from(!is_sound));
        let mut found = keys(&out);
        found.sort();
        let mut expected = keys(&input);
        expected.sort();
        assert_eq!(found, expected, "{name}");
        run_well(&["merge", &input, "-o", &out, "--force"]);
        assert_eq!(fs::read(&out).unwrap(), fs::read(&input).unwrap(), "{name}");
        assert_eq!(keys(&out), keys(&input), "{name}");
        let (one, other) = (folder.path("p-0.msgpack"), folder.path("p-1.msgpack"));
        let pattern = folder.path("p-{}.msgpack");
        run_well(&["split", &input, "--parts", "1", "-o", &pattern, "--force"]);
        assert_ne!(run(["split", &input, "--parts", "2", "-o", &pattern, "--force"]).code(), 1);
        assert_eq!([keys(&one), keys(&other)].concat(), keys(&input), "{name}");
    }
}

/// The key in a sample differs from the one in the key list.
#[test]
fn reports_samples_with_wrong_keys() {
    let folder = Folder::new();
    let input = folder.write("in.msgpack", &[("a", 1), ("b", 2), ("c", 3)]);
    let (data, out) = (fs::read(&input).unwrap(), folder.path("out.msgpack"));
    let other = data.windows(2).position(|bytes| bytes == b"\xa1b").unwrap() + 1;
    fs::write(&input, [&data[..other], b"x", &data[other + 1..]].concat()).unwrap();
    let text = r#"sample copied although verification rejects it: key mismatch: "x" in the sample, "b" in the key list (key "b")"#;
    for arguments in [
        vec!["convert", &input, &out],
        vec!["merge", &input, "-o", &out],
        vec!["sample", &input, &out, "-n", "3"],
        vec!["shuffle", &input, &out],
    ] {
        let ran = run(arguments.iter().chain(&["--force"]));
        assert_eq!((ran.code(), ran.err().contains(text)), (3, true), "{arguments:?}: {}", ran.err());
        assert_eq!(run(["verify", &out]).code(), 1);
    }
    assert_eq!(
        run(["sample", &input, &out, "-n", "1", "--sequential", "--force"]).ok(),
        format!("{out}: 1 sample of 3\n")
    );
}

#[test]
fn accepts_standard_input() {
    let folder = Folder::new();
    let (iris, out) = (golden("real-iris.msgpack"), folder.path("real-iris.msgpack"));
    let from_stdin = |arguments: &[&str]| {
        let status = wharf(arguments).stdin(fs::File::open(&iris).unwrap()).status().unwrap();
        assert!(status.success(), "{arguments:?}");
    };
    from_stdin(&["sample", "-", &out, "-n", "150", "--sequential"]);
    same_set(&out, &iris);
    // Data without an index too.
    folder.copy("size-300.msgpack", &[""]);
    let bare = folder.path("size-300.msgpack");
    assert_eq!(run(["shuffle", &bare, &folder.path("s.msgpack"), "--seed", "1"]).code(), 0);
    assert_eq!(keys(&folder.path("s.msgpack")).len(), 300);
    from_stdin(&["merge", &golden("size-0.msgpack"), "-", "-o", &out, "--force"]);
    same_set(&out, &iris);
}

#[test]
fn raw_prints_stored_bytes() {
    let folder = Folder::new();
    let file = folder.write("a.msgpack", &[("x", 1), ("ü", 2)]);
    let ran = run(["get", &file, "ü", "--raw"]);
    assert_eq!(
        (ran.code(), &ran.0.stdout[..]),
        (0, &b"\x83\xa3key\xa2\xc3\xbc\xa5label\x02\xa5image\xc4\x03\xff\x00\x02"[..])
    );
    let ran = run(["get", &file, "--row", "1", "--raw", "--field", "image"]);
    assert_eq!(ran.0.stdout, b"\xff\x00\x02");
    assert_eq!(run(["get", &file, "--row", "1", "--raw", "--field", "key"]).ok(), "ü");
    let error = |arguments: &[&str]| {
        let ran = run(arguments);
        assert_eq!((ran.code(), ran.out()), (2, ""));
        ran.err().replace(&folder.path(""), "@")
    };
    assert_eq!(
        error(&["get", &file, "x", "--raw", "--field", "label"]),
        "error: @a.msgpack: --raw prints bytes or a string, but the field \"label\" is an integer (row 0)\n"
    );
    assert_eq!(
        error(&["get", &file, "x", "--raw", "--field", "labels"]),
        "error: @a.msgpack: the sample has no field \"labels\" (row 0)\n"
    );
    assert_eq!(error(&["get", &file, "z", "--raw"]), "error: @a.msgpack: no record has this key (key \"z\")\n");
    assert_eq!(
        error(&["get", &file, "--row", "2", "--raw"]),
        "error: @a.msgpack: no row 2: the input has 2 rows, counted from 0\n"
    );
}

#[test]
fn help_lists_input_before_output() {
    for (verb, usage) in [
        ("recover", "[OPTIONS] <IN> <OUT>\n"),
        ("shuffle", "[OPTIONS] <IN> <OUT>\n"),
        ("sample", "[OPTIONS] -n <N> <IN> <OUT>\n"),
        ("convert", "[OPTIONS] <IN>... <OUT>\n"),
    ] {
        let help = run([verb, "-h"]).ok().to_owned();
        assert!(help.contains(&format!("\nUsage: wharf {verb} {usage}")), "{help}");
    }
}
