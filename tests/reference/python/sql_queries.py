"""Queries over the golden tables, and the answers of DuckDB over their Parquet files.

    python tests/reference/python/sql_queries.py crates/wharf-sql/tests/data/queries.json

Each query runs in DuckDB over `tests/golden/cross/NAME.parquet`. The tests of `wharf-sql` run it over the same tables in every format, but for
those whose files lack a column or keep another kind of value there: `PROVENANCE.md` in that folder says which, and LACKING groups them.
A query names tables as `{iris}`; `{key}` is the column that ZDS calls `_id`. Numbers may differ in the last digits. Written with duckdb 2.0.1.
"""

import datetime
import decimal
import json
import math
import pathlib
import sys

import duckdb

TABLES = pathlib.Path(__file__).parents[3] / "tests" / "golden" / "cross"

# Formats whose golden files lack columns or keep other values there.
LACKING = {
    "": [],
    "lists": ["ds"],
    "structs": ["idv", "ds", "csv", "tsv"],
    "whole numbers with nulls": ["idv"],
    "floats with nulls": ["idv"],  # NaN in place of null
    "texts with nulls": ["idv", "ds", "csv", "tsv"],  # empty, or left out
    "empty texts": ["csv", "tsv"],  # null
    "labels with nulls": ["ds"],
    "times with nulls": ["idv", "ds"],
    # A column of arrays in arrays, or one array.
    "tensors": ["parquet", "arrow", "arrows", "idv", "msgpack", "ds"],
}

QUERIES = [
    # projections
    ("two columns", "", 'SELECT {key}, "sepal length" FROM {iris} ORDER BY {key} LIMIT 3'),
    ("columns in another order, one twice", "", 'SELECT "petal width" AS w, {key} AS k, "petal width" * 2 AS v FROM {iris} ORDER BY {key} LIMIT 4'),
    ("expressions", "", 'SELECT {key}, "sepal length" + "sepal width" AS s, "petal length" / "petal width" AS q FROM {iris} ORDER BY {key} LIMIT 9'),
    ("constants without columns", "", "SELECT 1 AS one, 'x' AS x FROM {iris} LIMIT 2"),
    ("cast", "", 'SELECT CAST("sepal length" AS INTEGER) AS n FROM {iris} WHERE "sepal length" = 5.0 LIMIT 1'),
    ("case", "", 'SELECT {key}, CASE WHEN "petal length" < 2 THEN \'small\' WHEN "petal length" < 5 THEN \'middle\' ELSE \'large\' END AS size FROM {iris} ORDER BY {key} DESC LIMIT 60'),
    # counts and limits
    ("count", "", "SELECT count(*) AS n FROM {iris}"),
    ("count of a constant", "", "SELECT count(1) AS n FROM {types}"),
    ("count of a column with nulls", "floats with nulls", "SELECT count(f64) AS n, count(*) AS all_rows FROM {missing}"),
    ("count of rows under a condition", "", 'SELECT count(*) AS n FROM {iris} WHERE "petal width" > 1.5'),
    ("limit and offset", "", "SELECT {key} FROM {iris} ORDER BY {key} LIMIT 3 OFFSET 100"),
    ("limit 0", "", "SELECT {key} FROM {iris} LIMIT 0"),
    ("rows in the order of the file", "", "SELECT {key} FROM {iris} LIMIT 5"),
    ("rows of a filter in the order of the file", "", "SELECT {key} FROM {iris} WHERE species = 'virginica' LIMIT 5"),
    ("offset in the order of the file", "", "SELECT {key} FROM {iris} LIMIT 4 OFFSET 71"),
    # filters
    ("equal text", "", "SELECT {key} FROM {iris} WHERE {key} = 'row-042'"),
    ("equal label", "", "SELECT count(*) AS n FROM {iris} WHERE species = 'setosa'"),
    ("in", "", "SELECT count(*) AS n FROM {iris} WHERE species IN ('setosa', 'virginica', 'none')"),
    ("not in", "", "SELECT count(*) AS n FROM {iris} WHERE species NOT IN ('setosa', 'virginica')"),
    ("between", "", 'SELECT count(*) AS n FROM {iris} WHERE "sepal width" BETWEEN 3.0 AND 3.2'),
    ("and, or, not", "", "SELECT {key} FROM {iris} WHERE NOT (\"petal length\" < 6.3) OR (species = 'setosa' AND \"sepal length\" > 5.6) ORDER BY {key}"),
    ("like", "", "SELECT {key} FROM {iris} WHERE {key} LIKE 'row-_41' ORDER BY {key}"),
    ("booleans", "", "SELECT {key} FROM {types} WHERE bool ORDER BY {key}"),
    ("64-bit integers at their limits", "", "SELECT {key}, i64, u64 FROM {types} WHERE i64 < 0 OR u64 > 1 ORDER BY {key}"),
    ("no row", "", "SELECT {key} FROM {iris} WHERE \"sepal length\" > 100"),
    # nulls and NaN
    ("is null of integers", "whole numbers with nulls", "SELECT {key} FROM {missing} WHERE i32 IS NULL ORDER BY {key}"),
    ("is not null of integers", "whole numbers with nulls", "SELECT {key}, i32 FROM {missing} WHERE i32 IS NOT NULL ORDER BY {key}"),
    ("null of booleans is neither", "whole numbers with nulls", "SELECT count(*) AS n FROM {missing} WHERE bool OR NOT bool"),
    ("null of floats", "floats with nulls", "SELECT {key} FROM {missing} WHERE f64 IS NULL ORDER BY {key}"),
    ("null of texts", "texts with nulls", "SELECT {key} FROM {missing} WHERE text IS NULL ORDER BY {key}"),
    ("null of labels", "labels with nulls", "SELECT {key}, coalesce(labels, 'none') AS label FROM {missing} ORDER BY {key}"),
    ("sum and average skip nulls", "whole numbers with nulls", "SELECT sum(i16) AS s, avg(i16) AS a, min(i16) AS low, max(i16) AS high FROM {missing}"),
    ("nulls last", "whole numbers with nulls", "SELECT {key}, u32 FROM {missing} ORDER BY u32 ASC NULLS LAST, {key}"),
    ("nulls first", "whole numbers with nulls", "SELECT {key}, u32 FROM {missing} ORDER BY u32 DESC NULLS FIRST, {key}"),
    ("group of null", "labels with nulls", "SELECT labels, count(*) AS n FROM {missing} GROUP BY labels ORDER BY labels NULLS LAST"),
    ("nullif and coalesce", "whole numbers with nulls", "SELECT {key}, coalesce(nullif(i8, 0), -1) AS v FROM {missing} ORDER BY {key}"),
    ("NaN is no null", "", "SELECT {key} FROM {types} WHERE isnan(f64) AND f64 IS NOT NULL ORDER BY {key}"),
    ("NaN is greatest", "", "SELECT {key}, f64 FROM {types} ORDER BY f64 DESC, {key}"),
    ("infinities", "", "SELECT {key}, f64 FROM {types} WHERE f64 = CAST('-Infinity' AS DOUBLE) OR f64 = CAST('Infinity' AS DOUBLE) ORDER BY {key}"),
    ("NaN beside nulls", "floats with nulls", "SELECT {key}, f64 FROM {missing} ORDER BY {key}"),
    # groups
    ("group by", "", 'SELECT species, count(*) AS n, avg("sepal length") AS a, min("petal width") AS low, max("petal width") AS high FROM {iris} GROUP BY species ORDER BY species'),
    ("group by an expression", "", 'SELECT floor("sepal length") AS f, count(*) AS n FROM {iris} GROUP BY floor("sepal length") ORDER BY f'),
    ("having", "", 'SELECT "petal width" AS w, count(*) AS n FROM {iris} GROUP BY "petal width" HAVING count(*) > 7 ORDER BY w'),
    ("distinct", "", "SELECT DISTINCT species FROM {iris} ORDER BY species"),
    ("count distinct", "", 'SELECT count(DISTINCT "sepal length") AS n, count(DISTINCT species) AS s FROM {iris}'),
    ("deviation and median", "", 'SELECT stddev("sepal length") AS s, var_pop("sepal width") AS v, median("petal length") AS m, corr("petal length", "petal width") AS c FROM {iris}'),
    ("filter of an aggregate", "", "SELECT count(*) FILTER (WHERE species = 'setosa') AS s, sum(\"petal width\") FILTER (WHERE \"petal width\" > 2) AS w FROM {iris}"),
    ("grouping sets", "", "SELECT species, count(*) AS n FROM {iris} GROUP BY ROLLUP (species) ORDER BY species NULLS LAST"),
    ("texts in order", "", "SELECT string_agg({key}, ',' ORDER BY {key} DESC) AS keys FROM {types}"),
    ("list in order", "", "SELECT array_agg(i32 ORDER BY {key}) AS values FROM {types}"),
    # joins and sets
    ("join of a table with itself", "", 'SELECT a.{key} AS one, b.{key} AS other FROM {iris} a JOIN {iris} b ON a."sepal length" = b."sepal length" AND a.{key} < b.{key} WHERE a."sepal length" > 7 ORDER BY one, other'),
    ("left join", "", "SELECT t.{key} AS k, w.c000 AS c FROM {types} t LEFT JOIN {wide} w ON t.{key} = w.{key} ORDER BY k"),
    ("anti join", "", "SELECT {key} FROM {types} t WHERE NOT EXISTS (SELECT 1 FROM {wide} w WHERE w.{key} = t.{key}) ORDER BY {key}"),
    ("join on labels", "", "SELECT count(*) AS n FROM {iris} a JOIN (SELECT DISTINCT species FROM {iris}) b ON a.species = b.species"),
    ("union", "", "SELECT {key} AS k FROM {types} UNION SELECT {key} AS k FROM {wide} ORDER BY k"),
    ("except", "", "SELECT {key} FROM {types} EXCEPT SELECT {key} FROM {wide} ORDER BY 1"),
    ("subquery", "", 'SELECT count(*) AS n FROM {iris} WHERE "sepal length" > (SELECT avg("sepal length") FROM {iris})'),
    ("with", "", "WITH big AS (SELECT species, \"petal length\" AS p FROM {iris} WHERE \"petal length\" > 5) SELECT species, max(p) AS p FROM big GROUP BY species ORDER BY species"),
    # windows
    ("row number", "", 'SELECT {key}, species, row_number() OVER (PARTITION BY species ORDER BY "sepal length" DESC, {key}) AS n FROM {iris} ORDER BY {key} LIMIT 20'),
    ("running sum", "", "SELECT {key}, sum(i32) OVER (ORDER BY {key} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM {types} ORDER BY {key}"),
    ("lag and lead", "", 'SELECT {key}, lag("petal width") OVER (ORDER BY {key}) AS before, lead("petal width", 2) OVER (ORDER BY {key}) AS after FROM {iris} ORDER BY {key} LIMIT 5'),
    ("rank within groups", "", 'SELECT * FROM (SELECT {key} AS k, species, rank() OVER (PARTITION BY species ORDER BY "petal length" DESC) AS r FROM {iris}) WHERE r = 1 ORDER BY k'),
    # texts
    # DuckDB maps each letter to one: the capital of "ß" is another there.
    ("lengths and cases", "empty texts", "SELECT {key}, length(text) AS n, upper({key}) AS u, lower(text) AS l FROM {types} ORDER BY {key}"),
    ("parts of texts", "empty texts", "SELECT {key}, substr(text, 2, 3) AS part, replace(text, 'o', '0') AS zeros, strpos(text, 'o') AS at FROM {types} ORDER BY {key}"),
    ("joined texts", "empty texts", "SELECT {key} || '/' || text AS both, split_part({key}, '-', 2) AS number FROM {types} ORDER BY {key}"),
    ("unicode texts", "", "SELECT {key}, text, length(text) AS letters FROM {unicode} ORDER BY {key}"),
    ("unicode names", "", 'SELECT {key}, "é" AS a, "עברית" AS b, "👨‍👩‍👧" AS c, "say ""x"", y" AS d FROM {unicode} WHERE "é" > 2 ORDER BY {key} LIMIT 4'),
    ("names of one letter in two forms", "", 'SELECT "\u00e9" AS one, "e\u0301" AS two FROM {unicode} ORDER BY {key} LIMIT 3'),
    # times
    ("dates", "", "SELECT {key}, CAST(date AS DATE) AS d, extract(year FROM CAST(date AS DATE)) AS y FROM {types} ORDER BY {key}"),
    ("timestamps", "", "SELECT {key}, CAST(timestamp AS TIMESTAMP(6)) AS t FROM {types} ORDER BY {key}"),
    # DataFusion computes with nanoseconds, which do not cover all years.
    ("truncated timestamps", "", "SELECT {key}, CAST(date_trunc('month', t) AS DATE) AS m FROM (SELECT {key}, CAST(timestamp AS TIMESTAMP(6)) AS t FROM {types} WHERE {key} NOT IN ('row-04', 'row-05')) ORDER BY {key}"),
    ("before 1970", "", "SELECT {key} FROM {types} WHERE CAST(timestamp AS TIMESTAMP(6)) < TIMESTAMP '1970-01-01 00:00:00' ORDER BY {key}"),
    ("null of times", "times with nulls", "SELECT count(*) AS n FROM {missing} WHERE timestamp IS NULL AND CAST(date AS DATE) > DATE '1970-01-01'"),
    # nested values
    ("elements of lists", "lists", "SELECT {key}, list[1] AS one, list[9] AS none FROM {types} ORDER BY {key}"),
    ("lists", "lists", 'SELECT {key}, list, "list of text" FROM {types} ORDER BY {key}'),
    ("lengths of lists", "lists", 'SELECT {key}, coalesce(len, 0) AS n FROM (SELECT {key}, CAST(array_length(list) AS BIGINT) AS len FROM {types}) ORDER BY {key}'),
    ("rows of list elements", "lists", "SELECT k, item FROM (SELECT {key} AS k, unnest(list) AS item FROM {types}) ORDER BY k, item"),
    ("members of structs", "structs", "SELECT {key}, \"struct\"['a'] AS a, \"struct\"['b'] AS b FROM {types} ORDER BY {key}"),
    ("structs", "structs", 'SELECT {key}, "struct" FROM {types} ORDER BY {key} LIMIT 3'),
    ("fixed lists", "", "SELECT {key}, fixed[2] AS second FROM {types} ORDER BY {key}"),
    ("many columns", "", "SELECT sum(c000 + c005) AS s, max(c001) AS m, min(c002) AS t FROM {wide}"),
]


def value(cell):
    """A value as JSON, as `wharf cat` prints it."""
    match cell:
        case float() if math.isnan(cell):
            return "NaN"
        case float() if math.isinf(cell):
            return "Infinity" if cell > 0 else "-Infinity"
        case decimal.Decimal():
            return int(cell) if cell == cell.to_integral_value() else float(cell)
        case datetime.datetime() | datetime.date():
            return cell.isoformat()
        case list() | tuple():
            return [value(item) for item in cell]
        case dict():
            return {name: value(member) for name, member in cell.items()}
        case _:
            return cell


def main(output):
    names = {table: f"'{TABLES / table}.parquet'" for table in ("iris", "missing", "types", "unicode", "wide")}
    answers = []
    for name, lacking, sql in QUERIES:
        relation = duckdb.sql(sql.format(key="key", **names))
        rows = [[value(cell) for cell in row] for row in relation.fetchall()]
        answers.append({"name": name, "sql": sql, "not": LACKING[lacking], "rows": rows})
    lines = [json.dumps(answer, ensure_ascii=False) for answer in answers]
    pathlib.Path(output).write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(f"{len(answers)} queries")


if __name__ == "__main__":
    main(*sys.argv[1:])
