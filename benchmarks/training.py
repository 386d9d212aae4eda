"""Training of ensembles and of single models, against the eager loop and programs that train all models at once."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import at_once
from benchmarks.measurement import Measurement, interleave
from benchmarks.networks import EAGER, LARGE, MEDIUM, SMALL, TINY, Size, geometric_mean, same_loss

EAGER_MODELS = 3
"""Number of models of an ensemble that the eager loop trains; its time is proportional to it."""


def measure(quick: bool) -> Iterator[Measurement]:
    """S and M with E=32; XS, S, M and L with E=1, where ours must never be slower."""
    pairs = 2 if quick else 5
    for size, few, many, goal in ((SMALL, 200, 600, 15), (MEDIUM, 10, 60, 2)):
        steps = few if quick else many
        yield against_eager(size, 32, steps, pairs, goal)
        yield from against_ensembles(size, 32, steps, pairs)
    for size, steps in ((TINY, 1500), (SMALL, 1000), (MEDIUM, 200), (LARGE, 40)):
        yield against_eager(size, 1, steps // 10 if quick else steps, pairs, goal=1)


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
