"""Full-batch training of one layer: compressed rows against the eager loop on all points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bfc_plugins.quadratic.statistics import QuadraticStatistics

from benchmarks.measurement import Measurement, interleave
from benchmarks.networks import EAGER, Size, same_loss
from bfc_bench.toolkit.ensemble import Member, Recipe, square_loss, train

MODELS = 4


def measure(quick: bool) -> Iterator[Measurement]:
    """4 models of 20 units, d = 10 and 20, n = 1000 and 10,000; compression is part of every measurement."""
    steps = 300 if quick else 1500
    for d, points in ((10, 1000), (20, 1000), (20, 10_000)):
        size = Size(f"d={d}, n={points}", d, width=20, depth=1, batch_size=None, points=points)
        members = size.members(MODELS)
        pairs = interleave(
            lambda size=size, members=members: on_rows(size, members, steps),
            lambda size=size, members=members: size.eager(members[:1], steps),
            1 if quick else 3,
        )
        ours, theirs = pairs.results
        losses = same_loss(ours[0], theirs[0])
        yield pairs.measurement(
            f"full batch, 1 layer, {size.name}",
            f"{EAGER}, full batch",
            "ms/step",
            ours_scale=1e3 / (MODELS * steps),
            theirs_scale=1e3 / steps,
            note=f"{MODELS} models of {steps} steps, rows included; the opponent trained 1 of them; {losses}",
        )


def on_rows(size: Size, members: Sequence[Member], steps: int) -> list[float]:
    """Final losses after training on compressed points.

    Args:
        size: network and size of the problem.
        members: models with their points.
        steps: number of steps.
    """
    statistics = QuadraticStatistics(size.net)
    compressed = []
    for member in members:
        q, y = statistics.rows(member.params, member.inputs, member.y, 1.0 / (1.0 + member.y**2))
        compressed.append(replace(member, inputs=q, y=y))
    return [model.loss for model in train(Recipe(statistics, None, square_loss), compressed, steps)]
