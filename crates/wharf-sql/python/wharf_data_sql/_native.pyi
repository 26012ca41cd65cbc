from collections.abc import Sequence
from os import PathLike
from typing import Any, final

__all__ = ["Table", "__version__"]

__version__: str

@final
class Table:
    """Files as one table, for `SessionContext.register_table`.

    `paths` are one or more files, folders or glob patterns, whose columns agree. `table` names one of several tables in a file. Options are those
    of `CREATE EXTERNAL TABLE ... OPTIONS (...)` in `wharf sql`: `delimiter=";"`, `header=False`. Opening reads what describes the columns; rows are
    read by queries.

    Raises `ValueError` for files that do not fit, damage and unknown options, `OSError` where a file cannot be read.
    """

    def __new__(
        cls, paths: str | PathLike[str] | Sequence[str | PathLike[str]], /, *, table: str | None = None, **options: str | float | bool
    ) -> Table: ...
    @property
    def columns(self) -> list[str]:
        """The names of the columns."""

    def take_losses(self) -> list[str]:
        """Removes and returns what the queries so far could not keep, such as columns of a type that tables do not have."""

    def __datafusion_table_provider__(self, session: Any) -> object: ...
