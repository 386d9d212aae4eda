"""A plugin with a learner that uses a fixed CPU time and predicts 0, to measure the overhead of the framework."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np

from bfc_bench import Context, Data, Learner, Predictor, Register, hookimpl
from bfc_bench.suite.model import Suite

FIT_SECONDS = 1e-3


class Busy(Learner):
    """Uses ``seconds`` of CPU time and predicts 0."""

    name: ClassVar[str] = "busy"
    smoke: ClassVar[Mapping[str, Any]] = {}

    seconds: float = FIT_SECONDS
    tag: int = 0
    """Makes the options of two learners differ."""

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Compute until the time is over."""
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
def bfc_register(register: Register) -> None:
    """Register the learner."""
    register.learner(Busy)


def busy_toml(labels: int, sizes: int, replicates: int, test_size: int = 1000) -> str:
    """The text of the suite file of ``busy_suite``."""
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
    """A suite of one task with ``labels`` x ``sizes`` x ``replicates`` cells; see ``busy_toml`` for the arguments."""
    return Suite.parse(tomllib.loads(busy_toml(labels, sizes, replicates, test_size)), "busy")


@contextmanager
def installed() -> Iterator[Path]:
    """A folder in which this plugin is an installed distribution; put it on the path of a process."""
    with TemporaryDirectory() as folder:
        info = Path(folder, "bfc_bench_busy-1.0.dist-info")
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bfc-bench-busy\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[bfc_bench]\nbusy = benchmarks.busy\n")
        yield Path(folder)
