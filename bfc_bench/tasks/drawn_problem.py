"""A problem whose points are drawn from a law, block by block, when they are needed."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from bfc_bench.seeds import BLOCK
from bfc_bench.tasks.base import Drawn, Float, Labelling
from bfc_bench.tasks.task import BlockwiseArrays, Problem, Task

SCALE_POINTS = 16 * BLOCK
"""Number of leading test points on which the target's mean and deviation are estimated, whatever the test size."""

Part: TypeAlias = Literal["train", "test", "unlabeled"]


class DrawnProblem(Problem):
    """Points of a law, drawn on first use from streams that depend on their purpose alone.

    Points come in blocks of ``seeds.BLOCK`` rows, each from its own stream, so that a smaller sample is a bitwise
    prefix of a larger one. For read-only arrays and shapes see ``Problem``.
    """

    def __init__(self, task: Task, seed: int, d: int, replicate: int, test_size: int) -> None:
        super().__init__(task, seed, d, replicate, test_size)
        self._train = BlockwiseArrays(self._train_block)
        self._test = BlockwiseArrays(self._test_block)
        self._unlabeled = BlockwiseArrays(self._unlabeled_block)

    @property
    @abstractmethod
    def drawn(self) -> Drawn:
        """The member of the family that was drawn, of unit variance if the labels need it."""

    @property
    @abstractmethod
    def labelling(self) -> Labelling:
        """How points are labelled."""

    @abstractmethod
    def _inputs(self, part: Part, block: int) -> Float:
        """A block of inputs x, (BLOCK, d)."""

    @abstractmethod
    def _points(self, part: Part, block: int) -> tuple[Float, Float]:
        """A block of inputs x (BLOCK, d) and of the values (BLOCK,) that are labelled."""

    def _clean(self, x: Float, values: Float) -> Float:
        """The values (m,) against which errors are measured, at inputs x (m, d) whose own values are ``values``."""
        return values

    @property
    def square_mean(self) -> Float | None:
        """E[x_i^2] of the columns that learners see, (d',)."""
        return self.labelling.labels.square_mean(self.labelling)

    def training_points(self, n: int) -> tuple[Float, Float]:
        """The first n training points, (n, d') and (n,)."""
        x, y = self._train.first(n)
        return x, y

    @property
    def test_x(self) -> Float:
        """The test inputs, (test_size, d')."""
        return self._test.first(self.test_size)[0]

    @property
    def test_y(self) -> Float:
        """Clean values at the test inputs, or labels if real values are made into classes, (test_size,)."""
        differs = self.task.kind != self.task.values_kind
        return self.test_labels if differs else self._test.first(self.test_size)[1]

    @property
    def test_labels(self) -> Float:
        """Labels at the test inputs, made as in training, (test_size,)."""
        return self._test.first(self.test_size)[2]

    @cached_property
    def test_hidden(self) -> Mapping[str, Float]:
        """The target's hidden features at the test inputs, {"S2": (test_size, k_2), ...}."""
        blocks = range(-(-self.test_size // BLOCK))
        parts = [self.drawn.hidden(self._inputs("test", block)) for block in blocks]
        return {layer: np.concatenate([part[layer] for part in parts])[: self.test_size] for layer in parts[0]}

    def part_errors(self, prediction: Float) -> Mapping[str, float]:
        """Errors of predictions (test_size,) at the test inputs in named parts of the target, if it has parts.

        These are unbiased estimates, each over its part's variance; one near 0 may be negative. Empty if labels are
        classes, or if the learner sees other inputs than the target.
        """
        if self.task.kind != "real" or self.task.labels.columns:
            return {}
        return self.drawn.part_errors(self.test_x, prediction)

    def test_inputs(self, n: int) -> Float:
        """``test_x``, which does not depend on n."""
        return self.test_x

    def unlabeled_inputs(self, n: int) -> Float | None:
        """Inputs without labels, (n_0, d'), or None if the task offers none; they do not depend on n."""
        return self._unlabeled.first(self.task.unlabeled)[0] if self.task.unlabeled else None

    @property
    def target_facts(self) -> Mapping[str, object]:
        """The facts of what was drawn."""
        return self.drawn.facts

    def _seen(self, part: Part, block: int, x: Float) -> Float:
        """A block of inputs as learners see it, (BLOCK, d')."""
        return self.labelling.add_columns(self._stream(f"{part}-columns", block), x)

    def _train_block(self, block: int) -> tuple[Float, Float]:
        x, values = self._points("train", block)
        seen = self._seen("train", block, x)
        return seen, self.labelling.label(self._stream("train-labels", block), seen, values)

    def _test_block(self, block: int) -> tuple[Float, Float, Float]:
        x, values = self._points("test", block)
        seen = self._seen("test", block, x)
        labels = self.labelling.label(self._stream("test-labels", block), seen, values)
        return seen, self._clean(x, values), labels

    def _unlabeled_block(self, block: int) -> tuple[Float]:
        return (self._seen("unlabeled", block, self._inputs("unlabeled", block)),)


def moments(test_values: Callable[[int], Float]) -> tuple[float, float]:
    """Mean and standard deviation of ``SCALE_POINTS`` values, given a function from a test block to its values."""
    values = np.concatenate([test_values(block) for block in range(SCALE_POINTS // BLOCK)])
    return float(np.mean(values)), float(np.std(values))
