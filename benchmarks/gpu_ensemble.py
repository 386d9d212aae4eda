"""Ensembles on a GPU against the eager loop on the same GPU, in models x steps per second."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

from benchmarks.measurement import Measurement, interleave
from benchmarks.networks import EAGER, MEDIUM, SMALL, geometric_mean, same_loss
from benchmarks.precision import check_full_float32


def measure(quick: bool, device: str = "cuda") -> Iterator[Measurement]:
    """S and M for growing E, float32 with TF32 off, wall time; the eager loop trains only one of the models."""
    check_full_float32(device)
    for size, full in ((SMALL, 1000), (MEDIUM, 300)):
        steps = full // 10 if quick else full
        for count in (1, 32) if quick else (1, 32, 128, 512):
            members = size.members(count)
            pairs = interleave(
                partial(size.compiled, members, steps, device=device),
                partial(size.eager, members[:1], steps, device=device),
                2 if quick else 3,
                clock=time.perf_counter,
            )
            ours, theirs = pairs.results
            losses = same_loss(ours[0], geometric_mean(theirs))
            speed = count * steps / min(pairs.ours)
            yield pairs.measurement(
                f"{size.name}, E={count}, float32, {device}",
                f"{EAGER}, same device",
                "us/step",
                ours_scale=1e6 / (count * steps),
                theirs_scale=1e6 / steps,
                note=f"{size}, {steps} steps; {speed:.3g} models x steps per second; {losses}",
            )
