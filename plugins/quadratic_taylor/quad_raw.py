"""The quadratic Taylor model of a two-layer network on the inputs themselves, Quad-Raw."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from bfc_plugins.quadratic_taylor.base import QuadraticTaylorLearner
from pydantic import Field

from bfc_bench.learner import Context, TaskFacts
from bfc_bench.toolkit.parity import parity_caution

if TYPE_CHECKING:
    from bfc_plugins.quadratic_taylor.model import Representation
    from torch import Tensor


class QuadRaw(QuadraticTaylorLearner):
    """Quad-h with h(x) = x: ``f_W(x) = 1/(2 sqrt m) sum_r a_r sigma''(w_{0,r}.x) (w_r.x)^2`` (NR section 3).

    With ``bias`` the input is (sqrt(d) x, 1), x of norm 1. Without it, the model lacks even degrees above 2 (indicator
    gates) or odd degrees above 3 (relu gates) on the sphere. Constant gates have degree 2 at most. NR scales |h| to 1;
    here |h|^2 = D, which multiplies lambda by D^2.
    """

    name: ClassVar[str] = "quad-raw"
    smoke: ClassVar[Mapping[str, Any]] = {"width": 12, "iterations": 20}

    width: Annotated[int, Field(ge=1)] = 768
    """Number of units m."""
    gate: Literal["indicator", "relu", "constant"] = "relu"
    """sigma'': ``indicator`` is the paper's 1{t >= 0}, ``relu`` is smoother, ``constant`` is 1/2."""
    bias: bool = True
    """Whether a constant coordinate is added to the input."""

    def dimension(self, d: int) -> int:
        """The number of inputs: d, or d + 1 with bias."""
        return d + self.bias

    def represent(self, x: Tensor, scale: float, ctx: Context) -> Representation:
        """The scaled inputs."""
        from bfc_plugins.quadratic_taylor.model import Representation

        return Representation(partial(scaled_inputs, scale=scale, bias=self.bias))

    def has_degree(self, degree: int) -> bool:
        """Whether functions of the model have a part of this degree >= 1 on the sphere, at some width."""
        if self.gate == "constant":
            return degree == 2 or (degree == 1 and self.bias)
        trapped = degree > 2 and degree % 2 == 0 if self.gate == "indicator" else degree > 3 and degree % 2 == 1
        return self.bias or not trapped

    def caution(self, task: TaskFacts, n: int) -> str | None:
        """Name degrees of the target that the gates exclude."""
        who = f"quad-raw with {self.gate} gates{'' if self.bias else ' and no bias'}"
        remedy = "take gate = 'relu' and bias = true" if self.gate == "constant" else "take bias = true"
        return parity_caution(who, self.has_degree, task, remedy)


def scaled_inputs(x: Tensor, scale: float, bias: bool) -> Tensor:
    """sqrt(d) s x, or (sqrt(d) s x, 1) with ``bias``, (n, D), at x (n, d); the second moment is I for isotropic x.

    s = ``scale`` gives inputs a typical norm of 1.
    """
    import torch

    x = scale * math.sqrt(x.shape[1]) * x
    return torch.cat([x, x.new_ones(len(x), 1)], dim=1) if bias else x
