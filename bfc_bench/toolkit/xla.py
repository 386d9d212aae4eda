"""Chooses the instructions with which XLA, the compiler of JAX, compiles for the CPU of this machine.

XLA chooses them by the CPU. With AVX-512 it compiles some convolutions in float64 wrongly: they read eight numbers
before a buffer and end the process (jaxlib 0.8.3 to 0.10.2). Limited to AVX2 it compiles them correctly, at most a
tenth slower (docs/performance.md), and CPUs of several makers use the same instructions.
"""

import os
import platform
import sys
from functools import cache

VARIABLE = "XLA_FLAGS"
"""Environment variable that XLA reads once, when JAX first looks for devices."""
INSTRUCTIONS = "--xla_cpu_max_isa"
"""Flag for the largest instruction set that XLA may use."""


def with_instructions(flags: str) -> str:
    """``flags`` with the instruction set, unless they name one or the CPU is not x86-64."""
    if INSTRUCTIONS in flags or platform.machine() not in ("x86_64", "AMD64"):
        return flags
    return f"{flags} {INSTRUCTIONS}=AVX2".strip()


@cache
def initialise() -> None:
    """Let JAX look for devices, so that XLA reads its flags with the chosen instruction set.

    The environment is restored afterwards. If JAX has looked for devices before, it is too late to choose. Raises
    ``RuntimeError`` if JAX finds no device.
    """
    bridge = sys.modules.get("jax._src.xla_bridge")
    if getattr(bridge, "backends_are_initialized", bool)():
        return
    import jax

    before = os.environ.get(VARIABLE)
    try:
        os.environ[VARIABLE] = with_instructions(before or "")
        jax.devices()
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before
