"""Global state of Python, NumPy, torch and JAX that a fit must leave unchanged: generators and settings."""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from bfc_bench.process_state import GlobalFunctions, GlobalSetting, GlobalSettings, ThreadsAndChildren
from bfc_bench.toolkit.libraries import missing

OWN_VARIABLES = {"XLA_PYTHON_CLIENT_PREALLOCATE"}
"""Environment variables that ``bfc_bench.toolkit.precision`` sets before JAX first uses a GPU."""


@dataclass(frozen=True, kw_only=True)
class Generator(GlobalSetting):
    """A global random generator."""

    seed: Callable[[int], object]


def generators() -> dict[str, Generator]:
    """Global random generators by name; that of torch only if it is installed."""
    known = [
        Generator("random", random.getstate, random.setstate, seed=random.seed),
        Generator("numpy.random", _numpy_state, np.random.set_state, seed=np.random.seed),
    ]
    if not missing({"torch"}):
        import torch

        known.append(
            Generator(
                "torch",
                lambda: torch.get_rng_state().numpy().tobytes(),
                lambda state: torch.set_rng_state(torch.frombuffer(bytearray(state), dtype=torch.uint8)),
                seed=torch.manual_seed,
            )
        )
    return {each.name: each for each in known}


def _numpy_state() -> tuple[object, ...]:
    kind, words, *rest = np.random.get_state()  # noqa: NPY002
    return (kind, tuple(words), *rest)


def settings() -> dict[str, GlobalSetting]:
    """Global settings by name: those that runs compare, but with all warning filters and environment variables."""
    for library in ("jax", "torch"):  # GlobalSettings reads the libraries that are loaded
        if not missing({library}):
            import_module(library)
    complete = (
        # The catch_warnings in preserved() restores the filters.
        GlobalSetting("warnings.filters", lambda: list(warnings.filters), lambda filters: None),
        GlobalSetting("os.environ", _environment, _write_environment),
    )
    return {setting.name: setting for setting in (*GlobalSettings().known, *complete)}


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in OWN_VARIABLES}


def _write_environment(values: Mapping[str, str]) -> None:
    for name in _environment():
        del os.environ[name]
    os.environ.update(values)


def snapshot(parts: Mapping[str, GlobalSetting]) -> dict[str, Any]:
    """The current value of each part."""
    return {name: part.read() for name, part in parts.items()}


def changes(parts: Mapping[str, GlobalSetting], before: Mapping[str, Any]) -> dict[str, str]:
    """The parts whose values differ from before, each described with the entries that differ."""
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
    """Run a block with every global generator seeded, and restore all global state afterwards."""
    parts: dict[str, GlobalSetting] = {**generators(), **settings()}
    others = GlobalFunctions(), ThreadsAndChildren()
    before = snapshot(parts)
    with warnings.catch_warnings():
        try:
            for generator in generators().values():
                generator.seed(seed)
            yield
        finally:
            for name in changes(parts, before):
                parts[name].restore(before[name])
            for other in others:
                other.restore()
