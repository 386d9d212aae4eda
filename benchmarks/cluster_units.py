"""The units of a simulated run: batches as runs and shards form them from estimates, with times that differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import exp, log
from statistics import median, pstdev

import numpy as np

from benchmarks.cluster import Unit
from bfc_bench.run.costs import occupied
from bfc_bench.run.plan import Plan, Planned, short_first
from bfc_bench.run.session import plan_for
from bfc_bench.seeds import stream
from bfc_bench.shards.partition import divide
from bfc_bench.store.rows import Rows


@dataclass(frozen=True)
class Surprise:
    """How the times of cells differ from their estimates."""

    sigma: float = 0.0
    """Standard deviation of the logarithm of a cell's time over its estimate, the median of its curve's rows."""
    stretch: float = 1.0
    """Wall seconds of a fit for each second that it computes or waits: more on a machine with more work than cores."""
    beside: float = 0.0
    """CPU seconds of a cell outside its fit: drawing points, predictions, errors. No row has them."""
    cold: float = 0.0
    """Seconds that the first cell of a learner in a worker takes longer."""

    @classmethod
    def of(cls, rows: Rows) -> Surprise:
        """Measured on the rows of earlier runs, which need replicates.

        Args:
            rows: The rows.
        """
        ok = rows.where(status="ok")
        curve = ("label", "device", "d", "n")
        usual = {key: float(np.median(occupied(group))) for key, group in ok.groups(*curve).items()}
        logs: list[float] = []
        for key, group in ok.groups(*curve).items():
            logs += [log(taken / usual[key]) for taken in occupied(group) if taken > 0 < usual[key] and len(group) > 2]
        first: dict[str, tuple[float, float]] = {}
        """By learner: when its first cell ended, and what it took longer than the median."""
        for (learner, *key), group in ok.groups("learner", *curve).items():
            ended, seconds = np.nan_to_num(group.number("finished_at")), occupied(group)
            own = float(ended.min()), float(seconds[ended.argmin()]) - usual[tuple(key)]
            first[learner] = min(own, first.get(learner, own))
        wall, own_time = float(np.nansum(ok.number("fit_wall_seconds"))), float(np.nansum(occupied(ok)))
        cold = median([max(0.0, longer) for _, longer in first.values()]) if first else 0.0
        return cls(pstdev(logs) if logs else 0.0, max(1.0, wall / own_time) if own_time else 1.0, cold=cold)


def actual_seconds(plan: Plan, surprise: Surprise, seed: int) -> dict[str, float]:
    """Wall seconds of each cell to do, by id: its estimate, made longer or shorter at random.

    Args:
        plan: The plan with the estimates.
        surprise: How far from them the times are.
        seed: Of the random numbers.
    """
    draws = stream(seed, "estimates").standard_normal(len(plan.seconds))
    return {
        id: surprise.stretch * (own * exp(surprise.sigma * z) + surprise.beside)
        for (id, own), z in zip(plan.seconds.items(), draws.tolist(), strict=True)
    }


def session_units(plans: Iterable[Plan], slots: int, seconds: Mapping[str, float]) -> list[Unit]:
    """The units of a session in the order in which it submits them.

    Args:
        plans: The plan, or those of several suites.
        slots: Number of slots.
        seconds: Wall seconds of each cell, by id.
    """
    batches = short_first([planned for plan in plans for planned in plan.batches(slots)])
    return [Unit(sum(seconds[c.id] for c in b.batch.cells), len(b.batch.cells), _learner(b)) for b in batches]


def shard_units(plan: Plan, shards: int, workers: int, seconds: Mapping[str, float]) -> tuple[list[Unit], list[int]]:
    """The units of shards, and the shard of each. A shard forms its batches without the rows of the store.

    Args:
        plan: The plan.
        shards: Number of shards.
        workers: Workers of each.
        seconds: Wall seconds of each cell, by id.
    """
    units: list[Unit] = []
    numbers: list[int] = []
    for number, part in enumerate(divide(plan, shards, workers, {})[0]):
        own = plan_for(replace(plan.grid, only=part.cells), None, plan.common.device)
        added = session_units([own], workers, seconds)
        units += added
        numbers += [number] * len(added)
    return units, numbers


def exact_units(plans: Iterable[Plan], slots: int) -> list[Unit]:
    """The units of a run whose estimates are exact, the longest first."""
    batches = [planned for plan in plans for planned in plan.batches(slots)]
    units = [Unit(planned.seconds, len(planned.batch.cells), _learner(planned)) for planned in batches]
    return sorted(units, key=lambda unit: -unit.seconds)


def _learner(planned: Planned) -> str:
    return next(iter(planned.batch.learners.values())).name
