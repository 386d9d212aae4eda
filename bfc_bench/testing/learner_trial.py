"""A tested learner with its smoke options, tiny data made for it, and fits that cannot affect one another."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from bfc_bench.learner import Array, ArrayKind, Context, Data, DataSpec, Job, LabelKind, Learner, Predictor, TaskFacts
from bfc_bench.tasks.base import InputLaw, Inputs
from bfc_bench.tasks.inputs.uniform import Sphere, Uniform
from bfc_bench.testing.examples import ALPHAS, CLASSES, TARGET, example_values, rng
from bfc_bench.testing.global_state import preserved
from bfc_bench.testing.requirement import require, skip
from bfc_bench.toolkit.arrays import convert, to_numpy
from bfc_bench.toolkit.precision import resolve_device

N, D, UNLABELED, TEST = 48, 6, 96, 17
IMAGE = (1, 4, 4)
"""Channels, height and width of the points for learners of images."""
SEQUENCE = (4, 3)
"""Length and alphabet of the points for learners of sequences."""
PLACES: tuple[tuple[Inputs, tuple[int, ...]], ...] = (
    (Uniform(), (D,)),
    (Uniform(), IMAGE),
    (Uniform(), SEQUENCE),
    (Sphere(), (D,)),
)
"""Inputs and shapes of a point on which learners are tried."""
LABELS: Mapping[LabelKind, str] = MappingProxyType({"real": "clean", "binary": "sign", "class": "clean"})
"""The labelling of each kind of labels."""
FACTS: Mapping[str, Any] = MappingProxyType({"alphas": ALPHAS})
"""Oracle facts that the kit can provide."""
TOLERANCE = 1e-3
"""Largest difference between two predictions that count as equal, relative to their root mean square."""


@dataclass
class LearnerTrial:
    """A learner class and the data that its requirements share, with one kind of labels in arrays of one library."""

    cls: type[Learner]
    options: Mapping[str, Any]
    label_kind: LabelKind | None = None
    """None for real labels if the learner fits them, else binary ones, else classes."""
    array_kind: ArrayKind | None = None
    """None for the library that the learner prefers."""

    @cached_property
    def learner(self) -> Learner:
        """The learner with the tested options."""
        return self.cls.parse(self.options, f"{self.cls.__name__}.smoke")

    @property
    def arrays(self) -> ArrayKind:
        """The library of all arrays."""
        return self.array_kind or self.cls.capabilities.arrays[0]

    @property
    def labels(self) -> LabelKind:
        """The kind of labels."""
        preferred: LabelKind = next(kind for kind in LABELS if kind in self.cls.capabilities.labels)
        return self.label_kind or preferred

    @property
    def classes(self) -> int:
        """The number of classes; 0 for other labels."""
        return CLASSES if self.labels == "class" else 0

    @cached_property
    def device(self) -> str:
        """``cpu`` if the learner runs on it, else ``cuda``."""
        if "cpu" in self.cls.capabilities.devices:
            return "cpu"
        device = resolve_device("auto")
        return device if device == "cuda" else skip("runs on cuda only, and this machine has no such GPU")

    @cached_property
    def place(self) -> tuple[Inputs, tuple[int, ...]]:
        """The first of ``PLACES`` that the learner does not skip; the first of all if it skips all."""
        fits = (each for each in PLACES if self.learner.skip(self.facts(place=each), N) is None)
        return next(fits, PLACES[0])

    @cached_property
    def law(self) -> InputLaw:
        """The law of the points."""
        inputs, shape = self.place
        return inputs.law(rng("law"), math.prod(shape))

    def facts(self, unlabeled: int = UNLABELED, place: tuple[Inputs, tuple[int, ...]] | None = None) -> TaskFacts:
        """The facts of the task that the kit fits."""
        (inputs, shape), kind, classes = place or self.place, self.labels, self.classes
        d, labelling = math.prod(shape), LABELS[kind]
        return TaskFacts("check", inputs.kind, TARGET.kind, labelling, kind, d, unlabeled, classes=classes, shape=shape)

    def spec(self, n: int = N, teacher: int = 0) -> DataSpec:
        """What is known of ``data`` before it is made. Sets of one teacher are prefixes of one sample."""
        n, sample = min(n, self.cls.capabilities.max_n or n), f"check-{teacher}-{self.labels}"
        return DataSpec(sample, n, self.law.d, self.labels, self.classes, self.place[1])

    def data(self, n: int = N, teacher: int = 0) -> Data:
        """Points of the law with labels."""
        spec, x = self.spec(n, teacher), self.points(N, teacher)
        y = example_values(self.law, x, self.labels, teacher)
        return Data(**vars(spec), x=self.give(x[: spec.n]), y=self.give(y[: spec.n]))

    def points(self, m: int, *purpose: object) -> np.ndarray:
        """Inputs (m, d), of the law or one-hot letters of a sequence."""
        if self.place[1] != SEQUENCE:
            return self.law.sample(rng("inputs", *purpose), m)
        length, alphabet = SEQUENCE
        one_hot: np.ndarray = np.eye(alphabet)[rng("letters", *purpose).integers(alphabet, size=(m, length))]
        return one_hot.reshape(m, -1)

    def test_points(self, m: int = TEST) -> Array:
        """Fresh inputs (m, d)."""
        return self.give(self.points(m, "test"))

    def give(self, x: np.ndarray) -> Array:
        """A copy of ``x`` as an array of the library."""
        return convert(x.copy(), self.arrays, self.device)

    def _context(self, seed: int, bare: bool) -> Context:
        """Everything that a task may offer, or only what every task offers."""
        names = self.learner.oracle()
        if unknown := sorted(names - set(FACTS)):
            skip(f"asks the oracle for {', '.join(unknown)}, which this kit cannot provide")
        oracle = {name: FACTS[name] for name in names}
        ctx = Context(seed=seed, device=self.device, oracle=oracle)
        unlabeled = self.give(self.points(UNLABELED, "unlabeled"))
        return ctx if bare else replace(ctx, square_mean=self.law.square_mean.copy(), unlabeled=unlabeled)

    def job(
        self, learner: Learner | None = None, *, n: int = N, teacher: int = 0, seed: int = 0, bare: bool = False
    ) -> Job:
        """One fit, with arrays of its own."""
        return Job(learner or self.learner, self.data(n, teacher), self._context(seed, bare))

    def fit(self, job: Job) -> Predictor:
        """Fit one job, with global state restored afterwards."""
        with preserved():
            return job.learner.fit(job.train, job.ctx)

    def predict(self, predictor: Predictor, x: Array) -> Array:
        """The result of ``predict``, with global state restored afterwards."""
        with preserved():
            return predictor.predict(x)

    def values(self, predictor: Predictor, x: Array = None) -> np.ndarray:
        """Predictions (m,), or scores (m, C), in float64, by default at a fresh copy of the test points."""
        return to_numpy(self.predict(predictor, self.test_points() if x is None else x)).astype(np.float64)

    def shape(self, m: int) -> tuple[int, ...]:
        """The shape of predictions at m points."""
        return (m, self.classes) if self.classes else (m,)

    @cached_property
    def fitted(self) -> Predictor:
        """The fit of ``job()``, made once for the requirements that only read it."""
        return self.fit(self.job())

    def require_equal(self, got: np.ndarray, expected: np.ndarray, what: str, tolerance: float = TOLERANCE) -> None:
        """Fail unless two predictions, (m,) or scores (m, C), agree up to a share of their root mean square."""
        require(got.shape == expected.shape, f"{what}: shape {got.shape}, expected {expected.shape}")
        scale = float(np.sqrt(np.mean(expected**2))) + 1e-6
        error = float(np.max(np.abs(got - expected), initial=0.0)) / scale
        require(error <= tolerance, f"{what}: relative difference {error:.1e}, allowed {tolerance:.0e}")
