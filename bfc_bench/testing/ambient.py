"""The global state of Python, NumPy, torch and JAX that a fit must leave alone: generators and settings."""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

OWN_VARIABLES = {"XLA_PYTHON_CLIENT_PREALLOCATE"}
"""Environment variables that ``bfc_bench.toolkit.precision`` sets itself, before JAX first touches a GPU."""


@dataclass(frozen=True)
class Ambient:
    """One piece of global state; what ``read`` gives compares by value and is what ``write`` takes."""

    read: Callable[[], Any]
    write: Callable[[Any], object]


@dataclass(frozen=True)
class Generator(Ambient):
    """A global random generator."""

    seed: Callable[[int], object]


def generators() -> dict[str, Generator]:
    """The global random generators by name."""
    import torch

    return {
        "random": Generator(random.getstate, random.setstate, random.seed),
        "numpy.random": Generator(_numpy_state, np.random.set_state, np.random.seed),
        "torch": Generator(
            lambda: torch.get_rng_state().numpy().tobytes(),
            lambda state: torch.set_rng_state(torch.frombuffer(bytearray(state), dtype=torch.uint8)),
            torch.manual_seed,
        ),
    }


def _numpy_state() -> tuple[object, ...]:
    kind, words, *rest = np.random.get_state()  # noqa: NPY002
    return (kind, tuple(words), *rest)


def settings() -> dict[str, Ambient]:
    """The global settings by name."""
    import jax
    import torch

    flags = ("jax_enable_x64", "jax_default_matmul_precision", "jax_default_device", "jax_debug_nans")
    return {
        "working directory": Ambient(os.getcwd, os.chdir),
        "os.environ": Ambient(_environment, _write_environment),
        # Writing is left to the catch_warnings in preserved().
        "warnings.filters": Ambient(lambda: list(warnings.filters), lambda filters: None),
        "numpy.seterr": Ambient(np.geterr, lambda errors: np.seterr(**errors)),
        "torch default dtype": Ambient(torch.get_default_dtype, torch.set_default_dtype),
        "torch default device": Ambient(torch.get_default_device, torch.set_default_device),
        "torch gradient mode": Ambient(torch.is_grad_enabled, torch.set_grad_enabled),
        "torch thread count": Ambient(torch.get_num_threads, torch.set_num_threads),
        "torch float32 matmul precision": Ambient(
            torch.get_float32_matmul_precision, torch.set_float32_matmul_precision
        ),
        "torch deterministic algorithms": Ambient(
            torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms
        ),
        **{flag: Ambient(partial(getattr, jax.config, flag), partial(jax.config.update, flag)) for flag in flags},
    }


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in OWN_VARIABLES}


def _write_environment(values: Mapping[str, str]) -> None:
    for name in _environment():
        del os.environ[name]
    os.environ.update(values)


def snapshot(parts: Mapping[str, Ambient]) -> dict[str, Any]:
    """The value of each part."""
    return {name: part.read() for name, part in parts.items()}


def changes(parts: Mapping[str, Ambient], before: Mapping[str, Any]) -> dict[str, str]:
    """The parts whose value is no longer what it was, each described with the entries that differ."""
    now = snapshot(parts)
    return {name: name + _entries(before[name], now[name]) for name in parts if now[name] != before[name]}


def _entries(before: Any, now: Any) -> str:
    if not isinstance(before, dict):
        return ""
    return f" ({', '.join(sorted(key for key in before | now if before.get(key) != now.get(key)))})"


@contextmanager
def preserved(seed: int = 0) -> Iterator[None]:
    """Run a block with every global generator seeded, and put all generators and settings back after it."""
    parts: dict[str, Ambient] = {**generators(), **settings()}
    before = snapshot(parts)
    with warnings.catch_warnings():
        try:
            for generator in generators().values():
                generator.seed(seed)
            yield
        finally:
            for name in changes(parts, before):
                parts[name].write(before[name])
