"""What a learner could leave behind in its process so that the numbers of others were wrong, or they failed.

Functions of NumPy and those that measure are compared by identity and code, which takes 0.1 ms; what has been put in
their place is taken out again. Names that come later, as submodules do when they are imported, are nobody's fault.
"""

from __future__ import annotations

import math
import signal
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from bfc_bench.tasks import features, metrics
from bfc_bench.tasks.task import Problem

HOLDERS: dict[str, Any] = {
    "numpy": np,
    "numpy.linalg": np.linalg,
    "numpy.random": np.random,
    "math": math,
    "bfc_bench.tasks.metrics": metrics,
    "bfc_bench.tasks.features": features,
    "bfc_bench.tasks.metrics.Truth": metrics.Truth,
    "bfc_bench.tasks.task.Problem": Problem,
}
TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)


class Surroundings:
    """How a process was before any learner ran in it."""

    def __init__(self) -> None:
        self._functions = {
            who: {name: (value, _code(value)) for name, value in vars(holder).items() if callable(value)}
            for who, holder in HOLDERS.items()
        }
        self._recursion_limit = sys.getrecursionlimit()

    def put_back(self) -> list[str]:
        """What is no longer as it was, each named; it is as it was after that."""
        changed = [f"{who}.{name}" for who in self._functions for name in self._replaced(who)]
        if sys.getrecursionlimit() < self._recursion_limit:  # a higher one harms nobody
            sys.setrecursionlimit(self._recursion_limit)
            changed.append("the recursion limit")
        for timer in TIMERS:
            if signal.getitimer(timer)[0]:
                signal.setitimer(timer, 0)
                changed.append("a timer that is running")
        return changed

    def _replaced(self, who: str) -> list[str]:
        holder, replaced = HOLDERS[who], []
        held = vars(holder)
        for name, (value, code) in self._functions[who].items():
            if held.get(name) is not value or (code is not None and value.__code__ is not code):
                replaced.append(name)
                if code is not None:
                    value.__code__ = code
                setattr(holder, name, value)
        return replaced


def _code(value: Callable[..., Any]) -> Any:
    return getattr(value, "__code__", None)


@cache
def surroundings() -> Surroundings:
    """Those of this process, as they are when this is called for the first time."""
    return Surroundings()
