"""Global state that a learner's author changes by accident: generators, default types and threads."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from bfc_bench.toolkit.libraries import missing

Access: TypeAlias = tuple[Callable[[], Any], Callable[[Any], object]]
"""How a generator or a setting is read, and set to what was read."""


def global_state() -> dict[str, Access]:
    """Random generators and settings by name, those of torch and JAX only if they are installed."""
    parts: dict[str, Access] = {
        "random": (random.getstate, random.setstate),
        "numpy.random": (_numpy_state, np.random.set_state),
    }
    if not missing({"torch"}):
        import torch

        parts["torch.random"] = (
            lambda: torch.get_rng_state().numpy().tobytes(),
            lambda state: torch.set_rng_state(torch.frombuffer(bytearray(state), dtype=torch.uint8)),
        )
        parts["torch.get_default_dtype()"] = (torch.get_default_dtype, torch.set_default_dtype)
        parts["torch.get_num_threads()"] = (torch.get_num_threads, torch.set_num_threads)
    if not missing({"jax"}):
        import jax

        config: Any = jax.config
        parts["jax.config.jax_enable_x64"] = (
            lambda: config.jax_enable_x64,
            lambda value: config.update("jax_enable_x64", value),
        )
    return parts


def _numpy_state() -> tuple[object, ...]:
    kind, words, *rest = np.random.get_state()  # noqa: NPY002
    return (kind, tuple(words), *rest)


@contextmanager
def preserved() -> Iterator[list[str]]:
    """Restore global state after a block; the list then names what the block has changed."""
    state = global_state()
    before = {name: read() for name, (read, _) in state.items()}
    changed: list[str] = []
    try:
        yield changed
    finally:
        for name, (read, write) in state.items():
            if read() != before[name]:
                changed.append(name)
                write(before[name])
