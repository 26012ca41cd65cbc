//! Flags that change columns, in every verb that has them.

use std::fs;

use crate::common::run;
use crate::convert_idv::TestFolder;

const PEOPLE: &str = "name,age,height,zip\nAda,36,1.65,007\nGrace,85,,12\n";

#[test]
fn prints_changed_columns() {
    let place = TestFolder::new().with("a.csv", PEOPLE);
    let cat = |arguments: &[&str]| place.run(&[&["cat", "@a.csv", "--csv"], arguments].concat());
    assert_eq!(cat(&["--rename", "name=Name,zip=z", "--drop", "z,age"]).ok(), "Name,height\nAda,1.65\nGrace,\n");
    assert_eq!(cat(&["--cast", "age=text", "--columns", "age"]).ok(), "age\n36\n85\n");
    assert_eq!(cat(&["--concat", "F=age,height", "--drop", "zip", "-n", "1"]).ok(), "name,F\nAda,\"[36.0,1.65]\"\n");
    let ran = cat(&["--cast", "zip=int32"]);
    let expected = "error: @a.csv: \"007\" cannot be cast to Int32; --on-mismatch null makes such values null (row 0, column \"zip\")";
    assert!(ran.code() == 1 && ran.err().replace(&place.path(""), "@").contains(expected), "{}", ran.err());
    let ran = cat(&["--cast", "zip=int32", "--on-mismatch", "null", "--columns", "zip"]);
    assert_eq!((ran.code(), ran.out()), (3, "zip\n\"\"\n12\n"));
    let lines = place.run(&["convert", "@a.csv", "@a.jsonl"]);
    assert_eq!(lines.code(), 0, "{}", lines.err());
    // JSON has no types of columns.
    let ran = place.run(&["cat", "@a.jsonl", "--cast", "age=float32", "--json", "--columns", "age"]);
    assert_eq!((ran.code(), ran.out()), (0, "{\"age\":36.0}\n{\"age\":85.0}\n"));
    assert!(ran.err().contains("rows are read as typed columns"), "{}", ran.err());
    for (arguments, expected) in [
        (["--rename", "nme=x"], "--rename no column \"nme\"; similar: \"name\""),
        (["--rename", "name"], "--rename expected OLD=NEW, found \"name\""),
        (["--cast", "age=number"], "--cast invalid type \"number\""),
        (["--expand", "age"], "--expand expected a vector or a struct, found Int64"),
        (["--concat", "F=name"], "--cast changes the type"),
        (["--rename", "name=age"], "--rename gives one of them another name, --drop leaves it out"),
    ] {
        let ran = cat(&arguments);
        assert!(ran.code() == 2 && ran.err().contains(expected), "{arguments:?}: {}", ran.err());
    }
}

#[test]
fn lays_out_the_columns_of_all_files() {
    let place = TestFolder::new().with("a.csv", "a,b\n1,x\n").with("b.csv", "c,a\n2.5,2\n");
    let ran = place.run(&["cat", "@a.csv", "@b.csv", "--csv"]);
    assert_eq!(ran.code(), 1, "{}", ran.err());
    let all = "a,b,c\n1,x,\n2,,2.5\n";
    assert_eq!(place.run(&["cat", "@a.csv", "@b.csv", "--csv", "--union"]).ok(), all);
    place.run(&["merge", "@a.csv", "@b.csv", "-o", "@c.csv", "--union"]).ok();
    assert_eq!(fs::read_to_string(place.path("c.csv")).unwrap(), all);
    let table = place.run(&["cat", "@a.csv", "@b.csv", "--pretty", "--union"]);
    assert_eq!(
        table.ok().lines().filter(|line| line.contains('a') && line.contains('b') && line.contains('c')).count(),
        1
    );
    for name in ["a", "b"] {
        let ran = place.run(&["convert", &format!("@{name}.csv"), &format!("@{name}.idv")]);
        assert_eq!(ran.code(), 0, "{}", ran.err());
    }
    let ran = place.run(&["merge", "@a.idv", "@b.idv", "-o", "@no.idv"]);
    assert!(ran.code() == 1 && ran.err().contains("columns differ"), "{}", ran.err());
    let ran = place.run(&["merge", "@a.idv", "@b.idv", "-o", "@c.idv", "--union", "--rename", "a=A"]);
    assert_eq!((ran.code(), ran.err()), (3, "warning: null written as NaN (row 0, column \"c\")\n"));
    assert_eq!(
        run(["cat", &place.path("c.idv"), "--json"]).out(),
        "{\"A\":1,\"b\":\"x\",\"c\":\"NaN\"}\n{\"A\":2,\"b\":null,\"c\":2.5}\n"
    );
    // Formats whose files are not joined by rows have no such options.
    place.run(&["convert", "@a.csv", "@a.msgpack", "--number"]).ok();
    let ran = place.run(&["merge", "@a.msgpack", "@a.msgpack", "-o", "@c.msgpack", "--rename", "a=b"]);
    assert!(ran.code() == 2 && ran.err().contains("--rename is an option of"), "{}", ran.err());
}
