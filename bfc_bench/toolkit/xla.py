"""Chooses the instructions with which XLA, the compiler of JAX, compiles for the CPU of this machine.

XLA chooses them by the CPU. With AVX-512 it compiles some convolutions in float64 wrongly: they read eight numbers
before a buffer and end the process (jaxlib 0.8.3 to 0.10.2). Limited to AVX2 it compiles them correctly, at most a
tenth slower (docs/performance.md), and CPUs of several makers use the same instructions.
"""

from __future__ import annotations

import os
import platform
import sys
from functools import cache

VARIABLE = "XLA_FLAGS"
"""Environment variable that XLA reads once, when JAX first looks for devices."""
INSTRUCTIONS = "--xla_cpu_max_isa"
"""Flag for the largest instruction set that XLA may use."""
BEST = "AMX_FP16"
"""The largest set that the flag knows: XLA then uses everything that a CPU has."""


def with_instructions(flags: str) -> str:
    """``flags`` with the instruction set, unless they name one or the CPU is not x86-64."""
    if INSTRUCTIONS in flags or platform.machine() not in ("x86_64", "AMD64"):
        return flags
    return f"{flags} {INSTRUCTIONS}=AVX2".strip()


def flags_to_come() -> str:
    """The flags with which this process compiles, or will once JAX is used."""
    return initialise() if _started() else with_instructions(os.environ.get(VARIABLE, ""))


@cache
def initialise() -> str:
    """Let JAX look for devices, so that XLA reads its flags with the chosen instruction set; returns the flags read.

    The environment is restored afterwards. If JAX has looked for devices before, it is too late to choose. Raises
    ``RuntimeError`` if JAX finds no device.
    """
    before = os.environ.get(VARIABLE)
    if _started():
        flags = before or ""
        return flags if INSTRUCTIONS in flags else f"{flags} {INSTRUCTIONS}={BEST}".strip()
    import jax

    flags = with_instructions(before or "")
    try:
        os.environ[VARIABLE] = flags
        jax.devices()
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before
    return flags


def _started() -> bool:
    """Whether JAX has looked for devices in this process."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    return bool(getattr(bridge, "backends_are_initialized", bool)())
