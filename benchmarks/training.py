"""The comparison that several benchmarks make: an ensemble, trained by the engine and by the eager loop."""

from __future__ import annotations

from benchmarks.measurement import Measurement, interleave
from benchmarks.networks import EAGER, Size, geometric_mean, same_loss

EAGER_MODELS = 3
"""Models that the eager loop trains of a larger ensemble: one after another, its time is proportional to the number."""


def against_eager(size: Size, count: int, steps: int, pairs: int, goal: float) -> Measurement:
    """``count`` models, ``steps`` steps each; compile time excluded. Raises ``RuntimeError`` when losses differ."""
    members = size.members(count)
    some = members[:EAGER_MODELS]
    times = interleave(lambda: size.compiled(members, steps), lambda: size.eager(some, steps), pairs)
    ours, theirs = times.results
    found = same_loss(geometric_mean(ours[: len(some)]), geometric_mean(theirs))
    share = "" if len(some) == count else f"; the opponent trained {len(some)} of the {count}"
    return times.measurement(
        f"{size.name}, E={count}, float32",
        EAGER,
        "ms/step",
        goal=goal,
        ours_scale=1e3 / (count * steps),
        theirs_scale=1e3 / (len(some) * steps),
        note=f"{size}, {steps} steps{share}; {found}",
    )
