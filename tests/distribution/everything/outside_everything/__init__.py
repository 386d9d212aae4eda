"""One of everything that a plugin can add."""

import os
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import PositiveFloat, PositiveInt

from bfc_bench import (
    Context,
    Data,
    DataSet,
    DataSetContents,
    Executor,
    InputLaw,
    Inputs,
    JointLaw,
    LabelledPoints,
    Labelling,
    Labels,
    Learner,
    Metric,
    PointClaim,
    PointSource,
    Predictor,
    Resources,
    Row,
    Session,
    Target,
    TargetValues,
    Teacher,
    UnitFailure,
    Verdict,
    hookimpl,
)
from bfc_bench.analysis.claims import Region, mean_of, measure


class Plane(Learner):
    """Least squares on (1, x)."""

    name: ClassVar[str] = "outside-plane"

    def fit(self, train: Data, ctx: Context) -> Predictor:
        return FittedPlane(np.linalg.lstsq(with_one(train.x), train.y, rcond=None)[0])


class FittedPlane(Predictor):
    def __init__(self, weights: np.ndarray) -> None:
        self.weights = weights

    def predict(self, x: np.ndarray) -> np.ndarray:
        return with_one(x) @ self.weights


def with_one(x: np.ndarray) -> np.ndarray:
    return np.hstack([np.ones((len(x), 1)), x])


class Cube(Inputs):
    """x uniform on [0, 1]^d."""

    kind: ClassVar[str] = "outside-cube"

    def sample(self, rng: np.random.Generator, m: int, law: InputLaw) -> np.ndarray:
        return rng.random((m, law.d))

    def square_mean(self, law: InputLaw) -> np.ndarray:
        return np.full(law.d, 1 / 3)


class Bump(Target):
    """G*(x) = exp(-|x - c|^2), c = ``centre`` in every coordinate, plus the first coordinate."""

    kind: ClassVar[str] = "outside-bump"
    centre: float = 0.0

    def draw(self, rng: np.random.Generator, law: InputLaw) -> Teacher:
        return OneBump(self.centre)


class OneBump(Teacher):
    def __init__(self, centre: float) -> None:
        self.centre = centre

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.exp(-((x - self.centre) ** 2).sum(1)) + x[:, 0]


class Coin(JointLaw):
    """y = x_1 + b with a fair coin b."""

    kind: ClassVar[str] = "outside-coin"

    def draw(self, rng: np.random.Generator, d: int) -> PointSource:
        return OneCoin(d)


class OneCoin(PointSource):
    def __init__(self, d: int) -> None:
        self.d = d

    def sample(self, rng: np.random.Generator, m: int) -> tuple[np.ndarray, np.ndarray]:
        x = rng.random((m, self.d))
        return x, x[:, 0] + rng.choice([-1.0, 1.0], size=m)


class Shifted(Labels):
    """y = G*(x) + ``by`` standard deviations."""

    kind: ClassVar[str] = "outside-shifted"
    by: float = 0.01

    def label(self, rng: np.random.Generator, seen: np.ndarray, values: np.ndarray, labelling: Labelling) -> np.ndarray:
        return values + self.by * labelling.deviation


class Parabola(DataSet):
    """Points on a parabola."""

    kind: ClassVar[str] = "outside-points"
    count: int = 40

    def load(self) -> DataSetContents:
        x = np.linspace(-1, 2, self.count)
        return DataSetContents(LabelledPoints(x[:, None], x**2))


def largest(prediction: np.ndarray, truth: TargetValues) -> float:
    """The largest error over the target's standard deviation."""
    return float(np.max(np.abs(prediction - truth.target)) / np.std(truth.target))


class Within(PointClaim):
    """The geometric mean of the metric is at most ``bound``."""

    kind: ClassVar[str] = "outside-within"
    label: str
    bound: PositiveFloat

    @property
    def predictors(self) -> tuple[str, ...]:
        return (self.label,)

    def judge(self, rows: Sequence[Row]) -> Verdict:
        at = self.at(rows)
        statement = f"{self.label} stays within {self.bound:g} ({at})."
        found = mean_of(measure(rows, self.label, self.metric, at))
        return self.verdict(statement, Region(hi=self.bound), found, log=True)


class Futures(Executor):
    """Runs units in a process pool of the standard library."""

    name: ClassVar[str] = "outside-futures"

    units_per_worker: PositiveInt = 100
    """Units after which a worker is replaced."""

    def open(
        self,
        call: Callable[[Any], Any],
        preload: Mapping[str, Callable[[], object]] | None = None,
        jobs: int | None = None,
    ) -> "FuturesPool":
        count = jobs or os.cpu_count() or 1
        pool = ProcessPoolExecutor(count, get_context("spawn"), max_tasks_per_child=self.units_per_worker)
        return FuturesPool(call, pool, count)


class FuturesPool:
    def __init__(self, call: Callable[[Any], Any], pool: ProcessPoolExecutor, count: int) -> None:
        self.call, self.pool, self.count = call, pool, count
        self.keys: dict[Future[Any], int] = {}

    def slots(self, device: str) -> int:
        return self.count

    def submit(self, key: int, payload: Any, needs: Resources) -> None:
        self.keys[self.pool.submit(self.call, payload)] = key

    def outcomes(self) -> Iterator[tuple[int, Any]]:
        while self.keys:
            for future in wait(self.keys, return_when=FIRST_COMPLETED).done:
                key, error = self.keys.pop(future), future.exception()
                yield key, fault(error) if error else future.result()

    def close(self, now: bool = False) -> None:
        if now:
            for process in (self.pool._processes or {}).values():
                process.kill()
        self.pool.shutdown(cancel_futures=now)


def fault(error: BaseException) -> UnitFailure:
    return UnitFailure("raised", f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error)))


def sizes(rows: Sequence[Row]) -> dict[str, Any]:
    """The sizes of all cells."""
    import altair

    cells = altair.Data(values=[{"n": row.n} for row in rows])
    return {"outside-sizes": altair.Chart(cells).mark_bar().encode(x="n:O", y="count()")}


@hookimpl
def bfc_register_learners(register: Callable[[type[Learner]], None]) -> None:
    register(Plane)


@hookimpl
def bfc_register_inputs(register: Callable[[type[Inputs]], None]) -> None:
    register(Cube)


@hookimpl
def bfc_register_targets(register: Callable[[type[Target]], None]) -> None:
    register(Bump)


@hookimpl
def bfc_register_laws(register: Callable[[type[JointLaw]], None]) -> None:
    register(Coin)


@hookimpl
def bfc_register_labels(register: Callable[[type[Labels]], None]) -> None:
    register(Shifted)


@hookimpl
def bfc_register_data(register: Callable[[type[DataSet]], None]) -> None:
    register(Parabola)


@hookimpl
def bfc_register_metrics(register: Callable[[Metric], None]) -> None:
    register(Metric("outside_largest", largest))


@hookimpl
def bfc_register_claims(register: Callable[[type[PointClaim]], None]) -> None:
    register(Within)


@hookimpl
def bfc_register_suites(register: Callable[[str, Path], None]) -> None:
    register("everything", Path(__file__).with_name("everything.toml"))


@hookimpl
def bfc_register_executors(register: Callable[[type[Executor]], None]) -> None:
    register(Futures)


@hookimpl
def bfc_register_plots(register: Callable[[str, Callable[[Sequence[Row]], dict[str, Any]]], None]) -> None:
    register("outside-sizes", sizes)


@hookimpl
def bfc_register_verbs(register: Callable[[str, Callable[..., Any]], None]) -> None:
    register("outside-greet", greet)


def greet(name: str, *, loud: bool = False) -> None:
    """Greet somebody by name."""
    print(f"hello {name.upper() if loud else name}")


@hookimpl
def bfc_run_finished(session: Session) -> None:
    (Path(session.store.directory) / "heard.txt").write_text(f"{session.suite}: {dict(session.statuses)}")
