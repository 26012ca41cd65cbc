//! The commands of the record and their small inputs.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::shell;
use crate::traced::faults::{self, Snapshot};

/// A command and the files it runs on.
pub(super) struct Case {
    /// The record file that contains it.
    pub(super) group: String,
    /// The command as the record shows it.
    pub(super) name: String,
    pub(super) arguments: Vec<String>,
    pub(super) before: Snapshot,
    /// The input file for its standard input.
    pub(super) stdin: Option<String>,
    /// Whether the record shows standard output of any length.
    pub(super) shows_stdout: bool,
    /// How to convert columns one by one if the whole table cannot be converted.
    pub(super) by_column: Option<ByColumn>,
}

/// Parameters for conversions of single columns.
pub(super) struct ByColumn {
    pub(super) input: String,
    /// A column that is always selected, as an option names it.
    pub(super) always: Option<&'static str>,
}

/// The golden tables that exist in every format.
const TABLES: [&str; 6] = ["types", "missing", "unicode", "empty", "wide", "iris"];

/// The formats, and the options with which `convert` writes them from any input.
const FORMATS: [(&str, &str); 11] = [
    ("idv", ""),
    ("msgpack", "--number"),
    ("ds", ""),
    ("zds", ""),
    ("store", "--to zds"),
    ("parquet", ""),
    ("arrow", ""),
    ("arrows", ""),
    ("csv", ""),
    ("tsv", ""),
    ("jsonl", ""),
];

/// One format of each kind, where formats of a kind behave alike.
const KINDS: [(&str, &str); 7] = [
    ("idv", ""),
    ("msgpack", "--number"),
    ("ds", ""),
    ("store", "--to zds"),
    ("parquet", ""),
    ("csv", ""),
    ("jsonl", ""),
];

/// Further golden files, with options.
const FILES: [&str; 32] = [
    "idv/scalar-integers.idv",
    "idv/scalar-floats.idv",
    "idv/scalar-times.idv",
    "idv/scalar-least-span.idv",
    "idv/scalar-rowids.idv",
    "idv/text-unicode.idv",
    "idv/vector-varying.idv",
    "idv/vector-dimensions.idv",
    "idv/sparse-fixed.idv",
    "idv/sparse-varying.idv",
    "idv/key-widest.idv",
    "idv/key-values-text.idv",
    "idv/key-values-sparse.idv",
    "idv/key-above-count.idv",
    "idv/annotation-scalars.idv",
    "idv/transform-categories.idv",
    "idv/score-classes.idv",
    "idv/name-repeated.idv",
    "idv/empty-columns-rows.idv",
    "idv-older/version-1-zlib.idv",
    "ds/bools-masked.ds --table count_09_1",
    "ds/masked-big.ds --table float32_some_1",
    "ds/str-objects-masked.ds",
    "ds/dimensions.ds --table time",
    "ds/scalars.ds",
    "ds/attributes.ds --table t",
    "datadings/values-scalars.msgpack",
    "datadings/values-structured.msgpack",
    "datadings/raw-without-key.msgpack",
    "zds/forms",
    "zds/two --table train",
    "zds/deleted --table middle",
];

/// NetCDF files with scales, fill values, unlimited dimensions and groups.
const NETCDF: [&str; 4] = ["netcdf/basic-cdf1.nc", "netcdf/basic-cdf5.nc", "netcdf/basic-nc4.nc", "netcdf/rich.nc"];

/// Text files whose types are inferred: name and content.
const TEXTS: [(&str, &str); 13] = [
    (
        "numbers.csv",
        "zero,lead,big,huge,float,half\n-0,00712,9223372036854775807,18446744073709551615,1e400,0.1\n0,10001,-9223372036854775808,18446744073709551616,1e-400,1\n",
    ),
    ("mixed.csv", "number,word,flag,hole,list\n1,true,true,,\"[1,2]\"\nx,1,false,7,\"[3,null]\"\n2.5,NaN,TRUE,,[]\n"),
    (
        "times.csv",
        "z,local,offset,date,old,fine\n2024-01-01T00:00:00Z,2024-01-01T00:00:00,2024-01-01T00:00:00+02:00,2024-02-29,1581-01-01,2024-01-01T00:00:00.123456789Z\n1969-12-31T23:59:59.5Z,1969-12-31 23:59:59,1969-12-31T23:59:59-05:30,1969-12-31,0001-01-01,1969-12-31T23:59:59.999999999Z\n",
    ),
    (
        "quotes.csv",
        "\"a \"\"b\"\"\",\"c,d\",\"e\nf\",g\n\" lead\",\"x,y\",\"two\nlines\",\"\"\n'single',\"\"\"\",\"\r\n\",\n",
    ),
    ("semicolons.csv", "preis;menge\n1,5;2\n2,25;3\n"),
    ("short.csv", "a,b,c\n1,2\n3,4,5\n"),
    (
        "numbers.jsonl",
        "{\"zero\":-0,\"float\":-0.0,\"big\":9223372036854775807,\"huge\":18446744073709551615,\"beyond\":18446744073709551616}\n{\"zero\":0,\"float\":1,\"big\":-9223372036854775808,\"huge\":0,\"beyond\":1e300}\n",
    ),
    (
        "mixed.jsonl",
        "{\"a\":1,\"b\":[1],\"c\":1}\n{\"a\":\"x\",\"b\":{\"c\":1},\"c\":\"1\"}\n{\"a\":2.5,\"b\":null,\"c\":2}\n",
    ),
    (
        "times.jsonl",
        "{\"z\":\"2024-01-01T00:00:00Z\",\"local\":\"2024-01-01T00:00:00\",\"date\":\"2024-02-29\",\"offset\":\"2024-01-01T00:00:00+02:00\"}\n{\"z\":\"1969-12-31T23:59:59.5Z\",\"local\":\"1969-12-31T23:59:59\",\"date\":\"1969-12-31\",\"offset\":null}\n",
    ),
    (
        "nested.jsonl",
        "{\"o\":{\"a\":1,\"b\":{\"c\":\"x\"}},\"l\":[{\"a\":1},{\"b\":2}],\"v\":[1,2],\"w\":[[1,2],[3]],\"n\":null,\"e\":{}}\n{\"o\":{\"a\":2.5,\"b\":null},\"l\":[],\"v\":[3,4],\"w\":[],\"n\":null,\"e\":{}}\n",
    ),
    (
        "texts.jsonl",
        "{\"t\":\"NUL \\u0000 \\\"quoted\\\" \\\\ \\n line\",\"u\":\"\\ud83d\\ude80 é e\\u0301\",\"w\":\"NaN\",\"b\":true}\n{\"t\":\"\",\"u\":\"\\u2028\",\"w\":1.5,\"b\":null}\n",
    ),
    ("absent.jsonl", "{\"a\":1}\n{\"b\":\"x\"}\n{}\n{\"a\":3,\"c\":[1]}\n"),
    (
        "vectors.jsonl",
        "{\"same\":[1,2,3],\"lengths\":[1],\"holes\":[1.5,null],\"texts\":[\"a\",\"b\"]}\n{\"same\":[4,5,6],\"lengths\":[],\"holes\":[null,2],\"texts\":[\"c\",\"d\"]}\n",
    ),
];

/// Text files that are converted in two steps, through every kind.
const TWO_STEP: [&str; 6] = ["numbers.csv", "mixed.csv", "times.csv", "numbers.jsonl", "nested.jsonl", "vectors.jsonl"];

/// Pairs of inputs with differences: name, content of the first and of the second.
const PAIRS: [(&str, &str, &str); 6] = [
    ("widths", "x,y\n1,a\n2,b\n", "x,y\n1.5,c\n-0.0,d\n"),
    ("kinds", "x,y\n1,a\n2,b\n", "x,y\nword,c\n3,d\n"),
    ("order", "x,y\n1,a\n2,b\n", "y,x\nc,3\nd,4\n"),
    ("fewer", "x,y\n1,a\n2,b\n", "x\n3\n4\n"),
    ("holes", "x,y\n1,a\n2,b\n", "x,y\n,c\n4,\n"),
    ("dates", "x,y\n2024-01-01,a\n2024-01-02,b\n", "x,y\n2024-01-01T12:00:00,c\n2024-01-03T00:00:00,d\n"),
];

/// Pairs that differ in key values, slot names, or scales and time units.
const MADE_PAIRS: [&str; 3] = ["keys", "slots", "packed"];

/// Commands on a file `F` that print something.
const READERS: [&str; 26] = [
    "info F",
    "info F --json",
    "verify F",
    "verify F --json",
    "cat F -n 3 --csv",
    "cat F -n 2 --tsv",
    "cat F --json --rows 2..5",
    "cat F --pretty -n 4",
    "cat F --missing-as-null --json",
    "cat F --columns i64,text",
    "cat F --columns nosuch",
    "cat F --where i64=1",
    "cat F --rows 9..",
    "get F --row 1",
    "get F --row 1 --json",
    "get F row-03",
    "get F nosuch",
    "stats F",
    "stats F --json",
    "stats F i64 --rows 2..5 --json",
    "count F",
    "count F --by text,i64",
    "head F -n 2 --csv",
    "tail F -n 2 --csv",
    "schema F",
    "diff F F --json",
];

/// Commands on a file `F`, whose extension is `E`, that write something.
const WRITERS: [&str; 15] = [
    "convert F F out.jsonl",
    "convert F out.csv --rows 2..5 --columns text,i64",
    "convert F out.json -n 2",
    "convert F out.jsonl --missing-as-null",
    "convert F - --to csv -n 2",
    "convert F out.csv --json",
    "merge F F -o out.E",
    "merge F G -o out.E --json",
    "split F --parts 3 -o part-{}.E",
    "sample F out.E -n 4 --seed 1",
    "shuffle F out.E --seed 1",
    "recover F out.E",
    "index F",
    "pack F out.zds",
    "unpack F out.d",
];

/// Commands for options and inputs of one format.
const OPTIONS: [&str; 48] = [
    "convert types.idv out.parquet --times nanoseconds",
    "convert types.idv out.parquet --times ticks",
    "convert scalar-times.idv out.parquet --times floor",
    "convert scalar-times.idv out.parquet --times nanoseconds",
    "convert sparse-fixed.idv out.parquet --sparse structs",
    "convert types.idv out.parquet --compression zstd:3 --row-group 3",
    "convert types.idv out.idv --compression none --rows-per-block 3",
    "convert missing.parquet out.idv",
    "convert missing.parquet out.ds --ragged pad --structs flatten",
    "convert mixed.csv out.parquet --on-mismatch null",
    "convert mixed.jsonl out.parquet",
    "convert mixed.jsonl out.parquet --on-mismatch null",
    "convert mixed.jsonl out.parquet --on-mismatch json",
    "convert mixed.jsonl out.arrow --on-mismatch msgpack",
    "convert types.csv out.msgpack --key key --text",
    "convert types.csv out.idv --schema types.json",
    "convert types.csv out.parquet --schema types.json",
    "convert types.csv out.ds --schema types.json",
    "convert types.jsonl out.msgpack --schema types.json --number",
    "convert semicolons.csv out.jsonl --delimiter ;",
    "convert numbers.csv out.jsonl --no-header",
    "convert numbers.csv out.idv --no-header",
    "convert - out.jsonl --from csv < numbers.csv",
    "convert - out.idv --from jsonl < numbers.jsonl",
    "cat - < types.idv",
    "cat keys-a.idv --csv",
    "cat packed-a.ds --time iso",
    "cat packed-a.ds --time jd",
    "get packed-a.ds x --sel row=1",
    "get packed-a.ds x --at t=1",
    "stats packed-a.ds",
    "convert packed-a.ds out.ds --scaled",
    "convert packed-a.ds out.csv --scaled",
    "convert packed-a.ds out.nc --nc-kind netcdf4 --unlimited row --deflate 4",
    "convert packed-a.ds out.nc --nc-kind classic",
    "convert types.ds out.nc",
    "diff types.idv types.csv",
    "diff types.idv types.parquet --types",
    "diff types.csv types.jsonl --key key --json",
    "diff keys-a.idv keys-b.idv",
    "diff packed-a.ds packed-b.ds",
    "extract types.parquet out.d --field text,bytes",
    "extract types.parquet out.tar --field bytes --name key",
    "extract types.parquet out.zip --field text --name {key}/{i64}.txt",
    "extract types.parquet out.d --field nosuch",
    "convert tree out.msgpack --field image",
    "convert tree out.jsonl",
    "convert two out.csv",
];

/// The cases of the record and their inputs.
struct Cases {
    inputs: Snapshot,
    all: Vec<Case>,
}

impl Cases {
    /// Adds a command with the inputs it names. ` < ` precedes its standard input.
    fn add(&mut self, group: &str, text: &str) {
        let (command, stdin) = text.split_once(" < ").map_or((text, None), |(command, stdin)| (command, Some(stdin)));
        let before = faults::inputs(&self.inputs, text);
        let arguments = command.split(' ').map(str::to_owned).collect();
        self.all.push(Case { stdin: stdin.map(str::to_owned), ..case(group, text, arguments, before) });
    }

    fn has(&self, input: &str) -> bool {
        self.inputs.0.contains_key(input)
    }

    /// Adds a conversion, which is repeated column by column if it fails.
    fn convert(&mut self, group: &str, from: &str, form: &str, options: &str, always: Option<&'static str>) {
        let (input, more) = from.split_once(' ').unwrap_or((from, ""));
        self.add(group, &convert(input, form, &format!("{options} {more}")));
        if let Some(case) = self.all.last_mut() {
            case.by_column = Some(ByColumn { input: input.to_owned(), always });
        }
    }

    /// Adds conversions of golden files and texts to every format.
    fn conversions(&mut self) {
        for file in FILES.map(last) {
            for (form, options) in FORMATS {
                self.convert("files", file, form, options, None);
            }
        }
        for file in NETCDF.map(last) {
            for (form, options) in FORMATS {
                self.add("files", &convert(file, form, options));
            }
            for reader in ["info F", "info F --json", "cat F", "verify F", "convert F out.ds --scaled"] {
                self.add("files", &reader.replace('F', file));
            }
        }
        for (text, _) in TEXTS {
            for (form, options) in FORMATS {
                // Rows of unequal lengths: no column can be read alone.
                if matches!(text, "semicolons.csv" | "short.csv") {
                    self.add("texts", &convert(text, form, options));
                } else {
                    self.convert("texts", text, form, options, None);
                }
            }
            for reader in ["info F", "info F --json", "verify F", "cat F --json", "cat F --csv"] {
                self.add("texts", &reader.replace('F', text));
            }
        }
        for text in TWO_STEP {
            // Failing conversions are among the routes of the texts.
            let inputs: Vec<_> =
                KINDS.iter().map(|(form, _)| converted_name(text, form)).filter(|name| self.has(name)).collect();
            for from in inputs {
                for (form, options) in KINDS {
                    self.convert("again", &from, form, options, None);
                }
            }
        }
    }

    /// Adds commands on pairs of inputs.
    fn pairs(&mut self) {
        for (from, _) in KINDS {
            for pair in PAIRS.iter().map(|(pair, ..)| *pair).chain(MADE_PAIRS) {
                let (one, two) = (format!("{pair}-a.{from}"), format!("{pair}-b.{from}"));
                if !(self.has(&one) && self.has(&two)) {
                    continue;
                }
                for (form, options) in KINDS {
                    self.add("pairs", &convert(&format!("{one} {two}"), form, options));
                }
                let same = match from {
                    "msgpack" => " --on-duplicate rename",
                    "store" => " --on-duplicate first",
                    _ => "",
                };
                self.add("pairs", &format!("merge {one} {two} -o out.{from}{same}"));
                self.add("pairs", &format!("cat {one} {two} --json"));
                self.add("pairs", &format!("cat {one} {two} --csv"));
                if from == "ds" {
                    self.add("pairs", &format!("merge {one} {two} -o out.{from} --dim row"));
                }
            }
        }
    }

    /// Adds every verb on the same tables in every format.
    fn verbs(&mut self) {
        let mut add = |text: &str, table: &str, form: &str| {
            let word = |word: &str| match word {
                "F" => format!("{table}.{form}"),
                "G" => format!("missing.{form}"),
                word => word.replace(".E", &format!(".{form}")),
            };
            self.add("verbs", &text.split(' ').map(word).collect::<Vec<_>>().join(" "));
        };
        for (form, _) in FORMATS {
            READERS.iter().chain(&WRITERS).for_each(|text| add(text, "types", form));
        }
        for (form, _) in KINDS {
            READERS.iter().for_each(|text| add(text, "missing", form));
        }
        OPTIONS.iter().for_each(|text| self.add("verbs", text));
    }

    /// Adds conversions of every golden table from every format to every other.
    fn tables(&mut self) {
        for table in TABLES {
            for (from, _) in FORMATS {
                for (form, _) in FORMATS {
                    let (options, always) = options(table, from, form);
                    self.convert(table, &format!("{table}.{from}"), form, &options, always);
                }
            }
        }
        // A thousand columns are too many to convert one by one.
        self.all.iter_mut().filter(|case| case.group == "wide").for_each(|case| case.by_column = None);
    }

    /// Adds the help of each verb.
    fn help(&mut self, wharf: &Path) -> Result<(), String> {
        let mut command = Command::new(wharf);
        command.arg("--help").env_clear().stderr(Stdio::inherit());
        let text = shell::text(command)?;
        let verbs = text.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        let verbs = verbs.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        let verbs: Vec<_> = verbs.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
        if verbs.is_empty() {
            return Err("`wharf --help` lists no verb".to_owned());
        }
        let all = verbs.iter().filter(|verb| *verb != "help").map(|verb| format!("{verb} --help"));
        for text in all.chain(["--help", "-h", "nosuch", "convert", "convert --nosuch"].map(str::to_owned)) {
            self.add("help", &text);
        }
        self.all.iter_mut().filter(|case| case.group == "help").for_each(|case| case.shows_stdout = true);
        Ok(())
    }
}

fn case(group: &str, name: &str, arguments: Vec<String>, before: Snapshot) -> Case {
    Case {
        group: group.to_owned(),
        name: name.to_owned(),
        arguments,
        before,
        stdin: None,
        shows_stdout: false,
        by_column: None,
    }
}

fn convert(from: &str, form: &str, options: &str) -> String {
    // Datasets keep their keys.
    let options = if from.ends_with(".msgpack") { options.replace("--number", "") } else { options.to_owned() };
    let options = options.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("convert {from} out.{form} {options}").trim_end().to_owned()
}

/// The last part of a path.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The name of a text file in another format: `numbers.csv` becomes `numbers-csv.idv`.
fn converted_name(text: &str, form: &str) -> String {
    format!("{}.{form}", text.replace('.', "-"))
}

/// The options of `convert` between two formats of a golden table, and the column that one of them names.
fn options(table: &str, from: &str, to: &str) -> (String, Option<&'static str>) {
    let (is_store, is_arrow) = (matches!(from, "zds" | "store"), matches!(from, "parquet" | "arrow" | "arrows"));
    let key = if is_store { "_id" } else { "key" };
    match to {
        "msgpack" if from != "msgpack" => (format!("--key {key}"), Some(key)),
        "ds" if from != "ds" => ("--dim row".to_owned(), None),
        "zds" if !is_store => (format!("--id {key}"), Some(key)),
        "store" if !is_store => (format!("--to zds --id {key}"), Some(key)),
        "store" => ("--to zds".to_owned(), None),
        "idv" if table == "missing" && is_arrow => ("--null-integers double".to_owned(), None),
        _ => (String::new(), None),
    }
}

/// Creates the inputs in a directory and returns every case.
pub(super) fn all(wharf: &Path, folder: &Path) -> Result<Vec<Case>, String> {
    let writers = faults::cases(wharf, &folder.join("faults"), false)?;
    let writer = |writer: faults::Case| {
        let name = writer.arguments.join(" ");
        case("writers", &name, writer.arguments, writer.before)
    };
    let mut cases =
        Cases { inputs: inputs(wharf, &folder.join("inputs"))?, all: writers.into_iter().map(writer).collect() };
    cases.conversions();
    cases.pairs();
    cases.verbs();
    cases.tables();
    cases.help(wharf)?;
    Ok(cases.all)
}

/// Creates the inputs: golden files, texts, and conversions of them.
fn inputs(wharf: &Path, folder: &Path) -> Result<Snapshot, String> {
    shell::empty_directory(folder)?;
    let golden = shell::root().join("tests/golden");
    for table in TABLES {
        for (form, _) in FORMATS {
            copy(&golden.join(format!("cross/{table}.{form}")), folder)?;
        }
    }
    for path in FILES.iter().chain(&NETCDF).filter_map(|path| path.split(' ').next()) {
        copy(&golden.join(path), folder)?;
    }
    let put = |name: &str, text: &str| shell::write(&folder.join(name), text);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(wharf);
        command.args(arguments).current_dir(folder).env_clear().stdin(Stdio::null());
        shell::output(&mut command)
    };
    // Conversions that fail are left out.
    let convert = |from: &str, to: &str, options: &str| {
        let mut arguments = vec!["convert", from, to];
        arguments.extend(options.split_whitespace());
        run(&arguments)
    };
    for (name, text) in TEXTS {
        put(name, text)?;
    }
    for text in TWO_STEP {
        for (form, options) in KINDS {
            convert(text, &converted_name(text, form), options)?;
        }
    }
    for (pair, one, two) in PAIRS {
        for (half, text) in [("a", one), ("b", two)] {
            let csv = format!("{pair}-{half}.csv");
            put(&csv, text)?;
            for (form, options) in KINDS.iter().filter(|(form, _)| *form != "csv") {
                convert(&csv, &format!("{pair}-{half}.{form}"), options)?;
            }
        }
    }
    let schema = |kind: &str, facts: &str, values: [&str; 2]| {
        let [one, two] = values;
        format!(
            "[{{\"name\":\"v\",\"type\":\"{kind}\",\"metadata\":{{\"{facts}\":[\"{one}\",\"{two}\"]}},\"metadata_types\":{{\"{facts}\":\"Vector<Text, 2>\"}}}}]"
        )
    };
    for (half, labels) in [("a", ["red", "blue"]), ("b", ["green", "red"])] {
        put("schema.json", &schema("Key<UInt32, 2>", "KeyValues", labels))?;
        put("rows.jsonl", &labels.map(|label| format!("{{\"v\":\"{label}\"}}\n")).concat())?;
        run(&["convert", "rows.jsonl", &format!("keys-{half}.idv"), "--schema", "schema.json"])?;
    }
    for (half, slots) in [("a", ["x", "y"]), ("b", ["y", "x"])] {
        put("schema.json", &schema("Vector<Single, 2>", "SlotNames", slots))?;
        put("rows.jsonl", "{\"v\":[1,2]}\n{\"v\":[3,4]}\n")?;
        run(&["convert", "rows.jsonl", &format!("slots-{half}.idv"), "--schema", "schema.json"])?;
    }
    for (half, scale, unit) in [("a", "0.01", "days"), ("b", "0.1", "hours")] {
        put("rows.csv", "t,x\n0,100\n1,-200\n2,300\n")?;
        let name = format!("packed-{half}.ds");
        run(&["convert", "rows.csv", &name])?;
        let (scale, unit) = (format!("x@scale_factor={scale}"), format!("t@units={unit} since 2000-01-01"));
        let set = run(&["set", &name, &scale, "x@add_offset=273.15", &unit, "x@units=K", "--in-place"])?;
        if !set.status.success() {
            return Err(format!("cannot create {name}: {}", String::from_utf8_lossy(&set.stderr)));
        }
    }
    for (pair, made) in MADE_PAIRS.iter().zip(["idv", "idv", "ds"]) {
        for half in ["a", "b"] {
            let from = format!("{pair}-{half}.{made}");
            for (form, options) in KINDS.iter().filter(|(form, _)| *form != made) {
                convert(&from, &format!("{pair}-{half}.{form}"), options)?;
            }
        }
    }
    let described = run(&["info", "--json", "types.parquet"])?;
    shell::write(&folder.join("types.json"), described.stdout)?;
    shell::make_directory(&folder.join("tree/oak"))?;
    put("tree/oak/1.txt", "one")?;
    put("tree/oak/2.txt", "")?;
    Snapshot::take(folder)
}

/// Copies a file with its index files, or a directory.
fn copy(path: &Path, folder: &Path) -> Result<(), String> {
    let name = shell::file_name(path);
    let directory = path.parent().unwrap_or(path);
    if path.is_dir() {
        for file in shell::files_below(path)? {
            let target = folder.join(&name).join(&file);
            shell::make_directory(target.parent().unwrap_or(folder))?;
            copy_file(&path.join(&file), &target)?;
        }
        return Ok(());
    }
    for file in shell::entries(directory)? {
        let other = shell::file_name(&file);
        if other == name || (name.ends_with(".msgpack") && other.starts_with(&format!("{name}."))) {
            copy_file(&file, &folder.join(other))?;
        }
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error| format!("cannot copy {}: {error}", from.display());
    fs::copy(from, to).map(drop).map_err(failed)
}
