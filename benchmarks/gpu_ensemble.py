"""Ensembles on a GPU against the eager loop, and against JAX's vmap and scan, on the same GPU."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

from benchmarks import at_once
from benchmarks.measurement import Measurement, interleave
from benchmarks.networks import EAGER, MEDIUM, SMALL, geometric_mean, same_loss
from benchmarks.precision import check_full_float32

GOAL = 200
"""Smallest accepted ratio to the eager loop at the largest E."""


def measure(quick: bool, device: str = "cuda") -> Iterator[Measurement]:
    """S and M for growing E, float32 with TF32 off, wall time; the eager loop trains only one of the models."""
    check_full_float32(device)
    for size, full in ((SMALL, 1000), (MEDIUM, 300)):
        steps = full // 10 if quick else full
        for count in (1, 32) if quick else (1, 32, 128, 1024):
            members = size.members(count)
            ours = partial(size.compiled, members, steps, device=device)
            opponents = {
                f"{EAGER}, same device": (1, partial(size.eager, members[:1], steps, device=device)),
                "JAX, vmap and scan": (count, partial(at_once.vmapped, size, members, steps)),
            }
            for opponent, (trained, theirs) in opponents.items():
                pairs = interleave(ours, theirs, 2, clock=time.perf_counter)
                speed = count * steps / min(pairs.ours)
                losses = same_loss(*(geometric_mean(result[:trained]) for result in pairs.results))
                yield pairs.measurement(
                    f"{size.name}, E={count}, float32, {device}",
                    opponent,
                    "us/step",
                    goal=GOAL if (count, trained) == (1024, 1) else None,
                    ours_scale=1e6 / (count * steps),
                    theirs_scale=1e6 / (trained * steps),
                    note=f"{size}, {steps} steps; {speed:.3g} models x steps per second; {losses}",
                )
