"""Any container in Ray Data, and back.

>>> from wharf_data import ray as wharf_ray
>>> days = wharf_ray.read("days/*.idv")                 # doctest: +SKIP
>>> wharf_ray.write(days, "folder", to="parquet")       # doctest: +SKIP

Read tasks take ranges of rows of a file, so that large files are read by several workers. Blocks are Arrow tables; tensors stay tensors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from ray.data import Datasink, Datasource, ReadTask
from ray.data.block import BlockAccessor, BlockMetadata

from . import _parts
from . import open as _open

__all__ = ["WharfDatasink", "WharfDatasource", "read", "write"]


class WharfDatasource(Datasource):
    """Reads files of any format of ``wharf_data``.

    Args:
        paths: a path, a glob pattern, or several of them.
        table: the table of files with several.
        columns: the names of the columns to read; all by default.
        batch_rows: the largest number of rows of a block.
    """

    def __init__(
        self,
        paths: str | Iterable[str],
        *,
        table: str | None = None,
        columns: Iterable[str] | None = None,
        batch_rows: int | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._paths, self._table = _parts.expand(paths), table
        self._columns = None if columns is None else list(columns)
        self._batch_rows = batch_rows

    def _row_bytes(self) -> int:
        """The size of a row in memory, by the first rows."""
        opened = _open(self._paths[0]).table(self._table)
        first = pa.table(opened.to_batches(self._columns, rows=(0, 100)))
        return int(first.nbytes // max(first.num_rows, 1))

    def estimate_inmemory_data_size(self) -> int | None:
        """About the bytes of all rows in memory, by the first rows."""
        rows = sum(len(_open(path).table(self._table)) for path in self._paths)
        return int(rows * self._row_bytes())

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None
    ) -> list[ReadTask]:
        """About ``parallelism`` tasks: one or several for each file."""
        rows = sum(len(_open(path).table(self._table)) for path in self._paths)
        row_bytes = self._row_bytes()
        parts = _parts.split(self._paths, self._table, -(-rows // max(parallelism, 1)))
        schema = pa.schema(_open(self._paths[0]).table(self._table).to_batches(self._columns, rows=(0, 0)).schema)
        tasks = []
        for part in parts:
            count = part.stop - part.start
            metadata = BlockMetadata(num_rows=count, size_bytes=count * row_bytes, input_files=(part.path,), exec_stats=None)
            read = _ReadPart(part, self._table, self._columns, self._batch_rows)
            tasks.append(ReadTask(read, metadata, schema=schema, per_task_row_limit=per_task_row_limit))
        return tasks


class _ReadPart:
    """Reads a part as blocks."""

    def __init__(self, part: _parts.Part, table: str | None, columns: list[str] | None, batch_rows: int | None) -> None:
        self.part, self.table, self.columns, self.batch_rows = part, table, columns, batch_rows

    def __call__(self) -> Iterable[pa.Table]:
        for batch in _parts.batches(self.part, self.table, self.columns, self.batch_rows):
            yield pa.Table.from_batches([batch])


class WharfDatasink(Datasink[Any]):
    """Writes a folder with a file for each write task; the files appear after all were written. Without rows there is one file that has the
    columns, if Ray knows them.

    Args:
        path: the folder, which all workers share; no URL other than ``file:``.
        to: the format.
        overwrite: remove the files that are there.
        options: the keyword arguments of ``wharf_data.write()``.
    """

    def __init__(self, path: str, *, to: str = "parquet", overwrite: bool = False, **options: Any) -> None:
        self._folder, self._overwrite = _parts.Folder(path, to, options), overwrite

    def write(self, blocks: Iterable[Any], ctx: Any) -> Any:
        """Writes the blocks of a task to a file. Without rows it returns the schema, if there is one."""
        schemas = []

        def batches() -> Iterator[pa.RecordBatch]:
            for block in blocks:
                table = BlockAccessor.for_block(block).to_arrow()
                schemas.append(table.schema)
                yield from (batch for batch in table.to_batches() if batch.num_rows)

        return self._folder.write(ctx.task_idx, batches()) or next(filter(len, schemas), None)

    def on_write_complete(self, write_result: Any) -> None:
        """Moves the files into place."""
        written = [one for one in write_result.write_returns if isinstance(one, _parts.Written)]
        schema = next((one for one in write_result.write_returns if isinstance(one, pa.Schema)), None)
        self._folder.commit(written, overwrite=self._overwrite, schema=schema)

    def on_write_failed(self, error: Exception) -> None:
        """Removes what was written."""
        self._folder.abort()


def read(
    paths: str | Iterable[str],
    *,
    table: str | None = None,
    columns: Iterable[str] | None = None,
    batch_rows: int | None = None,
    **options: Any,
) -> Any:
    """A ``ray.data.Dataset`` of files; ``options`` are those of ``ray.data.read_datasource``.

    Raises:
        NotFoundError: nothing matches a path.
    """
    import ray.data

    source = WharfDatasource(paths, table=table, columns=columns, batch_rows=batch_rows)
    return ray.data.read_datasource(source, **options)


def write(dataset: Any, path: str, *, to: str = "parquet", overwrite: bool = False, **options: Any) -> None:
    """Writes a ``ray.data.Dataset`` to a folder, with a file for each write task."""
    dataset.write_datasink(WharfDatasink(path, to=to, overwrite=overwrite, **options))
