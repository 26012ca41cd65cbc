"""Conditions on rows: the rows that DuckDB and pyarrow.compute select."""

from __future__ import annotations

import datetime
import random
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import wharf_data

ROWS = 4000

#: Formats that keep all types of the table.
FORMATS = ["parquet", "arrow"]


def make_table(seed: int) -> pa.Table:
    """Columns of many types with nulls, NaN, infinities, extremes and nested values."""
    rng = random.Random(seed)

    def column(values: list[object], kind: pa.DataType) -> pa.Array:
        return pa.array([None if rng.random() < 0.15 else rng.choice(values) for _ in range(ROWS)], kind)

    small = list(range(-4, 5))
    floats = [0.0, -0.0, 0.5, 0.1, -1.5, float("nan"), float("inf"), float("-inf"), 1e300, 3.0]
    words = ["", "a", "ab", "Ab", "aXb", "ß", "Ü", "ü", "\U0001f600", "it's", "a%b", "a_b", "z"]
    days = [datetime.date(1970, 1, 1) + datetime.timedelta(days=n * 37) for n in range(-300, 900)]
    moments = [datetime.datetime(2024, 5, 1) + datetime.timedelta(microseconds=n * 1_000_003) for n in range(500)]
    structs = [{"a": n, "t": word} for n, word in zip(small, words)] + [{"a": None, "t": None}]
    lists = [[], [1], [1, 2], [None, 3, 4], [-1, 0, 1, 2]]
    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "i": column([*small, 2**63 - 1, -(2**63), 2**53 + 1], pa.int64()),
            "u": column([0, 1, 2, 2**64 - 1, 2**63], pa.uint64()),
            "s": column(list(range(-20, 21)), pa.int8()),
            "f": column(floats, pa.float64()),
            "g": column(floats[:-2], pa.float32()),
            "t": column(words, pa.string()),
            "k": column(words, pa.string()).dictionary_encode(),
            "b": column([True, False], pa.bool_()),
            "day": column(days, pa.date32()),
            "moment": column(moments, pa.timestamp("us")),
            "o": column(structs, pa.struct([("a", pa.int64()), ("t", pa.string())])),
            "l": column(lists, pa.list_(pa.int64())),
        }
    )


def number(rng: random.Random) -> str:
    s = rng.choice(["s", "o.a"])
    return rng.choice(
        ["i", "u", "s", "f", "g", "o.a", "l[1]", "l[3]", "length(t)", f"({s} + 3)", f"({s} * -2)", f"({s} / 4)", f"({s} % 3)"]
    )


def literal(rng: random.Random) -> str:
    return rng.choice(["0", "1", "-2", "3", "0.5", "0.1", "-1.5", "1e300", "9223372036854775807", "18446744073709551615"])


def leaf(rng: random.Random) -> str:
    op = rng.choice(["=", "<>", "<", "<=", ">", ">="])
    text = rng.choice(["t", "k", "o.t", "lower(t)", "lower(k)"])
    word = rng.choice(["''", "'a'", "'ü'", "'it''s'", "'B'", "'\U0001f600'"])
    pattern = rng.choice(["'a%'", "'%b'", "'a_b'", "'%'", "'_'", "'Ü%'", "'%x%'", "'a!%b' escape '!'", "'a!_b' escape '!'"])
    return rng.choice(
        [
            f"{number(rng)} {op} {literal(rng)}",
            f"{literal(rng)} {op} {number(rng)}",
            f"s {op} {rng.choice(['f', 'g', 'o.a', 'u'])}",
            f"i {op} {rng.choice(['u', 's', 'o.a', 'l[2]'])}",
            f"f {op} {rng.choice(['g', 's'])}",
            f"{text} {op} {word}",
            f"t {op} {rng.choice(['k', 'o.t'])}",
            f"{text} {rng.choice(['', 'not '])}{rng.choice(['like', 'ilike'])} {pattern}",
            f"{number(rng)} {rng.choice(['', 'not '])}between {literal(rng)} and {literal(rng)}",
            f"{number(rng)} {rng.choice(['', 'not '])}in ({literal(rng)}, {literal(rng)})",
            f"{text} in ({word}, {word}, null)",
            f"{rng.choice(['i', 'f', 't', 'o', 'o.t', 'l', 'l[2]', 'b', 'day'])} is {rng.choice(['', 'not '])}null",
            f"b is {rng.choice(['', 'not '])}{rng.choice(['true', 'false'])}",
            "b",
            "isnan(f)",
            f"day {op} date '1995-03-01'",
            f"day {op} '2000-01-01'",
            f"moment {op} timestamp '2024-05-01 00:03:20.0006'",
            f"moment {op} '2024-05-01'",
            f"coalesce(s, 0) {op} 1",
            f"abs(s) {op} 5",
        ]
    )


def condition(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.3:
        return leaf(rng)
    left, right = condition(rng, depth - 1), condition(rng, depth - 1)
    return rng.choice([f"not ({left})", f"({left}) and ({right})", f"({left}) or ({right})", f"(({left}) is not true)"])


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return make_table(20)


@pytest.mark.parametrize("extension", FORMATS)
def test_selects_the_rows_that_duckdb_selects(table: pa.Table, extension: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{extension}"
    wharf_data.write(table, path)
    ours = wharf_data.open(path).table()
    duck = duckdb.connect()
    duck.register("data", table)
    rng = random.Random(7)
    seen = 0
    for _ in range(300):
        text = condition(rng, 3)
        expected = [row[0] for row in duck.execute(f"select id from data where {text} order by id").fetchall()]
        found = ours.to_arrow(["id"], filter=text)["id"].to_pylist()
        assert found == expected, text
        seen += 0 < len(expected) < ROWS
    assert seen > 100


def test_selects_the_rows_that_pyarrow_selects(table: pa.Table, tmp_path: Path) -> None:
    wharf_data.write(table, tmp_path / "a.parquet")
    ours = wharf_data.open(tmp_path / "a.parquet").table()
    field = pc.field
    for text, mask in [
        ("i > 1", field("i") > 1),
        ("not i > 1", ~(field("i") > 1)),
        ("i > 1 or b", (field("i") > 1) | field("b")),
        ("i is null and t <> 'a'", field("i").is_null() & (field("t") != "a")),
        ("s in (1, 2, 3)", field("s").isin([1, 2, 3])),
        ("s + 1 = 3 and not b", (field("s") + 1 == 3) & ~field("b")),
        ("o.a >= 2", pc.field("o", "a") >= 2),
        ("length(t) = 1", pc.utf8_length(field("t")) == 1),
        ("isnan(f)", pc.is_nan(field("f"))),
    ]:
        assert ours.to_arrow(["id"], filter=text)["id"].to_pylist() == table.filter(mask)["id"].to_pylist(), text


def test_rows_batches_and_conversions_take_conditions(table: pa.Table, tmp_path: Path) -> None:
    plain = table.select(["id", "i", "t", "b"])
    for extension in ["parquet", "jsonl", "csv", "zds"]:
        path = tmp_path / f"a.{extension}"
        wharf_data.write(plain, path)
        ours = wharf_data.open(path).table()
        expected = [row["id"] for row in plain.to_pylist() if row["t"] == "ab" and row["b"]]
        text = "t = 'ab' and b"
        assert [row["id"] for row in ours.rows(filter=text)] == expected
        assert ours.to_arrow(["id"], filter=text, rows=(2, 5))["id"].to_pylist() == expected[2:5]
        assert ours.to_arrow(["id"], filter=text, rows=slice(-2, None))["id"].to_pylist() == expected[-2:]
        made = wharf_data.convert(path, tmp_path / "out.parquet", where=text, columns=["id"], overwrite=True)
        assert made["rows"] == len(expected)
        with pytest.raises(wharf_data.Error, match='no column "nothing"') as error:
            ours.to_arrow(filter="nothing = 1")
        assert error.value.kind == "usage"
    with pytest.raises(wharf_data.Error, match="where expected a column"):
        wharf_data.convert(tmp_path / "a.csv", tmp_path / "b.csv", where="i >")
