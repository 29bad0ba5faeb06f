"""SQL on Dask data frames, by dask-sql.

dask-sql is no longer maintained and looks for the query planner of data frames
where it was before Dask took it in. :func:`context` lets it find it on every
Dask of the pinned environments.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys

OLD = "dask_expr"
NEW = "dask.dataframe.dask_expr"


class _Moved(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules of the planner under its former name."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname == OLD or fullname.startswith(OLD + "."):
            return importlib.util.spec_from_loader(fullname, self)
        return None

    def create_module(self, spec):
        # The very module, not a copy: dask-sql compares classes.
        module = importlib.import_module(NEW + spec.name[len(OLD) :])
        self._true = getattr(self, "_true", {})
        self._true[spec.name] = module.__spec__
        return module

    def exec_module(self, module):
        # It was executed under its own name; the import machinery has written
        # the former one into it.
        module.__spec__ = self._true[module.__spec__.name]


def context():
    """Return an empty dask_sql.Context."""
    if importlib.util.find_spec(OLD) is None:
        sys.meta_path.append(_Moved())
    from dask_sql import Context

    return Context()
