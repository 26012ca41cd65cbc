"""Dataset files of any format of wharf as tables of the package ``datafusion``.

>>> import datafusion, wharf_data_sql
>>> context = datafusion.SessionContext()
>>> context.register_table("iris", wharf_data_sql.Table("iris.idv"))  # doctest: +SKIP
"""

from ._native import Table, __version__

__all__ = ["Table", "__version__"]
