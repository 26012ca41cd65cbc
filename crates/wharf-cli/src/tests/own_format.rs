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
    }
}
