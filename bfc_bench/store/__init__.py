"""The local store and its rows."""

from typing import Literal, TypeAlias

DEFAULT_STORE = "bfc-results"
"""Directory of the results where none is named."""
Redo: TypeAlias = Literal["failed", "killed", "stale", "all"]
"""Which cells that have a row are made again: those not ok, those of them whose worker was ended, those of another
release or device, or all."""
