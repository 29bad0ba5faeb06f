"""Workflows that were executed once, replayed.

esched reads the instance; its tasks are executed like those of synthetic graphs.
"""

from esched_workloads.synthetic import finish, submit

__all__ = ["finish", "submit"]
