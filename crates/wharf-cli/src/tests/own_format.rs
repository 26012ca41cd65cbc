//! The format of examples/own_format.rs, which only the registry of that program contains.

use wharf::{Merge, Overwrite, Recover, Registry, Reindex};

use super::TestFolder;

#[path = "../../examples/own_format.rs"]
#[expect(dead_code, reason = "its main function runs elsewhere")]
mod example;

fn place() -> TestFolder {
    let mut place = TestFolder::new().with_text("a.points", "points 1\n2.5 -1 oak\n-0 17.25 elm\n");
    place.registry = Registry::builtin().with(&example::Points);
    place
}

const LINES: &str = "{\"x\":2.5,\"y\":-1.0,\"label\":\"oak\"}\n{\"x\":-0.0,\"y\":17.25,\"label\":\"elm\"}\n";

#[test]
fn own_format_can_be_inspected() {
    let place = place();
    assert_eq!(place.wharf(&["cat", "@a.points"]).ok(), LINES);
    assert_eq!(place.wharf(&["cat", "@a.points", "--columns", "label", "--rows", "1..", "--csv"]).ok(), "label\nelm\n");
    assert_eq!(place.wharf(&["get", "@a.points", "--row", "1"]).ok(), LINES.lines().last().unwrap().to_owned() + "\n");
    assert!(place.wharf(&["info", "@a.points"]).ok().starts_with("@a.points: points 1, 33 bytes\n2 rows, 3 columns\n"));
    assert_eq!(place.wharf(&["verify", "@a.points"]).ok(), "@a.points: ok\n");
    std::fs::write(place.path("bad.points"), "points 1\n2.5 oak\n").unwrap();
    let error = "error: points: @bad.points: expected two numbers and a label, found \"2.5 oak\" (row 0)\n";
    let ran = place.wharf(&["cat", "@bad.points"]);
    assert_eq!((ran.code, &*ran.err), (1, error));
}

#[test]
fn own_format_converts_to_every_other() {
    let place = place();
    for (output, options) in [
        ("b.jsonl", &[][..]),
        ("b.csv", &[]),
        ("b.tsv", &[]),
        ("b.idv", &[]),
        ("b.ds", &[]),
        ("b.nc", &[]),
        ("b.msgpack", &["--key", "label"]),
        ("b.zds", &["--id", "label"]),
        ("b.parquet", &[]),
        ("b.arrow", &[]),
        ("b.arrows", &[]),
    ] {
        let output = format!("@{output}");
        let ran = place.wharf(&[&["convert", "@a.points", &output], options].concat());
        assert_eq!((ran.code, ran.err.contains("warning")), (0, false), "{output}: {}", ran.err);
        let back = place.wharf(&["cat", &output, "--columns", "x,y,label"]).ok();
        assert_eq!(back, LINES, "{output}");
        let again = format!("{output}.points");
        place.wharf(&["convert", &output, &again, "--columns", "label,x,y"]).ok();
        let text = std::fs::read_to_string(place.path(&again[1..])).unwrap();
        assert_eq!(text, "points 1\n2.5 -1 oak\n-0 17.25 elm\n", "{output}");
    }
}

#[test]
fn own_format_output_is_atomic() {
    let place = place();
    let ran = place.wharf(&["convert", "@a.points", "@b.points", "--columns", "x,y"]);
    let expected = "error: points: @b.points: missing column (column \"label\")\n";
    assert_eq!((ran.code, &*ran.err), (2, expected));
    let lines = "{\"x\":1.5,\"y\":null,\"label\":\"a\"}\n{\"x\":1,\"y\":2.5,\"label\":\"b\"}\n";
    std::fs::write(place.path("n.jsonl"), lines).unwrap();
    let ran = place.wharf(&["convert", "@n.jsonl", "@b.points"]);
    assert_eq!((ran.code, ran.err.contains("expected a value, found null (column \"y\")")), (1, true), "{}", ran.err);
    assert!(!place.path("b.points").exists());
    let ran = place.wharf(&["convert", "@a.points", "@b.points", "--row-group", "5"]);
    assert_eq!((ran.code, &*ran.err), (2, "error: --row-group is an option of parquet, the output is points\n"));
    let done = place.wharf(&["convert", "@a.points", "@b.points", "--json"]).ok();
    assert_eq!(done, "{\"file\":\"@b.points\",\"to\":\"points\",\"rows\":2,\"bytes\":33,\"columns\":3}\n");
    let ran = place.wharf(&["convert", "@a.points", "@b.points"]);
    assert_eq!((ran.code, &*ran.err), (2, "error: @b.points: the output exists; --force replaces it\n"));
}

#[test]
fn own_format_files_merge() {
    let place = place();
    std::fs::write(place.path("b.points"), "points 1\n1 1 ash\n").unwrap();
    let done = place.wharf(&["merge", "@a.points", "@b.points", "-o", "@c.points", "--json"]).ok();
    assert_eq!(done, "{\"file\":\"@c.points\",\"to\":\"points\",\"rows\":3,\"bytes\":41,\"inputs\":2}\n");
    assert_eq!(place.read("c.points"), "points 1\n2.5 -1 oak\n-0 17.25 elm\n1 1 ash\n");
    let error =
        "error: @d.parquet: its extension stands for parquet, and the input is points: `wharf convert` does that";
    assert_eq!(place.wharf(&["merge", "@a.points", "@b.points", "-o", "@d.parquet"]).failed(2), error);
    std::fs::write(place.path("d.csv"), "x,y,label\n1,2,a\n").unwrap();
    let error =
        "error: @d.csv: found csv, expected points like the first input; `wharf convert` joins different formats";
    assert_eq!(place.wharf(&["merge", "@a.points", "@d.csv", "-o", "@e.points"]).failed(2), error);
    let error = "error: --on-duplicate is an option of datadings, the inputs are points";
    assert_eq!(place.wharf(&["merge", "@a.points", "-o", "@e.points", "--on-duplicate", "first"]).failed(2), error);
    assert_eq!(place.files(), ["a.points", "b.points", "c.points", "d.csv"]);
}

#[test]
fn own_format_has_a_merger_of_its_own() {
    let mut place = place();
    std::fs::write(place.path("b.points"), "points 1\n1.50 1e1 ash\n").unwrap();
    place.registry = place.registry.with_merger(|| Box::<example::PointsMerger>::default());
    let done = place.wharf(&["merge", "@b.points", "@a.points", "-o", "@c.points", "--json"]).ok();
    assert_eq!(done, "{\"file\":\"@c.points\",\"to\":\"points\",\"rows\":3,\"bytes\":46,\"inputs\":2}\n");
    // A merge by rows writes 1.5 and 10.
    assert_eq!(place.read("c.points"), "points 1\n1.50 1e1 ash\n2.5 -1 oak\n-0 17.25 elm\n");
    let error = "error: --columns is an option of IDV, the inputs are points";
    assert_eq!(place.wharf(&["merge", "@a.points", "-o", "@d.points", "--columns", "x"]).failed(2), error);
    let options = place.registry.merge_options();
    assert_eq!(options.last().map(|option| option.name), Some("sorted"));
    let merge = Merge::new([place.path("a.points"), place.path("b.points")]).with_option("sorted", "");
    let report = merge.write(place.path("d.points"), Overwrite::Refuse, &place.registry).unwrap();
    assert_eq!((report.format, report.rows), ("points", 3));
    assert_eq!(place.read("d.points"), "points 1\n1.50 1e1 ash\n-0 17.25 elm\n2.5 -1 oak\n");
    // Without the merger there is no such option.
    let registry = Registry::builtin().with(&example::Points);
    let error = merge.write(place.path("e.points"), Overwrite::Refuse, &registry).unwrap_err();
    assert_eq!(error.to_string(), "unknown option \"sorted\"");
}

#[test]
fn own_format_rows_sample_split_and_shuffle() {
    let place = place();
    let rows: String = (0..100).map(|n| format!("{n} {} row-{n}\n", n % 7)).collect();
    std::fs::write(place.path("all.points"), format!("points 1\n{rows}")).unwrap();
    let body = |name: &str| place.read(name).strip_prefix("points 1\n").unwrap().to_owned();
    let done = place.wharf(&["split", "@all.points", "--at", "10,90"]).ok();
    assert_eq!(done, "@all-0.points: 10 rows\n@all-1.points: 80 rows\n@all-2.points: 10 rows\n");
    assert_eq!(["all-0.points", "all-1.points", "all-2.points"].map(body).concat(), rows);
    let done = place.wharf(&["sample", "@all.points", "@some.points", "-n", "20", "--seed", "7"]).ok();
    assert_eq!(done, "@some.points: 20 rows of 100, seed 7\n");
    let done = place.wharf(&["shuffle", "@all.points", "@mixed.points", "--seed", "7"]).ok();
    assert_eq!(done, "@mixed.points: 100 rows, seed 7\n");
    let (some, mixed) = (body("some.points"), body("mixed.points"));
    // A sample is the beginning of a shuffle.
    assert!(mixed.starts_with(&some) && mixed != rows);
    let mut sorted: Vec<&str> = mixed.lines().collect();
    sorted.sort_by_key(|line| line.split(' ').next().unwrap().parse::<u32>().unwrap());
    assert_eq!(sorted, rows.lines().collect::<Vec<_>>());
}

#[test]
fn own_format_recovers_intact_lines() {
    let place = place();
    std::fs::write(place.path("bad.points"), "points 1\n2.5 -1 oak\n2.5 oak\n???\n-0 17.25 elm\n").unwrap();
    let ran = place.wharf(&["recover", "@bad.points", "@b.points"]);
    let warning = "warning: @bad.points: line that is not a point (2 times, first line 3)\n";
    assert_eq!((ran.code, &*ran.err, &*ran.out), (3, warning, "@b.points: 2 rows, 33 bytes\n"));
    assert_eq!(place.read("b.points"), place.read("a.points"));
    assert_eq!(place.wharf(&["recover", "@a.points", "@c.points"]).ok(), "@c.points: 2 rows, 33 bytes\n");
    assert_eq!(place.wharf(&["recover", "@a.points", "@c.points"]).code, 2, "the output exists");
    let error = "error: @d.csv: its extension stands for csv, and the input is points: `wharf convert` does that";
    assert_eq!(place.wharf(&["recover", "@a.points", "@d.csv"]).failed(2), error);
}

#[test]
fn own_format_has_a_recoverer_of_its_own() {
    let mut place = place();
    std::fs::write(place.path("bad.points"), "points 1\n2.5 -1 oak\n2.5 1\n???\n").unwrap();
    place.registry = place.registry.with_recoverer(|| Box::<example::PointsRecoverer>::default());
    let ran = place.wharf(&["recover", "@bad.points", "@b.points"]);
    let warning = "warning: @bad.points: line that is not a point (2 times, first line 3)\n";
    assert_eq!((ran.code, &*ran.err, &*ran.out), (3, warning, "@b.points: 1 row, 20 bytes\n"));
    let error = "error: @bad.points: --columns is an option of IDV, the input is points";
    assert_eq!(place.wharf(&["recover", "@bad.points", "@c.points", "--columns", "x"]).failed(2), error);
    let error = "error: @bad.points: --in-place is an option of ZDS, the input is points";
    assert_eq!(place.wharf(&["recover", "@bad.points", "--in-place"]).failed(2), error);
    let options = place.registry.recover_options();
    assert_eq!(options.last().map(|option| option.name), Some("label"));
    let recover = Recover::new(place.path("bad.points")).with_option("label", "ash");
    let report = recover.write(place.path("c.points"), Overwrite::Refuse, &place.registry).unwrap();
    assert_eq!((report.format, report.rows, report.losses.len()), ("points", 2, 1));
    assert_eq!(place.read("c.points"), "points 1\n2.5 -1 oak\n2.5 1 ash\n");
    // Without the recoverer there is no such option.
    let registry = Registry::builtin().with(&example::Points);
    let error = recover.write(place.path("d.points"), Overwrite::Refuse, &registry).unwrap_err();
    assert_eq!(error.to_string(), "unknown option \"label\"");
}

#[test]
fn own_format_has_a_reindexer_of_its_own() {
    let mut place = place();
    let error = "error: @a.points: index works on datadings datasets, the input is points";
    assert_eq!(place.wharf(&["index", "@a.points"]).failed(2), error);
    place.registry = place.registry.with_reindexer(|| Box::<example::PointsReindexer>::default());
    // Once, though it is given twice.
    let done = place.wharf(&["index", "@a.points", "@a.points"]).ok();
    assert_eq!(done, "@a.points: 2 rows, index rebuilt (it was missing)\n");
    assert_eq!(place.read("a.offsets"), "9\n20\n");
    let done = place.wharf(&["index", "@a.points", "--json"]).ok();
    let expected = "{\"file\":\"@a.points\",\"rows\":2,\"bytes\":33,\"before\":\"offsets\",\"bytes_cut\":0,\"kept_older\":false}\n";
    assert_eq!(done, expected);
    let error = "error: @a.points: --truncate is an option of datadings, the input is points";
    assert_eq!(place.wharf(&["index", "@a.points", "--truncate"]).failed(2), error);
    let error = "error: @a.points: --table is an option of ZDS, the input is points";
    assert_eq!(place.wharf(&["index", "@a.points", "--table", "x"]).failed(2), error);
    let options = place.registry.reindex_options();
    assert_eq!(options.last().map(|option| option.name), Some("hexadecimal"));
    let report = Reindex::new(place.path("a.points")).with_option("hexadecimal", "").run(&place.registry).unwrap();
    assert_eq!((report.format, report.indexes[0].rows), ("points", 2));
    assert_eq!(place.read("a.offsets"), "9\n14\n");
}

#[test]
fn options_of_an_own_format_are_flags() {
    let mut place = place();
    let error = "error: unexpected argument '--decimals' found";
    assert!(place.wharf(&["convert", "@a.points", "@b.points", "--decimals", "2"]).failed(2).starts_with(error));
    place.registry = place
        .registry
        .with_target(|| Box::<example::PointsTarget>::default())
        .with_merger(|| Box::<example::PointsMerger>::default())
        .with_recoverer(|| Box::<example::PointsRecoverer>::default())
        .with_reindexer(|| Box::<example::PointsReindexer>::default());
    place.wharf(&["convert", "@a.points", "@b.points", "--decimals", "2"]).ok();
    assert_eq!(place.read("b.points"), "points 1\n2.50 -1.00 oak\n-0.00 17.25 elm\n");
    let error = "error: invalid value '301' for '--decimals <N>': 301 is not in 0..=300";
    assert!(place.wharf(&["convert", "@a.points", "@c.points", "--decimals", "301"]).failed(2).starts_with(error));
    let error = "error: --decimals is an option of points, the output is csv";
    assert_eq!(place.wharf(&["convert", "@a.points", "@c.csv", "--decimals", "1"]).failed(2), error);
    assert!(place.wharf(&["convert", "--help"]).ok().contains("Options for points outputs:\n"));
    place.wharf(&["merge", "@a.points", "@b.points", "-o", "@c.points", "--sorted"]).ok();
    assert_eq!(place.read("c.points"), "points 1\n-0 17.25 elm\n-0.00 17.25 elm\n2.5 -1 oak\n2.50 -1.00 oak\n");
    std::fs::write(place.path("bad.points"), "points 1\n2.5 1\n").unwrap();
    place.wharf(&["recover", "@bad.points", "@d.points", "--label", "ash"]);
    assert_eq!(place.read("d.points"), "points 1\n2.5 1 ash\n");
    place.wharf(&["index", "@b.points", "--hexadecimal"]).ok();
    assert!(place.read("b.offsets").ends_with("18\n"), "{}", place.read("b.offsets"));
}
