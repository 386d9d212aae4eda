"""Layer-wise training: each layer of a quadratic DenseNet on its own, the ones below it frozen."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from bfc_plugins.quadratic.net import Params
from bfc_plugins.quadratic.predictor import QuadraticPredictor
from bfc_plugins.quadratic.setup import Setup
from bfc_plugins.quadratic.stagewise import Growth, StagewiseLearner

from bfc_bench.learner import DataSpec

if TYPE_CHECKING:
    from jax import Array

    from bfc_bench.toolkit.ensemble import Member


class Layerwise(StagewiseLearner):
    """Train layer 2 with the others at zero, freeze it, train layer 3, and so on (BFC footnote 6, lines 140-160).

    Every stage gets ``steps`` steps, its own warm-up and cosine: as many as the joint learner gets for all layers, so
    that what is missing at the end is not training time but the correction of the frozen features. The stages are
    ``layer2``, ``layer3``, ...; a frozen layer's ``hidden`` features keep the scale they were trained with.
    """

    name: ClassVar[str] = "layerwise"
    smoke: ClassVar[Mapping[str, Any]] = {"widths": (6, 4), "steps": 150, "batch_size": 32}

    readout: Literal["sum", "signed"] = "sum"
    """How a stage reads the layers below: ``sum`` = their frozen terms alpha_j Sum(G_j), as in the paper; ``signed`` =
    a trainable weight of either sign for each of their units, the stronger baseline."""

    def rate(self, d: int) -> float:
        """``lr``, by default a fifth of the joint learner's.

        Larger rates do worse here (d = 10, 20, n = 400 to 4000, factor 2 in NMSE at the joint learner's): they squeeze
        out the spare directions of a layer, of which the next one, once it is frozen, could have made use.
        """
        return super().rate(d) * (0.2 if self.lr is None and self.optimizer == "adam" else 1.0)

    def batch_key(self, train: DataSpec) -> Hashable:
        """Shapes, which depend on the read-out."""
        return (super().batch_key(train), self.readout)

    def begin(self, setup: Setup) -> Growth:
        """A fit before its first stage."""
        return _Freezing(self, setup)

    def facts(self, setup: Setup, predictor: QuadraticPredictor) -> dict[str, Any]:
        """What ``Predictor.info`` says of every fit, with the read-out."""
        return {**super().facts(setup, predictor), "readout": self.readout}


def top_layer(params: Params, inputs: Params) -> Array:
    """F(x), (B,), when only layer l is trained.

    ``inputs``: what feeds the layer, ``layer`` (B, q_l); what is read of the layers below, as it is, ``fixed`` (B,), or
    with trained weights, ``units`` {j: (B, m_j)}; and ``x`` (B, d). ``params``: ``W`` (m_l, q_l), ``log_alpha`` (),
    ``readouts`` {j: (m_j,)}, ``constant`` (), and ``linear`` (d,) where there is a linear term.
    """
    import jax.numpy as jnp

    s = params["W"] @ inputs["layer"].T
    out: Array = params["constant"] + inputs["fixed"] + jnp.exp(params["log_alpha"]) * (s * s).sum(0)
    out += sum(inputs["units"][j] @ weights for j, weights in params["readouts"].items())
    return out + inputs["x"] @ params["linear"] if "linear" in params else out


@dataclass
class _Freezing(Growth):
    learner: Layerwise
    weights: dict[int, np.ndarray] = field(default_factory=dict)
    """Signed read-outs of the layers that are trained."""

    def model(self, layer: int) -> Callable[[Params, Any], Array]:
        """The layer alone: the ones below it are inputs."""
        return top_layer

    def member(self, layer: int) -> Member:
        """The layer, and how the ones below are read."""
        net, rates, signed = self.setup.net, self.setup.rates, self.learner.readout == "signed"
        pre, outputs = net.below(layer - 1).forward(self.params, self.setup.x.T)
        terms = [np.exp(self.params["log_alpha"][net.index(j)]) * (s * s).sum(0) for j, s in pre.items()]
        trained = {
            "W": self.params[f"W{layer}"],
            "log_alpha": self.params["log_alpha"][net.index(layer)],
            "constant": self.params["constant"],
            "readouts": self.weights,
        }
        factors = {
            "W": rates[f"W{layer}"],
            "log_alpha": rates["log_alpha"],
            "constant": rates["constant"],
            "readouts": dict.fromkeys(self.weights, 1.0),
        }
        inputs = {
            "layer": net.joined(outputs, layer).T,
            "fixed": sum([] if signed else terms, np.zeros(len(self.setup.y))),
            "units": {j: (pre[j] ** 2).T for j in self.weights},
        }
        if "linear" in self.params:
            trained["linear"], factors["linear"] = self.params["linear"], rates["linear"]
            inputs["x"] = self.setup.x
        return self.learner.member(self.setup, trained, factors, inputs, stream=layer)

    def take(self, layer: int, trained: Params) -> None:
        """The layer, and how the ones below it are read now."""
        index = self.setup.net.index(layer)
        self.params["log_alpha"][index] = trained["log_alpha"]
        shared: Params = {key: trained[key] for key in ("constant", "linear") if key in trained}
        taken: Params = {f"W{layer}": trained["W"], **shared}
        for key, value in taken.items():
            self.params[key] = np.asarray(value, np.float64)
        if self.learner.readout == "signed":
            alpha = np.exp(self.params["log_alpha"][index])
            below: Mapping[int, np.ndarray] = trained["readouts"]
            self.weights = {**below, layer: np.full(self.setup.net.widths[index], alpha)}

    def readouts(self) -> Mapping[int, np.ndarray]:
        """Those of the layers below the top one are trained."""
        return self.weights
