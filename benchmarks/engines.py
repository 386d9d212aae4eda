"""Our engine for ensembles on a CPU, a compiled loop over single members, against other engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks import stacked
from benchmarks.measurement import Measurement, interleave
from benchmarks.networks import MEDIUM, SMALL, geometric_mean, same_loss

COUNT = 32


def measure(quick: bool) -> Iterator[Measurement]:
    """S and M, E=32, against 8 and 32 members at a time in our compiled loop, and against stacked PyTorch."""
    for size, full in ((SMALL, 600), (MEDIUM, 40)):
        steps = full // 10 if quick else full
        members = size.members(COUNT)
        alone = partial(size.compiled, members, steps)
        others: dict[str, Callable[[], list[float]]] = {
            "the same loop, 8 members at a time": partial(size.compiled, members, steps, lanes=8),
            "the same loop, all 32 at a time": partial(size.compiled, members, steps, lanes=COUNT),
            "PyTorch, bmm by hand, fused Adam": partial(stacked.train, size.net, members, steps, size.batch_size),
        }
        for name, other in others.items():
            pairs = interleave(alone, other, 2 if quick else 4)
            same_loss(*map(geometric_mean, pairs.results))
            scale = 1e3 / (COUNT * steps)
            yield pairs.measurement(
                f"{size.name}, E={COUNT}: one at a time", name, "ms/step", ours_scale=scale, theirs_scale=scale
            )
