"""An ordinary ReLU network, as a well-known baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from bfc_plugins.networks.base import NetworkLearner, NetworkShape, Params
from pydantic import Field

from bfc_bench.learner import Capabilities
from bfc_bench.toolkit.arrays import NumpyOrJax


class ReluMlp(NetworkLearner):
    """A fully connected ReLU network with ``depth`` hidden layers, all trained by AdamW."""

    name: ClassVar[str] = "relu-mlp"
    version: ClassVar[int] = 2
    """Version 2 takes half as many steps, of half as many points."""
    smoke: ClassVar[Mapping[str, Any]] = {"width": 16, "depth": 2, "steps": 100, "batch_size": 32}
    search: ClassVar[Mapping[str, Sequence[Any]]] = {"lr": [1e-3, 3e-3, 1e-2], "weight_decay": [0.0, 0.1]}

    capabilities: ClassVar[Capabilities] = replace(
        NetworkLearner.capabilities, labels=frozenset({"real", "binary", "class"})
    )

    depth: Annotated[int, Field(ge=1)] = 3
    """Number of hidden layers."""
    width: Annotated[int, Field(ge=1)] = 128
    """Number of units of each hidden layer."""
    steps: Annotated[int, Field(ge=1)] = 2000
    """Number of AdamW steps."""
    batch_size: Annotated[int, Field(ge=1)] = 128
    """Size of a minibatch, drawn with replacement."""

    def network(self, p: int, classes: int = 0) -> NetworkShape:
        """The network on p inputs, with one output per class if ``classes`` > 0 and a single output otherwise."""
        return Mlp((p, *(self.width,) * self.depth, classes or 1))


@dataclass(frozen=True)
class Mlp(NetworkShape):
    """h_0 = z, h_l = relu(h_{l-1} W_l + b_l), F = h_L W_{L+1} + b_{L+1}."""

    sizes: tuple[int, ...]
    """Number of inputs, sizes of the hidden layers, number of outputs."""

    def init(self, rng: np.random.Generator) -> Params:
        """W_l ~ N(0, 2 / fan-in), which preserves the scale of ReLU layers (He et al. 2015); small output weights."""
        params: Params = {}
        for layer, (fan_in, fan_out) in enumerate(zip(self.sizes, self.sizes[1:], strict=False), start=1):
            gain = 2.0 if layer < len(self.sizes) - 1 else 0.01
            params[f"W{layer}"] = rng.standard_normal((fan_in, fan_out)) * (gain / fan_in) ** 0.5
            params[f"b{layer}"] = np.zeros(fan_out)
        return params

    def __call__(self, params: Params, z: NumpyOrJax) -> NumpyOrJax:
        """F(z), (m,), or scores (m, C) of C > 1 outputs, at z (m, p)."""
        last = len(self.sizes) - 1
        for layer in range(1, last):
            z = (z @ params[f"W{layer}"] + params[f"b{layer}"]).clip(0)
        values: NumpyOrJax = z @ params[f"W{last}"] + params[f"b{last}"]
        return values if self.sizes[-1] > 1 else values[:, 0]

    def flops(self) -> float:
        """Two operations per weight."""
        return 2.0 * sum(fan_in * fan_out for fan_in, fan_out in zip(self.sizes, self.sizes[1:], strict=False))

    def weights(self) -> int:
        """Those of all layers, with their biases."""
        return sum((fan_in + 1) * fan_out for fan_in, fan_out in zip(self.sizes, self.sizes[1:], strict=False))

    def units(self) -> int:
        """Number of hidden units."""
        return sum(self.sizes[1:])
