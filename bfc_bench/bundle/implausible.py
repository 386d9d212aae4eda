"""Finds rows that one would doubt: an error far below that of the other replicates, or below what its type resolves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

FACTOR = 1e4
"""An error this many times below that of every other replicate of its cell is doubted."""
LEAST_OTHERS = 2
"""Other replicates that are needed for this comparison."""
ROUNDING = {"float64": 1e-33, "float32": 1e-16, "float16": 1e-8}
"""Errors below these, by type of the predictions, are doubted. Predictions that equal the target but for one rounding
have a relative error of about (0.2 eps)^2, with eps = 2^-52, 2^-23 and 2^-10."""


@dataclass(frozen=True, slots=True)
class MeasuredCell:
    """What is needed of a row to doubt it and to run its cell again."""

    suite: tuple[str, int]
    cell: str
    task: str
    label: str
    d: int
    n: int
    replicate: int
    nmse: float | None
    dtype: str | None
    device: str | None = None
    seconds: float | None = None
    """CPU time of the fit."""


@dataclass(frozen=True)
class Doubt:
    """A cell and why one would doubt its row."""

    cell: str
    reason: str
    factor: float
    """How many times below the bound its error lies."""


def implausible(rows: Iterable[MeasuredCell]) -> list[Doubt]:
    """The doubted rows of a suite, the most implausible first. An honest row can be among them."""
    groups: dict[tuple[str, str, int, int], list[tuple[float, MeasuredCell]]] = {}
    for row in rows:
        if row.nmse is not None:
            groups.setdefault((row.task, row.label, row.d, row.n), []).append((row.nmse, row))
    doubts = [doubt for replicates in groups.values() for doubt in _doubts(replicates)]
    return sorted(doubts, key=lambda doubt: (-doubt.factor, doubt.cell))


def _doubts(replicates: Sequence[tuple[float, MeasuredCell]]) -> list[Doubt]:
    """The doubted rows among the replicates of one task, label, d and n."""
    ordered = sorted(error for error, _ in replicates)
    found = []
    for error, row in replicates:
        others = len(ordered) - 1
        least = ordered[1] if others and error == ordered[0] else ordered[0]
        where = f"{row.label} on {row.task}, d = {row.d}, n = {row.n}: NMSE {error:.3g}"
        if error < ROUNDING.get(row.dtype or "", 0.0):
            found.append(Doubt(row.cell, f"{where}, below what {row.dtype} resolves", inf))
        elif others >= LEAST_OTHERS and error * FACTOR < least:
            reason = f"{where}; the least of {others} other replicates is {least:.3g}"
            found.append(Doubt(row.cell, reason, least / error if error else inf))
    return found
