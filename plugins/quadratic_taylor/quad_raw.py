"""The quadratic Taylor model of a two-layer network on the inputs themselves, Quad-Raw."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from bfc_plugins.quadratic_taylor.base import QuadraticTaylorLearner
from pydantic import Field

from bfc_bench.learner import Context

if TYPE_CHECKING:
    from bfc_plugins.quadratic_taylor.model import Representation
    from torch import Tensor


class QuadRaw(QuadraticTaylorLearner):
    """Quad-h with h(x) = x: ``f_W(x) = 1/(2 sqrt m) sum_r a_r sigma''(w_{0,r}.x) (w_r.x)^2`` (NR section 3).

    The input is (sqrt(d) x, 1), x of norm 1: without the constant coordinate, the model would lack even degrees above 2
    (indicator gates) or odd degrees above 3 (relu gates) on the sphere. NR scales |h| to 1; here |h|^2 = D, which
    multiplies lambda by D^2.
    """

    name: ClassVar[str] = "quad-raw"
    smoke: ClassVar[Mapping[str, Any]] = {"width": 12, "iterations": 20}

    width: Annotated[int, Field(ge=1)] = 768
    """Number of units m."""
    gate: Literal["indicator", "relu"] = "relu"
    """sigma'': ``indicator`` is the paper's 1{t >= 0}, ``relu`` is smoother."""

    def dimension(self, d: int) -> int:
        """The number of inputs, d + 1."""
        return d + 1

    def represent(self, x: Tensor, scale: float, ctx: Context) -> Representation:
        """The scaled inputs."""
        from bfc_plugins.quadratic_taylor.model import Representation

        return Representation(partial(scaled_inputs, scale=scale))


def scaled_inputs(x: Tensor, scale: float) -> Tensor:
    """(sqrt(d) s x, 1), (n, d + 1), at x (n, d); the second moment is I for isotropic x.

    s = ``scale`` gives inputs a typical norm of 1.
    """
    import torch

    return torch.cat([scale * math.sqrt(x.shape[1]) * x, x.new_ones(len(x), 1)], dim=1)
