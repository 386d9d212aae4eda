"""Assumed flops per second of a core, and of a GPU by its name, the kind of work and the precision."""

from __future__ import annotations

from collections.abc import Mapping

from bfc_bench.learner import Learner, Work
from bfc_bench.toolkit.precision import Device

CPU_FLOPS: Mapping[Work, float] = {"products": 4e10, "steps": 2e10, "other": 5e9}
"""Flops per second of a core, until rows of the learner exist (``python -m benchmarks.scaling`` measures it)."""
PEAKS: Mapping[str, tuple[float, float]] = {
    "H200": (67e12, 34e12),
    "H100": (67e12, 34e12),
    "A100": (19.5e12, 9.7e12),
    "V100": (15.7e12, 7.8e12),
    "L40": (90.5e12, 1.4e12),
    "RTX 4090": (82.6e12, 1.3e12),
}
"""Peak flops per second of GPUs in float32 and float64, without tensor cores, from NVIDIA's data sheets. The keys are
parts of the driver's name for the GPU."""
UNKNOWN = (15e12, 1e12)
"""Peaks of an unknown GPU, taken for a small one."""
EFFICIENCY = 0.5
"""Assumed, not measured: the fraction of a GPU's peak that products and factorisations of large matrices reach."""
STEPS = 2e12
"""Most flops per second of training steps. Small networks do not fill a GPU: a step takes as long as starting its
kernels, assumed to be .13 ms, in which ``GPU_LANES`` = 128 members do 2 MFLOP each (size S in docs/performance.md)."""


def flops_per_second(device: Device, work: Work, learner: Learner, card: str = "") -> float:
    """Assumed flops per second of a learner's work."""
    if device == "cpu":
        return CPU_FLOPS[work]
    single, double = next((peak for name, peak in PEAKS.items() if name in card), UNKNOWN)
    products = EFFICIENCY * (single if trains_in_float32(learner) else double)
    if work == "steps":
        return min(STEPS, products)
    return products if work == "products" else products * CPU_FLOPS["other"] / CPU_FLOPS["products"]


def trains_in_float32(learner: Learner) -> bool:
    """Whether a learner always trains in float32. If its options decide, float64 is assumed."""
    can = learner.capabilities
    return can.precision == "float32" or (can.precision is None and can.arrays[0] == "jax")
