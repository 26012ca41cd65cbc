//! Statements that define and write tables, several files as one table, errors, bounded memory.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use wharf::Registry;
use wharf_sql::SessionOptions;

use crate::support::{Engine, golden};

/// A folder with `people.csv` and a session.
struct Folder {
    folder: tempfile::TempDir,
    engine: Engine,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("people.csv"), "key,age,name\na,30,Ann\nb,41,Bob\nc,25,Cid\n").unwrap();
        Self { folder, engine: Engine::default() }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Replaces `@name` by the path of a file in the folder.
    fn rows(&self, sql: &str) -> Result<Vec<Value>, String> {
        let start = format!("{}/", self.folder.path().display());
        self.engine.rows(&sql.replace('@', &start)).map_err(|error| error.replace(&start, ""))
    }

    #[track_caller]
    fn ok(&self, sql: &str) -> Vec<Value> {
        self.rows(sql).unwrap()
    }

    #[track_caller]
    fn error(&self, sql: &str) -> String {
        self.rows(sql).unwrap_err()
    }
}

#[test]
fn copy_writes_every_target() {
    let test = Folder::new();
    for extension in ["jsonl", "csv", "tsv", "idv", "msgpack", "ds", "nc", "zds", "parquet", "arrow", "arrows"] {
        let copied = test
            .ok(&format!("COPY (SELECT key, age + 1 AS age FROM '@people.csv' ORDER BY age) TO '@out.{extension}'"));
        assert_eq!(copied, [json!({"count": 3})], "{extension}");
        let rows = test.ok(&format!("SELECT age FROM '@out.{extension}'"));
        assert_eq!(rows, [json!({"age": 26}), json!({"age": 31}), json!({"age": 42})], "{extension}");
    }
}

#[test]
fn copy_refuses_what_it_cannot_do() {
    let test = Folder::new();
    let copy = |rest: &str| test.error(&format!("COPY '@people.csv' TO {rest}"));
    test.ok("COPY '@people.csv' TO '@there.idv'");
    assert!(copy("'@there.idv'").contains("there.idv: the output exists"), "{}", copy("'@there.idv'"));
    assert!(test.rows("COPY '@people.csv' TO '@there.idv' OPTIONS (overwrite true)").is_ok());
    assert_eq!(
        copy("'@a.xyz'"),
        "a.xyz: unknown extension \"xyz\": no format that can be written has it; STORED AS names one"
    );
    assert_eq!(copy("'@a.csv' STORED AS xyz"), "no format \"XYZ\" that can be written");
    assert_eq!(copy("'@a'"), "a: the output has no extension; STORED AS names its format");
    assert_eq!(copy("'@a.idv' OPTIONS (row_group 5)"), "row_group is an option of parquet, the output is idv");
    assert_eq!(copy("'@a.idv' OPTIONS (level 11)"), "level must be 0 to 9, found 11");
    assert_eq!(copy("'@a.idv' PARTITIONED BY (age)"), "PARTITIONED BY is not supported");
    assert!(!test.folder.path().join("a.idv").exists());
}

#[test]
fn a_query_that_fails_leaves_no_output() {
    let test = Folder::new();
    let error = test.error("COPY (SELECT 1 / (age - 25) AS n FROM '@people.csv') TO '@out.parquet'");
    assert!(error.to_lowercase().contains("divide by zero"), "{error}");
    let names: Vec<_> = fs::read_dir(test.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["people.csv"]);
}

#[test]
fn options_reach_the_formats() {
    let test = Folder::new();
    test.ok("COPY '@people.csv' TO '@small.idv' OPTIONS (rows_per_block 1, compression 'none')");
    let container = wharf::open(test.path("small.idv")).unwrap();
    assert_eq!(container.tables()[0].column_summary(0)["rows_per_block"], 1);
    fs::write(test.folder.path().join("odd.txt"), "1;2\n3;4\n").unwrap();
    let rows = test.ok("SELECT * FROM wharf('@odd.txt', '', 'from', 'csv', 'delimiter', ';', 'no_header', 'true')");
    assert_eq!(rows, [json!({"c0": 1, "c1": 2}), json!({"c0": 3, "c1": 4})]);
    for flag in ["no_header", "union"] {
        test.ok(&format!("COPY '@people.csv' TO '@{flag}.csv' OPTIONS ({flag} false)"));
        let error = test.error(&format!("COPY '@people.csv' TO '@{flag}.csv' OPTIONS ({flag} maybe)"));
        assert_eq!(error, format!("option {flag:?} must be true or false, found \"maybe\""));
    }
    let error = test.error("SELECT * FROM wharf('@odd.txt', '', 'colour', 'red')");
    assert_eq!(error, "unknown option \"colour\"");
}

#[test]
fn external_tables_are_read_and_written() {
    let test = Folder::new();
    test.ok("CREATE EXTERNAL TABLE people STORED AS CSV LOCATION '@people.csv'");
    assert_eq!(test.ok("SELECT max(age) AS m FROM people"), [json!({"m": 41})]);
    let refused = test.error("INSERT INTO people VALUES ('d', 1, 'Dan')");
    assert!(refused.contains("INSERT OVERWRITE replaces its rows"), "{refused}");
    test.ok(
        "CREATE EXTERNAL TABLE new (\"key\" VARCHAR, n BIGINT) STORED AS IDV LOCATION '@new.idv' OPTIONS (level 9)",
    );
    assert_eq!(test.ok("SELECT * FROM new"), [] as [Value; 0]);
    assert_eq!(test.ok("INSERT INTO new SELECT key, age FROM people WHERE age < 40"), [json!({"count": 2})]);
    assert_eq!(test.ok("SELECT n, key FROM new"), [json!({"n": 30, "key": "a"}), json!({"n": 25, "key": "c"})]);
    assert_eq!(test.ok("INSERT OVERWRITE new SELECT key, age FROM people WHERE age > 40"), [json!({"count": 1})]);
    assert_eq!(test.ok("SELECT * FROM '@new.idv'"), [json!({"key": "b", "n": 41})]);
    let wrong = test.error("CREATE EXTERNAL TABLE wrong STORED AS PARQUET LOCATION '@new.idv'");
    assert_eq!(wrong, "new.idv: expected parquet, found idv");
    let wrong = test.error("CREATE EXTERNAL TABLE wrong STORED AS IDV LOCATION '@new.idv' OPTIONS (colour 'red')");
    assert_eq!(wrong, "unknown option \"colour\" of a table stored as idv");
    let declared = "CREATE EXTERNAL TABLE typed (age DOUBLE, \"key\" VARCHAR) STORED AS CSV LOCATION '@people.csv'";
    test.ok(declared);
    assert_eq!(test.ok("SELECT * FROM typed LIMIT 1"), [json!({"age": 30.0, "key": "a"})]);
    assert_eq!(
        test.ok("SELECT table_name AS t FROM information_schema.tables WHERE table_schema = 'public' ORDER BY t"),
        [json!({"t": "new"}), json!({"t": "people"}), json!({"t": "typed"})]
    );
}

/// The values of text do not decide the types of a table that declares them.
#[test]
fn a_new_table_reads_what_was_inserted() {
    let test = Folder::new();
    for (format, extension) in [("CSV", "csv"), ("JSONL", "jsonl"), ("DATADINGS", "msgpack"), ("IDV", "idv")] {
        let create = |name: &str| {
            let columns = "\"key\" VARCHAR, s VARCHAR, x DOUBLE";
            test.ok(&format!(
                "CREATE EXTERNAL TABLE {name}_{extension} ({columns}) STORED AS {format} LOCATION '@n.{extension}'"
            ));
        };
        let rows = |name: &str| test.ok(&format!("SELECT x, s, key FROM {name}_{extension}"));
        create("new");
        test.ok(&format!("INSERT INTO new_{extension} VALUES ('1', '1.50', 1), ('2', '1e5', 2), ('3', '', 3)"));
        let expected =
            [("1.50", 1), ("1e5", 2), ("", 3)].map(|(s, n)| json!({"x": f64::from(n), "s": s, "key": n.to_string()}));
        assert_eq!(rows("new"), expected, "{format}");
        if format == "IDV" {
            continue; // it has types, and no decimals
        }
        create("old");
        assert_eq!(rows("old"), expected, "{format}");
        let decimals = format!("decimals_{extension}");
        test.ok(&format!(
            "CREATE EXTERNAL TABLE {decimals} (\"key\" VARCHAR, d DECIMAL(20, 2)) STORED AS {format} LOCATION '@d.{extension}'"
        ));
        test.ok(&format!("INSERT INTO {decimals} VALUES ('1', CAST('123456789012345678.10' AS DECIMAL(20, 2)))"));
        let text = test.ok(&format!("SELECT CAST(d AS VARCHAR) AS d FROM {decimals}"));
        assert_eq!(text, [json!({"d": "123456789012345678.10"})], "{format}");
    }
}

#[test]
fn rows_are_not_replaced_by_key() {
    let test = Folder::new();
    test.ok("CREATE EXTERNAL TABLE people STORED AS CSV LOCATION '@people.csv'");
    test.ok("CREATE EXTERNAL TABLE new (a BIGINT) STORED AS CSV LOCATION '@new.csv'");
    for statement in ["REPLACE INTO", "INSERT OR REPLACE INTO"] {
        for (table, values) in [("people", "('d', 1, 'Dan')"), ("new", "(1)")] {
            let error = test.error(&format!("{statement} {table} VALUES {values}"));
            let why = "REPLACE INTO is not supported; INSERT OVERWRITE replaces all rows";
            assert_eq!(error, format!("{table}.csv: {why}"));
        }
    }
    assert_eq!(test.ok("SELECT count(*) AS n FROM people"), [json!({"n": 3})]);
}

#[test]
fn external_tables_refuse_what_is_not_kept() {
    let test = Folder::new();
    let create =
        |columns: &str| test.error(&format!("CREATE EXTERNAL TABLE n ({columns}) STORED AS CSV LOCATION '@new.csv'"));
    assert_eq!(create("a BIGINT, b INT DEFAULT 5"), "DEFAULT is not supported");
    for columns in ["a BIGINT PRIMARY KEY", "a BIGINT UNIQUE", "a BIGINT, PRIMARY KEY (a)"] {
        assert_eq!(create(columns), "a constraint such as PRIMARY KEY or UNIQUE is not supported", "{columns}");
    }
}

/// What a table could not read again is not written.
#[test]
fn tables_of_other_text_are_only_read() {
    let test = Folder::new();
    fs::write(test.folder.path().join("half.csv"), "1;x\n").unwrap();
    for (name, options) in [("d", "delimiter ';', header false"), ("h", "header false")] {
        test.ok(&format!("CREATE EXTERNAL TABLE {name} STORED AS CSV LOCATION '@half.csv' OPTIONS ({options})"));
        let error = test.error(&format!("INSERT OVERWRITE {name} SELECT * FROM {name}"));
        assert_eq!(error, "half.csv: cannot be written: its options describe text that is only read");
    }
    assert_eq!(test.ok("SELECT c0, c1 FROM d"), [json!({"c0": 1, "c1": "x"})]);
    let new = "CREATE EXTERNAL TABLE n (a BIGINT) STORED AS CSV LOCATION '@new.csv' OPTIONS (delimiter ';')";
    let error = test.error(new);
    assert!(error.starts_with("new.csv: cannot open"), "{error}");
}

#[test]
fn several_files_are_one_table() {
    let test = Folder::new();
    fs::write(test.folder.path().join("people2.csv"), "key,age,name\nd,1.5,Dan\n").unwrap();
    assert_eq!(test.ok("SELECT sum(age) AS s, count(*) AS n FROM '@people*.csv'"), [json!({"s": 97.5, "n": 4})]);
    test.ok("COPY '@people.csv' TO '@one.parquet'");
    test.ok("COPY '@people2.csv' TO '@two.parquet'");
    let differ = test.error("SELECT * FROM '@*.parquet'");
    assert!(
        differ.contains("two.parquet: columns differ from those of") && differ.contains("Float64 here, Int64 there"),
        "{differ}"
    );
    let none = test.error("SELECT * FROM '@*.none'");
    assert!(none.contains("no file matches the pattern"), "{none}");
}

#[test]
fn one_table_of_several() {
    let test = Folder::new();
    let path = golden("ds/again.ds");
    let several = test.error(&format!("SELECT * FROM '{}'", path.display()));
    assert!(several.contains("the input has several tables: \"time\", \"x\", \"scalars\""), "{several}");
    let container = wharf::open(&path).unwrap();
    for table in container.tables() {
        let rows = test.ok(&format!("SELECT count(*) AS n FROM wharf('{}', '{}')", path.display(), table.name()));
        assert_eq!(rows, [json!({"n": table.len().unwrap()})], "{}", table.name());
    }
    let unknown = test.error(&format!("SELECT * FROM wharf('{}', 'third')", path.display()));
    assert!(unknown.contains("no table \"third\""), "{unknown}");
}

#[test]
fn a_file_that_changes_is_read_anew() {
    let test = Folder::new();
    let count = || test.ok("SELECT count(*) AS n FROM '@people.csv'");
    assert_eq!(count(), [json!({"n": 3})]);
    fs::write(test.folder.path().join("people.csv"), "key\na\n").unwrap();
    assert_eq!(count(), [json!({"n": 1})]);
}

/// Tables with a name and views hold files that change meanwhile.
#[test]
fn tables_and_views_show_what_their_files_have_now() {
    let test = Folder::new();
    for (format, extension) in
        [("PARQUET", "parquet"), ("IDV", "idv"), ("ARROW", "arrow"), ("JSONL", "jsonl"), ("DS", "ds")]
    {
        let table = format!("t_{extension}");
        test.ok(&format!("COPY (SELECT 1 AS a) TO '@e.{extension}'"));
        test.ok(&format!("CREATE EXTERNAL TABLE {table} STORED AS {format} LOCATION '@e.{extension}'"));
        test.ok(&format!("CREATE VIEW v_{extension} AS SELECT a FROM '@e.{extension}' WHERE a > 0"));
        for rows in [2_u64, 3] {
            test.ok(&format!("INSERT OVERWRITE {table} SELECT a + 1 FROM {table} UNION ALL SELECT 0"));
            let sums = format!("SELECT sum(a) AS s, count(*) AS n FROM {table}");
            // 1 becomes 2 and 0, then 3, 1 and 0.
            assert_eq!(test.ok(&sums), [json!({"s": if rows == 2 { 2 } else { 4 }, "n": rows})], "{format}");
        }
        assert_eq!(
            test.ok(&format!("SELECT sum(a) AS s, count(*) AS n FROM v_{extension}")),
            [json!({"s": 4, "n": 2})]
        );
    }
    test.ok("CREATE EXTERNAL TABLE other STORED AS CSV LOCATION '@people.csv'");
    fs::write(test.folder.path().join("people.csv"), "key\na\n").unwrap();
    let error = test.error("SELECT * FROM other");
    assert_eq!(error, "people.csv: the columns of the file are others than when the table was opened");
}

#[test]
fn errors_name_the_file_and_the_place() {
    let test = Folder::new();
    let sql = |sql: &str| test.error(sql);
    assert_eq!(sql("SELECT agee FROM '@people.csv'"), "no column \"agee\"; similar: \"age\" (line 1, column 8)");
    assert_eq!(sql("SELECT age FROM people"), "table 'datafusion.public.people' not found (line 1, column 17)");
    assert!(sql("SELECT * FROM '@none.csv'").starts_with("none.csv: cannot open"));
    assert!(sql("SELEC 1").starts_with("invalid SQL: "), "{}", sql("SELEC 1"));
    // Damage in the middle of a file.
    test.ok("COPY (SELECT value FROM generate_series(1, 100000)) TO '@big.idv' OPTIONS (rows_per_block 1000)");
    let mut bytes = fs::read(test.path("big.idv")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0xFF);
    fs::write(test.path("big.idv"), bytes).unwrap();
    let error = sql("SELECT sum(value) FROM '@big.idv'");
    assert!(error.starts_with("idv: big.idv: ") && error.contains("block"), "{error}");
    fs::write(test.folder.path().join("bad.jsonl"), "{\"a\": 1}\n{\"a\": \n").unwrap();
    let error = sql("SELECT * FROM '@bad.jsonl'");
    assert!(error.starts_with("jsonl: bad.jsonl: ") && error.contains("line 2"), "{error}");
}

#[test]
fn rows_keep_the_order_of_the_file() {
    let mut options = SessionOptions::default();
    options.threads = Some(4);
    let mut test = Folder::new();
    test.engine = Engine::new(&options);
    test.ok("COPY (SELECT value AS n, value % 10 AS rest FROM generate_series(0, 199999)) TO '@n.idv'");
    let rows = test.ok("SELECT n FROM '@n.idv' WHERE rest = 3");
    assert!(rows.iter().zip((3..).step_by(10)).all(|(row, n)| row["n"] == n), "rows are out of order");
    assert_eq!(rows.len(), 20_000);
    assert_eq!(test.ok("SELECT n FROM '@n.idv' LIMIT 2 OFFSET 150000"), [json!({"n": 150_000}), json!({"n": 150_001})]);
    // Aggregations use all partitions.
    let plan = test.ok("EXPLAIN SELECT rest, sum(n) FROM '@n.idv' GROUP BY rest");
    assert!(plan[1]["plan"].as_str().unwrap().contains("partitions=4"), "{plan:?}");
    let sums = test.ok("SELECT rest, sum(n) AS s, count(*) AS c FROM '@n.idv' GROUP BY rest ORDER BY rest");
    for (rest, row) in (0..10).zip(&sums) {
        let expected: i64 = (rest..200_000).step_by(10).sum();
        assert_eq!(*row, json!({"rest": rest, "s": expected, "c": 20_000}));
    }
    // Text has an unknown length: partitions share its reader.
    test.ok("COPY '@n.idv' TO '@n.csv'");
    let plan = test.ok("EXPLAIN SELECT rest, sum(n) FROM '@n.csv' GROUP BY rest");
    assert!(plan[1]["plan"].as_str().unwrap().contains("n.csv"), "{plan:?}");
    assert_eq!(test.ok("SELECT rest, sum(n) AS s, count(*) AS c FROM '@n.csv' GROUP BY rest ORDER BY rest"), sums);
    assert_eq!(test.ok("SELECT n FROM '@n.csv' LIMIT 2 OFFSET 150000"), [json!({"n": 150_000}), json!({"n": 150_001})]);
}

/// Limits and windows below what needs no order, and tables in memory.
#[test]
fn the_first_rows_do_not_depend_on_partitions() {
    let mut options = SessionOptions::default();
    options.threads = Some(4);
    let mut test = Folder::new();
    test.engine = Engine::new(&options);
    test.ok("COPY (SELECT value AS n FROM generate_series(0, 199999)) TO '@n.idv'");
    test.ok("COPY '@n.idv' TO '@n.csv'");
    for file in ["n.idv", "n.csv"] {
        let from = format!("FROM '@{file}' WHERE n + 0 < 150000");
        for _ in 0..3 {
            let first = test.ok(&format!("SELECT sum(n) AS s FROM (SELECT n {from} LIMIT 1000 OFFSET 100)"));
            assert_eq!(first, [json!({"s": (100..1100).sum::<i64>()})], "{file}");
            let joined = format!(
                "WITH f AS (SELECT n {from} LIMIT 10) SELECT max(f.n) AS m FROM f JOIN '@n.idv' b ON f.n = b.n"
            );
            assert_eq!(test.ok(&joined), [json!({"m": 9})], "{file}");
            let numbered = format!("SELECT n, row_number() OVER () AS r {from}");
            let same = test.ok(&format!("SELECT count(*) AS c FROM ({numbered}) WHERE n + 1 = r"));
            assert_eq!(same, [json!({"c": 150_000})], "{file}");
        }
        let table = file.replace('.', "_");
        test.ok(&format!("CREATE TABLE {table} AS SELECT n {from}"));
        for _ in 0..3 {
            assert_eq!(
                test.ok(&format!("SELECT n FROM {table} WHERE n + 0 > 5 LIMIT 1 OFFSET 99994")),
                [json!({"n": 100_000})]
            );
        }
        // Aggregations of a table in memory are divided all the same.
        let plan = test.ok(&format!("EXPLAIN SELECT sum(n) FROM {table}"));
        assert!(plan[1]["plan"].as_str().unwrap().contains("partitions=4"), "{plan:?}");
    }
    let union = "SELECT n FROM '@n.idv' WHERE n + 0 > 10 UNION ALL SELECT n FROM '@n.csv'";
    assert_eq!(test.ok(&format!("SELECT max(n) AS m FROM ({union} LIMIT 200)")), [json!({"m": 210})]);
}

#[test]
fn inputs_of_a_union_keep_their_order() {
    let test = Folder::new();
    test.ok("COPY (SELECT value AS n FROM generate_series(0, 49999)) TO '@one.idv'");
    test.ok("COPY (SELECT value + 50000 AS n FROM generate_series(0, 49999)) TO '@two.csv'");
    let all = "SELECT n FROM '@one.idv' UNION ALL SELECT n FROM '@two.csv'";
    let rows = test.ok(&format!("SELECT n + 1 AS n FROM ({all}) WHERE n % 2 = 0"));
    assert_eq!(rows.len(), 50_000);
    assert!(rows.iter().zip((1..).step_by(2)).all(|(row, n)| row["n"] == n), "rows are out of order");
    let limited = test.ok(&format!("{all} LIMIT 3 OFFSET 49999"));
    assert_eq!(limited, [json!({"n": 49_999}), json!({"n": 50_000}), json!({"n": 50_001})]);
    assert_eq!(test.ok(&format!("SELECT sum(n) AS s FROM ({all})")), [json!({"s": 4_999_950_000_i64})]);
}

#[test]
fn metrics_are_shown() {
    let test = Folder::new();
    let plan = test.ok("EXPLAIN ANALYZE SELECT sum(age) FROM '@people.csv'");
    let text = plan[0]["plan"].as_str().unwrap();
    for metric in ["rows_read=3", "batches_read=1", "bytes_decoded=", "time_reading="] {
        assert!(text.contains(metric), "{text}");
    }
}

#[test]
fn memory_is_bounded() {
    let test = Folder::new();
    test.ok("COPY (SELECT value AS n, CAST(value AS VARCHAR) || ' and some text to fill memory' AS t FROM generate_series(1, 300000)) TO '@n.parquet'");
    let mut options = SessionOptions::default();
    options.memory = Some(24 << 20);
    options.threads = Some(2);
    let bounded = Engine::new(&options);
    // 15 MB of sorted text, and 300,000 groups, which do not fit at once.
    let path = test.path("n.parquet");
    let last = bounded.rows(&format!("SELECT n FROM (SELECT n, t FROM '{path}' ORDER BY t, n DESC) LIMIT 1")).unwrap();
    assert_eq!(last, [json!({"n": 1})]);
    let groups =
        bounded.rows(&format!("SELECT count(*) AS c FROM (SELECT t, max(n) FROM '{path}' GROUP BY t)")).unwrap();
    assert_eq!(groups, [json!({"c": 300_000})]);
    options.memory = Some(1 << 20);
    let error =
        Engine::new(&options).error(&format!("SELECT count(*) AS c FROM (SELECT t, max(n) FROM '{path}' GROUP BY t)"));
    assert!(error.starts_with("not enough memory: ") && error.ends_with("memory sets the limit"), "{error}");
}

/// A format of a program is a table, too.
#[test]
fn formats_of_the_registry() {
    let mut options = SessionOptions::default();
    options.registry = Registry::empty().with(wharf::text::CSV);
    let mut test = Folder::new();
    test.engine = Engine::new(&options);
    assert_eq!(test.ok("SELECT count(*) AS n FROM '@people.csv'"), [json!({"n": 3})]);
    fs::copy(golden("cross/iris.parquet"), test.path("iris.parquet")).unwrap();
    let error = test.error("SELECT * FROM '@iris.parquet'");
    assert!(error.contains("unrecognized format (known: csv)"), "{error}");
}

/// Dropping a stream stops its readers.
#[test]
fn a_dropped_stream_stops_reading() {
    use futures::StreamExt;
    let test = Folder::new();
    test.ok("COPY (SELECT value AS n FROM generate_series(1, 2000000)) TO '@n.arrow' OPTIONS (batch_rows 1000)");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let session = wharf_sql::Session::new(&SessionOptions::default()).unwrap();
    let plan = runtime.block_on(async {
        let frame = session.sql(&format!("SELECT n FROM '{}' WHERE n > 0", test.path("n.arrow"))).await.unwrap();
        let plan = frame.create_physical_plan().await.unwrap();
        let mut stream =
            datafusion::physical_plan::execute_stream(Arc::clone(&plan), session.context().task_ctx()).unwrap();
        assert!(stream.next().await.unwrap().unwrap().num_rows() > 0);
        plan
    });
    // Dropping the runtime waits for the reader.
    drop(runtime);
    let mut scan = plan;
    while let Some(child) = scan.children().first().map(|child| Arc::clone(child)) {
        scan = child;
    }
    let metrics = scan.metrics().unwrap();
    let rows = metrics.sum_by_name("rows_read").unwrap().as_usize();
    assert!(rows < 500_000, "{rows} rows were read");
}
