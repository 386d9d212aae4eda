"""Kernel regression on features that it corrects backward: Gauss-Newton on kernel weights and axes of all layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from bfc_plugins.kernels.leave_one_out_learner import LeaveOneOutLearner, Ridges
from pydantic import Field, model_validator

from bfc_bench.learner import Context, Cost, Data

if TYPE_CHECKING:
    from bfc_plugins.kernels.corrected_predictor import CorrectedPredictor

Widths = Annotated[tuple[Annotated[int, Field(ge=1, le=64)], ...], Field(min_length=1)]


class CorrectedKernel(LeaveOneOutLearner):
    """A kernel that learns features forward and corrects them backward, the third point of "Comparing to sequential
    kernel methods" (BFC section 3); ``feature_correction.py`` has the algorithm.

    The first inputs z are (x, x^2 - E x^2). The features are z P_1 for the leading axes P_1 of a recursive feature
    machine, with ``layers`` = 2 also linear combinations of z and of products of these features, and so on. Rounds of
    kernel regression on the top layer turn the axes of all layers together.

    Leave-one-out errors choose widths, ridges and shares of the kernel, and between corrected features and a kernel on
    z without any. Stages are ``plain``, that kernel, and unless it is best ``forward`` and ``round1``, ``round2``, ...
    of correction, up to the round of least error. The learner is told E x^2 of the input law, the first layer of the
    target (``with_squares``), and bounds on number, degree and widths of layers.
    """

    name: ClassVar[str] = "corrected-kernel"
    smoke: ClassVar[Mapping[str, Any]] = {"widths": [[2]], "corrections": 1, "ridges": [1e-2]}

    layers: Annotated[int, Field(ge=1)] = 1
    """Number of layers of features."""
    widths: tuple[Widths, ...] | None = None
    """Widths of each layer to choose from; None is 4 to 8 for one layer, else 4 and 6 for the first and 4 to 6 for the
    others. All combinations are tried until one has an error of 1e-14, so five by default: each is a fit."""
    corrections: Annotated[int, Field(ge=0)] = 40
    """Largest number of rounds of correction after one forward pass; they end at an error of 1e-14 or after 9 rounds
    without a gain of a tenth."""
    ridges: Ridges = (1e-6, 1e-9, 1e-12)
    """Ridges from which every regression chooses; those of noisy labels are larger."""

    @model_validator(mode="after")
    def _widths_of_each_layer(self) -> Self:
        if self.widths is not None and len(self.widths) != self.layers:
            raise ValueError(f"widths must have a list for each of {self.layers} layers. Got {self.widths}.")
        return self

    def width_choices(self) -> tuple[Widths, ...]:
        """``widths`` with its default filled in."""
        if self.widths is not None:
            return self.widths
        return ((4, 5, 6, 7, 8),) if self.layers == 1 else ((4, 6), *((4, 5, 6),) * (self.layers - 1))

    def fit(self, train: Data, ctx: Context) -> CorrectedPredictor:
        """Fit to x (n, d) and y (n,). Raises ``BenchError`` if no ridge makes the kernel matrix positive definite."""
        import torch
        from bfc_plugins.kernels.corrected_predictor import CorrectedPredictor
        from bfc_plugins.kernels.feature_correction import Correction
        from bfc_plugins.kernels.first_inputs import FirstInputs

        inputs = FirstInputs(train, ctx, self.with_squares)
        y = inputs.like(train.y)
        mean = y.mean()
        spread = (y - mean).square().mean().sqrt()
        spread = torch.where(spread > 0, spread, 1.0)
        correction = Correction(inputs(train.x), (y - mean) / spread, self.corrections, self.ridges)
        path = correction.path(self.width_choices())
        if not path:
            raise self.unsolved(train.n)
        info = {
            "widths": [layer.axes.shape[1] for layer in path[-1].features.layers],
            "rounds": max(len(path) - 2, 0),
            "ridge": path[-1].ridge,
            "leave_one_out": [each.error for each in path],
        }
        final = CorrectedPredictor(inputs, correction, tuple(path), mean, spread, info)
        names = ["plain", "forward", *(f"round{k}" for k in range(1, len(path) - 1))][: len(path)]
        return replace(final, stages={name: replace(final, path=final.path[: k + 1]) for k, name in enumerate(names)})

    def cost(self, n: int, d: int) -> Cost:
        """Half of the rounds for all widths: a regression and the inverse of its factor for each ridge and share."""
        starts = prod(len(widths) for widths in self.width_choices()) + 2 * (self.layers > 1)
        turns = starts * self.corrections / 2
        regressions = 9 * self.layers * len(self.ridges) + turns * (2 * len(self.ridges) + self.layers * 2)
        return self.cost_of(regressions, n, matrices=5 + self.layers)
