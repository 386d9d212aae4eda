"""Detects and restores functions of libraries and metrics that a learner has replaced."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from operator import attrgetter, itemgetter
from types import FunctionType
from typing import Any

from bfc_bench.tasks import feature_errors, metrics, task

MODULES = (
    *("builtins", "math", "time", "numpy", "numpy.linalg", "numpy.random", "scipy.linalg", "scipy.special"),
    *("torch", "torch.linalg", "torch.nn.functional"),
    *("jax", "jax.numpy", "jax.numpy.linalg", "jax.lax", "jax.nn", "jax.random"),
)
OWN: Mapping[str, Any] = {
    "bfc_bench.tasks.metrics": metrics,
    "bfc_bench.tasks.feature_errors": feature_errors,
    "bfc_bench.tasks.metrics.TargetValues": metrics.TargetValues,
    "bfc_bench.tasks.task.Problem": task.Problem,
}
WRAPPED = {("torch", "manual_seed")}
"""Replaced by torch itself when its compiler, or an optimizer, is first used."""

_code = attrgetter("__code__")


class GlobalFunctions:
    """The functions of loaded modules, and of the metrics."""

    def __init__(self) -> None:
        self._held = {who: ModuleFunctions(who, holder) for who, holder in OWN.items()}
        self.snapshot()

    def snapshot(self) -> None:
        """Record the present functions."""
        for who, held in self._held.items():
            if held.replaced():
                self._held[who] = ModuleFunctions(who, held.holder)
        self.track_new()

    def restore(self) -> list[str]:
        """Restore replaced functions. Returns their names."""
        replaced = [f"{who}.{name}" for who, held in self._held.items() for name in held.restore()]
        self.track_new()
        return replaced

    def track_new(self) -> None:
        """Also record modules that were loaded since the snapshot."""
        for who in MODULES:
            if who not in self._held and (module := sys.modules.get(who)) is not None:
                self._held[who] = ModuleFunctions(who, module)


class ModuleFunctions:
    """The functions of one module or class. Names that are added later, such as submodules, are ignored."""

    def __init__(self, who: str, holder: Any) -> None:
        self.holder = holder
        self._values = {name: value for name, value in vars(holder).items() if _watched(who, name, value)}
        functions = [value for value in self._values.values() if isinstance(value, FunctionType)]
        self._codes = {value: value.__code__ for value in functions} if who in OWN or who.startswith("numpy") else {}
        # For speed, fetched in one call and compared in one (30 ns per function). For functions, equal means identical.
        self._fetch = itemgetter(*self._values)
        self._fetched = tuple(self._values.values())
        self._functions, self._their_codes = tuple(self._codes), tuple(self._codes.values())

    def replaced(self) -> bool:
        """Whether a function was replaced or has other code."""
        try:
            same: bool = self._fetch(vars(self.holder)) == self._fetched
        except Exception:  # a name is gone, or a replacement cannot be compared
            return True
        return not same or tuple(map(_code, self._functions)) != self._their_codes

    def restore(self) -> list[str]:
        """Restore replaced functions. Returns their names."""
        if not self.replaced():
            return []
        names = []
        for name, value in self._values.items():
            code = self._codes.get(value) if isinstance(value, FunctionType) else None
            if vars(self.holder).get(name) is not value or (code is not None and value.__code__ is not code):
                if code is not None:
                    value.__code__ = code
                setattr(self.holder, name, value)
                names.append(name)
        return names


def _watched(who: str, name: str, value: object) -> bool:
    """Whether a name is recorded: public functions, and in this package every callable."""
    if who in OWN:
        return callable(value)
    return callable(value) and not isinstance(value, type) and not name.startswith("_") and (who, name) not in WRAPPED
