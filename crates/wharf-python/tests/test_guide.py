"""The recipes of the guide, as they are printed there."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import wharf_data

GUIDE = Path(__file__).parents[2] / "wharf" / "guide"


def recipe(page: str, heading: str) -> str:
    """The first block of Python under a heading."""
    section = (GUIDE / page).read_text().split(f"\n## {heading}\n", 1)[1]
    return section.split("```python\n", 1)[1].split("```", 1)[0]


def test_other_engines_query_streams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for engine in ("duckdb", "polars"):
        pytest.importorskip(engine)
    wharf_data.write({"label": ["a", "b", "a"], "age": [1.0, 2.0, 4.0]}, tmp_path / "train.idv")
    monkeypatch.chdir(tmp_path)
    code = recipe("sql.md", "Other engines")
    # The recipes drop their results.
    for engine, call in (("duckdb", "duckdb.sql("), ("polars", "polars.DataFrame(")):
        assert f"\n{call}" in code
        code = code.replace(f"\n{call}", f"\nby_{engine} = {call}")
    # It takes 120 MB, so not every environment has it.
    has_datafusion = find_spec("datafusion") is not None
    if not has_datafusion:
        code = code.replace(" datafusion,", "").split("\ncontext = ", 1)[0]
    results: dict[str, Any] = {}
    exec(compile(code, "sql.md", "exec"), results)
    expected = {"a": 2.5, "b": 2.0}
    assert dict(results["by_duckdb"].fetchall()) == expected
    assert dict(results["by_polars"].rows()) == expected
    if has_datafusion:
        shown = capsys.readouterr().out
        assert "| a " in shown and "| 2.5 " in shown
