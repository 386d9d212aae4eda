"""The ``[budget]`` of a suite file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from bfc_bench.config import Settings


class Budget(Settings):
    """What one cell may use."""

    cell_seconds: Annotated[float, Field(gt=0)] = 120.0
    """Wall time in seconds after which a cell is stopped."""
    memory_gb: Annotated[float, Field(gt=0)] = 8.0
    """Memory of a cell in 10^9 bytes; a cell that declares more, or whose data take more, is skipped."""
    gpu_memory_gb: Annotated[float, Field(gt=0)] | None = None
    """GPU memory of a cell in 10^9 bytes, which replaces ``memory_gb`` for what it declares; None: what one library may
    take of the visible GPU, or ``memory_gb`` if none is visible."""
