"""Divides a plan into shards of similar length."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from bfc_bench.run.grid import Cell
from bfc_bench.run.plan import Plan
from bfc_bench.shards.job import ShardCells


def divide(plan: Plan, shards: int, workers: int, lost: Mapping[str, int]) -> tuple[list[ShardCells], list[float]]:
    """Divide a plan into shards.

    Each batch, longest first, goes to the shard with the least work. No shard takes longer than 4/3 of the best
    division plus one batch (Graham 1969). Equal plans are divided equally. The first shard gets the cells
    that are not run.

    Args:
        plan: The plan.
        shards: Most shards.
        workers: Workers per shard.
        lost: How often a shard ended unexpectedly while it ran a cell, by id. These cells get batches of their own.

    Returns:
        The shards, and the estimated seconds of each.
    """
    suspects = frozenset(cell.id for cell in plan.todo if cell.id in lost)
    batches = replace(plan, grid=replace(plan.grid, alone=suspects)).batches(shards * workers)
    units: list[tuple[float, Sequence[Cell]]] = [(planned.seconds, planned.batch.cells) for planned in batches]
    units.sort(key=lambda unit: -unit[0])  # stable: ties keep the order of the plan
    count = max(1, min(shards, len(units)))
    numbers, loads = balanced((seconds for seconds, _ in units), count)
    cells: list[list[Cell]] = [[] for _ in range(count)]
    cells[0] += [*plan.to_skip, *(cell for cell in plan.todo if cell in plan.broken)]
    for number, (_, unit) in zip(numbers, units, strict=True):
        cells[number] += unit
    parts = [ShardCells(tuple(own), {c.id: lost[c.id] for c in own if c.id in suspects}) for own in cells]
    return parts, [load / workers for load in loads]


def balanced(seconds: Iterable[float], parts: int) -> tuple[list[int], list[float]]:
    """The part of each unit, assigned in order to the part with the least work, and the seconds of each part."""
    heap = [(0.0, number) for number in range(parts)]
    numbers, loads = [], [0.0] * parts
    for own in seconds:
        load, number = heap[0]
        numbers.append(number)
        loads[number] = load + own
        heapq.heapreplace(heap, (loads[number], number))
    return numbers, loads
