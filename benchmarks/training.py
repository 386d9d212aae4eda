"""Compares our engine with the eager loop on an ensemble, for several benchmarks."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import at_once
from benchmarks.measurement import Measurement, interleave
from benchmarks.networks import EAGER, Size, geometric_mean, same_loss

EAGER_MODELS = 3
"""Number of models of an ensemble that the eager loop trains; its time is proportional to it."""


def against_eager(size: Size, count: int, steps: int, pairs: int, goal: float) -> Measurement:
    """Time an ensemble, without compile time."""
    members = size.members(count)
    some = members[:EAGER_MODELS]
    times = interleave(lambda: size.compiled(members, steps), lambda: size.eager(some, steps), pairs)
    ours, theirs = times.results
    losses = same_loss(geometric_mean(ours[: len(some)]), geometric_mean(theirs))
    share = "" if len(some) == count else f"; the opponent trained {len(some)} of the {count}"
    return times.measurement(
        f"{size.name}, E={count}, float32",
        EAGER,
        "ms/step",
        goal=goal,
        ours_scale=1e3 / (count * steps),
        theirs_scale=1e3 / (len(some) * steps),
        note=f"{size}, {steps} steps{share}; {losses}",
    )


def against_ensembles(size: Size, count: int, steps: int, pairs: int) -> Iterator[Measurement]:
    """Time an ensemble against two programs that train all models at once, without compile time."""
    members = size.members(count)
    for opponent, train in (("JAX, vmap and scan", at_once.vmapped), ("PyTorch, batched, fused Adam", at_once.batched)):
        times = interleave(
            lambda: size.compiled(members, steps), lambda train=train: train(size, members, steps), pairs
        )
        losses = same_loss(*map(geometric_mean, times.results))
        scale = 1e3 / (count * steps)
        what = f"{size.name}, E={count}, float32"
        yield times.measurement(what, opponent, "ms/step", ours_scale=scale, theirs_scale=scale, note=losses)
