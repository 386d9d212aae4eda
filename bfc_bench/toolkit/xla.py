"""How XLA, the compiler of JAX, compiles for the CPU of this machine.

XLA chooses its instructions by the CPU. For those with AVX-512 it compiles some convolutions in float64 wrongly: they
read eight numbers before a buffer and end the process (jaxlib 0.8.3 to 0.10.2). Held to AVX2 it compiles them rightly,
at most a tenth slower (docs/performance.md), and CPUs of several makers compute by the same instructions.
"""

from __future__ import annotations

import os
import platform
import sys
from functools import cache

VARIABLE = "XLA_FLAGS"
"""Environment variable that XLA reads once, when JAX first looks for devices."""
INSTRUCTIONS = "--xla_cpu_max_isa"
"""Flag with the largest instruction set that XLA may use."""
BEST = "AMX_FP16"
"""The largest one that the flag knows: XLA then uses all that a CPU has."""


def with_instructions(flags: str) -> str:
    """``flags`` of XLA and the instruction set, unless they name one, or the CPU is no x86-64."""
    if INSTRUCTIONS in flags or platform.machine() not in ("x86_64", "AMD64"):
        return flags
    return f"{flags} {INSTRUCTIONS}=AVX2".strip()


def flags_to_come() -> str:
    """The flags under which this process compiles, or will when JAX is first used."""
    return start() if _started() else with_instructions(os.environ.get(VARIABLE, ""))


@cache
def start() -> str:
    """Have JAX look for devices, and XLA read its flags, with the instruction set chosen; the flags that it has read.

    The environment is afterwards what it was. Where JAX has looked before, it is too late to choose. Raises
    ``RuntimeError`` where JAX finds no device.
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
