"""Global state that a learner's author changes by accident: random generators, settings and what is printed."""

from __future__ import annotations

import io
import os
import random
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

import numpy as np

from bfc_bench.toolkit.libraries import missing


@dataclass(frozen=True)
class GlobalSetting:
    """A setting. ``write`` takes what ``read`` returns."""

    read: Callable[[], Any]
    write: Callable[[Any], object]


@dataclass(frozen=True)
class Generator(GlobalSetting):
    """A global random generator."""

    seed: Callable[[int], object]


def generators() -> dict[str, Generator]:
    """Global random generators by name; that of torch only if it is installed."""
    known = {
        "random": Generator(random.getstate, random.setstate, random.seed),
        "numpy.random": Generator(_numpy_state, np.random.set_state, np.random.seed),
    }
    if not missing({"torch"}):
        import torch

        known["torch"] = Generator(
            lambda: torch.get_rng_state().numpy().tobytes(),
            lambda state: torch.set_rng_state(torch.frombuffer(bytearray(state), dtype=torch.uint8)),
            torch.manual_seed,
        )
    return known


def _numpy_state() -> tuple[object, ...]:
    kind, words, *rest = np.random.get_state()  # noqa: NPY002
    return (kind, tuple(words), *rest)


def settings() -> dict[str, GlobalSetting]:
    """Global settings by name, those of torch and JAX only if they are installed."""
    known = {
        "numpy.geterr()": GlobalSetting(np.geterr, lambda errors: np.seterr(**errors)),
        "warnings.filters": GlobalSetting(lambda: list(warnings.filters), lambda filters: None),
        "the working directory": GlobalSetting(os.getcwd, os.chdir),
    }
    if not missing({"torch"}):
        import torch

        known["torch.get_default_dtype()"] = GlobalSetting(torch.get_default_dtype, torch.set_default_dtype)
        known["torch.get_default_device()"] = GlobalSetting(torch.get_default_device, torch.set_default_device)
        known["torch.get_num_threads()"] = GlobalSetting(torch.get_num_threads, torch.set_num_threads)
    if not missing({"jax"}):
        import jax

        for flag in ("jax_enable_x64", "jax_default_matmul_precision"):
            known[f"jax.config.{flag}"] = _jax_flag(jax.config, flag)
    return known


def _jax_flag(config: Any, flag: str) -> GlobalSetting:
    return GlobalSetting(lambda: getattr(config, flag), lambda value: config.update(flag, value))


def snapshot(parts: Mapping[str, GlobalSetting]) -> dict[str, Any]:
    """The current value of each part."""
    return {name: part.read() for name, part in parts.items()}


def changed(parts: Mapping[str, GlobalSetting], before: Mapping[str, Any]) -> list[str]:
    """Names of the parts whose values differ from before."""
    return [name for name, value in snapshot(parts).items() if value != before[name]]


@contextmanager
def preserved(seed: int = 0) -> Iterator[None]:
    """Run a block with every global generator seeded, and restore generators and settings afterwards."""
    parts: dict[str, GlobalSetting] = {**generators(), **settings()}
    before = snapshot(parts)
    with warnings.catch_warnings():  # restores the filters
        try:
            for generator in generators().values():
                generator.seed(seed)
            yield
        finally:
            for name in changed(parts, before):
                parts[name].write(before[name])


@contextmanager
def printed() -> Iterator[io.StringIO]:
    """Collect what the block writes to standard output and standard error, without warnings."""
    text = io.StringIO()
    with redirect_stdout(text), redirect_stderr(text), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield text
