"""How fast flops are assumed to go: of one core, and of a GPU by its name, the kind of work and the precision."""

from __future__ import annotations

from collections.abc import Mapping

from bfc_bench.learner import Learner, Work
from bfc_bench.toolkit.precision import Device

CPU_FLOPS: Mapping[Work, float] = {"products": 4e10, "steps": 2e10, "other": 5e9}
"""Flops per second assumed of a core until rows of the learner tell (``python -m benchmarks.scaling`` measures it)."""
PEAKS: Mapping[str, tuple[float, float]] = {
    "H200": (67e12, 34e12),
    "H100": (67e12, 34e12),
    "A100": (19.5e12, 9.7e12),
    "V100": (15.7e12, 7.8e12),
    "L40": (90.5e12, 1.4e12),
    "RTX 4090": (82.6e12, 1.3e12),
}
"""Flops per second of a GPU at most, in float32 and in float64, without tensor cores, as NVIDIA's data sheets say, by
what the driver's name for it contains."""
UNKNOWN = (15e12, 1e12)
"""The same of a GPU of another name, or of none that is seen here: of a small one."""
EFFICIENCY = 0.5
"""Assumed fraction of a GPU's peak for products and factors of large matrices. It has not been measured."""
STEPS = 2e12
"""Flops per second of steps of training, at most. Small networks do not fill a GPU: a step takes what starting its
kernels takes, .13 ms assumed, in which ``GPU_LANES`` = 128 members do 2 MFLOP each, the size of S in
docs/performance.md."""


def flops_per_second(device: Device, work: Work, learner: Learner, card: str = "") -> float:
    """What is assumed for a learner's work, on one core or on the GPU that its driver calls ``card``.

    What is neither products nor steps is as much slower than products on a GPU as on a core.
    """
    if device == "cpu":
        return CPU_FLOPS[work]
    single, double = next((peak for name, peak in PEAKS.items() if name in card), UNKNOWN)
    products = EFFICIENCY * (single if trains_in_float32(learner) else double)
    if work == "steps":
        return min(STEPS, products)
    return products if work == "products" else products * CPU_FLOPS["other"] / CPU_FLOPS["products"]


def trains_in_float32(learner: Learner) -> bool:
    """Whether a learner trains in float32 for certain; one whose options choose is taken for one in float64."""
    can = learner.capabilities
    return can.precision == "float32" or (can.precision is None and can.arrays[0] == "jax")
