"""The store of results: a folder with a SQLite file of rows, and the files of cells beside it."""

from typing import Literal, TypeAlias

DEFAULT_STORE = "bfc-results"
"""Folder of the store if none is named."""
Redo: TypeAlias = Literal["failed", "killed", "stale", "all"]
"""Which cells that have a row are run again: those that are not ok, those whose worker was ended, those of another
release or device, or all."""
