"""Global state that a learner's author changes by accident: generators, default types, threads and what is printed."""

from __future__ import annotations

import io
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

import numpy as np

from bfc_bench.toolkit.libraries import missing


@dataclass(frozen=True)
class GlobalState:
    """A generator or a setting. ``write`` takes what ``read`` returns."""

    read: Callable[[], Any]
    write: Callable[[Any], object]


def global_state() -> dict[str, GlobalState]:
    """Random generators and settings by name, those of torch and JAX only if they are installed."""
    known = {
        "random": GlobalState(random.getstate, random.setstate),
        "numpy.random": GlobalState(_numpy_state, np.random.set_state),
    }
    if not missing({"torch"}):
        import torch

        known["torch.random"] = GlobalState(
            lambda: torch.get_rng_state().numpy().tobytes(),
            lambda state: torch.set_rng_state(torch.frombuffer(bytearray(state), dtype=torch.uint8)),
        )
        known["torch.get_default_dtype()"] = GlobalState(torch.get_default_dtype, torch.set_default_dtype)
        known["torch.get_num_threads()"] = GlobalState(torch.get_num_threads, torch.set_num_threads)
    if not missing({"jax"}):
        import jax

        config: Any = jax.config
        known["jax.config.jax_enable_x64"] = GlobalState(
            lambda: config.jax_enable_x64, lambda value: config.update("jax_enable_x64", value)
        )
    return known


def _numpy_state() -> tuple[object, ...]:
    kind, words, *rest = np.random.get_state()  # noqa: NPY002
    return (kind, tuple(words), *rest)


@contextmanager
def preserved() -> Iterator[list[str]]:
    """Restore global state after a block; the list then names what the block has changed."""
    state = global_state()
    before = {name: each.read() for name, each in state.items()}
    changed: list[str] = []
    try:
        yield changed
    finally:
        for name, each in state.items():
            if each.read() != before[name]:
                changed.append(name)
                each.write(before[name])


@contextmanager
def printed() -> Iterator[io.StringIO]:
    """Collect what the block writes to standard output and standard error, without warnings."""
    text = io.StringIO()
    with redirect_stdout(text), redirect_stderr(text), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield text
