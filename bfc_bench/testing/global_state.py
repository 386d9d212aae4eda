"""The global state of Python, NumPy, torch and JAX that a fit must leave alone: generators, settings, functions."""

from __future__ import annotations

import operator
import os
import random
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from bfc_bench.process_state import GlobalFunctions, GlobalSetting, GlobalSettings, ThreadsAndChildren
from bfc_bench.toolkit.libraries import missing

OWN_VARIABLES = {"XLA_PYTHON_CLIENT_PREALLOCATE"}
"""Environment variables that ``bfc_bench.toolkit.precision`` sets itself, before JAX first touches a GPU."""


@dataclass(frozen=True)
class GlobalState:
    """One piece of global state; what ``read`` gives compares by value and is what ``write`` takes."""

    read: Callable[[], Any]
    write: Callable[[Any], object]
    differs: Callable[[Any, Any], bool] = operator.ne
    """Whether the change from the first value to the second matters."""


@dataclass(frozen=True, kw_only=True)
class Generator(GlobalState):
    """A global random generator."""

    seed: Callable[[int], object]


def generators() -> dict[str, Generator]:
    """The global random generators by name; that of torch where it is installed."""
    found = {
        "random": Generator(random.getstate, random.setstate, seed=random.seed),
        "numpy.random": Generator(_numpy_state, np.random.set_state, seed=np.random.seed),
    }
    if missing({"torch"}):
        return found
    import torch

    return found | {
        "torch": Generator(
            lambda: torch.get_rng_state().numpy().tobytes(),
            lambda state: torch.set_rng_state(torch.frombuffer(bytearray(state), dtype=torch.uint8)),
            seed=torch.manual_seed,
        )
    }


def _numpy_state() -> tuple[object, ...]:
    kind, words, *rest = np.random.get_state()  # noqa: NPY002
    return (kind, tuple(words), *rest)


def settings() -> dict[str, GlobalState]:
    """The global settings by name: those that a run compares, and what can do harm outside of one only."""
    return {
        # Writing is left to the catch_warnings in preserved().
        "warnings.filters": GlobalState(lambda: list(warnings.filters), lambda filters: None),
        "os.environ": GlobalState(_environment, _write_environment),
        **{setting.name: GlobalState(setting.read, setting.restore, setting.differs) for setting in _shared()},
    }


def _shared() -> Iterable[GlobalSetting]:
    for library in ("jax", "torch"):  # settings of both are looked at, whether the learner has loaded them or not
        if not missing({library}):
            import_module(library)
    return (setting for setting in GlobalSettings().known if setting.name not in ("warnings.filters", "os.environ"))


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in OWN_VARIABLES}


def _write_environment(values: Mapping[str, str]) -> None:
    for name in _environment():
        del os.environ[name]
    os.environ.update(values)


def snapshot(parts: Mapping[str, GlobalState]) -> dict[str, Any]:
    """The value of each part."""
    return {name: part.read() for name, part in parts.items()}


def changes(parts: Mapping[str, GlobalState], before: Mapping[str, Any]) -> dict[str, str]:
    """The parts whose value is no longer what it was, each described with the entries that differ."""
    now = snapshot(parts)
    return {
        name: name + _entries(before[name], now[name])
        for name, part in parts.items()
        if part.differs(before[name], now[name])
    }


def _entries(before: Any, now: Any) -> str:
    if not isinstance(before, dict):
        return ""
    return f" ({', '.join(sorted(key for key in before | now if before.get(key) != now.get(key)))})"


@contextmanager
def preserved(seed: int = 0) -> Iterator[None]:
    """Run a block with every global generator seeded, and put all that is everybody's back after it."""
    parts: dict[str, GlobalState] = {**generators(), **settings()}
    others = GlobalFunctions(), ThreadsAndChildren()
    before = snapshot(parts)
    with warnings.catch_warnings():
        try:
            for generator in generators().values():
                generator.seed(seed)
            yield
        finally:
            for name in changes(parts, before):
                parts[name].write(before[name])
            for other in others:
                other.restore()
