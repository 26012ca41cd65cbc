//! `wharf convert` to datadings: from text and from containers.

use std::fs;
use std::process::Stdio;

use datadings::{Kind, Reader};
use serde_json::json;

use crate::common::{self, run};
use crate::dataset_folder::{self, SUFFIXES, TestFolder};

#[test]
fn json_lines_round_trip() {
    let text = concat!(
        r#"{"key":"a","n":-1,"big":18446744073709551615,"x":0.1,"s":"\u0001é","l":[1,[2.5,null],{}],"b":true}"#,
        "\n",
        r#"{"x":{"y":1e300},"key":"ä b"}"#,
        "\n",
        r#"{"key":"","image":{"$bytes":"AAEC"},"a":{"$ndarray":{"dtype":"<i2","shape":[2],"data":[1,-2]}}}"#,
        "\n",
    );
    let place = TestFolder::new().with("a.jsonl", text);
    place.run(&["convert", "@a.jsonl", "@a.msgpack"]).ok();
    assert_eq!(place.lines("a.msgpack"), text.replace("1e300", "1e+300").lines().collect::<Vec<_>>());
    place.check_sums("a.msgpack");
    // Python and Rust print different digits for the same float.
    let reader = Reader::open(place.path("a.msgpack")).unwrap();
    assert_eq!(reader.get(0).unwrap().field("x").unwrap().f64().unwrap(), 0.1);
    assert_eq!(reader.get(2).unwrap().field("image").unwrap().bin().unwrap(), [0, 1, 2]);
    assert_eq!(reader.find("ä b").unwrap(), Some(1));
    // An array of objects gives the same table, for any number of threads.
    let array = format!("[{}]", text.trim_end().replace('\n', ",\n "));
    let place = place.with("b.json", &array);
    for threads in ["1", "3"] {
        place.run(&["convert", "@b.json", "@b.msgpack", "--force", "--threads", threads]).ok();
        assert_eq!(place.read("b.msgpack"), place.read("a.msgpack"));
    }
}

#[test]
fn takes_keys_from_the_requested_source() {
    let place =
        TestFolder::new().with("a.jsonl", "{\"id\":7,\"x\":1}\n{\"x\":2,\"id\":\"b\"}\n\n{\"id\":-3,\"x\":3}\n");
    place.run(&["convert", "@a.jsonl", "@id.msgpack", "--key", "id"]).ok();
    assert_eq!(
        place.lines("id.msgpack"),
        [r#"{"key":"7","id":7,"x":1}"#, r#"{"key":"b","x":2,"id":"b"}"#, r#"{"key":"-3","id":-3,"x":3}"#]
    );
    place.run(&["convert", "@a.jsonl", "@x.msgpack", "--key", "id", "--columns", "x", "--rows", "1.."]).ok();
    assert_eq!(place.lines("x.msgpack"), [r#"{"key":"b","x":2}"#, r#"{"key":"-3","x":3}"#]);
    // The number is that of the input row, independent of the selection.
    place.run(&["convert", "@a.jsonl", "@a.jsonl", "@n.msgpack", "--number", "--rows", "2..5", "--columns", "id"]).ok();
    assert_eq!(
        place.lines("n.msgpack"),
        [r#"{"key":"0000000002","id":-3}"#, r#"{"key":"0000000003","id":7}"#, r#"{"key":"0000000004","id":"b"}"#]
    );
    let place = place.with("a.csv", "id,x,key\n7,1,a\n007,2,b\n");
    place.run(&["convert", "@a.csv", "@c.msgpack"]).ok();
    assert_eq!(place.lines("c.msgpack"), [r#"{"id":"7","x":1,"key":"a"}"#, r#"{"id":"007","x":2,"key":"b"}"#]);
    place.run(&["convert", "@a.csv", "@d.msgpack", "--key", "id", "--columns", "x,id"]).ok();
    assert_eq!(place.lines("d.msgpack"), [r#"{"key":"7","x":1,"id":"7"}"#, r#"{"key":"007","x":2,"id":"007"}"#]);
    place.run(&["convert", "@a.csv", "@e.msgpack", "--columns", "x", "-n", "1"]).ok();
    assert_eq!(place.lines("e.msgpack"), [r#"{"key":"a","x":1}"#]);
    place.run(&["convert", "@a.csv", "@f.msgpack", "--number", "--columns", "x"]).ok();
    assert_eq!(place.lines("f.msgpack"), [r#"{"key":"0000000000","x":1}"#, r#"{"key":"0000000001","x":2}"#]);
}

#[test]
fn types_cells_by_column() {
    let csv = "key,i,f,t,b,j,none\r\n1,3,1,x,true,\"[1,2]\",\r\n2,,2.5,\"a,\"\"b\"\"\n\",FALSE,,\r\n3,18446744073709551615,NaN,,,[],\r\n4,,,\"\",,,\r\n";
    let place = TestFolder::new().with("a.csv", csv);
    let ran = place.run(&["convert", "@a.csv", "@a.msgpack", "--json"]);
    let columns = json!({"key": "str", "i": "int", "f": "float", "t": "str", "b": "bool", "j": "JSON", "none": "nil"});
    assert_eq!(ran.lines()[0]["columns"], columns);
    assert_eq!(
        place.lines("a.msgpack"),
        [
            r#"{"key":"1","i":3,"f":1.0,"t":"x","b":true,"j":[1,2],"none":null}"#,
            r#"{"key":"2","i":null,"f":2.5,"t":"a,\"b\"\n","b":false,"j":null,"none":null}"#,
            r#"{"key":"3","i":18446744073709551615,"f":"NaN","t":null,"b":null,"j":[],"none":null}"#,
            r#"{"key":"4","i":null,"f":null,"t":"","b":null,"j":null,"none":null}"#,
        ]
    );
    // In the dataset it is a float.
    let reader = Reader::open(place.path("a.msgpack")).unwrap();
    assert!(reader.get(2).unwrap().field("f").unwrap().f64().unwrap().is_nan());
    assert_eq!(reader.get(0).unwrap().field("f").unwrap().kind().unwrap(), Kind::Float);
    place.run(&["convert", "@a.csv", "@t.msgpack", "--text", "-n", "1"]).ok();
    assert_eq!(place.lines("t.msgpack"), [r#"{"key":"1","i":"3","f":"1","t":"x","b":"true","j":"[1,2]","none":""}"#]);
    // Types are those of all rows.
    place.run(&["convert", "@a.csv", "@r.msgpack", "--rows", "..1", "--columns", "f"]).ok();
    assert_eq!(place.lines("r.msgpack"), [r#"{"key":"1","f":1.0}"#]);
    let place = place.with("b.tsv", "k\t1\n").with("c.csv", "k;1\n");
    place.run(&["convert", "@b.tsv", "@b.msgpack", "--no-header", "--key", "c0"]).ok();
    place.run(&["convert", "@c.csv", "@c.msgpack", "--no-header", "--key", "c0", "--delimiter", ";"]).ok();
    assert_eq!(place.lines("b.msgpack"), [r#"{"key":"k","c0":"k","c1":1}"#]);
    assert_eq!(place.read("b.msgpack"), place.read("c.msgpack"));
}

#[test]
fn output_does_not_depend_on_thread_count() {
    let (mut lines, mut csv) = (String::new(), "key,n,x\n".to_owned());
    for n in 0..30_000 {
        lines.push_str(&format!("{{\"key\":\"k{n}\",\"n\":{n},\"x\":{}.5}}\n", n % 7));
        csv.push_str(&format!("k{n},{n},{}.5\n", n % 7));
    }
    let place = TestFolder::new().with("a.jsonl", &lines).with("a.csv", &csv);
    for (input, output) in [("@a.jsonl", "@j.msgpack"), ("@a.csv", "@c.msgpack")] {
        place.run(&["convert", input, output, "--threads", "1"]).ok();
    }
    assert_eq!(place.lines("j.msgpack"), lines.lines().collect::<Vec<_>>());
    place.run(&["convert", "@a.jsonl", "@p.msgpack"]).ok();
    for suffix in SUFFIXES.iter().filter(|suffix| **suffix != ".md5") {
        assert_eq!(place.read(&format!("c.msgpack{suffix}")), place.read(&format!("j.msgpack{suffix}")), "{suffix}");
        assert_eq!(place.read(&format!("p.msgpack{suffix}")), place.read(&format!("j.msgpack{suffix}")), "{suffix}");
    }
}

#[test]
fn reports_record_errors_with_line() {
    let place = TestFolder::new()
        .with("none.jsonl", "{\"key\":\"a\"}\n{\"k\":1}\n")
        .with("number.jsonl", "{\"key\":\"a\"}\n\n{\"x\":1,\"key\":7}\n")
        .with("twice.jsonl", "{\"key\":\"a\"}\n{\"key\":\"b\"}\n{\"key\":\"a\"}\n{\"k\":1}\n")
        .with("member.jsonl", "{\"key\":\"a\",\"x\":1,\"x\":2}\n")
        .with("wide.jsonl", "{\"key\":\"a\",\"x\":[1,18446744073709551616]}\n")
        .with("id.jsonl", "{\"id\":1.5}\n")
        .with("two.jsonl", "{\"id\":\"1\",\"key\":\"x\"}\n")
        .with("bytes.jsonl", "{\"key\":\"a\",\"x\":{\"$bytes\":\"?\"}}\n")
        .with("none.csv", "a\n1\n")
        .with("empty.csv", "key,a\nx,1\n,2\n")
        .with("twice.csv", "key,a\nx,1\nx,2\n");
    for (arguments, code, said) in [
        (
            &["none.jsonl"][..],
            1,
            "none.jsonl: missing \"key\", which every sample needs; --key takes another column, --number the row's number (byte 12, line 2)",
        ),
        (&["number.jsonl"], 1, "number.jsonl: key: expected text, found 7 (byte 26, line 3, column \"key\")"),
        (
            &["twice.jsonl"],
            1,
            "twice.jsonl: duplicate key, first in sample 0: not written again (byte 24, line 3, key \"a\")",
        ),
        (&["member.jsonl"], 1, "member.jsonl: duplicate member (byte 21, line 1, column \"x\")"),
        (
            &["wide.jsonl"],
            1,
            "wide.jsonl: integer 18446744073709551616 exceeds 64 bits (byte 18, line 1, column \"x\")",
        ),
        (
            &["id.jsonl", "--key", "id"],
            1,
            "id.jsonl: key: expected text or an integer, found 1.5 (byte 6, line 1, column \"id\")",
        ),
        (&["id.jsonl", "--key", "no"], 1, "id.jsonl: missing \"no\", the key column (byte 0, line 1)"),
        (
            &["two.jsonl", "--key", "id"],
            1,
            "two.jsonl: the column \"key\" exists already, and another key was requested; --columns can leave it out (byte 16, line 1, column \"key\")",
        ),
        (&["none.jsonl", "--number", "--columns", "no"], 2, "no column \"no\""),
        (
            &["none.csv"],
            1,
            "none.csv: missing \"key\", which every sample needs; --key takes another column, --number the row's number",
        ),
        (&["none.csv", "--key", "b"], 2, "none.csv: no column \"b\""),
        (&["empty.csv"], 1, "empty.csv: key: expected text, found an empty cell (byte 10, line 3, column \"key\")"),
        (
            &["twice.csv"],
            1,
            "twice.csv: duplicate key, first in sample 0: not written again (byte 10, line 3, key \"x\")",
        ),
        (
            &["empty.csv", "--number"],
            1,
            "empty.csv: the column \"key\" exists already, and another key was requested; --columns can leave it out (column \"key\")",
        ),
    ] {
        let format = if arguments[0].ends_with("csv") { "csv" } else { "jsonl" };
        let input = format!("@{}", arguments[0]);
        let full = [&["convert", &input, "@out.msgpack"], &arguments[1..]].concat();
        let said = said.replace(arguments[0], &input);
        assert_eq!(place.said(&full), (code, format!("error: {format}: {said}\n")), "{arguments:?}");
    }
    let (code, said) = place.said(&["convert", "@bytes.jsonl", "@out.msgpack"]);
    assert_eq!(code, 1);
    assert!(
        said.contains("@bytes.jsonl") && said.contains("$bytes") && said.contains("line 1, column \"x\""),
        "{said}"
    );
    assert!(place.files().iter().all(|name| !name.contains("msgpack") && !name.contains("tmp")), "{:?}", place.files());
}

#[test]
fn copies_datasets_byte_for_byte() {
    let place = TestFolder::new();
    for name in
        ["real-iris", "raw-without-key", "raw-long-forms", "values-arrays", "keys-unicode", "size-0", "size-300"]
    {
        let golden = dataset_folder::golden(&format!("{name}.msgpack"));
        let output = format!("@{name}.msgpack");
        let ran = place.run(&["convert", &golden, &output]);
        assert_eq!(ran.code(), if name == "raw-without-key" { 3 } else { 0 }, "{}", ran.err());
        for suffix in SUFFIXES {
            let copy = place.read(&format!("{name}.msgpack{suffix}"));
            assert_eq!(copy, fs::read(format!("{golden}{suffix}")).unwrap(), "{name}{suffix}");
        }
    }
    // A legacy index is converted like Python does it; a missing part is created.
    let whole = dataset_folder::golden("index-converted.msgpack");
    for name in ["index-legacy", "index-n-offsets-alone", "index-without-keys"] {
        let input = dataset_folder::golden(&format!("{name}.msgpack"));
        place.run(&["convert", &input, "@index-converted.msgpack", "--force"]).ok();
        for suffix in SUFFIXES.iter().filter(|suffix| **suffix != ".md5") {
            let made = place.read(&format!("index-converted.msgpack{suffix}"));
            assert_eq!(made, fs::read(format!("{whole}{suffix}")).unwrap(), "{name}{suffix}");
        }
        place.check_sums("index-converted.msgpack");
    }
}

#[test]
fn reports_samples_that_are_not_maps() {
    let place = TestFolder::new();
    let golden = dataset_folder::golden("raw-without-key.msgpack");
    let (code, said) = place.said(&["convert", &golden, "@out.jsonl"]);
    assert!(code == 3 && said.contains("row written as a line that is not an object (3 times, first row 0)"), "{said}");
    assert_eq!(place.run(&["verify", "@out.jsonl"]).code(), 1);
    let (code, said) = place.said(&["convert", &golden, "@rest.jsonl", "--rows", "2..5"]);
    assert_eq!(code, 0, "{said}");
    place.run(&["verify", "@rest.jsonl"]).ok();
}

#[test]
fn selects_fields_and_rows() {
    let place = TestFolder::new()
        .with("a.jsonl", "{\"key\":\"a\",\"x\":1,\"y\":2}\n{\"y\":3,\"key\":\"b\"}\n{\"key\":\"c\",\"x\":4}\n");
    place.run(&["convert", "@a.jsonl", "@a.msgpack"]).ok();
    place.run(&["convert", "@a.msgpack", "@b.msgpack", "--columns", "y,x"]).ok();
    assert_eq!(
        place.lines("b.msgpack"),
        [r#"{"key":"a","y":2,"x":1}"#, r#"{"key":"b","y":3}"#, r#"{"key":"c","x":4}"#]
    );
    place.run(&["convert", "@a.msgpack", "@c.msgpack", "--columns", "x,key", "--rows", "1..", "--no-md5"]).ok();
    assert_eq!(place.lines("c.msgpack"), [r#"{"key":"b"}"#, r#"{"x":4,"key":"c"}"#]);
    assert!(!place.files().contains(&"c.msgpack.md5".to_owned()));
    let (code, said) = place.said(&["convert", "@a.msgpack", "@d.msgpack", "--columns", "z"]);
    assert_eq!((code, said.as_str()), (2, "error: @a.msgpack: no column \"z\"\n"));
    let (code, said) = place.said(&["convert", "@a.msgpack", "@a.msgpack", "@d.msgpack"]);
    assert_eq!((code, said.contains("duplicate key, first in sample 0")), (1, true), "{said}");
    assert!(said.starts_with("error: @a.msgpack: ") && said.contains("row 0, key \"a\""), "{said}");
    let (code, said) = place.said(&["convert", "@a.msgpack", "@d.msgpack", "--rows", "4.."]);
    assert_eq!((code, said.as_str()), (2, "error: no row 4: the input has 3 rows, counted from 0\n"));
}

#[test]
fn converts_idv_rows_to_samples() {
    let place = TestFolder::new();
    let text = "{\"id\":\"a\",\"n\":1,\"x\":0.5,\"v\":[1.5,2.5],\"t\":\"2024-05-06T07:08:09\",\"b\":true}\n\
                {\"id\":\"b\",\"n\":2,\"x\":\"NaN\",\"v\":[3.5,4.5],\"t\":\"2024-05-06T07:08:10\",\"b\":false}\n";
    let schema = r#"{"id":"Text","n":"Int32","x":"Single","v":"Vector<Double, 2>","t":"DateTime","b":"Boolean"}"#;
    let place = place.with("a.jsonl", text).with("types.json", schema);
    place.run(&["convert", "@a.jsonl", "@a.idv", "--schema", "@types.json"]).ok();
    place.run(&["convert", "@a.idv", "@a.msgpack", "--key", "id"]).ok();
    let keyed = |line: &str| line.replacen("{\"id\":\"", "{\"key\":\"?\",\"id\":\"", 1);
    let expected: Vec<_> = text.lines().map(keyed).zip(["a", "b"]).map(|(line, key)| line.replace('?', key)).collect();
    assert_eq!(place.lines("a.msgpack"), expected);
    // Floats stay floats, even if JSON writes them as strings.
    let reader = Reader::open(place.path("a.msgpack")).unwrap();
    let sample = reader.get(1).unwrap();
    assert_eq!(sample.field("x").unwrap().as_bytes()[0], 0xca);
    assert!(sample.field("x").unwrap().f64().unwrap().is_nan());
    assert_eq!(sample.field("t").unwrap().kind().unwrap(), Kind::Str);
    place.run(&["convert", "@a.idv", "@b.msgpack", "--key", "id", "--columns", "b,n", "--rows", "1"]).ok();
    assert_eq!(place.lines("b.msgpack"), [r#"{"key":"b","b":false,"n":2}"#]);
    place.run(&["convert", "@a.idv", "@a.idv", "@c.msgpack", "--number", "--columns", "n", "--rows", "1..3"]).ok();
    assert_eq!(place.lines("c.msgpack"), [r#"{"key":"0000000001","n":2}"#, r#"{"key":"0000000002","n":1}"#]);
    let (code, said) = place.said(&["convert", "@a.idv", "@d.msgpack"]);
    assert_eq!(code, 1);
    assert!(said.starts_with("error: @a.idv: missing \"key\", which every sample needs"), "{said}");
    let (code, said) = place.said(&["convert", "@a.idv", "@d.msgpack", "--key", "x"]);
    assert_eq!(code, 1);
    assert_eq!(said, "error: @a.idv: key: expected text or an integer, found a value of kind float (row 0)\n");
    let (code, said) = place.said(&["convert", "@a.idv", "@a.jsonl", "@d.msgpack", "--number"]);
    assert_eq!(code, 2);
    assert_eq!(said, "error: @a.jsonl: found JSON lines, expected IDV like @a.idv: all inputs must be of one kind\n");
}

#[test]
fn writes_times_and_row_ids_of_idv_as_text() {
    let key = |name: &str, labels: [&str; 2], item: &str| {
        json!({"name": name, "type": "Key<UInt32, 2>", "metadata": {"KeyValues": labels},
            "metadata_types": {"KeyValues": format!("Vector<{item}, 2>")}})
    };
    let schema = json!([
        key("kt", ["2020-01-01T00:00:00", "2021-01-01T00:00:00"], "DateTime"),
        key("ks", ["PT5S", "-PT1S"], "TimeSpan"),
        key("ko", ["2020-01-01T00:00:00+05:30", "2021-01-01T00:00:00+00:00"], "DateTimeOffset"),
        key("kr", ["00000000000000010000000000000000", "00000000000000000000000000000001"], "RowId"),
        {"name": "r", "type": "RowId"},
        {"name": "v", "type": "Vector<RowId>"},
        {"name": "x", "type": "Single"},
    ]);
    let row = r#"{"kt":"2020-01-01T00:00:00","ks":"-PT1S","ko":"2020-01-01T00:00:00+05:30","kr":"00000000000000010000000000000000","r":"ffffffffffffffff0000000000000000","v":["00000000000000010000000000000000"],"x":0.1}"#;
    let place = TestFolder::new().with("a.jsonl", &format!("{row}\n")).with("types.json", &schema.to_string());
    place.run(&["convert", "@a.jsonl", "@a.idv", "--schema", "@types.json"]).ok();
    place.run(&["convert", "@a.idv", "@a.msgpack", "--number"]).ok();
    assert_eq!(place.lines("a.msgpack"), [row.replacen('{', "{\"key\":\"0000000000\",", 1)]);
    // Other columns keep their width.
    let reader = Reader::open(place.path("a.msgpack")).unwrap();
    assert_eq!(reader.get(0).unwrap().field("x").unwrap().as_bytes()[0], 0xca);
    // Names of columns may change.
    place.run(&["convert", "@a.idv", "@b.msgpack", "--number", "--rename", "ks=s", "--columns", "s,r"]).ok();
    let renamed = r#"{"key":"0000000000","s":"-PT1S","r":"ffffffffffffffff0000000000000000"}"#;
    assert_eq!(place.lines("b.msgpack"), [renamed]);
}

#[test]
fn sparse_vectors_of_idv_come_back() {
    let row = r#"{"v":{"$sparse":{"length":4,"indices":[1,3],"values":[0.5,2.0]}}}"#;
    let schema = r#"{"v":"Vector<Single, 4>"}"#;
    let place = TestFolder::new().with("a.jsonl", &format!("{row}\n")).with("types.json", schema);
    place.run(&["convert", "@a.jsonl", "@a.idv", "--schema", "@types.json"]).ok();
    place.run(&["convert", "@a.idv", "@a.msgpack", "--number"]).ok();
    assert_eq!(place.lines("a.msgpack"), [row.replacen('{', "{\"key\":\"0000000000\",", 1)]);
    for options in [&["--schema", "@types.json"][..], &["--columns", "v"]] {
        assert_eq!(place.run(&[&["convert", "@a.msgpack", "@b.idv", "--force"], options].concat()).code(), 0);
        assert_eq!(place.run(&["cat", "@b.idv", "--columns", "v"]).ok(), format!("{row}\n"), "{options:?}");
    }
    place.run(&["convert", "@a.msgpack", "@a.parquet", "--columns", "v"]).ok();
    assert_eq!(place.run(&["cat", "@a.parquet"]).ok(), "{\"v\":[0.0,0.5,0.0,2.0]}\n");
}

#[test]
fn documents_have_a_key_or_an_id() {
    let place = TestFolder::new().with("a.jsonl", "{\"_id\":\"x\",\"n\":1,\"m\":2}\n");
    place.run(&["convert", "@a.jsonl", "@a.zds"]).ok();
    let key = |options: &[&str]| {
        assert_eq!(place.run(&[&["convert", "@a.zds", "@a.msgpack", "--force"], options].concat()).code(), 0);
        place.lines("a.msgpack")
    };
    assert_eq!(key(&[]), [r#"{"key":"x","_id":"x","n":1,"m":2}"#]);
    assert_eq!(key(&["--drop", "m"]), [r#"{"key":"x","_id":"x","n":1}"#]);
    assert_eq!(key(&["--rename", "m=k"]), [r#"{"key":"x","_id":"x","n":1,"k":2}"#]);
    assert_eq!(key(&["--cast", "m=text"]), [r#"{"key":"x","_id":"x","n":1,"m":"2"}"#]);
    // Samples keep their keys.
    let place = place.with("b.jsonl", "{\"key\":\"a\",\"n\":1}\n");
    place.run(&["convert", "@b.jsonl", "@b.msgpack"]).ok();
    assert_eq!(place.run(&["convert", "@b.msgpack", "@b.zds"]).code(), 0);
    for options in [&[][..], &["--key", "key"]] {
        place.run(&[&["convert", "@b.zds", "@c.msgpack", "--force"], options].concat()).ok();
        let lines = place.lines("c.msgpack");
        assert!(lines.len() == 1 && lines[0].contains(r#""key":"a""#), "{lines:?}");
    }
}

#[test]
fn keeps_existing_dataset_without_force() {
    let place = TestFolder::new().with("a.jsonl", "{\"key\":\"a\"}\n").with("x.msgpack.keys", "precious");
    let (code, said) = place.said(&["convert", "@a.jsonl", "@x.msgpack"]);
    assert_eq!(code, 2);
    assert!(said.starts_with("error: @x.msgpack.keys: the output exists; --force replaces it"), "{said}");
    assert_eq!(place.read("x.msgpack.keys"), b"precious");
    place.run(&["convert", "@a.jsonl", "@x.msgpack", "--force"]).ok();
    place.check_sums("x.msgpack");
    let before = place.read("x.msgpack");
    for input in ["@x.msgpack", "@x.msgpack.offsets"] {
        let (code, said) = place.said(&["convert", input, "@x.msgpack", "--force"]);
        assert_eq!(code, 2);
        assert!(said.contains("the output is the input"), "{said}");
    }
    let (code, _) = place.said(&["convert", "@a.jsonl", "@a.jsonl", "--force", "--to", "datadings"]);
    assert_eq!(code, 2);
    // A failed run keeps the existing output.
    let place = place.with("bad.jsonl", "{\"key\":\"a\"}\n{\"key\":\"a\"}\n");
    assert_eq!(place.said(&["convert", "@bad.jsonl", "@x.msgpack", "--force"]).0, 1);
    assert_eq!(place.read("x.msgpack"), before);
    place.check_sums("x.msgpack");
    fs::create_dir(place.path("folder")).unwrap();
    let (code, said) = place.said(&["convert", "@a.jsonl", "@folder", "--to", "datadings", "--force"]);
    assert_eq!((code, said.as_str()), (2, "error: @folder: the output is a directory\n"));
    let (code, said) = place.said(&["convert", "@a.jsonl", "-", "--to", "datadings"]);
    assert_eq!(code, 2);
    assert_eq!(said, "error: a datadings dataset is a set of files, not standard output: give a path\n");
}

#[test]
fn empty_inputs_give_empty_datasets() {
    let place = TestFolder::new().with("a.jsonl", "").with("b.json", "[]").with("c.csv", "key,x\n").with("d.csv", "");
    for name in ["a.jsonl", "b.json", "c.csv", "d.csv"] {
        place.run(&["convert", &format!("@{name}"), "@out.msgpack", "--force"]).ok();
        assert_eq!(Reader::open(place.path("out.msgpack")).unwrap().len(), 0);
        for suffix in SUFFIXES.iter().filter(|suffix| **suffix != ".md5") {
            let golden = dataset_folder::golden(&format!("size-0.msgpack{suffix}"));
            assert_eq!(place.read(&format!("out.msgpack{suffix}")), fs::read(golden).unwrap(), "{name}{suffix}");
        }
    }
}

#[test]
fn reads_standard_input() {
    let place = TestFolder::new().with("a.jsonl", "{\"key\":\"a\"}\n");
    let mut command = common::wharf(place.arguments(&["convert", "-", "@out.msgpack", "--json"]));
    let input = fs::File::open(place.path("a.jsonl")).unwrap();
    let output = command.stdin(Stdio::from(input)).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(place.lines("out.msgpack"), [r#"{"key":"a"}"#]);
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(line, json!({"file": place.path("out.msgpack"), "to": "datadings", "rows": 1, "bytes": 7}));
}

#[test]
fn refuses_conflicting_options() {
    let place = TestFolder::new().with("a.jsonl", "{\"key\":\"a\"}\n").with("a.csv", "key\na\n");
    for (arguments, said) in [
        (&["@a.jsonl", "@x.msgpack", "--text"][..], "--text does not go with inputs that are JSON lines"),
        (&["@a.jsonl", "@x.msgpack", "--no-header"], "--no-header does not go with inputs that are JSON lines"),
        (&["@a.csv", "@x.msgpack", "--pattern", "*"], "--pattern does not go with inputs that are CSV"),
        (&["@a.csv", "@x.msgpack", "--field", "image"], "--field does not go with inputs that are CSV"),
        (&["@a.csv", "@x.msgpack", "--missing-as-null"], "--missing-as-null does not go with inputs that are CSV"),
        (&["@a.csv", "@x.jsonl", "--number"], "--number is an option of datadings, the output is jsonl"),
        (&["@a.csv", "@x.jsonl", "--label-names", "x"], "--label-names is an option of datadings, the output is jsonl"),
    ] {
        let full = [&["convert"], arguments].concat();
        assert_eq!(place.said(&full), (2, format!("error: {said}\n")), "{arguments:?}");
    }
    for (arguments, said) in [
        (&["@a.csv", "@x.idv", "--key", "key"][..], "--key is an option of datadings, the output is idv"),
        (
            &["@a.csv", "@x.msgpack", "--schema", "x"],
            "--schema is an option of idv, ds, netcdf, zarr, parquet, arrow and arrows, the output is datadings",
        ),
    ] {
        let full = [&["convert"], arguments].concat();
        assert_eq!(place.said(&full), (2, format!("error: {said}\n")), "{arguments:?}");
    }
    let error =
        run(place.arguments(&["convert", "@a.csv", "@x.msgpack", "--json", "--text", "--key", "b"])).json_error(2);
    assert_eq!(error["kind"], "usage");
    assert_eq!(error["file"], place.path("a.csv"));
}

#[test]
fn converts_samples_to_idv_rows() {
    let place = TestFolder::new().with("a.jsonl", "{\"key\":\"a\",\"image\":{\"$bytes\":\"AAEC\"},\"n\":1}\n");
    let cat = |name: &str| {
        let ran = place.run(&["cat", &format!("@{name}"), "--json"]);
        ran.ok().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let types = |name: &str| -> Vec<String> {
        let info = place.run(&["info", &format!("@{name}"), "--json"]).lines().remove(0);
        let columns = info["tables"][0]["columns"].as_array().unwrap();
        columns
            .iter()
            .map(|column| format!("{}: {}", column["name"].as_str().unwrap(), column["type"].as_str().unwrap()))
            .collect()
    };
    place.run(&["convert", &dataset_folder::golden("real-iris.msgpack"), "@iris.idv", "--json"]);
    assert_eq!(
        types("iris.idv"),
        ["key: Text", "sepal: Vector<Double, 2>", "petal: Vector<Double, 2>", "species: Text"]
    );
    // And back.
    place.run(&["convert", "@iris.idv", "@iris.msgpack"]).ok();
    assert_eq!(place.lines("iris.msgpack"), cat("iris.idv"));
    // numpy arrays become vectors of the same type and dimensions.
    let digits = dataset_folder::golden("real-digits.msgpack");
    place.run(&["convert", &digits, "@digits.idv", "--columns", "label,image", "-n", "3", "--json"]);
    assert_eq!(types("digits.idv"), ["label: Int64", "image: Vector<Byte, 8, 8>"]);
    let rows = cat("digits.idv");
    let reader = Reader::open(&digits).unwrap();
    assert_eq!(rows.len(), 3);
    for (row, sample) in rows.iter().zip(&reader) {
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        let image: Vec<Vec<i64>> = sample.unwrap().field("image").unwrap().decode().unwrap();
        assert_eq!(row["image"], json!(image.concat()));
    }
    place.run(&["convert", "@a.jsonl", "@a.msgpack"]).ok();
    let (code, said) = place.said(&["convert", "@a.msgpack", "@a.idv"]);
    assert_eq!(code, 1);
    assert_eq!(
        said,
        "error: idv: @a.msgpack: no IDV type for Binary; --schema can declare it Text, which keeps its JSON (column \"image\")\n"
    );
    place.run(&["convert", "@a.msgpack", "@a.idv", "--columns", "n", "--json"]);
    assert_eq!(types("a.idv"), ["n: Int64"]);
    let (code, said) = place.said(&["convert", "@a.msgpack", "@b.idv", "--columns", "no"]);
    assert_eq!((code, said.contains("no column \"no\"")), (2, true), "{said}");
}
