"""Divides a plan among shards."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from bfc_bench.run.grid import Cell
from bfc_bench.run.plan import Plan
from bfc_bench.shards.job import ShardCells


def divide(plan: Plan, shards: int, workers: int, lost: Mapping[str, int]) -> tuple[list[ShardCells], list[float]]:
    """At most so many parts of a plan, and the estimated seconds of each with so many ``workers``.

    The plan's batches, longest first, each to the part that has least: no part takes longer than 4/3 of the best
    division plus what one batch more takes (Graham 1969). The same plan is divided in the same way. Cells that were
    ``lost`` are batches of their own. Cells that do not apply are the business of the first shard.
    """
    suspects = frozenset(cell.id for cell in plan.todo if cell.id in lost)
    batches = replace(plan, grid=replace(plan.grid, alone=suspects)).batches(shards * workers)
    units: list[tuple[float, Sequence[Cell]]] = [(planned.seconds, planned.batch.cells) for planned in batches]
    units.sort(key=lambda unit: -unit[0])  # of equal length in the plan's order
    count = max(1, min(shards, len(units)))
    numbers, loads = balanced((seconds for seconds, _ in units), count)
    cells: list[list[Cell]] = [[] for _ in range(count)]
    cells[0] += plan.to_skip
    for number, (_, unit) in zip(numbers, units, strict=True):
        cells[number] += unit
    parts = [ShardCells(tuple(own), {c.id: lost[c.id] for c in own if c.id in suspects}) for own in cells]
    return parts, [load / workers for load in loads]


def balanced(seconds: Iterable[float], parts: int) -> tuple[list[int], list[float]]:
    """To which of so many ``parts`` each unit goes, in turn the one that has least, and the seconds of each part."""
    least = [(0.0, number) for number in range(parts)]
    numbers, loads = [], [0.0] * parts
    for own in seconds:
        load, number = least[0]
        numbers.append(number)
        loads[number] = load + own
        heapq.heapreplace(least, (loads[number], number))
    return numbers, loads
