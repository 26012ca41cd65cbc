use std::fs;

use container_core::ErrorKind;
use tempfile::TempDir;

use super::*;
use crate::convert::{Convert, TextTarget};
use crate::subset::Parts;
use crate::{Recover, Sample, Shuffle, Split};

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
    folder
}

/// The rows of a file as JSON lines.
fn lines(path: &Path) -> String {
    let mut out = Vec::new();
    Convert::new([path]).stream(&TextTarget::JSON_LINES, &mut out, &Registry::builtin()).unwrap();
    String::from_utf8(out).unwrap()
}

/// The same two rows and one row in this format.
fn inputs(folder: &TempDir, extension: &str) -> [PathBuf; 2] {
    [("a", "{\"id\":\"x\",\"n\":1}\n{\"id\":\"y\",\"n\":2}\n"), ("b", "{\"id\":\"z\",\"n\":3}\n")].map(
        |(name, text)| {
            let rows = folder.path().join(format!("{name}.rows.jsonl"));
            fs::write(&rows, text).unwrap();
            let path = folder.path().join(format!("{name}.{extension}"));
            let registry = Registry::builtin();
            let (mut convert, mut target) = (Convert::new([rows]), registry.target_for(&path).unwrap());
            let options = match extension {
                "msgpack" => &[("key", "id")][..],
                "zds" => &[("id", "id"), ("collection", "rows")],
                _ => &[],
            };
            for (option, value) in options {
                convert.set(target.as_mut(), option, value, &registry).unwrap();
            }
            convert.write_as(target.as_ref(), &path, Overwrite::Refuse, &registry).unwrap();
            path
        },
    )
}

#[test]
fn files_of_every_format_are_joined() {
    for extension in ["idv", "msgpack", "ds", "zds", "parquet", "arrow", "arrows", "csv", "tsv", "jsonl"] {
        let folder = folder(&[]);
        let merge = Merge::new(inputs(&folder, extension));
        let merge = if extension == "ds" { merge.with_option("dim", "row") } else { merge };
        let out = folder.path().join("c").with_extension(extension);
        let report = merge.write(&out, Overwrite::Refuse, &Registry::builtin()).unwrap();
        assert_eq!((report.inputs, report.losses.len()), (2, 0), "{extension}: {report:?}");
        assert!(report.rows == 3 || report.variables == 2, "{extension}: {report:?}");
        let ids = lines(&out);
        let ids: Vec<_> = ids.lines().map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap()).collect();
        let pairs: Vec<_> = ids.iter().map(|row| (row["id"].as_str().unwrap(), row["n"].as_i64().unwrap())).collect();
        assert_eq!(pairs, [("x", 1), ("y", 2), ("z", 3)], "{extension}");
    }
}

#[test]
fn of_rows_columns_are_selected() {
    let folder = folder(&[("a.csv", "x,\"y,z\"\n1,a\n"), ("b.csv", "x,\"y,z\"\n2,b\n")]);
    let merge = Merge::new(["a.csv", "b.csv"].map(|name| folder.path().join(name))).with_columns(["y,z"]);
    let out = folder.path().join("c.csv");
    merge.write(&out, Overwrite::Refuse, &Registry::builtin()).unwrap();
    assert_eq!(fs::read_to_string(out).unwrap(), "\"y,z\"\na\nb\n");
}

#[test]
fn errors_name_options_and_no_flags() {
    let folder = folder(&[("a.csv", "x\n1\n"), ("b.csv", "y\n1\n")]);
    let path = |name: &str| folder.path().join(name);
    let error = |merge: &Merge| {
        let error = merge.write(path("out"), Overwrite::Refuse, &Registry::builtin()).unwrap_err();
        assert!(!path("out").exists() && !error.to_string().contains("--"), "{error}");
        (error.kind(), error.to_string().replace(&format!("{}/", folder.path().display()), ""))
    };
    let [a, b] = inputs(&folder, "ds");
    let wanted = "ds and NetCDF files are merged along a dimension; dim selects it";
    assert_eq!(error(&Merge::new([&a, &b])), (ErrorKind::Usage, wanted.to_owned()));
    let merge = Merge::new([&a]).with_option("no_md5", "");
    assert_eq!(error(&merge).1, "no_md5 is an option of datadings, the inputs are ds");
    let merge = Merge::new([path("a.csv")]).with_option("keep_times", "");
    assert_eq!(error(&merge).1, "keep_times is an option of ds and NetCDF, the inputs are csv");
    let [a, b] = inputs(&folder, "msgpack");
    let wanted = "datadings: a.msgpack: a.msgpack has the same key; on_duplicate decides what to do (row 0, key \"x\")";
    assert_eq!(error(&Merge::new([&a, &b, &a])).1, wanted);
    let merge = Merge::new([&a]).with_option("seed", "1");
    let wanted = "seed has no effect: nothing is random here; it goes with strategy random and with shuffle";
    assert_eq!(error(&merge).1, wanted);
    let (kind, text) = error(&Merge::new(["a.csv", "b.csv"].map(path)));
    assert!(kind == ErrorKind::Invalid && text.starts_with("b.csv: "), "{text}");
    assert_eq!(error(&Merge::default()).1, "there is no input");
}

#[test]
fn the_report_has_what_was_lost_before_an_error() {
    let folder = folder(&[]);
    let [a, b] = inputs(&folder, "msgpack");
    let bytes = fs::read(&b).unwrap();
    fs::write(&b, vec![0xC1; bytes.len()]).unwrap();
    let merge = Merge::new([&a, &a, &b]).with_option("on_duplicate", "first");
    let mut report = Report::default();
    let to = To::Path(&folder.path().join("c.msgpack"), Overwrite::Refuse);
    let error = merge.run(to, &mut Opener::new(Registry::builtin()), &mut report).unwrap_err();
    assert!(error.to_string().contains("b.msgpack"), "{error}");
    let [lost] = &*report.losses else { panic!("{report:?}") };
    assert_eq!((&*lost.loss.what, lost.loss.count), ("sample left out: duplicate key", 2));
}

#[test]
fn an_opener_is_left_as_it_was() {
    let folder = folder(&[]);
    let mut opener = Opener::new(Registry::builtin());
    let to = folder.path().join("c.idv");
    let merge = Merge::new(inputs(&folder, "idv"));
    merge.run(To::Path(&to, Overwrite::Refuse), &mut opener, &mut Report::default()).unwrap();
    assert!(matches!(opener.access, container_core::Access::Auto));
}

#[test]
fn verbs_that_keep_the_format_refuse_the_extension_of_another() {
    let registry = &Registry::builtin();
    for extension in ["idv", "msgpack", "ds", "nc", "zds", "parquet", "arrow", "csv", "jsonl"] {
        let folder = folder(&[]);
        let [input, _] = inputs(&folder, extension);
        let out = folder.path().join(if extension == "parquet" { "out.CSV" } else { "out.parquet" });
        let new = Overwrite::Refuse;
        let is_variables = ["ds", "nc"].contains(&extension);
        let merge = Merge::new([&input]);
        let merge = if is_variables { merge.with_option("dim", "row") } else { merge };
        let split = Split::new(&input, Parts::Equal(1)).with_outputs([&out]);
        let verbs = [
            ("merge", merge.write(&out, new, registry).map(drop)),
            ("recover", Recover::new(&input).write(&out, new, registry).map(drop)),
            ("shuffle", Shuffle::new(&input).write(&out, new, registry).map(drop)),
            ("sample", Sample::new(&input, 1).write(&out, new, registry).map(drop)),
            ("split", split.write(new, registry).map(drop)),
        ];
        for (verb, done) in verbs {
            let error = done.unwrap_err();
            let has_records = !is_variables || ["merge", "recover"].contains(&verb);
            let expected =
                if has_records { "its extension stands for" } else { "works on samples, documents and rows" };
            assert!(error.detail().contains(expected), "{verb} {extension}: {error}");
            assert_eq!((error.kind(), out.exists()), (ErrorKind::Usage, false), "{verb} {extension}: {error}");
        }
    }
}
