"""Coefficients of targets that are sums of terms."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field

Coefficients: TypeAlias = tuple[Annotated[float, Field(ge=-1, le=1)], ...] | None
"""One per term; None for equal ones whose squares have the sum 1."""


def check_coefficients(values: Coefficients, count: int | None, per: str) -> Coefficients:
    """``values``. Raises ``ValueError`` unless there is one per ``per``, ``count`` in all if known, not all 0."""
    if values is not None and count is not None and len(values) != count:
        raise ValueError(f"must have one entry per {per}, {count} in all")
    if values is not None and not any(values):
        raise ValueError("must not all be 0")
    return values
