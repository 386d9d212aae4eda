"""Layer-wise training: each layer of a quadratic DenseNet is trained alone, with the layers below it frozen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from bfc_plugins.quadratic.net import Params
from bfc_plugins.quadratic.predictor import QuadraticPredictor
from bfc_plugins.quadratic.setup import Setup
from bfc_plugins.quadratic.stagewise import Growth, StagewiseLearner

if TYPE_CHECKING:
    from jax import Array

    from bfc_bench.toolkit.ensemble import Member


def top_layer(params: Params, inputs: Params) -> Array:
    """F(x), (B,), when only layer l is trained.

    ``params``: ``W`` (m_l, q_l), ``log_alpha`` (), ``readouts`` {j: (m_j,)}, ``constant`` (), and ``linear`` (d,) if
    there is a linear term. ``inputs``: the inputs of the layer, ``layer`` (B, q_l); the frozen terms of the layers
    below, ``fixed`` (B,); their units with trained weights, ``units`` {j: (B, m_j)}; and ``x`` (B, d).
    """
    import jax.numpy as jnp

    s = params["W"] @ inputs["layer"].T
    out: Array = params["constant"] + inputs["fixed"] + jnp.exp(params["log_alpha"]) * (s * s).sum(0)
    out += sum(inputs["units"][j] @ weights for j, weights in params["readouts"].items())
    return out + inputs["x"] @ params["linear"] if "linear" in params else out


class Layerwise(StagewiseLearner):
    """Train layer 2 with the others at zero, freeze it, train layer 3, and so on (BFC footnote 6, lines 140-160).

    Every stage has as many steps as the joint learner has for all layers, so a worse result is due to the missing
    correction of frozen features. Stages are ``layer2``, ``layer3``, ...
    """

    name: ClassVar[str] = "layerwise"

    readout: Literal["sum", "signed"] = "sum"
    """How a stage adds up the layers below: ``sum`` = their frozen terms alpha_j Sum(G_j), as in the paper; ``signed``
    = a trainable weight of either sign for each of their units, a stronger baseline."""

    def model(self, setup: Setup, layer: int) -> Callable[[Params, Any], Array]:
        """The layer alone; the outputs of the layers below are inputs."""
        return top_layer

    def joining(self, fit: Growth, layer: int) -> Member:
        """The layer, and the read-outs of the layers below."""
        net, rates, signed = fit.setup.net, fit.setup.rates, self.readout == "signed"
        pre, outputs = net.below(layer - 1).forward(fit.params, fit.setup.x.T)
        terms = [np.exp(fit.params["log_alpha"][net.index(j)]) * (s * s).sum(0) for j, s in pre.items()]
        names = {"W": f"W{layer}", "constant": "constant", **({"linear": "linear"} if "linear" in fit.params else {})}
        trained = {key: fit.params[name] for key, name in names.items()}
        trained |= {"log_alpha": fit.params["log_alpha"][net.index(layer)], "readouts": fit.readouts}
        factors = {key: rates[name] for key, name in names.items()}
        factors |= {"log_alpha": rates["log_alpha"], "readouts": dict.fromkeys(fit.readouts, 1.0)}
        inputs = {
            "layer": net.joined(outputs, layer).T,
            "fixed": sum([] if signed else terms, np.zeros(len(fit.setup.y))),
            "units": {j: (pre[j] ** 2).T for j in fit.readouts},
        }
        if "linear" in fit.params:
            inputs["x"] = fit.setup.x
        return self.member(fit.setup, trained, factors, inputs, stream=layer)

    def take(self, fit: Growth, layer: int, trained: Params) -> None:
        """Copy the layer, and the read-outs of the layers below."""
        index = fit.setup.net.index(layer)
        fit.params["log_alpha"][index] = trained["log_alpha"]
        names = {"W": f"W{layer}", "constant": "constant", "linear": "linear"}
        fit.params |= {name: np.asarray(trained[key], np.float64) for key, name in names.items() if key in trained}
        if self.readout == "signed":
            alpha = np.exp(fit.params["log_alpha"][index])
            below: Mapping[int, np.ndarray] = trained["readouts"]
            fit.readouts = {**below, layer: np.full(fit.setup.net.widths[index], alpha)}

    def rate(self, d: int) -> float:
        """``lr``, by default a fifth of the joint learner's rate.

        The joint learner's rate doubles the NMSE here: it removes spare directions, which the next layer could use.
        """
        return super().rate(d) * (0.2 if self.lr is None and self.optimizer == "adam" else 1.0)

    def facts(self, setup: Setup, predictor: QuadraticPredictor) -> dict[str, Any]:
        """Entries of ``Predictor.info`` for every fit, with the read-out."""
        return {**super().facts(setup, predictor), "readout": self.readout}
