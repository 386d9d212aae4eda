"""A learner that is busy for a set CPU time and predicts 0, as a plugin, to see what the framework itself costs."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np

from bfc_bench import Context, Data, Learner, Predictor, hookimpl
from bfc_bench.suite.model import Suite

FIT_SECONDS = 1e-3


class Busy(Learner):
    """Spends ``seconds`` of CPU time."""

    name: ClassVar[str] = "busy"
    smoke: ClassVar[Mapping[str, Any]] = {}

    seconds: float = FIT_SECONDS
    tag: int = 0
    """Tells options apart."""

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Wait, busily."""
        end = time.process_time() + self.seconds
        while time.process_time() < end:
            pass
        return Zero()


class Zero(Predictor):
    """F(x) = 0."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Zeros (m,)."""
        return np.zeros(len(x))


@hookimpl
def bfc_register_learners(register: Callable[[type[Learner]], None]) -> None:
    """Register it."""
    register(Busy)


def busy_toml(labels: int, sizes: int, replicates: int, test_size: int = 1000) -> str:
    """The suite file of ``busy_suite``."""
    learners = "".join(
        f'[[learner]]\nname = "busy"\nlabel = "busy{i}"\noptions = {{ tag = {i} }}\n' for i in range(labels)
    )
    return f"""name = "busy"
replicates = {replicates}
test_size = {test_size}
[[task]]
name = "t"
inputs = {{ kind = "uniform" }}
target = {{ kind = "quadratic-densenet", widths = [2], alphas = [1.0] }}
d = [10]
n = {[20 + 5 * i for i in range(sizes)]}
{learners}"""


def busy_suite(labels: int, sizes: int, replicates: int, test_size: int = 1000) -> Suite:
    """A grid of ``labels`` x ``sizes`` x ``replicates`` cells of one task."""
    return Suite.parse(tomllib.loads(busy_toml(labels, sizes, replicates, test_size)), "busy")


@contextmanager
def installed() -> Iterator[Path]:
    """A folder that makes this plugin an installed distribution for processes that have it on their path."""
    with TemporaryDirectory() as folder:
        info = Path(folder, "bfc_bench_busy-1.0.dist-info")
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bfc-bench-busy\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[bfc_bench]\nbusy = benchmarks.busy\n")
        yield Path(folder)
