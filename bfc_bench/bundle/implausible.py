"""Finds rows that one would doubt: an error far below those of other replicates or learners, a theory or noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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


Bounds = Callable[[MeasuredCell], Iterable[tuple[str, float]]]
"""For a cell, errors below which few honest rows lie, each with what it is in words."""


def implausible(rows: Iterable[MeasuredCell], bounds: Bounds = lambda row: ()) -> list[Doubt]:
    """The doubted rows of a suite, the most implausible first. An honest row can be among them.

    Args:
        rows: The rows.
        bounds: Further bounds, such as theories; a row ``FACTOR`` times below one of them is doubted.
    """
    groups: dict[tuple[str, str, int, int], list[tuple[float, MeasuredCell]]] = {}
    for row in rows:
        if row.nmse is not None:
            groups.setdefault((row.task, row.label, row.d, row.n), []).append((row.nmse, row))
    doubts = [doubt for replicates in groups.values() for doubt in _doubts(replicates)]
    doubts += _below_other_learners(groups)
    for replicates in groups.values():
        for error, row in replicates:
            below = [(what, bound) for what, bound in bounds(row) if error * FACTOR < bound < inf]
            doubts += [_doubt(row, f"{what} is {bound:.3g}", bound) for what, bound in below]
    worst: dict[str, Doubt] = {}
    for doubt in sorted(doubts, key=lambda doubt: (-doubt.factor, doubt.cell)):
        worst.setdefault(doubt.cell, doubt)
    return list(worst.values())


def _below_other_learners(
    groups: Mapping[tuple[str, str, int, int], Sequence[tuple[float, MeasuredCell]]],
) -> list[Doubt]:
    """The best row of each learner that is far below all other learners on a task at one d and n."""
    points: dict[tuple[str, int, int], list[tuple[float, MeasuredCell]]] = {}
    for (task, _, d, n), replicates in groups.items():
        points.setdefault((task, d, n), []).append(min(replicates, key=lambda item: item[0]))
    found = []
    for learners in points.values():
        (error, row), *others = sorted(learners, key=lambda item: item[0])
        if others and error * FACTOR < others[0][0]:
            found.append(_doubt(row, f"the least of {len(others)} other learners is {others[0][0]:.3g}", others[0][0]))
    return found


def _doubt(row: MeasuredCell, reason: str, bound: float) -> Doubt:
    return Doubt(row.cell, f"{_where(row)}; {reason}", bound / row.nmse if row.nmse else inf)


def _where(row: MeasuredCell) -> str:
    return f"{row.label} on {row.task}, d = {row.d}, n = {row.n}: NMSE {row.nmse:.3g}"


def _doubts(replicates: Sequence[tuple[float, MeasuredCell]]) -> list[Doubt]:
    """The doubted rows among the replicates of one task, label, d and n."""
    ordered = sorted(error for error, _ in replicates)
    found = []
    for error, row in replicates:
        others = len(ordered) - 1
        least = ordered[1] if others and error == ordered[0] else ordered[0]
        if error < ROUNDING.get(row.dtype or "", 0.0):
            found.append(Doubt(row.cell, f"{_where(row)}, below what {row.dtype} resolves", inf))
        elif others >= LEAST_OTHERS and error * FACTOR < least:
            found.append(_doubt(row, f"the least of {others} other replicates is {least:.3g}", least))
    return found
