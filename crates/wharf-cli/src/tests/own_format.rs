//! A format that only the program knows which runs the command: the example has it.

use wharf::Registry;

use super::Place;

#[path = "../../examples/own_format.rs"]
#[expect(dead_code, reason = "its main function runs elsewhere")]
mod example;

fn place() -> Place {
    let mut place = Place::new().with_text("a.points", "points 1\n2.5 -1 oak\n-0 17.25 elm\n");
    place.registry = Registry::builtin().with(&example::Points);
    place
}

const LINES: &str = "{\"x\":2.5,\"y\":-1.0,\"label\":\"oak\"}\n{\"x\":-0.0,\"y\":17.25,\"label\":\"elm\"}\n";

#[test]
fn it_is_looked_at_like_any_other() {
    let place = place();
    assert_eq!(place.wharf(&["cat", "@a.points"]).ok(), LINES);
    assert_eq!(place.wharf(&["cat", "@a.points", "--columns", "label", "--rows", "1..", "--csv"]).ok(), "label\nelm\n");
    assert_eq!(place.wharf(&["get", "@a.points", "--row", "1"]).ok(), LINES.lines().last().unwrap().to_owned() + "\n");
    assert!(place.wharf(&["info", "@a.points"]).ok().starts_with("@a.points: points 1, 33 bytes\n2 rows, 3 columns\n"));
    assert_eq!(place.wharf(&["verify", "@a.points"]).ok(), "@a.points: ok\n");
    std::fs::write(place.path("bad.points"), "points 1\n2.5 oak\n").unwrap();
    let error = "error: points: @bad.points: found \"2.5 oak\", expected two numbers and a label (row 0)\n";
    let ran = place.wharf(&["cat", "@bad.points"]);
    assert_eq!((ran.code, &*ran.err), (1, error));
}

#[test]
fn it_is_converted_into_every_other() {
    let place = place();
    for (output, options) in [
        ("b.jsonl", &[][..]),
        ("b.csv", &[]),
        ("b.tsv", &[]),
        ("b.idv", &[]),
        ("b.ds", &[]),
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
fn it_is_written_whole_or_not_at_all() {
    let place = place();
    let ran = place.wharf(&["convert", "@a.points", "@b.points", "--columns", "x,y"]);
    let wanted = "error: points: @b.points: points have the columns x, y and label (column \"label\")\n";
    assert_eq!((ran.code, &*ran.err), (2, wanted));
    let lines = "{\"x\":1.5,\"y\":null,\"label\":\"a\"}\n{\"x\":1,\"y\":2.5,\"label\":\"b\"}\n";
    std::fs::write(place.path("n.jsonl"), lines).unwrap();
    let ran = place.wharf(&["convert", "@n.jsonl", "@b.points"]);
    assert_eq!((ran.code, ran.err.contains("found null, expected a value (column \"y\")")), (1, true), "{}", ran.err);
    assert!(!place.path("b.points").exists());
    let ran = place.wharf(&["convert", "@a.points", "@b.points", "--row-group", "5"]);
    assert_eq!((ran.code, &*ran.err), (2, "error: --row-group is for the output parquet, and this one is points\n"));
    let done = place.wharf(&["convert", "@a.points", "@b.points", "--json"]).ok();
    assert_eq!(done, "{\"file\":\"@b.points\",\"to\":\"points\",\"rows\":2,\"bytes\":33,\"columns\":3}\n");
    let ran = place.wharf(&["convert", "@a.points", "@b.points"]);
    assert_eq!((ran.code, &*ran.err), (2, "error: @b.points: the output exists; --force replaces it\n"));
}
