"""Growing: layers of a quadratic DenseNet join one after another, and none is ever frozen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from bfc_plugins.quadratic.net import Params
from bfc_plugins.quadratic.stagewise import Growth, StagewiseLearner

from bfc_bench.learner import Cost

if TYPE_CHECKING:
    from bfc_bench.toolkit.ensemble import Member


class Grow(StagewiseLearner):
    """Train layer 2, then layers 2 and 3 from there, and so on to all of them.

    The order of forward feature learning (BFC Figure 5) with backward feature correction: when a layer joins, the
    layers below are still trained. Only this distinguishes it from layer-wise training.
    """

    name: ClassVar[str] = "grow"
    version: ClassVar[int] = 2

    def joining(self, fit: Growth, layer: int) -> Member:
        """All layers up to ``layer``, with their current parameters."""
        start = fit.setup.net.below(layer).own(fit.params)
        rates = {key: fit.setup.rates[key] for key in start}
        return self.member(fit.setup, start, rates, fit.setup.x, stream=layer)

    def take(self, fit: Growth, layer: int, trained: Params) -> None:
        """Copy all layers that have joined."""
        log_alpha = fit.params["log_alpha"]
        new = {key: np.asarray(value, np.float64) for key, value in trained.items()}
        new["log_alpha"] = np.concatenate([new["log_alpha"], log_alpha[len(new["log_alpha"]) :]])
        fit.params |= new

    def cost(self, n: int, d: int) -> Cost:
        """Every stage trains the layers that have joined."""
        net, cost = self.net(d), super().cost(n, d)
        grown = sum(net.below(layer).flops() for layer in net.layers())
        return replace(cost, flops=cost.flops * grown / net.flops())
